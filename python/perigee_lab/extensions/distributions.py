# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Installed distributions that extend Perigee, found by their entry points.

* `perigee.commands`: a command of `perigee`; the name is the command's, the object a `typer.Typer`.
* `perigee.scenarios`: a folder of scenarios; `scenarios/NAME/...` is found in it, the object is its
  path.

Only installed distributions count: the current folder is not on the path
(`perigee_lab.common.interpreter`).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS, SCENARIOS = "perigee.commands", "perigee.scenarios"


@lru_cache(maxsize=2)
def _entries(group: str) -> dict[str, EntryPoint]:
    # Importing this is slower than importing the command line: only done for names that are not
    # built in.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=group)}


def commands() -> dict[str, EntryPoint]:
    """Commands of other distributions, by name."""
    return _entries(COMMANDS)


def scenarios(name: str) -> Path | None:
    """The folder of scenarios of that name; None if no distribution has one."""
    entry = _entries(SCENARIOS).get(name)
    return None if entry is None else Path(entry.load())


def packages() -> frozenset[str]:
    """Top-level packages of these distributions: like Perigee's, their functions may store runs."""
    return frozenset(
        entry.module.split(".")[0] for group in (COMMANDS, SCENARIOS) for entry in _entries(group).values()
    )
