# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Applications that do not always send, from the scenario file to completion times."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pandas as pd
import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.results.emodel import delay_impairment, loss_impairment, mean_opinion_score, opinion
from perigee_lab.results.metrics import flow_rows

NETWORK = """
[run]
duration = "60 s"
[source.dumbbell]
rtt = "100 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
"""


def finished(flow: str, cc: str | None = "cubic", extra: str = "", seed: int = 1) -> perigee.Run:
    """A run of one `[[flow]]`."""
    return perigee.loads(f"{NETWORK}{extra}\n[[flow]]\n{flow}\n").run(cc=cc, seed=seed)


def test_objects_are_asked_for_one_after_the_other() -> None:
    run = finished('app = "request"\nobject = "100 kB"\nthink = "1 s"\nobjects = 20')
    done = run.to_pandas("completions")
    assert list(done["object"]) == list(range(20))
    assert set(done["bytes"]) == {100_000}
    assert run.to_pandas("flow_totals")["goodput_bytes"][0] == 20 * 100_000
    # Request and first answer take one RTT plus transmission times; the entire object takes three
    # to five RTTs.
    first_s = (done["first_ns"] - done["asked_ns"]) / 1e9
    assert first_s.between(0.1, 0.12).all()
    assert ((done["done_ns"] - done["asked_ns"]) / 1e9).between(0.3, 0.6).all()
    gaps_s = (done["asked_ns"].shift(-1) - done["done_ns"]).dropna() / 1e9
    assert list(gaps_s) == pytest.approx([1.0] * 19, abs=1e-6)


def test_video_segments_keep_their_period() -> None:
    run = finished('app = "request"\nobject = "500 kB"\nperiod = "2 s"')
    asked = run.to_pandas("completions")["asked_ns"].diff().dropna() / 1e9
    assert list(asked) == pytest.approx([2.0] * len(asked), abs=1e-6)


def test_lost_requests_are_repeated() -> None:
    change = '[[change]]\nat = "2 s"\noutage = "3 s"\nmode = "flush"'
    run = finished('app = "request"\nobject = "20 kB"\nthink = "500 ms"', extra=change)
    done = run.to_pandas("completions")
    late = done[(done["done_ns"] > 5e9) & (done["asked_ns"] < 5e9)]
    assert len(late) == 1
    assert len(done[done["asked_ns"] > 10e9]) > 40


def test_every_scheme_is_asked_for_the_same_objects() -> None:
    flow = 'app = "request"\nobject = "pareto(50 kB, 1.5)"\nthink = "exponential(200 ms)"\nobjects = 60'
    sizes = [list(finished(flow, cc).to_pandas("completions")["bytes"]) for cc in ("cubic", "bbr")]
    assert sizes[0] == sizes[1]
    assert len(set(sizes[0])) > 30
    other = list(finished(flow, seed=2).to_pandas("completions")["bytes"])
    assert other != sizes[0]


def test_on_off_sources_are_silent_in_between() -> None:
    run = finished('app = "on-off"\non = "2 s"\noff = "3 s"')
    flows = run.to_pandas("flows")
    bins = pd.cut(flows["t_ns"] / 1e9, range(0, 61, 5))
    delivered = flows.groupby(bins, observed=True)["delivered_bytes"].max().diff().dropna()
    # At most 2 s of every 5 at 20 Mbit/s.
    assert delivered.between(1e6, 2.0 * 20e6 / 8 * 1.05).all()
    assert (flows["goodput_bps"] == 0).mean() > 0.4


def test_constant_rates_are_constant() -> None:
    run = finished('app = "cbr"\nrate = "5 Mbit"\n[[flow]]')
    totals = run.to_pandas("flow_totals")
    assert list(totals["cc"]) == ["cbr", "cubic"]
    assert totals["data_sent"][0] == pytest.approx(60 * 5e6 / 8 / 1500, abs=2)
    goodput = totals["goodput_bytes"] * 8 / 60e6
    assert goodput[0] == pytest.approx(5 * 1472 / 1500, rel=0.02)
    assert goodput[1] == pytest.approx(15 * 1448 / 1500, rel=0.05)
    assert run.summary["goodput_mbps"] == pytest.approx(goodput[1], rel=0.01)


@pytest.mark.slow
def test_arrivals_are_connections_of_their_own(cli: Cli, tmp_path: Path) -> None:
    text = (
        NETWORK + '[[flow]]\ncc = "*"\nname = "web"\narrivals = "exponential(50 ms)"\nobject = "pareto(30 kB, 1.5)"\n'
    )
    (tmp_path / "web.toml").write_text(text, encoding="utf-8")
    done = cli("run", "web.toml", "--cc", "cubic,newreno", "--out", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "completion times of transfers, cubic: completed" in done.stdout
    assert "completion times of objects" not in done.stdout
    rows = list(csv.DictReader((tmp_path / "out/summary.csv").read_text(encoding="utf-8").splitlines()))
    runs = [r for r in rows if r["flow"] == "all"]
    assert [r["cc"] for r in runs] == ["newreno", "cubic"]
    # 1200 arrivals are expected within 60 s; five standard deviations are 173.
    assert 1027 < int(runs[0]["transfers"]) < 1373
    assert 0.1 < float(runs[0]["transfer_median_s"]) < 1


def test_a_page_on_an_empty_path_takes_what_can_be_computed() -> None:
    """The page has a document of one packet and an object of ten, which is the initial window.

    Each takes an RTT and its transmission time.
    """
    run = finished('app = "web"\ndocument = "1448 B"\nobjects = 10\nobject = "1448 B"\nthink = "5 s"\npages = 3')
    packet_ms, request_ms = 1500 * 8 / 20e3, 200 * 8 / 1e6
    assert run.summary["pages"] == 3
    first = 100 + packet_ms
    assert 1e3 * run.summary["page_first_mean_s"] == pytest.approx(first, abs=1.0 + request_ms)
    assert 1e3 * run.summary["page_mean_s"] == pytest.approx(2 * first + 9 * packet_ms, abs=3.0)
    done = run.to_pandas("completions")
    assert list(done["bytes"]) == [11 * 1448] * 3
    assert list(
        done["asked_ns"].diff().dropna() - done["done_ns"].shift(1).sub(done["asked_ns"].shift(1)).dropna()
    ) == [
        5e9,
        5e9,
    ]


def test_a_video_above_its_link_stalls_for_as_long_as_it_must() -> None:
    """The video has one quality of 25 Mbit/s, over 20 Mbit/s.

    A segment of 2 s takes 2.59 s, an RTT, and losses.
    """
    run = finished('app = "video"\nladder = "25 Mbit"\nsegment = "2 s"\nstart_up = "2 s"\nbuffer = "20 s"')
    found = run.summary
    assert found["video_mbps"] == pytest.approx(25)
    assert found["switches"] == 0
    assert 100 * (1 - 2 / 2.69) < found["stalled_pct"] < 35
    told = run.to_pandas("events")
    stalls = told[told["kind"] == "stall-end"]["value"]
    assert len(stalls) in (found["stalls"], found["stalls"] - 1)
    assert stalls.sum() <= found["stalled_s"] + 1e-9
    played = run.to_pandas("applications")["played_ns"][0] / 1e9
    assert found["start_up_s"] + found["stalled_s"] + played == pytest.approx(60, abs=1e-6)


def test_a_player_finds_the_quality_that_its_link_carries() -> None:
    for abr in ("buffer", "rate"):
        run = finished(f'app = "video"\nabr = "{abr}"\nladder = ["1 Mbit", "5 Mbit", "15 Mbit", "40 Mbit"]')
        assert run.summary["stalls"] == 0, abr
        told = run.to_pandas("events")
        rates = list(told[told["kind"] == "quality"]["value"])
        assert rates[0] == 1e6, abr
        assert 15e6 in rates, abr
        assert len(rates) - 1 == run.summary["switches"], abr


def test_a_call_over_a_clean_path_has_the_opinion_of_its_delay() -> None:
    run = finished('app = "voice"', None)
    found = run.summary
    # 20 ms of packetisation, 50 ms of propagation, less than 1 ms of transmission and 60 ms of
    # playout: Idd for 130 ms.
    assert found["mouth_ear_ms"] == pytest.approx(130.5, abs=0.6)
    assert (found["late_pct"], flow_rows(run)[0]["loss_pct"]) == (0, 0)
    assert found["mos"] == pytest.approx(mean_opinion_score("g711", 130.5, 0), abs=0.01)
    totals = run.to_pandas("flow_totals")
    # With speech during 1.004 of 2.591 s, 1,163 packets are expected; the lengths of talk spurts
    # vary.
    assert 600 < totals["data_sent"][0] < 1_800


def test_the_e_model_gives_the_values_of_the_recommendation() -> None:
    """ITU-T G.107, annex B (MOS of R) and table B.1; Idd is 0 up to 100 ms, about 23 at 400 ms."""
    assert opinion(93.2) == pytest.approx(4.409, abs=0.001)
    assert [opinion(r) for r in (90, 80, 70, 60, 50)] == pytest.approx([4.34, 4.03, 3.6, 3.1, 2.58], abs=0.01)
    assert (opinion(-1), opinion(100)) == (1, 4.5)
    assert delay_impairment(100) == 0
    assert delay_impairment(400) == pytest.approx(25 * (65 ** (1 / 6) - 3 * (1 + 64 / 729) ** (1 / 6) + 2))
    assert loss_impairment("g729", 0) == 11
    assert loss_impairment("g711", 25.1) == pytest.approx(47.5)


def test_first_bytes_are_those_of_slow_start() -> None:
    run = finished('bytes = "200 kB"\nstart = "1 s"')
    (only,) = flow_rows(run)
    # SYN, SYN-ACK and the first data cross the path of 50 ms one after the other. 10 kB fit into
    # the initial window, 100 kB do not.
    assert 0.15 < only["first_byte_s"] < 0.152
    assert only["first_byte_s"] < only["first_10kb_s"] < 0.16
    assert 0.35 < only["first_100kb_s"] < 0.5
    assert math.isnan(only["first_1mb_s"])
    assert run.summary["transfer_first_mean_s"] == pytest.approx(only["first_byte_s"])
    assert only["completed_s"] - 1 == pytest.approx(run.summary["transfer_mean_s"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ('app = "request"', "flow.0.object"),
        ('app = "cbr"', "flow.0.rate"),
        ('arrivals = "1 s"', "flow.0.object"),
        ('arrivals = "0 s"\nobject = "1 kB"', "at least 1 us"),
        ('app = "request"\nobject = "pareto(1 kB, 0.5)"', "above 1"),
        ('app = "request"\nobject = "1 s"', "flow.0.object"),
        ('app = "ping"\narrivals = "1 s"\nobject = "1 kB"', 'belongs to app = "bulk"'),
        ('app = "video"\nladder = ["3 Mbit", "1 Mbit"]', "not in ascending order"),
        ('app = "video"\nladder = []', "the list is empty"),
        ('app = "video"\nladder = ["0 Mbit"]', "zero"),
        ('app = "video"\nbuffer = "2 s"', "must not be shorter than a segment"),
        ('app = "video"\nbuffer = "10 s"\nstart_up = "9 s"', "never start"),
        ('app = "video"\nabr = "magic"', "buffer, rate"),
        ('app = "voice"', "no effect"),
        ('app = "video"\n[[flow]]\napp = "voice"\ntalk = "0 s"\nsilence = "0 s"', "the mean duration is too short"),
        ('app = "video"\n[[flow]]\napp = "voice"\ncodec = "opus"', "g711, g729"),
        ('app = "video"\n[[flow]]\napp = "voice"\npacket = "1 h"', "200 ms"),
        ('app = "web"\nobjects = 0', "from 1 to 1000"),
        ('app = "web"\npages = 1e18', "an integer"),
        ('arrivals = "exponential(2 us)"\nobject = "1 kB"', "too many flows"),
    ],
)
def test_applications_without_what_they_need_are_refused(cli: Cli, tmp_path: Path, flow: str, said: str) -> None:
    (tmp_path / "bad.toml").write_text(f'{NETWORK}\n[[flow]]\ncc = "cubic"\n{flow}\n', encoding="utf-8")
    done = cli("run", "bad.toml", "--no-report")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
