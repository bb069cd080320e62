# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The scenarios that come with Perigee: `scenarios/leo/london-new-york.toml` is there in every installation."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
# As a checkout has them: folder of `scenarios/` and where it is.
_FOLDERS = {
    "leo": _PACKAGE / "scenarios" / "leo",
    "micro": _PACKAGE / "scenarios" / "micro",
    "studies": _PACKAGE / "study" / "scenarios",
}


def found(path: Path) -> Path:
    """`path` where it exists, else the scenario of that name that came with Perigee, else `path`."""
    parts = path.parts
    if len(parts) < 3 or parts[0] != "scenarios" or parts[1] not in _FOLDERS or path.exists():
        return path
    shipped = _FOLDERS[parts[1]].joinpath(*parts[2:])
    return shipped if shipped.is_file() else path


def names() -> list[str]:
    """All but those of the studies, such as `scenarios/leo/rain.toml`."""
    return [
        f"scenarios/{folder}/{file.name}"
        for folder in ("leo", "micro")
        for file in sorted(_FOLDERS[folder].glob("*.toml"))
    ]
