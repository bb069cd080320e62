# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Journal of a campaign on disk: a file per measurement, and a list of complete ones.

Each file is written atomically, and its line is then appended to the journal. However a campaign
ends, the measurements in the journal are kept, and the campaign resumes after them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import appended, inner, written
from perigee_lab.common.messages import complain
from perigee_lab.common.reading import read_bytes, read_text
from perigee_lab.measure import stored
from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.measure.stored import META, Part

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "measurements"
JOURNAL = "journal.jsonl"
CAMPAIGN = "campaign.toml"


class Journal:
    """The measurements of a campaign."""

    def __init__(self, folder: Path, campaign_text: str) -> None:
        """Opens or creates the journal.

        Raises MeasureError if the folder has another campaign; OSError.
        """
        self.folder = folder / FOLDER
        inner(self.folder)
        own = self.folder / CAMPAIGN
        self.lines = read_lines(self.folder / JOURNAL, mend=True)
        # A campaign without measurements (wrong key, unreachable server) may be replaced.
        if own.exists() and (self.lines or any(self.folder.glob("*.npz"))):
            if not _holds(own, campaign_text):
                raise MeasureError(
                    f"{folder} holds the measurements of another campaign ({own}): choose another --out, or the "
                    f"same file"
                )
        else:
            with written(own) as partial:
                partial.write_text(campaign_text, encoding="utf-8")

    def done(self, cycle: int, group: int) -> bool:
        """Whether a group was measured or abandoned."""
        return any(x["cycle"] == cycle and x["group"] == group and x.get("whole") for x in self.lines)

    def kept(self, cycle: int, group: int, step: int) -> list[Part]:
        """Pieces of a step that are on disk."""
        return read_parts(self.folder.parent, f"{cycle:05d}-{group:02d}-*-{step:04d}.npz")

    def next_piece(self, cycle: int, group: int, step: int) -> int:
        """The number after the last piece of a step on disk, damaged ones included."""
        pattern = f"{cycle:05d}-{group:02d}-*-{step:04d}.npz"
        found = (stored.NAME.fullmatch(p.name) for p in self.folder.glob(pattern))
        return 1 + max((int(name[3]) for name in found if name is not None), default=-1)

    def began_ns(self, without: Sequence[int] = ()) -> int | None:
        """Start of the first group that is not in `without`, in ns since 1970.

        None if no such group has started.
        """
        return next((int(x["began_ns"]) for x in self.lines if x["group"] not in without), None)

    def keep(self, part: Part) -> None:
        """Writes a measurement, which is complete after a call of `note`. Raises OSError."""
        import numpy as np

        with written(self.folder / part.name) as partial, partial.open("wb") as file:
            about = np.frombuffer(json.dumps(part.about).encode(), dtype=np.uint8)
            np.savez_compressed(file, **{META: about}, **part.columns)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())

    def note(self, line: Mapping[str, Any]) -> None:
        """Appends a line to the journal and syncs it to disk. Raises OSError."""
        path = self.folder / JOURNAL
        with appended(path) as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.lines.append(dict(line))


def _holds(path: Path, text: str) -> bool:
    try:
        return read_text(path) == text
    except UnicodeDecodeError:
        return False


def read_lines(path: Path, *, mend: bool = False) -> list[dict[str, Any]]:
    """Lines of a journal. A truncated last line is ignored; with `mend`, it is also removed."""
    if not path.exists():
        return []
    found = []
    whole = 0
    text = read_bytes(path)
    for line in text.splitlines(keepends=True):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not line.endswith(b"\n") or not isinstance(entry, dict):
            break
        whole += len(line)
        if all(type(entry.get(key)) is int and 0 <= entry[key] < 1 << 62 for key in ("cycle", "group", "began_ns")):
            found.append(entry)
        else:
            complain(f"{path}: line {line[:60]!r} is none of a journal: ignored")
    if mend and whole < len(text):
        # Truncated by a crash: the next line must not be appended to a partial one.
        with appended(path) as file:
            os.ftruncate(file.fileno(), whole)
    return found


def read_parts(folder: Path, pattern: str = "*.npz", tell: Callable[[str], None] = complain) -> list[Part]:
    """All complete measurements of a campaign in order, with or without a line in the journal.

    Damaged ones are left out; `tell` receives a line on each, with its file and the reason.
    """
    found = []
    for path in sorted((folder / FOLDER).glob(pattern)):
        try:
            found.append(stored.read_part(path))
        except stored.DamagedError as error:
            tell(str(error))
    return found
