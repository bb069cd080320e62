# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Journal of a campaign on disk: a file per measurement, and a list of complete ones.

Each file is written atomically, and its line is then appended to the journal. However a campaign
ends, the measurements in the journal are kept, and the campaign resumes after them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import appended, inner, written
from perigee_lab.common.reading import UnreadableError, opened, read_bytes, read_text
from perigee_lab.measure.net.protocol import MeasureError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FOLDER = "measurements"
JOURNAL = "journal.jsonl"
CAMPAIGN = "campaign.toml"
META = "about"


@dataclass
class Part:
    """A measurement: its cycle, group, piece and step numbers, its description and its columns."""

    cycle: int
    group: int
    piece: int
    step: int
    about: dict[str, Any]
    columns: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the file of this measurement."""
        return f"{self.cycle:05d}-{self.group:02d}-{self.piece:04d}-{self.step:04d}.npz"


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
            if read_text(own) != campaign_text:
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
        except ValueError:
            break
        if not line.endswith(b"\n") or not isinstance(entry, dict):
            break
        found.append(entry)
        whole += len(line)
    if mend and whole < len(text):
        # Truncated by a crash: the next line must not be appended to a partial one.
        with appended(path) as file:
            os.ftruncate(file.fileno(), whole)
    return found


def read_parts(folder: Path, pattern: str = "*.npz") -> list[Part]:
    """All complete measurements of a campaign in order, with or without a line in the journal."""
    import numpy as np

    found = []
    for path in sorted((folder / FOLDER).glob(pattern)):
        numbers = [int(n) for n in path.stem.split("-")]
        try:
            with opened(path) as file, np.load(file, allow_pickle=False) as data:
                columns = {k: data[k] for k in data.files if k != META}
                about = json.loads(data[META].tobytes())
        except UnreadableError as error:
            raise MeasureError(f"{error}: it is no measurement; remove it") from None
        except (OSError, ValueError, KeyError, EOFError):
            continue
        found.append(Part(numbers[0], numbers[1], numbers[2], numbers[3], about, columns))
    return found
