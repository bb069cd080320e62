# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Loading of scenarios and checks of program environments; errors end the command."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perigee_lab.common import quoting
from perigee_lab.common.errors import stop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from perigee_lab.runs.scenario import Scenario


def scenario(
    path: Path, sets: list[str] | None, tle: Path | None = None, *, trust: bool, as_json: bool = False
) -> Scenario:
    """Loads a scenario. Raises ScenarioError with all of its problems."""
    from perigee_lab.runs.scenario import open_file

    with problems(as_json=as_json):
        return open_file(path, [*(sets or []), *elements(tle)], trust=trust)


def elements(tle: Path | None) -> list[str]:
    """The override of the constellation's element sets by --tle."""
    return [] if tle is None else [f"source.constellation.tle={quoting.toml(str(tle))}"]


def grace(time: str | None) -> list[str]:
    """The override of the time that programs have to exit by --grace."""
    return [] if time is None else [f"hosts.grace={quoting.toml(time)}"]


@contextmanager
def problems(*, as_json: bool) -> Iterator[None]:
    """With --json, prints the problems of a scenario as a document on standard output."""
    from perigee_lab import _core

    try:
        yield
    except _core.ScenarioError as error:
        if not as_json:
            raise
        print(json.dumps({"ok": False, "problems": json.loads(error.args[1])}, indent=1))
        stop()


def check_surroundings(env: list[str] | None, writable: list[Path] | None) -> None:
    """Ends the command if the environment of programs is invalid."""
    wrong = [e for e in env or [] if "=" not in e]
    if wrong:
        stop(f"--env {wrong[0]!r} is not NAME=VALUE")
    missing = [w for w in writable or [] if not w.is_dir()]
    if missing:
        stop(f"--writable {missing[0]} is not a folder")
