# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee compare`: two records side by side."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common import quoting

if TYPE_CHECKING:
    from perigee_lab.results.metrics import Row

# Number of differing scenario keys that are listed.
MOST_KEYS = 6


def command(
    a: Annotated[Path, typer.Argument(help="Folder of a record.")],
    b: Annotated[Path, typer.Argument(help="Folder of another.")],
    as_json: JsonOption = False,
) -> None:
    """Put two records side by side."""
    from perigee_lab.results.differing import differing
    from perigee_lab.results.rtt_over import SAMPLES
    from perigee_lab.results.run import find_records
    from perigee_lab.results.summary import by_scheme, statistics_of

    runs = find_records(a), find_records(b)
    left, right = (by_scheme(r) for r in runs)
    others = differing(*(r[0].manifest.scenario_toml for r in runs))
    names = list(dict.fromkeys([*left, *right]))
    rows = [_compared(cc, left.get(cc, []), right.get(cc, [])) for cc in names]
    over = [statistics_of(r.summary for r in of) for of in runs]
    if as_json:
        told = {"a": str(a), "b": str(b), "differing_keys": others, "rtt_over": dict(zip("ab", over, strict=True))}
        print(json.dumps({**told, "schemes": rows}, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("scheme", "metric", quoting.cell(f"A: {a}"), quoting.cell(f"B: {b}"), "B - A")
    both = [row for row in rows if row["cc"] in left and row["cc"] in right]
    for row in both:
        for i, cells in enumerate(_lines(row)):
            table.add_row(quoting.cell(row["cc"]) if i == 0 else "", *cells)
        table.add_section()
    if both:
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    for folder, mine, theirs in ((a, left, right), (b, right, left)):
        if only := [cc for cc in mine if cc not in theirs]:
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
        found.append([one_line(heading), *("-" if v is None else form.format(v) for v in (x, y)), difference])
    return found


def _in_words(seeds: Sequence[int]) -> str:
    """Seeds as text, as a range if they are consecutive."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _compared(cc: str, a: list[Row], b: list[Row]) -> dict[str, Any]:
    from perigee_lab.results.metrics import mean_and_interval
    from perigee_lab.results.summary import COLUMNS, finite

    means = [
        finite({name: mean_and_interval([float(r.get(name, math.nan)) for r in rows])[0] for name, _, _ in COLUMNS})
        for rows in (a, b)
    ]
    return {"cc": cc, "a": means[0], "b": means[1]}
