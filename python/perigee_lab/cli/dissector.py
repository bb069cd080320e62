# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee dissector`: the path of the Wireshark dissector."""

from __future__ import annotations


def command() -> None:
    """Print the path of the Wireshark dissector for telemetry.

    wireshark -X lua_script:$(perigee dissector)
    """
    from importlib.resources import files

    print(files("perigee_lab") / "wireshark" / "orbcc.lua")
