# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Stored measurement: the file of one step, read and validated.

A file is a NumPy archive without pickled objects: a description in JSON, and columns of integers.
It is checked before it is used: members and their sizes, keys and their types, lengths and ranges.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common import names
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.reading import UnreadableError, opened
from perigee_lab.common.structures import Reader
from perigee_lab.measure.net.kernel import NAMES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Columns = Mapping[str, npt.NDArray[np.int64]]

META = "about"
MOST_BYTES = 1 << 30
"""Largest unpacked size of a measurement: an hour of probes has 200 MB at the highest rate."""
MOST_MEMBERS = 32
MOST = 1 << 61
"""Bound of all numbers: sums and differences of two of them still fit 64 bits."""
MOST_WALL_NS = 4 * 10**18
NAME = re.compile(r"(\d{5})-(\d{2})-(\d{4})-(\d{4})\.npz")
PROBES = ("sent", "back", "arrived", "left", "epoch", "came")
LOST = -1


class DamagedError(PerigeeError):
    """A measurement is damaged; the message names file, reason and remedy."""


@dataclass
class Part:
    """A measurement: numbers of cycle, group, piece and step, description, and columns."""

    cycle: int
    group: int
    piece: int
    step: int
    about: dict[str, Any]
    columns: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"{self.cycle:05d}-{self.group:02d}-{self.piece:04d}-{self.step:04d}.npz"


@dataclass(frozen=True)
class _About:
    """Description of any measurement."""

    do: str
    name: str
    server: str
    began_ns: int
    bytes: int | None
    duration_ns: int | None
    sample_ns: int
    remarks: tuple[str, ...] = field(metadata={"free": True})


@dataclass(frozen=True)
class _AboutProbes(_About):
    """Description of probes or trains."""

    interval_ns: int = field(kw_only=True)
    burst: int = field(kw_only=True)
    size: int = field(kw_only=True)
    mono_ns: int = field(kw_only=True)
    duplicates: int = field(kw_only=True)
    there_twice: int = field(kw_only=True)
    reordered: int = field(kw_only=True)
    there_reordered: int = field(kw_only=True)
    header_bytes: int = field(kw_only=True)


@dataclass(frozen=True)
class _AboutTransfer(_About):
    """Description of a transfer."""

    cc: str = field(kw_only=True)
    origin: str = field(kw_only=True, metadata={"key": "from"})
    target: str = field(kw_only=True, metadata={"key": "to"})
    connect_ns: int = field(kw_only=True)
    first_ns: int | None = field(kw_only=True)
    done_ns: int = field(kw_only=True)
    why: str = field(kw_only=True, metadata={"free": True})
    sender_zero_ns: int = field(kw_only=True)


def read_part(path: Path) -> Part:
    """Reads and validates a measurement. Raises DamagedError."""
    numbers = NAME.fullmatch(path.name)
    if numbers is None:
        raise _damaged(path, "its name is none of a measurement (CYCLE-GROUP-PIECE-STEP.npz)")
    try:
        about, columns = _read(path)
        _check_about(path, about)
        _check_columns(columns, about)
    except UnreadableError as error:
        raise _damaged(path, str(error.strerror)) from None
    except zipfile.BadZipFile:
        raise _damaged(path, "it is empty" if path.stat().st_size == 0 else "it is cut or no archive") from None
    except (
        OSError, ValueError, KeyError, EOFError, TypeError, MemoryError, RuntimeError, NotImplementedError,
        RecursionError, AttributeError, struct.error, zlib.error,
    ) as error:  # fmt: skip
        # All of them are raised by NumPy and zipfile for archives with damaged members.
        raise _damaged(path, " ".join(str(error).split())[:120] or type(error).__name__) from None
    cycle, group, piece, step = (int(n) for n in numbers.groups())
    return Part(cycle, group, piece, step, about, columns)


def _damaged(path: Path, why: str) -> DamagedError:
    return DamagedError(f"{path} is damaged: {names.visible(why)}; it is left out (remove it to measure it again)")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    import numpy as np

    with opened(path) as file:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            size = sum(m.file_size for m in members)
            if size > MOST_BYTES or len(members) > MOST_MEMBERS:
                raise ValueError(f"{len(members)} members of {size / 1e6:,.0f} MB are no measurement")
        file.seek(0)
        with np.load(file, allow_pickle=False) as data:
            columns = {k: data[k] for k in data.files if k != META}
            about = json.loads(data[META].tobytes())
    return about, columns


def _check_about(path: Path, about: Any) -> None:
    reader = Reader(path, lambda text: ValueError(text.removeprefix(f"{path}: ")))
    kind = _AboutProbes if isinstance(about, dict) and about.get("do") in ("pings", "trains") else _AboutTransfer
    found = reader.structure(kind, about)
    if found.do not in ("pings", "trains", "download", "upload"):
        raise ValueError(f"do is {found.do!r}: no such step")
    if not 0 <= found.began_ns < MOST_WALL_NS:
        raise ValueError(f"began_ns is {found.began_ns}")
    for key, value in vars(found).items():
        if isinstance(value, int) and not 0 <= value < MOST and not (key == "sender_zero_ns" and abs(value) < MOST):
            raise ValueError(f"{key} is {value}, must be 0 or more")
    if isinstance(found, _AboutProbes) and not (0 < found.burst <= 1 << 20 and found.interval_ns > 0):
        raise ValueError(f"burst is {found.burst}, interval_ns {found.interval_ns}: both must be above 0")


def _check_columns(columns: Columns, about: Mapping[str, Any]) -> None:
    import numpy as np

    for name, values in columns.items():
        if values.dtype != np.int64 or values.ndim != (2 if name == "s_info" else 1):
            raise ValueError(f"{name} has the type {values.dtype} and {values.ndim} dimensions")
        if values.size and name != "s_info" and not -MOST < values.min() <= values.max() < MOST:
            raise ValueError(f"{name} has numbers out of range")
    if about["do"] in ("pings", "trains"):
        _check_probes(columns, int(about["mono_ns"]))
    else:
        _check_transfer(columns)


def _check_probes(columns: Columns, mono_ns: int) -> None:
    import numpy as np

    if len({len(columns[name]) for name in PROBES}) != 1 or len(columns["wall"]) % 2:
        raise ValueError("its columns have different lengths")
    sent, back = columns["sent"], columns["back"]
    answered = back != LOST
    if len(sent) and (sent.min() < mono_ns or (np.diff(sent) < 0).any() or (back[answered] < sent[answered]).any()):
        raise ValueError("its times are not in order")
    if not np.isin(columns["came"], (LOST, 0, 1)).all() or len(np.unique(columns["epoch"])) > 10_000:
        raise ValueError("came or epoch has an unknown value")


def _check_transfer(columns: Columns) -> None:
    import numpy as np

    for t, total in (("r_t", "r_total"), ("s_t", "s_total")):
        if t == "s_t" and t not in columns and "s_info" not in columns:
            continue
        if len(columns[t]) != len(columns[total]) or (t == "r_t" and not len(columns[t])):
            raise ValueError(f"{t} and {total} have {len(columns[t])} and {len(columns[total])} rows")
        if (np.diff(columns[t]) < 0).any() or (np.diff(columns[total]) < 0).any() or columns[total][:1].sum() < 0:
            raise ValueError(f"{t} or {total} decreases")
    if "s_info" in columns and columns["s_info"].shape != (len(columns["s_t"]), len(NAMES)):
        raise ValueError("s_info has another shape")
