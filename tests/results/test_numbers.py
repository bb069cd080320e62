# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Correctness of tables, tested on runs with independently known results."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

import perigee_lab as perigee
from perigee_lab.results.metrics import flow_rows
from perigee_lab.results.run import find_records
from perigee_lab.results.summary import about_seeds

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

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
    """100 Mbit/s for 10 s, then 20: the mean is 60, whatever runs next to the bulk flow."""
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
    """The flow sends for 2 of every 5 s, and takes nearly all of the rate while it sends."""
    flow = '[[flow]]\ncc = "*"\napp = "on-off"\non = "2 s"\noff = "3 s"\n'
    run, _ = rows(DUMBBELL.format(rate="20 Mbit", change="") + flow)
    # Four times 2 s, plus the time until data in flight has arrived: half an RTT and at most a full
    # queue, 60 ms in total.
    assert 8 < run["there_s"] < 8.3
    assert run["capacity_mbps"] == pytest.approx(20)
    assert 0.9 < run["share"] <= 1
    assert run["goodput_mbps"] == pytest.approx(run["share"] * 20 * PAYLOAD * run["there_s"] / 20)


def test_a_client_is_there_while_it_waits_for_an_object() -> None:
    flow = '[[flow]]\ncc = "*"\napp = "request"\nobject = "1 MB"\nthink = "1 s"\nobjects = 3\n'
    run, _ = rows(DUMBBELL.format(rate="20 Mbit", change="") + flow)
    waited = 3 * run["object_mean_s"]
    # The handshake takes an RTT before the request.
    assert run["there_s"] == pytest.approx(waited + 0.04, abs=2e-3)
    assert run["share"] == pytest.approx(3 * 8 / (20 * PAYLOAD * run["there_s"]))
    assert run["objects"] == 3
    assert run["transfers"] == 0


def test_a_flow_that_stops_is_measured_until_then() -> None:
    """Data in flight when it stops arrives later, outside any window."""
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
    """Seconds of 12 and 24 Mbit/s alternate: the mean is 18, whatever the other traffic."""
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
    """A link is down for 2 of 20 s, so that 90 % of its rate are achievable."""
    text = DUMBBELL.format(rate="20 Mbit", change='[[change]]\nat = "10 s"\noutage = "2 s"\n') + BULK
    run, _ = rows(text)
    assert run["capacity_mbps"] == pytest.approx(18)
    assert run["share"] == pytest.approx(run["goodput_mbps"] / (18 * PAYLOAD))
    assert run["outages"] == 1


def test_constant_rates_have_goodput_loss_delay_and_jitter() -> None:
    """30 Mbit/s into 20 Mbit/s: a third is lost, and the queue of 1 BDP (at 40 ms) stays full."""
    flow = '[[flow]]\napp = "cbr"\nrate = "30 Mbit"\nname = "voice"\n'
    run, flows = rows(DUMBBELL.format(rate="20 Mbit", change="") + flow, cc=None)
    assert flows[0]["goodput_mbps"] == pytest.approx(20 * 1472 / 1500, rel=0.01)
    assert run["cbr_flows"] == 1
    assert run["cbr_goodput_mbps"] == flows[0]["goodput_mbps"]
    assert run["loss_pct"] == flows[0]["loss_pct"] == pytest.approx(100 / 3, rel=0.02)
    # 20 ms of propagation and 40 ms in the queue.
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


SKY = """
[run]
duration = "6 s"
[source.constellation]
preset = "starlink-shell1"
[node]
london = {{ kind = "terminal", place = "London" }}
paris = {{ kind = "terminal", place = "Paris" }}
sydney = {{ kind = "terminal", place = "Sydney" }}
[port.ground]
rate = "5 Mbit"
{}
"""
TO_SYDNEY = '[[flow]]\nfrom = "london"\nto = "sydney"\ncc = "*"\n'
TO_PARIS = TO_SYDNEY.replace("sydney", "paris")


@pytest.mark.slow
def test_all_seeds_have_one_statistic_of_rtts(cli: Cli, tmp_path: Path) -> None:
    """From two ends in Europe to Sydney, base RTTs agree within 5 % only with some seeds."""
    far = SKY.format(TO_SYDNEY + TO_SYDNEY.replace("london", "paris")).replace("[run]", '[run]\nvary = ["phase"]')
    far = far.replace('place = "Paris"', 'place = "Berlin"')
    (tmp_path / "a.toml").write_text(far.replace('"6 s"', '"1 s"'), encoding="utf-8")
    done = cli("run", "a.toml", "--cc", "cubic", "--runs", 6, "--out", "far", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "RTTs and inflation: means over the flows, whose base RTTs may differ" in done.stdout
    runs = find_records(tmp_path / "far")
    frames = [r.to_pandas("flows").query("t_ns > 0").groupby("flow")["base_rtt_ns"].mean() for r in runs]
    assert {bool(f.max() <= 1.05 * f.min()) for f in frames} == {True, False}, "chance has a part in it"
    assert [r.summary["rtt_over"] for r in runs] == 6 * ["flows"]
    near = (*("run", "a.toml", "--cc", "cubic", "--runs", 2), "--set", "flow.1.from=london", "--out", "near")
    assert cli(*near, "--no-report").returncode == 0
    assert "RTTs and inflation are over flows in A and samples in B" in cli("compare", "far", "near").stdout
    assert json.loads(cli("compare", "far", "near", "--json").stdout)["rtt_over"] == {"a": ["flows"], "b": ["samples"]}


def test_paths_say_for_whom_satellites_were_chosen(cli: Cli, tmp_path: Path) -> None:
    """The distant pair determines the satellites: London to Paris differs from that pair alone."""
    (tmp_path / "a.toml").write_text(SKY.format(TO_SYDNEY + TO_PARIS), encoding="utf-8")
    words = ("paths", "a.toml", "--json", "--from", "London", "--to")
    both, alone = (json.loads(cli(*words, "Paris", *more).stdout) for more in ((), ("--alone",)))
    assert both[0]["attach"] == "as in the scenario"
    assert alone[0]["attach"] == "these pairs alone"
    run = perigee.load(tmp_path / "a.toml").run(cc="cubic")
    base_ms = run.to_pandas("flows").query("flow == 1 and t_ns > 0")["base_rtt_ns"].mean() / 1e6
    # In addition to propagation, a base RTT includes a full packet and an ACK on two radios, which
    # take 5 ms.
    assert both[0]["rtt_mean_ms"] + 5 == pytest.approx(base_ms, rel=0.03)
    assert alone[0]["rtt_mean_ms"] < 0.5 * both[0]["rtt_mean_ms"]
    assert json.loads(cli(*words, "Tokyo").stdout)[0]["attach"] == "alongside the scenario's flows"


def test_a_pair_that_changes_anothers_satellite_is_warned_of(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SKY.format(TO_SYDNEY + TO_PARIS), encoding="utf-8")
    checked = cli("check", "a.toml", "--cc", "cubic")
    assert checked.returncode == 0
    for done in (checked, cli("paths", "a.toml")):
        assert "london to paris has an RTT of " in done.stdout + done.stderr
        assert "london has one satellite for paris, sydney" in done.stdout + done.stderr
    first = cli("check", "a.toml", "--cc", "cubic", "--set", "source.constellation.attach_for=first")
    (tmp_path / "b.toml").write_text(SKY.format(TO_PARIS), encoding="utf-8")
    for done in (first, cli("check", "b.toml", "--cc", "cubic")):
        assert done.returncode == 0, done.stderr
        assert "one satellite for" not in done.stdout + done.stderr


def test_seeds_may_vary_the_phase_of_the_orbits(tmp_path: Path) -> None:
    text = SKY.format(TO_SYDNEY)
    plain = perigee.loads(text)
    varied = perigee.loads(text.replace("[run]", '[run]\nvary = ["phase"]'))
    runs = list(varied.run_all(cc=["cubic"], seeds=[1, 2, 3]))
    first = [float(r.to_pandas("flows")["base_rtt_ns"].iloc[0]) for r in runs]
    assert len(set(first)) == 3, "another sky for each seed"
    for k, seed in enumerate((1, 2, 3)):
        alone = varied.run(cc="cubic", seed=seed)
        assert alone.hashes() == runs[k].hashes(), "a run alone is the run among others"
        assert 'vary = ["phase"]' in alone.manifest.scenario_toml
    assert runs[0].hashes() == plain.run(cc="cubic").hashes(), "seed 1 is as written"
    assert "vary" not in plain.run(cc="cubic").manifest.scenario_toml
    [said] = about_seeds(runs)
    assert said.startswith("means over seeds 1 to 3, which vary phase;")


def test_what_is_not_varied_is_that_of_seed_one() -> None:
    text = DUMBBELL.format(rate="20 Mbit", change="").replace("rtt =", "loss = 0.01\nrtt =") + BULK
    drawn = list(perigee.loads(text).run_all(cc=["cubic"], seeds=[1, 2]))
    assert drawn[0].hashes() != drawn[1].hashes()
    assert about_seeds(drawn)[0].startswith("means over seeds 1 to 2, which vary all that is drawn;")
    fixed = list(perigee.loads(text.replace("[run]", '[run]\nvary = "traffic"')).run_all(cc=["cubic"], seeds=[1, 2]))
    assert [r.hashes() for r in fixed] == 2 * [drawn[0].hashes()]
    assert about_seeds(fixed) == [
        "nothing random: the runs of seeds 1 to 2 are identical, so that there are no intervals"
    ]


def test_a_phase_without_orbits_and_nothing_to_vary_are_refused() -> None:
    text = DUMBBELL.format(rate="20 Mbit", change="") + BULK
    for vary, said in (('"phase"', "this source has no orbits"), ("[]", "the list is empty")):
        with pytest.raises(perigee.ScenarioError, match=said):
            perigee.loads(text.replace("[run]", f"[run]\nvary = {vary}"))


def test_identical_runs_have_no_intervals(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(DUMBBELL.format(rate="5 Mbit", change="") + BULK, encoding="utf-8")
    done = cli("run", "a.toml", "--cc", "cubic", "--runs", 3, "--set", "run.duration=2 s", "--out", "out", "--json")
    told = json.loads(done.stdout)
    assert told["schemes"][0]["goodput_mbps"]["half_width_95"] is None
    assert told["remarks"][0].startswith("nothing random: the runs of seeds 1 to 3 are identical")
    shown = cli("report", "out").returncode, (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert shown[0] == 0
    assert "nothing random" in shown[1]
    assert "± 0" not in shown[1]


def test_probes_are_over_all_seeds(cli: Cli, tmp_path: Path) -> None:
    flow = '[[flow]]\napp = "ping"\nname = "p"\ninterval = "10 ms"\n'
    text = DUMBBELL.format(rate="5 Mbit", change="").replace("rtt =", "loss = 0.02\nrtt =")
    (tmp_path / "a.toml").write_text(text + BULK + flow, encoding="utf-8")
    done = cli("run", "a.toml", "--cc", "cubic", "--runs", 3, "--out", "out", "--no-report")
    rows = list(csv.DictReader((tmp_path / "out/summary.csv").read_text(encoding="utf-8").splitlines()))
    means = [float(r["rtt_mean_ms"]) for r in rows if r["flow"] == "p"]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("ping p beside cubic")]
    assert f"mean ms {sum(means) / 3:.2f} ± " in line
    assert "(in 3 runs)" in line
