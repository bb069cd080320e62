# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of outcomes, and statistics over them."""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any

from perigee_lab.common.statistics import Estimate, mean, median

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from perigee_studies.model import Outcome, Tables


def table(found: Sequence[Outcome], row: Callable[[Outcome], Mapping[str, Any] | None]) -> pd.DataFrame:
    """One row per outcome: its labels, scheme and seed, and the result of `row` (None = no row)."""
    import pandas as pd

    rows = []
    for o in found:
        values = row(o)
        if values is not None:
            rows.append({**o.case.labels, "cc": o.case.cc, "seed": o.case.seed, **values})
    return pd.DataFrame(rows)


def per_run(row: Callable[[Outcome], Mapping[str, Any] | None]) -> Callable[[Sequence[Outcome]], Tables]:
    """The tables of an experiment that has only one, `runs`."""
    return lambda found: {"runs": table(found, row)}


def series(found: Sequence[Outcome], rows: Callable[[Outcome], Iterable[Mapping[str, Any]]]) -> pd.DataFrame:
    """A table with several rows per outcome."""
    import pandas as pd

    return pd.DataFrame([{**o.case.labels, "cc": o.case.cc, "seed": o.case.seed, **r} for o in found for r in rows(o)])


def pick(frame: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """Rows with these values."""
    if frame.empty or not where:
        return frame
    # One selection, since each copies the whole frame.
    masks = [(frame[column] == wanted).to_numpy() for column, wanted in where.items()]
    return frame[functools.reduce(operator.and_, masks)]


def average(frame: pd.DataFrame, column: str, over: str | None = None, /, **where: Any) -> Estimate:
    """Mean of a column over rows with these values.

    `over` names a swept parameter: each seed's mean over its values counts as one run. The effect
    of the parameter is not random; an interval over all rows would treat it as if another
    repetition could change it.
    """
    chosen = pick(frame, **where)
    if not len(chosen):
        return mean([])
    values = chosen[column].astype(float)
    if over is not None:
        values = values.groupby([chosen["seed"], chosen[over]]).mean().groupby("seed").mean()
    return mean(values.to_numpy())


def in_words(found: Estimate, digits: int = 2) -> str:
    """A mean, with its 95 % interval in brackets if there are several runs."""
    if math.isnan(found.low):
        return f"{found.value:.{digits}f}"
    return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def middle(frame: pd.DataFrame, column: str, **where: Any) -> Estimate:
    """Median of a column over rows with these values."""
    chosen = pick(frame, **where)
    return median(chosen[column].to_numpy(dtype=float) if len(chosen) else [])


def schemes(frame: pd.DataFrame) -> list[str]:
    """Schemes of a table, in the order in which they were run."""
    return list(dict.fromkeys(frame["cc"])) if len(frame) else []


def by_scheme(
    frame: pd.DataFrame, column: str, ccs: Sequence[str], how: str = "median", over: str | None = None, /, **where: Any
) -> list[tuple[str, float]]:
    """(label, value) of each scheme, for `verdicts.order`.

    `over` as in `average`, for means only.
    """
    from perigee_studies.style import label

    if how == "median":
        return [(label(cc), middle(frame, column, cc=cc, **where).value) for cc in ccs]
    return [(label(cc), average(frame, column, over, cc=cc, **where).value) for cc in ccs]


def efficiency_panels(
    runs: pd.DataFrame,
    delay: str,
    mark: Callable[[Any, pd.DataFrame, str], None],
    *,
    linux: bool = False,
) -> Any:
    """One panel per number of flows, with delay decreasing to the right.

    `mark` draws the runs of a scheme; `linux`: Linux's schemes are drawn as hollow marks.
    """
    from perigee_studies import style

    counts = sorted(set(runs["flows"]))
    figure, axes = style.panels(len(counts), 1, width=2.9, height=2.6, sharex=True, sharey=True)
    for a, n in zip(axes[0], counts, strict=True):
        for cc in schemes(runs):
            mark(a, pick(runs, flows=n, cc=cc), cc)
        a.set_title(f"{n} flows", loc="left")
        a.set_xlabel(f"{delay} (better to the right)")
    axes[0][0].invert_xaxis()
    axes[0][0].set_ylabel("goodput / 100 Mbit/s")
    if linux:
        style.name_hollow(axes[0][0])
    style.shared_legend(figure, axes[0])
    return figure


def number(x: Any) -> float:
    """A float; NaN for None."""
    return math.nan if x is None else float(x)
