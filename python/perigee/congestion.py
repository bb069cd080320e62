# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the compiled module asks for by this name: the base of congestion controls (`perigee.extensions.congestion`)."""

from perigee.extensions.congestion import CongestionControl

__all__ = ["CongestionControl"]
