# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee export`: a network in the formats of other tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import ForceOption, ScenarioArg, SetOption, TleOption, TrustOption, check_free
from perigee_lab.cli.output import output, print_warnings
from perigee_lab.cli.places import FromOption, ToOption, ends_of, of_places
from perigee_lab.common.errors import stop
from perigee_lab.common.files import claimed, writing
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from perigee_lab.runs.scenario import Scenario


TRACES = ("mahimahi", "leoreplayer", "tc")


EXPORTS = ("timeline", "hypatia", "leoem", *TRACES)


def command(
    what: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(EXPORTS)}.")],
    scenario: ScenarioArg,
    out: Annotated[Path, typer.Argument(help="File to write (Hypatia and traces: folder).")],
    origin: FromOption = None,
    target: ToOption = None,
    tle: TleOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
    force: ForceOption = False,
) -> None:
    """Write a network for other tools.

    Over time, as a timeline, state of Hypatia or LeoEM, traces, or a script of tc.
    """
    from perigee_lab import _core

    if what not in EXPORTS:
        stop(f"FORMAT: {what!r} is none of {', '.join(EXPORTS)}")
    # An empty folder is not a result.
    check_free(out, force=force or (out.is_dir() and not any(out.iterdir())))
    loaded = given.scenario(scenario, sets, tle, trust=trust)
    if what in TRACES:
        _export_traces(what, loaded, out, ends_of(origin, target))
        return
    with output(out, folder=what == "hypatia") as partial:
        try:
            warnings = _core.export(loaded.core, what, partial, ends_of(origin, target))
        except _core.ScenarioError as error:
            stop(of_places(error, origin, target))
    print_warnings(warnings)
    say(f"{what}: {out}")


def _export_traces(what: str, loaded: Scenario, out: Path, ends: Sequence[tuple[str, str]]) -> None:
    from perigee_lab import _core
    from perigee_lab.sky.timeline import Timeline
    from perigee_lab.sky.traces import not_carried, write

    try:
        world = loaded.core.world(loaded.core.seed)
        warnings = not_carried(what, json.loads(world.describe())["ports"])
        found = Timeline(_core.Timeline.of(world))
        if len(ends) > 1 or (not ends and len(found.pairs) > 1):
            some = ", ".join(f"{a} to {b}" for a, b in found.pairs[:8])
            stop(f"a trace contains one pair: give --from and --to; there are {some}")
        origin, target = ends[0] if ends else found.pairs[0]
        # A folder of traces has several files, which belong together.
        with writing(out), claimed(out):
            lines = write(what, found, origin, target, out)
    except KeyError as error:
        stop(str(error.args[0]))
    except (_core.ScenarioError, _core.RunError) as error:
        stop(error.args[0])
    print_warnings(warnings)
    say(f"{what}: {out}, {origin} to {target}")
    for line in lines:
        say(f"  {line}")
