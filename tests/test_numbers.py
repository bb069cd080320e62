# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Numbers that cannot mislead: what tables say of runs whose truth is known without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import perigee
from perigee.results.metrics import flow_rows

if TYPE_CHECKING:
    from pathlib import Path

DUMBBELL = """
[run]
duration = "20 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "{rate}"
queue = "1 bdp"
{change}
"""
PAYLOAD = 1448 / 1500
SLOWER = '[[change]]\nat = "10 s"\nrate = "20 Mbit"\n'
BULK = '[[flow]]\ncc = "*"\n'


def rows(text: str, cc: str | None = "cubic", **keys: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of a run, and those of its flows."""
    run = perigee.loads(text, **keys).run(cc=cc)
    return run.summary, flow_rows(run)


def test_a_short_transfer_does_not_change_what_is_achievable() -> None:
    """100 Mbit/s for 10 s, then 20: 60 in the mean, whoever is there beside the bulk flow."""
    text = DUMBBELL.format(rate="100 Mbit", change=SLOWER) + BULK
    alone, _ = rows(text)
    beside, flows = rows(text + '[[flow]]\ncc = "*"\nbytes = "1 MB"\nstart = "2 s"\n')
    for run in (alone, beside):
        assert run["capacity_mbps"] == pytest.approx(60)
        assert run["share"] == pytest.approx(run["goodput_mbps"] / (60 * PAYLOAD))
        assert 0.97 < run["share"] <= 1
    assert flows[1]["capacity_mbps"] == pytest.approx(100), "it was there before the change only"
    assert flows[1]["there_s"] == pytest.approx(flows[1]["completed_s"] - 2)
    assert flows[1]["share"] == pytest.approx(8 / flows[1]["there_s"] / (100 * PAYLOAD))


def test_flows_of_one_port_share_it_and_none_is_counted_twice() -> None:
    text = DUMBBELL.format(rate="20 Mbit", change="") + 3 * BULK
    run, flows = rows(text)
    assert run["capacity_mbps"] == pytest.approx(20)
    assert 0.97 < run["share"] <= 1
    assert sum(f["share"] for f in flows) == pytest.approx(run["share"], rel=1e-3)


def test_silences_of_an_application_are_not_achievable() -> None:
    """2 s of sending in every 5: the flow takes nearly all while it sends."""
    flow = '[[flow]]\ncc = "*"\napp = "on-off"\non = "2 s"\noff = "3 s"\n'
    run, _ = rows(DUMBBELL.format(rate="20 Mbit", change="") + flow)
    # Four times 2 s, and until what is under way has arrived: half an RTT and at most a queue, 60 ms in all.
    assert 8 < run["there_s"] < 8.3
    assert run["capacity_mbps"] == pytest.approx(20)
    assert 0.9 < run["share"] <= 1
    assert run["goodput_mbps"] == pytest.approx(run["share"] * 20 * PAYLOAD * run["there_s"] / 20)


def test_a_client_is_there_while_it_waits_for_an_object() -> None:
    flow = '[[flow]]\ncc = "*"\napp = "request"\nobject = "1 MB"\nthink = "1 s"\nobjects = 3\n'
    run, _ = rows(DUMBBELL.format(rate="20 Mbit", change="") + flow)
    waited = 3 * run["object_mean_s"]
    # The handshake takes an RTT before it can ask.
    assert run["there_s"] == pytest.approx(waited + 0.04, abs=2e-3)
    assert run["share"] == pytest.approx(3 * 8 / (20 * PAYLOAD * run["there_s"]))
    assert run["objects"] == 3
    assert run["transfers"] == 0


def test_a_flow_that_stops_is_measured_until_then() -> None:
    """What is under way at its stop arrives later, in nobody's window."""
    text = DUMBBELL.format(rate="20 Mbit", change="").replace("1 bdp", "8 bdp")
    run, _ = rows(text + '[[flow]]\ncc = "*"\nstop = "4 s"\n')
    assert run["there_s"] == pytest.approx(4)
    assert run["share"] <= 1


@pytest.mark.parametrize("warmup", ["5 s", "5.03 s"])
def test_the_warm_up_ends_with_a_sample(warmup: str) -> None:
    text = DUMBBELL.format(rate="100 Mbit", change=SLOWER) + BULK
    run, _ = rows(text.replace("[run]", f'[run]\nwarmup = "{warmup}"\nsample = "100 ms"'))
    assert run["there_s"] == pytest.approx(15)
    assert run["capacity_mbps"] == pytest.approx((5 * 100 + 10 * 20) / 15)
    assert 0.97 < run["share"] < 1.005, "what had been waiting at the begin of the window comes at its rate"


def test_of_a_trace_its_mean_is_achievable(tmp_path: Path) -> None:
    """Seconds of 12 and of 24 Mbit/s in turn: 18 in the mean, whatever else there is."""
    per_second = [range(0, 1000, 1), [ms for ms in range(1000) for _ in range(2)]]
    times = [1000 * k + ms for k in range(10) for ms in per_second[k % 2]]
    (tmp_path / "trace.txt").write_text("".join(f"{t + 1}\n" for t in times), encoding="utf-8")
    text = '[run]\nduration = "20 s"\n[source.trace]\nrate_file = "trace.txt"\n[port.bottleneck]\nqueue = "4 bdp"\n'
    (tmp_path / "a.toml").write_text(text + BULK + '[[flow]]\ncc = "*"\nbytes = "100 kB"\n', encoding="utf-8")
    run = perigee.load(tmp_path / "a.toml").run(cc="cubic").summary
    assert run["capacity_mbps"] == pytest.approx(18, rel=1e-3)
    assert run["share"] == pytest.approx(run["goodput_mbps"] / (18 * PAYLOAD), rel=1e-3)
    assert run["share"] > 0.9


def test_outages_carry_nothing() -> None:
    """A link that is down for 2 of 20 s: 90 % of its rate can be had."""
    text = DUMBBELL.format(rate="20 Mbit", change='[[change]]\nat = "10 s"\noutage = "2 s"\n') + BULK
    run, _ = rows(text)
    assert run["capacity_mbps"] == pytest.approx(18)
    assert run["share"] == pytest.approx(run["goodput_mbps"] / (18 * PAYLOAD))
    assert run["outages"] == 1


def test_constant_rates_have_goodput_loss_delay_and_jitter() -> None:
    """30 Mbit/s into 20: a third is lost, and the queue of 1 BDP (at 40 ms) stays full."""
    flow = '[[flow]]\napp = "cbr"\nrate = "30 Mbit"\nname = "voice"\n'
    run, flows = rows(DUMBBELL.format(rate="20 Mbit", change="") + flow, cc=None)
    assert flows[0]["goodput_mbps"] == pytest.approx(20 * 1472 / 1500, rel=0.01)
    assert run["cbr_flows"] == 1
    assert run["cbr_goodput_mbps"] == flows[0]["goodput_mbps"]
    assert run["loss_pct"] == flows[0]["loss_pct"] == pytest.approx(100 / 3, rel=0.02)
    # 20 ms on the way, 40 in the queue.
    assert flows[0]["delay_mean_ms"] == pytest.approx(60, rel=0.03)
    assert 0 < flows[0]["jitter_ms"] < 0.6, "a place in the queue is 0.6 ms"


def test_rtts_are_pooled_only_where_base_rtts_agree() -> None:
    text = DUMBBELL.format(rate="20 Mbit", change="").replace('"40 ms"', '["20 ms", "200 ms"]\npairs = 2')
    ends = '[[flow]]\ncc = "*"\nfrom = "s{0}"\nto = "d{0}"\n'
    run, flows = rows(text + ends.format(1) + ends.format(2))
    assert run["rtt_over"] == "flows"
    for name in ("rtt_mean_ms", "rtt_median_ms", "rtt_p99_ms", "inflation"):
        assert run[name] == pytest.approx(sum(f[name] for f in flows) / 2), name
    assert run["base_rtt_ms"] != run["base_rtt_ms"], "there is no base RTT of two paths"
    same, flows = rows(text + 2 * ends.format(1))
    assert same["rtt_over"] == "samples"
    weighted = sum(f["rtt_mean_ms"] * f["rtt_samples"] for f in flows) / same["rtt_samples"]
    assert same["rtt_mean_ms"] == pytest.approx(weighted)


def test_jain_is_over_the_time_in_which_all_bulk_flows_were_there() -> None:
    late = '[[flow]]\ncc = "*"\nstart = "15 s"\n'
    run = perigee.loads(DUMBBELL.format(rate="20 Mbit", change="") + BULK + late + BULK + 'bytes = "1 MB"\n').run(
        cc="bbr"
    )
    frame = run.to_pandas("flows")
    last = frame[frame["t_ns"] == 20_000_000_000].set_index("flow")["delivered_bytes"]
    first = frame[frame["t_ns"] == 15_000_000_000].set_index("flow")["delivered_bytes"]
    x, y = (last[k] - first[k] for k in (0, 1))
    assert run.summary["jain"] == pytest.approx((x + y) ** 2 / (2 * (x * x + y * y)))
    assert run.summary["jain_s"] == pytest.approx(5)


def test_objects_and_transfers_are_never_in_one() -> None:
    web = '[[flow]]\ncc = "*"\napp = "request"\nobject = "20 kB"\nobjects = 4\n'
    run, _ = rows(DUMBBELL.format(rate="20 Mbit", change="") + web + '[[flow]]\ncc = "*"\nbytes = "5 MB"\n')
    assert (run["objects"], run["transfers"]) == (4, 1)
    assert run["object_mean_s"] < 0.5
    assert run["transfer_mean_s"] > 2
