# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measured curves and what the simulator makes of the same paths. Data and provenance: README.md in this folder."""
