# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Full curves, if available: ours and the reference's in one figure, and the distance between them.

Curves are means over bins of one second: goodput (acknowledged payload) and the bottleneck's queue.
The distance is the mean absolute difference of the bins, for goodput in per cent of the
bottleneck's rate and for the queue in milliseconds.
"""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import inner, written
from perigee_lab.validation import kernel, ns3

BIN_S = 1.0


class DataError(PerigeeError):
    """The folder with the curves has unexpected contents."""


@dataclass(frozen=True)
class Curve:
    """A curve in bins of one second."""

    label: str
    goodput_mbps: Any
    queue_ms: Any


@dataclass(frozen=True)
class Pair:
    """Our curves and the reference's in one cell, one per flow; all flows share the queue."""

    cell: str
    reference: list[Curve]
    ours: list[Curve]
    rate_mbps: float

    def distance(self) -> tuple[float, float]:
        """Mean absolute differences of goodput in per cent of the rate, and of the queue in ms."""
        goodput, queue = [], []
        for a, b in zip(self.ours, self.reference, strict=True):
            n = min(len(a.goodput_mbps), len(b.goodput_mbps))
            goodput.append(np.abs(a.goodput_mbps[:n] - b.goodput_mbps[:n]).mean())
            queue.append(np.abs(a.queue_ms[:n] - b.queue_ms[:n]).mean())
        return float(np.mean(goodput)) / self.rate_mbps * 100, float(np.mean(queue))


class Curves:
    """The folder given by `--data`, with `linux/series` and `ns3/series`."""

    def __init__(self, folder: Path) -> None:
        """Checks the contents of the folder."""
        self.folder = folder
        if not any((folder / s / "series").is_dir() for s in ("linux", "ns3")):
            raise DataError(f"{folder} has neither linux/series nor ns3/series")
        self._files: dict[Path, dict[str, Any]] = {}

    def pair(self, cell: kernel.Cell | ns3.Cell, found: dict[str, Any]) -> Pair | None:
        """Our curves and the reference's of a cell, or None if the reference has none."""
        try:
            if isinstance(cell, ns3.Cell):
                return self._of_ns3(cell, found)
            return self._of_kernel(cell, found)
        except (KeyError, ValueError, lzma.LZMAError, EOFError) as error:
            raise DataError(f"the curves of {cell.name} cannot be read: {error!r}") from error

    def _of_kernel(self, cell: kernel.Cell, found: dict[str, Any]) -> Pair | None:
        run = cell.flows[0].run
        name = run.split("_r")[0] if "_r1" in run or "_r5" in run else run.split("_s1")[0]
        path = self.folder / "linux" / "series" / f"{name}.csv.xz"
        if not path.exists():
            return None
        columns = self._read(path)
        of_run = columns["run"] == run
        reference = []
        rate = cell.flows[0].rate_mbps
        for flow in cell.flows:
            of = of_run & (columns["flow"] == str(flow.flow + 1))
            t = columns["t_s"][of].astype(float)
            acked = columns["bytes_acked"][of].astype(float)
            queue = columns["queue_bytes"][of].astype(float) * 8e-3 / rate
            reference.append(_binned(f"Linux {flow.cc}", t, acked, queue, flow.dur_s))
        ours = [_ours(found, i, f"here {f.cc}", rate, f.dur_s) for i, f in enumerate(cell.flows)]
        return Pair(cell.name, reference, ours, rate)

    def _of_ns3(self, cell: ns3.Cell, found: dict[str, Any]) -> Pair | None:
        path = self.folder / "ns3" / "series" / f"{cell.name.removeprefix('ns3_')}.csv.xz"
        if not path.exists():
            return None
        columns = self._read(path)
        t = columns["t_s"].astype(float)
        delivered = np.cumsum(columns["goodput_bps"].astype(float)) * 0.1 / 8
        queue = columns["queue_mean_B"].astype(float) * 8e-3 / cell.rate_mbps
        reference = _binned(f"ns-3 {cell.cc}", t, delivered, queue, cell.dur_s)
        ours = _ours(found, 0, f"here {cell.cc}", cell.rate_mbps, cell.dur_s)
        return Pair(cell.name, [reference], [ours], cell.rate_mbps)

    def _read(self, path: Path) -> dict[str, Any]:
        if path not in self._files:
            with lzma.open(path, "rt") as f:
                rows = list(csv.reader(f))
            body = np.array(rows[1:], dtype=object)
            self._files[path] = {name: body[:, i].astype(str) for i, name in enumerate(rows[0])}
        return self._files[path]


def _ours(found: dict[str, Any], flow: int, label: str, rate_mbps: float, dur_s: float) -> Curve:
    flows, links = found["flows"], found["links"]
    of = flows["flow"] == flow
    at = links["link"] == kernel.link_of(found, "r1->r2")
    # Without a row, the queue is empty.
    grid = np.arange(1, round(dur_s * 10) + 1)
    queue = np.zeros(len(grid))
    index = np.rint(links["t_ns"][at] / 1e8).astype(int) - 1
    inside = (index >= 0) & (index < len(grid))
    queue[index[inside]] = links["queue_bytes"][at][inside] * 8e-3 / rate_mbps
    t, delivered = flows["t_ns"][of] / 1e9, flows["delivered_bytes"][of].astype(float)
    filled = np.interp(grid / 10, t, delivered, left=0.0) if len(t) else np.zeros(len(grid))
    return _binned(label, grid / 10, filled, queue, dur_s)


def _binned(label: str, t: Any, delivered: Any, queue: Any, dur_s: float) -> Curve:
    edges = np.arange(0, dur_s + BIN_S / 2, BIN_S)
    total = np.interp(edges, t, delivered, left=0.0)
    goodput = np.diff(total) * 8e-6 / BIN_S
    bins = np.clip(((t - 1e-6) / BIN_S).astype(int), 0, len(edges) - 2)
    counts = np.maximum(np.bincount(bins, minlength=len(edges) - 1), 1)
    return Curve(label, goodput, np.bincount(bins, weights=queue, minlength=len(edges) - 1) / counts)


def draw(pairs: list[Pair], folder: Path) -> Iterator[Path]:
    """Draws one figure per cell, with goodput above and queue below."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    inner(folder)
    for pair in pairs:
        figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
        for i, (reference, ours) in enumerate(zip(pair.reference, pair.ours, strict=True)):
            dark, light = [("#1b4f8a", "#e07b1a"), ("#3f8fd0", "#f0b060")][i % 2]
            suffix = f", flow {i + 1}" if len(pair.ours) > 1 else ""
            for axis, name in ((top, "goodput_mbps"), (bottom, "queue_ms")):
                if axis is bottom and i > 0:
                    continue
                for curve, colour, width in ((reference, dark, 2.4), (ours, light, 1.2)):
                    values = getattr(curve, name)
                    axis.plot(np.arange(len(values)) + 0.5, values, color=colour, lw=width, label=curve.label + suffix)
        goodput, queue = pair.distance()
        top.set(ylabel="goodput [Mbit/s]", title=f"{pair.cell}: {goodput:.1f} % of the rate, {queue:.1f} ms apart")
        bottom.set(ylabel="queue [ms]", xlabel="time [s]")
        top.set_ylim(0, 1.05 * pair.rate_mbps)
        bottom.set_ylim(bottom=0)
        top.legend(loc="lower right", ncols=2, fontsize=8)
        path = folder / f"{pair.cell}.png"
        with written(path) as partial:
            figure.savefig(partial, dpi=100, format="png")
        plt.close(figure)
        yield path
