# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Queue disciplines, from the scenario file to queueing delays, drops and marks."""

from __future__ import annotations

from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli

NETWORK = """
[run]
duration = "60 s"
warmup = "10 s"
[source.dumbbell]
pairs = 2
rtt = "50 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "8 bdp"
"""
BULK = '[[flow]]\ncc = "*"\n'


def finished(port: str, rest: str = BULK, cc: str | None = "cubic") -> perigee.Run:
    """A run with a discipline at the bottleneck."""
    return perigee.loads(f"{NETWORK}{port}\n{rest}").run(cc=cc, seed=1)


def bottleneck(run: perigee.Run) -> dict[str, float]:
    """The totals of the bottleneck."""
    links = run.to_pandas("link_totals")
    return dict(links[links["name"] == "r1->r2"].iloc[0])


@pytest.mark.parametrize(
    ("discipline", "at_most_ms"),
    [("drop-tail", 400), ("codel", 20), ("fq_codel", 20), ("pie", 30), ("red", 250), ("dualpi2", 30)],
)
def test_disciplines_keep_queues_short_and_links_busy(discipline: str, at_most_ms: float) -> None:
    run = finished(f'discipline = "{discipline}"')
    assert run.manifest["conserved"]
    link = bottleneck(run)
    assert link["mean_wait_ns"] / 1e6 < at_most_ms
    assert link["drops_queue"] > 0
    assert link["marked_packets"] == 0
    assert run.summary["share"] > 0.93
    shown = next(p for p in run.manifest["ports"] if p["name"] == "r1->r2")["discipline"]
    assert shown == discipline or discipline in shown


@pytest.mark.parametrize("discipline", ["codel", "fq_codel", "pie", "red", "dualpi2"])
@pytest.mark.parametrize("cc", ["cubic", "newreno"])
def test_marks_take_the_place_of_drops(discipline: str, cc: str) -> None:
    # The overshoot of slow start, which marks cannot prevent, is excluded.
    port = f'discipline = "{discipline}"' + ("\nred_p = 0.02" if discipline == "red" else "")
    transport = "[tcp]\ninit_ssthresh = 60\necn = "
    dropped, marked = (finished(port, f"{transport}{ecn}\n{BULK}", cc=cc) for ecn in ("false", "true"))
    link = bottleneck(marked)
    assert link["marked_packets"] > 2
    retransmits = [int(r.to_pandas("flow_totals")["retransmits"].sum()) for r in (dropped, marked)]
    assert retransmits[1] < retransmits[0] / 4, retransmits
    assert marked.summary["share"] > 0.93
    # Marks replace losses: queues stay as short.
    assert link["mean_wait_ns"] < 2 * bottleneck(dropped)["mean_wait_ns"] + 5e6


def test_fair_queues_protect_a_thin_flow_from_thick_ones() -> None:
    thin = '[[flow]]\napp = "cbr"\nrate = "1 Mbit"\nfrom = "s2"\nto = "d2"\n'
    ping = '[[flow]]\napp = "ping"\ninterval = "20 ms"\nfrom = "s2"\nto = "d2"\n'
    thick = '[[flow]]\ncc = "cubic"\nfrom = "s1"\nto = "d1"\ncount = 4\n'
    rtts = {}
    for discipline in ("drop-tail", "fq_codel"):
        run = finished(f'discipline = "{discipline}"', thick + thin + ping, cc=None)
        totals = run.to_pandas("flow_totals").set_index("cc")
        rtts[discipline] = totals.loc["ping", "rtt_sum_ns"] / totals.loc["ping", "rtt_samples"] / 1e6
        if discipline == "fq_codel":
            assert totals.loc["cbr", "drops_queue"] == 0
            shares = run.to_pandas("flow_totals").query("cc == 'cubic'")["goodput_bytes"]
            assert shares.max() / shares.min() < 1.05
    # The base RTT is 50 ms; at most one packet of each bulk flow and one of the constant-rate flow
    # are served first.
    assert rtts["fq_codel"] < 55
    assert rtts["drop-tail"] > 150


def test_prague_hardly_waits_beside_cubic_at_a_dualpi2_port() -> None:
    pair = '[[flow]]\ncc = "prague"\nfrom = "s1"\nto = "d1"\n[[flow]]\ncc = "cubic"\nfrom = "s2"\nto = "d2"\n'
    run = finished('discipline = "dualpi2"', pair, cc=None)
    flows = run.to_pandas("flows").query("t_ns > 1e10")
    waiting = ((flows["rtt_ns"] - flows["base_rtt_ns"]) / 1e6).groupby(flows["flow"]).mean()
    assert waiting[0] < 1.5, "two packets of 0.6 ms"
    assert 5 < waiting[1] < 30
    totals = run.to_pandas("flow_totals").set_index("cc")["goodput_bytes"]
    assert 0.5 < totals["prague"] / totals["cubic"] < 2.5
    assert run.summary["share"] > 0.9
    assert bottleneck(run)["marked_packets"] > 100


def test_early_drops_begin_at_their_threshold() -> None:
    cbr = '[[flow]]\napp = "cbr"\nrate = "{} Mbit"\n'
    port = 'discipline = "red"\nred_min = "100 kB"\nred_max = "200 kB"\nred_p = 0.1'
    calm = finished(port, cbr.format(9) + 'from = "s1"\nto = "d1"\n', cc=None)
    assert bottleneck(calm)["drops_queue"] == 0
    # With 21 Mbit/s into 20 Mbit/s, the queue settles at the length at which 1/21 of the packets is
    # dropped, near 148 kB.
    over = finished(port, cbr.format(21) + 'from = "s1"\nto = "d1"\n', cc=None)
    link = bottleneck(over)
    assert link["drops_queue"] / link["entered_packets"] == pytest.approx(1 / 21, rel=0.05)
    queue = over.to_pandas("links").query("t_ns > 2e10 and port == @link['port']")["queue_bytes"].mean()
    assert queue == pytest.approx(148e3, rel=0.05)


def test_a_floor_makes_early_drops_a_step() -> None:
    cbr = '[[flow]]\napp = "cbr"\nrate = "21 Mbit"\nfrom = "s1"\nto = "d1"\n'
    port = 'discipline = "red"\nred_min = "100 kB"\nred_max = "200 kB"\nred_p = 0.1\nred_floor = 0.25'
    run = finished(port, cbr, cc=None)
    link = bottleneck(run)
    assert link["drops_queue"] / link["entered_packets"] == pytest.approx(1 / 21, rel=0.05)
    # A quarter is more than the fraction that must be dropped: the queue stays at the threshold.
    queue = run.to_pandas("links").query("t_ns > 2e10 and port == @link['port']")["queue_bytes"]
    assert queue.mean() == pytest.approx(100e3, rel=0.03)
    assert queue.max() < 110e3


@pytest.mark.parametrize("discipline", ["codel", "fq_codel", "pie", "red", "dualpi2", "classes"])
def test_outages_and_disciplines_conserve_packets(discipline: str) -> None:
    change = '[[change]]\nat = "20 s"\noutage = "300 ms"\nmode = "{}"\n'
    for mode in ("flush", "hold", "blackhole"):
        run = finished(f'discipline = "{discipline}"', change.format(mode) + BULK)
        assert run.manifest["conserved"], mode
        assert run.summary["share"] > 0.8, mode


def test_a_class_with_telemetry_is_told_of_itself() -> None:
    """The flows are OrbCC and Cubic.

    With one CoDel queue per flow, OrbCC fills its own queue; with one queue per class, it does not.
    """
    port = 'discipline = "{}"\nmetered = true'
    two = '[[flow]]\nfrom = "s1"\nto = "d1"\ncc = "orbcc-repro"\n[[flow]]\nfrom = "s2"\nto = "d2"\ncc = "cubic"\n'
    found = {}
    for discipline in ("fq_codel", "classes"):
        run = finished(port.format(discipline), two, cc=None)
        flows = run.to_pandas("flows").query("t_ns > 1e10")
        mine = flows[flows["flow"] == 0]
        share = mine["goodput_bps"].sum() / flows["goodput_bps"].sum()
        found[discipline] = (share, (mine["rtt_ns"] / mine["base_rtt_ns"]).mean())
    assert found["classes"][0] == pytest.approx(0.5, abs=0.03)
    assert found["classes"][1] < 1.1 < found["fq_codel"][1], found


# (tables of ports, line of the problem, words in the message)
WITHOUT_EFFECT = [
    ('[port.bottleneck]\ndiscipline = "drop-tail"\nred_min = "5 kB"', 3, ["red_min", "drop-tail", '"red"']),
    ('[port.bottleneck]\nred_min = "5 kB"\n[port.access]\ndiscipline = "red"', 2, ["no effect", "drop-tail"]),
    ('[port.all]\ntarget = "5 ms"\n[port."r1->r2"]\ndiscipline = "red"', 2, ["port.all.target", "codel", "pie"]),
    ('[port.bottleneck]\ndiscipline = "codel"\nquantum = 300', 3, ["port.bottleneck.quantum", "target, interval"]),
    ('[port.bottleneck]\ndiscipline = "fq_codel"\nprobe_priority = true', 1, ["its own order of service"]),
    ('[port.bottleneck]\ndiscipline = "pie"\nburst_allowance = "1000 s"', 3, ["burst_allowance", "100 s"]),
    ('[port.bottleneck]\ndiscipline = "fq_codel"\ntelemetry_share = 0.3', 3, ["telemetry_share", "fq_codel"]),
    ('[port.bottleneck]\ndiscipline = "classes"\ntelemetry_share = 1', 3, ["telemetry_share", "0.99"]),
    ('[port.bottleneck]\ndiscipline = "classes"\nprobe_priority = true', 1, ["its own order of service"]),
    ("[port.bottleneck]\ntarget = 5", 2, ["no unit"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("ports", "line", "words"), WITHOUT_EFFECT)
def test_parameters_without_effect_are_refused(
    cli: Cli, tmp_path: Path, ports: str, line: int, words: list[str]
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'{ports}\n[run]\nduration = "1 s"\n[source.dumbbell]\n[[flow]]\ncc = "cubic"\n', encoding="utf-8")
    for verb in (["check", path], ["run", path, "--out", "out"]):
        done = cli(*verb)
        assert done.returncode == 2, done.stdout
        assert f"s.toml:{line}: " in done.stderr
        for word in words:
            assert word in done.stderr


def test_a_parameter_in_a_general_table_serves_the_ports_whose_discipline_has_it(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    ports = '[port.all]\ntarget = "3 ms"\n[port."r1->r2"]\ndiscipline = "codel"\n[port.reverse]\ndiscipline = "red"\n'
    path.write_text(f'{ports}[run]\nduration = "1 s"\n[source.dumbbell]\n[[flow]]\ncc = "cubic"\n', encoding="utf-8")
    assert cli("check", path).returncode == 0
    shown = {p["name"]: p["discipline"] for p in perigee.load(path).run(cc="cubic").manifest["ports"]}
    assert shown["r1->r2"] == {"codel": {"interval": "100 ms", "target": "3 ms"}}
    assert shown["s1->r1"] == "drop-tail"
    assert shown["r2->r1"]["red"]["red_p"] == 0.1


def test_a_saved_timeline_of_version_0_1_opens_and_one_with_an_unknown_discipline_is_named(
    cli: Cli, tmp_path: Path
) -> None:
    made = tmp_path / "made.toml"
    made.write_text(
        NETWORK.replace("60 s", "3 s").replace("10 s", "1 s") + 'discipline = "codel"\n' + BULK, encoding="utf-8"
    )
    assert cli("timeline", made, "--out", "saved.timeline").returncode == 0
    saved = (tmp_path / "saved.timeline").read_text(encoding="utf-8")
    new = '{"codel":{"interval":"100 ms","target":"5 ms"}}'
    assert new in saved
    old = tmp_path / "old.timeline"
    old.write_text(saved.replace(new, '{"codel":{"target":5000000,"interval":100000000}}'), encoding="utf-8")
    replay = '[run]\nduration = "3 s"\n[source.timeline]\nfile = "{}"\n[[flow]]\ncc = "cubic"\n'
    hashes = []
    for name in ("saved", "old"):
        path = tmp_path / f"{name}.toml"
        path.write_text(replay.format(f"{name}.timeline"), encoding="utf-8")
        hashes.append(perigee.load(path).run(cc="cubic").manifest["tables"]["link_totals"]["sha256"])
    assert hashes[0] == hashes[1]
    old.write_text(saved.replace(new, '{"blue":{}}'), encoding="utf-8")
    done = cli("check", tmp_path / "old.toml")
    assert done.returncode == 2
    assert 'port "r1->r2"' in done.stderr
    assert '"blue"' in done.stderr


def test_equal_seeds_give_equal_drops() -> None:
    hashes = [finished('discipline = "pie"').manifest["tables"]["link_totals"]["sha256"] for _ in range(2)]
    assert hashes[0] == hashes[1]
