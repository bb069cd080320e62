# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the compiled module asks for by this name: functions of a sky (`perigee.extensions.plugins`)."""

from perigee.extensions.plugins import function, load_file, where_raised

__all__ = ["function", "load_file", "where_raised"]
