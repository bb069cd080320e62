# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Digest of a run: totals, quantiles of the RTT, and some columns of the time series.

A digest has a few kilobytes, much less than a record, so that the results of thousands of runs can
be kept.

Time series have the shape (flows, samples), the units of the record (`goodput_bps`, `rtt_ns`), and
NaN for missing values.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perigee_lab.common.reading import parsed_json

if TYPE_CHECKING:
    from perigee_lab.results.run import Run
    from perigee_studies.model import Keep

FORMAT = 1
MOST_UNPACKED = 128 << 20
"""Limit for the arrays and the JSON of a digest in bytes, thousands of times the usual size."""
QUANTILES = np.linspace(0.0, 1.0, 201)

Floats = npt.NDArray[np.float64]


@dataclass
class Digest:
    """Condensed results of one run."""

    flows: list[dict[str, Any]]
    """One row per flow: its row of `flow_totals`, and its metrics as in summary.csv."""
    t_s: Floats
    """Sampling times in s, shape (samples,)."""
    columns: dict[str, Floats] = field(default_factory=dict)
    """Time series by column, each of shape (flows, samples)."""
    rtt_ms: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Quantiles in ms of each flow's RTT samples, at `QUANTILES`; shape (flows, 201)."""
    routes: list[tuple[float, int, list[str]]] = field(default_factory=list)
    """(time in s, number of the pair, names of the nodes) for each change of a route."""
    events: list[tuple[float, str, int, float]] = field(default_factory=list)
    """(time in s, kind, flow or -1, value)."""
    info: dict[str, Any] = field(default_factory=dict)
    """Entries of the manifest: duration, ports, warnings, conservation, report."""
    busy: Floats = field(default_factory=lambda: np.empty((0, 5)))
    """Samples of busy ports: time in s, port, rate in Mbit/s, utilisation, queue in ms; samples x 5."""

    def mbps(self, flow: int | slice = slice(None)) -> Floats:
        """Goodput in Mbit/s of one flow, or of several: shape (samples,) or (flows, samples)."""
        return self.columns["goodput_bps"][flow] / 1e6

    def window(self, begin_s: float, end_s: float) -> npt.NDArray[np.bool_]:
        """Mask of samples in [begin, end], shape (samples,); a sample covers the interval before it."""
        step = float(self.t_s[1] - self.t_s[0]) if len(self.t_s) > 1 else 0.0
        slack = 1e-9
        mask: npt.NDArray[np.bool_] = (self.t_s - step >= begin_s - slack) & (self.t_s <= end_s + slack)
        return mask

    def mean_mbps(self, begin_s: float, end_s: float) -> Floats:
        """Mean goodput in Mbit/s between two times, shape (flows,); NaN without samples."""
        mask = self.window(begin_s, end_s)
        return np.nan_to_num(self.mbps()[:, mask]).mean(axis=1) if mask.any() else np.full(len(self.flows), np.nan)

    def mean_rtt_ms(self, begin_s: float, end_s: float) -> Floats:
        """Mean RTT in ms between two times, weighted by goodput, shape (flows,); NaN without samples."""
        mask = self.window(begin_s, end_s)
        rtt = self.columns["rtt_ns"][:, mask] / 1e6
        weight = np.where(np.isnan(rtt), 0.0, np.nan_to_num(self.columns["goodput_bps"][:, mask]) + 1e-9)
        total = weight.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.where(total > 0, (np.nan_to_num(rtt) * weight).sum(axis=1) / total, np.nan)

    def inflation(self, mask: npt.NDArray[np.bool_]) -> float:
        """Ratio of mean RTT to mean base RTT, over all flows and the samples of a mask."""
        with np.errstate(invalid="ignore"):
            rtt, base = (np.nanmean(self.columns[name][:, mask]) for name in ("rtt_ns", "base_rtt_ns"))
        return float(rtt / base)

    def to_bytes(self) -> bytes:
        """Serialises to a zip archive, with arrays in single precision; equal digests give equal bytes."""
        arrays = {"t_s": self.t_s, "rtt_ms": self.rtt_ms.astype(np.float32)}
        arrays |= {"busy": self.busy.astype(np.float32)} if len(self.busy) else {}
        arrays |= {f"c_{name}": values.astype(np.float32) for name, values in self.columns.items()}
        text = {"flows": self.flows, "routes": self.routes, "events": self.events, "info": self.info}
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_member("digest.json"), json.dumps(text))
            for name, values in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, np.asarray(values), allow_pickle=False)
                archive.writestr(_member(f"{name}.npy"), buffer.getvalue())
        return out.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Digest:
        """Deserialises the result of `to_bytes`.

        Raises:
            ValueError: the archive is damaged, or exceeds the limits.
        """
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if (size := sum(e.file_size for e in archive.infolist())) > MOST_UNPACKED:
                    raise ValueError(f"it would unpack to {size:,} bytes, at most {MOST_UNPACKED:,} are read")
                text = parsed_json(archive.read("digest.json"))
                named = [n for n in archive.namelist() if n.endswith(".npy")]
                arrays = {n.removesuffix(".npy"): _array(archive.read(n)) for n in named}
        except (zipfile.BadZipFile, KeyError, OSError, EOFError, MemoryError) as error:
            raise ValueError(f"damaged digest: {error}") from error
        columns = {n.removeprefix("c_"): a for n, a in arrays.items() if n.startswith("c_")}
        routes = [(t, p, list(nodes)) for t, p, nodes in text["routes"]]
        events = [(t, k, f, v) for t, k, f, v in text["events"]]
        busy = arrays.get("busy", np.empty((0, 5)))
        return Digest(text["flows"], arrays["t_s"], columns, arrays["rtt_ms"], routes, events, text["info"], busy)


def _array(data: bytes) -> Floats:
    """An array. Raises ValueError unless it has the numbers that `to_bytes` writes, in all of the data."""
    file = io.BytesIO(data)
    major, _ = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    if kind.kind != "f" or kind.itemsize < 4 or math.prod(shape) * kind.itemsize != len(data) - file.tell():
        raise ValueError(f"an array of {shape} {kind} is not one of a digest")
    found: Floats = np.load(io.BytesIO(data), allow_pickle=False).astype(float)
    return found


def _member(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def condense(run: Run, keep: Keep) -> Digest:
    """Computes the digest of a record; `keep` selects optional data."""
    from perigee_lab.results.metrics import flow_rows

    totals = run.table("flow_totals").to_pylist()
    flows = [{**_plain(t), **_plain(m)} for t, m in zip(totals, flow_rows(run), strict=True)][: keep.flows]
    t_s, columns = _series(run, len(flows), keep)
    info = {k: run.manifest[k] for k in ("duration_ns", "ports", "warnings", "conserved", "packet_hops", "report")}
    return Digest(
        flows,
        t_s,
        columns,
        _quantiles(run, len(flows)),
        _routes(run) if keep.routes else [],
        _events(run, keep),
        info,
        _busy(run, keep),
    )


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Converts NaN to None for JSON."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}


def _series(run: Run, flows: int, keep: Keep) -> tuple[Floats, dict[str, Floats]]:
    table = run.table("flows")
    mine = table.column("flow").to_numpy() < flows
    t_ns = table.column("t_ns").to_numpy()[mine]
    times, at = np.unique(t_ns, return_inverse=True)
    flow = table.column("flow").to_numpy()[mine]
    columns = {}
    for name in keep.columns:
        if name not in table.column_names:
            continue
        grid = np.full((flows, len(times)), np.nan)
        grid[flow, at] = table.column(name).to_numpy().astype(float)[mine]
        columns[name] = grid
    return times / 1e9, columns


def _quantiles(run: Run, flows: int) -> Floats:
    table = run.table("rtt")
    flow, rtt_us, count = (table.column(c).to_numpy() for c in ("flow", "rtt_us", "count"))
    out = np.full((flows, len(QUANTILES)), np.nan)
    for i in range(flows):
        mine = flow == i
        seen = np.cumsum(count[mine])
        if len(seen):
            rank = np.maximum(1, np.ceil(QUANTILES * seen[-1]))
            out[i] = rtt_us[mine][np.searchsorted(seen, rank)] / 1e3
    return out


def _routes(run: Run) -> list[tuple[float, int, list[str]]]:
    names = run.manifest.nodes
    rows = run.table("routes").to_pylist()
    found: dict[tuple[int, int], list[str]] = {}
    for r in rows:
        path = found.setdefault((r["t_ns"], r["pair"]), [])
        if r["node"] is not None:
            path.append(names[r["node"]])
    return [(t / 1e9, pair, nodes) for (t, pair), nodes in sorted(found.items())]


def _events(run: Run, keep: Keep) -> list[tuple[float, str, int, float]]:
    if not keep.events:
        return []
    rows = run.table("events").to_pylist()
    return [
        (r["t_ns"] / 1e9, r["kind"], -1 if r["flow"] is None else r["flow"], r["value"])
        for r in rows
        if r["kind"] in keep.events
    ]


def _busy(run: Run, keep: Keep) -> Floats:
    """Samples of ports from a utilisation on, one per port and time; a port of several links has its busiest."""
    if keep.busy is None:
        return np.empty((0, 5))
    table = run.table("links")
    t_ns, port, rate, used, queue = (
        np.nan_to_num(table.column(name).to_numpy().astype(float))
        for name in ("t_ns", "port", "rate_bps", "utilisation", "queue_bytes")
    )
    chosen = np.flatnonzero((used >= keep.busy) & (rate > 0))
    chosen = chosen[np.lexsort((-used[chosen], port[chosen], t_ns[chosen]))]
    _, first = np.unique(np.column_stack([t_ns[chosen], port[chosen]]), axis=0, return_index=True)
    at = chosen[first]
    return np.column_stack([t_ns[at] / 1e9, port[at], rate[at] / 1e6, used[at], queue[at] * 8e3 / rate[at]])
