# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Applications that do not send all the time, from the scenario file to completion times."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

import perigee
from conftest import Cli

NETWORK = """
[run]
duration = "60 s"
[source.dumbbell]
rtt = "100 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
"""


def finished(flow: str, cc: str = "cubic", extra: str = "", seed: int = 1) -> perigee.Run:
    """A run of one `[[flow]]`."""
    return perigee.loads(f"{NETWORK}{extra}\n[[flow]]\n{flow}\n").run(cc=cc, seed=seed)


def test_objects_are_asked_for_one_after_the_other() -> None:
    run = finished('app = "request"\nobject = "100 kB"\nthink = "1 s"\nobjects = 20')
    done = run.to_pandas("completions")
    assert list(done["object"]) == list(range(20))
    assert set(done["bytes"]) == {100_000}
    assert run.to_pandas("flow_totals")["goodput_bytes"][0] == 20 * 100_000
    # Request and first answer: one RTT, plus transmission times; the whole of it takes three to five.
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


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ('app = "request"', "flow.0.object"),
        ('app = "cbr"', "flow.0.rate"),
        ('arrivals = "1 s"', "flow.0.object"),
        ('arrivals = "0 s"\nobject = "1 kB"', "without time between"),
        ('app = "request"\nobject = "pareto(1 kB, 0.5)"', "above 1"),
        ('app = "request"\nobject = "1 s"', "flow.0.object"),
        ('app = "ping"\narrivals = "1 s"\nobject = "1 kB"', 'belongs to app = "bulk"'),
        ('arrivals = "exponential(2 us)"\nobject = "1 kB"', "more flows"),
    ],
)
def test_applications_without_what_they_need_are_refused(cli: Cli, tmp_path: Path, flow: str, said: str) -> None:
    (tmp_path / "bad.toml").write_text(f'{NETWORK}\n[[flow]]\ncc = "cubic"\n{flow}\n', encoding="utf-8")
    done = cli("run", "bad.toml", "--no-report")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
