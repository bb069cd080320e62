# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee measure`: server and client over the loopback, bounded in count and time."""

from __future__ import annotations

import math
import os
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from conftest import Cli, command
from perigee_lab.measure import campaign as campaigns
from perigee_lab.measure import clocks, journal, measured, sections, series, trains, transfers
from perigee_lab.measure.fit.observed import TrainRates, probes_of, train_rates
from perigee_lab.measure.net import client, protocol
from perigee_lab.measure.net.client import Peer
from perigee_lab.measure.net.limits import Daily, Limits
from perigee_lab.measure.net.pings import Pace, Pinger
from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.measure.net.server import Server, Session
from perigee_lab.measure.runner import Runner
from perigee_lab.results.beside import said_once
from perigee_lab.results.run import find_records

KEY = b"0123456789abcdef0123"
STUDY = Path(__file__).parents[2] / "campaigns/claypool.toml"


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(KEY, "127.0.0.1", 0, Limits(transfer_bytes=30_000_000, patience_s=0.5))
    found.start()
    yield found
    found.stop()


@pytest.fixture
def slow_server() -> Iterator[Server]:
    found = Server(KEY, "127.0.0.1", 0, Limits(rate_bytes_per_s=4_000_000))
    found.start()
    yield found
    found.stop()


@pytest.fixture
def peer(server: Server) -> Peer:
    return Peer("127.0.0.1", server.port, KEY)


def runner(text: str, folder: Path, server: Server) -> Runner:
    parsed = campaigns.parsed(text, "t")
    book = journal.Journal(folder, parsed.text)
    return Runner(parsed, book, KEY, f"127.0.0.1:{server.port}", lambda _: None, threading.Event())


def test_probes_come_back_with_four_times(peer: Peer) -> None:
    probes = Pinger(peer, Pace(5_000_000, size=100)).run(300_000_000)
    sent, back = np.array(probes.sent), np.array(probes.back)
    assert len(sent) == 60
    assert (back >= 0).sum() >= 55
    assert not probes.remarks
    assert all(c == 1 for c in probes.came)
    fine = back >= 0
    rtt = back - sent - (np.array(probes.left) - np.array(probes.arrived))
    assert (rtt[fine] > 0).all()


def test_downloads_and_uploads_arrive_to_the_byte_with_what_the_kernel_saw(peer: Peer) -> None:
    asked = {"most_bytes": 3_000_001, "most_ns": None, "sample_ns": 10_000_000, "limit_ns": 10**10}
    for work, sender in ((client.download, "127.0.0.1"), (client.upload, "127.0.0.1")):
        found = work(peer, cc=None, **asked)
        assert found.receiver.total[-1] == 3_000_001
        assert not found.remarks
        assert found.origin == sender
        assert found.sender is not None
        assert found.receiver.first_ns is not None
        assert 0 < found.receiver.first_ns <= found.receiver.done_ns
        # The receiver of an upload has another clock, which is estimated within an RTT.
        assert work is client.upload or found.connect_ns < found.receiver.first_ns
        if found.sender.info:
            assert found.sender.info[-1][client.kernel.NAMES.index("bytes_acked")] >= 3_000_001
    with pytest.raises(MeasureError, match="nosuch"):
        client.download(peer, cc="nosuch", **asked)
    with pytest.raises(MeasureError, match="30000000"):
        client.download(peer, cc=None, **asked | {"most_bytes": 30_000_001})


@pytest.mark.slow
def test_a_stranger_gets_less_than_he_sends(server: Server, peer: Peer) -> None:
    """10,000 hostile datagrams and 60 hostile connections: no answer but nonces.

    The server continues.
    """
    session = Pinger(peer, Pace(10_000_000))._join()
    valid = protocol.probe(session.key, session.number, 0, 1, 64)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        sock.settimeout(0.3)
        rng = np.random.default_rng(1)
        sent = 0
        for k in range(10_000):
            spoilt = bytearray(valid)
            spoilt[int(rng.integers(len(valid)))] ^= 1 << int(rng.integers(8))
            packets = (
                rng.bytes(int(rng.integers(0, 1400))),
                bytes(spoilt),
                valid[: k % 64],
                protocol.probe(KEY, k, 0, 1, 64),
            )
            sock.send(packets[k % 4])
            sent += len(packets[k % 4])
            if k % 500 == 0:
                time.sleep(0.01)
        sock.send(valid)
        # The only answer is to the valid one, and no longer than it; a repeated request has none.
        assert len(sock.recv(2048)) == len(valid)
        sock.send(valid)
        with pytest.raises(TimeoutError):
            sock.recv(2048)
    assert server.counts["answers"] == 1
    for k in range(60):
        with socket.create_connection(("127.0.0.1", server.port), timeout=2) as sock:
            greeting = protocol.HELLO.pack(protocol.MAGIC, protocol.VERSION, secrets.token_bytes(16))
            lies = struct.pack(">I", 60) + secrets.token_bytes(92)
            sock.sendall([secrets.token_bytes(24), greeting[: k % 24], greeting + lies, greeting + b"\xff" * 40][k % 4])
            got = b""
            try:
                sock.shutdown(socket.SHUT_WR)
                while part := sock.recv(4096):
                    got += part
            except OSError:
                # It was cut off.
                pass
            assert len(got) in (0, protocol.NONCE_BYTES)
    session.close()
    other = Peer("127.0.0.1", server.port, b"another key of this length")
    with pytest.raises(MeasureError, match="does not take our key"):
        client.ask(other, {"do": "pings"})
    assert (np.array(Pinger(peer, Pace(5_000_000)).run(50_000_000).back) >= 0).any()


def test_a_server_has_bounds(server: Server, peer: Peer) -> None:
    for request, said in (
        ({"do": "pings", "size": 9000, "per_s": 10}, "1400"),
        ({"do": "pings", "size": 64, "per_s": 10**6}, "2000"),
        ({"do": "download", "sample_ns": 10**8}, "neither"),
        ({"do": "download", "bytes": 1, "sample_ns": 1}, "10000000"),
        ({"do": ["download"]}, "does not know"),
        ({"do": "series", "ticket": "x"}, "no such series"),
    ):
        if request["do"] != "series":
            with pytest.raises(MeasureError, match=said):
                client.ask(peer, request)
    daily = Daily(100)
    assert daily.take(60) == 60
    assert daily.take(60) == 40
    assert daily.left() == 0
    server.daily = daily
    with pytest.raises(MeasureError, match="daily"):
        client.ask(peer, {"do": "upload", "bytes": 1, "sample_ns": 10**8})


def test_sessions_count_what_comes_twice_or_late() -> None:
    session = Session(1, b"", "", 64, None)  # type: ignore[arg-type]
    assert [session.first_time(n) for n in (0, 1, 3, 2, 2, 9)] == [True, True, True, True, False, True]
    assert (session.came, session.duplicates, session.reordered) == (5, 1, 1)
    assert session.missing(12) == [[4, 8], [10, 11]]


CAMPAIGN = """
[campaign]
title = "A trial"
cycles = 3
[[step]]
do = "pings"
duration = "400 ms"
interval = "5 ms"
[[step]]
do = "download"
bytes = "1500 kB"
sample = "10 ms"
streams = 2
[[step]]
do = "pings"
beside = true
"""


@pytest.mark.slow
@pytest.mark.skipif(not client.kernel.LINUX, reason="the server's rate is bounded on Linux only")
def test_a_campaign_is_a_record_with_its_report(slow_server: Server, tmp_path: Path, cli: Cli) -> None:
    runner(CAMPAIGN, tmp_path / "out", slow_server).run()
    runs = measured.write_records(tmp_path / "out")
    assert sorted(r.seed for r in runs) == [1, 1, 2, 2, 3, 3]
    first = next(r for r in runs if r.cc != "ping")
    totals = first.table("flow_totals").to_pylist()
    assert [t["goodput_bytes"] for t in totals if t["cc"] != "ping"] == [1_500_000, 1_500_000]
    assert len(first.table("completions")) == 2
    assert first.table("limits").num_rows > 10, "the sender's kernel accounts for its limits"
    for of in first.why():
        assert sum(of.totals().values()) == pytest.approx(of.end_s - of.begin_s)
        assert of.totals()["unknown"] < 0.2 * (of.end_s - of.begin_s)
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    wanted = ("A trial", "Probes: distributions", "Changes of the path", "Start-up and steady state")
    assert [w for w in wanted if w not in page] == []
    assert cli("compare", "out", "out").returncode == 0
    checked = cli("verify", "out")
    assert checked.returncode == 0, checked.stdout
    assert "cannot be repeated" in checked.stdout


@pytest.mark.slow
def test_a_campaign_that_was_killed_goes_on_and_loses_nothing(server: Server, tmp_path: Path) -> None:
    text = CAMPAIGN.replace("400 ms", "500 ms").replace('title = "A trial"', f'server = "127.0.0.1:{server.port}"')
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    words = command("measure", "run", "c.toml", "--out", "out")
    environment = {**os.environ, protocol.KEY_VARIABLE: KEY.decode()}
    lines = tmp_path / "out/measurements/journal.jsonl"
    done = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and (not lines.exists() or len(lines.read_text().splitlines()) < 3):
        time.sleep(0.02)
    done.send_signal(signal.SIGKILL)
    done.wait()
    before = {p.name: p.read_bytes() for p in (tmp_path / "out/measurements").glob("*.npz")}
    # A machine that goes down may leave half a line.
    with lines.open("a") as file:
        file.write('{"cycle": 2, "gr')
    again = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert again.returncode == 0, again.stderr
    assert all((tmp_path / "out/measurements" / n).read_bytes() == b for n, b in before.items())
    assert sorted({r.seed for r in find_records(tmp_path / "out")}) == [1, 2, 3]
    other = tmp_path / "d.toml"
    other.write_text(text + "\n", encoding="utf-8")
    words[words.index("c.toml")] = "d.toml"
    refused = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (refused.returncode, "another campaign" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_a_server_that_is_away_is_waited_for_and_then_given_up(tmp_path: Path) -> None:
    gone = Server(KEY, "127.0.0.1", 0)
    gone.stop()
    told: list[str] = []
    text = '[campaign]\npatience = "1 ms"\n[[step]]\ndo = "download"\nbytes = "1 kB"\n'
    work = runner(text, tmp_path, gone)
    work.tell = told.append
    work.run()
    assert "given up" in told[-1]
    assert work.journal.lines[-1]["failed"]


def test_a_disk_without_room_stops_it_with_a_remedy(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = runner(CAMPAIGN, tmp_path, server)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("U", (), {"free": 1 << 20}))
    with pytest.raises(MeasureError, match="make room and give the same command again"):
        work.run()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[campaign]\n", "one [[step]] at least"),
        ('[[step]]\ndo = "dance"\n', "line 2: do = 'dance': it may be download"),
        ('[[step]]\ndo = "pings"\n', "need a duration"),
        ('[[step]]\ndo = "download"\nbytes = "1 apple"\n', "line 3: bytes = '1 apple': an amount"),
        ('[[step]]\ndo = "download"\nbytes = "1 MB"\ninterval = "1 s"\n', "line 4: interval has no effect on download"),
        ('[campaign]\ncycle = 3\n[[step]]\ndo = "pause"\nduration = "1 s"\n', "line 2: there is no key cycle"),
        ('[campaign]\nhours = "20:00-08:00"\n[[step]]\ndo = "pause"\nduration = "1 s"\n', "before the second"),
        ('[[step]]\ndo = "pings"\nbeside = true\n', "nothing to be beside"),
        ("[[step]]\ndo = \n", "line 2"),
        (f"x = {'9' * 5000}\n", "4300 digits"),
        (f"x = {'[' * 5000}\n", "nested too deep"),
    ],
)
def test_mistakes_in_campaigns_are_named(text: str, said: str) -> None:
    with pytest.raises(MeasureError) as error:
        campaigns.parsed(text, "t")
    assert said in str(error.value)


def test_a_timetable_opens_at_its_hours() -> None:
    text = '[campaign]\nhours = "08:00-20:00"\ndays = ["mon", "tue"]\n[[step]]\ndo = "pause"\nduration = "1 s"\n'
    found = campaigns.parsed(text, "t")
    monday = datetime(2026, 11, 23, 9, 30)
    assert found.opens(monday) == monday
    assert found.opens(monday.replace(hour=21)) == datetime(2026, 11, 24, 8, 0)
    assert found.opens(datetime(2026, 11, 24, 20, 0)) == datetime(2026, 11, 30, 8, 0)


def test_the_campaign_of_the_study_is_the_study_s() -> None:
    found = campaigns.read_campaign(STUDY)
    assert (found.cycles, found.every) == (80, 420 * 10**9)
    transfers = [s for s in found.steps if s.do == "download"]
    assert [(s.cc, s.bytes) for s in transfers] == [("cubic", 10**9), ("bbr", 10**9)]
    assert next(s for s in found.steps if s.do == "pings").interval == 200_000_000


def test_the_campaign_of_the_page_and_its_options_are_real(cli: Cli) -> None:
    folder = Path(__file__).parents[2] / "docs/how-to"
    page = "".join((folder / name).read_text(encoding="utf-8") for name in ("measure.md", "measure-campaign.md"))
    (text,) = re.findall(r"```toml\n(\[campaign\].*?)```", page, re.S)
    assert campaigns.parsed(text, "page").patience == 3600 * 10**9
    for name in ("run", "serve"):
        shown = cli("measure", name, "--help").stdout
        # Text before the command belongs to another, as in `perigee exec … --at london 'perigee
        # measure serve'`.
        lines = [
            line.partition(f"measure {name}")[2] or line
            for line in page.splitlines()
            if f"measure {name}" in line or f"`{name} --" in line
        ]
        assert {o for line in lines for o in re.findall(r"--[a-z-]+", line)} <= set(re.findall(r"--[a-z-]+", shown))


@pytest.mark.slow
def test_a_folder_in_which_nothing_was_measured_takes_another_campaign(
    server: Server, tmp_path: Path, cli: Cli
) -> None:
    key = tmp_path / "key"
    key.write_bytes(KEY)
    words = ("measure", "run", "--key-file", key, "--out", "out", "--pings", "1s")
    failed = cli(*words, "127.0.0.1:none")
    assert failed.returncode == 2
    assert "nothing was measured yet: no record in out" in failed.stderr
    done = cli(*words, f"127.0.0.1:{server.port}")
    assert done.returncode == 0, done.stderr
    other = cli(*words, f"127.0.0.1:{server.port}", "--runs", "2")
    assert (other.returncode, "another campaign" in other.stderr, other.stdout) == (2, True, "")


def test_keys_are_needed_and_long_enough(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "k").write_text("short\n", encoding="utf-8")
    done = cli("measure", "run", "127.0.0.1", "--pings", "1s", "--key-file", "k")
    assert (done.returncode, "at least 16 bytes" in done.stderr) == (2, True)
    assert cli("measure", "key", "new").returncode == 0
    assert (tmp_path / "new").stat().st_mode & 0o77 == 0
    again = cli("measure", "key", "new")
    assert (again.returncode, "new exists, and keys are never replaced" in again.stderr) == (2, True)
    done = cli("measure", "run", "127.0.0.1", "--pings", "1s", "--key-file", "nowhere")
    assert (done.returncode, "no such file (create one with `perigee measure key FILE`" in done.stderr) == (2, True)
    done = cli("measure", "run", "127.0.0.1", "--key-file", "new")
    assert (done.returncode, "nothing to measure" in done.stderr) == (2, True)


def test_the_offset_of_two_clocks_is_found_with_its_drift() -> None:
    rng = np.random.default_rng(2)
    sent = np.arange(3000, dtype=np.int64) * 100_000_000
    out = 20_000_000 + rng.exponential(3e6, 3000).astype(np.int64)
    back = 20_000_000 + rng.exponential(1e6, 3000).astype(np.int64)
    theta = 5_000_000_000 + (sent * 30e-6).astype(np.int64)
    arrived = sent + out + theta
    home = sent + out + back
    found = clocks.offset_of(sent, arrived, arrived, home, np.zeros(3000, np.int64))
    assert found.drift_ppm == pytest.approx(30, abs=0.5)
    assert np.abs((arrived - sent - found.at) - out).max() < 500_000
    assert found.error_ns == pytest.approx(20e6, rel=0.02)


def test_steps_of_the_base_rtt_are_found_and_noise_is_not() -> None:
    rng = np.random.default_rng(3)
    t = np.arange(0, 120, 0.02)
    base = 30 + 8 * (np.floor((t - 8.77) / 15) % 2)
    rtt = base + rng.gamma(2, 1.0, len(t))
    found = series.steps(t, rtt)
    assert [round(s.t_s - 8.77, 1) % 15 for s in found] == pytest.approx([0.0] * 8, abs=0.3)
    grid = series.grid([s.t_s for s in found])
    assert grid.found
    assert grid.phase_s == pytest.approx(8.77, abs=0.1)
    assert series.steps(t, 30 + rng.gamma(2, 1.0, len(t))) == []
    assert not series.grid(rng.uniform(0, 600, 40)).found


def test_runs_of_losses_and_correlation() -> None:
    found = series.losses(np.array([0, 1, 1, 0, 1, 0, 0, 1], dtype=bool))
    assert (found.starts.tolist(), found.lengths.tolist(), found.lost) == ([1, 4, 7], [2, 1, 1], 4)
    rng = np.random.default_rng(4)
    x = np.zeros(20_000)
    keep = math.exp(-0.1 / 2.0)
    for k in range(1, len(x)):
        x[k] = keep * x[k - 1] + math.sqrt(1 - keep**2) * rng.normal()
    t = np.arange(len(x)) * 0.1
    assert series.correlation_s(t, x) == pytest.approx(2.0, rel=0.25)
    assert series.correlation_s(t, rng.normal(size=len(x))) < 0.1


def test_remarks_that_differ_in_numbers_are_said_once() -> None:
    few = ["a: 1 of 2 lost", "a: 3 of 4 lost", "other"]
    assert said_once([*few, *few]) == few
    many = [f"off by {k}.5 ms" for k in range(9)]
    assert said_once([*many, "other"]) == ["off by 0.5 ms (and 8 more that differ in their numbers)", "other"]


def test_uploads_are_told_apart_from_downloads_of_the_same_scheme(server: Server, tmp_path: Path) -> None:
    steps = "".join(f'[[step]]\ndo = "{do}"\nbytes = "200 kB"\nsample = "10 ms"\n' for do in ("download", "upload"))
    runner(f"[campaign]\ntitle = 'Both'\n{steps}", tmp_path / "out", server).run()
    down, up = measured.write_records(tmp_path / "out")
    assert up.cc == f"{down.cc}-up"
    assert [t["cc"] for t in up.table("flow_totals").to_pylist()] == [down.cc]


def sent_in_trains(spacing_there_ns: int, spacing_back_ns: int, lost: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    """Columns of six trains of ten, one a second, that leave with 1 us between their packets."""
    n = np.arange(60)
    train, place = n // 10, n % 10
    sent = train * 10**9 + place * 1000
    arrived = train * 10**9 + 10**7 + place * spacing_there_ns
    left = train * 10**9 + 2 * 10**7 + place * 1000
    back = train * 10**9 + 3 * 10**7 + place * spacing_back_ns
    gone = np.isin(n, lost)
    return {"sent": sent, "arrived": arrived, "left": left, "back": np.where(gone, -1, back)}


def test_trains_tell_the_rate_of_each_way_as_far_as_they_are_spread() -> None:
    about = {"burst": 10, "size": 1222, "header_bytes": 28}
    # 1250 bytes a millisecond are 10 Mbit/s; back they come as dense as they left.
    found = trains.trains_of(sent_in_trains(10**6, 1000), about)
    assert found.first.tolist() == [0, 10, 20, 30, 40, 50]
    assert found.mbps["there"] == pytest.approx([10.0] * 6)
    there, back = (trains.capacity(found.mbps[way], found.spread[way]) for way in ("there", "back"))
    assert there is not None
    assert back is not None
    assert (there.mbps, there.least, back.least) == (pytest.approx(10), False, True)
    assert "at least 10000.0 Mbit/s" in back.told
    # A train with a single arrival has no rate; one that lost its last packets has one.
    short = trains.trains_of(sent_in_trains(10**6, 10**6, (*range(1, 10), 18, 19, 20)), about)
    assert short.first.tolist() == [0, 10, 21, 30, 40, 50]
    assert math.isnan(short.mbps["there"][0])
    assert short.mbps["there"][1:] == pytest.approx([10.0] * 5)
    assert trains.capacity(short.mbps["there"][:4], short.spread["there"][:4]) is None


def test_the_report_says_what_trains_of_all_cycles_say(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [
        TrainRates("down", np.full(12, 20.0), np.full(12, 16.0)),
        TrainRates("up", np.array([5.0, 5.1, np.nan]), np.full(3, 40.0)),
    ]
    monkeypatch.setattr("perigee_lab.measure.fit.observed.train_rates", lambda _: told)
    found = sections.dispersion([])
    assert found is not None
    assert found["table"][1:] == [
        ["on the way there", "3", "too few", "-", "-"],
        ["on the way back", "12", "20.00", "20.00 to 20.00", "20.00 to 20.00"],
    ]
    assert found["image"].startswith("data:image/png")
    monkeypatch.setattr("perigee_lab.measure.fit.observed.train_rates", lambda _: [])
    assert sections.dispersion([]) is None


def test_what_trains_differ_by_is_stated() -> None:
    rates = np.random.default_rng(3).normal(50, 5, 200)
    found = trains.capacity(rates, np.full(200, 10.0))
    assert found is not None
    assert found.low < 50 < found.high
    assert found.high - found.low < 3
    assert found.tenth == pytest.approx(50 - 1.28 * 5, abs=1.5)
    assert f"{found.mbps:.2f} Mbit/s from 200 trains" in found.told


def test_answers_to_a_train_leave_together_also_without_its_last_probe(server: Server, peer: Peer) -> None:
    joined = Pinger(peer, Pace(10**9, burst=4, size=200, train=True))._join()
    with joined.sock as sock:
        sock.setblocking(True)
        sock.settimeout(5)

        def send(number: int, last: int) -> None:
            sock.send(protocol.probe(joined.key, joined.number, number, 1, 200, last))

        def answered(count: int) -> list[protocol.Seen]:
            found = [protocol.verified(joined.key, sock.recv(2048)) for _ in range(count)]
            assert all(f is not None for f in found)
            return [f for f in found if f is not None]

        for n in (0, 1, 2, 3):
            send(n, 3)
        first = answered(4)
        assert [f.number for f in first] == [0, 1, 2, 3]
        assert min(f.left_ns for f in first) >= max(f.arrived_ns for f in first)
        # The last of the next train is lost: what came is answered when another train comes, or
        # after a while.
        send(4, 7)
        send(8, 11)
        assert [f.number for f in answered(2)] == [4, 8]
    joined.close()


def test_trains_of_a_campaign_are_in_its_record(server: Server, tmp_path: Path) -> None:
    steps = '[[step]]\ndo = "trains"\nduration = "700 ms"\ninterval = "100 ms"\nburst = 5\nsize = 1200\n'
    runner(f"[campaign]\ntitle = 'T'\n{steps}", tmp_path / "out", server).run()
    (run,) = measured.write_records(tmp_path / "out")
    assert len(run.table("flows")) == 7
    (total,) = run.table("flow_totals").to_pylist()
    assert (total["sent_packets"], total["delivered_packets"]) == (35, 35)
    remarks = "\n".join(run.manifest["warnings"])
    assert "on the way there: " in remarks
    assert "on the way back: " in remarks
    assert {t.way: len(t.mbps) for t in train_rates([run])} == {"up": 7, "down": 7}
    # They are no series of probes that a delay could be fitted to.
    with pytest.raises(MeasureError, match="no quiet probes"):
        probes_of([run])


@pytest.mark.slow
@pytest.mark.skipif(not client.kernel.LINUX, reason="the server's rate is bounded on Linux only")
def test_downloads_of_different_sizes_have_no_common_mean(slow_server: Server, tmp_path: Path) -> None:
    def step(amount: str, cc: str) -> str:
        return f'[[step]]\ndo = "download"\ncc = "{cc}"\nbytes = "{amount}"\nsample = "10 ms"\n'

    text = "[campaign]\ntitle = 'Sizes'\n" + step("1 MB", "cubic") + step("2 MB", "cubic")
    out = tmp_path / "out"
    runner(text + step("1 MB", "reno"), out, slow_server).run()
    old = out / "cubic/seed1"
    (run,) = [r for r in measured.write_records(out) if (r.cc, r.seed) == ("cubic-1MB", 1)]
    # A record that an earlier version made of both goes.
    shutil.copytree(run.folder, old)
    runs = measured.write_records(out)
    assert not old.parent.exists()
    assert sorted({r.cc for r in runs}) == ["cubic-1MB", "cubic-2MB", "newreno-1MB"]
    found = transfers.kinds(runs)
    assert sorted((k.name, k.cc) for k in found) == [
        ("download 1MB", "cubic"), ("download 1MB", "newreno"), ("download 2MB", "cubic"),
    ]  # fmt: skip
