# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of runs over seeds: means with 95 % intervals per scheme, and curves over time as medians with bands.

Means and intervals are those of tables and of sweeps (`summary.spread`); a band reaches from the least to
the greatest of the seeds, as in the report.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError
from perigee_lab.results import looks
from perigee_lab.results.cell_plots import label, upper
from perigee_lab.results.columns import BY_NAME, one_line
from perigee_lab.results.embedded import Page
from perigee_lab.results.paired import WORDS
from perigee_lab.results.plots import OFTEN, USUAL, cap
from perigee_lab.results.summary import about_seeds, by_scheme, refuse_mixed, shown, spread
from perigee_lab.results.webpage import filled, policy, vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from perigee_lab.results.metrics import Row
    from perigee_lab.results.run import Run

    Floats = npt.NDArray[np.float64]

METRICS = ("goodput_mbps", "rtt_mean_ms")
"""Columns that are drawn by default, where runs have them."""
MOST_METRICS = 4
POINTS = 300
"""Maximum number of points of a curve: samples in between are averaged."""
LETTERS = 40
"""Names of schemes that are longer together are tilted."""
CURVES = {"goodput_bps": ("goodput, Mbit/s", OFTEN), "rtt_ns": ("RTT, ms", USUAL)}
"""Label, and fraction of values that an axis shows with a margin, by column of the table `flows`."""
UNIT = 1e6
"""Of both: bit/s in Mbit/s, and ns in ms."""
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#16202c;"
    "background:#fff}h1{font-size:1.4rem}img{max-width:100%}div{overflow-x:auto}table{border-collapse:collapse}"
    "th,td{padding:.25rem .8rem;text-align:right;border-bottom:1px solid #d5dbe1}"
    "th:first-child,td:first-child{text-align:left}small{color:#5b6876}"
)
TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="%POLICY%">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>%TITLE%</title><style>%STYLE%</style></head>
<body><h1>%TITLE%</h1>%FIGURE%%TABLE%%NOTES%</body></html>
"""


@dataclass(frozen=True)
class Band:
    """A curve over seeds; NaN where no seed has a value."""

    t_s: Floats
    median: Floats
    low: Floats
    """The least of the seeds."""
    high: Floats


def figure(runs: Sequence[Run], metrics: Sequence[str] = (), flow: str | None = None) -> Any:
    """A matplotlib figure: each metric per scheme, and goodput and RTT of a flow over time.

    Args:
        runs: Runs of one or several schemes and seeds.
        metrics: Columns of rows of runs, four at most; default: goodput and mean RTT.
        flow: The name of a flow; default: the first.

    Raises:
        RecordError: no run has a value of a metric, or a run lacks the flow.
    """
    import matplotlib.pyplot as plt

    refuse_mixed(runs)
    rows = by_scheme(runs)
    chosen = _chosen(rows, metrics)
    look = looks.of(list(rows))
    name = _flow_names(runs[0])[0] if flow is None else flow
    top = [f"metric {i}" for i in range(len(chosen))]
    panels: Any = [top, *([column] * len(top) for column in CURVES)]
    drawn, axes = plt.subplot_mosaic(panels, figsize=(9, 8.4), layout="constrained")
    for place, metric in zip(top, chosen, strict=True):
        _draw_means(axes[place], metric, rows, look)
    for column in CURVES:
        _draw_curves(axes[column], column, runs, name, look)
    upper_curves, lower_curves = (axes[column] for column in CURVES)
    upper_curves.set_title(quoting.plot(f"{name}: {_meaning(rows)}"), loc="left", fontsize=9)
    handles, texts = upper_curves.get_legend_handles_labels()
    drawn.legend(handles, texts, loc="outside lower center", frameon=False, fontsize=8, ncols=6, handlelength=4)
    upper_curves.tick_params(labelbottom=False)
    lower_curves.set_xlabel("time, s")
    for one in axes.values():
        one.grid(alpha=0.25)
        one.spines[["top", "right"]].set_visible(False)
    drawn.suptitle(quoting.plot(f"{_title(runs)}: {_seeds(rows)}"), fontsize=10)
    # Without it, labels next to wide numbers such as 62.25 are cut.
    drawn.set_layout_engine("constrained", w_pad=0.12)
    return drawn


def page(runs: Sequence[Run], metrics: Sequence[str] = (), flow: str | None = None) -> Page:
    """The figure and its means as one page without references to other files. Raises RecordError."""
    import matplotlib.pyplot as plt

    refuse_mixed(runs)
    rows = by_scheme(runs)
    chosen = _chosen(rows, metrics)
    title = _title(runs)
    heads = ["scheme", "runs", *(label(metric) for metric in chosen)]
    cells = [
        [cc, str(len(own)), *(shown(own, metric, BY_NAME[metric].form) for metric in chosen)]
        for cc, own in rows.items()
    ]
    drawn = figure(runs, chosen, flow)
    picture = vector(drawn, f"{', '.join(heads[2:])} per scheme; goodput and RTT over time")
    plt.close(drawn)
    parts = {
        "POLICY": quoting.html(policy([], [STYLE])),
        "TITLE": quoting.html(title),
        "STYLE": STYLE,
        "FIGURE": picture,
        "TABLE": f"<div><table>{_row('th', heads)}{''.join(_row('td', row) for row in cells)}</table></div>",
        "NOTES": "".join(f"<p><small>{quoting.html(note)}</small></p>" for note in about_seeds(runs)),
    }
    return Page(filled(TEMPLATE, parts), height_px=1000)


def band(runs: Sequence[Run], flow: str, column: str) -> Band:
    """Median, least and greatest over runs of a column of `flows`, in the units of `CURVES`.

    Samples are averaged within `POINTS` equal parts of the longest run, of each run first.
    Raises RecordError if a run lacks the flow.
    """
    import numpy as np

    duration_s = _duration_s(runs)
    each = np.stack([_thin(run, _number(run, flow), column, duration_s) for run in runs])
    times = (np.arange(each.shape[1]) + 0.5) * duration_s / each.shape[1]
    with warnings.catch_warnings():
        # There may be times without a value in any seed.
        warnings.simplefilter("ignore", RuntimeWarning)
        return Band(times, np.nanmedian(each, axis=0), np.nanmin(each, axis=0), np.nanmax(each, axis=0))


def _thin(run: Run, number: int, column: str, duration_s: float) -> Floats:
    """Means of a column within equal parts of a duration; NaN in parts without a value."""
    import numpy as np

    frame = run.columns("flows", ["t_ns", "flow", column]).to_pandas()
    frame = frame[(frame["flow"] == number) & frame[column].notna()]
    times, values = frame["t_ns"].to_numpy(dtype=float) / 1e9, frame[column].to_numpy(dtype=float) / UNIT
    # Logs have a row per event, and no interval.
    parts = max(1, min(POINTS, round(duration_s * 1e9 / (run.manifest.sample_ns or 1))))
    # A sample describes the time before it.
    part = np.clip(np.ceil(times / duration_s * parts - 1e-9).astype(int) - 1, 0, parts - 1)
    counts = np.bincount(part, minlength=parts)
    sums = np.bincount(part, weights=values, minlength=parts)
    means: Floats = np.divide(sums, counts, out=np.full(parts, np.nan), where=counts > 0)
    return means


def _duration_s(runs: Sequence[Run]) -> float:
    """Time until the last run ended: programs and limited flows may end before the duration."""
    made = [r.manifest for r in runs]
    return max(min(m.duration_ns, m.simulated_ns) or m.duration_ns for m in made) / 1e9


def _number(run: Run, flow: str) -> int:
    names = _flow_names(run)
    if flow not in names:
        more = ", ..." if len(names) > MOST_METRICS else ""
        there = ", ".join(names[:MOST_METRICS])
        raise RecordError(f"there is no flow {flow!r} in the run of {run.cc}, seed {run.seed}: it has {there}{more}")
    return int(run.table("flow_totals").column("flow").to_pylist()[names.index(flow)])


def _flow_names(run: Run) -> list[str]:
    names: list[str] = run.table("flow_totals").column("name").to_pylist()
    if not names:
        raise RecordError(f"the run of {run.cc}, seed {run.seed} has no flow")
    return names


def _chosen(rows: Mapping[str, list[Row]], metrics: Sequence[str]) -> list[str]:
    """The metrics to draw. Raises RecordError for one that is no number of a run, or has no value."""
    for metric in metrics:
        if metric in WORDS or metric not in BY_NAME or "run" not in BY_NAME[metric].rows:
            raise RecordError(f"there is no column {metric!r} of numbers in rows of runs: `perigee columns` lists them")
    there = {m: any(not math.isnan(spread(own, m)[0]) for own in rows.values()) for m in metrics or METRICS}
    if lacking := next((m for m in metrics if not there[m]), None):
        raise RecordError(f"no run has a value of {lacking}: `perigee columns {lacking}` says what it is")
    if len(there) > MOST_METRICS:
        raise RecordError(f"a figure has at most {MOST_METRICS} metrics, these are {len(there)}: leave some out")
    found = [metric for metric, known in there.items() if known]
    if not found:
        raise RecordError(f"no run has a value of {' or '.join(METRICS)}: name columns (`perigee columns` lists them)")
    return found


def _draw_means(axes: Any, metric: str, rows: Mapping[str, list[Row]], look: Mapping[str, looks.Look]) -> None:
    """A mean with its interval per scheme, and the value of each seed as a faint mark next to it."""
    for place, (cc, own) in enumerate(rows.items()):
        mean, half = spread(own, metric)
        bars = None if math.isnan(half) else [[half], upper(metric, [mean], [half])]
        style = look[cc].both()
        if len(own) > 1:
            values = [float(row[metric]) for row in own if metric in row]
            axes.plot([place + 0.18] * len(values), values, ".", color=style["color"], alpha=0.4, markersize=4)
        axes.errorbar([place], [mean], yerr=bars, capsize=4, **{**style, "linestyle": "none"})
    tilted = sum(map(len, rows)) > LETTERS
    axes.set_xticks(range(len(rows)), [quoting.plot(cc) for cc in rows], fontsize=8)
    axes.tick_params(axis="x", rotation=30 if tilted else 0)
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_ylabel(label(metric))


def _draw_curves(axes: Any, column: str, runs: Sequence[Run], flow: str, look: Mapping[str, looks.Look]) -> None:
    for cc in look:
        own = [r for r in runs if r.cc == cc]
        found = band(own, flow, column)
        axes.plot(found.t_s, found.median, label=quoting.plot(cc), linewidth=1.2, **look[cc].line())
        if len(own) > 1:
            axes.fill_between(found.t_s, found.low, found.high, color=look[cc].colour, alpha=0.18, linewidth=0)
    text, usual = CURVES[column]
    axes.set_ylabel(text)
    axes.set_xlim(0, _duration_s(runs))
    cap(axes, usual=usual)


def _title(runs: Sequence[Run]) -> str:
    """The titles of the scenarios."""
    return "; ".join(dict.fromkeys(run.manifest.title for run in runs))


def _seeds(rows: Mapping[str, list[Row]]) -> str:
    numbers = sorted({row["seed"] for own in rows.values() for row in own})
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    counts = sorted({len(own) for own in rows.values()})
    seeds = f"{counts[0]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    return f"means over {seeds}, bars: 95 % t-intervals, dots: seeds"


def _meaning(rows: Mapping[str, list[Row]]) -> str:
    several = any(len(own) > 1 for own in rows.values())
    return "median over seeds, band from least to greatest" if several else "one seed"


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{quoting.html(one_line(cell))}</{tag}>" for cell in cells) + "</tr>"
