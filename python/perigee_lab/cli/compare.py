# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee compare`: schemes of a record, or two records, compared seed by seed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli import demand
from perigee_lab.cli.options import JsonOption, count
from perigee_lab.common import quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say
from perigee_lab.common.terminal import empty_table, natural_width, print_table, table_console
from perigee_lab.demand.record import is_demand

if TYPE_CHECKING:
    from perigee_lab.results.comparison import Comparison
    from perigee_lab.results.metrics import Row
    from perigee_lab.results.paired import Paired
    from perigee_lab.results.run import Run

# Maximum number of differing scenario keys that are listed.
MOST_KEYS = 6
# Columns after metric and schemes, and those that a narrow terminal goes without, the first one first.
HEADS = ("mean X", "mean Y", "X - Y", "95 % interval", "p (t)", "p (Wilcoxon)", "effect d", "seeds", "more", "ahead")
LEAST = ("more", "p (Wilcoxon)", "effect d", "seeds", "mean X", "mean Y", "95 % interval")
# More pairs than this were hardly chosen.
MANY_PAIRS = 3
# Of files and pipes: no cell is cut.
PAIRED_WIDTH = 1000


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
        stop("--csv, --latex and --json exclude each other: give only one", 2)
    pairs = [_pair(text) for text in pair or ()] or None
    if b is not None and is_demand(a):
        if pair or metric or group or as_latex:
            stop(f"{a} is a record of a demand: --pair, --metric, --group and --latex are for runs with packets", 2)
        demand.compare_(a, b, as_csv=as_csv, as_json=as_json)
        return
    _expect_no_sweep(a, b)
    from perigee_lab.results.run import find_records

    left, right = find_records(a), None if b is None else find_records(b)
    found = _tests(left, right, pairs, metric, group)
    if as_csv or as_latex:
        if found is None:
            stop("no pair of schemes shares two seeds: `--runs 10` makes ten", 2)
        print(found.to_csv() if as_csv else found.to_latex(), end="")
        return
    about = None if b is None or right is None else _Sides((a, b), (left, right), pairs)
    if as_json:
        data = {"a": str(a), "b": None if b is None else str(b), "paired": [] if found is None else found.rows()}
        print(json.dumps({**data, **({} if about is None else about.data())}, indent=1))
        return
    if about is not None:
        about.print()
    if found is not None:
        _print(found, shared=b is None)
    for warning in _warnings([*left, *(right or ())]):
        say(f"warning: {warning}")


def _tests(
    a: list[Run], b: list[Run] | None, pairs: list[tuple[str, str]] | None, metrics: list[str] | None, group: str | None
) -> Comparison | None:
    """Paired differences; None if two folders share no two seeds, and nothing was asked of them."""
    from perigee_lab.common.files import RecordError
    from perigee_lab.results.comparison import compare

    if b is None:
        return compare(a, pairs=pairs, metrics=metrics, group=group)
    turned = None if pairs is None else [(y, x) for x, y in pairs]
    try:
        return compare(b, a, pairs=turned, metrics=metrics, group=group, labels=("B", "A"))
    except RecordError:
        if pairs or metrics or group:
            raise
        return None


def _expect_no_sweep(*folders: Path | None) -> None:
    from perigee_lab.results.cells import CELLS, INDEX

    for folder in folders:
        if folder is not None and (folder / INDEX).exists():
            cell = next((p for p in sorted((folder / CELLS).glob("*")) if p.is_dir()), folder / CELLS)
            stop(f"{folder} is a sweep: compare its cells, such as {cell}, or see `perigee results {folder}`", 2)


def _warnings(runs: Sequence[Run]) -> list[str]:
    """Warnings of the runs that concern what their seeds vary."""
    found = [w for r in runs for w in r.manifest.warnings]
    return [w for w in dict.fromkeys(found) if "seeds give the same" in w]


def _pair(text: str) -> tuple[str, str]:
    """A pair of schemes `X,Y`; exactly two parts are required, since paths may contain commas."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        stop(f"--pair {text}: two schemes separated by a comma are needed, such as --pair orbcc,cubic", 2)
    return parts[0], parts[1]


def _print(found: Comparison, *, shared: bool) -> None:
    from perigee_lab.results.paired import ACCURACY

    console = table_console(PAIRED_WIDTH)
    table, left_out = _table(found, (), plain=not console.is_terminal), 0
    while natural_width(table) > console.width and left_out < len(LEAST):
        left_out += 1
        table = _table(found, LEAST[:left_out], plain=not console.is_terminal)
    print_table(console, table)
    if left_out:
        say(f"Without {', '.join(LEAST[:left_out])}, for which this terminal is too narrow: --csv has all columns.")
    if len({(d.a, d.b) for d in found}) > MANY_PAIRS:
        print("These are all pairs: --pair X,Y compares two schemes, with fewer tests to correct for.")
    of = "seeds of one number share losses, handovers and traffic" if shared else "what they share depends on settings"
    tests = sum(not math.isnan(d.p) for d in found)
    say(
        f"Differences seed by seed: {of}. p (t) and ahead are corrected for {count(tests, 'test')} (Holm), at a level "
        "of 5 %.\n"
        f"Not decided: p is higher, which is no proof of equality; no difference: equal values, or an interval within "
        f"±{100 * ACCURACY:g} % of Y."
    )
    say(
        f"Effect d: mean over standard deviation of the differences; more: about this number of further seeds gives an "
        f"interval of ±{100 * ACCURACY:g} % of Y."
    )


def _table(found: Comparison, without: Sequence[str], *, plain: bool) -> Any:
    """A row per metric and pair."""
    from perigee_lab.results.paired import heading

    table = empty_table(plain=plain)
    shown = [name for name in HEADS if name not in without]
    for name in ("metric", "X", "Y"):
        table.add_column(name, no_wrap=True)
    for name in shown:
        table.add_column(name, justify="left" if name == "ahead" else "right", no_wrap=True)
    before = ""
    for d in found:
        if before and d.metric != before:
            table.add_section()
        cells = _cells(d)
        metric = heading(d.metric) if d.metric != before else ""
        table.add_row(metric, quoting.cell(d.a), quoting.cell(d.b), *(cells[name] for name in shown))
        before = d.metric
    return table


def _cells(d: Paired) -> dict[str, str]:
    """Cells by their headings."""
    numbers = [f"{d.a_mean:.4g}", f"{d.b_mean:.4g}", f"{d.mean:+.4g}"]
    if math.isnan(d.p):
        tests = ["equal in all", "-", "-", "-"]
    else:
        tests = [f"{d.low:.4g} to {d.high:.4g}", f"{d.corrected_p:.2g}", f"{d.wilcoxon_p:.2g}", f"{d.effect:.2f}"]
    more = "-" if math.isnan(d.p) or d.more_seeds is None else str(d.more_seeds)
    last = [str(len(d.differences)), more, quoting.cell(d.verdict)]
    return dict(zip(HEADS, [*numbers, *tests, *last], strict=True))


class _Sides:
    """Means of two records side by side."""

    def __init__(
        self, folders: tuple[Path, Path], runs: tuple[list[Run], list[Run]], pairs: list[tuple[str, str]] | None
    ) -> None:
        from perigee_lab.results.differing import differing
        from perigee_lab.results.summary import by_scheme, statistics_of

        self.folders = a, b = folders
        self.left, self.right = (by_scheme(r) for r in runs)
        self.pairs = pairs
        named = [(_named(x, runs[0], a), _named(y, runs[1], b)) for x, y in pairs or ()]
        self.chosen = named or [(cc, cc) for cc in dict.fromkeys([*self.left, *self.right])]
        self.rows = [_compared(x, y, self.left.get(x, []), self.right.get(y, [])) for x, y in self.chosen]
        self.over = [statistics_of(r.summary for r in of) for of in runs]
        self.seeds = [sorted({r.seed for r in of}) for of in runs]
        self.others = differing(*(r[0].manifest.scenario_toml for r in runs))

    def data(self) -> dict[str, Any]:
        """The means, and what differs, for JSON."""
        over = dict(zip("ab", self.over, strict=True))
        return {"differing_keys": self.others, "rtt_over": over, "schemes": self.rows}

    def print(self) -> None:
        """Prints the table, and what differs."""
        console = table_console(160)
        headings = ["scheme", "metric", *(quoting.cell(f"{n}: {f}") for n, f in zip("AB", self.folders, strict=True))]
        table = empty_table(*headings, "B - A", plain=not console.is_terminal)
        both = [row for row, (x, y) in zip(self.rows, self.chosen, strict=True) if x in self.left and y in self.right]
        for row in both:
            for i, cells in enumerate(_lines(row)):
                table.add_row(quoting.cell(row["cc"]) if i == 0 else "", *cells)
            table.add_section()
        if both:
            print_table(console, table)
        for line in self._differences():
            say(line)

    def _differences(self) -> list[str]:
        from perigee_lab.results.rtt_over import SAMPLES

        found = []
        for folder, mine, theirs in zip(self.folders, (self.left, self.right), (self.right, self.left), strict=True):
            if not self.pairs and (only := [cc for cc in mine if cc not in theirs]):
                found.append(f"Only in {folder}: {', '.join(only)}")
        if self.seeds[0] != self.seeds[1]:
            of = [_in_words(seeds) for seeds in self.seeds]
            found.append(f"The seeds differ: {of[0]} in A, {of[1]} in B; the numbers are means over them")
        if self.over != [[SAMPLES], [SAMPLES]] and any(self.over):
            sides = zip(self.over, "AB", strict=True)
            said = " and ".join(f"{' or '.join(of) or 'nothing'} in {side}" for of, side in sides)
            found.append(f"RTTs and inflation are over {said}: `perigee columns rtt_over` explains the difference")
        if self.others:
            more = f" and {len(self.others) - MOST_KEYS} more" if len(self.others) > MOST_KEYS else ""
            keys = ", ".join(f"{k} ({x} and {y})" for k, x, y in self.others[:MOST_KEYS])
            found.append(f"The scenarios differ in {keys}{more}")
        return found


def _named(cc: str, runs: list[Run], folder: Path) -> str:
    """Name of a scheme in a folder's records; ends the command if it has no run."""
    from perigee_lab.common.files import RecordError
    from perigee_lab.results.paired import scheme_of

    try:
        return scheme_of(runs, cc)
    except RecordError as error:
        stop(f"{folder}: {error}", 2)


def _lines(row: dict[str, Any]) -> list[list[str]]:
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
        found.append(cells)
    return found


def _in_words(seeds: Sequence[int]) -> str:
    """Seeds as text, as a range if they are consecutive."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _compared(x: str, y: str, a: list[Row], b: list[Row]) -> dict[str, Any]:
    from perigee_lab.results.metrics import mean_and_interval
    from perigee_lab.results.summary import COLUMNS, finite

    means = [
        finite({name: mean_and_interval([float(r.get(name, math.nan)) for r in rows])[0] for name, _, _ in COLUMNS})
        for rows in (a, b)
    ]
    return {"cc": x if x == y else f"{x}, {y}", "a": means[0], "b": means[1]}
