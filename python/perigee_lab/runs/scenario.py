# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scenarios from Python: load, run, compare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.common import names, quoting
from perigee_lab.common.files import is_named_pipe
from perigee_lab.extensions import plugins
from perigee_lab.extensions import trust as trusts
from perigee_lab.runs import shipped
from perigee_lab.runs.archive import in_place_of_a_scenario, is_archive

if TYPE_CHECKING:
    from collections.abc import Callable

    from perigee_lab.results.run import Results, Run
    from perigee_lab.sky.timeline import Timeline


def load(
    path: str | Path, sets: Mapping[str, object] | None = None, *, trust: bool = False, **keys: object
) -> Scenario:
    """Reads and checks a scenario file.

    Overrides are given by dotted key, `load(path, {"run.duration": "5 s"})`, or as keywords with
    two underscores for the dot, `load(path, run__duration="5 s")`. Functions may be given for the
    keys that take one: `load(path, attach=lambda view: view.satellites[0])`
    (docs/how-to/plugins.md). Python code that the file names runs only with `trust`, or if
    `perigee trust` has remembered it (docs/reference/security.md).
    """
    rest, functions = plugins.split(_merged(sets, keys))
    return open_file(Path(path), overrides(rest, {}), functions, trust=trust)


def open_file(
    path: Path,
    sets: list[str],
    functions: dict[str, Callable[..., Any]] | None = None,
    *,
    trust: bool = False,
    said: Sequence[str] | None = None,
) -> Scenario:
    """Opens a file like `load`, with overrides `key=value`; `said` are those by the user."""
    path = shipped.found(path)
    refuse_name(path.stem, str(path))
    _refuse_archive(path)
    _refuse_pipe(path)
    permission = trusts.of(sets if said is None else said, path.parent, trust=trust)
    with trusts.permitted(permission):
        return Scenario(_core.Scenario.load(path, sets, functions), path.parent, permission, functions)


def _refuse_archive(path: Path) -> None:
    """Raises ScenarioError for an archive of runs, which is no scenario."""
    if is_archive(path):
        message = in_place_of_a_scenario(path)
        raise _core.ScenarioError(message, json.dumps([{"key": "", "message": message}]))


def _refuse_pipe(path: Path) -> None:
    """Raises ScenarioError for a pipe in a folder: reading would wait for a writer."""
    if is_named_pipe(path):
        message = f"cannot read {names.visible(str(path))}: it is a pipe, not a file"
        raise _core.ScenarioError(message, json.dumps([{"key": "", "message": message}]))


def refuse_name(name: str, where: str) -> None:
    """Raises ScenarioError for a name that cannot be used in tables, folders and pages."""
    why = names.problem(name)
    if why is not None:
        message = f"{names.visible(where)}: {names.visible(name)!r} {why}"
        raise _core.ScenarioError(message, json.dumps([{"key": "", "message": message}]))


def loads(
    text: str,
    sets: Mapping[str, object] | None = None,
    *,
    name: str = "scenario",
    folder: str | Path = ".",
    trust: bool = False,
    **keys: object,
) -> Scenario:
    """Reads and checks a scenario's text, with files in `folder` and overrides as in `load`."""
    refuse_name(name, "the scenario's name")
    rest, functions = plugins.split(_merged(sets, keys))
    given = overrides(rest, {})
    permission = trusts.of(given, Path(folder), trust=trust)
    with trusts.permitted(permission):
        return Scenario(_core.Scenario.parse(text, name, folder, given, functions), Path(folder), permission, functions)


def run(
    scenario: str | Path | Scenario,
    cc: str | type | None = None,
    seed: int | None = None,
    *,
    trust: bool = False,
    **keys: object,
) -> Run:
    """Runs one scheme over a scenario or its file, in memory; `trust` and keywords as in `load`."""
    checked = scenario if isinstance(scenario, Scenario) else load(scenario, None, trust=trust, **keys)
    return checked.run(cc, seed)


def schemes() -> list[dict[str, Any]]:
    """All congestion controls with their parameters."""
    found: list[dict[str, Any]] = json.loads(_schemes())
    return found


def overrides(sets: Mapping[str, object] | None, keys: Mapping[str, object]) -> list[str]:
    """Overrides in the form of the core: `key=value` with the value in TOML."""
    return [f"{key}={_toml(value)}" for key, value in _merged(sets, keys).items()]


@cache
def _schemes() -> str:
    """Kept, as figures and tables take labels from it thousands of times."""
    return _core.schemes()


def _folded(toml: str) -> str:
    return f"<details><summary>all keys</summary><pre>{quoting.html(toml.strip())}</pre></details>"


def _merged(sets: Mapping[str, object] | None, keys: Mapping[str, object]) -> dict[str, object]:
    return {**(sets or {}), **{k.replace("__", "."): v for k, v in keys.items()}}


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoting.toml(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return quoting.toml(value)
    return str(value)


class Scenario:
    """A checked scenario."""

    def __init__(
        self,
        core: _core.Scenario,
        folder: Path = Path(),
        permission: trusts.Permission = trusts.NOTHING,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """Wraps a scenario checked by the core; plug-ins in `folder` run if allowed."""
        self.core = core
        self.folder = folder
        self.permission = permission
        self.functions = dict(functions or {})

    def absolute(self) -> _core.Scenario:
        """The scenario with absolute paths, valid in any folder."""
        if self.folder.is_absolute():
            return self.core
        with trusts.permitted(self.permission):
            return _core.Scenario.parse(self.core.toml, self.core.name, Path.cwd(), [], self.functions)

    def classes(self) -> dict[str, type]:
        """The Python classes named by the scenario's flows. Raises PluginError."""
        from perigee_lab.extensions.congestion import find

        return {name: find(name, self.folder, self.permission) for name in self.core.plugins()}

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}, {self.core.duration_ns / 1e9:g} s>"

    def _repr_html_(self) -> str:
        from perigee_lab.results.notebook import facts

        compared = ", ".join(self.core.schemes([])) or "none"
        rows = [("file", self.name), ("compares", compared), ("seed", self.core.seed)]
        return facts(f"{self.title}: {self.core.duration_ns / 1e9:g} s", rows) + _folded(self.core.toml)

    @property
    def name(self) -> str:
        """Name of the file without its extension."""
        return self.core.name

    @property
    def title(self) -> str:
        """The title, which is one line for tables and reports."""
        return self.core.title

    def timeline(self, seed: int | None = None) -> Timeline:
        """The network over the entire run, without traffic."""
        from perigee_lab.sky.timeline import Timeline

        world = self.core.world(self.core.seed if seed is None else seed)
        return Timeline(_core.Timeline.of(world))

    def run(self, cc: str | type | None = None, seed: int | None = None, *, threads: int = 1) -> Run:
        """Runs one scheme (a name, "file.py:Class", or a class) with one seed, in memory."""
        chosen: Sequence[str | type] = [cc] if cc is not None else self.core.schemes([])
        if len(chosen) > 1:
            raise ValueError(
                f"the scenario compares {', '.join(map(str, chosen))}: choose one with cc=, or use run_all()"
            )
        return self.run_all(
            chosen if cc is not None else (), seeds=[self.core.seed if seed is None else seed], threads=threads
        )[0]

    def run_all(
        self,
        cc: Sequence[str | type] = (),
        *,
        seeds: Sequence[int] | None = None,
        jobs: int | None = None,
        cluster: str | None = None,
        store: str | None = None,
        threads: int = 1,
        out: str | Path | None = None,
        force: bool = False,
        pcap: bool = False,
        progress: Callable[[float], None] | None = None,
    ) -> Results:
        """Runs several schemes and seeds in parallel.

        With `out`, records, summary.csv and report.html are written there; completed runs of the
        same scenario there are reused, unless `force`. `progress` receives the completed fraction,
        from 0 to 1. Long comparisons run in worker processes; classes and functions that exist only
        in memory run in this process. `threads` are those of one run; no result depends on them.
        With `cluster` (docs/how-to/cluster.md), runs are executed on other machines, which leave
        results in `store` or send them back.
        """
        from perigee_lab.common.files import claimed
        from perigee_lab.results.conclusion import conclude
        from perigee_lab.runs.machines import Machines
        from perigee_lab.runs.runner import Plan, execute

        machines = Machines(jobs, cluster, store, threads)
        plan = Plan.of(self, trusts.said(cc), seeds=seeds, pcap=pcap)
        if out is None:
            return execute(plan, machines=machines, progress=progress)
        with claimed(Path(out)):
            results = execute(plan.into(Path(out), force=force), machines=machines, progress=progress)
            conclude(Path(out), results[-1], report=True)
        return results
