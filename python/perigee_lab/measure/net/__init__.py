# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurements over real sockets: protocol, server, and the client's probes and transfers."""
