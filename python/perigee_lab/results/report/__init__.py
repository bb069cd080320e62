# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Report of a comparison: a self-contained page."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text
from perigee_lab.results.report.data import SECTIONS, payload
from perigee_lab.results.run import Run
from perigee_lab.results.webpage import drawing, filled, policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["SECTIONS", "page", "write_report"]


def write_report(runs: Sequence[Run], path: Path) -> None:
    """Writes the page of a comparison."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page(runs))


def page(runs: Sequence[Run]) -> str:
    """The page as text."""
    data = payload(runs)
    style = _asset("page.css")
    script = "".join([drawing(), *(_asset(f"{name}.js") for name in ("band", "marks", "groups", "page"))])
    parts = {
        "POLICY": quoting.html(policy([script], [style])),
        "TITLE": quoting.html(data["title"]),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": quoting.script(data),
        "COAST": _asset("coast.json").strip(),
    }
    return filled(_asset("page.html"), parts)


def _asset(name: str) -> str:
    return (files("perigee_lab.results.report") / name).read_text(encoding="utf-8")
