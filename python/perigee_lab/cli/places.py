# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Options for places, and errors in terms of --from and --to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from perigee_lab.common.errors import stop

FromOption = Annotated[
    str | None, typer.Option("--from", metavar="PLACE", help='Node, city or "lat, lon"; default: the flows.')
]


ToOption = Annotated[str | None, typer.Option("--to", metavar="PLACE", help="The other end.")]

OutOption = Annotated[
    Path | None, typer.Option(help="Plot to write (.png, .svg or .pdf; --over: .gif, .mp4, .csv, .geojson, .czml).")
]


def ends_of(origin: str | None, target: str | None) -> list[tuple[str, str]]:
    """The pair of --from and --to; none without them."""
    if origin is not None and target is not None:
        return [(origin, target)]
    if origin is not None or target is not None:
        stop("give --from and --to, or neither")
    return []


@contextmanager
def in_options(origin: str | None, target: str | None) -> Iterator[None]:
    """Errors of the core end the command; one about a place names its option."""
    from perigee_lab import _core

    try:
        yield
    except (_core.ScenarioError, _core.RunError) as error:
        stop(of_places(error, origin, target))


def of_places(error: Exception, origin: str | None, target: str | None) -> str:
    """The text of an error of the core, with the option that named the place, if any."""
    message = str(error.args[0])
    problems: list[dict[str, Any]] = json.loads(error.args[1]) if len(error.args) > 1 else []
    for option, place in (("--from", origin), ("--to", target)):
        for problem in problems if place is not None else []:
            if problem["key"] == f"node.{place}.place":
                near, _, _ = (problem["hint"] or "").rpartition("Otherwise set")
                return (
                    f"{option} {place}: neither a node of the scenario nor in the list of cities; "
                    f"{near and near.strip() + ' '}{'Otherwise write' if near else 'write'} "
                    f'"lat, lon" in degrees, such as {option} "51.5, -0.1"'
                )
            if problem["message"].startswith(f'"{place}" '):
                return f"{option} {problem['message']}; latitudes are -90 to 90 degrees"
    return message
