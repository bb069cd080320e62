# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurement server under load: idle connections, daily amounts, large messages, few descriptors."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Begin, wait_for
from perigee_lab.measure.net import client, protocol
from perigee_lab.measure.net.client import Peer
from perigee_lab.measure.net.limits import Daily, Limits, Lobby
from perigee_lab.measure.net.protocol import Channel, MeasureError
from perigee_lab.measure.net.server import MAX_NUMBER, Server, Session

KEY = b"0123456789abcdef0123"
IDLE = 24


@contextlib.contextmanager
def serving(limits: Limits | None = None) -> Iterator[tuple[Server, Peer]]:
    """A running server and how to reach it."""
    server = Server(KEY, "127.0.0.1", 0, limits)
    server.start()
    yield server, Peer("127.0.0.1", server.port, KEY)
    server.stop()


def idle(port: int, over: threading.Event) -> None:
    """Holds a connection without a word, and opens another as soon as it is closed."""
    while not over.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            sock.settimeout(0.2)
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    if not sock.recv(1):
                        break


def is_served(peer: Peer) -> bool:
    """Whether a client with the key gets an answer at its first try."""
    try:
        client._ask_once(peer, {"do": "nothing"}, None, None, protocol.REPLY)
    except MeasureError as error:
        return "does not know" in str(error)
    except OSError:
        return False
    return False


def test_idle_strangers_keep_no_client_with_the_key_out() -> None:
    over = threading.Event()
    with serving() as (server, peer):
        threads = [threading.Thread(target=idle, args=(server.port, over)) for _ in range(IDLE)]
        for t in threads:
            t.start()
        wait_for(lambda: server.counts["displaced connections"] >= IDLE)
        served = sum(is_served(peer) for _ in range(50))
        over.set()
        for t in threads:
            t.join()
    # Each of them reconnects as fast as it can, from the client's own address.
    assert served >= 45


def test_an_address_displaces_its_own_first_and_idle_ones_before_greeted_ones() -> None:
    sockets = [socket.socket() for _ in range(9)]
    lobby = Lobby(6, 3)
    for s in sockets[:3]:
        assert lobby.enter(s, "10.0.0.1") is None
    lobby.greet(sockets[0])
    assert lobby.enter(sockets[3], "10.0.0.1") is sockets[1]
    for s in sockets[4:7]:
        assert lobby.enter(s, "2001:db8::1") is None
    assert lobby.enter(sockets[7], "2001:db8::2") is sockets[4], "one network of 64 bits"
    # All places are taken: one of an address that has the most gives way.
    assert lobby.enter(sockets[8], "::ffff:192.0.2.1") in (sockets[2], sockets[5])
    assert len(lobby.waiting) == 6
    for s in sockets:
        lobby.leave(s)
        s.close()
    assert not lobby.waiting
    assert not lobby.greeted


def test_a_daily_amount_bounds_parallel_downloads_to_the_byte() -> None:
    most = 20_000_000
    with serving(Limits(daily_bytes=most, transfer_bytes=most)) as (server, peer):
        got: list[int] = []

        def load() -> None:
            with contextlib.suppress(OSError, MeasureError):
                found = client.download(peer, cc=None, most_bytes=most, most_ns=None, sample_ns=10**8, limit_ns=10**10)
                got.append(found.receiver.total[-1])

        threads = [threading.Thread(target=load) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sum(got) <= most
        assert server.daily.left() == 0
        with pytest.raises(MeasureError, match="daily amount leaves 0"):
            client.ask(peer, {"do": "download", "bytes": 1, "sample_ns": 10**8})


def test_what_was_sent_before_a_reset_is_counted() -> None:
    with serving() as (server, peer):
        asked = client.ask(peer, {"do": "download", "bytes": 30_000_000, "sample_ns": 10**8})
        sock = asked.channel.sock
        got = len(sock.recv(1 << 20, socket.MSG_WAITALL))
        # Closed with data unread: a reset.
        sock.close()
        wait_for(lambda: bool(server.series))
        assert server.daily.total >= got > 0


def test_bytes_that_were_taken_and_not_sent_are_given_back() -> None:
    daily = Daily(100)
    assert (daily.take(80), daily.take(80), daily.take(1)) == (80, 20, 0)
    daily.give_back(30)
    assert (daily.left(), daily.take(40)) == (30, 30)


@pytest.mark.parametrize(
    "text",
    [
        b'{"do": "pings", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"do": "pings", "x": [' + b"[]," * 1_000_000 + b"[]]}",
        b'{"do": "pings", "x": "' + b"x" * 30_000_000 + b'"}',
        b'{"do": "pings", "x": ' + b"9" * 15_000 + b"}",
        b'{"do": "pings", "per_s": 1e999, "size": -1}',
    ],
)
def test_a_large_message_is_refused_before_it_is_parsed(text: bytes) -> None:
    with serving() as (_, peer):
        sock = socket.create_connection((peer.host, peer.port), timeout=20)
        with sock:
            channel = Channel.connect(sock, KEY)
            channel.send_packed(zlib.compress(text, 9))
            with contextlib.suppress(OSError):
                assert "error" in channel.receive(protocol.REPLY)
        assert is_served(peer)


def test_a_session_bounds_numbers_and_lists_gaps_of_any_length() -> None:
    session = Session(1, b"", "", 64, None, per_s=100)  # type: ignore[arg-type]
    assert session.may_have_sent(100)
    assert not session.may_have_sent(1 << 20)
    for number in (0, 1, 7, 8, 9, 70_000):
        session.first_time(number)
    assert session.missing(10) == [[2, 6]]
    assert session.missing(MAX_NUMBER * 4) == [[2, 6], [10, 69_999], [70_001, MAX_NUMBER - 1]]


def test_kept_series_are_bounded_in_bytes() -> None:
    with serving(Limits(kept_bytes=1000)) as (server, _):
        for n in range(20):
            server._keep(str(n), bytes(300))
        assert list(server.series) == ["17", "18", "19"]
        server._keep("large", bytes(2000))
        assert not server.series


def test_a_server_with_thirty_descriptors_serves_among_two_hundred_connections(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))

    # Imports need descriptors of their own.
    with serving():
        process: subprocess.Popen[str] = begin(
            "measure", "serve", "--port=0", "--host=127.0.0.1", "--key-file=key", preexec_fn=few
        )
        assert process.stdout is not None
        port = int(process.stdout.readline().split("port ")[1].split(",")[0])
        others = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        peer = Peer("127.0.0.1", port, KEY)
        deadline = time.monotonic() + 60
        while not is_served(peer):
            assert time.monotonic() < deadline, "no client gets in"
        for sock in others:
            sock.close()
        assert process.poll() is None


def test_answers_of_a_server_have_no_more_than_their_bound() -> None:
    assert protocol.REPLY.admits(json.dumps({"a": [1] * 50}).encode())
    assert not protocol.REPLY.admits(json.dumps({"a": [1] * 100}).encode())
    assert not protocol.REQUEST.admits(b"[" * 5)
    assert protocol.SERIES.admits(json.dumps({"info": [[1] * 24] * 1000}).encode())
