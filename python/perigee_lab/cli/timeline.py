# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee timeline`: the network of a scenario over time, without packets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import ForceOption, JsonOption, SetOption, TleOption, TrustOption, check_free
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing, written
from perigee_lab.common.messages import say
from perigee_lab.common.reading import opened

if TYPE_CHECKING:
    from perigee_lab.sky.timeline import Passed, Timeline


def command(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario, or a saved timeline.")],
    out: Annotated[Path | None, typer.Option(help="Save the timeline to this file (JSON, a line per chunk).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot of base RTT, rate and outages (.png, .svg).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the draws.")] = None,
    tle: TleOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Save or plot a network over time.

    `[source.timeline]` replays a saved one.
    """
    from perigee_lab import _core
    from perigee_lab.cli.output import print_warnings
    from perigee_lab.sky.timeline import Timeline

    check_free(out, plot, force=force)
    try:
        with writing(out or plot or source):
            found = _open(source, seed, tle, sets, trust=trust, out=out, plot=plot is not None, as_json=as_json)
            if out is not None and isinstance(found, Timeline):
                found.save(out, force=force)
            if plot is not None:
                import matplotlib.pyplot as plt

                # Font type required by journals: TrueType, not Type 3.
                with written(plot) as partial, plt.rc_context({"pdf.fonttype": 42}):
                    found.plot().savefig(partial, dpi=130, format=plot.suffix[1:] or "png")
    except (_core.ScenarioError, _core.RunError) as error:
        stop(error.args[0])
    except ValueError as error:
        stop(f"cannot write {plot}: {error}")
    print_warnings(found.facts["warnings"])
    if as_json:
        print(json.dumps(found.facts, indent=1))
    else:
        _print(found.facts)
        for what, path in (("timeline", out), ("plot", plot)):
            if path is not None:
                say(f"{what}: {path}")


def _open(
    source: Path,
    seed: int | None,
    tle: Path | None,
    sets: list[str] | None,
    *,
    trust: bool,
    out: Path | None,
    plot: bool,
    as_json: bool,
) -> Timeline | Passed:
    from perigee_lab.sky.timeline import MAX_DRAWN, load_timeline, pass_by, plotted_step

    if not _is_saved(source):
        scenario = given.scenario(source, sets, tle, trust=trust, as_json=as_json)
        step_s = plotted_step(scenario.core.duration_ns / 1e9)
        return pass_by(scenario, seed, path=out, watched=MAX_DRAWN if plot else 0, step_s=step_s)
    if seed is not None or tle is not None or sets:
        stop(f"{source} is a saved timeline: --seed, --tle and --set apply only to scenarios")
    return load_timeline(source)


def _is_saved(source: Path) -> bool:
    """Whether a file is a saved timeline: it starts with a brace, which no TOML file does."""
    try:
        with opened(source) as file:
            return file.read(1) == b"{"
    except OSError:
        return False


def _print(f: dict[str, Any]) -> None:
    duration_s = f["duration_ns"] / 1e9
    say(f"{f['title']}: {duration_s:g} s, {f['nodes']} nodes, {f['ports']} ports, {f['links']} links")
    say("  changes: " + (", ".join(f"{n} {kind}" for kind, n in f["changes"].items()) or "none"))
    pairs = [(p["from"], p["to"]) for p in f["pairs"]]
    say("  pairs: " + ", ".join(f"{a} to {b}" for a, b in pairs[:5]) + (", …" if len(pairs) > 5 else ""))
