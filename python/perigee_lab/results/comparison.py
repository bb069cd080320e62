# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Comparisons of schemes by paired differences, with one correction for all tests."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError
from perigee_lab.results.columns import BY_NAME, COLUMNS
from perigee_lab.results.paired import WORDS, Paired, by_seed, corrected, differences, heading, scheme_of
from perigee_lab.results.run import find_records
from perigee_lab.results.summary import experiment, finite

if TYPE_CHECKING:
    import pandas as pd

    from perigee_lab.results.run import Run

USUAL = ("goodput_mbps", "rtt_mean_ms", "rtt_p95_ms", "retransmits", "jain")
"""Metrics of a comparison that names none, with mean completion times where there are some."""
COMPLETIONS = tuple(c.name for c in COLUMNS if c.name.endswith("_mean_s") and "first" not in c.name)
Runs = str | Path | Iterable["Run"]


@dataclass(frozen=True, repr=False)
class Comparison(Sequence[Paired]):
    """Paired differences of several metrics and pairs of schemes."""

    differences: list[Paired]

    def __getitem__(self, index: Any) -> Any:
        return self.differences[index]

    def __len__(self) -> int:
        return len(self.differences)

    def __iter__(self) -> Iterator[Paired]:
        return iter(self.differences)

    def __str__(self) -> str:
        return "\n".join(map(str, self.differences))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from perigee_lab.results.notebook import table

        rows = [
            (heading(d.metric), f"{d.a} - {d.b}", f"{d.mean:+.4g}", *_interval_and_p(d), d.verdict)
            for d in self.differences
        ]
        note = "over shared seeds; p of the paired t-test, and ahead, corrected for all tests (Holm)"
        return table(
            ("metric", "pair", "difference", "95 % interval", "p", "ahead"), rows, "Paired differences", [note]
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row per metric and pair, with the difference by seed; None for what does not exist."""
        return [{**finite(asdict(d)), "ahead": d.ahead, "verdict": d.verdict} for d in self.differences]

    def to_pandas(self) -> pd.DataFrame:
        """A row per metric and pair."""
        import pandas as pd

        return pd.DataFrame([_flat(row) for row in self.rows()])

    def to_csv(self) -> str:
        """A line per metric and pair."""
        out = io.StringIO()
        rows = [_flat(row) for row in self.rows()]
        writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: quoting.csv(v) for k, v in row.items()} for row in rows)
        return out.getvalue()

    def to_latex(self) -> str:
        """A table for LaTeX (package booktabs): differences with intervals, and the corrected p."""
        lines = [r"\begin{tabular}{llrrr}", r"\toprule"]
        lines += [r"metric & pair & difference & 95\,\% interval & $p$ \\", r"\midrule"]
        for d in self.differences:
            pair = f"{quoting.latex(d.a)} $-$ {quoting.latex(d.b)}"
            interval = "--" if math.isnan(d.p) else f"[{_number(d.low)}, {_number(d.high)}]"
            p = "--" if math.isnan(d.p) else f"{d.corrected_p:.2g}"
            lines.append(rf"{quoting.latex(heading(d.metric))} & {pair} & {_number(d.mean)} & {interval} & {p} \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def paired(runs: str | Path | Iterable[Run], a: str, b: str, metric: str = "goodput_mbps") -> Paired:
    """The difference of a column between two schemes over their shared seeds.

    Args:
        runs: The folder of a comparison, or its runs.
        a: A scheme.
        b: The scheme to subtract.
        metric: A column of rows of runs.

    Raises:
        RecordError: the column or a scheme is missing, or they share fewer than two seeds.
    """
    _column(metric)
    found = _runs(runs)
    ((a, b),) = _checked_pairs([(a, b)], found, None)
    return differences(by_seed(found, a, metric), by_seed(found, b, metric), metric, a, b)


def compare(
    runs: Runs,
    other: Runs | None = None,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    metrics: Sequence[str] | None = None,
    group: str | None = None,
    labels: tuple[str, str] = ("first", "second"),
) -> Comparison:
    """Paired differences over shared seeds, with Holm's correction for all tests together.

    Args:
        runs: The folder of a comparison, or its runs.
        other: Another one, to be subtracted; None compares schemes within `runs`.
        pairs: Schemes as (a, b), of which b is subtracted; default: all pairs within `runs`, or
            each scheme that both have.
        metrics: Columns of rows of runs; default: goodput, RTTs, retransmissions, Jain's index,
            completion times.
        group: The group of flows whose metrics are compared; default: the foreground of the run.
        labels: Names of `runs` and `other`, which follow the names of schemes if `other` is given.

    Raises:
        RecordError: a column or scheme is missing, or no pair shares two seeds.
    """
    left, right = _runs(runs), None if other is None else _runs(other)
    subtracted = left if right is None else right
    chosen = _checked_pairs(list(dict.fromkeys(pairs)) if pairs else _pairs(left, right), left, right)
    if group is not None:
        [r.group(group) for r in (*left, *subtracted)]
    wanted = _wanted(metrics, left, group)
    names = {(a, b): (a, b) if right is None else (f"{a} ({labels[0]})", f"{b} ({labels[1]})") for a, b in chosen}
    found: list[Paired] = []
    lacking: RecordError | None = None
    for metric in wanted:
        for a, b in chosen:
            try:
                values = by_seed(left, a, metric, group), by_seed(subtracted, b, metric, group)
                found.append(differences(*values, metric, *names[a, b]))
            except RecordError as error:
                # Of the usual metrics some have no value, such as Jain's index of a single flow.
                if metrics is not None:
                    raise
                lacking = lacking or error
    if not found:
        raise lacking or RecordError("the runs have none of the usual metrics: name one (`perigee columns` lists them)")
    return Comparison(corrected(found))


def _runs(given: Runs) -> list[Run]:
    found = find_records(given) if isinstance(given, (str, Path)) else list(given)
    if not found:
        raise RecordError("there is no run to compare")
    if len({tuple(experiment(r)) for r in found}) > 1:
        raise RecordError("the runs are of several scenarios: their seeds do not share what is random; give one's")
    return found


def _wanted(metrics: Sequence[str] | None, runs: Sequence[Run], group: str | None) -> list[str]:
    if metrics is None:
        return _present(runs, group)
    return list(dict.fromkeys(_column(m) for m in ([metrics] if isinstance(metrics, str) else metrics)))


def _checked_pairs(
    pairs: Sequence[tuple[str, str]], left: Sequence[Run], right: Sequence[Run] | None
) -> list[tuple[str, str]]:
    """The pairs by their names in records.

    Raises RecordError for pairs that are none, a scheme with itself, or schemes without runs.
    """
    found: dict[tuple[str, str], None] = {}
    for pair in pairs:
        if len(pair) != 2:
            raise RecordError(f"{pair!r} is no pair of schemes")
        a, b = scheme_of(left, pair[0]), scheme_of(left if right is None else right, pair[1])
        if right is None and a == b:
            raise RecordError(f"both schemes are {a}: name two")
        if right is None and (b, a) in found:
            raise RecordError(f"{a} and {b} are named in both orders: one is enough")
        found[a, b] = None
    return list(found)


def _schemes(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(r.cc for r in runs))


def _pairs(left: Sequence[Run], right: Sequence[Run] | None) -> list[tuple[str, str]]:
    if right is not None:
        both = [cc for cc in _schemes(left) if cc in _schemes(right)]
        if not both:
            there = f"{', '.join(_schemes(left))} and {', '.join(_schemes(right))}"
            raise RecordError(f"no scheme is in both: there are {there}; name a pair, such as --pair A,B")
        return [(cc, cc) for cc in both]
    found = list(combinations(_schemes(left), 2))
    if not found:
        raise RecordError(f"there is only the scheme {_schemes(left)[0]}: compare it with another folder's runs")
    return found


def _present(runs: Sequence[Run], group: str | None) -> list[str]:
    rows = [r.summary if group is None else r.group(group) for r in runs]
    return [m for m in (*USUAL, *COMPLETIONS) if any(m in row for row in rows)]


def _column(metric: str) -> str:
    if metric not in BY_NAME or "run" not in BY_NAME[metric].rows or metric in WORDS:
        raise RecordError(f"there is no column {metric!r} of numbers in rows of runs: `perigee columns` lists them")
    return metric


def _interval_and_p(d: Paired) -> tuple[str, str]:
    if math.isnan(d.p):
        return "equal in all", "-"
    return f"{d.low:.4g} to {d.high:.4g}", f"{d.corrected_p:.2g}"


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the differences by seed: their number takes their place."""
    return {("seeds" if k == "differences" else k): (len(v) if k == "differences" else v) for k, v in row.items()}


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", r"$-$") if value < 0 else f"{value:.4g}"
