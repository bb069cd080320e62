# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Inputs of a fit: records, or logs and captures, which are imported."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.common.files import RecordError
from perigee_lab.measure.capture import Reading, import_capture
from perigee_lab.measure.logs.model import Asked
from perigee_lab.measure.logs.record import import_log
from perigee_lab.measure.store import UNKNOWN
from perigee_lab.results.run import find_records

if TYPE_CHECKING:
    from perigee_lab.results.run import Run

GZIP = b"\x1f\x8b"
CAPTURES = {bytes.fromhex(m) for m in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a")}
"""Magic numbers of pcap (microseconds and nanoseconds, either byte order) and pcapng."""
FINE_NS = 20_000_000
"""Time between rows of an imported capture, short enough to resolve outages at handovers."""


def runs_of(given: Sequence[Path], scratch: Path) -> list[Run]:
    """The records among these paths, and imports of the others.

    Imports are written to `scratch`, which must exist as long as they are in use.

    Raises RecordError if a path is not a record, log or capture, or needs an option; OSError.
    """
    found: list[Run] = []
    for number, path in enumerate(given):
        if not path.is_file():
            found += find_records(path)
            continue
        out = scratch / str(number)
        if _is_capture(path):
            import_capture(path, Reading(None, UNKNOWN, FINE_NS, 0), out)
        else:
            _log(path, out)
        found += find_records(out)
    return found


def _log(path: Path, out: Path) -> None:
    try:
        import_log(path, Asked(), out)
    except RecordError as error:
        told = str(error)
        if "--" in told:
            told += f"; perigee import log {path} takes that and makes a record, which perigee fit takes"
        elif "is no log of" in told:
            told += "; recorded rates or delays without names, a line each, are --rates and --delays"
        raise RecordError(told) from None


def _is_capture(path: Path) -> bool:
    """Whether a file, compressed or not, is a capture according to its first bytes."""
    with path.open("rb") as opened:
        head = opened.read(4)
    if head[:2] == GZIP:
        try:
            with gzip.open(path) as packed:
                head = packed.read(4)
        except (OSError, EOFError):
            # The readers of logs report damage.
            return False
    return head in CAPTURES
