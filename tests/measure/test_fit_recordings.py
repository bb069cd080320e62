# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee fit` of recordings.

These are rates and delays (mahimahi, LeoReplayer), telemetry, logs and captures.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import ROOT, Cli
from perigee_lab.measure.fit import files
from perigee_lab.measure.fit.command import fit
from perigee_lab.measure.fit.given import runs_of
from perigee_lab.measure.fit.observed import probes_of
from perigee_lab.measure.fit.recording import Given
from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.sky.traces import opportunities

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHARED = Path(os.environ.get("PERIGEE_SHARED_DATA", ROOT / "../shared/data")) / "leocc"
leocc = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the published recording is not there: PERIGEE_SHARED_DATA names its folder"
)


def rates(folder: Path, mbps: np.ndarray, name: str = "down.trace", step_s: float = 0.1) -> Path:
    """A file in the format of mahimahi."""
    (folder / name).write_text("".join(f"{ms}\n" for ms in opportunities(mbps, step_s)))
    return folder / name


def delays(folder: Path, ms: np.ndarray) -> Path:
    """A file in the format of LeoReplayer."""
    (folder / "delay.trace").write_text("".join(f"{v:.2f}\n" for v in ms))
    return folder / "delay.trace"


def steps(folder: Path) -> tuple[Path, Path]:
    """A recording of 30 s: 20 and 10 Mbit/s alternate every 5 s, and nothing arrives for 0.3 s.

    The one-way delay is 20 ms, and from 12 s on 27 ms.
    """
    mbps = np.where(np.arange(300) // 50 % 2 == 0, 20.0, 10.0)
    mbps[201:204] = 0
    return rates(folder, mbps), delays(folder, np.where(np.arange(3000) < 1200, 20.0, 27.0))


def test_a_recording_comes_back_as_a_scenario(tmp_path: Path) -> None:
    down, delay = steps(tmp_path)
    found = fit([], tmp_path / "out", title="t", command="c", given=Given(down, None, delay), queue_bytes=100e3)
    path = found.path
    assert [round(s.t_s, 1) for s in path.steps] == [12.0]
    assert path.base_at(np.array([6.0, 20.0])) == pytest.approx([40, 54], abs=0.01)
    at = path.rate_at(np.array([2.5, 7.5, 20.25, 27.5])) / 1e6
    assert at == pytest.approx([20, 10, 0, 10], rel=0.02)
    assert any("lost while nothing got through" in u for u in path.unknown)
    assert not any("queue's size" in u for u in path.unknown)
    # Cubic and BBR run over the recording itself and over the fitted path.
    assert [f.cc for f in found.flows] == ["cubic", "bbr"]
    assert all(abs(f.error) < 0.02 for f in found.flows)
    assert found.probes.shift_ms < 0.5
    assert (tmp_path / "out/fit.png").stat().st_size > 10_000


def test_from_files_to_a_replay_by_the_command_line(tmp_path: Path, cli: Cli) -> None:
    down, delay = steps(tmp_path)
    packed = tmp_path / "down.trace.gz"
    packed.write_bytes(gzip.compress(down.read_bytes()))
    up = rates(tmp_path, np.full(300, 5.0), "up.trace")
    done = cli("fit", "--rates", packed, "--rates-back", up, "--delays", delay, "--out", "fit", "--no-score")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "fit/replay.toml").read_text(encoding="utf-8")
    assert float(text.partition("[port.reverse]\nrate = ")[2].split()[0].strip('"')) == pytest.approx(5, rel=0.02)
    done = cli("run", "fit/replay.toml", "--cc", "cubic", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run/report.html").is_file()


def test_a_rate_that_hardly_varies_is_one(tmp_path: Path) -> None:
    down = rates(tmp_path, np.full(100, 12.0))
    found = fit([], tmp_path / "o", title="t", command="c", given=Given(down, rtt_ms=50.0), score=False)
    assert [bps for _, bps in found.path.rates] == pytest.approx([12e6], rel=0.01)
    assert found.path.base == [(0.0, 50.0)]
    assert any("only one value was given" in u for u in found.path.unknown)


def test_rates_of_a_file_go_with_probes_of_a_record(tmp_path: Path) -> None:
    down, _ = steps(tmp_path)
    text = '[run]\nduration = "30 s"\nsample = "20 ms"\n[source.dumbbell]\nrtt = "33 ms"\n[port.bottleneck]\n'
    text += 'rate = "20 Mbit"\n[[flow]]\napp = "ping"\ninterval = "20 ms"\n'
    found = fit([perigee.loads(text).run()], tmp_path / "o", title="t", command="c", given=Given(down), score=False)
    assert found.path.base[0][1] == pytest.approx(33, abs=0.1)
    assert found.path.rate_at(np.array([7.5])) == pytest.approx([10e6], rel=0.02)
    assert any("of two recordings" in u for u in found.path.unknown)


def test_delays_and_one_rate(tmp_path: Path) -> None:
    _, delay = steps(tmp_path)
    given = Given(delays=delay, rate_bps=8e6)
    found = fit([], tmp_path / "o", title="t", command="c", given=given, rate_bps=8e6)
    assert found.path.rates == [(0.0, 8e6)]
    assert all(abs(f.error) < 0.02 for f in found.flows)
    with pytest.raises(MeasureError, match="--rates FILE"):
        fit([], tmp_path / "o", title="t", command="c", given=Given(delays=delay))


@pytest.mark.slow
def test_what_is_wrong_with_a_recording_is_said(tmp_path: Path, cli: Cli) -> None:
    down, delay = steps(tmp_path)
    for name, text in (
        ("empty", ""),
        ("words", "5\nx\n"),
        ("back", "5\n9\n7\n"),
        ("table", "t_s,rate\n0,5\n"),
        ("short", "5\n900\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "half.gz").write_bytes(gzip.compress(down.read_bytes())[:200])
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 9)
    wrong = [
        (["--rates", "empty", "--delays", delay], "--rates: empty: line 1: the file is empty"),
        (["--rates", "words", "--delays", delay], 'line 2: the time "x" is not a whole number of milliseconds'),
        (["--rates", "back", "--rtt", "50ms"], "line 3: time 7 comes after 9"),
        (["--rates", "table", "--rtt", "50ms"], "line 1: the time"),
        (["--rates", "noise", "--rtt", "50ms"], "--rates: cannot read noise: it is not UTF-8 text"),
        (["--rates", "half.gz", "--rtt", "50ms"], "its compression is damaged"),
        (["--rates", "nowhere", "--rtt", "50ms"], "nowhere: there is no such file"),
        (["--rates", delay, "--rtt", "50ms"], "--rates: "),
        (["--rates", down, "--delays", down], "these are times of rates (--rates), no delays"),
        (["--rates", down, "--delays", "empty"], "--delays: empty: line 1: the file is empty"),
        (["--rates", "short", "--delays", delay], "rates: 0.9 s, delays: 30 s: what all files"),
        (["--rates", down], "--rtt 50ms"),
        (["--rates-back", down], "--rates-back requires --rates"),
        (["--rates", down, "--rtt", "50"], "--rtt '50'"),
        ([], "nothing to fit"),
        ([delay], "--rates and --delays"),
    ]
    for words, what in wrong:
        done = cli("fit", *words, "--out", "out")
        assert done.returncode == 2, (words, done.stderr)
        assert what in done.stderr.replace(f"{tmp_path}/", ""), (words, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.slow
@leocc
def test_a_published_recording_of_a_terminal(tmp_path: Path) -> None:
    """Fits the first minute of LeoCC's example.

    It has rates of 1 to 68 Mbit/s, and delays of 7 to 34 ms in integer ms.
    """
    given = Given(SHARED / "bw_example_0-60s.txt", None, SHARED / "delay_example_0-60s.txt")
    found = fit([], tmp_path, title="t", command="c", given=given, queue_bytes=450e3)
    assert found.path.duration_s == pytest.approx(60, abs=0.05)
    assert all(abs(f.error) < 0.02 for f in found.flows)
    assert found.probes.ks < 0.2
    # The sums of both recorded delays are multiples of 2 ms.
    assert found.probes.shift_ms < 1.0


DISH = "timestamp_s,pop_ping_latency_ms,pop_ping_drop_rate,downlink_throughput_bps,uplink_throughput_bps"


def dish(folder: Path, rtts: np.ndarray, down: np.ndarray) -> Path:
    """Writes one row per second, as collectors of a dish's history do."""
    rows = [f"{1.7e9 + k:.0f},{r:.2f},0,{d:.0f},20000" for k, (r, d) in enumerate(zip(rtts, down, strict=True))]
    (folder / "dish.csv").write_text("\n".join([DISH, *rows, ""]))
    return folder / "dish.csv"


def test_telemetry_of_a_dish_is_fitted_where_it_is_idle(tmp_path: Path, cli: Cli) -> None:
    rng = np.random.default_rng(3)
    slots = rng.uniform(25, 45, 41)
    rtts = slots[(np.arange(600) + 5) // 15] + rng.uniform(0, 1, 600)
    down = np.where(np.arange(600) % 100 < 20, 80e6, 1e5)
    busy = np.where(down > 1e6, 60.0, 0)
    file = dish(tmp_path, rtts + busy, down)
    probes = probes_of(runs_of([file], tmp_path / "scratch"))
    assert (probes.busy, probes.carried_bps) == (120, 80e6)
    assert (probes.bytes, probes.size_known, probes.clock_s) == (84, False, 1.7e9)
    done = cli("fit", file, "--out", "fit")
    assert done.returncode == 2
    assert "carried up to 80.0 Mbit/s: it is at least that" in done.stderr
    done = cli("fit", file, "--rate", "150Mbit", "--out", "fit", "--no-score")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "fit/replay.toml").read_text(encoding="utf-8")
    assert "120 samples are left out" in text
    # With one sample per second, steps every 15 s cannot be detected; they become jitter, with its
    # distribution and correlation.
    (quantiles,) = (line for line in text.splitlines() if line.startswith("added"))
    base = float(text.partition('rtt = "')[2].split()[0])
    levels = [float(v) for v in re.findall(r"% ([\d.]+) ms", quantiles)]
    assert base + levels[-1] == pytest.approx(slots.max() + 1, abs=1.5)
    tau = float(text.partition('correlation = "')[2].split()[0])
    assert 3_000 < tau < 15_000


@pytest.mark.slow
def test_logs_and_captures_are_imported_for_a_fit(tmp_path: Path, cli: Cli) -> None:
    """A log of pings and a capture of a download are fitted without an explicit import."""
    text = '[run]\nduration = "20 s"\nsample = "20 ms"\n[source.dumbbell]\nrtt = "40 ms"\n[port.bottleneck]\n'
    text += 'rate = "8 Mbit"\nqueue = "100 kB"\n[[flow]]\n'
    (tmp_path / "s.toml").write_text(text)
    done = cli("run", "s.toml", "--cc", "cubic", "--pcap", "--out", "run")
    assert done.returncode == 0, done.stderr
    capture = next((tmp_path / "run").rglob("*.pcapng"))
    lines = [
        f"[{1.7e9 + k / 50:.6f}] 64 bytes from 192.0.2.1: icmp_seq={k + 1} ttl=60 time=40.2 ms" for k in range(500)
    ]
    pings = "\n".join(["PING a (192.0.2.1) 56(84) bytes of data.", *lines, ""])
    (tmp_path / "pings.txt.gz").write_bytes(gzip.compress(pings.encode()))
    (pings_of_log,) = runs_of([tmp_path / "pings.txt.gz"], tmp_path / "scratch")
    probes = probes_of([pings_of_log])
    assert (probes.bytes, probes.size_known, probes.busy, probes.carried_bps) == (84, True, 0, None)
    assert probes.clock_s == pytest.approx(1.7e9, abs=1)
    done = cli("fit", "pings.txt.gz", capture, "--out", "fit", "--no-score")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "fit/replay.toml").read_text(encoding="utf-8")
    assert float(text.partition("[port.bottleneck]\nrate = ")[2].split()[0].strip('"')) == pytest.approx(8, rel=0.02)
    assert "how long the probes were" not in text
    edited = tmp_path / "fit/replay.toml"
    edited.write_text(text + "# mine\n", encoding="utf-8")
    again = ["fit", "pings.txt.gz", capture, "--out", "fit", "--no-score"]
    done = cli(*again)
    assert done.returncode == 2
    assert "pass --force to replace it" in done.stderr.replace("\n", " ")
    assert edited.read_text(encoding="utf-8").endswith("# mine\n")
    assert cli(*again, "--force").returncode == 0
    assert edited.read_text(encoding="utf-8") == text
    (tmp_path / "unsaid.csv").write_text("time,latency\n2025-01-01 00:00:00,30\n2025-01-01 00:00:01,31\n")
    done = cli("fit", "unsaid.csv", "--out", "other")
    assert done.returncode == 2
    assert "perigee import log unsaid.csv takes that" in done.stderr.replace("\n", " ")
    (tmp_path / "x.json").write_text(json.dumps({"a": 1}))
    done = cli("fit", "x.json", "--out", "other")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_a_scenario_keeps_line_breaks_of_folder_names_in_its_texts() -> None:
    path = SimpleNamespace(
        usual_bps=1e7, base=[(0.0, 30.0)], queue_bytes=1e5, duration_s=10.0, loss=0.0, unknown=["a\nb"], early=None,
        reverse_bps=None, added=(), events=None, bursts=None, outages=(), mode="lossy",
    )  # fmt: skip
    odd = 'x"\n[run]\nseed = 7\n"""'
    text = files._scenario(path, odd, f"perigee fit {odd}", scheduled=False)  # type: ignore[arg-type]
    found = tomllib.loads(text)
    assert "seed" not in found["run"]
    assert found["title"].startswith('x"\\n')
