# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A protocol analyser, if one is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

TSHARK = shutil.which("tshark")


def tshark(path: Path, display_filter: str, *fields: str, lua: str | None = None) -> list[list[str]]:
    """Fields of the packets that pass a filter, optionally with a custom dissector."""
    assert TSHARK is not None
    words = [TSHARK, "-r", str(path), "-Y", display_filter, "-T", "fields"]
    words += ["-X", f"lua_script:{lua}"] if lua else []
    words += ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    for f in fields:
        words += ["-e", f]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]
