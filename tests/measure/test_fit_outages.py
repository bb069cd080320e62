# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee fit`: fate of queued packets in outages.

Flows and probes have their own clocks and sizes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perigee_lab as perigee
from perigee_lab.measure.fit.command import fit, lines
from perigee_lab.measure.fit.model import fitted
from perigee_lab.measure.fit.observed import Load, Probes, loads_of, probes_of
from perigee_lab.measure.fit.outages import Silence, Votes, votes
from perigee_lab.results.run import Run

PATH = """
[run]
duration = "40 s"
sample = "20 ms"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "400 kB"
[port.all]
metered = false
[schedule]
every = "9 s"
first = "8 s"
outage = "LENGTH"
mode = "MODE"
[[flow]]
"""
PINGS = 'app = "ping"\ninterval = "20 ms"\n'


def recorded(length: str, mode: str, cc: str = "cubic") -> list[Run]:
    text = PATH.replace("LENGTH", length).replace("MODE", mode)
    return [perigee.loads(text + PINGS).run(), perigee.loads(text).run(cc)]


@pytest.mark.parametrize("mode", ["flush", "blackhole"])
def test_a_flow_that_fills_the_queue_tells_whether_an_outage_loses_it(mode: str, tmp_path: Path) -> None:
    found = fit(recorded("80 ms", mode), tmp_path, title="t", command="c")
    assert found.path.mode == mode
    assert found.path.seen is not None
    assert found.path.seen.decided
    assert f'mode = "{mode}"' in found.scenario.read_text(encoding="utf-8")
    said = next(line for line in lines(found) if line.startswith("losses: "))
    assert ("is lost: " if mode == "flush" else "into nothing: ") in said
    assert not any("becomes of the queue" in u for u in found.path.unknown)
    # The replay of Cubic reproduces its losses, which include the packets of a flushed queue.
    (flow,) = found.flows
    assert abs(flow.error) < 0.05


@pytest.mark.parametrize("mode", ["flush", "blackhole"])
def test_outages_that_outlast_the_queue_do_not_tell(mode: str) -> None:
    """No part of the queue would be left in either mode."""
    runs = recorded("400 ms", mode)
    path = fitted(probes_of(runs), loads_of(runs))
    assert (path.mode, path.seen) == ("flush", Votes(0, 0))
    assert any("becomes of the queue" in u and "no flow with a queue" in u for u in path.unknown)


def test_probes_alone_do_not_tell() -> None:
    runs = recorded("80 ms", "blackhole")
    path = fitted(probes_of(runs), [], rate_bps=2e7)
    assert (path.mode, path.seen) == ("flush", Votes(0, 0))
    assert any("becomes of the queue" in u for u in path.unknown)


def test_both_ways_are_said_and_none_is_chosen() -> None:
    gone, kept = (Silence(5.0, 5.1, 40.0, 100.0, after, 80.0) for after in (3.0, 104.0))
    assert votes([gone, kept], [(5.0, 0.08)], 0.02, together=False) == Votes(1, 1)
    assert not Votes(1, 1).decided
    # A silence without an outage has another cause.
    assert votes([gone], [(7.0, 0.08)], 0.02, together=True) == Votes(0, 0)
    assert votes([gone], [(5.0, 0.08)], 0.02, together=True) == Votes(1, 0)
    # Half of the queue may be new, or may be left from before.
    assert votes([replace(gone, after_ms=35.0)], [(5.0, 0.08)], 0.02, together=True) == Votes(0, 0)


def later(load: Load, by_s: float, clock_s: float) -> Load:
    """The same flow by its own clock, which started `by_s` earlier than that of the probes."""
    return replace(load, t_s=load.t_s + by_s, start_s=by_s, stop_s=load.stop_s + by_s, clock_s=clock_s)


def test_a_flow_has_its_own_clock() -> None:
    """Outages, base RTTs and rates are looked up at the flow's time by the probes' clock."""
    runs = recorded("80 ms", "blackhole")
    probes, (load,) = probes_of(runs), loads_of(runs)
    began = 1.7e9
    own = replace(probes, clock_s=began)
    same, moved = fitted(probes, [load]), fitted(own, [later(load, 3.0, began - 3.0)])
    assert moved.queue_bytes == pytest.approx(same.queue_bytes)
    assert moved.seen == same.seen
    # The flow ran an hour later: the outages of the probes do not apply to it, but its own silences
    # do.
    for apart in (later(load, 0.0, began + 3600), replace(load, clock_s=None)):
        path = fitted(own, [apart])
        assert path.queue_bytes == pytest.approx(400e3, rel=0.1)
        assert path.mode == "blackhole"


def test_losses_of_outages_are_no_full_queue() -> None:
    """If a queue is never full, only outages cause losses, and its size is unknown."""
    text = PATH.replace("LENGTH", "80 ms").replace("MODE", "flush").replace("400 kB", "20 MB")
    text = text.replace('"8 s"', '"3 s"').replace("[[flow]]", "[tcp]\nsend_buffer = 300_000\n[[flow]]")
    runs = [perigee.loads(text + PINGS).run(), perigee.loads(text).run("cubic")]
    probes, (load,) = probes_of(runs), loads_of(runs)
    assert float(load.again[-1]) > 100
    assert fitted(probes, [load]).queue_bytes is None
    apart = replace(load, t_s=load.t_s + 1.5, start_s=1.5, stop_s=41.5, clock_s=None)
    assert fitted(probes, [apart]).queue_bytes is None


def test_probes_have_the_size_that_the_record_says() -> None:
    text = PATH.replace("LENGTH", "80 ms").replace("MODE", "flush").replace('rate = "20 Mbit"', 'rate = "1 Mbit"')
    run = perigee.loads(text + PINGS + "size = 1000\n").run()
    probes = probes_of([run])
    assert (probes.bytes, probes.size_known) == (1000, True)
    # Of the RTT, 8 ms in each direction are serialisation.
    assert fitted(probes, [], rate_bps=1e6).base[0][1] == pytest.approx(40, abs=0.2)
    alone = Probes(np.arange(0, 10, 0.02), np.full(500, 40.0), 0.02, 84, size_known=False)
    assert any("how long the probes were" in u for u in fitted(alone, [], rate_bps=1e6).unknown)
