# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measuring over real sockets: what both ends say to each other, the server, and the client's probes and transfers."""
