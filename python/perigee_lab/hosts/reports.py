# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the process with the hosts of a run in real time tells the core.

A part of the script `namespaces.py`: it needs nothing but Python's own library.
"""

from __future__ import annotations

import socket
import struct

# Kinds of reports (`report.rs`), and flags in the number of what they are about.
BEGUN, FAILED, READY, WROTE, EXITED, ANSWERED = 4, 6, 7, 8, 9, 13
PROGRAM, ERRORS = 1 << 30, 1 << 29
HEADER = bytes(12) + b"\x88\xb5"


def send(
    control: socket.socket, kind: int, number: int, more: bytes = b"", at_ns: int = 0, file: int | None = None
) -> None:
    """A report, as an agent in a guest sends them, after its length."""
    payload = struct.pack("=QI", at_ns, number) + more
    frame = HEADER + struct.pack("=HH", kind, len(payload)) + payload
    message = struct.pack("=I", len(frame)) + frame
    if file is None:
        control.sendall(message)
    else:
        socket.send_fds(control, [message], [file])
