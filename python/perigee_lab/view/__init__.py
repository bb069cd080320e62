# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Interactive page: a rotating constellation or network diagram, with paths and curves."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from perigee_lab.common import quoting
from perigee_lab.results.webpage import filled, policy
from perigee_lab.view.data import payload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perigee_lab.results.run import Run

__all__ = ["page"]


def page(runs: Sequence[Run], *, trust: bool = False, progress: Callable[[float], None] | None = None) -> str:
    """The page as self-contained text, without references to the network, a server or other files.

    Raises:
        UntrustedError, PluginError, ScenarioError: the scenario cannot be rebuilt.
    """
    data = payload(runs, trust=trust, progress=progress)
    scripts = [_asset(f"{name}.js") for name in ("vendor", "globe", "flat", "topology", "panel")]
    style = _asset("vendor.css") + _asset("page.css")
    parts = {
        "POLICY": quoting.html(policy(scripts, [style])),
        "TITLE": quoting.html(data["title"]),
        "STYLE": style,
        "VENDOR": scripts[0],
        "GLOBE": scripts[1],
        "FLAT": scripts[2],
        "TOPOLOGY": scripts[3],
        "PANEL": scripts[4],
        "DATA": quoting.script(data),
        "COAST": (files("perigee_lab.results.report") / "coast.json").read_text(encoding="utf-8").strip(),
    }
    return filled(_asset("page.html"), parts)


def _asset(name: str) -> str:
    return (files("perigee_lab.view") / name).read_text(encoding="utf-8")
