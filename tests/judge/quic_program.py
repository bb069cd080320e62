# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A program over QUIC (aioquic), for tests: a server that reads, and a client that sends.

quic_program.py server PORT CERTIFICATE KEY
quic_program.py client HOST PORT SECONDS BYTES QLOG CONGESTION_CONTROL
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import time

from aioquic.asyncio import connect, serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicFileLogger

CHUNK = b"\0" * (1 << 14)
AHEAD = 1 << 22
"""Bytes that wait in the sender's buffer at most."""


class Receiver(QuicConnectionProtocol):
    """Reports the bytes received, ten times a second, and replies at the end of the stream."""

    total, reported = 0, 0.0

    def quic_event_received(self, event: QuicEvent) -> None:
        """Counts data."""
        if not isinstance(event, StreamDataReceived):
            return
        self.total += len(event.data)
        now = time.monotonic()
        if now - self.reported >= 0.1 or event.end_stream:
            self.reported = now
            print(f"received {self.total}", flush=True)
        if event.end_stream:
            self._quic.send_stream_data(event.stream_id, b"done", end_stream=True)
            self.transmit()


async def receive(port: int, certificate: str, key: str) -> None:
    """Serves for ever."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["zeros"])
    configuration.max_data = configuration.max_stream_data = 1 << 26
    configuration.load_cert_chain(certificate, key)
    await serve("::", port, configuration=configuration, create_protocol=Receiver)
    await asyncio.Event().wait()


async def send(host: str, port: int, seconds: float, length: int, qlog: str, cc: str) -> None:
    """Sends zeros until the time is over or the length is received."""
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["zeros"], verify_mode=ssl.CERT_NONE, congestion_control_algorithm=cc
    )
    configuration.quic_logger = QuicFileLogger(qlog)
    async with connect(host, port, configuration=configuration) as protocol:
        reader, writer = await protocol.create_stream()
        quic, stream = protocol._quic, writer.get_extra_info("stream_id")
        end, sent = time.monotonic() + seconds, 0
        while (sent < length) if length else (time.monotonic() < end):
            waiting = sent - quic._streams[stream].sender._buffer_start if stream in quic._streams else 0
            if waiting > AHEAD:
                await asyncio.sleep(0.005)
                continue
            part = CHUNK[: length - sent] if length else CHUNK
            writer.write(part)
            sent += len(part)
            await asyncio.sleep(0)
        if length:
            writer.write_eof()
            await reader.read()
        else:
            quic.reset_stream(stream, 0)


if __name__ == "__main__":
    if sys.argv[1] == "server":
        asyncio.run(receive(int(sys.argv[2]), sys.argv[3], sys.argv[4]))
    else:
        asyncio.run(send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), sys.argv[6], sys.argv[7]))
