# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Does a record say what a run of its scenario says, bit by bit?"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from perigee import _core
from perigee.congestion import find, recorded
from perigee.exit_codes import BAD_INPUT, OUTSIDE_TOLERANCE
from perigee.files import RecordError
from perigee.record import Run, find_records
from perigee.summary import SUMMARY, experiment, summary_csv
from perigee.trust import Permission, PluginError, UntrustedError, permitted


def verify_command(folder: Path, *, rerun: bool, trust: bool = False, as_json: bool) -> int:
    """Checks every record under `folder`."""
    try:
        runs = find_records(folder)
        found = [_verify(r, rerun=rerun, trust=trust) for r in runs]
        if (folder / SUMMARY).is_file():
            found.append(_verify_summary(folder / SUMMARY, runs))
    except (RecordError, UntrustedError) as error:
        print(f"perigee: {error}", file=sys.stderr)
        return BAD_INPUT
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        for f in found:
            what = f["file"] if "file" in f else f"{f['cc']} seed {f['seed']}"
            print(f"{what}: {'; '.join(f['problems']) or 'equal'}")
    return OUTSIDE_TOLERANCE if any(f["problems"] for f in found) else 0


def _verify(run: Run, *, rerun: bool, trust: bool) -> dict[str, Any]:
    expected = {name: t["sha256"] for name, t in run.manifest["tables"].items()}
    problems = [f"{n}.parquet is not what the manifest says" for n, h in run.hashes().items() if h != expected[n]]
    problems += changed_files(run)
    if rerun and not problems:
        problems += _rerun(run, expected, trust=trust)
    return {"cc": run.cc, "seed": run.seed, "problems": problems}


def _verify_summary(path: Path, runs: list[Run]) -> dict[str, Any]:
    """The table over all runs follows from theirs: those of one experiment, where the folder holds several."""
    experiments: dict[tuple[str, ...], list[Run]] = {}
    for r in runs:
        experiments.setdefault(tuple(experiment(r)), []).append(r)
    found = path.read_bytes()
    follows = any(found == summary_csv(of_one).encode() for of_one in experiments.values())
    return {"file": path.name, "problems": [] if follows else ["it does not follow from the tables of the runs"]}


def changed_files(run: Run) -> list[str]:
    """Inputs of a run that are gone or no longer what they were."""
    problems = []
    for f in run.manifest.get("files", []):
        path = Path(f["path"])
        if not path.is_file():
            # Nor a device or a pipe, which would never end.
            problems.append(f"the input {path} is gone")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != f["sha256"]:
            problems.append(f"the input {path} has changed")
    return problems


def again(run: Run, *, trust: bool) -> tuple[_core.Scenario, dict[str, type]]:
    """The scenario of a record with the classes that its flows need.

    Raises:
        UntrustedError: it names Python code that may not run.
        PluginError: that code cannot be used.
        ScenarioError: the scenario is wrong.
    """
    permission = Permission(everything=trust)
    with permitted(permission) as refused:
        try:
            scenario = _core.Scenario.parse(run.manifest["scenario_toml"], run.manifest["scenario"], ".", [])
        except _core.ScenarioError:
            if refused:
                raise refused[0] from None
            raise
        sources = [Path(f["path"]) for f in run.manifest.get("files", [])]
        named = {name: find(name, _folder(name, sources), permission) for name in scenario.plugins()}
        return scenario, named | recorded(run.cc, sources, permission)


def _folder(name: str, sources: list[Path]) -> Path:
    """Where the file of a class `file.py:Class` stands, by the files that a manifest lists."""
    written = Path(name.rpartition(":")[0])
    found = [p for p in sources if p.parts[-len(written.parts) :] == written.parts]
    return found[0].parents[len(written.parts) - 1] if found else Path()


def _rerun(run: Run, expected: dict[str, str], *, trust: bool) -> list[str]:
    try:
        scenario, plugins = again(run, trust=trust)
        manifest, _, _ = scenario.world(run.seed).run(run.cc, plugins=plugins)
    except UntrustedError:
        raise
    except (_core.ScenarioError, _core.RunError, PluginError) as error:
        return [f"cannot be run again: {error.args[0]}"]
    now = {name: t["sha256"] for name, t in json.loads(manifest)["tables"].items()}
    return [f"table {n} differs" for n in expected if now.get(n) != expected[n]]
