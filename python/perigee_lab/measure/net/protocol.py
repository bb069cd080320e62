# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurement protocol: messages and authentication.

A TCP connection starts with 24 bytes of the client (magic, version, nonce); the server answers with
16 bytes (its nonce), and sends nothing else before it has received a message with a valid
HMAC-SHA256 (RFC 2104) under a key derived from both nonces and the shared key. An unauthenticated
client thus receives less than it sent. Messages are deflated JSON, each with its length and an HMAC
over its body and sequence number.

Probes are UDP packets with a 128-bit HMAC under a key of their session; an answer is as long as its
probe. The probes of a train are answered back to back after the last one has arrived.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import stat
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perigee_lab.common import names
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.messages import complain

MAGIC = b"PRGM"
VERSION = 1
PORT = 4620
NONCE_BYTES = 16
HELLO = struct.Struct(">4sB3x16s")
LENGTH = struct.Struct(">I")
MAC_BYTES = 32
STRANGER_BYTES = 4096
"""Maximum length of a message before authentication."""
KEY_VARIABLE = "PERIGEE_MEASURE_KEY"
LEAST_KEY_BYTES = 16
HASH = "sha256"

# Magic, kind, session, number and the client's send time; the server adds its own times and the
# number of probes received before. In trains, the client sends the number of the last probe in that
# field.
PROBE = struct.Struct(">4sB3xQIqqqI")
PROBE_MAC_BYTES = 16
PROBE_BYTES = PROBE.size + PROBE_MAC_BYTES
"""UDP payload of the shortest probe."""
ASK, ANSWER, TRAIN = 1, 2, 3


@dataclass(frozen=True)
class Bound:
    """Limits of a message: bytes of its JSON, values, and lists or objects."""

    most_bytes: int
    values: int
    lists: int

    def admits(self, text: bytes) -> bool:
        """Whether a text is within the limits; counted before it is parsed, which takes memory."""
        return len(text) <= self.most_bytes and (
            text.count(b",") < self.values and text.count(b"[") + text.count(b"{") <= self.lists
        )


REQUEST = Bound(16 << 10, 64, 4)
REPLY = Bound(64 << 10, 64, 4)
COUNT = Bound(4 << 20, 300_000, 150_000)
"""Lost probes, as up to 100,000 pairs of numbers."""
SERIES = Bound(32 << 20, 6_000_000, 250_000)
"""Half an hour of TCP_INFO at the shortest interval."""


class MeasureError(PerigeeError):
    """A measurement cannot continue; the message states the remedy."""


class StrangerError(Exception):
    """The other end uses another key or another protocol."""


def read_key(file: Path | None) -> bytes:
    """Reads the shared key from a file or PERIGEE_MEASURE_KEY. Raises MeasureError."""
    if file is None:
        text = os.environ.get(KEY_VARIABLE, "")
        where = f"the variable {KEY_VARIABLE}"
        if not text:
            raise MeasureError(
                f"no key: give --key-file FILE (perigee measure key FILE makes one) or set {KEY_VARIABLE}"
            )
    else:
        try:
            text = file.read_text(encoding="utf-8")
            _warn_of_readers(file)
        except FileNotFoundError:
            raise MeasureError(
                f"--key-file {file}: there is no such file (perigee measure key FILE makes one, for both ends)"
            ) from None
        except OSError as error:
            raise MeasureError(f"--key-file {file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise MeasureError(f"--key-file {file}: it is no text, so no key") from None
        where = str(file)
    key = text.strip().encode()
    if len(key) < LEAST_KEY_BYTES:
        raise MeasureError(f"{where}: a key has {LEAST_KEY_BYTES} characters at least, this one {len(key)}")
    return key


def _warn_of_readers(file: Path) -> None:
    mode = file.stat().st_mode
    if os.name == "posix" and stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        complain(f"{file}: other users of this machine may read or change this key: chmod 600 {file}")


def new_key() -> str:
    """A random key of 256 bits."""
    return secrets.token_hex(32)


def derived(key: bytes, *parts: bytes) -> bytes:
    """Derives a key for one purpose."""
    return hmac.digest(key, b"".join(struct.pack(">I", len(p)) + p for p in parts), HASH)


class Channel:
    """An authenticated connection."""

    def __init__(self, sock: socket.socket, session: bytes, *, server: bool) -> None:
        """Creates a channel; `session` is the key derived from both nonces."""
        self.sock, self.session = sock, session
        self.ours, self.theirs = (b"s", b"c") if server else (b"c", b"s")
        self.sent = self.received = 0
        self.known = not server
        """Whether the other end is authenticated; until then, a server uses a short timeout."""

    @classmethod
    def connect(cls, sock: socket.socket, key: bytes) -> Channel:
        """The client's side. Raises OSError, StrangerError."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sock.sendall(HELLO.pack(MAGIC, VERSION, nonce))
        other = exactly(sock, NONCE_BYTES)
        return cls(sock, derived(key, b"session", nonce, other), server=False)

    @classmethod
    def accept(cls, sock: socket.socket, key: bytes) -> Channel:
        """The server's side. Raises OSError, StrangerError."""
        magic, version, nonce = HELLO.unpack(exactly(sock, HELLO.size))
        if magic != MAGIC or version != VERSION:
            raise StrangerError("no greeting")
        own = secrets.token_bytes(NONCE_BYTES)
        sock.sendall(own)
        return cls(sock, derived(key, b"session", nonce, own), server=True)

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends a message."""
        self.send_packed(packed(message))

    def send_packed(self, body: bytes) -> None:
        """Sends a message that `packed` has encoded."""
        mac = self._mac(self.ours, self.sent, body)
        self.sent += 1
        self.sock.sendall(LENGTH.pack(len(body)) + mac + body)

    def receive(self, bound: Bound = REQUEST) -> dict[str, Any]:
        """Receives the next message within the bound.

        Raises StrangerError if it is not authentic; OSError if the connection failed or timed out.
        """
        (length,) = LENGTH.unpack(exactly(self.sock, LENGTH.size))
        if length > (bound.most_bytes if self.known else STRANGER_BYTES):
            raise StrangerError("a message of an unlikely length")
        mac = exactly(self.sock, MAC_BYTES)
        body = exactly(self.sock, length)
        if not hmac.compare_digest(mac, self._mac(self.theirs, self.received, body)):
            raise StrangerError("a message without a valid signature: the keys differ")
        self.received += 1
        self.known = True
        return _parsed(body, bound)

    def key_for(self, purpose: bytes) -> bytes:
        """Derives a key, which is the same at both ends."""
        return derived(self.session, purpose)

    def _mac(self, side: bytes, number: int, body: bytes) -> bytes:
        return hmac.digest(self.session, side + struct.pack(">Q", number) + body, HASH)


def packed(message: Mapping[str, Any]) -> bytes:
    """The body of a message."""
    return zlib.compress(json.dumps(message, separators=(",", ":")).encode(), 1)


def _parsed(body: bytes, bound: Bound) -> dict[str, Any]:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(body, bound.most_bytes + 1)
        if not bound.admits(text):
            raise StrangerError("a message of an unlikely length")
        found = json.loads(text)
    except (zlib.error, ValueError, RecursionError):
        raise StrangerError("a message that is no JSON") from None
    if not isinstance(found, dict):
        raise StrangerError("a message that is no object")
    # Invisible characters can only be in escapes and in non-ASCII text.
    if (b"\\" in text or not text.isascii()) and (why := names.problem_in(found)) is not None:
        raise StrangerError(f"a message in which a text {why.partition(';')[0]}")
    return found


def exactly(sock: socket.socket, size: int) -> bytes:
    """Receives exactly `size` bytes. Raises ConnectionError if the connection ends earlier."""
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(min(size - len(parts), 1 << 16))
        if not part:
            raise ConnectionError("the other end closed the connection")
        parts += part
    return bytes(parts)


@dataclass(frozen=True)
class Seen:
    """A received probe; times in ns, each by the clock of the end that wrote it."""

    session: int
    number: int
    sent_ns: int
    arrived_ns: int
    left_ns: int
    before: int
    """Number of probes of this session that the server has received, this one included; in trains
    from the client, the number of the last probe."""


def probe(key: bytes, session: int, number: int, sent_ns: int, size: int, last: int | None = None) -> bytes:
    """Encodes a client's probe; `last` is the number of the last probe of its train."""
    kind = ASK if last is None else TRAIN
    return _signed(key, PROBE.pack(MAGIC, kind, session, number, sent_ns, 0, 0, last or 0), size)


def answer(key: bytes, asked: Seen, arrived_ns: int, left_ns: int, before: int, size: int) -> bytes:
    """Encodes the answer to a probe, of the same length."""
    head = PROBE.pack(MAGIC, ANSWER, asked.session, asked.number, asked.sent_ns, arrived_ns, left_ns, before)
    return _signed(key, head, size)


def session_of(packet: bytes, *kinds: int) -> int | None:
    """The session number in a packet, unverified; None if the packet is not a probe."""
    if len(packet) < PROBE_BYTES or packet[:4] != MAGIC or packet[4] not in kinds:
        return None
    return int.from_bytes(packet[8:16], "big")


def verified(key: bytes, packet: bytes) -> Seen | None:
    """Verifies and decodes a probe of a known session; None if its HMAC is invalid."""
    mac = packet[PROBE.size : PROBE_BYTES]
    if not hmac.compare_digest(mac, _mac(key, packet[: PROBE.size], packet[PROBE_BYTES:])):
        return None
    _, _, session, number, sent, arrived, left, before = PROBE.unpack_from(packet)
    return Seen(session, number, sent, arrived, left, before)


def _signed(key: bytes, head: bytes, size: int) -> bytes:
    filling = bytes(max(0, size - PROBE_BYTES))
    return head + _mac(key, head, filling) + filling


def _mac(key: bytes, head: bytes, filling: bytes) -> bytes:
    return hmac.digest(key, head + filling, HASH)[:PROBE_MAC_BYTES]
