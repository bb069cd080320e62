# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report: one page that needs no network, no server and no other file."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from perigee.files import write_text
from perigee.record import Run
from perigee.report.data import payload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["page", "write_report"]


def write_report(runs: Sequence[Run], path: Path) -> None:
    """Writes the page of a comparison."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page(runs))


def page(runs: Sequence[Run]) -> str:
    """The page as text."""
    data = payload(runs)
    parts = {
        "TITLE": _escaped(data["title"]),
        "STYLE": _asset("page.css"),
        "SCRIPT": _asset("page.js"),
        "DATA": _in_script(data),
        "COAST": _asset("coast.json").strip(),
    }
    text = _asset("page.html")
    for name, value in parts.items():
        text = text.replace(f"%{name}%", value)
    return text


def _asset(name: str) -> str:
    return (files("perigee.report") / name).read_text(encoding="utf-8")


def _in_script(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
