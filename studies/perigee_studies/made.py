# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Provenance of results (version, commit, command, time), on which the results do not depend."""

from __future__ import annotations

import json
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common.files import write_text
from perigee_lab.common.reading import read_text
from perigee_lab.common.structures import json_problem
from perigee_studies.conclude import ConcludeError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MADE = "made.json"
"""This file is next to `about.json`, which, unlike this file, is identical for identical
results."""


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of this package's checkout, with "-dirty" if files differ from it.

    Empty outside a checkout.
    """
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def note(folder: Path, command: str, runs_s: float | None) -> None:
    """Writes the provenance of tables in `folder`.

    `runs_s` is None if some of the runs are from earlier versions.
    """
    _write(folder, _now(runs_s) | {"command": command})


def note_variants(folder: Path, runs_s: float | None, only: Collection[str] = ()) -> None:
    """Writes the provenance of variants that were run separately and added to existing tables.

    With `only`, these are the variants that were run.
    """
    noted, now = read(folder), _now(runs_s)
    before = noted.get("variants")
    if only and before:
        now = before | {"some": before.get("some", {}) | dict.fromkeys(only, now)}
    _write(folder, noted | {"variants": now})


def _now(runs_s: float | None) -> dict[str, Any]:
    return {"version": _core.__version__, "commit": commit(), "runs_s": None if runs_s is None else round(runs_s)}


def _write(folder: Path, what: Mapping[str, Any]) -> None:
    write_text(folder / MADE, json.dumps(what, indent=1) + "\n")


def read(folder: Path) -> dict[str, Any]:
    """Reads the provenance; empty if it is missing or unreadable (`check`)."""
    try:
        found: dict[str, Any] = json.loads(read_text(folder / MADE))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if is_sound(found) else {}


def check(folder: Path) -> None:
    """Raises ConcludeError if the provenance is damaged; it may be missing."""
    path = folder / MADE
    try:
        found = json.loads(read_text(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConcludeError(f"{path} cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise ConcludeError(f"{path} is damaged ({json_problem(error)})") from error
    if not is_sound(found):
        raise ConcludeError(f"{path} is damaged")


def is_sound(made: Any) -> bool:
    """Whether a provenance has the form that `note` and `note_variants` write."""
    try:
        in_words(made)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return True


def in_words(made: Mapping[str, Any]) -> str:
    """The provenance as sentences for pages; empty if nothing is known."""
    found = []
    if made.get("since"):
        found.append(f"The tables are in the repository since commit {made['since']}.")
    elif made.get("version"):
        found.append(f"Made by {_by(made)}.")
    if made.get("variants"):
        found.append(f"Variants for explanations: {_by(made['variants'])}.")
        found += [f"Of these “{name}”: {_by(of_it)}." for name, of_it in made["variants"].get("some", {}).items()]
    if made.get("theirs"):
        which = made["theirs"].get("which", "")
        found.append(f"Schemes of the study's simulator{f' ({which})' if which else ''}: {_by(made['theirs'])}.")
    return " ".join(found)


def _by(made: Mapping[str, Any]) -> str:
    words = f"Perigee {made['version']}"
    if at := str(made.get("commit") or ""):
        clean = at.removesuffix("-dirty")
        words += f" at commit {clean}" + (" with changes" if at != clean else "")
    if made.get("runs_s"):
        words += f" in {_time(float(made['runs_s']))} of run time"
    return words


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
