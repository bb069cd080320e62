# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A program over TCP, for tests: a server that reads, and a client that sends for a time or a length.

tcp_program.py server PORT [FAULT]
tcp_program.py client HOST PORT SECONDS BYTES
"""

from __future__ import annotations

import socket
import sys
import time


def serve(port: int, fault: str) -> None:
    """Reads what each connection sends; the fault `slow` reads 100 kB a second only."""
    listening = socket.create_server(("::", port), family=socket.AF_INET6)
    if fault == "slow":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
    while True:
        connection, _ = listening.accept()
        with connection:
            while connection.recv(10_000 if fault == "slow" else 1 << 16):
                if fault == "slow":
                    time.sleep(0.1)


def send(host: str, port: int, seconds: float, length: int) -> None:
    """Sends zeros until the time is over, or the length is received."""
    chunk = b"\0" * (1 << 14)
    with connected(host, port) as connection:
        end = time.monotonic() + seconds
        while length > 0 or (length == 0 and time.monotonic() < end):
            connection.sendall(chunk[:length] if 0 < length < len(chunk) else chunk)
            if length > 0:
                length -= min(length, len(chunk))
                if length == 0:
                    break
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def connected(host: str, port: int) -> socket.socket:
    """A connection; the server may still be starting."""
    for _ in range(50):
        try:
            return socket.create_connection((host, port))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("the server refuses connections")


if __name__ == "__main__":
    if sys.argv[1] == "server":
        serve(int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "none")
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
