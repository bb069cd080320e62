# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Path model and its estimation: base RTT over time, jitter, losses, capacity and queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from perigee_lab.measure import series
from perigee_lab.measure.fit.early import Early, early
from perigee_lab.measure.fit.held import Held, held
from perigee_lab.measure.fit.observed import Load, Probes, TrainRates
from perigee_lab.measure.fit.outages import Votes, silences, votes
from perigee_lab.measure.fit.recording import Recording
from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.measure.trains import Capacity, capacity

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

QUANTILES = (0, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9, 100)
NO_JITTER_MS = 0.3
"""Maximum residual that is attributed to steps of the base RTT instead of jitter."""
CHANCE = 0.05
"""Consecutive losses are an outage if independent losses would cause such a run less often than
this."""
SLOW_S = 0.1
"""Maximum interval of probes with which outages can be timed."""
BASE_WINDOW_S = 5.0
STANDING = 0.1
"""There is a standing queue where RTTs exceed the base by this share of it, and by 3 ms."""
STANDING_MS = 3.0
STEADY = 0.12
"""A capacity is constant if its middle 80 % are within this of the median."""
CAPACITY_BIN_S = 1.0
FEWEST_BINS = 5
QUIET_S = 0.5


@dataclass
class Path:
    """Estimated properties of a path. Times are in s since time 0 of the probes."""

    duration_s: float
    base: list[tuple[float, float]]
    """Start in s and RTT in ms of each level; the first starts at 0."""
    steps: list[series.Step]
    added: list[tuple[float, float]] = field(default_factory=list)
    """Jitter: quantiles as (percentage, ms above the base); empty = none."""
    correlation_s: float = 0.0
    jitter_step_s: float = 0.02
    outages: list[tuple[float, float]] = field(default_factory=list)
    """Start and length, s."""
    mode: str = "flush"
    """Fate of queued packets in an outage, as in scenarios: flush, hold or blackhole."""
    seen: Votes | None = None
    """Votes of a flow's outages on flush or blackhole; None: not needed."""
    loss: float = 0.0
    """Probability of random loss."""
    events: tuple[float, float, float, int] | None = None
    """Loss events, instead of `loss`: mean distance in s, fraction of single losses, and mean and
    maximum length of the others in slots."""
    slot_s: float = 0.2
    bursts: tuple[float, float, float] | None = None
    """Loss bursts (Gilbert and Elliott), instead of `loss`: distance in s, length in s, loss
    probability in a burst."""
    rates: list[tuple[float, float]] = field(default_factory=list)
    """Start in s and rate on the wire in bit/s of each level."""
    dispersion: dict[str, Capacity] = field(default_factory=dict)
    """Rates estimated from trains of probes, by direction (there, back)."""
    reverse_bps: float | None = None
    queue_bytes: float | None = None
    early: Early | None = None
    """Random early drops, if detected."""
    grid: series.Grid | None = None
    unknown: list[str] = field(default_factory=list)
    """Properties that could not be estimated, as text."""

    def base_at(self, t_s: Floats) -> Floats:
        """The base RTT at these times."""
        times, values = (np.array(c) for c in zip(*self.base, strict=True))
        found: Floats = values[np.maximum(np.searchsorted(times, t_s, side="right") - 1, 0)]
        return found

    @property
    def usual_bps(self) -> float:
        """The median capacity."""
        return float(np.median([bps for _, bps in self.rates if bps > 0]))

    def rate_at(self, t_s: Floats) -> Floats:
        """The capacity at these times."""
        times, values = (np.array(c) for c in zip(*self.rates, strict=True))
        found: Floats = values[np.maximum(np.searchsorted(times, t_s, side="right") - 1, 0)]
        return found


def fitted(
    probes: Probes, loads: Sequence[Load], rate_bps: float | None = None, back: Sequence[Load] = (),
    trains: Sequence[TrainRates] = (), recorded: Recording | None = None, queue_bytes: float | None = None,
) -> Path:  # fmt: skip
    """Estimates the path from probes and flows.

    `rate_bps`: the capacity, if known; `loads`, `back`: flows in both directions. `trains`: trains of
    probes, which determine the rate of a direction without flows. The forward direction is that of
    `loads`, or down if there are none. `recorded`: rates that replace flows and trains;
    `queue_bytes`: the queue's size, if known.

    Raises MeasureError.
    """
    kept = held(probes)
    fine = probes.answered & ~kept.waited
    t, rtt = probes.sent_s[fine], probes.rtt_ms[fine]
    loads = [x.aligned_with(probes) for x in loads]
    path = Path(float(probes.sent_s[-1]) + probes.interval_s, [], series.steps(t, rtt))
    path.base = _base(path, t, rtt)
    path.grid = series.grid([s.t_s for s in path.steps])
    _jitter(path, t, rtt, probes.interval_s)
    _losses(path, probes, loads)
    _fate(path, kept)
    _waiting(path, loads, probes.interval_s)
    capacities = _of_trains(loads, trains)
    if recorded is None:
        _capacity(path, loads, rate_bps, capacities.get("there"), probes.carried_bps)
    else:
        path.rates = _recorded(recorded.rates, path.duration_s) if rate_bps is None else [(0.0, rate_bps)]
        path.reverse_bps = recorded.back_bps
    _queue(path, loads)
    if queue_bytes is not None:
        path.queue_bytes, path.early = queue_bytes, None
    _reverse(path, back, capacities.get("back"))
    if probes.source == "probes":
        # A probe's serialisation at the slowest port of each direction is no propagation delay.
        own_ms = sum(probes.bytes * 8e3 / bps for bps in (path.usual_bps, path.reverse_bps or path.usual_bps))
        path.base = [(t, max(0.01, ms - own_ms)) for t, ms in path.base]
    _unknown(path, probes, loads, recorded)
    return path


def _base(path: Path, t: Floats, rtt: Floats) -> list[tuple[float, float]]:
    """Levels between steps, from windows of several correlation times.

    There is a single level if noise alone explains the variation of the RTT.
    """
    tau = series.correlation_s(t, rtt - _smooth(rtt, t, 30.0))
    window = float(np.clip(10 * tau, 0.5, BASE_WINDOW_S)) if path.steps else max(BASE_WINDOW_S, 10 * tau)
    if not path.steps:
        long = series.windows(t, rtt, max(60.0, 10 * tau)) if t[-1] - t[0] > 240 else series.windows(t, rtt, window)
        spread = float(np.quantile(rtt, 0.95) - np.quantile(rtt, 0.05))
        drift = float(np.ptp(np.quantile(long.base_ms, (0.05, 0.95))))
        if drift < max(NO_JITTER_MS, 0.6 * spread):
            return [(0.0, float(rtt.min()))]
    edges = [t[0], *(s.t_s for s in path.steps), t[-1] + 1e-6]
    found: list[tuple[float, float]] = []
    for low, high in pairwise(edges):
        inside = (t >= low) & (t < high)
        if not inside.any():
            continue
        pieces = max(1, round((high - low) / window))
        cuts = np.linspace(low, high, pieces + 1)
        for a, b in pairwise(cuts):
            own = rtt[(t >= a) & (t < b)]
            if len(own):
                found.append((float(a), float(np.quantile(own, 0.02))))
    found[0] = (0.0, found[0][1])
    return found


def _smooth(values: Floats, t: Floats, over_s: float) -> Floats:
    """Means over windows, spread back to the samples."""
    index = np.floor((t - t[0]) / over_s).astype(np.int64)
    sums, counts = np.bincount(index, values), np.bincount(index)
    found: Floats = (sums / np.maximum(counts, 1))[index]
    return found


def _jitter(path: Path, t: Floats, rtt: Floats, interval_s: float) -> None:
    """Quantiles of the RTT above the base, and its correlation time."""
    above = np.maximum(0.0, rtt - path.base_at(t))
    if np.quantile(above, 0.99) - np.quantile(above, 0.01) < NO_JITTER_MS:
        return
    levels = [q for q in QUANTILES if q in (0, 100) or min(q, 100 - q) / 100 * len(above) >= 5]
    values = np.maximum.accumulate(np.quantile(above, np.array(levels) / 100))
    path.added = [(float(q), float(v)) for q, v in zip(levels, values, strict=True)]
    path.correlation_s = series.correlation_s(t, above)
    path.jitter_step_s = max(interval_s, 0.001)


def _losses(path: Path, probes: Probes, loads: Sequence[Load]) -> None:
    """Long runs are outages; short ones become timed events, bursts, or independent losses."""
    found = series.losses(~probes.answered)
    n, slow = len(probes.sent_s), probes.interval_s > SLOW_S
    alone = max(1, int((found.lengths == 1).sum())) / n
    long = (found.lengths > 1) & (n * alone ** found.lengths.astype(float) < CHANCE) & (not slow)
    for start, length in zip(found.starts[long], found.lengths[long], strict=True):
        # The outage starts between the last answered probe and the next, on average half an
        # interval before the first lost one.
        at = float(probes.sent_s[start]) - probes.interval_s / 2
        path.outages.append((max(0.0, at), float(length * probes.interval_s)))
    lengths = found.lengths[~long]
    if not len(lengths):
        return
    share = float(lengths.sum()) / len(probes.sent_s)
    span = float(probes.sent_s[-1] - probes.sent_s[0])
    carried = [_random_share(load) for load in loads]
    by_time = bool(carried) and min(carried) < share / 3
    if float(lengths.mean()) > 1.5 and not slow and len(lengths) >= 5:
        path.bursts = (span / len(lengths), float(lengths.mean()) * probes.interval_s, 1.0)
    elif by_time or slow:
        others = lengths[lengths > 1]
        single = 1 - len(others) / len(lengths)
        mean = max(2.0, float(others.mean())) if len(others) else 2.0
        path.events = (span / len(lengths), single, mean, int(max(2, lengths.max())))
        path.slot_s = probes.interval_s
    else:
        path.loss = share
        if not carried:
            path.unknown.append(
                "whether losses hit a share of the packets or come so often in time: probes alone do not tell; "
                "taken as a share"
            )


def _fate(path: Path, kept: Held) -> None:
    """Decides whether outages hold queued packets or lose them.

    A schedule has one mode for all of them: the more frequent one.
    """
    if not kept.outages:
        return
    left_out = min(len(path.outages), len(kept.outages))
    if len(kept.outages) > len(path.outages):
        path.outages, path.mode = kept.outages, "hold"
    if left_out:
        what = "lose" if path.mode == "hold" else "keep"
        path.unknown.append(
            f"when the path's outages lose and when they keep what waits: {left_out} that {what} it are left out"
        )


def _waiting(path: Path, loads: Sequence[Load], interval_s: float) -> None:
    """Fate of the queue in lossy outages, if some occurred while a flow filled the queue."""
    if not path.outages or path.mode == "hold":
        return
    each = [votes(silences(x, _base_of(path, x)), path.outages, interval_s, together=x.together) for x in loads]
    path.seen = Votes(sum(v.lost for v in each), sum(v.served for v in each))
    if path.seen.decided and path.seen.served > path.seen.lost:
        path.mode = "blackhole"


def _base_of(path: Path, load: Load) -> Floats:
    """Base RTT during a flow.

    For a flow at another time than the probes, the usual base or the flow's minimum.
    """
    if load.together:
        return path.base_at(load.t_s)
    usual = float(np.median(path.base_at(np.linspace(0, path.duration_s, 1000))))
    own = float(np.nanmin(load.rtt_ms)) if np.isfinite(load.rtt_ms).any() else usual
    found: Floats = np.full(len(load.t_s), min(usual, own))
    return found


def _random_share(load: Load) -> float:
    """Upper bound on random loss, from the fraction of seconds without retransmissions."""
    fine = ~np.isnan(load.sent) & ~np.isnan(load.again)
    if fine.sum() < 4:
        return 1.0
    seconds = np.arange(load.t_s[fine][0], load.t_s[fine][-1])
    sent, again = (np.diff(np.interp(seconds, load.t_s[fine], x[fine])) for x in (load.sent, load.again))
    clean = float((again < 0.5).mean()) if len(again) else 0.0
    if clean == 0:
        return float(load.again[fine][-1] / max(1.0, load.sent[fine][-1]))
    return float(-np.log(clean) / max(1.0, sent.mean()))


def _standing(path: Path, load: Load) -> npt.NDArray[np.bool_]:
    """Samples with a standing queue: arrivals then show the path's capacity."""
    base = _base_of(path, load)
    spread = path.added[-4][1] if len(path.added) > 4 else 0.0
    above = load.rtt_ms - base - spread
    return np.nan_to_num(above) > np.maximum(STANDING_MS, STANDING * base)


def _of_trains(loads: Sequence[Load], trains: Sequence[TrainRates]) -> dict[str, Capacity]:
    """Capacities from trains, in the direction of these flows and in the opposite one."""
    there = next((x.way for x in loads if x.way), "down")
    found = {"there" if x.way == there else "back": capacity(x.mbps, x.spread) for x in trains}
    return {way: said for way, said in found.items() if said is not None}


def _capacity(
    path: Path, loads: Sequence[Load], rate_bps: float | None, trains: Capacity | None, carried_bps: float | None
) -> None:
    """Rate of arrivals during standing queues; if there are none, the rate of trains."""
    if rate_bps is not None:
        path.rates = [(0.0, rate_bps)]
        return
    best: tuple[Floats, Floats] | None = None
    for load in loads:
        t, rates = _arrivals(path, load)
        if best is None or len(t) > len(best[0]):
            best = t, rates
    if best is None or len(best[0]) < FEWEST_BINS:
        if trains is not None and not trains.least:
            path.rates, path.dispersion["there"] = [(0.0, trains.mbps * 1e6)], trains
            return
        bound = "" if trains is None else f" (trains: {trains.told})"
        if carried_bps is not None:
            bound += f" (the terminal carried up to {carried_bps / 1e6:.1f} Mbit/s: it is at least that)"
        why = "in no flow a queue stood for some seconds" if loads else "no flow over TCP had the path to itself"
        raise MeasureError(
            f"the capacity cannot be known: {why}{bound}; measure a download of "
            "cubic (perigee measure run HOST --download 30s --cc cubic), or say it: --rate 100Mbit"
        )
    t, rates = best
    middle = float(np.median(rates))
    low, high = np.quantile(rates, (0.1, 0.9))
    if high - low < 2 * STEADY * middle:
        path.rates = [(0.0, middle)]
        return
    # Each rate holds until the next bin with a standing queue.
    path.rates = [(0.0 if i == 0 else float(a), float(r)) for i, (a, r) in enumerate(zip(t, rates, strict=True))]


def _recorded(rates: Sequence[tuple[float, float]], until_s: float) -> list[tuple[float, float]]:
    """Recorded rates; a single rate if they hardly differ from second to second."""
    at = np.arange(0, max(until_s, 1e-3), 1e-2)
    times, values = (np.array(c) for c in zip(*rates, strict=True))
    fine = values[np.maximum(np.searchsorted(times, at + 1e-9, side="right") - 1, 0)]
    bins = np.floor(at / CAPACITY_BIN_S).astype(np.int64)
    seconds = np.bincount(bins, fine) / np.bincount(bins)
    low, middle, high = np.quantile(seconds, (0.1, 0.5, 0.9))
    if (values > 0).all() and high - low < 2 * STEADY * middle and np.ptp(values) < 2 * STEADY * middle:
        return [(0.0, float(fine.mean()))]
    return [(t, bps) for t, bps in rates if t < until_s]


def _arrivals(path: Path, load: Load) -> tuple[Floats, Floats]:
    """Bins with a standing queue throughout, and their rate of arrivals on the wire, bit/s."""
    if len(load.t_s) < 4:
        return np.zeros(0), np.zeros(0)
    standing = _standing(path, load)
    edges = np.arange(load.t_s[0], load.t_s[-1], max(CAPACITY_BIN_S, 4 * load.step_s))
    at = np.interp(edges, load.t_s, load.delivered)
    times, rates = [], []
    for k, (a, b) in enumerate(pairwise(edges)):
        inside = (load.t_s > a - load.step_s) & (load.t_s <= b)
        if inside.any() and standing[inside].all():
            times.append(a)
            rates.append((at[k + 1] - at[k]) * 8 / (b - a) / load.payload_share)
    return np.array(times), np.array(rates)


def _queue(path: Path, loads: Sequence[Load]) -> None:
    """Median queue length at the moments when a flow started to lose packets, outages excluded."""
    found: list[float] = []
    episodes: list[tuple[Floats, Floats, Floats]] = []
    for load in loads:
        above = (load.rtt_ms - _base_of(path, load)) / 1e3 * path.rate_at(load.t_s) / 8
        sent, lost = (np.maximum(0.0, np.nan_to_num(np.diff(x, prepend=x[0]))) for x in (load.sent, load.again))
        for k in _before_losses(path, load):
            if np.isnan(above[k]).all():
                continue
            found.append(float(np.nanmax(above[k])))
            # Ends when the flow's reaction to the first loss has reached the queue and is visible
            # in the RTT.
            until = load.t_s[k.stop - 1] + 2.5 * float(np.nanmax(load.rtt_ms[k])) / 1e3
            after = slice(k.stop - 1, int(np.searchsorted(load.t_s, until)))
            episodes.append((above[after], sent[after], lost[after]))
    if found:
        path.queue_bytes = max(1.0, float(np.median(found)))
        path.early = early(found, episodes)


def _reverse(path: Path, back: Sequence[Load], trains: Capacity | None) -> None:
    """Rate of the return path, from arrivals during standing queues or from trains, if known."""
    rates = [r for load in back for r in _arrivals(path, load)[1]]
    if len(rates) >= FEWEST_BINS:
        path.reverse_bps = float(np.median(rates))
    elif trains is not None and not trains.least:
        path.reverse_bps, path.dispersion["back"] = trains.mbps * 1e6, trains


def _before_losses(path: Path, load: Load) -> list[slice]:
    """Samples within a few RTTs before each loss that follows a quiet time."""
    again = np.nan_to_num(load.again)
    # For a flow that ran at another time than the probes, only its own silences are known.
    own = silences(load, _base_of(path, load))
    outages = path.outages if load.together else [(s.begin_s, s.length_s) for s in own]
    lossy = np.flatnonzero(np.diff(again, prepend=0) > 0)
    out, quiet_since = [], -1e9
    for k in lossy:
        t = float(load.t_s[k])
        rtt = float(np.nan_to_num(load.rtt_ms[k], nan=100.0)) / 1e3
        calm = t - quiet_since > 2 * rtt + QUIET_S
        quiet_since = t
        if calm and not any(at - 0.1 < t < at + length + 2 * rtt + QUIET_S for at, length in outages):
            low = int(np.searchsorted(load.t_s, t - 2.5 * rtt))
            out.append(slice(min(low, int(k)), int(k) + 1))
    return out


def _unknown(path: Path, probes: Probes, loads: Sequence[Load], recorded: Recording | None) -> None:
    path.unknown += [*(recorded.remarks if recorded is not None else ()), *_of_probes(probes, recorded)]
    if path.seen is not None and not path.seen.decided:
        why = "no flow with a queue longer than the outages met one" if path.seen == Votes(0, 0) else "both was seen"
        path.unknown.append(
            f"what becomes of the queue in an outage, whether it is lost or served into nothing: {why}; taken for lost"
        )
    if probes.busy:
        path.unknown.append(f"the RTT while the terminal was busy: {probes.busy} samples are left out")
    if not probes.size_known:
        path.unknown.append(f"how long the probes were: taken as {probes.bytes} bytes")
    if path.early is None:
        path.unknown.append("whether the queue drops before it is full: no flow showed it; taken for drop-tail")
    else:
        path.unknown.append("up to where the queue grows: twice its threshold is taken, as no flow filled it")
    if path.reverse_bps is None:
        why = "no flow went there for long" if recorded is None else "it was not recorded"
        path.unknown.append(f"the rate of the way back: {why}; taken as that of the way there")
    elif recorded is not None and recorded.back_bps is not None:
        path.unknown.append("the way back's rate over time: its median is taken")
    if path.queue_bytes is None:
        why = "no flow lost packets to it" if recorded is None else "recordings of rates have none"
        path.unknown.append(f"the queue's size: {why}; taken as two bandwidth-delay products")
    if "there" in path.dispersion:
        path.unknown.append(
            "whether a bucket of tokens or a timetable of slots lets less through for long than trains of some "
            "packets see"
        )
    if len(path.rates) == 1 and not loads and recorded is None:
        path.unknown.append("how the capacity varies")
    if path.grid and path.grid.found:
        path.unknown.append(
            "what the path does after the record: for an hour more, slots of its grid are drawn from the record"
        )
    elif path.steps:
        path.unknown.append("when the path will change after the record: its steps keep to no grid")


def _of_probes(probes: Probes, recorded: Recording | None) -> list[str]:
    """Properties that cannot be estimated from the probes or their substitute."""
    shared = "how the delay is shared between both ways, and queues before the slowest one"
    if probes.source == "given":
        return ["how the RTT varies: only one value was given", "losses and outages: recordings of rates have none"]
    if probes.source == "delays":
        return ["losses: recordings of delays have none", "queues: delays are taken for those without load"]
    found = [
        f"outages shorter than {2 * probes.interval_s * 1e3:.0f} ms, and when within "
        f"{probes.interval_s * 1e3:.0f} ms the others began",
        shared,
    ]
    if recorded is not None:
        found.append(
            "which rates go with which RTTs: they are of two recordings, laid side by side from their beginnings"
        )
    return found
