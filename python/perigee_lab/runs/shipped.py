# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scenarios of installed distributions, such as `scenarios/leo/london-new-york.toml`."""

from __future__ import annotations

from pathlib import Path

from perigee_lab.extensions import distributions

_PACKAGE = Path(__file__).parents[1]
# The scenario folders of a checkout.
_FOLDERS = {
    "leo": _PACKAGE / "scenarios" / "leo",
    "micro": _PACKAGE / "scenarios" / "micro",
}


def found(path: Path) -> Path:
    """`path`, or if it does not exist, that scenario of an installed distribution, if any."""
    parts = path.parts
    if len(parts) < 3 or parts[0] != "scenarios" or path.exists():
        return path
    folder = _FOLDERS.get(parts[1]) or distributions.scenarios(parts[1])
    shipped = path if folder is None else folder.joinpath(*parts[2:])
    return shipped if shipped.is_file() else path


def names() -> list[str]:
    """Names of the scenarios of Perigee, such as `scenarios/leo/rain.toml`."""
    return [
        f"scenarios/{name}/{file.name}" for name, folder in _FOLDERS.items() for file in sorted(folder.glob("*.toml"))
    ]
