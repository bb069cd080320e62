# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Self-contained pages in notebooks: a frame in a cell, or a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text

MEGABYTE = 1_000_000


@dataclass(frozen=True, repr=False)
class Page:
    """A page with its scripts and data, which needs neither a server nor a kernel."""

    text: str
    """HTML."""
    height_px: int = 720
    """Height of the frame in a notebook."""

    def __repr__(self) -> str:
        size = len(self.text.encode())
        shown = f"{size / 1e6:.1f} MB" if size >= MEGABYTE else f"{max(1, round(size / 1e3))} kB"
        return f"<Page of {shown}: displayed in notebooks, written by save(FILE)>"

    def _repr_html_(self) -> str:
        """A frame without access to the notebook."""
        style = f"width:100%;height:{self.height_px}px;border:0"
        return f'<iframe srcdoc="{quoting.html(self.text)}" sandbox="allow-scripts" style="{style}"></iframe>'

    def save(self, file: str | Path) -> Path:
        """Writes the page. Raises OSError."""
        path = Path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.text)
        return path
