# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the tables in design/astraea-policy.md: tests passed by trainings, with values.

python docs/make/policy_tables.py astraea runs/train/astraea-1/best.policy runs/train/astraea-2/best.policy …
python docs/make/policy_tables.py astraea_leo runs/train/astraea-leo-1/best.policy …

The policies are results of `perigee train RECIPE --seed N`; the bundled one is the best of them.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from perigee_lab.learn.policy import Facts, Row

PAGE = Path(__file__).resolve().parents[2] / "design/astraea-policy.md"


def values(row: Row) -> str:
    """Measured values; common parts of their names are written once."""
    groups: dict[str, list[str]] = {}
    for name, value in row.values.items():
        place, _, what = name.rpartition(": ")
        groups.setdefault(place, []).append(f"{what} {value:.3f}" if place else f"{name} {value:.3f}")
    return "; ".join((f"{place}: " if place else "") + ", ".join(parts) for place, parts in groups.items())


def table(scheme: str, files: list[Path]) -> str:
    """A table of verdicts by seed, and all values below it."""
    heads = [re.sub(r"^# ", "", f.read_text(encoding="utf-8").splitlines()[0]) for f in files]
    seeds = [re.findall(r"seed (\d+)", h)[0] for h in heads]
    found = [[facts.row(name) for name in facts.rows] for facts in (Facts.of(f, scheme) for f in files)]
    lines = ["| | what is asked | " + " | ".join(f"seed {s}" for s in seeds) + " |", "|---" * (2 + len(seeds)) + "|"]
    for rows in zip(*found, strict=True):
        verdicts = " | ".join("pass" if r.passed else "fails" for r in rows)
        lines.append(f"| {rows[0].id} | {rows[0].what} | {verdicts} |")
    counts = " | ".join(f"{sum(r.passed for r in rows)} of {len(rows)}" for rows in found)
    lines += [f"| | rows that pass | {counts} |", ""]
    for head, rows in zip(heads, found, strict=True):
        lines += [f"<details><summary>All values: {head}</summary>", ""]
        items = [f"* {r.id} {'passes' if r.passed else 'fails'}: {values(r)}" for r in rows]
        lines += [textwrap.fill(i, 120, subsequent_indent="  ", break_long_words=False) for i in items]
        lines += ["", "</details>", ""]
    return "\n".join(lines)


def main(scheme: str, files: list[Path]) -> None:
    """Writes the table between the marks."""
    begin, end = f"<!-- {scheme} -->", f"<!-- end of {scheme} -->"
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n{table(scheme, files)}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], [Path(word) for word in sys.argv[2:]])
