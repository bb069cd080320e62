# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Values of the metrics of expectations, from the record of one run, in SI units.

A value is None where the record does not have what it needs (not observable), and infinite where
an awaited event did not happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.judge import states
from perigee_lab.results.experience import quantile as exact_quantile
from perigee_lab.results.metrics import WITHOUT_TCP, flow_rows, inner_legs, jain, percentile_ms
from perigee_lab.runs.programs import SCHEME as PROGRAMS

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.judge.expectations import Expectation
    from perigee_lab.results.run import Run

    Array = npt.NDArray[np.float64]

Row = dict[str, Any]
DELIVERED = ("goodput", "share", "jain", "convergence", "rise", "rise_rounds")
"""Metrics that need the new data of every flow."""
OF_APPLICATIONS = ("mos", "transfer_", "object_", "page_", "stall", "played", "request_")
"""Columns of applications: next to programs, those of other flows are the only ones that are known."""
FROM_THE_START = ("convergence", "rise", "rise_rounds", "visits", "reached", "stay", "stay_rounds")
"""Metrics with a window that starts with the run, not after the warm-up."""


@dataclass
class View:
    """The flows and the window of an expectation within a run."""

    run: Run
    expectation: Expectation

    @property
    def keys(self) -> Any:
        """The keys of the expectation."""
        return self.expectation.keys

    @property
    def has_window(self) -> bool:
        """Whether it has a window of its own; totals of programs count all their packets."""
        return "from" in self.keys or "until" in self.keys or self.run.cc == PROGRAMS

    @property
    def is_part(self) -> bool:
        """Whether it is about some of the flows."""
        return bool(self.keys.get("flow") or self.keys.get("group"))

    @property
    def begin_ns(self) -> float:
        """Start of the window."""
        default_s = 0.0 if self.expectation.metric in FROM_THE_START else self.run.manifest.warmup_ns / 1e9
        return float(self.keys.get("from", default_s)) * 1e9

    @property
    def end_ns(self) -> float:
        """End of the window."""
        return min(float(self.keys.get("until", math.inf)) * 1e9, float(self.run.manifest.simulated_ns))

    @cached_property
    def flows(self) -> list[Row]:
        """Totals of the chosen flows: those named, or all of the foreground over TCP."""
        totals: list[Row] = self.run.table("flow_totals").to_pylist()
        names, chosen = self.keys.get("flow"), self.keys.get("group")
        if names:
            return [t for t in totals if t["name"] in names]
        if chosen:
            groups = [g for g in self.run.manifest.groups if g.name in chosen]
            totals = [t for t in totals if any(t["flow"] in g for g in groups)]
            return [t for t in totals if t["cc"] not in WITHOUT_TCP and t["flow"] not in inner_legs(self.run)] or totals
        totals = [t for t in totals if not any(g.background and t["flow"] in g for g in self.run.manifest.groups)]
        inner = inner_legs(self.run)
        tcp = [t for t in totals if t["cc"] not in WITHOUT_TCP and t["flow"] not in inner]
        return tcp or totals

    @cached_property
    def _samples(self) -> dict[int, dict[str, Array]]:
        table = self.run.table("flows")
        chosen = [c for c in table.column_names if c != "ca_state"]
        flow = table.column("flow").to_numpy()
        columns = {c: table.column(c) for c in chosen}
        found = {}
        for t in self.flows:
            here = flow == t["flow"]
            found[t["flow"]] = {
                c: np.asarray(v.to_pylist(), dtype=object)[here]
                if c == "mode"
                else v.to_pandas().to_numpy(dtype=float, na_value=np.nan)[here]
                for c, v in columns.items()
            }
        return found

    def samples(self, flow: int) -> dict[str, Array]:
        """Rows of a flow at its sampling instants within the window, by column."""
        rows = self._samples[flow]
        here = (rows["t_ns"] >= self.begin_ns) & (rows["t_ns"] <= self.end_ns)
        return {name: values[here] for name, values in rows.items()}

    def all_samples(self, flow: int) -> dict[str, Array]:
        """Rows of a flow at all its sampling instants."""
        return self._samples[flow]

    def is_silent(self, t: Row) -> bool:
        """Whether no sample of a flow has its new data."""
        delivered = self._samples[t["flow"]]["delivered_bytes"]
        return bool(len(delivered) and np.isnan(delivered).all())

    def start_ns(self, t: Row) -> float:
        """The origin of times: the start of the window if it is given, else that of the flow."""
        return self.begin_ns if "from" in self.keys else float(t["started_ns"] or 0)


def value(run: Run, expectation: Expectation) -> float | None:
    """The value of an expectation's metric; None = not observable."""
    view = View(run, expectation)
    if expectation.metric == "column":
        return _column(view)
    if not view.flows or (expectation.metric in DELIVERED and any(map(view.is_silent, view.flows))):
        return None
    found = MEASURES[expectation.metric](view)
    return None if found is None or math.isnan(found) else float(found)


def _column(view: View) -> float | None:
    name, group = view.keys["column"], view.keys.get("group")
    if view.run.cc == PROGRAMS and not name.startswith(OF_APPLICATIONS):
        return None
    row = view.run.group(group[0]) if group else view.run.summary
    found = row.get(name)
    return None if found is None or math.isnan(found) else float(found)


# ---- goodput and capacity ------------------------------------------------------------------------


def _goodput(view: View) -> float | None:
    if not view.has_window and not view.is_part:
        return float(view.run.summary["goodput_mbps"]) * 1e6
    spans = [_delivered(view, t) for t in view.flows]
    known = [s for s in spans if s is not None]
    span_s = max((s for _, s, _ in known), default=0.0)
    return sum(b for b, _, _ in known) * 8 / span_s if span_s > 0 else None


def _share(view: View) -> float | None:
    if not view.has_window and not view.is_part:
        return float(view.run.summary["share"])
    known = [s for t in view.flows if (s := _delivered(view, t)) is not None]
    achievable = max((bits for _, _, bits in known), default=0.0)
    return sum(b for b, _, _ in known) * 8 / achievable if achievable > 0 else None


def _delivered(view: View, t: Row) -> tuple[float, float, float] | None:
    """Payload, seconds, and payload bits that the path could carry, of a flow within the window."""
    rows = view.samples(t["flow"])
    if len(rows["t_ns"]) < 2:
        return None
    steps = np.diff(rows["t_ns"]) / 1e9
    capacity = float(np.nansum(np.nan_to_num(rows["path_rate_bps"][1:]) * steps)) * t["payload_share"]
    return float(rows["delivered_bytes"][-1] - rows["delivered_bytes"][0]), float(steps.sum()), capacity


def _jain(view: View) -> float | None:
    if not view.has_window and not view.is_part:
        return float(view.run.summary["jain"])
    rows = [view.samples(t["flow"]) for t in view.flows]
    begin = max((r["t_ns"][0] if len(r["t_ns"]) else math.inf for r in rows), default=math.inf)
    end = min((r["t_ns"][-1] if len(r["t_ns"]) else -math.inf for r in rows), default=-math.inf)
    if len(rows) < 2 or end <= begin:
        return None
    return jain(
        [
            float(np.interp(end, r["t_ns"], r["delivered_bytes"]) - np.interp(begin, r["t_ns"], r["delivered_bytes"]))
            for r in rows
        ]
    )


# ---- RTTs ----------------------------------------------------------------------------------------


def _rtt(view: View) -> float | None:
    q = view.keys.get("quantile")
    if view.has_window:
        return _statistic(np.concatenate([view.samples(t["flow"])["rtt_ns"] for t in view.flows]), q, 1e-9)
    if q is None and not view.is_part:
        return float(view.run.summary["rtt_mean_ms"]) / 1e3
    table = view.run.table("rtt")
    counts: dict[int, int] = {}
    chosen = {t["flow"] for t in view.flows}
    columns = [table.column(c).to_pylist() for c in ("flow", "rtt_us", "count")]
    for flow, rtt_us, count in zip(*columns, strict=True):
        if flow in chosen:
            counts[rtt_us] = counts.get(rtt_us, 0) + count
    if not counts:
        return None
    if q is None:
        return sum(r * n for r, n in counts.items()) / sum(counts.values()) / 1e6
    return percentile_ms(sorted(counts.items()), q) / 1e3


def _queue(view: View) -> float | None:
    parts = [rows["rtt_ns"] - rows["base_rtt_ns"] for t in view.flows if (rows := view.samples(t["flow"]))]
    return _statistic(np.concatenate(parts), view.keys.get("quantile"), 1e-9)


def _statistic(values: Array, q: float | None, unit: float) -> float | None:
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return None
    if q is None:
        return float(known.mean()) * unit
    return exact_quantile(known.tolist(), q) * unit if q > 0 else float(known[0]) * unit


# ---- losses --------------------------------------------------------------------------------------


def _loss(view: View) -> float | None:
    # Backends with real hosts count retransmissions only.
    known = _increase(view, "lost_packets")
    lost = _increase(view, "retransmits") if known is None else known
    sent = _increase(view, "sent_packets")
    return None if lost is None or not sent else lost / sent


def _increase(view: View, column: str) -> float | None:
    """Increase of a counter over the window, summed over the flows; None if it is unknown."""
    total = 0.0
    for t in view.flows:
        rows = view.all_samples(t["flow"])
        before = rows[column][rows["t_ns"] <= view.begin_ns]
        upto = rows[column][rows["t_ns"] <= view.end_ns]
        if not len(upto) or np.isnan(upto[-1]):
            return None
        total += float(upto[-1]) - (float(before[-1]) if len(before) else 0.0)
    return total


def _timeouts(view: View) -> float | None:
    return _increase(view, "timeouts")


def _undos(view: View) -> float | None:
    if view.run.manifest.get("backend", "simulator") != "simulator":
        return None
    chosen = {t["flow"] for t in view.flows}
    events = view.run.table("events")
    rows = zip(*(events.column(c).to_pylist() for c in ("t_ns", "kind", "flow")), strict=True)
    return float(
        sum(kind == "undo" and flow in chosen and view.begin_ns <= at <= view.end_ns for at, kind, flow in rows)
    )


# ---- times ---------------------------------------------------------------------------------------


def _completion(view: View) -> float | None:
    chosen = {t["flow"] for t in view.flows}
    table = view.run.table("completions")
    columns = [table.column(c).to_pylist() for c in ("flow", "asked_ns", "done_ns")]
    times = [
        (done - asked) / 1e9
        for flow, asked, done in zip(*columns, strict=True)
        if flow in chosen and view.begin_ns <= asked <= view.end_ns
    ]
    limited = {row["flow"] for row in _classes(view.run) if row["class"] == "transfer"}
    unfinished = [
        t
        for t in view.flows
        if t["flow"] in limited
        and t["completed_ns"] is None
        and t["started_ns"] is not None
        and view.begin_ns <= t["started_ns"] <= view.end_ns
    ]
    times += [math.inf] * len(unfinished)
    if not times:
        return None
    q = view.keys.get("quantile")
    return exact_quantile(sorted(times), q) if q is not None else math.fsum(times) / len(times)


def _classes(run: Run) -> list[Row]:
    names = {t["name"]: t["flow"] for t in run.table("flow_totals").to_pylist()}
    return [{"flow": names[row["flow"]], "class": row["class"]} for row in flow_rows(run)]


def _convergence(view: View) -> float | None:
    """Time until the goodputs of all flows stay within the tolerance of their fair share."""
    over, hold = view.keys["over"] * 1e9, view.keys["hold"] * 1e9
    origin = max(view.start_ns(t) for t in view.flows)
    edges = np.arange(origin, view.end_ns + 1, over)
    if len(edges) * over < hold or len(edges) < 2:
        return None
    rates, capacities = [], []
    for t in view.flows:
        rows = view.all_samples(t["flow"])
        rates.append(np.diff(np.interp(edges, rows["t_ns"], rows["delivered_bytes"])) * 8e9 / over)
        capacities.append(np.interp(edges[1:], rows["t_ns"], np.nan_to_num(rows["path_rate_bps"])) * t["payload_share"])
    fair = np.mean(rates, axis=0) if len(rates) > 1 else capacities[0]
    near = np.all(np.abs(np.array(rates) - fair) <= view.keys["tolerance"] * fair, axis=0)
    needed = max(1, round(hold / over))
    for k in range(len(near) - needed + 1):
        if near[k : k + needed].all():
            return float(edges[k] - origin) / 1e9
    return math.inf


def _rise(view: View) -> float | None:
    return _rise_and_base_s(view)[0]


def _rise_rounds(view: View) -> float | None:
    rise_s, base_s = _rise_and_base_s(view)
    return rise_s / base_s


def _rise_and_base_s(view: View) -> tuple[float, float]:
    """Time until the flows together deliver a share of what their path carries; its base RTT."""
    every = [(t, view.samples(t["flow"])) for t in view.flows]
    base_s = min((_base_rtt_s(rows) for _, rows in every), default=math.nan)
    instants = np.unique(np.concatenate([rows["t_ns"] for _, rows in every]))
    if len(instants) < 2:
        return math.nan, base_s
    origin = max(view.start_ns(t) for t in view.flows)
    rate, carried = np.zeros(len(instants) - 1), np.zeros(len(instants) - 1)
    for t, rows in every:
        if len(rows["t_ns"]) >= 2:
            rate += np.diff(np.interp(instants, rows["t_ns"], rows["delivered_bytes"])) * 8e9 / np.diff(instants)
            path = np.nan_to_num(rows["path_rate_bps"]) * t["payload_share"]
            carried = np.maximum(carried, np.interp(instants[1:], rows["t_ns"], path))
    reached = (rate >= view.keys["level"] * carried) & (carried > 0)
    return (float(instants[1:][reached][0] - origin) / 1e9 if reached.any() else math.inf), base_s


def _base_rtt_s(rows: dict[str, Array]) -> float:
    known = rows["base_rtt_ns"][~np.isnan(rows["base_rtt_ns"])]
    return float(known.mean()) / 1e9 if len(known) else math.nan


# ---- states and variables ------------------------------------------------------------------------


def _visits(view: View) -> float | None:
    found = [v for t in view.flows if (v := states.visits(view, t)) is not None]
    return float(sum(map(len, found))) if found else None


def _reached(view: View) -> float | None:
    found = [(t, v) for t in view.flows if (v := states.visits(view, t)) is not None]
    if not found:
        return None
    times = [(v[0].since_ns - view.start_ns(t)) / 1e9 if v else math.inf for t, v in found]
    return max(times)


def _stay(view: View) -> float | None:
    return _stay_in(view, lambda _: 1.0)


def _stay_rounds(view: View) -> float | None:
    return _stay_in(view, lambda t: _base_rtt_s(view.all_samples(t["flow"])))


def _stay_in(view: View, unit: Callable[[Row], float]) -> float | None:
    found = [(t, v) for t in view.flows if (v := states.visits(view, t)) is not None]
    if not found:
        return None
    ended = [(visit.until_ns - visit.since_ns) / 1e9 / unit(t) for t, v in found for visit in v if not visit.goes_on]
    if not ended:
        return math.inf if any(v for _, v in found) else math.nan
    q = view.keys["quantile"]
    return exact_quantile(sorted(ended), q) if q > 0 else min(ended)


def _variable(view: View) -> float | None:
    name = view.keys["variable"]
    parts = []
    for t in view.flows:
        rows = view.samples(t["flow"])
        column = name if name in rows else f"cc_{name}"
        if column not in rows or column == "mode":
            continue
        if "state" in view.keys or (column != name and "states" in view.keys):
            modes = {m for m in view.all_samples(t["flow"])["mode"] if m}
            if not states.are_exposed(modes, view.keys.get("state", ""), view.keys.get("states")):
                continue
        here = rows["mode"] == view.keys["state"] if "state" in view.keys else slice(None)
        parts.append(rows[column][here])
    if not parts:
        return None
    return _statistic(np.concatenate(parts), view.keys.get("quantile"), 1.0)


MEASURES: dict[str, Callable[[View], float | None]] = {
    "goodput": _goodput,
    "share": _share,
    "rtt": _rtt,
    "queue": _queue,
    "loss": _loss,
    "timeouts": _timeouts,
    "undos": _undos,
    "jain": _jain,
    "completion": _completion,
    "convergence": _convergence,
    "rise": _rise,
    "rise_rounds": _rise_rounds,
    "visits": _visits,
    "reached": _reached,
    "stay": _stay,
    "stay_rounds": _stay_rounds,
    "variable": _variable,
}
