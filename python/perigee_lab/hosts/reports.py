# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reports from the process of hosts in real time to the core.

A part of the script `namespaces.py`: it uses Python's standard library only.
"""

from __future__ import annotations

import socket
import struct

# Kinds of reports (`report.rs`), and flags in the number of their subject.
BEGUN, FAILED, READY, WROTE, EXITED, ANSWERED = 4, 6, 7, 8, 9, 13
PROGRAM, ERRORS = 1 << 30, 1 << 29
HEADER = bytes(12) + b"\x88\xb5"


def send(
    control: socket.socket, kind: int, number: int, more: bytes = b"", at_ns: int = 0, file: int | None = None
) -> None:
    """Sends a report after its length, in the format of a guest's agent."""
    payload = struct.pack("=QI", at_ns, number) + more
    frame = HEADER + struct.pack("=HH", kind, len(payload)) + payload
    message = struct.pack("=I", len(frame)) + frame
    if file is None:
        control.sendall(message)
    else:
        socket.send_fds(control, [message], [file])
