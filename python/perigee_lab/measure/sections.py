# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Additional report sections of a measurement: lines, a table and a plot."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text
from perigee_lab.measure import series, trains, transfers
from perigee_lab.results import looks
from perigee_lab.results.metrics import WITHOUT_TCP
from perigee_lab.results.report import SECTIONS

if TYPE_CHECKING:
    import numpy.typing as npt

    from perigee_lab.results.run import Run

    Floats = npt.NDArray[np.float64]

Section = dict[str, Any]
MAX_POINTS = 20_000
MAX_TOLD_STEPS = 12
HOURS_NEEDED = 3.0
GREY = "#5b6876"


def write_sections(runs: Sequence[Run], folder: Path) -> None:
    """Computes the sections, and writes them to the file that the report reads."""
    found = [
        s
        for make in (distributions, dispersion, changes, times_of_day, start_up, tests)
        if (s := make(runs)) is not None
    ]
    write_text(folder / SECTIONS, json.dumps(found))


def pings_of(run: Run) -> list[tuple[str, dict[str, Floats]]]:
    """Probes of a run by name: send times (s), RTTs and one-way delays (ms)."""
    import pyarrow.compute as pc

    found = []
    for flow in run.table("flow_totals").to_pylist():
        if flow["cc"] != "ping":
            continue
        rows = run.table("flows")
        own = rows.filter(pc.equal(rows["flow"], flow["flow"]))
        columns = {"rtt": np.asarray(own["rtt_ns"].to_numpy(zero_copy_only=False), dtype=float) / 1e6}
        columns["t"] = own["t_ns"].to_numpy().astype(float) / 1e9 - columns["rtt"] / 1e3
        for key in ("out", "back"):
            if f"measure.{key}_ms" in own.column_names:
                columns[key] = own[f"measure.{key}_ms"].to_numpy(zero_copy_only=False)
        fine = ~np.isnan(columns["rtt"])
        order = np.argsort(columns["t"][fine], kind="stable")
        found.append((str(flow["name"]), {k: v[fine][order] for k, v in columns.items()}))
    return found


def distributions(runs: Sequence[Run]) -> Section | None:
    """Distributions of RTTs of probes and transfers, over all runs of a scheme."""
    import matplotlib.pyplot as plt

    groups: dict[tuple[str, str], list[Floats]] = {}
    ways: dict[tuple[str, str], dict[str, list[Floats]]] = {}
    for run in runs:
        for name, probes in pings_of(run):
            key = (run.cc, name)
            groups.setdefault(key, []).append(probes["rtt"])
            for way in ("out", "back"):
                if way in probes:
                    ways.setdefault(key, {}).setdefault(way, []).append(probes[way])
    if not groups:
        return None
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    table = []
    for (cc, name), parts in groups.items():
        rtt = np.sort(np.concatenate(parts))
        if not len(rtt):
            # A path that lets no UDP through.
            table.append([f"{name} ({cc})" if cc != "ping" else name, "none", *["-"] * 7])
            continue
        axis.plot(
            rtt,
            np.linspace(0, 1, len(rtt)),
            label=quoting.plot(f"{name} ({cc})" if cc != "ping" else name),
            linewidth=1.2,
        )
        one_way = [
            f"{np.median(np.concatenate(ways[cc, name][w])):.3f}" if w in ways.get((cc, name), {}) else "-"
            for w in ("out", "back")
        ]
        quantiles = [f"{np.quantile(rtt, q):.3f}" for q in (0, 0.01, 0.5, 0.99, 1)]
        table.append([f"{name} ({cc})" if cc != "ping" else name, f"{len(rtt)}", *quantiles, *one_way])
    everything = np.concatenate([r for parts in groups.values() for r in parts])
    if len(everything):
        low, high = np.quantile(everything, (0, 0.998))
        axis.set_xlim(low - 0.02 * (high - low) - 1e-6, high + 0.02 * (high - low) + 1e-6)
    axis.set_xlabel("RTT of probes, ms")
    axis.set_ylabel("share")
    _plain(axis)
    if axis.has_data() and len(groups) <= 8:
        axis.legend(frameon=False, fontsize=8)
    heads = ["probes", "answered", "least", "1 %", "median", "99 %", "most", "way there", "way back"]
    if not len(everything):
        plt.close(figure)
        return _section("Probes: distributions", ["No probe was answered."], [heads, *table], None)
    return _section("Probes: distributions", ["Milliseconds; one-way delays: medians."], [heads, *table], figure)


WAYS = {"up": "on the way there", "down": "on the way back"}


def dispersion(runs: Sequence[Run]) -> Section | None:
    """Capacity of each direction from the trains of all cycles."""
    import matplotlib.pyplot as plt

    from perigee_lab.measure.fit.observed import train_rates

    rates = {t.way: (t, trains.capacity(t.mbps, t.spread)) for t in train_rates(runs)}
    known = [(way, *rates[way]) for way in WAYS if way in rates]
    if not known:
        return None
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    table = [["way", "trains", "median, Mbit/s", "95 % interval", "four fifths within"]]
    for way, each, said in known:
        if said is None:
            table.append([WAYS[way], f"{len(each.mbps)}", "too few", "-", "-"])
            continue
        least = "at least " if said.least else ""
        spans = [f"{said.low:.2f} to {said.high:.2f}", f"{said.tenth:.2f} to {said.ninetieth:.2f}"]
        table.append([WAYS[way], f"{said.trains}", f"{least}{said.mbps:.2f}", *spans])
        axis.plot(each.mbps, ".", markersize=4, label=WAYS[way])
    axis.set_xlabel("train")
    axis.set_ylabel("Mbit/s")
    axis.set_ylim(bottom=0)
    _plain(axis)
    if axis.has_data():
        axis.legend(frameon=False, fontsize=8)
    lines = ["Rate of packets that were sent back to back, on the wire, by how far apart they arrived."]
    return _section("Trains: what each way can carry", lines, table, figure)


def changes(runs: Sequence[Run]) -> Section | None:
    """Steps of the base RTT, from the longest series of probes without concurrent transfers."""
    import matplotlib.pyplot as plt

    quiet = [(r, name, p) for r in runs for name, p in pings_of(r) if _quiet(r) and len(p["t"]) > 50]
    if not quiet:
        return None
    run, name, probes = max(quiet, key=lambda x: len(x[2]["t"]))
    t, rtt = probes["t"], probes["rtt"]
    found, base = series.steps(t, rtt), series.windows(t, rtt)
    lines = [f"{name}, cycle {run.seed}: {len(found)} steps of the base RTT in {t[-1] - t[0]:.0f} s."]
    lines += [f"{s.t_s:.2f} s: {s.before_ms:.2f} to {s.after_ms:.2f} ms" for s in found[:MAX_TOLD_STEPS]]
    if len(found) > MAX_TOLD_STEPS:
        lines.append(f"… and {len(found) - MAX_TOLD_STEPS} more")
    grid = series.grid([s.t_s for s in found])
    lines.append(told_of_grid(grid, run.manifest["measured"]["began_ns"]))
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    thin = max(1, len(t) // MAX_POINTS)
    axis.plot(t[::thin], rtt[::thin], ".", markersize=1.5, color="#9fb3c8", rasterized=True, label="probes")
    axis.plot(base.t_s, base.base_ms, color="#0b6fb8", linewidth=1.0, label="base")
    for s in found:
        axis.axvline(s.t_s, color="#d1495b", linewidth=0.8, alpha=0.7)
    if grid.found:
        for k in np.arange(grid.phase_s, t[-1], grid.period_s):
            axis.axvline(k, color="#1b8a5a", linewidth=0.6, linestyle=":")
    axis.set_ylim(base.base_ms.min() - 1, float(np.quantile(rtt, 0.995)) + 1)
    axis.set_xlabel("time, s" + (" (dotted: the 15 s grid; red: steps)" if grid.found else " (red: steps)"))
    axis.set_ylabel("RTT, ms")
    _plain(axis)
    axis.legend(frameon=False, fontsize=8, loc="upper right")
    return _section("Changes of the path", lines, None, figure)


def told_of_grid(grid: series.Grid, began_ns: int) -> str:
    """Description of a grid as text."""
    if grid.events < series.LEAST_STEPS:
        return (
            f"{grid.events} steps are too few to find a grid of {grid.period_s:g} s ({series.LEAST_STEPS} are needed)."
        )
    if not grid.found:
        return (
            f"No grid of {grid.period_s:g} s: the steps' mean vector is {grid.strength:.2f} long; as many at "
            f"any time would "
            f"give as much with p = {grid.p:.2g}."
        )
    day = f", {(began_ns / 1e9 + grid.phase_s) % grid.period_s:.2f} s past each in UTC" if began_ns else ""
    return (
        f"The steps keep to a grid of {grid.period_s:g} s: phase {grid.phase_s:.2f} s{day}, mean vector "
        f"{grid.strength:.2f}, "
        f"p = {grid.p:.1g} (Rayleigh)."
    )


def _quiet(run: Run) -> bool:
    return all(f["cc"] in WITHOUT_TCP for f in run.table("flow_totals").to_pylist())


def times_of_day(runs: Sequence[Run]) -> Section | None:
    """RTTs of probes and throughput of transfers, by hour of the day (UTC)."""
    import matplotlib.pyplot as plt

    began = [r.manifest["measured"]["began_ns"] for r in runs]
    ends = [b + r.manifest.duration_ns for b, r in zip(began, runs, strict=True)]
    if not all(began):
        return None
    span_h = (max(ends) - min(began)) / 3.6e12
    if span_h < HOURS_NEEDED:
        return _section(
            "Time of day",
            [f"The measurement spans {span_h * 60:.0f} minutes: it says nothing of the time of day."],
            None,
            None,
        )
    rtts: dict[int, list[Floats]] = {}
    rates: dict[str, dict[int, list[float]]] = {}
    for b, run in zip(began, runs, strict=True):
        for _, probes in pings_of(run) if _quiet(run) else ():
            hours = ((b / 1e9 + probes["t"]) // 3600 % 24).astype(int)
            for h in np.unique(hours):
                rtts.setdefault(int(h), []).append(probes["rtt"][hours == h])
        hour = datetime.fromtimestamp(b / 1e9, tz=timezone.utc).hour
        if not _quiet(run):
            rates.setdefault(run.cc, {}).setdefault(hour, []).append(float(run.summary["goodput_mbps"]))
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    hours = sorted(rtts)
    medians = [float(np.median(np.concatenate(rtts[h]))) for h in hours]
    axes[0].plot(hours, medians, "o-", color="#0b6fb8", markersize=3)
    axes[0].set_ylabel("median RTT of probes, ms")
    style = looks.of(list(rates))
    for cc, by_hour in rates.items():
        own = sorted(by_hour)
        axes[1].plot(own, [np.mean(by_hour[h]) for h in own], **style[cc].both(), markersize=3, label=quoting.plot(cc))
    axes[1].set_ylabel("mean goodput, Mbit/s")
    for a in axes:
        a.set_xlim(-0.5, 23.5)
        a.set_xlabel("hour of the day, UTC")
        _plain(a)
    if rates:
        axes[1].legend(frameon=False, fontsize=8)
    spread = f"Medians of the hours lie within {max(medians) - min(medians):.2f} ms." if medians else "No quiet probes."
    return _section("Time of day", [spread], None, figure)


def start_up(runs: Sequence[Run]) -> Section | None:
    """Start-up and steady state, as means over transfers of a kind."""
    import matplotlib.pyplot as plt

    found = transfers.kinds(runs)
    if not found:
        return None
    heads = ["transfers", "", *(m for m in transfers.METRICS.values())]
    table = [heads]
    for kind in found:
        cells = []
        for metric in transfers.METRICS:
            e = kind.of(metric)
            half = (e.high - e.low) / 2
            cells.append("-" if np.isnan(e.value) else f"{e.value:.4g}" + ("" if np.isnan(half) else f" ± {half:.2g}"))
        table.append([f"{kind.name} ({kind.cc})", f"n = {len(kind.values['steady_mbps'])}", *cells])
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    style = looks.of(list(dict.fromkeys(k.cc for k in found)))
    drawn, schemes = 0, set()
    for kind in found:
        at = [(kind.of(f"t_{mb}mb_s"), mb) for mb in transfers.SIZES_MB]
        points = [(e, mb) for e, mb in at if not np.isnan(e.value)]
        if points:
            drawn += 1
            # A second kind of the same scheme (uploads) has hollow markers.
            hollow = {"markerfacecolor": "none", "linestyle": ":"} if kind.cc in schemes else {}
            schemes.add(kind.cc)
            halves = [0.0 if np.isnan(e.low) else (e.high - e.low) / 2 for e, _ in points]
            axis.errorbar(
                [e.value for e, _ in points], [mb for _, mb in points], xerr=halves,
                **{**style[kind.cc].both(), **hollow}, markersize=4, linewidth=1.1,
                label=quoting.plot(f"{kind.name} ({kind.cc})"),
            )  # fmt: skip
    axis.set_xlabel("time since the connection began, s")
    axis.set_ylabel("downloaded, MB")
    _plain(axis)
    if drawn:
        axis.legend(frameon=False, fontsize=8)
    lines = [
        "Steady state: the last half of the bytes. Start-up: the first 50 MB (or half, of shorter ones) over "
        "the time since "
        "the connection began, handshakes of TCP and of the measurement (3 RTTs) included. ±: half of the 95 % "
        "t-interval. "
        "RTTs are the kernel's smoothed values."
    ]
    return _section("Start-up and steady state", lines, _turned(table), figure if drawn else None)


def tests(runs: Sequence[Run]) -> Section | None:
    """Pairwise comparisons of schemes."""
    found = transfers.compared(transfers.kinds(runs))
    if not found:
        return None
    heads = ["", "means", "Student", "Welch", "Cohen's d"]
    rows = [
        [
            f"{c.name}: {transfers.METRICS[c.metric]}, {c.a} and {c.b}", f"{c.means[0]:.4g} and {c.means[1]:.4g}",
            f"t({c.student.freedom:.0f}) = {c.student.t:.2f}, p = {c.student.p:.2g}",
            f"t({c.welch.freedom:.1f}) = {c.welch.t:.2f}, p = {c.welch.p:.2g}", f"{c.student.d:.2f}",
        ]
        for c in found
    ]  # fmt: skip
    lines = [
        "Two-sided tests of equal means over the transfers of each scheme; they do not know that schemes took turns."
    ]
    return _section("Schemes against each other", lines, [heads, *rows], None)


def _turned(table: list[list[str]]) -> list[list[str]]:
    """Transposes a table."""
    return [list(row) for row in zip(*table, strict=True)]


def _plain(axis: Any) -> None:
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def _section(title: str, lines: Sequence[str], table: list[list[str]] | None, figure: Any) -> Section:
    import matplotlib.pyplot as plt

    image = None
    if figure is not None:
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=120)
        plt.close(figure)
        image = "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
    return {"title": title, "lines": list(lines), "table": table, "image": image}
