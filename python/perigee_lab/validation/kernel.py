# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cells measured with the TCP code of Linux 6.12, and the same paths as scenarios."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.runs.backends import SIMULATOR, Backend
from perigee_lab.runs.work import simulate
from perigee_lab.validation.verdicts import FLOW, HERE, Verdict, compared, counts_tolerance

if TYPE_CHECKING:
    from perigee_lab.common.columns import Column

RANDOM_SCHEMES = {"bbr", "bbr3", "leocc"}
STATIC = {"single", "fq"}
GOODPUT_STATIC, GOODPUT_ELSEWHERE = 0.02, 0.04
QUEUE_SHARE, QUEUE_MS = 0.10, 1.5
TRUESIZE = 2280
"""Bytes of receive buffer that a full-sized packet occupies on the hosts of the curves: their
window of 8 MiB is full with 3,666 packets."""
WMEM = 300_000
"""Bytes of send buffer that the hosts of the curves filled before the first ACK. The sizes of their
writes are unknown. With 256 KiB, which are eight short entries, BBR and LeoCC lose a quarter more
packets at start-up over a queue of a fifth of a BDP than were measured; with nine entries, as here,
and with ten to twelve, they lose as many as measured."""
BURST = "1600 B"
"""Depth of the token bucket at the bottleneck of the curves."""
START_JITTER = "2 ms"
"""Jitter of start times, a few packets long. The outcome of two flows over one drop-tail queue
depends on microseconds, and our seeds show how large the effect is."""
TICK_PHASE_S = 0.0006
"""Time from a timer tick to the start of the connections of the curves. It is unknown, but affects
timers of full ticks at path changes. With 0.3 to 0.9 ms, LeoCC restarts over four rounds instead of
three after an outage, as measured; of these values, 0.4, 0.6 and 0.8 ms also reproduce the goodput
of Cubic and Vegas on the schedule."""
CHANGING = {"step", "outage", "leo", "leoloss"}
"""Groups with changing paths."""
LEO_CAPACITY_MBPS = 67.25
"""Time average of the schedule's rate, which converts a mean queue in bytes to a delay."""
LEOCC_PERIOD_S, LEOCC_OFFSET_S = 15.0, 0.2
CONTROLLED = {"loss", "leoloss"}
"""Groups in which random loss causes the loss events, which are therefore compared only in the
other groups."""


@dataclass(frozen=True)
class Reference:
    """A flow of a measured run."""

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
    start_retransmits: int
    episodes: int

    @classmethod
    def read(cls, row: dict[str, str]) -> Reference:
        """Parses a row of the table."""
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
            retransmits=int(row["retrans_win_pkts"]),
            start_retransmits=int(row["retrans_pkts"]) - int(row["retrans_win_pkts"]),
            episodes=int(row["episodes_win"]),
        )


@dataclass
class Cell:
    """A path with its schemes, and its reference runs."""

    name: str
    runs: list[list[Reference]] = field(default_factory=list)

    @property
    def flows(self) -> list[Reference]:
        """The flows of the first reference run."""
        return self.runs[0]

    @property
    def group(self) -> str:
        """The group, without the seeds."""
        return self.flows[0].group.removesuffix("seeds")

    @property
    def schemes(self) -> set[str]:
        """Schemes of its flows."""
        return {f.cc for f in self.flows}

    @property
    def is_random(self) -> bool:
        """Whether it has random draws."""
        lossy = self.group == "leoloss" or self.flows[0].loss_pct > 0
        return lossy or len(self.flows) > 1 or any(f.cc in RANDOM_SCHEMES for f in self.flows)


@dataclass(frozen=True)
class Ours:
    """Results of the simulator in a cell with one seed, by flow and at the bottleneck.

    Counts are those within the window; counts of start-up are those before it.
    """

    goodput_mbps: list[float]
    retransmits: list[int]
    start_retransmits: list[int]
    episodes: list[int]
    queue_mean_bytes: float


def read() -> list[Cell]:
    """All cells of the table."""
    with (HERE / "linux.csv").open() as f:
        return cells(csv.DictReader(f))


def cells(rows: Iterable[dict[str, str]]) -> list[Cell]:
    """Groups reference runs by cell, in the order of the table."""
    by_run: dict[str, list[Reference]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(Reference.read(row))
    found: dict[str, Cell] = {}
    for flows in by_run.values():
        name = flows[0].run.split("_s")[0] if flows[0].group.endswith("seeds") else flows[0].run
        name = name.replace("lossseeds_", "loss_").replace("reno", "newreno")
        found.setdefault(name, Cell(name)).runs.append(flows)
    return list(found.values())


REAL = {"newreno", "cubic", "vegas", "hybla", "bbr"}
"""Schemes of the curves that have the same name in every kernel."""


def on_hosts(found: Iterable[Cell], names: Mapping[str, str], modules: Iterable[str] = ()) -> Iterator[Cell]:
    """The cells that a kernel can run, except those with a queueing discipline at the sender.

    `names` maps schemes of the curves to names in the kernel; `modules` are the schemes of
    additional modules, such as LeoCC.
    """
    there = REAL | set(modules)
    for cell in found:
        if cell.group != "fq" and all(names.get(cc, cc) in there for cc in cell.schemes):
            yield cell


def scenario(cell: Cell, hosts: Mapping[str, str] | None = None) -> str:
    """The cell's path as a scenario.

    With `hosts`, the scenario is for real hosts, which need no settings of our transport and have
    other names for some schemes.
    """
    flows, first = cell.flows, cell.flows[0]
    begin, _ = first.window_s
    lines = ["[run]", f'duration = "{first.dur_s:g} s"', f'warmup = "{max(begin, 0):g} s"', "[source.dumbbell]"]
    lines += ['rtt_at = "ack-path"', "reordering = true", f"pairs = {len(flows)}"]
    follows_schedule = cell.group.startswith("leo")
    if len(flows) > 1:
        lines.insert(1, f'start_jitter = "{START_JITTER}"')
    rtts = [{"step": "20"}.get(cell.group, "54" if follows_schedule else f.rtt_ms) for f in flows]
    lines.append(f"rtt = [{', '.join(quoting.toml(r + ' ms') for r in rtts)}]")
    if first.loss_pct > 0 and not follows_schedule:
        lines.append(f"loss = {first.loss_pct / 100:g}")
    wide = 'rate = "1 Tbit"\nqueue = "1000000 packets"'
    lines += ["[port.all]", "framing = 14", "[port.bottleneck]"]
    lines += [f'rate = "{first.rate_mbps:g} Mbit"', f'queue = "{first.queue_bytes} B"', f'burst = "{BURST}"']
    lines += ["[port.reverse]", wide, "[port.access]", wide]
    # Real hosts have their own timer ticks.
    later_s = TICK_PHASE_S if hosts is None and cell.group in CHANGING else 0.0
    if hosts is None:
        lines += _transport(cell)
    for i, f in enumerate(flows, start=1):
        cc = f.cc if hosts is None else hosts.get(f.cc, f.cc)
        lines += [
            "[[flow]]",
            f'cc = "{cc}"',
            f'from = "s{i}"',
            f'to = "d{i}"',
            f'start = "{float(f.start_s) + later_s:g} s"',
        ]
        if cc == "leocc" and hosts is None:
            lines.append(f'cc_params.offset = "{_leocc_offset_s(f, flows) * 1e3:g} ms"')
    return "\n".join([*lines, *_changes(cell, later_s), ""])


def _transport(cell: Cell) -> Iterator[str]:
    """Behaviour of the hosts of the curves, as settings of our transport."""
    yield from ("[tcp]", f"truesize = {TRUESIZE}", f"wmem = {WMEM}")
    if cell.group == "fq":
        yield "pacing = true"
    # In the curves, SaTCP is notified 0.5 s in advance, for 2.3 s.
    yield from ("[notices]", 'lead = "0.5 s"', 'hold = "2.3 s"')
    if "leocc" in cell.schemes:
        yield from ("[cc.leocc]", 'signal = "periodic"', f'period = "{LEOCC_PERIOD_S:g} s"')


def _leocc_offset_s(flow: Reference, flows: list[Reference]) -> float:
    """Time at which LeoCC's period starts.

    The module counts from the creation of the latest LeoCC socket on the machine.

    The module is notified of a socket when the SYN-ACK arrives, one round trip after the start of
    the flow, as in our transport.
    """
    if len(flows) == 1:
        return LEOCC_OFFSET_S
    latest = max(_established_s(f) for f in flows if f.cc == "leocc")
    return (LEOCC_OFFSET_S + latest - _established_s(flow)) % LEOCC_PERIOD_S


def _established_s(flow: Reference) -> float:
    return float(flow.start_s) + float(flow.rtt_ms) / 1e3


def _changes(cell: Cell, later_s: float) -> Iterator[str]:
    """Changes of the path, each `later_s` after a full second."""
    end = cell.flows[0].dur_s
    if cell.group == "step":
        for k, at in enumerate(range(15, int(end), 15)):
            yield f'[[change]]\nat = "{at + later_s:.4f} s"\nrtt = "{20 if k % 2 else 100} ms"'
    elif cell.group == "outage":
        for at in range(15, int(end), 15):
            yield f'[[change]]\nat = "{at + later_s:.4f} s"\noutage = "100 ms"\nmode = "blackhole"'
    elif cell.group.startswith("leo"):
        with (HERE / "leo_s1.csv").open() as f:
            for row in csv.DictReader(f):
                yield f'[[change]]\nat = "{float(row["t_s"]) + later_s:.4f} s"\nrtt = "{row["rtt_ms"]} ms"'
                yield f'rate = "{row["rate_mbps"]} Mbit"'
                if float(row["outage_ms"]) > 0:
                    yield f'outage = "{row["outage_ms"]} ms"\nmode = "blackhole"'
                if cell.group == "leoloss":
                    yield f"loss = {float(row['loss_pct']) / 100:g}"


def tables(text: str, name: str, cc: str, seed: int, backend: Backend = SIMULATOR) -> dict[str, Any]:
    """Runs a scenario, by default in the simulator; returns its tables as columns by name."""
    world = _core.Scenario.parse(text, name, HERE, []).world(seed)
    _, found, _ = simulate(world, cc, backend=backend)
    return {table: _columns(columns) for table, columns in found.items()}


def _columns(columns: list[Column]) -> dict[str, Any]:
    return {
        name: np.array(words, dtype=object)[values] if words is not None else values
        for name, values, words, _ in columns
    }


def run(cell: Cell, seed: int) -> Ours:
    """Runs the cell with one seed."""
    return measured(cell, tables(scenario(cell), cell.name, cell.flows[0].cc, seed))


def measured(cell: Cell, found: dict[str, Any]) -> Ours:
    """Values from our tables that correspond to the columns of the reference."""
    flows, links = found["flows"], found["links"]
    goodputs, retransmits, at_start, episodes = [], [], [], []
    for i, reference in enumerate(cell.flows):
        b, e = (s * 1e9 for s in reference.window_s)
        of = flows["flow"] == i
        t = flows["t_ns"][of]
        delivered, resent = flows["delivered_bytes"][of], flows["retransmits"][of]
        goodputs.append((_at(t, delivered, e) - _at(t, delivered, b)) * 8e3 / (e - b))
        at_start.append(int(_at(t, resent, b)))
        retransmits.append(int(_at(t, resent, e)) - at_start[-1])
        reduced = np.isin(flows["ca_state"][of][(t > b) & (t <= e)], ["recovery", "loss"])
        episodes.append(int((reduced[1:] & ~reduced[:-1]).sum()))
    begin, end = (s * 1e9 for s in cell.flows[0].window_s)
    bottleneck = link_of(found, "r1->r2")
    window = (links["link"] == bottleneck) & (links["t_ns"] > begin) & (links["t_ns"] <= end)
    # A link without traffic and without a queue has no row: its queue is empty.
    samples = (end - begin) / 1e8
    return Ours(goodputs, retransmits, at_start, episodes, float(links["queue_bytes"][window].sum() / samples))


def _at(t: Any, values: Any, when: float) -> float:
    i = int(np.searchsorted(t, when, side="right"))
    return float(values[i - 1]) if i > 0 else 0.0


def link_of(found: dict[str, Any], name: str) -> int:
    """Number of a link."""
    totals = found["link_totals"]
    return int(totals["link"][list(totals["name"]).index(name)])


def judge(cell: Cell, ours: list[Ours]) -> list[Verdict]:
    """Verdicts on goodput per flow and mean queueing delay, and on losses of single flows."""
    share = GOODPUT_STATIC if cell.group in STATIC else GOODPUT_ELSEWHERE
    verdicts = []
    for i, flow in enumerate(cell.flows):
        name = cell.name if len(cell.flows) == 1 else f"{cell.name}{FLOW}{i + 1}"
        got = [o.goodput_mbps[i] for o in ours]
        wanted = [r[i].goodput_mbps for r in cell.runs]
        bound = share * mean(wanted)
        place = (name, cell.group, flow.cc)
        verdicts.append(compared(place, ("goodput", "Mbit/s"), got, wanted, tolerance=bound, by_chance=cell.is_random))
    to_ms = 8e-3 / cell.flows[0].rate_mbps
    got = [o.queue_mean_bytes * to_ms for o in ours]
    wanted = [r[0].queue_mean_bytes * to_ms for r in cell.runs]
    bound = max(QUEUE_MS, QUEUE_SHARE * mean(wanted))
    place = (cell.name, cell.group, "+".join(dict.fromkeys(f.cc for f in cell.flows)))
    verdicts.append(compared(place, ("queue", "ms"), got, wanted, tolerance=bound, by_chance=cell.is_random))
    if len(cell.flows) == 1:
        verdicts += _counts(cell, ours)
    return verdicts


def _counts(cell: Cell, ours: list[Ours]) -> Iterator[Verdict]:
    pairs = [
        ("retransmits", [o.retransmits[0] for o in ours], [r[0].retransmits for r in cell.runs]),
        ("at start", [o.start_retransmits[0] for o in ours], [r[0].start_retransmits for r in cell.runs]),
    ]
    if cell.group not in CONTROLLED:
        pairs.append(("loss events", [o.episodes[0] for o in ours], [r[0].episodes for r in cell.runs]))
    for quantity, got, wanted in pairs:
        bound = counts_tolerance(mean(wanted))
        place = (cell.name, cell.group, cell.flows[0].cc)
        a, b = [float(n) for n in got], [float(n) for n in wanted]
        yield compared(place, (quantity, ""), a, b, tolerance=bound, by_chance=cell.is_random)
