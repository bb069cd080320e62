# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee paths`: RTT, links and satellites of paths over time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli import given
from perigee_lab.cli.options import JsonOption, ScenarioArg, SetOption, TleOption, TrustOption, names_of
from perigee_lab.cli.output import print_warnings, save
from perigee_lab.cli.places import FromOption, OutOption, ToOption, ends_of, in_options
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from perigee_lab.sky.survey import PairPaths


POLICIES = ("shortest-path", "nearest", "highest-elevation", "longest-visibility")


# Minimum number of pairs for which one table and one distribution replace the blocks and figures.
MANY_PAIRS = 9


def command(
    scenario: ScenarioArg,
    origin: FromOption = None,
    target: ToOption = None,
    attach: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Policies for choosing satellites: {', '.join(POLICIES)}.")
    ] = None,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Choose satellites for these pairs only, not for the scenario's flows."),
    ] = False,
    out: OutOption = None,
    csv: Annotated[Path | None, typer.Option(help="Write RTT and links over time to this file.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print every path with its satellites.")] = False,
    tle: TleOption = None,
    sets: SetOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show RTT, links and satellites of paths over time.

    Compared with a great-circle fibre.
    """
    from perigee_lab.sky import survey as found

    ends = ends_of(origin, target)
    surveys: list[list[PairPaths]] = []
    warnings: list[str] = []
    for policy in _policies(attach):
        chosen = [] if policy is None else [f"source.constellation.attach={policy}"]
        loaded = given.scenario(scenario, [*(sets or []), *chosen], tle, trust=trust, as_json=as_json)
        if alone and not loaded.core.has_sky:
            stop("--alone has no effect: this network has no choice of satellites")
        with in_options(origin, target):
            surveys.append(found.survey(loaded, ends, policy or "", warnings.append, alone=alone))
    print_warnings(list(dict.fromkeys(warnings)))
    pairs = [list(of_pair) for of_pair in zip(*surveys, strict=True)]
    flat = [p for of_pair in pairs for p in of_pair]
    contrasts = {id(of[-1]): found.contrast(of[0], of[-1]) for of in pairs if len(of) > 1}
    if csv is not None:
        with writing(csv):
            found.write_csv(csv, flat)
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


def _policies(attach: str | None) -> list[str | None]:
    names = names_of("--attach", attach)
    for name in names:
        if name not in POLICIES and ":" not in name:
            stop(f"--attach: {name!r} is neither one of {', '.join(POLICIES)} nor a function file.py:name")
    return [*names] or [None]


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
        say(f"{p.origin} to {p.target}{far}")
        shown = [name for name in head if placed or name != "x fibre"]
        say(f"  {'RTT of propagation, ms':<24}" + "".join(f"{name:>10}" for name in shown))
        for q in of_pair:
            s = q.statistics()
            mean = s["rtt_mean_ms"]
            cells = [ms(mean), ms(s["rtt_min_ms"]), ms(s["rtt_max_ms"])]
            if placed:
                cells.append("-" if mean is None else f"{mean / s['fibre_rtt_ms']:.2f}")
            cells.append("-" if mean is None else f"{s['links_min']} to {s['links_max']}")
            cells += [str(s["path_changes"]), f"{s['handovers_from']} + {s['handovers_to']}"]
            cells.append(f"{s['unreachable_share']:.1%}")
            say(f"  {q.label:<24}" + "".join(f"{cell:>10}" for cell in cells))
            _print_contrast(of_pair[0], q, contrasts)


def _print_contrast(first: PairPaths, p: PairPaths, contrasts: dict[int, Any]) -> None:
    c = contrasts.get(id(p))
    if c is None:
        return
    apart = "" if c.apart_share is None else f"; of these, {c.apart_share:.0%} with the end satellites flying apart"
    say(
        f"  {p.label} is {c.mean_ratio:.2f} times {first.label} on average, {c.largest_ratio:.2f} at most, "
        f"over 1.5 in {c.slow_share:.0%} of the time{apart}"
    )


def _print_legs(pairs: Sequence[PairPaths]) -> None:
    from perigee_lab.sky.survey import hop_name

    for p in pairs:
        say(f"\n{p.origin} to {p.target}, {p.label}: paths (↑ northbound, ↓ southbound, p = orbital plane)")
        for leg in p.legs:
            if leg.hops is None:
                say(f"  {leg.t_s:9.1f} s  no path")
            else:
                names = " ".join(hop_name(h) for h in leg.hops)
                say(f"  {leg.t_s:9.1f} s  {leg.rtt_ms:8.2f} ms  {leg.links:2d} links  {names}")


def _print_distribution(pairs: Sequence[Sequence[PairPaths]]) -> None:
    """A line per policy and metric: its distribution over the pairs."""
    import numpy as np

    say(f"{len(pairs)} pairs{'':<18}" + "".join(f"{name:>12}" for name in ("least", "10 %", "median", "90 %", "most")))
    for i, first in enumerate(pairs[0]):
        rows = [of_pair[i].statistics() for of_pair in pairs]
        there = [r for r in rows if r["rtt_mean_ms"] is not None]
        numbers = {
            "mean RTT, ms": [r["rtt_mean_ms"] for r in there],
            "mean RTT over fibre": [r["rtt_mean_ms"] / r["fibre_rtt_ms"] for r in there if r["fibre_rtt_ms"]],
            "path changes": [r["path_changes"] for r in rows],
            "time without path, %": [100 * r["unreachable_share"] for r in rows],
        }
        say(f"  {first.label}")
        for name, values in numbers.items():
            if values:
                shown = np.percentile(np.array(values, dtype=float), [0, 10, 50, 90, 100])
                say(f"    {name:<22}" + "".join(f"{v:>12.4g}" for v in shown))


def _write_plots(pairs: Sequence[Sequence[PairPaths]], out: Path, *, quiet: bool) -> None:
    from perigee_lab.sky.path_plot import distribution, plot

    if len(pairs) >= MANY_PAIRS:
        from perigee_lab.sky.survey import write_statistics

        table = out.with_suffix(".csv")
        with writing(table):
            write_statistics(table, [p for of_pair in pairs for p in of_pair])
        save(distribution(pairs), out)
        if not quiet:
            say(f"distribution over the pairs: {out}, a row for each: {table}")
        return
    for i, of_pair in enumerate(pairs):
        file = out if len(pairs) == 1 else out.with_stem(f"{out.stem}-{i + 1}")
        save(plot(of_pair), file)
        if not quiet:
            say(f"plot: {file}")
