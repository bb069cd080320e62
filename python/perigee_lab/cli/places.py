# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Places that are named by --from and --to: what is wrong with them, in terms of the option."""

from __future__ import annotations

import json
from typing import Any


def of_places(error: Exception, origin: str | None, target: str | None) -> str:
    """The text of an error of the core; where it is about a place that an option named, the option is in it."""
    message = str(error.args[0])
    problems: list[dict[str, Any]] = json.loads(error.args[1]) if len(error.args) > 1 else []
    for option, place in (("--from", origin), ("--to", target)):
        for problem in problems if place is not None else []:
            if problem["key"] == f"node.{place}.place":
                near, _, _ = (problem["hint"] or "").rpartition("Else give")
                return (
                    f"{option} {place}: neither a node of the scenario nor in the list of cities; "
                    f"{near and near.strip() + ' '}{'Else write' if near else 'write'} "
                    f'"lat, lon" in degrees, such as {option} "51.5, -0.1"'
                )
            if problem["message"].startswith(f'"{place}" '):
                return f"{option} {problem['message']}; latitudes are -90 to 90 degrees"
    return message
