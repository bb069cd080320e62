# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Data of the report page, which computes no numbers itself."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.reading import read_text
from perigee_lab.results import looks
from perigee_lab.results.beside import beside, groups, said_once
from perigee_lab.results.checked import consistent
from perigee_lab.results.columns import TABLE, one_line
from perigee_lab.results.leaders import leaders
from perigee_lab.results.marks import marks, routes_of
from perigee_lab.results.metrics import WITHOUT_TCP, inner_legs
from perigee_lab.results.report.limits import legend, strips
from perigee_lab.results.report.shares import bands, completions, plain, shares
from perigee_lab.results.summary import about_seeds, by_scheme, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

    from perigee_lab.results.run import Run

# Points of a curve: more are not visible on a wide screen. Many flows share the points of four.
MAX_POINTS, MIN_POINTS = 1500, 250
CDF_POINTS = 300
# Lines of side tables: a thousand probes would have one each.
MAX_LINES = 40
# Number of flows selectable in the page.
MAX_FLOWS = 24
# A path's rate above this multiple of the best goodput is not drawn as its bound.
BEYOND = 5
# Time over which the goodput of logs is averaged.
GOODPUT_NS = 1e8
# Number of flow names in a line.
MAX_NAMES = 8
WON = {"goodput_mbps": "Goodput", "rtt_mean_ms": "Mean RTT", "jain": "Fairness (Jain's index)"}
"""Metrics with a leader named above the table, and their names there."""
MOST_COLUMNS = 7
"""Columns of the table next to the schemes; the page folds the others."""
MAIN = ("goodput_mbps", "share", "rtt_mean_ms", "rtt_p99_ms", "inflation", "retransmits", "jain")
"""Columns that come first."""
SECTIONS = "sections.json"
"""Additional sections of the page, next to the records: each has a title, lines, a table (its first
row are the heads) and a figure."""
# Text above manifests.
AGAIN = "What is needed to run it again; perigee verify does."
MEASURED = ("capture", "log", "measure")
"""Backends of measured rather than simulated runs."""
AGAIN_MEASURED = "What was read or measured. It cannot be repeated; perigee verify checks its files."
AGAIN_IN_REAL_TIME = "What was run. In real time no run is like another; perigee verify checks its files."


def payload(runs: Sequence[Run]) -> dict[str, Any]:
    """All data of the page. Curves are those of the first run of each scheme, each of one flow.

    Raises RecordError for records with contradictory tables.
    """
    with consistent(runs[0].folder):
        return _payload(runs)


def _payload(runs: Sequence[Run]) -> dict[str, Any]:
    firsts = list({r.cc: r for r in reversed(runs)}.values())[::-1]
    labels = {s["id"]: s["label"] for s in json.loads(_core.schemes())}
    manifest = firsts[0].manifest
    found = looks.of([r.cc for r in firsts])
    flows = shown_flows(firsts[0])
    where = _map(firsts[0], {f["pair"] for f in flows})
    return {
        "title": manifest.title,
        "scenario": manifest.scenario,
        "seeds": sorted({r.seed for r in runs}),
        "duration_s": max(_length_ns(r) for r in firsts) / 1e9,
        "ran": _ran(firsts),
        "warmup_s": manifest.warmup_ns / 1e9,
        "flows": flows,
        "flows_in_all": firsts[0].table("flow_totals").num_rows,
        "schemes": [
            _scheme(r, labels.get(r.cc, r.cc), _alike(flows, firsts[0], r))
            | {"look": found[r.cc].page(), "limits": strips(r, flows)}
            for r in firsts
        ],
        "table": _table(runs, labels),
        "shares": [] if manifest.backend in MEASURED else shares(runs, labels),
        "bands": bands(runs, flows),
        "limits": legend(),
        "completions": completions(runs),
        "marks": marks(firsts[0], flows, where),
        "map": where,
        "hosts": _hosts_of(firsts),
        "measured": _measured(firsts[0]),
        "sections": sections(runs),
        "again": _again(firsts[0]),
        "warnings": said_once(f"{labels.get(r.cc, r.cc)}: {w}" for r in runs for w in r.manifest.warnings),
        "manifests": [{k: v for k, v in r.manifest.items() if k != "flows"} for r in firsts],
    }


def _alike(flows: list[dict[str, Any]], first: Run, run: Run) -> list[dict[str, Any]]:
    """The shown flows that have the same kind in another run.

    Measured schemes may have other flows.
    """
    if first is run or first.manifest.backend not in MEASURED:
        return flows
    kinds = [
        dict(r.table("flow_totals").select(["flow", "cc"]).to_pandas().itertuples(index=False)) for r in (first, run)
    ]
    probes = [{n for n, cc in own.items() if cc in WITHOUT_TCP} for own in kinds]
    return [f for f in flows if (f["flow"] in probes[0]) == (f["flow"] in probes[1])]


def _measured(run: Run) -> str | None:
    """Start of a measurement; None for a simulated run."""
    if run.manifest.backend not in MEASURED:
        return None
    measured = run.manifest["measured"]
    return str(measured["began"]) if measured["began_ns"] else ""


def sections(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Additional sections from the file next to the records; empty if unreadable."""
    folder = runs[0].folder
    if folder is None:
        return []
    try:
        found = json.loads(read_text(folder.parent.parent / SECTIONS))
    except (OSError, ValueError):
        return []
    return [s for s in found if isinstance(s, dict)] if isinstance(found, list) else []


def _length_ns(run: Run) -> int:
    """Time until the run ended: programs and limited flows may end before the duration."""
    m = run.manifest
    return min(m.duration_ns, m.simulated_ns) or m.duration_ns


def _ran(firsts: Sequence[Run]) -> str:
    """Kind of the time of the runs; empty in real time, which `hosts` states, and for several kinds."""
    words = {"real-time": "", **dict.fromkeys(MEASURED, "measured")}
    found = {words.get(r.manifest.backend, "simulated") for r in firsts}
    return found.pop() if len(found) == 1 else ""


def _again(run: Run) -> str:
    if run.manifest.backend in MEASURED:
        return AGAIN_MEASURED
    return AGAIN_IN_REAL_TIME if run.manifest.backend == "real-time" else AGAIN


def _hosts_of(firsts: Sequence[Run]) -> str:
    """Backends of TCP other than the simulator, with the runs of each if there are several."""
    of: dict[str, list[str]] = {}
    for run in firsts:
        measured = run.manifest.backend in MEASURED
        of.setdefault(hosts(run) or ("measurement" if measured else "simulator"), []).append(run.cc)
    if len(of) == 1:
        return hosts(firsts[0])
    if all(run.manifest.backend == "real-time" for run in firsts):
        # Every run has its own punctuality: the first stands for them, as for the curves.
        return hosts(firsts[0])
    return "; ".join(f"{what} for {', '.join(names)}" for what, names in of.items())


def hosts(run: Run) -> str:
    """Backend of TCP other than the simulator: kernel, and its flows."""
    if run.manifest.backend in ("simulator", *MEASURED):
        return ""
    if run.manifest.backend == "real-time":
        return _punctuality(run.manifest.get("real_time"))
    kernel = run.manifest.get("kernel", {})
    flows = run.manifest.get("flows", [])
    real = [f["name"] for f in flows if f.get("hosts") is not None]
    some = ", ".join(real[:MAX_NAMES]) + (", …" if real[MAX_NAMES:] else "")
    which = "all flows" if len(real) == len(flows) else some
    return f"real hosts: Linux {kernel.get('version', 'of unknown version')} ({which})"


def _punctuality(measured: dict[str, Any] | None) -> str:
    """Punctuality of a run in real time."""
    if measured is None:
        return "hosts in real time"
    late = "; the run fell behind, and its figures are not the network's" if measured["late"] else ""
    return f"hosts in real time, 99 % of packets at most {measured['delivered']['p99_us'] / 1e3:.3f} ms late{late}"


def _table(runs: Sequence[Run], labels: dict[str, str]) -> dict[str, Any]:
    schemes = by_scheme(runs)
    # Columns that no measurement has are left out, to keep the table narrow.
    measured = runs[0].manifest.backend in MEASURED
    known = [c for c in TABLE if not measured or any(shown(rows, c.name, c.form) != "-" for rows in schemes.values())]
    rows = [
        {"cc": cc, "label": labels.get(cc, cc), "cells": [shown(summaries, c.name, c.form) for c in known]}
        for cc, summaries in schemes.items()
    ]
    ahead = leaders(runs, [c.name for c in known], WON, labels)
    return {
        "heads": [one_line(c.heading) for c in known],
        "main": _main(known, schemes),
        "best": [ahead.best.get(c.name) for c in known],
        "won": ahead.sentences,
        "meanings": [c.meaning for c in known],
        "rows": rows,
        "runs": len({r.seed for r in runs}),
        "remarks": about_seeds(runs),
        "groups": _groups(runs, labels),
        "beside": beside(runs)[:MAX_LINES],
    }


def _groups(runs: Sequence[Run], labels: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "group": of.group,
            "heads": of.heads,
            "rows": [{"cc": cc, "label": labels.get(cc, cc), "cells": cells} for cc, cells in of.cells.items()],
        }
        for of in groups(runs)[:MAX_LINES]
    ]


def _main(known: Sequence[Any], schemes: dict[str, Any]) -> list[int]:
    """Numbers of the columns that are shown without unfolding: few, and each with a value."""
    filled = [c.name for c in known if any(shown(rows, c.name, c.form) != "-" for rows in schemes.values())]
    order = [name for name in MAIN if name in filled]
    order += [name for name in filled if name not in order][: max(0, MOST_COLUMNS - len(order))]
    names = [c.name for c in known]
    return sorted(names.index(name) for name in order[:MOST_COLUMNS])


def shown_flows(run: Run) -> list[dict[str, Any]]:
    """Flows selectable in the page, arriving ones first.

    Number, name with ends, number of the pair.
    """
    rows = run.table("flow_totals").select(["flow", "name", "from", "to", "cc"]).to_pylist()
    inner = inner_legs(run)
    rows.sort(key=lambda r: (r["cc"] in WITHOUT_TCP, r["flow"] in inner))
    pairs = {(p.origin, p.target): i for i, p in enumerate(run.manifest.pairs)}
    return [
        {
            "flow": r["flow"],
            "name": _flow_name(r),
            "pair": pairs.get((r["from"], r["to"])),
            "ends": [r["from"], r["to"]],
        }
        for r in rows[:MAX_FLOWS]
    ]


def _flow_name(row: dict[str, Any]) -> str:
    ends = f"{row['from']} to {row['to']}"
    # Unnamed flows are labelled by their ends.
    return ends if row["name"] == f"{row['from']}->{row['to']}" else f"{row['name']} ({ends})"


def _goodput(frame: Any) -> npt.NDArray[np.float64]:
    """Goodput of a flow over `GOODPUT_NS` before each row: a log may have several rows per ACK."""
    import numpy as np

    times, goodput = np.asarray(frame["t_ns"], dtype=float), np.array(frame["goodput_bps"], dtype=float)
    delivered = np.asarray(frame["delivered_bytes"], dtype=float)
    since = np.maximum(np.searchsorted(times, times - GOODPUT_NS, side="right") - 1, 0)
    over, known = times - times[since], ~np.isnan(delivered) & ~np.isnan(delivered[since])
    use = known & (over > 0)
    goodput[use] = (delivered - delivered[since])[use] * 8e9 / over[use]
    return goodput


def _scheme(run: Run, label: str, flows: list[dict[str, Any]]) -> dict[str, Any]:
    import pandas as pd

    needed = ["t_ns", "flow", "goodput_bps", "rtt_ns", "base_rtt_ns", "cwnd_bytes", "path_rate_bps"]
    logged = run.manifest.backend == "log"
    frame = run.columns("flows", [*needed, *(["delivered_bytes"] if logged else [])]).to_pandas()
    rtts = run.to_pandas("rtt")
    if logged:
        parts = [rows.assign(goodput_bps=_goodput(rows)) for _, rows in frame.groupby("flow", sort=False)]
        frame = pd.concat(parts) if parts else frame
    totals = run.table("flow_totals").select(["flow", "payload_share"]).to_pylist()
    payload = {t["flow"]: t["payload_share"] for t in totals}
    points = max(MIN_POINTS, min(MAX_POINTS, 4 * MAX_POINTS // max(1, len(flows))))
    curves = {
        str(f["flow"]): _series(frame[frame["flow"] == f["flow"]], points)
        | {"cdf": _cdf(rtts[rtts["flow"] == f["flow"]])}
        | {"capacity": _capacity(frame[frame["flow"] == f["flow"]], payload.get(f["flow"]), points)}
        for f in flows
    }
    return {"cc": run.cc, "label": label, "curves": curves, "queue": _queue(run)}


def _series(frame: Any, points: int) -> dict[str, Any]:
    """Curves of one flow over time."""
    import numpy as np

    times = np.asarray(frame["t_ns"], dtype=float) / 1e9
    units = {
        "goodput": ("goodput_bps", 1e6),
        "rtt": ("rtt_ns", 1e6),
        "base": ("base_rtt_ns", 1e6),
        "cwnd": ("cwnd_bytes", 1e3),
    }
    thin = _thinner(times, points)
    return {"t": thin(times), **{n: thin(np.asarray(frame[c], dtype=float) / unit) for n, (c, unit) in units.items()}}


def _capacity(frame: Any, payload_share: float | None, points: int) -> list[float | None]:
    """Payload rate of the slowest port of the path, Mbit/s; empty if far above the goodput."""
    import numpy as np

    rate = np.asarray(frame["path_rate_bps"], dtype=float) / 1e6 * (payload_share or 1.0)
    most = np.nanmax(np.asarray(frame["goodput_bps"], dtype=float), initial=0.0) / 1e6
    if not np.isfinite(rate).any() or np.nanmin(rate) > BEYOND * most:
        return []
    return list(_thinner(rate, points)(rate))


def _queue(run: Run) -> dict[str, Any]:
    """Drain time of the fullest queue."""
    import numpy as np
    import pandas as pd

    found = []
    for rows in run.groups("links", ["t_ns", "queue_bytes", "rate_bps"]):
        frame = rows.to_pandas()
        frame = frame[frame["rate_bps"] > 0]
        delay_ms = frame["queue_bytes"] * 8e3 / frame["rate_bps"]
        found.append(delay_ms.groupby(frame["t_ns"]).max())
    # An instant may be in two groups.
    worst = pd.concat(found).groupby(level=0).max()
    times = np.asarray(worst.index, dtype=float) / 1e9
    thin = _thinner(times)
    return {"t": thin(times), "ms": thin(np.asarray(worst, dtype=float))}


def _thinner(times: npt.NDArray[np.float64], points: int = MAX_POINTS) -> Any:
    """Averages neighbouring points down to the given number."""
    step = max(1, math.ceil(len(times) / points))

    def thin(values: npt.NDArray[np.float64]) -> list[float | None]:
        full = len(values) // step * step
        return plain(_means(values[:full].reshape(-1, step)))

    return thin


def _means(rows: npt.NDArray[np.float64]) -> Iterable[float]:
    import numpy as np

    known = ~np.isnan(rows)
    counts = known.sum(axis=1)
    sums = np.where(known, rows, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _cdf(frame: Any) -> dict[str, Any]:
    """RTT (ms) of one flow at evenly spaced shares of its samples."""
    import numpy as np

    counts = frame.set_index("rtt_us")["count"].sort_index()
    if counts.empty:
        return {"p": [], "ms": []}
    share = np.cumsum(np.asarray(counts, dtype=float)) / counts.sum()
    p = np.linspace(0, 1, CDF_POINTS + 1)[1:]
    at = np.minimum(np.searchsorted(share, p - 1e-12), len(counts) - 1)
    ms = np.asarray(counts.index, dtype=float)[at] / 1e3
    return {"p": plain(p), "ms": plain(ms)}


def _map(run: Run, wanted: set[int | None]) -> dict[str, Any]:
    """Routes of these pairs over time, and positions of their nodes."""
    routes = routes_of(run, wanted)
    used = {n for steps in routes.values() for _, nodes in steps for n in nodes}
    return {
        "routes": routes,
        "nodes": _nodes(run, used),
        "names": {str(n): run.manifest.nodes[n] for n in used if n < len(run.manifest.nodes)},
    }


def _nodes(run: Run, used: set[int]) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    rows = run.table("tracks").select(["t_ns", "node", "name", "lat_deg", "lon_deg"])
    columns = [rows.column(c).to_pylist() for c in rows.column_names]
    for t, node, name, lat, lon in zip(*columns, strict=True):
        if node in used:
            here = nodes.setdefault(str(node), {"name": name, "track": []})
            here["track"].append([round(t / 1e9, 3), round(lat, 3), round(lon, 3)])
    return nodes
