# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Commands that look at a constellation without running packets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli import measure
from perigee_lab.cli.options import (
    ForceOption,
    JsonOption,
    ScenarioArg,
    SetOption,
    TleOption,
    TrustOption,
    check_free,
    count,
    names_of,
    stop,
)
from perigee_lab.cli.places import of_places
from perigee_lab.cli.weather import weather
from perigee_lab.common.files import cannot_write, filled, written
from perigee_lab.common.messages import complain

if TYPE_CHECKING:
    from perigee_lab.results.record import Run
    from perigee_lab.runs.scenario import Scenario
    from perigee_lab.sky.hotspots import Busy
    from perigee_lab.sky.survey import PairPaths

DIFFERENT = 3
TRACES = ("mahimahi", "leoreplayer", "tc")
EXPORTS = ("timeline", "hypatia", "leoem", *TRACES)
POLICIES = ("shortest-path", "nearest", "highest-elevation", "longest-visibility")

FromOption = Annotated[
    str | None, typer.Option("--from", metavar="PLACE", help='Node, city or "lat, lon"; default: the flows.')
]
ToOption = Annotated[str | None, typer.Option("--to", metavar="PLACE", help="The other end.")]
OutOption = Annotated[
    Path | None, typer.Option(help="Picture to write (.png, .svg or .pdf; --over: .gif, .mp4, .csv, .geojson, .czml).")
]

Load = Callable[..., "Scenario"]
_load: list[Load] = []


def register(app: typer.Typer, load: Load) -> None:
    """Adds the commands to the command line; `load` reads a scenario or ends with its problems."""
    _load[:] = [load]
    for command in (paths, sky, export, diff):
        app.command()(command)
    measure.group.command("hypatia")(import_hypatia)
    measure.group.command("leoem")(import_leoem)
    app.command()(weather)


def paths(
    scenario: ScenarioArg,
    origin: FromOption = None,
    target: ToOption = None,
    attach: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Ways of choosing satellites, of {', '.join(POLICIES)}.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Choose satellites for these pairs only, not for the scenario's flows, too.")
    ] = False,
    out: OutOption = None,
    csv: Annotated[Path | None, typer.Option(help="Write RTT and links over time to this file.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print every path with its satellites.")] = False,
    tle: TleOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show RTT, links and satellites of paths over time, beside a great-circle fibre."""
    from perigee_lab import _core
    from perigee_lab.sky import survey as found

    ends = _ends(origin, target)
    surveys: list[list[PairPaths]] = []
    remarks: list[str] = []
    for policy in _policies(attach):
        chosen = [] if policy is None else [f"source.constellation.attach={policy}"]
        loaded = _load[0](scenario, [*(sets or []), *chosen], tle, trust=trust, as_json=as_json)
        if alone and not loaded.core.has_sky:
            stop("--alone has no effect: nothing in this network chooses satellites")
        try:
            surveys.append(found.survey(loaded, ends, policy or "", remarks.append, alone=alone))
        except (_core.ScenarioError, _core.RunError) as error:
            stop(of_places(error, origin, target))
    print_remarks(list(dict.fromkeys(remarks)))
    pairs = [list(of_pair) for of_pair in zip(*surveys, strict=True)]
    flat = [p for of_pair in pairs for p in of_pair]
    contrasts = {id(of[-1]): found.contrast(of[0], of[-1]) for of in pairs if len(of) > 1}
    if csv is not None:
        try:
            found.write_csv(csv, flat)
        except OSError as error:
            stop(cannot_write(csv, error))
    if as_json:
        _print_json(flat, contrasts)
    else:
        if len(pairs) >= MANY_PAIRS and not listed:
            _print_distribution(pairs)
        else:
            _print_table(pairs, contrasts)
        if listed:
            _print_legs(flat)
    if out is not None:
        _write_plots(pairs, out, quiet=as_json)


def shared_choices(scenario: Scenario) -> list[str]:
    """Remarks on satellites that terminals choose for several pairs at once; none without satellites."""
    from perigee_lab import _core

    try:
        return _core.Sky(scenario.core, []).shared_choices()
    except (_core.ScenarioError, _core.RunError):
        return []


def sky(
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
        str | None, typer.Option(metavar="TIME", help="A map over so long instead of an instant, such as 24h.")
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
    """Draw a map of satellites, ISLs, coverage and paths at an instant, or a map over hours (--over)."""
    from perigee_lab import _core
    from perigee_lab.sky.skymap import draw, picture

    loaded = _load[0](scenario, sets, tle, trust=trust, as_json=as_json)
    record = None if utilisation is None else _record(utilisation, loaded)
    if over is not None:
        from perigee_lab.cli.sky_maps import draw_over

        if target is not None:
            stop("--to has no effect on a map over time: it shows paths to everywhere")
        step_s = None if step is None else _seconds(step)
        draw_over(loaded, what, _seconds(over), step_s, origin, record, out, as_json=as_json)
        return
    if step is not None or what != "coverage":
        stop("--map and --step are for maps over time: say --over, such as --over 24h")
    try:
        found = picture(loaded, _seconds(time), _ends(origin, target), seed=None if record is None else record.seed)
    except (_core.ScenarioError, _core.RunError) as error:
        stop(of_places(error, origin, target))
    print_remarks([*found["warnings"], *_beyond(found, record)])
    if as_json:
        print(json.dumps(found))
        return
    file = out or Path(f"{loaded.name}-sky.png")
    links = None if record is None else _busy(record, found)
    save(draw(found, zoom=zoom, isls=isls, links=links), file)
    print(f"{len(found['satellites'])} satellites, {len(found['isls'])} ISLs at {found['instant']}")
    for p in found["paths"]:
        ends = f"{found['ground'][p['from']]['name']} to {found['ground'][p['to']]['name']}"
        print(f"  {ends}: " + (f"{p['rtt_ms']:.2f} ms" if p["vertices"] is not None else "no path"))
    print(f"map: {file}")


def export(
    what: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(EXPORTS)}.")],
    scenario: ScenarioArg,
    out: Annotated[Path, typer.Argument(help="File (Hypatia and traces: folder) to write.")],
    origin: FromOption = None,
    target: ToOption = None,
    tle: TleOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
    force: ForceOption = False,
) -> None:
    """Write a scenario's network over time for other tools: as a timeline, state of Hypatia, traces, a script of tc."""
    from perigee_lab import _core

    if what not in EXPORTS:
        stop(f"FORMAT: {what!r} is none of {', '.join(EXPORTS)}")
    # A folder that waits to be filled is no result.
    check_free(out, force=force or (out.is_dir() and not any(out.iterdir())))
    loaded = _load[0](scenario, sets, tle, trust=trust)
    if what in TRACES:
        _export_traces(what, loaded, out, _ends(origin, target))
        return
    with _output(out, folder=what == "hypatia") as partial:
        try:
            remarks = _core.export(loaded.core, what, partial, _ends(origin, target))
        except _core.ScenarioError as error:
            stop(of_places(error, origin, target))
    print_remarks(remarks)
    print(f"{what}: {out}")


def _export_traces(what: str, loaded: Scenario, out: Path, ends: Sequence[tuple[str, str]]) -> None:
    from perigee_lab import _core
    from perigee_lab.sky.timeline import Timeline
    from perigee_lab.sky.traces import not_carried, write

    try:
        world = loaded.core.world(loaded.core.seed)
        remarks = not_carried(what, json.loads(world.describe())["ports"])
        found = Timeline(_core.Timeline.of(world))
        if len(ends) > 1 or (not ends and len(found.pairs) > 1):
            some = ", ".join(f"{a} to {b}" for a, b in found.pairs[:8])
            stop(f"a trace is of one pair: say --from and --to; there are {some}")
        origin, target = ends[0] if ends else found.pairs[0]
        lines = write(what, found, origin, target, out)
    except KeyError as error:
        stop(str(error.args[0]))
    except (_core.ScenarioError, _core.RunError) as error:
        stop(error.args[0])
    except OSError as error:
        stop(cannot_write(out, error))
    print_remarks(remarks)
    print(f"{what}: {out}, {origin} to {target}")
    for line in lines:
        print(f"  {line}")


SourceFolder = Annotated[Path, typer.Argument(help="Folder of the other tool's state, or its file.")]
TimelineOut = Annotated[Path, typer.Argument(help="Timeline to write.")]


def import_hypatia(
    source: SourceFolder,
    out: TimelineOut,
    origin: FromOption = None,
    target: ToOption = None,
    dynamic: Annotated[str | None, typer.Option(help="Folder of forwarding states, where there are several.")] = None,
    force: ForceOption = False,
) -> None:
    """Turn a state folder of Hypatia into a timeline."""
    _import_state("hypatia", source, out, _ends(origin, target), dynamic, force=force)


def import_leoem(source: SourceFolder, out: TimelineOut, force: ForceOption = False) -> None:
    """Turn a path log of LeoEM into a timeline."""
    _import_state("leoem", source, out, [], None, force=force)


def _import_state(
    what: str, source: Path, out: Path, ends: list[tuple[str, str]], dynamic: str | None, *, force: bool
) -> None:
    from perigee_lab import _core

    check_free(out, force=force)
    with _output(out) as partial:
        _core.import_state(what, source, partial, ends, dynamic)
    print(f"timeline: {out}")


def diff(
    a: Annotated[Path, typer.Argument(help="A saved timeline.")],
    b: Annotated[Path, typer.Argument(help="Another.")],
    step: Annotated[str, typer.Option(help="Time between instants that are compared.")] = "100ms",
    tolerance: Annotated[str, typer.Option(help="Events may be this far apart.")] = "200ms",
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Read the node OLD of either as NEW, e.g. end1=london; repeatable."),
    ] = None,
    shell: Annotated[
        str | None,
        typer.Option(metavar="24x66", help="Planes and slots of a shell: read node N as its satellite N, sat-P-S."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two timelines: ways, delays, ports and events of their common pairs. Exit code 3 if they differ."""
    from perigee_lab import _core
    from perigee_lab.sky import exchange

    for folder in (f for f in (a, b) if f.is_dir()):
        stop(f"{folder} is a folder: perigee compare puts two records side by side, perigee diff two saved timelines")
    names = exchange.Names(_renamed(rename or []), _grid(shell))
    try:
        found = exchange.diff(a, b, step_s=_seconds(step), tolerance_s=_seconds(tolerance), names=names)
    except _core.RunError as error:
        stop(error.args[0])
    print(json.dumps(found, indent=1) if as_json else "\n".join(exchange.lines(found)))
    raise SystemExit(0 if found["same"] else DIFFERENT)


@contextmanager
def _output(out: Path, *, folder: bool = False) -> Iterator[Path]:
    """What the core writes to until it is complete; ends with exit code 2, in terms of `out`, if it fails."""
    from perigee_lab import _core

    name = str(out)
    try:
        with filled(out) if folder else written(out) as partial:
            name = str(partial)
            yield partial
    except (_core.ScenarioError, _core.RunError) as error:
        stop(error.args[0].replace(name, str(out)))
    except OSError as error:
        stop(cannot_write(out, error))


def print_remarks(remarks: Sequence[str]) -> None:
    """What to look at before trusting what is printed, each once, on the error stream."""
    for remark in dict.fromkeys(remarks):
        complain(f"look before you trust: {remark}")


def _beyond(found: dict[str, Any], record: Run | None) -> list[str]:
    """Whether the instant of a map lies behind the end of the run, or of the record."""
    t_s, end_s = found["t_s"], found["duration_s"]
    notes = []
    if t_s > end_s:
        notes.append(f"{t_s:g} s is behind the end of the run, {end_s:g} s: the map shows what would be there")
    if record is not None and t_s > (of_record := record.manifest.duration_ns / 1e9):
        notes.append(f"the record ends at {of_record:g} s: the loads are those of its last sample")
    return notes


def _record(folder: Path, scenario: Scenario) -> Run:
    """The record of a map's loads; refused where its satellites or places are not those of the scenario."""
    from perigee_lab.common.files import RecordError
    from perigee_lab.results.record import open_record
    from perigee_lab.sky.hotspots import differences

    try:
        record = open_record(folder)
    except RecordError as error:
        stop(str(error.args[0]))
    found = differences(record, scenario)
    words = [f"{d.key} is {d.in_record or 'not given'} there and {d.in_scenario or 'not given'} here" for d in found]
    moved = [w for w, d in zip(words, found, strict=True) if d.moves]
    if moved:
        stop(f"{folder} is a record of another scenario: {'; '.join(moved[:3])}")
    if words:
        print_remarks([f"{folder} was made by a scenario that differs: {'; '.join(words[:5])}"])
    return record


def _busy(record: Run, found: dict[str, Any]) -> list[Busy]:
    """Load of the links at the instant of a map; prints the busiest ports."""
    from perigee_lab.common.files import RecordError
    from perigee_lab.sky.hotspots import busy, ports

    try:
        links = busy(record, found["t_s"])
    except (RecordError, KeyError) as error:
        stop(str(error.args[0]))
    known = {*found["names"], *(g["name"] for g in found["ground"])}
    strangers = {b.origin for b in links} - known
    if strangers:
        stop(f"the record is of another scenario: there is no node {min(strangers)!r} in this one")
    by_port = ports(links)
    print(f"{count(len(by_port), 'port')} in use, with {count(len(links), 'link')}; the busiest:")
    for port in by_port[:10]:
        print(f"  {port}")
    return links


def _ends(origin: str | None, target: str | None) -> list[tuple[str, str]]:
    if origin is not None and target is not None:
        return [(origin, target)]
    if origin is not None or target is not None:
        stop("give --from and --to, or neither")
    return []


def _renamed(pairs: Sequence[str]) -> dict[str, str]:
    split = [p.partition("=") for p in pairs]
    for old, _, new in split:
        if not old.strip() or not new.strip():
            stop("--rename: write OLD=NEW, such as end1=london")
    return {old.strip(): new.strip() for old, _, new in split}


def _grid(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d{1,4})\s*[xX]\s*(\d{1,4})\s*", text)
    if match is None or 0 in (int(match[1]), int(match[2])):
        stop(f"--shell: {text!r} is not planes and slots such as 24x66")
    return int(match[1]), int(match[2])


def _policies(attach: str | None) -> list[str | None]:
    names = names_of("--attach", attach)
    for name in names:
        if name not in POLICIES and ":" not in name:
            stop(f"--attach: {name!r} is none of {', '.join(POLICIES)}, and no function file.py:name")
    return [*names] or [None]


def _seconds(text: str) -> float:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(us|µs|ms|s|min|h|)\s*", text)
    if match is None:
        stop(f"{text!r} is not a time such as 42s")
    return float(match[1]) * {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0, "h": 3600.0}[match[2]]


def _print_json(pairs: Sequence[PairPaths], contrasts: dict[int, Any]) -> None:
    rows = []
    for p in pairs:
        row = p.statistics()
        row["paths"] = [{"t_s": leg.t_s, "rtt_ms": leg.rtt_ms, "hops": leg.hops} for leg in p.legs]
        if contrasts.get(id(p)) is not None:
            row["contrast"] = vars(contrasts[id(p)])
        rows.append(row)
    print(json.dumps(rows, indent=1))


def _print_table(pairs: Sequence[Sequence[PairPaths]], contrasts: dict[int, Any]) -> None:
    def ms(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    head = ("mean", "min", "max", "x fibre", "links", "changes", "handovers", "no path")
    for of_pair in pairs:
        p = of_pair[0]
        placed = p.distance_km is not None
        far = f": {p.distance_km:,.0f} km, {p.fibre_rtt_ms:.2f} ms in a great-circle fibre" if placed else ""
        print(f"{p.origin} to {p.target}{far}")
        shown = [name for name in head if placed or name != "x fibre"]
        print(f"  {'RTT of propagation, ms':<24}" + "".join(f"{name:>10}" for name in shown))
        for q in of_pair:
            s = q.statistics()
            mean = s["rtt_mean_ms"]
            cells = [ms(mean), ms(s["rtt_min_ms"]), ms(s["rtt_max_ms"])]
            if placed:
                cells.append("-" if mean is None else f"{mean / s['fibre_rtt_ms']:.2f}")
            cells.append("-" if mean is None else f"{s['links_min']} to {s['links_max']}")
            cells += [str(s["path_changes"]), f"{s['handovers_from']} + {s['handovers_to']}"]
            cells.append(f"{s['unreachable_share']:.1%}")
            print(f"  {q.label:<24}" + "".join(f"{cell:>10}" for cell in cells))
            _print_contrast(of_pair[0], q, contrasts)


def _print_contrast(first: PairPaths, p: PairPaths, contrasts: dict[int, Any]) -> None:
    c = contrasts.get(id(p))
    if c is None:
        return
    apart = "" if c.apart_share is None else f"; of these, {c.apart_share:.0%} with the end satellites flying apart"
    print(
        f"  {p.label} is {c.mean_ratio:.2f} times {first.label} on average, {c.largest_ratio:.2f} at most, "
        f"over 1.5 in {c.slow_share:.0%} of the time{apart}"
    )


def _print_legs(pairs: Sequence[PairPaths]) -> None:
    from perigee_lab.sky.survey import hop_name

    for p in pairs:
        print(f"\n{p.origin} to {p.target}, {p.label}: paths (↑ northbound, ↓ southbound, p = orbital plane)")
        for leg in p.legs:
            if leg.hops is None:
                print(f"  {leg.t_s:9.1f} s  no path")
            else:
                names = " ".join(hop_name(h) for h in leg.hops)
                print(f"  {leg.t_s:9.1f} s  {leg.rtt_ms:8.2f} ms  {leg.links:2d} links  {names}")


# From so many pairs on there is one table and one distribution instead of a block and a picture for each pair.
MANY_PAIRS = 9


def _print_distribution(pairs: Sequence[Sequence[PairPaths]]) -> None:
    """A line for each policy and number: how it is distributed over the pairs."""
    import numpy as np

    print(
        f"{len(pairs)} pairs{'':<18}" + "".join(f"{name:>12}" for name in ("least", "10 %", "median", "90 %", "most"))
    )
    for i, first in enumerate(pairs[0]):
        rows = [of_pair[i].statistics() for of_pair in pairs]
        there = [r for r in rows if r["rtt_mean_ms"] is not None]
        numbers = {
            "mean RTT, ms": [r["rtt_mean_ms"] for r in there],
            "mean RTT over fibre": [r["rtt_mean_ms"] / r["fibre_rtt_ms"] for r in there if r["fibre_rtt_ms"]],
            "path changes": [r["path_changes"] for r in rows],
            "time without path, %": [100 * r["unreachable_share"] for r in rows],
        }
        print(f"  {first.label}")
        for name, values in numbers.items():
            if values:
                shown = np.percentile(np.array(values, dtype=float), [0, 10, 50, 90, 100])
                print(f"    {name:<22}" + "".join(f"{v:>12.4g}" for v in shown))


def _write_plots(pairs: Sequence[Sequence[PairPaths]], out: Path, *, quiet: bool) -> None:
    from perigee_lab.sky.path_plot import distribution, plot

    if len(pairs) >= MANY_PAIRS:
        from perigee_lab.sky.survey import write_statistics

        table = out.with_suffix(".csv")
        try:
            write_statistics(table, [p for of_pair in pairs for p in of_pair])
        except OSError as error:
            stop(cannot_write(table, error))
        save(distribution(pairs), out)
        if not quiet:
            print(f"distribution over the pairs: {out}, a row for each: {table}")
        return
    for i, of_pair in enumerate(pairs):
        file = out if len(pairs) == 1 else out.with_stem(f"{out.stem}-{i + 1}")
        save(plot(of_pair), file)
        if not quiet:
            print(f"plot: {file}")


def save(figure: Any, file: Path) -> None:
    """Writes a figure and closes it; ends with exit code 2 if that cannot be done."""
    import matplotlib.pyplot as plt

    try:
        # Fonts as journals want them: TrueType, not Type 3.
        with written(file, folders=True) as partial, plt.rc_context({"pdf.fonttype": 42}):
            figure.savefig(partial, dpi=160, format=file.suffix[1:] or "png")
    except OSError as error:
        stop(cannot_write(file, error))
    except ValueError as error:
        stop(f"cannot write {file}: {error}")
    finally:
        plt.close(figure)
