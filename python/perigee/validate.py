# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee validate`: the simulator against measured curves of the real Linux stack.

A *cell* is a path and its schemes; a reference cell may have been measured with several seeds. Cells with random draws
(random loss, or schemes that draw) run with several seeds here as well, and their means are compared.

Tolerances: goodput 2 % on static paths and 4 % elsewhere, mean queueing delay 10 % or 1.5 ms, whichever is larger.
Where chance moves the means of both sides by more, their joint 95 % interval counts instead, and is printed.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from perigee import _core

HERE = Path(__file__).parent / "validation"
SEEDS = 5
RANDOM_SCHEMES = {"bbr", "bbr3", "leocc"}
STATIC = {"single", "fq"}
GOODPUT_STATIC, GOODPUT_ELSEWHERE = 0.02, 0.04
QUEUE_SHARE, QUEUE_MS = 0.10, 1.5
QUICK_ACKS = 1442
"""The receivers of the curves have an initial buffer of 8 MiB. While the receive window grows into half of it, by two
segments a packet from 64 KiB on, Linux gives back an immediate ACK for each packet: 16 + (4 MiB - 64 KiB) / 2896 B."""
START_JITTER = "20 ms"
"""Two flows over one drop-tail queue sit on a knife edge: who loses the packet depends on microseconds. Their starts
are shaken so that our seeds show how far that carries."""
LEO_CAPACITY_MBPS = 67.25
"""Time average of the schedule's rate: turns a mean queue in bytes into a delay."""


@dataclass(frozen=True)
class Reference:
    """One flow of one measured run."""

    run: str
    group: str
    flow: int
    cc: str
    rate_mbps: float
    rtt_ms: str
    queue_bytes: str
    loss_pct: float
    dur_s: float
    start_s: str
    window_s: tuple[float, float]
    goodput_mbps: float
    srtt_ms: float
    queue_mean_bytes: float
    retransmits: int

    @classmethod
    def read(cls, row: dict[str, str]) -> Reference:
        """From a row of the table."""
        begin, end = row["window_s"].split("-")
        return cls(
            run=row["run"],
            group=row["group"],
            flow=int(row["flow"]) - 1,
            cc=row["cc"],
            rate_mbps=float(row["rate_mbps"] or LEO_CAPACITY_MBPS),
            rtt_ms=row["rtt_ms"],
            queue_bytes=row["queue_bytes"],
            loss_pct=float(row["loss_pct"] or 0),
            dur_s=float(row["dur_s"]),
            start_s=row["start_s"],
            window_s=(float(begin), float(end)),
            goodput_mbps=float(row["goodput_win_mbps"]),
            srtt_ms=float(row["srtt_mean_ms"]),
            queue_mean_bytes=float(row["queue_mean_bytes"]),
            retransmits=int(row["retrans_pkts"]),
        )


@dataclass
class Cell:
    """A path with its schemes: the reference runs of it."""

    name: str
    runs: list[list[Reference]] = field(default_factory=list)

    @property
    def flows(self) -> list[Reference]:
        """The flows of the first reference run."""
        return self.runs[0]

    @property
    def group(self) -> str:
        """Its group, without the seeds."""
        return self.flows[0].group.removesuffix("seeds")

    @property
    def is_random(self) -> bool:
        """Chance has a part in it."""
        lossy = self.group == "leoloss" or self.flows[0].loss_pct > 0
        return lossy or len(self.flows) > 1 or any(f.cc in RANDOM_SCHEMES for f in self.flows)


@dataclass(frozen=True)
class Ours:
    """What the simulator did in a cell, with one seed."""

    goodput_mbps: list[float]
    retransmits: list[int]
    queue_mean_bytes: float


@dataclass(frozen=True)
class Verdict:
    """A quantity of a flow of a cell, ours against the reference."""

    cell: str
    group: str
    cc: str
    quantity: str
    unit: str
    ours: float
    reference: float
    tolerance: float
    interval: float
    retransmits: tuple[float, float]

    @property
    def error(self) -> float:
        """Ours minus the reference."""
        return self.ours - self.reference

    @property
    def good(self) -> bool:
        """Within the tolerance, or not to be told from it by these seeds."""
        return abs(self.error) <= max(self.tolerance, self.interval)


def cells(rows: Iterable[dict[str, str]]) -> list[Cell]:
    """Reference runs by cell, in the order of the table."""
    by_run: dict[str, list[Reference]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(Reference.read(row))
    found: dict[str, Cell] = {}
    for flows in by_run.values():
        name = flows[0].run.split("_s")[0] if flows[0].group.endswith("seeds") else flows[0].run
        name = name.replace("lossseeds_", "loss_")
        found.setdefault(name, Cell(name)).runs.append(flows)
    return list(found.values())


def scenario(cell: Cell) -> str:
    """The cell's path as a scenario."""
    flows, first = cell.flows, cell.flows[0]
    begin, _ = first.window_s
    lines = ["[run]", f'duration = "{first.dur_s:g} s"', f'warmup = "{max(begin, 0):g} s"', "[source.dumbbell]"]
    lines += ['rtt_at = "ack-path"', 'delay_drop = "reorder"', f"pairs = {len(flows)}"]
    follows_schedule = cell.group.startswith("leo")
    if len(flows) > 1:
        lines.insert(1, f'start_jitter = "{START_JITTER}"')
    rtts = [{"step": "20"}.get(cell.group, "54" if follows_schedule else f.rtt_ms) for f in flows]
    lines.append(f"rtt = [{', '.join(json.dumps(r + ' ms') for r in rtts)}]")
    if first.loss_pct > 0 and not follows_schedule:
        lines.append(f"loss = {first.loss_pct / 100:g}")
    wide = 'rate = "1 Tbit"\nqueue = "1000000 packets"'
    lines += ["[port.all]", "framing = 14", "[port.bottleneck]"]
    lines += [f'rate = "{first.rate_mbps:g} Mbit"', f'queue = "{first.queue_bytes} B"']
    lines += ["[port.reverse]", wide, "[port.access]", wide]
    lines += ["[tcp]", f"quickack = {QUICK_ACKS}"]
    if cell.group == "fq":
        lines.append("pacing = true")
    # The satcp of the curves is told 0.5 s ahead, for 2.3 s; leocc's clock begins with its socket.
    lines += ["[notices]", 'lead = "0.5 s"', 'hold = "2.3 s"']
    if any(f.cc == "leocc" for f in flows):
        lines += ["[cc.leocc]", 'signal = "periodic"', 'period = "15 s"', 'offset = "200 ms"']
    for i, f in enumerate(flows, start=1):
        lines += ["[[flow]]", f'cc = "{f.cc}"', f'from = "s{i}"', f'to = "d{i}"', f'start = "{f.start_s} s"']
    return "\n".join([*lines, *_changes(cell), ""])


def _changes(cell: Cell) -> Iterator[str]:
    end = cell.flows[0].dur_s
    if cell.group == "step":
        for k, at in enumerate(range(15, int(end), 15)):
            yield f'[[change]]\nat = "{at} s"\nrtt = "{20 if k % 2 else 100} ms"'
    elif cell.group == "outage":
        for at in range(15, int(end), 15):
            yield f'[[change]]\nat = "{at} s"\noutage = "100 ms"\nmode = "blackhole"'
    elif cell.group.startswith("leo"):
        with (HERE / "leo_s1.csv").open() as f:
            for row in csv.DictReader(f):
                yield f'[[change]]\nat = "{row["t_s"]} s"\nrtt = "{row["rtt_ms"]} ms"'
                yield f'rate = "{row["rate_mbps"]} Mbit"\nmode = "blackhole"'
                if float(row["outage_ms"]) > 0:
                    yield f'outage = "{row["outage_ms"]} ms"'
                if cell.group == "leoloss":
                    yield f"loss = {float(row['loss_pct']) / 100:g}"


def run(cell: Cell, seed: int) -> Ours:
    """Runs the cell with one seed."""
    world = _core.Scenario.parse(scenario(cell), cell.name, HERE, []).world(seed)
    _, tables, _ = world.run(cell.flows[0].cc)
    flows, links = _table(tables["flows"]), _table(tables["links"])
    begin, end = (s * 1e9 for s in cell.flows[0].window_s)
    goodputs = []
    for i, reference in enumerate(cell.flows):
        b, e = (s * 1e9 for s in reference.window_s)
        of = flows["flow"] == i
        t, delivered = flows["t_ns"][of], flows["delivered_bytes"][of]
        goodputs.append((_at(t, delivered, e) - _at(t, delivered, b)) * 8e3 / (e - b))
    window = (links["link"] == _bottleneck(tables["link_totals"])) & (links["t_ns"] > begin) & (links["t_ns"] <= end)
    # A link that neither carries nor holds anything leaves no row: its queue is empty.
    samples = (end - begin) / 1e8
    queue = float(links["queue_bytes"][window].sum() / samples)
    return Ours(goodputs, [int(n) for n in _table(tables["flow_totals"])["retransmits"]], queue)


def _table(columns: list[_core.Column]) -> dict[str, Any]:
    return {name: values for name, values, *_ in columns}


def _at(t: Any, values: Any, when: float) -> float:
    i = int(np.searchsorted(t, when, side="right"))
    return float(values[i - 1]) if i > 0 else 0.0


def _bottleneck(columns: list[_core.Column]) -> int:
    _, codes, words, _ = next(c for c in columns if c[0] == "name")
    names = [words[i] for i in codes] if words else list(codes)
    return int(_table(columns)["link"][names.index("r1->r2")])


def judge(cell: Cell, ours: list[Ours]) -> list[Verdict]:
    """Compares goodput per flow and the mean queueing delay of the bottleneck."""
    tolerance = GOODPUT_STATIC if cell.group in STATIC else GOODPUT_ELSEWHERE
    verdicts = []
    for i, flow in enumerate(cell.flows):
        got = [o.goodput_mbps[i] for o in ours]
        wanted = [r[i].goodput_mbps for r in cell.runs]
        retransmits = (mean(o.retransmits[i] for o in ours), mean(r[i].retransmits for r in cell.runs))
        name = cell.name if len(cell.flows) == 1 else f"{cell.name} flow {i + 1}"
        bound = tolerance * mean(wanted)
        verdicts.append(_verdict(cell, name, flow.cc, ("goodput", "Mbit/s"), got, wanted, bound, retransmits))
    to_ms = 8e-3 / cell.flows[0].rate_mbps
    got = [o.queue_mean_bytes * to_ms for o in ours]
    wanted = [r[0].queue_mean_bytes * to_ms for r in cell.runs]
    bound = max(QUEUE_MS, QUEUE_SHARE * mean(wanted))
    ccs = "+".join(dict.fromkeys(f.cc for f in cell.flows))
    verdicts.append(_verdict(cell, cell.name, ccs, ("queue", "ms"), got, wanted, bound, (math.nan, math.nan)))
    return verdicts


def _verdict(
    cell: Cell,
    name: str,
    cc: str,
    quantity: tuple[str, str],
    got: list[float],
    wanted: list[float],
    tolerance: float,
    retransmits: tuple[float, float],
) -> Verdict:
    interval = _interval(got, wanted) if cell.is_random else 0.0
    return Verdict(name, cell.group, cc, *quantity, mean(got), mean(wanted), tolerance, interval, retransmits)


def _interval(got: list[float], wanted: list[float]) -> float:
    """Half of the 95 % interval of the difference of the means (normal approximation).

    A single reference run is taken to scatter as ours do.
    """
    spread = stdev(got) if len(got) > 1 else 0.0
    theirs = stdev(wanted) if len(wanted) > 2 else spread
    return 1.96 * math.sqrt(spread**2 / len(got) + theirs**2 / len(wanted))


def explained() -> dict[str, str]:
    """Cells known to fall outside, and the heading of docs/differences.md that says why."""
    path = HERE / "explained.csv"
    if not path.exists():
        return {}
    with path.open() as f:
        return {row["cell"]: row["heading"] for row in csv.DictReader(f)}


def _select(found: list[Cell], groups: list[str], schemes: list[str]) -> list[Cell]:
    return [
        c for c in found if (not groups or c.group in groups) and (not schemes or all(f.cc in schemes for f in c.flows))
    ]


def validate_command(
    groups: list[str], schemes: list[str], *, jobs: int, seeds: int, as_json: bool, out: Path | None
) -> int:
    """Runs the cells and prints a line per quantity. 0: all good or explained; 3: something is outside."""
    with (HERE / "linux.csv").open() as f:
        found = cells(csv.DictReader(f))
    chosen = _select(found, groups, schemes)
    if not chosen:
        known = sorted({c.group for c in found})
        print(f"perigee: no such cell; groups: {', '.join(known)}", file=sys.stderr)
        return 2
    known_outside = explained()
    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(jobs) as pool:
        for n, new in enumerate(pool.map(lambda c: _judged(c, seeds), chosen), start=1):
            verdicts += new
            if not as_json:
                for v in new:
                    print(_line(v, known_outside), flush=True)
            if sys.stderr.isatty():
                print(f"{n} of {len(chosen)} cells", end="\r", file=sys.stderr, flush=True)
    outside = [v for v in verdicts if not v.good]
    unexplained = [v for v in outside if v.cell not in known_outside]
    summary = f"{len(verdicts)} comparisons in {len(chosen)} cells: {len(verdicts) - len(outside)} good, "
    summary += f"{len(outside) - len(unexplained)} outside and explained, {len(unexplained)} outside"
    if as_json:
        rows = [v.__dict__ | {"good": v.good} for v in verdicts]
        print(json.dumps({"summary": summary, "verdicts": rows}, indent=1, allow_nan=False, default=str))
    else:
        print(summary)
    if out is not None:
        _write(out, verdicts)
    return 3 if unexplained else 0


def _judged(cell: Cell, seeds: int) -> list[Verdict]:
    n = seeds if cell.is_random else 1
    return judge(cell, [run(cell, seed) for seed in range(1, n + 1)])


def _line(v: Verdict, known: dict[str, str]) -> str:
    word = "good" if v.good else f"see {known[v.cell]!r}" if v.cell in known else "OUTSIDE"
    share = f"{100 * v.error / v.reference:+.2f} %" if v.reference else ""
    bound = f"±{max(v.tolerance, v.interval):.2f}"
    retransmits = (
        "" if math.isnan(v.retransmits[0]) else f"  retransmits {v.retransmits[0]:.0f} ({v.retransmits[1]:.0f})"
    )
    return (
        f"{v.cell:40s} {v.quantity:8s} {v.ours:8.2f} {v.unit:6s} kernel {v.reference:8.2f} {share:>10s} "
        f"{bound:>8s}  {word}{retransmits}"
    )


def _write(out: Path, verdicts: list[Verdict]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["cell", "cc", "quantity", "unit", "ours", "kernel", "tolerance", "interval", "verdict"])
        for v in verdicts:
            numbers = [f"{x:.4f}" for x in (v.ours, v.reference, v.tolerance, v.interval)]
            w.writerow([v.cell, v.cc, v.quantity, v.unit, *numbers, "good" if v.good else "outside"])
