# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee fit`.

Simulated properties are recovered from records, and the fit is tested on held-out data.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.measure.fit import quality
from perigee_lab.measure.fit.command import Fit, fit
from perigee_lab.measure.fit.early import early
from perigee_lab.measure.fit.held import held
from perigee_lab.measure.fit.model import fitted
from perigee_lab.measure.fit.observed import Probes, TrainRates, loads_of, probes_of
from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.results.run import Run

PATH = """
[run]
duration = "40 s"
sample = "20 ms"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "150 kB"
[port.all]
metered = false
[[change]]
at = "12 s"
rtt = "55 ms"
[[change]]
at = "25 s"
rtt = "48 ms"
outage = "100 ms"
[[flow]]
"""
PINGS = 'app = "ping"\ninterval = "20 ms"\n'


def recorded(text: str, schemes: tuple[str, ...] = ("cubic", "bbr")) -> list[Run]:
    return [perigee.loads(text + PINGS).run(), *(perigee.loads(text).run(cc) for cc in schemes)]


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return recorded(PATH)


@pytest.fixture(scope="module")
def found(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Fit:
    return fit(runs, tmp_path_factory.mktemp("fit"), title="t", command="c")


def test_a_path_comes_back(found: Fit) -> None:
    path = found.path
    assert [round(s.t_s) for s in path.steps] == [12, 25]
    assert path.base_at(np.array([5.0, 18.0, 35.0])) == pytest.approx([40, 55, 48], abs=0.3)
    ((at, length),) = path.outages
    assert at == pytest.approx(25, abs=0.05)
    assert length == pytest.approx(0.1, abs=0.045)
    assert [r for _, r in path.rates] == pytest.approx([20e6], rel=0.01)
    assert path.queue_bytes == pytest.approx(150e3, rel=0.1)
    assert not path.added
    assert (path.loss, path.events, path.bursts) == (0.0, None, None)


def test_its_replay_does_what_the_record_did(found: Fit) -> None:
    assert found.probes.shift_ms < 0.1
    unseen = [f for f in found.flows if not f.seen]
    assert [f.cc for f in unseen] == ["bbr"]
    assert all(abs(f.error) < 0.1 for f in found.flows)
    assert (found.scenario.parent / "fit.png").stat().st_size > 10_000


def test_flows_of_several_cycles_are_told_apart(runs: list[Run], tmp_path: Path) -> None:
    """Flows have the same scheme and name, as in a campaign; the fit has used the first."""
    again = perigee.loads(PATH.replace('"40 s"', '"30 s"')).run("cubic")
    found = fit([*runs[:2], again], tmp_path, title="t", command="c")
    assert [(f.cc, f.seen) for f in found.flows] == [("cubic", True), ("cubic", False)]


def test_a_flow_the_other_way_tells_the_rate_of_the_way_back(tmp_path: Path) -> None:
    text = PATH.replace('"40 s"', '"30 s"').replace("[port.all]", '[port.reverse]\nrate = "6 Mbit"\n[port.all]')
    way_back = perigee.loads(text + 'from = "d1"\nto = "s1"\n').run("cubic")
    found = fit([*recorded(text, ("cubic",)), way_back], tmp_path, title="t", command="c", score=False)
    assert [r for _, r in found.path.rates] == pytest.approx([20e6], rel=0.01)
    assert found.path.reverse_bps == pytest.approx(6e6, rel=0.02)
    assert 'rate = "6' in found.scenario.read_text(encoding="utf-8").partition("[port.reverse]")[2]


def test_a_grid_goes_on_after_the_record(tmp_path: Path) -> None:
    rtts = np.random.default_rng(1).uniform(30, 60, 10)
    changes = "".join(
        f'[[change]]\nat = "{4 + 15 * k} s"\nrtt = "{r:.2f} ms"\noutage = "100 ms"\n' for k, r in enumerate(rtts)
    )
    head, tail = PATH.replace('"40 s"', '"150 s"').split("[[change]]", 1)[0], "[[flow]]\n" + PINGS
    found = fit(
        [perigee.loads(head + changes + tail).run()], tmp_path, title="t", command="c", rate_bps=2e7, score=False
    )
    assert found.path.grid is not None
    assert found.path.grid.phase_s == pytest.approx(4, abs=0.2)
    longer = found.scenario.read_text(encoding="utf-8").partition("[[flow]]")[0] + tail
    keys: dict[str, object] = {"run.duration": "300 s", "run.sample": "20 ms"}
    replay = probes_of([perigee.loads(longer, keys, folder=tmp_path).run()])
    assert held(replay).outages == []
    lost = replay.sent_s[~replay.answered & (replay.sent_s > 160)]
    assert sorted({round(float(t) - 4) // 15 for t in lost}) == list(range(11, 20))
    rows = np.genfromtxt(tmp_path / "path.csv", delimiter=",", names=True)
    after = rows[rows["t_s"] > 150]
    # The next slot starts at 154 s; each slot has an RTT from the record, and its outage.
    assert after["t_s"][0] == pytest.approx(154, abs=0.5)
    assert after["t_s"][-1] > 3600
    assert {round(float(v)) for v in after["rtt_ms"]} <= {round(float(v)) for v in rows["rtt_ms"][rows["t_s"] <= 150]}
    down = after["t_s"][after["outage_ms"] > 0]
    assert np.diff(down) == pytest.approx(np.full(len(down) - 1, 15), abs=0.5)
    # Within the record, nothing changes.
    assert [round(float(t)) for t in rows["t_s"][(rows["outage_ms"] > 0) & (rows["t_s"] < 150)]] == list(
        range(4, 150, 15)
    )


def test_an_outage_that_keeps_what_waits_is_told_from_one_that_loses_it(tmp_path: Path) -> None:
    text = PATH.replace('outage = "100 ms"', 'outage = "300 ms"\nmode = "hold"')
    found = fit(recorded(text, ("cubic",)), tmp_path, title="t", command="c", score=False)
    assert found.path.mode == "hold"
    ((at, length),) = found.path.outages
    assert at == pytest.approx(25, abs=0.06)
    assert length == pytest.approx(0.3, abs=0.05)
    assert not found.path.added
    assert 'mode = "hold"' in found.scenario.read_text(encoding="utf-8")
    replay = quality.replayed_probes(found.scenario, probes_of([perigee.loads(text + PINGS).run()]))
    assert replay.answered.all()
    assert [round(n, 1) for _, n in held(replay).outages] == [0.3]


def test_measured_probes_show_what_was_kept_one_by_one() -> None:
    sent = np.arange(0, 20, 0.02)
    # The link is down from 10.005 s on for 300 ms; the probes due in this time arrive at its end.
    rtt = 40.0 + 1e3 * np.where((sent > 10.005) & (sent < 10.305), 10.305 - sent, 0)
    found = held(Probes(sent, rtt, 0.02))
    assert found.outages == [(pytest.approx(10.01), pytest.approx(0.3, abs=0.02))]
    assert found.waited.sum() == 15
    # A longer path is not such an outage, and neither is an outage from which no probe arrives.
    assert not held(Probes(sent, np.where(sent > 10, 400.0, 40.0), 0.02)).outages
    assert not held(Probes(sent, np.where((sent > 10) & (sent < 10.3), np.nan, 40.0), 0.02)).outages


def test_trains_tell_a_capacity_that_no_flow_tells(runs: list[Run]) -> None:
    probes = probes_of(runs)
    rng = np.random.default_rng(2)
    dense, wide = np.full(50, 1.0), np.full(50, 20.0)
    down, up = TrainRates("down", rng.normal(20, 1, 50), wide), TrainRates("up", rng.normal(5, 0.2, 50), wide)
    path = fitted(probes, [], trains=[up, down])
    assert [r / 1e6 for _, r in path.rates] == pytest.approx([20], abs=0.6)
    assert path.reverse_bps == pytest.approx(5e6, rel=0.03)
    assert "from 50 trains" in path.dispersion["there"].told
    # A flow that fills the queue yields a more accurate capacity; a lower bound is not a capacity.
    flown = fitted(probes, loads_of(runs)[:1], trains=[TrainRates("down", rng.normal(80, 1, 50), wide)])
    assert [r for _, r in flown.rates] == pytest.approx([20e6], rel=0.01)
    assert not flown.dispersion
    with pytest.raises(MeasureError, match="at least 20"):
        fitted(probes, [], trains=[TrainRates("down", down.mbps, dense)])
    assert fitted(probes, [], trains=[down, TrainRates("up", up.mbps, dense)]).reverse_bps is None


def test_a_queue_that_drops_early_grows_while_it_drops() -> None:
    sent = np.full(40, 1000.0)
    # A full queue does not grow; the other queue drops 0.02 % for each 100 bytes above a threshold
    # of 10 kB.
    full = np.full(40, 10_000.0)
    rising = np.minimum(10_000.0 + 100 * np.arange(40), 13_000.0)
    drops = sent * 0.0002 * (rising - 10_000) / 100
    assert early([10_000.0] * 3, [(full, sent, np.full(40, 5.0))] * 3) is None
    found = early([10_000.0] * 3, [(rising, sent, drops)] * 3)
    assert found is not None
    assert (found.threshold_bytes, found.share_per_byte) == pytest.approx((10_000, 0.0002 / 100), rel=0.1)
    # Random losses start at any queue length; with a full queue, half of the packets are lost.
    assert early([2_000.0, 6_000.0, 10_000.0], [(rising, sent, drops)] * 3) is None
    assert early([10_000.0] * 3, [(rising, sent, sent / 2)] * 3) is None
    assert early([], []) is None


STILL = """
[run]
duration = "240 s"
sample = "20 ms"
[source.dumbbell]
rtt = "20 ms"
rtt_at = "bottleneck"
[port.bottleneck]
rate = "10 Mbit"
queue = "60 kB"
[jitter]
rtt = ["0 % 30 ms", "50 % 36 ms", "90 % 42 ms", "99 % 60 ms", "100 % 80 ms"]
step = "100 ms"
correlation = "400 ms"
[[flow]]
"""


def test_jitter_has_its_distribution_and_its_correlation(tmp_path: Path) -> None:
    runs = recorded(STILL, ("cubic",))
    probes = probes_of(runs)
    # The fit uses the first half and is compared with the second half.
    half = len(probes.sent_s) // 2
    path = fitted(probes.part(slice(0, half)), loads_of(runs))
    assert not path.steps
    assert path.base[0][1] == pytest.approx(30, abs=1.5)
    later = probes.part(slice(half, None))
    quantiles = dict(path.added)
    for q in (10, 50, 90):
        assert path.base[0][1] + quantiles[q] == pytest.approx(np.nanquantile(later.rtt_ms, q / 100), abs=1.5)
    assert 0.15 < path.correlation_s < 0.9


def test_losses_are_outages_bursts_events_or_a_share() -> None:
    runs = recorded(PATH, ("cubic",))
    loads = loads_of(runs)
    probes = probes_of(runs)
    rng = np.random.default_rng(5)
    rtt = np.where(np.isnan(probes.rtt_ms), 48.0, probes.rtt_ms)

    def losing(lost: np.ndarray) -> Probes:
        return Probes(probes.sent_s, np.where(lost, np.nan, rtt), probes.interval_s)

    n = len(rtt)
    assert not fitted(losing(np.zeros(n, dtype=bool)), loads).outages
    # Cubic has full seconds without a loss, so that single losses are events in time instead of a
    # fraction of its packets.
    single = fitted(losing(rng.random(n) < 0.01), loads)
    assert single.events is not None
    assert single.loss == 0
    alone = fitted(losing(rng.random(n) < 0.01), [], rate_bps=20e6)
    assert alone.loss == pytest.approx(0.01, rel=0.5)
    assert any("share of the packets" in u for u in alone.unknown)


def test_a_flow_counts_that_has_the_path_to_itself() -> None:
    """Small control connections are ignored; of two flows that share the path, neither counts."""
    head, tail = PATH.replace('"40 s"', '"10 s"').split("[[change]]", 1)[0], "[[flow]]\ncc = 'cubic'\n"
    small = tail + 'bytes = "20 kB"\nstart = "3 s"\n'
    assert [x.name for x in loads_of([perigee.loads(head + tail + small).run()])] == ["s1->d1"]
    assert loads_of([perigee.loads(head + tail + tail).run()]) == []
    after = tail + 'stop = "4 s"\n' + tail + 'start = "5 s"\n'
    assert len(loads_of([perigee.loads(head + after).run()])) == 2
    with pytest.raises(MeasureError, match="had the path to itself"):
        fitted(Probes(np.arange(0, 10, 0.02), np.full(500, 40.0), 0.02), [])


def test_what_is_missing_is_asked_for(runs: list[Run], cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="no quiet probes"):
        fit(runs[1:], tmp_path / "a", title="t", command="c")
    with pytest.raises(MeasureError, match="--rate"):
        fit(runs[:1], tmp_path / "a", title="t", command="c")
    said = fit(runs[:1], tmp_path / "a", title="t", command="c", rate_bps=20e6, score=False)
    assert said.path.rates == [(0.0, 20e6)]
    slow = perigee.loads(PATH.replace('"20 ms"', '"100 ms"') + PINGS).run()
    with pytest.raises(MeasureError, match=r"run\.sample"):
        probes_of([slow])
    assert (
        "there is no" in cli("fit", "nowhere", "--out", "x").stderr
        or cli("fit", "nowhere", "--out", "x").returncode == 2
    )


CONSTELLATION = """
[run]
duration = "120 s"
sample = "20 ms"
[source.constellation]
preset = "starlink-shell1"
[node.london]
kind = "terminal"
place = "London"
[node.new-york]
kind = "terminal"
place = "New York"
[port.ground]
rate = "100 Mbit"
queue = "1 bdp"
metered = false
[[flow]]
from = "london"
to = "new-york"
"""
BENT_PIPE = (
    CONSTELLATION.replace('preset = "starlink-shell1"', 'preset = "starlink-shell1"\nisls = "none"')
    .replace(
        '[node.new-york]\nkind = "terminal"\nplace = "New York"', '[node.new-york]\nkind = "station"\nplace = "Paris"'
    )
    .replace('"1 bdp"', '"400 kB"')
    .replace("100 Mbit", "50 Mbit")
)
GEOSTATIONARY = """
[run]
duration = "200 s"
sample = "20 ms"
[source.dumbbell]
rtt = "540 ms"
rtt_at = "bottleneck"
[port.all]
rate = "1 Gbit"
queue = "100 MB"
metered = false
[port.bottleneck]
rate = "144 Mbit"
queue = "36 MB"
discipline = "red"
red_min = "18 MB"
[port.reverse]
rate = "15 Mbit"
queue = "1 MB"
[jitter]
preset = "geo"
[[flow]]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "ks", "shift_ms"), [(CONSTELLATION, 0.12, 0.5), (BENT_PIPE, 0.2, 0.5), (GEOSTATIONARY, 0.12, 6.0)]
)
def test_skies_come_back(text: str, ks: float, shift_ms: float, tmp_path: Path) -> None:
    """Unseen schemes' goodputs are within 10 %, unseen RTTs within the distances above."""
    found = fit(recorded(text, ("cubic", "bbr", "bbr3", "orbcc")), tmp_path, title="t", command="c")
    assert found.probes.ks < ks
    assert found.probes.shift_ms < shift_ms
    assert {f.cc: round(f.error, 3) for f in found.flows if abs(f.error) >= 0.1} == {}
    # One path drops at random before its queue is full, which RTTs under load show; these are
    # reproduced.
    assert (found.path.early is not None) == ('"red"' in text)
    if found.path.early is not None:
        assert found.path.early.threshold_bytes == pytest.approx(18e6, rel=0.1)
        cubic = next(f for f in found.flows if f.cc == "cubic")
        here, there = (q[len(quality.SHOWN) // 2] for q in (cubic.rtt.here, cubic.rtt.there))
        assert there == pytest.approx(here, rel=0.05)
