# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee measure` under faults: a full disk, a server that vanishes or forgets a session."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from conftest import PATIENCE_S, command, little_room
from perigee_lab.measure import journal
from perigee_lab.measure.net import client, pings, protocol
from perigee_lab.measure.net.client import Peer
from perigee_lab.measure.net.limits import Limits
from perigee_lab.measure.net.pings import Pace, Pinger
from perigee_lab.measure.net.server import Server
from perigee_lab.results.run import find_records

KEY = b"0123456789abcdef0123"
ENVIRONMENT = {**os.environ, protocol.KEY_VARIABLE: KEY.decode()}
linux = pytest.mark.skipif(not client.kernel.LINUX, reason="the server's rate is bounded on Linux only")


def run(folder: Path, *, largest: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs `perigee measure run c.toml` with a limit on file sizes."""
    limit = None if largest is None else (lambda: little_room(largest))
    words = command("measure", "run", "c.toml", "--out", "out", *(["--no-report"] if largest else []))
    return subprocess.run(
        words,
        cwd=folder,
        env=ENVIRONMENT | ({} if largest is None else {"PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit,
    )


@pytest.mark.slow
@linux
def test_a_disk_that_fills_during_a_write_loses_nothing(tmp_path: Path) -> None:
    server = Server(KEY, "127.0.0.1", 0, Limits(rate_bytes_per_s=4_000_000))
    server.start()
    text = f"""
[campaign]
server = "127.0.0.1:{server.port}"
[[step]]
do = "pings"
duration = "100 ms"
interval = "5 ms"
[[step]]
do = "download"
bytes = "12 MB"
sample = "10 ms"
"""
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    full = run(tmp_path, largest=4096)
    assert full.returncode == 1, full.stderr
    assert "File too large" in full.stderr
    assert "00001-01-0000-0000.npz" in full.stderr
    assert "Traceback" not in full.stderr
    # The pings are stored; no part is left of the download, which could not be written.
    parts = sorted(p.name for p in (tmp_path / "out/measurements").iterdir() if p.suffix != ".toml")
    assert parts == ["00001-00-0000-0000.npz", "journal.jsonl"]
    kept = (tmp_path / "out/measurements/00001-00-0000-0000.npz").read_bytes()
    again = run(tmp_path)
    server.stop()
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "out/measurements/00001-00-0000-0000.npz").read_bytes() == kept
    (bulk,) = (r for r in find_records(tmp_path / "out") if r.cc != "ping")
    assert [t["goodput_bytes"] for t in bulk.table("flow_totals").to_pylist() if t["cc"] != "ping"] == [12_000_000]


@contextmanager
def served(port: int) -> Iterator[subprocess.Popen[str]]:
    words = command("measure", "serve", "--host", "127.0.0.1", "--port", str(port), "--max-rate", "32Mbit")
    process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("measure: port")
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.alone
@linux
@pytest.mark.parametrize("size", ['bytes = "20 MB"', 'duration = "20 s"'])
def test_a_server_that_vanishes_leaves_what_came_and_is_found_again(tmp_path: Path, size: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = f"""
[campaign]
server = "127.0.0.1:{port}"
[[step]]
do = "download"
{size}
[[step]]
do = "download"
bytes = "1 MB"
"""
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    words = command("measure", "run", "c.toml", "--out", "out", "--no-report")
    with served(port) as first:
        work = subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        assert work.stderr is not None
        time.sleep(2.5)
        first.send_signal(signal.SIGKILL)
        said = work.stderr.readline()
    with served(port):
        _, rest = work.communicate(timeout=PATIENCE_S)
    assert work.returncode == 0, said + rest
    whole, cut = (p.about for p in sorted(journal.read_parts(tmp_path / "out"), key=lambda p: -p.group))
    assert whole["remarks"] == []
    assert any("ended early" in r for r in cut["remarks"])
    assert any("what the sender saw is missing" in r for r in cut["remarks"])
    totals = {p.group: int(p.columns["r_total"][-1]) for p in journal.read_parts(tmp_path / "out")}
    assert 0 < totals[0] < 20_000_000
    assert totals[1] == 1_000_000


@pytest.mark.alone
@linux
def test_a_transfer_that_was_cut_is_not_in_the_mean_of_whole_ones(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    step = '[[step]]\ndo = "download"\nbytes = "16 MB"\n'
    text = f'[campaign]\nserver = "127.0.0.1:{port}"\ncycles = 2\n{step}'
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    words = command("measure", "run", "c.toml", "--out", "out")
    with served(port) as first:
        work = subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        # 16 MB take four seconds at 32 Mbit/s; the kernel sends a part of them without the process.
        assert work.stderr is not None
        assert "cycle 1" in work.stderr.readline()
        time.sleep(0.5)
        first.send_signal(signal.SIGKILL)
    with served(port):
        _, rest = work.communicate(timeout=PATIENCE_S)
    assert work.returncode == 0, rest
    (cc,) = {r.cc.removesuffix("-cut") for r in find_records(tmp_path / "out")}
    found = {
        (r.cc, r.seed): r.table("flow_totals").to_pylist()[0]["goodput_bytes"] for r in find_records(tmp_path / "out")
    }
    assert found[cc, 1] == 16_000_000
    assert 0 < found[f"{cc}-cut", 2] < 16_000_000
    assert len(found) == 2


@pytest.mark.slow
def test_a_wrong_key_ends_a_campaign_at_once(tmp_path: Path) -> None:
    server = Server(b"another key of some length", "127.0.0.1", 0)
    server.start()
    for step in (
        'do = "pings"\nduration = "1 s"',
        'do = "download"\nbytes = "1 MB"',
        'do = "trains"\nduration = "2 s"',
    ):
        text = f'[campaign]\nserver = "127.0.0.1:{server.port}"\n[[step]]\n{step}\n'
        (tmp_path / "c.toml").write_text(text, encoding="utf-8")
        begin = time.monotonic()
        done = run(tmp_path)
        assert done.returncode == 2, done.stderr
        assert "does not take our key" in done.stderr
        assert "tried again" not in done.stderr
        assert time.monotonic() - begin < 60
        (tmp_path / "out/measurements/campaign.toml").unlink()
    server.stop()


def test_a_server_that_is_stopped_as_it_greets_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "REFUSED_PAUSE_S", 0.01)
    server = Server(KEY, "127.0.0.1", 0)
    greeted = server._greeted
    failed: list[int] = []

    def first_fails(sock: socket.socket) -> object:
        channel, request = greeted(sock)
        if len(failed) < client.REFUSALS - 1:
            failed.append(1)
            raise protocol.StrangerError("stopped")
        return channel, request

    monkeypatch.setattr(server, "_greeted", first_fails)
    server.start()
    asked = client.ask(Peer("127.0.0.1", server.port, KEY), {"do": "trains", "size": 100, "per_s": 20, "train": 20})
    asked.channel.sock.close()
    assert "session" in asked.reply
    assert len(failed) == 2
    server.stop()


@pytest.mark.alone
def test_the_rate_of_a_server_bounds_uploads_too() -> None:
    server = Server(KEY, "127.0.0.1", 0, Limits(rate_bytes_per_s=1_000_000))
    server.start()
    peer = Peer("127.0.0.1", server.port, KEY)
    found = client.upload(peer, cc=None, most_bytes=3_000_000, most_ns=None, sample_ns=50_000_000, limit_ns=10**11)
    server.stop()
    assert not found.remarks
    assert found.receiver.total[-1] == 3_000_000
    # The data read never exceeds the rate by more than 0.1 s worth of it.
    for t, total in zip(found.receiver.t_ns, found.receiver.total, strict=True):
        assert total <= 1_000_000 * (t / 1e9 + 0.1), (t, total)
    assert found.receiver.done_ns > 2.8e9


@pytest.mark.alone
def test_a_session_that_the_server_drops_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pings, "KEEP_ALIVE_S", 0.2)
    server = Server(KEY, "127.0.0.1", 0)
    server.start()
    pinger = Pinger(Peer("127.0.0.1", server.port, KEY), Pace(10_000_000))

    def forget() -> None:
        time.sleep(0.4)
        assert pinger.joined is not None
        # The server drops a session with its connection.
        pinger.joined.asked.channel.sock.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=forget, daemon=True).start()
    probes = pinger.run(1_500_000_000)
    server.stop()
    assert any("lost the session" in r for r in probes.remarks)
    epoch, back = np.array(probes.epoch), np.array(probes.back)
    assert set(epoch) == {0, 1}
    # Probes before and after are answered; those in between are lost.
    assert (back[epoch == 0] >= 0).sum() >= 20
    assert (back[epoch == 1] >= 0).mean() > 0.9
    assert (back < 0).sum() > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pings", "2"], "--pings '2': a time such as"),
        (["--pings", "2s", "--interval", "x"], "--interval 'x': a time such as"),
        (["--trains", 'a"b'], "--trains 'a\"b': a time such as"),
        (["--download", "5"], "--download '5': "),
        (["--download", "5MB", "--sample", "1ms"], "--sample "),
    ],
)
def test_a_wrong_value_is_named_by_its_option(tmp_path: Path, words: list[str], said: str) -> None:
    done = subprocess.run(
        command("measure", "run", "127.0.0.1:9", *words),
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"perigee: {said}"), done.stderr
    assert "line" not in done.stderr
