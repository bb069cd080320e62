# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee compare`: schemes of a record, or two records, compared seed by seed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli.options import JsonOption, count
from perigee_lab.common import quoting
from perigee_lab.common.errors import stop

if TYPE_CHECKING:
    from perigee_lab.results.comparison import Comparison
    from perigee_lab.results.metrics import Row
    from perigee_lab.results.paired import Paired
    from perigee_lab.results.run import Run

# Maximum number of differing scenario keys that are listed.
MOST_KEYS = 6


def command(
    a: Annotated[Path, typer.Argument(help="Folder of a record.")],
    b: Annotated[Path | None, typer.Argument(help="Folder of another; without it, the schemes of the first.")] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option("--pair", metavar="X,Y", help="Compare scheme X with Y (of the second folder, if given)."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", metavar="COLUMN", help="Compare this column; repeatable.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="NAME", help="Compare this group of flows (`group` of a [[flow]]).")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the paired differences as CSV.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print the paired differences as a LaTeX table.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare schemes seed by seed, within a folder or across two."""
    if sum((as_csv, as_latex, as_json)) > 1:
        stop("--csv, --latex and --json exclude each other: give one", 2)
    pairs = [_pair(text) for text in pair or ()] or None
    if b is not None and not (as_csv or as_latex or metric or group):
        _across(a, b, pairs, as_json=as_json)
        return
    from perigee_lab.results.comparison import compare

    found = compare(a, b, pairs=pairs, metrics=metric, group=group)
    if as_csv:
        print(found.to_csv(), end="")
    elif as_latex:
        print(found.to_latex(), end="")
    elif as_json:
        print(json.dumps({"a": str(a), "b": None if b is None else str(b), "paired": found.rows()}, indent=1))
    else:
        _print(found)


def _pair(text: str) -> tuple[str, str]:
    """A pair of schemes `X,Y`; exactly two parts are required, since paths may contain commas."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        stop(f"--pair {text}: two schemes separated by a comma are needed, such as --pair orbcc,cubic", 2)
    return parts[0], parts[1]


def _print(found: Comparison) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from perigee_lab.results.paired import ACCURACY, heading

    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else box.ASCII2, pad_edge=False)
    for name in ("metric", "X", "Y"):
        table.add_column(name, no_wrap=True)
    heads = ("mean X", "mean Y", "X - Y", "95 % interval", "p (t)", "p (Wilcoxon)", "effect d", "seeds", "more")
    for name in heads:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ahead", no_wrap=True)
    before = ""
    for d in found:
        if before and d.metric != before:
            table.add_section()
        table.add_row(heading(d.metric) if d.metric != before else "", *_cells(d))
        before = d.metric
    console.print(table)
    print(
        "Differences seed by seed: seeds of one number share losses, handovers and traffic. p (t) and ahead are "
        f"corrected for {count(len(found), 'test')} (Holm), at a level of 5 %;"
    )
    print(
        f"effect d: mean over standard deviation of the differences; more: about so many further seeds give an "
        f"interval of ±{100 * ACCURACY:g} % of Y."
    )


def _cells(d: Paired) -> list[str]:
    numbers = [f"{d.a_mean:.4g}", f"{d.b_mean:.4g}", f"{d.mean:+.4g}"]
    if math.isnan(d.p):
        tests = ["equal in all", "-", "-", "-"]
    else:
        tests = [f"{d.low:.4g} to {d.high:.4g}", f"{d.corrected_p:.2g}", f"{d.wilcoxon_p:.2g}", f"{d.effect:.2f}"]
    more = "-" if math.isnan(d.p) or d.more_seeds is None else str(d.more_seeds)
    ahead = d.ahead or "no difference"
    return [quoting.cell(d.a), quoting.cell(d.b), *numbers, *tests, str(len(d.differences)), more, quoting.cell(ahead)]


def _across(a: Path, b: Path, pairs: list[tuple[str, str]] | None, *, as_json: bool) -> None:
    """Prints means of two records side by side, with paired differences over shared seeds."""
    from perigee_lab.results.differing import differing
    from perigee_lab.results.rtt_over import SAMPLES
    from perigee_lab.results.run import find_records
    from perigee_lab.results.summary import by_scheme, statistics_of

    runs = find_records(a), find_records(b)
    left, right = (by_scheme(r) for r in runs)
    others = differing(*(r[0].manifest.scenario_toml for r in runs))
    chosen = pairs or [(cc, cc) for cc in dict.fromkeys([*left, *right])]
    for x, y in pairs or ():
        _expect(x, left, a)
        _expect(y, right, b)
    rows = [_compared(x, y, runs, left.get(x, []), right.get(y, [])) for x, y in chosen]
    over = [statistics_of(r.summary for r in of) for of in runs]
    if as_json:
        told = {"a": str(a), "b": str(b), "differing_keys": others, "rtt_over": dict(zip("ab", over, strict=True))}
        print(json.dumps({**told, "schemes": rows}, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    paired = any(row["paired"] for row in rows)
    tests = ("95 % interval", "p") if paired else ()
    table = Table("scheme", "metric", quoting.cell(f"A: {a}"), quoting.cell(f"B: {b}"), "B - A", *tests)
    both = [row for row, (x, y) in zip(rows, chosen, strict=True) if x in left and y in right]
    for row in both:
        for i, cells in enumerate(_lines(row, paired=paired)):
            table.add_row(quoting.cell(row["cc"]) if i == 0 else "", *cells)
        table.add_section()
    if both:
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    if paired:
        print("Intervals and p (Student's t) are of the differences seed by seed, p without correction for many tests")
    for folder, mine, theirs in ((a, left, right), (b, right, left)):
        if not pairs and (only := [cc for cc in mine if cc not in theirs]):
            print(f"Only in {folder}: {', '.join(only)}")
    seeds = [sorted({r.seed for r in of}) for of in runs]
    if seeds[0] != seeds[1]:
        print(
            f"The seeds differ: {_in_words(seeds[0])} in A, {_in_words(seeds[1])} in B; the numbers are means over them"
        )
    if over != [[SAMPLES], [SAMPLES]] and any(over):
        said = " and ".join(f"{' or '.join(of) or 'nothing'} in {side}" for of, side in zip(over, "AB", strict=True))
        print(f"RTTs and inflation are over {said}: `perigee columns rtt_over` says what that means")
    if others:
        more = f" and {len(others) - MOST_KEYS} more" if len(others) > MOST_KEYS else ""
        shown_keys = ", ".join(f"{k} ({x} and {y})" for k, x, y in others[:MOST_KEYS])
        print(f"The scenarios differ in {shown_keys}{more}")


def _expect(cc: str, there: Mapping[str, object], folder: Path) -> None:
    if cc not in there:
        stop(f"{folder} has no run of {cc!r}; it has {', '.join(there)}", 2)


def _lines(row: dict[str, Any], *, paired: bool) -> list[list[str]]:
    """Heading, both values and their difference for each metric of either record."""
    from perigee_lab.results.columns import one_line
    from perigee_lab.results.summary import COLUMNS

    found = []
    for name, heading, form in COLUMNS:
        x, y = row["a"].get(name), row["b"].get(name)
        if x is None and y is None:
            continue
        if x is None or y is None:
            difference = "-"
        elif x == y:
            difference = form.format(0)
        elif form.endswith("%}"):
            difference = f"{100 * (y - x):+.1f} points"
        else:
            difference = f"{form[:2]}+{form[2:]}".format(y - x)
        cells = [one_line(heading), *("-" if v is None else form.format(v) for v in (x, y)), difference]
        test = row["paired"].get(name)
        if paired:
            cells += ["", ""] if test is None else [f"{test['low']:.4g} to {test['high']:.4g}", f"{test['p']:.2g}"]
        found.append(cells)
    return found


def _in_words(seeds: Sequence[int]) -> str:
    """Seeds as text, as a range if they are consecutive."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _compared(x: str, y: str, runs: tuple[list[Run], list[Run]], a: list[Row], b: list[Row]) -> dict[str, Any]:
    from perigee_lab.common.files import RecordError
    from perigee_lab.results.metrics import mean_and_interval
    from perigee_lab.results.paired import by_seed, differences
    from perigee_lab.results.summary import COLUMNS, finite

    means = [
        finite({name: mean_and_interval([float(r.get(name, math.nan)) for r in rows])[0] for name, _, _ in COLUMNS})
        for rows in (a, b)
    ]
    paired = {}
    for name, _, _ in COLUMNS if a and b else ():
        try:
            found = differences(by_seed(runs[1], y, name), by_seed(runs[0], x, name), name)
        except RecordError:
            continue
        if not math.isnan(found.p):
            paired[name] = {"low": found.low, "high": found.high, "p": found.p, "seeds": len(found.differences)}
    return {"cc": x if x == y else f"{x}, {y}", "a": means[0], "b": means[1], "paired": paired}
