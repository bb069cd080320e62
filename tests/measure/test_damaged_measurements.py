# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Damaged measurements, silent paths and hostile servers: named, with what can be read reported."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuzz_readers
from conftest import Cli
from perigee_lab.common.exit_codes import FAILED
from perigee_lab.measure import campaign, journal, measured
from perigee_lab.measure.net import pings
from perigee_lab.measure.net.protocol import Channel
from perigee_lab.measure.net.server import Server
from perigee_lab.measure.runner import Runner
from perigee_lab.results.run import find_records

KEY = b"0123456789abcdef0123"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with probes, trains, a download and an upload."""
    folder = tmp_path_factory.mktemp("measured")
    fuzz_readers.make_measured(folder)
    return folder / "out"


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


def files(out: Path) -> list[Path]:
    """The measurements of a campaign."""
    return sorted((out / "measurements").glob("*.npz"))


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes columns or description (`about`) of a measurement."""
    with np.load(path) as data:
        parts: dict[str, Any] = {k: data[k] for k in data.files}
    parts["about"] = json.loads(parts["about"].tobytes())
    change(parts)
    parts["about"] = np.frombuffer(json.dumps(parts["about"]).encode(), np.uint8)
    np.savez_compressed(path, **parts)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_a_damaged_measurement_is_named_and_the_others_are_reported(cli: Cli, out: Path, content: bytes | None) -> None:
    first = files(out)[0]
    first.write_bytes(first.read_bytes()[:-200] if content is None else content)
    done = cli("measure", "report", "out")
    assert done.returncode == FAILED
    assert f"{Path('out/measurements') / first.name} is damaged" in done.stderr
    assert "Traceback" not in done.stderr
    assert (out / "report.html").exists()
    assert {r.cc for r in find_records(out)} >= {"ping"}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("began_ns", 1 << 62, "began_ns is"),
        ("began_ns", "x", "began_ns is"),
        ("burst", 0, "burst is 0"),
        ("name", "a\x1b[2Jb", "name"),
        ("do", [], "do is"),
        ("remarks", {}, "remarks is"),
    ],
)
def test_an_odd_description_is_named(out: Path, key: str, value: object, said: str) -> None:
    rewritten(files(out)[0], lambda parts: parts["about"].update({key: value}))
    told: list[str] = []
    measured.write_records(out, tell=told.append)
    assert len(told) == 1
    assert said in told[0]
    assert files(out)[0].name in told[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sent", np.zeros(0, np.int64)),
        ("sent", np.full(3, -(1 << 63))),
        ("back", np.zeros((3, 3), np.int64)),
        ("came", np.full(30, 7)),
        ("wall", np.zeros(3, np.int64)),
        ("arrived", np.zeros(30)),
        ("left", None),
    ],
)
def test_an_odd_column_is_named(out: Path, name: str, value: object) -> None:
    rewritten(files(out)[0], lambda parts: parts.pop(name) if value is None else parts.update({name: value}))
    told: list[str] = []
    measured.write_records(out, tell=told.append)
    assert len(told) == 1


def test_a_resumed_campaign_keeps_a_damaged_piece_and_measures_its_time_again(out: Path) -> None:
    first = files(out)[0]
    first.write_bytes(b"")
    text = (out / "measurements/campaign.toml").read_text(encoding="utf-8")
    book = journal.Journal(out, text)
    assert book.kept(1, 0, 0) == []
    assert book.next_piece(1, 0, 0) == 1
    assert first.exists()


def test_odd_lines_of_a_journal_are_ignored(out: Path) -> None:
    path = out / "measurements/journal.jsonl"
    good = path.read_text(encoding="utf-8")
    path.write_text('{"cycle": "x"}\n{}\n' + good, encoding="utf-8")
    assert len(journal.read_lines(path)) == len(good.splitlines())


@pytest.mark.slow
def test_a_path_without_udp_is_named_soon_and_its_downloads_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "_one_probe", lambda *_: None)
    monkeypatch.setattr(pings, "SILENCE_S", 0.2)
    monkeypatch.setattr(pings, "LATE_S", 0.2)
    server = Server(KEY, "127.0.0.1", 0)
    server.start()
    text = '[campaign]\n[[step]]\ndo = "download"\nbytes = "1 MB"\n[[step]]\ndo = "pings"\nduration = "1 s"\n'
    text += '[[step]]\ndo = "trains"\nduration = "300 ms"\n[[step]]\ndo = "upload"\nbytes = "1 MB"\n'
    parsed = campaign.parsed(text, "t")
    told: list[str] = []
    book = journal.Journal(tmp_path / "out", text)
    Runner(parsed, book, KEY, f"127.0.0.1:{server.port}", told.append, threading.Event()).run()
    server.stop()
    [line, _] = [t for t in told if "the path allows UDP" in t]
    # Of 50 probes in the second, some ten were sent when it was said.
    assert int(line.split("none of ")[1].split()[0]) < 45
    measured.write_records(tmp_path / "out")
    assert "No probe was answered" in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert len(find_records(tmp_path / "out")) == 3


# Answers to each request of a campaign, by a server that has the key and lies.
SERIES = {"t_ns": [0, 1], "total": [0, 9], "info": [], "names": [], "first_ns": 0, "done_ns": 1, "why": ""}
LIES: list[dict[str, Any]] = [
    {},
    {"session": "x", "port": 1},
    {"session": -1, "port": 1},
    {"session": 1 << 70, "port": 1},
    {"session": 1, "port": 0},
    {"session": 1, "port": 1 << 20},
    {"session": 1, "port": None},
    {"ticket": [], "cc": "cubic"},
    {"ticket": "t", "cc": None},
    {"ticket": "t", "cc": "c" * 4000},
    {"ticket": "t", "cc": {"a": 1}},
    {"ticket": "t", "cc": "cubic", "buffer": "x"},
    {"ticket": "t", "cc": "cubic", "buffer": 1 << 80},
    {"error": {"a": []}},
    {"error": "x" * 10_000},
    *(SERIES | {"ticket": "t", "cc": "cubic", "session": 1, "port": 1} | odd for odd in (
        {"t_ns": "x"}, {"t_ns": [0, "x"]}, {"t_ns": [1 << 70, 1 << 71]}, {"t_ns": [5, 1]}, {"total": [0]},
        {"total": [9, 0]}, {"info": [[1]]}, {"info": "x"}, {"names": {}}, {"done_ns": None}, {"done_ns": -1},
        {"first_ns": "x"}, {"why": ["x"]}, {"missing": [[0, 1 << 60]] * 3}, {"missing": [[5, 1]]}, {"missing": 3},
    )),
]  # fmt: skip


@pytest.fixture
def liar() -> Iterator[Callable[[dict[str, Any]], int]]:
    """Starts a server that answers everything with one message, and sends a megabyte."""
    sockets: list[socket.socket] = []

    def start(answer: dict[str, Any]) -> int:
        tcp = socket.create_server(("127.0.0.1", 0))
        sockets.append(tcp)

        def serve(sock: socket.socket) -> None:
            with sock:
                try:
                    channel = Channel.accept(sock, KEY)
                    request = channel.receive()
                    channel.send(answer)
                    if request["do"] == "download":
                        sock.sendall(bytes(1_000_000))
                        return
                    while sock.recv(1 << 16):
                        if request["do"] in ("pings", "trains"):
                            channel.send(answer)
                    channel.send(answer)
                except OSError:
                    return

        def accept() -> None:
            while True:
                try:
                    sock, _ = tcp.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(sock,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return int(tcp.getsockname()[1])

    yield start
    for tcp in sockets:
        tcp.close()


def told_to(lie: dict[str, Any]) -> list[str]:
    """Steps of which a lie is an answer."""
    if "t_ns" in lie:
        return ["pings"] if "missing" in lie else ["download", "upload"]
    return ["pings"] if "session" in lie else ["download"] if "ticket" in lie else ["download", "upload", "pings"]


@pytest.mark.parametrize(("number", "do"), [(n, do) for n, lie in enumerate(LIES) for do in told_to(lie)])
def test_a_hostile_server_gets_a_line_or_a_remark(
    cli: Cli, tmp_path: Path, liar: Callable[[dict[str, Any]], int], number: int, do: str
) -> None:
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)
    size = 'duration = "100 ms"' if do == "pings" else 'bytes = "1 MB"'
    text = f'[campaign]\npatience = "1 ms"\n[[step]]\ndo = "{do}"\n{size}\n'
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    done = cli("measure", "run", "c.toml", f"--server=127.0.0.1:{liar(LIES[number])}", "--key-file=key", "--out=out")
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode == 0:
        # The lie concerned another step, or only what the other end saw.
        assert find_records(tmp_path / "out")
    else:
        assert done.stderr.count("perigee: ") >= 1


@pytest.mark.slow
def test_a_hundred_mutated_campaigns_end_in_a_report_or_a_line() -> None:
    assert fuzz_readers.main(100, 7, "measured") == 0
