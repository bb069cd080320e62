# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurement protocol: messages and authentication.

On a TCP connection, the client first sends 24 bytes (magic, version, nonce) and the server 16 bytes
(its nonce). The server sends nothing else until it has received a message with a valid HMAC-SHA256
(RFC 2104) under a key derived from both nonces and the shared key, so that an unauthenticated client
receives less than it sends. Messages are JSON compressed with zlib, each preceded by its length and
an HMAC over its body and sequence number.

Probes are UDP packets with a 128-bit HMAC under a key of their session; a reply is as long as its
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
from perigee_lab.common.reading import counted

MAGIC = b"PRGM"
VERSION = 1
PORT = 4620
NONCE_BYTES = 16
HELLO = struct.Struct(">4sB3x16s")
LENGTH = struct.Struct(">I")
MAC_BYTES = 32
UNAUTHENTICATED_BYTES = 4096
"""Maximum length of a message before authentication."""
KEY_VARIABLE = "PERIGEE_MEASURE_KEY"
MIN_KEY_BYTES = 16
HASH = "sha256"

# Magic, kind, session, number, send time, arrival and departure at the server (ns), and a count. The
# server fills in its times and the number of probes received; in trains, the client sends the number
# of the last probe as the count.
PROBE = struct.Struct(">4sB3xQIqqqI")
PROBE_MAC_BYTES = 16
PROBE_BYTES = PROBE.size + PROBE_MAC_BYTES
"""UDP payload of the shortest probe."""
ASK, ANSWER, TRAIN = 1, 2, 3


@dataclass(frozen=True)
class Bound:
    """Limits of a message: bytes of its JSON, number of values, and number of lists and objects."""

    most_bytes: int
    values: int
    lists: int

    def admits(self, text: bytes) -> bool:
        """Whether a text is within the limits. Evaluated before parsing, which takes more memory."""
        if len(text) > self.most_bytes:
            return False
        commas, lists = counted(text)
        return commas < self.values and lists <= self.lists


REQUEST = Bound(16 << 10, 64, 4)
REPLY = Bound(64 << 10, 64, 4)
COUNT = Bound(4 << 20, 300_000, 150_000)
"""Ranges of lost probes: up to 100,000 pairs of numbers."""
SERIES = Bound(32 << 20, 6_000_000, 250_000)
"""Series of TCP_INFO: half an hour at the shortest interval."""


class MeasureError(PerigeeError):
    """A measurement cannot continue; the message states the remedy."""


class StrangerError(Exception):
    """The peer uses another key or another protocol."""


def read_key(file: Path | None) -> bytes:
    """Reads the shared key from a file, or from PERIGEE_MEASURE_KEY if None.

    Raises:
        MeasureError: there is none, it is unreadable, or it has fewer than 16 bytes.
    """
    if file is None:
        text = os.environ.get(KEY_VARIABLE, "")
        where = f"the variable {KEY_VARIABLE}"
        if not text:
            raise MeasureError(
                f"no key: pass --key-file FILE (create one with `perigee measure key FILE`) or set {KEY_VARIABLE}"
            )
    else:
        try:
            text = file.read_text(encoding="utf-8")
            _warn_of_readers(file)
        except FileNotFoundError:
            raise MeasureError(
                f"--key-file {file}: no such file (create one with `perigee measure key FILE`; both ends need it)"
            ) from None
        except OSError as error:
            raise MeasureError(f"--key-file {file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise MeasureError(f"--key-file {file}: not a key file: it contains binary data") from None
        where = str(file)
    key = text.strip().encode()
    if len(key) < MIN_KEY_BYTES:
        raise MeasureError(f"{where}: the key must have at least {MIN_KEY_BYTES} bytes, but has {len(key)}")
    return key


def _warn_of_readers(file: Path) -> None:
    mode = file.stat().st_mode
    if os.name == "posix" and stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        complain(f"{file}: other users of this machine can read or change this key; run chmod 600 {file}")


def new_key() -> str:
    """A random key of 256 bits, as 64 hexadecimal digits."""
    return secrets.token_hex(32)


def derived(key: bytes, *parts: bytes) -> bytes:
    """Derives a key for the purpose that the parts state: an HMAC over them under `key`."""
    return hmac.digest(key, b"".join(struct.pack(">I", len(p)) + p for p in parts), HASH)


class Channel:
    """An authenticated connection."""

    def __init__(self, sock: socket.socket, session: bytes, *, server: bool) -> None:
        """Creates a channel; `session` is the key derived from both nonces."""
        self.sock, self.session = sock, session
        self.ours, self.theirs = (b"s", b"c") if server else (b"c", b"s")
        self.sent = self.received = 0
        self.known = not server
        """Whether the peer is authenticated; until then, a server limits time and length."""

    @classmethod
    def connect(cls, sock: socket.socket, key: bytes) -> Channel:
        """Opens a channel as the client. Raises OSError."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sock.sendall(HELLO.pack(MAGIC, VERSION, nonce))
        other = exactly(sock, NONCE_BYTES)
        return cls(sock, derived(key, b"session", nonce, other), server=False)

    @classmethod
    def accept(cls, sock: socket.socket, key: bytes) -> Channel:
        """Opens a channel as the server. Raises OSError; StrangerError for another protocol."""
        magic, version, nonce = HELLO.unpack(exactly(sock, HELLO.size))
        if magic != MAGIC or version != VERSION:
            raise StrangerError("not a client of this protocol version")
        own = secrets.token_bytes(NONCE_BYTES)
        sock.sendall(own)
        return cls(sock, derived(key, b"session", nonce, own), server=True)

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends a message. Raises OSError."""
        self.send_packed(packed(message))

    def send_packed(self, body: bytes) -> None:
        """Sends a message encoded by `packed`. Raises OSError."""
        mac = self._mac(self.ours, self.sent, body)
        self.sent += 1
        self.sock.sendall(LENGTH.pack(len(body)) + mac + body)

    def receive(self, bound: Bound = REQUEST) -> dict[str, Any]:
        """Receives the next message.

        Raises:
            StrangerError: it is not authentic, exceeds the bound, or is not a JSON object.
            OSError: the connection failed or timed out.
        """
        (length,) = LENGTH.unpack(exactly(self.sock, LENGTH.size))
        if length > (bound.most_bytes if self.known else UNAUTHENTICATED_BYTES):
            raise StrangerError(f"a message of {length} bytes exceeds the limit")
        mac = exactly(self.sock, MAC_BYTES)
        body = exactly(self.sock, length)
        if not hmac.compare_digest(mac, self._mac(self.theirs, self.received, body)):
            raise StrangerError("a message with an invalid HMAC: client and server have different keys")
        self.received += 1
        self.known = True
        return _parsed(body, bound)

    def key_for(self, purpose: bytes) -> bytes:
        """Derives a key of this session, the same at both ends."""
        return derived(self.session, purpose)

    def _mac(self, side: bytes, number: int, body: bytes) -> bytes:
        return hmac.digest(self.session, side + struct.pack(">Q", number) + body, HASH)


def packed(message: Mapping[str, Any]) -> bytes:
    """Encodes the body of a message."""
    return zlib.compress(json.dumps(message, separators=(",", ":")).encode(), 1)


def _parsed(body: bytes, bound: Bound) -> dict[str, Any]:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(body, bound.most_bytes + 1)
        if not bound.admits(text):
            raise StrangerError("a message that exceeds the limits when decompressed")
        found = json.loads(text)
    except (zlib.error, ValueError, RecursionError):
        raise StrangerError("a message that is not JSON") from None
    if not isinstance(found, dict):
        raise StrangerError("a message that is not a JSON object")
    # Invisible characters can only be in escapes and in non-ASCII text.
    if (b"\\" in text or not text.isascii()) and (why := names.problem_in(found)) is not None:
        raise StrangerError(f"a message with a text that {why.partition(';')[0]}")
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
    """A received probe or reply. Times are in ns, by the clock of the end that wrote them."""

    session: int
    number: int
    sent_ns: int
    arrived_ns: int
    left_ns: int
    before: int
    """In replies: number of probes of this session received by the server, this one included. In
    probes of a train: number of its last probe."""


def probe(key: bytes, session: int, number: int, sent_ns: int, size: int, last: int | None = None) -> bytes:
    """Encodes a probe with a UDP payload of `size` bytes; `last`: number of the last of its train."""
    kind = ASK if last is None else TRAIN
    return _signed(key, PROBE.pack(MAGIC, kind, session, number, sent_ns, 0, 0, last or 0), size)


def answer(key: bytes, asked: Seen, arrived_ns: int, left_ns: int, before: int, size: int) -> bytes:
    """Encodes the reply to a probe with a UDP payload of `size` bytes, that of the probe."""
    head = PROBE.pack(MAGIC, ANSWER, asked.session, asked.number, asked.sent_ns, arrived_ns, left_ns, before)
    return _signed(key, head, size)


def session_of(packet: bytes, *kinds: int) -> int | None:
    """Session number of a packet, unverified; None if it is not of one of these kinds."""
    if len(packet) < PROBE_BYTES or packet[:4] != MAGIC or packet[4] not in kinds:
        return None
    return int.from_bytes(packet[8:16], "big")


def verified(key: bytes, packet: bytes) -> Seen | None:
    """Verifies and decodes a packet of a known session; None if its HMAC is invalid."""
    mac = packet[PROBE.size : PROBE_BYTES]
    if not hmac.compare_digest(mac, _mac(key, packet[: PROBE.size], packet[PROBE_BYTES:])):
        return None
    _, _, session, number, sent, arrived, left, before = PROBE.unpack_from(packet)
    return Seen(session, number, sent, arrived, left, before)


def _signed(key: bytes, head: bytes, size: int) -> bytes:
    padding = bytes(max(0, size - PROBE_BYTES))
    return head + _mac(key, head, padding) + padding


def _mac(key: bytes, head: bytes, padding: bytes) -> bytes:
    return hmac.digest(key, head + padding, HASH)[:PROBE_MAC_BYTES]
