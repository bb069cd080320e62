# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee sky`: maps of satellites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import JsonOption, ScenarioArg, SetOption, TleOption, TrustOption, count, seconds
from perigee_lab.cli.output import print_warnings, save
from perigee_lab.cli.places import FromOption, OutOption, ToOption, ends_of, in_options
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from perigee_lab.results.run import Run
    from perigee_lab.runs.scenario import Scenario
    from perigee_lab.sky.hotspots import Busy


def command(
    scenario: ScenarioArg,
    time: Annotated[str, typer.Option(metavar="TIME", help="Instant of the run, such as 42s.")] = "0s",
    origin: FromOption = None,
    target: ToOption = None,
    out: OutOption = None,
    zoom: Annotated[bool, typer.Option("--zoom", help="Show only the region of the paths.")] = False,
    isls: Annotated[bool, typer.Option(help="Draw the ISLs.")] = True,
    utilisation: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Colour the links by their load in this record (OUT/SCHEME/seedN)."),
    ] = None,
    over: Annotated[
        str | None, typer.Option(metavar="TIME", help="A map over this time instead of an instant, such as 24h.")
    ] = None,
    what: Annotated[
        str, typer.Option("--map", help="With --over: latency (--from), coverage, handovers or load (--utilisation).")
    ] = "coverage",
    step: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --over: between instants; default: a 144th, 15s for handovers."),
    ] = None,
    tle: TleOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Map satellites and coverage, at an instant or over hours.

    At an instant with ISLs and paths; over hours with --over.
    """
    from perigee_lab.sky.skymap import draw, picture

    loaded = given.scenario(scenario, sets, tle, trust=trust, as_json=as_json)
    record = None if utilisation is None else _record(utilisation, loaded)
    if over is not None:
        from perigee_lab.cli.sky_maps import draw_over

        if target is not None:
            stop("--to has no effect on a map over time, which shows paths to all places")
        step_s = None if step is None else seconds(step)
        draw_over(loaded, what, seconds(over), step_s, origin, record, out, as_json=as_json)
        return
    if step is not None or what != "coverage":
        stop("--map and --step are for maps over time: add --over, such as --over 24h")
    with in_options(origin, target):
        found = picture(loaded, seconds(time), ends_of(origin, target), seed=None if record is None else record.seed)
    print_warnings([*found["warnings"], *_beyond(found, record)])
    if as_json:
        print(json.dumps(found))
        return
    file = out or Path(f"{loaded.name}-sky.png")
    links = None if record is None else _busy(record, found)
    save(draw(found, zoom=zoom, isls=isls, links=links), file)
    say(f"{len(found['satellites'])} satellites, {len(found['isls'])} ISLs at {found['instant']}")
    for p in found["paths"]:
        ends = f"{found['ground'][p['from']]['name']} to {found['ground'][p['to']]['name']}"
        say(f"  {ends}: " + (f"{p['rtt_ms']:.2f} ms" if p["vertices"] is not None else "no path"))
    say(f"map: {file}")


def _beyond(found: dict[str, Any], record: Run | None) -> list[str]:
    """Notes about an instant that is after the end of the run or of the record."""
    t_s, end_s = found["t_s"], found["duration_s"]
    notes = []
    if t_s > end_s:
        notes.append(f"{t_s:g} s is after the end of the run, {end_s:g} s: the map extrapolates")
    if record is not None and t_s > (of_record := record.manifest.duration_ns / 1e9):
        notes.append(f"the record ends at {of_record:g} s: the loads are those of its last sample")
    return notes


def _record(folder: Path, scenario: Scenario) -> Run:
    """The record with a map's loads; its satellites and places must match the scenario."""
    from perigee_lab.results.run import open_record
    from perigee_lab.sky.hotspots import differences

    record = open_record(folder)
    found = differences(record, scenario)
    words = [f"{d.key} is {d.in_record or 'not given'} there and {d.in_scenario or 'not given'} here" for d in found]
    moved = [w for w, d in zip(words, found, strict=True) if d.moves]
    if moved:
        stop(f"{folder} is a record of another scenario: {'; '.join(moved[:3])}")
    if words:
        print_warnings([f"{folder} was made by a scenario that differs: {'; '.join(words[:5])}"])
    return record


def _busy(record: Run, found: dict[str, Any]) -> list[Busy]:
    """Load of the links at the instant of a map; prints the busiest ports."""
    from perigee_lab.sky.hotspots import busy, ports

    try:
        links = busy(record, found["t_s"])
    except KeyError as error:
        stop(str(error.args[0]))
    known = {*found["names"], *(g["name"] for g in found["ground"])}
    strangers = {b.origin for b in links} - known
    if strangers:
        stop(f"the record is of another scenario: there is no node {min(strangers)!r} in this one")
    by_port = ports(links)
    say(f"{count(len(by_port), 'port')} in use, with {count(len(links), 'link')}; the busiest:")
    for port in by_port[:10]:
        say(f"  {port}")
    return links
