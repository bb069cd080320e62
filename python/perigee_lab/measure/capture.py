# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Captures (pcap, pcapng, compressed or not) as records; `crates/perigee-capture` reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common import names
from perigee_lab.common.files import RecordError
from perigee_lab.measure import wireshark
from perigee_lab.measure.store import UNKNOWN, About, manifest_of, stored

if TYPE_CHECKING:
    from perigee_lab.results.manifest import Manifest
    from perigee_lab.results.writer import RecordWriter

PLACES = ("sender", "receiver")


@dataclass(frozen=True)
class Reading:
    """Options of an import."""

    at: str | None = None
    """Capture point, sender or receiver; None = inferred from each handshake."""
    cc: str = UNKNOWN
    sample_ns: int = 100_000_000
    warmup_ns: int = 0
    wireshark: bool = False
    """Also counts the flags of Wireshark's analysis."""


class CaptureStopped(Exception):  # noqa: N818 - nothing is wrong
    """The import was stopped."""


def import_capture(
    file: Path,
    reading: Reading,
    out: Path | None = None,
    *,
    force: bool = False,
    progress: Callable[[int], bool] | None = None,
) -> Path:
    """Imports a capture as a record; returns its folder.

    `progress` receives the number of bytes read; if it returns False, the import stops.

    Raises:
        RecordError: the file is not a capture or has no connection with data, or the record exists.
        CaptureStopped: `progress` returned False.
        OSError: a file cannot be read or written.
    """
    if not file.is_file():
        raise RecordError(f"{file}: there is no such file" if not file.exists() else f"{file} is no plain file")
    refuse_name(file)

    # Before the record is created: tshark may be missing.
    theirs = {wireshark.KEY: wireshark.classified(file)} if reading.wireshark else {}

    def make(writer: RecordWriter) -> Manifest:
        try:
            found = _core.import_capture(
                file, writer, reading.cc, reading.sample_ns, reading.warmup_ns, reading.at, progress
            )
        except _core.RunError as error:
            raise RecordError(f"{file}: {error.args[0]}") from None
        if found is None:
            raise CaptureStopped
        facts: dict[str, Any] = json.loads(found)
        refuse_warmup(file, reading.warmup_ns, facts["duration_ns"])
        about = About(
            backend="capture",
            name=stem_of(file),
            title=f"Capture {file.name}",
            cc=reading.cc,
            began_ns=facts["began_ns"],
            duration_ns=facts["duration_ns"],
            sample_ns=reading.sample_ns,
            warmup_ns=reading.warmup_ns,
            flows=facts["flows"],
            nodes=facts["nodes"],
            remarks=facts["remarks"],
            files=[file],
            more={
                "capture": {"packets": facts["packets"], "connections": facts["connections"], "at": reading.at},
                **theirs,
            },
        )
        return manifest_of(about, facts["tables"])

    return stored(out, stem_of(file), reading.cc, make, force=force, section=wireshark.section)


def refuse_warmup(file: Path, warmup_ns: int, duration_ns: int) -> None:
    """Raises RecordError if the warm-up covers the entire capture: no metric would have samples."""
    if warmup_ns and warmup_ns >= duration_ns:
        raise RecordError(
            f"{file}: --warmup {warmup_ns / 1e9:g}s leaves out all of its {duration_ns / 1e9:g} s; take less"
        )


def refuse_name(file: Path) -> None:
    """Raises RecordError for a file with a name that no record can have."""
    if why := names.problem(file.name):
        raise RecordError(f"{names.visible(str(file))}: the file's name {why}")


def stem_of(file: Path) -> str:
    """A file's name without its extensions."""
    name = file.name
    for ending in (".gz", ".pcapng", ".pcap", ".cap", ".json", ".csv", ".txt", ".log"):
        name = name.removesuffix(ending)
    return name or file.name
