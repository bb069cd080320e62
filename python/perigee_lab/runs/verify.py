# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Verification of records: consistency, and equality with a repeated run, bit by bit."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from perigee_lab import _core
from perigee_lab.common.exit_codes import OUTSIDE_TOLERANCE, UNDECIDED
from perigee_lab.common.files import RecordError, sha256_of
from perigee_lab.common.messages import say
from perigee_lab.common.reading import read_bytes, regular
from perigee_lab.extensions.congestion import find, recorded
from perigee_lab.extensions.trust import Permission, PluginError, UntrustedError, permitted
from perigee_lab.results import cells, flow_file, summary_cache
from perigee_lab.results import manifest as manifests
from perigee_lab.results.columns import LATER
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import Run, find_records
from perigee_lab.results.summary import SUMMARY, experiment, flow_count, flow_parts, summary_csv
from perigee_lab.runs import backends
from perigee_lab.runs.agreement import manifests_of
from perigee_lab.runs.archive import RECORDS, Archive, is_archive, open_archive
from perigee_lab.runs.programs import SCHEME as PROGRAMS
from perigee_lab.runs.relocation import relocated
from perigee_lab.runs.stories import INDEX, KINDS, of_scenario, output_file
from perigee_lab.runs.work import Guests, guests_of, simulate

UNREPEATABLE = {
    "real-time": "a run in real time",
    "capture": "a capture",
    "log": "a log",
    "measure": "a measurement",
}
"""Kind of records of these backends."""


def verify_command(folder: Path, *, rerun: bool, trust: bool = False, as_json: bool) -> int:
    """Verifies every record under `folder`, of runs or of a sweep, or those of an archive."""
    if is_archive(folder) and not folder.is_dir():
        return _verify_archive(open_archive(folder), rerun=rerun, trust=trust, as_json=as_json)
    of_sweep = os.path.lexists(folder / cells.TABLE)
    where = cells.folders(folder) if of_sweep else [folder]
    at = [(one.name if of_sweep else "", r) for one in where for r in find_records(one)]
    runs = [r for _, r in at]
    permission = Permission(everything=trust)
    found = [_verify(r, rerun=rerun, permission=permission) | ({"cell": cell} if cell else {}) for cell, r in at]
    caches = [_verify_cache(r.folder, r) for r in runs if r.folder and os.path.lexists(r.folder / summary_cache.FILE)]
    found += [c for c in caches if c["problems"]]
    if os.path.lexists(folder / SUMMARY):
        found.append(_verify_summary(folder / SUMMARY, runs))
        needed = any(flow_file.is_needed(len(e), flow_count(e)) for e in _experiments(runs))
        if needed or (folder / flow_file.FILE).exists():
            found.append(_verify_flows(folder / flow_file.FILE, runs))
    elif of_sweep:
        found += _verify_sweep(folder, runs)
    elif any(r.folder is not None and r.folder.absolute().parents[1] == folder.absolute() for r in runs):
        found.append(_not_compared(folder / SUMMARY, "it is not there"))
    return _printed(found, as_json=as_json)


def _verify_archive(archive: Archive, *, rerun: bool, trust: bool, as_json: bool) -> int:
    """Verifies the records of an archive in a temporary folder."""
    if not any(e.name.startswith(f"{RECORDS}/") for e in archive.index.entries):
        raise RecordError(f"{archive.path} has no records, only jobs: perigee run-job {archive.path} runs them")
    if rerun:
        archive.refuse_untrusted(trusted=trust)
    with tempfile.TemporaryDirectory(prefix="perigee-") as scratch:
        place = Path(scratch) / "archive"
        archive.unpack(place)
        permission = archive.permission(place, trusted=trust)
        tables = archive.index.tables
        runs = find_records(place / RECORDS)
        if len(runs) != len(manifests_of(archive.names, RECORDS)):
            raise RecordError(f"{archive.path} is damaged: its records have names of records that are not complete")
        found = [_verify(r, rerun=rerun, permission=permission, tables=tables) for r in runs]
        # Unpacking has compared their hashes.
        notes = ["as listed by the index; no run uses it"]
        found += [{"file": e.name, "sha256": e.sha256, "problems": [], "notes": notes} for e in archive.added]
        return _printed(found, as_json=as_json)


def _printed(found: list[dict[str, Any]], *, as_json: bool) -> int:
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        for f in found:
            what = f["file"] if "file" in f else f"{f['cc']} seed {f['seed']}"
            what = f"{f['cell']}: {what}" if "cell" in f else what
            equal = "equal" if f.get("compared", True) else f.get("why", "not compared")
            say(f"{what}: {'; '.join(f['problems']) or equal}" + "".join(f" ({n})" for n in f.get("notes", [])))
    if any(f["problems"] for f in found):
        return OUTSIDE_TOLERANCE
    # Files besides the records, such as summary.csv, may be too old for a comparison.
    return UNDECIDED if any("cc" in f and not f["compared"] for f in found) else 0


def _verify(run: Run, *, rerun: bool, permission: Permission, tables: bool = True) -> dict[str, Any]:
    run = relocated(run)
    problems = _unequal(run) if tables else []
    # Contradictions are found in tables that can be read.
    unread = any(p.startswith(str(run.folder)) for p in problems)
    problems += _contradictions(run) if tables and not unread else []
    problems += _changed_outputs(run) if tables else []
    problems += changed_files(run)
    repeatable = run.cc != PROGRAMS and run.manifest.backend not in UNREPEATABLE
    repeated = rerun and repeatable
    if repeated and not problems:
        problems += _rerun(run, permission)
    found = {"cc": run.cc, "seed": run.seed, "compared": tables or repeated, "problems": problems, "notes": _notes(run)}
    return found if found["compared"] else {**found, "why": "no tables in it: nothing was compared"}


def _unequal(run: Run) -> list[str]:
    """Tables that cannot be read, or differ from the manifest's hash."""
    problems = []
    for name, table in run.manifest.tables.items():
        try:
            if run.hash_of(name) != table.sha256:
                problems.append(f"{name}.parquet is not what the manifest says")
        except RecordError as error:
            problems.append(str(error))
    return problems


def _notes(run: Run) -> list[str]:
    made = run.manifest.version
    if run.manifest.backend in UNREPEATABLE:
        return [f"{UNREPEATABLE[run.manifest.backend]} cannot be repeated"]
    if run.cc == PROGRAMS:
        return ["programs are not run again: perigee exec does it"]
    return [] if made == _core.__version__ else [f"made by version {made or 'unknown'}, this is {_core.__version__}"]


def _contradictions(run: Run) -> list[str]:
    """Contradictions between the manifest and its folder or tables, without running anything."""
    m = run.manifest
    problems = (
        [] if m.conserved is not False else ["packets were not conserved: sent is not delivered + dropped + under way"]
    )
    problems += ["the run was stopped before its end"] if m.stopped else []
    if m.backend in manifests.WITHOUT_SAMPLES and _has_keys(m.scenario_toml):
        problems.append(f"the manifest says that it is of {UNREPEATABLE[m.backend]}, and has a scenario")
    if run.folder is not None and re.fullmatch(r"seed\d+", run.folder.name):
        here = run.folder.absolute()
        said = run_folder(here.parents[1], m.cc, m.seed)
        if said != here:
            problems.append(f"the manifest says {m.cc}, seed {m.seed}; its folder is {here.parent.name}/{here.name}")
    for name, table in m.tables.items():
        rows = run.rows(name)
        if rows != table.rows:
            problems.append(f"tables.{name}.rows is {table.rows} in the manifest, {rows} in {name}.parquet")
    if "flow_totals" in m.tables:
        flows = run.columns("flow_totals", ["name", "from", "to", "cc"]).to_pylist()
        written = [{"name": f.name, "from": f.origin, "to": f.target, "cc": f.cc} for f in m.flows]
        if written != flows[: len(written)]:
            problems.append("the flows of the manifest are not those of flow_totals.parquet")
    return problems


def _has_keys(toml: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in toml.splitlines())


def _verify_cache(folder: Path, run: Run) -> dict[str, Any]:
    """Checks that the rows which are kept for sweeps follow from the tables."""
    name = "/".join([*folder.parts[-2:], summary_cache.FILE])
    try:
        same = summary_cache.follows(run, folder)
    except RecordError as error:
        return {"file": name, "problems": [f"its record cannot be read: {error}"]}
    return _followed(Path(name), same) | {"file": name}


def _verify_sweep(folder: Path, runs: list[Run]) -> list[dict[str, Any]]:
    """Checks that the tables of a sweep, and of each of its cells, follow from the runs."""
    table = folder / cells.TABLE
    if any(r.manifest.version != _core.__version__ for r in runs):
        return [_not_compared(table, "another version of Perigee has written it")]
    try:
        same = read_bytes(table) == cells.table_of(folder).encode()
    except OSError as error:
        return [{"file": table.name, "problems": [f"it cannot be read: {error.strerror}"]}]
    except RecordError as error:
        return [{"file": table.name, "problems": [str(error)]}]
    found = [_followed(table, same)]
    for cell in sorted({r.folder.parents[1] for r in runs if r.folder is not None}):
        if os.path.lexists(cell / SUMMARY):
            of_cell = [r for r in runs if r.folder is not None and r.folder.parents[1] == cell]
            found.append(_verify_summary(cell / SUMMARY, of_cell) | {"file": f"{cell.name}/{SUMMARY}"})
    return found


def _verify_summary(path: Path, runs: list[Run]) -> dict[str, Any]:
    """Checks that summary.csv follows from the runs; a folder may hold several experiments."""
    if any(r.manifest.record_format == 1 for r in runs):
        return _not_compared(path, "columns had other definitions when records were of format 1")
    try:
        found = read_bytes(path)
    except OSError as error:
        return {"file": path.name, "problems": [f"it cannot be read: {error.strerror}"]}
    same = any(
        found == summary_csv(of_one, without).encode() for of_one in _experiments(runs) for without in ((), LATER)
    )
    return _followed(path, same)


def _verify_flows(path: Path, runs: list[Run]) -> dict[str, Any]:
    """The same for flows.csv."""
    if any(r.manifest.record_format == 1 for r in runs):
        return _not_compared(path, "columns had other definitions when records were of format 1")
    if not path.exists():
        return _not_compared(path, "it is not there: Perigee 0.2.0 and earlier versions wrote none")
    try:
        regular(path)
    except OSError as error:
        return {"file": path.name, "problems": [f"it cannot be read: {error.strerror}"]}
    return _followed(path, any(flow_file.follows(path, flow_parts(of_one)) for of_one in _experiments(runs)))


def _experiments(runs: list[Run]) -> list[list[Run]]:
    found: dict[tuple[str, ...], list[Run]] = {}
    for r in runs:
        found.setdefault(tuple(experiment(r)), []).append(r)
    return list(found.values())


def _not_compared(path: Path, note: str) -> dict[str, Any]:
    return {"file": path.name, "compared": False, "problems": [], "notes": [note]}


def _followed(path: Path, follows: bool) -> dict[str, Any]:
    return {"file": path.name, "problems": [] if follows else ["it does not follow from the tables of the runs"]}


def changed_files(run: Run) -> list[str]:
    """Inputs of a run that are missing or have changed."""
    problems = []
    for f in run.manifest.files:
        path = Path(f.path)
        if not path.is_file():
            # Not for devices or pipes, which would never end.
            problems.append(f"the input {path} is gone")
        elif (now := _digest(path)) != f.sha256:
            problems.append(f"the input {path} " + ("cannot be read" if now is None else "has changed"))
    return problems


def _changed_outputs(run: Run) -> list[str]:
    """Files of programs that are missing, or differ from the manifest."""
    programs = run.manifest.get("programs")
    if programs is None or run.folder is None:
        return []
    if not (isinstance(programs, list) and all(isinstance(p, dict) for p in programs)):
        return ["programs of the manifest is not a list of programs"]
    said = {
        output_file(i, str(program.get("node")), kind): program.get(kind)
        for i, program in enumerate(programs)
        for kind in KINDS
    }
    problems = [
        f"{name} is " + ("missing or cannot be read" if now is None else "not what the manifest says")
        for name, sha256 in said.items()
        if (now := _digest(run.folder / name)) is None or now != sha256
    ]
    try:
        listed = json.loads(read_bytes(run.folder / INDEX))
    except (OSError, ValueError, RecursionError):
        return [*problems, f"{INDEX} is missing or cannot be read"]
    return problems + ([] if listed == programs else [f"{INDEX} is not what the manifest says"])


def _digest(path: Path) -> str | None:
    """The hash of a file; None if it cannot be read."""
    try:
        return sha256_of(path)
    except OSError:
        return None


def again(run: Run, permission: Permission) -> tuple[_core.Scenario, dict[str, type]]:
    """The scenario of a record with the classes that its flows need.

    Raises:
        UntrustedError: it names Python code that may not run.
        PluginError: that code cannot be used.
        ScenarioError: the scenario is wrong.
    """
    with permitted(permission) as refused:
        try:
            scenario = _core.Scenario.parse(run.manifest.scenario_toml, run.manifest.scenario, ".", [])
        except _core.ScenarioError:
            if refused:
                raise refused[0] from None
            raise
        sources = [Path(f.path) for f in run.manifest.files]
        named = {name: find(name, folder_of(name, sources), permission) for name in scenario.plugins()}
        return scenario, named | recorded(run.cc, sources, permission)


def folder_of(name: str, sources: list[Path]) -> Path:
    """The folder of the file of a class `file.py:Class`, from the files in a manifest."""
    written = Path(name.rpartition(":")[0])
    if written.is_absolute():
        return Path()
    found = [p for p in sources if p.parts[-len(written.parts) :] == written.parts]
    return found[0].parents[len(written.parts) - 1] if found else Path()


def _rerun(run: Run, permission: Permission) -> list[str]:
    """Differences of a repeated run; rows are hashed as they arrive, format 1 as full tables."""
    old = run.manifest.record_format == 1
    try:
        scenario, plugins = again(run, permission)
        batches = None if old else _nobody
        key = run.manifest.kernel_key
        backend = backends.by_key(key) if key is not None else backends.Backend(run.manifest.backend)
        permission.check_programs([p.line for p in of_scenario(scenario)])
        guests = guests_of(scenario, backend)
        text, found, _ = simulate(
            scenario.world(run.seed), run.cc, plugins, batches=batches, backend=backend, guests=guests
        )
    except UntrustedError:
        raise
    except RecordError as error:
        return [f"cannot be run again: {error}{_other_kernel(run)}"]
    except (_core.ScenarioError, _core.RunError, PluginError) as error:
        return [f"cannot be run again: {error.args[0]}"]
    now = manifests.parsed(json.loads(text), Path("the run made again"))
    hashes = (
        {n: _core.hash_table(c, 1) for n, c in found.items()} if old else {n: t.sha256 for n, t in now.tables.items()}
    )
    tables = run.manifest.tables
    problems = [
        f"table {n} differs" for n in tables if n not in now.tables or _differs(tables[n], now.tables[n], hashes[n])
    ]
    current = run.manifest.version == _core.__version__
    if current:
        problems += [f"the manifest has no table {n}" for n in now.tables if n not in tables]
    problems += [f"the manifest's {key} differs" for key in run.manifest.differences(now, same_version=current)]
    return problems + ([] if guests is None else _other_endings(run, guests))


def _other_endings(run: Run, guests: Guests) -> list[str]:
    """Differences in the endings of programs between the repeated run and the record."""
    then = run.manifest.get("programs", [])
    now = guests.stories.as_json()
    if len(then) != len(now):
        return [f"the record has {len(then)} programs, its scenario {len(now)}"]
    return [
        f"program {' '.join(a['command'])} at {a['node']}: {key} differs"
        for a, b in zip(then, now, strict=True)
        for key in b
        if a.get(key) != b[key]
    ]


def _other_kernel(run: Run) -> str:
    """Differences between the default kernel and that of the record."""
    kernel = run.manifest.get("kernel", {})
    then = kernel.get("files", {}) if isinstance(kernel, dict) else {}
    try:
        now = backends.linux().kernel.manifest
    except RecordError:
        return ""
    differ = [name for name in sorted({*then, *now.files}) if then.get(name) != now.files.get(name)]
    shown = ", ".join(differ[:8]) + (f" and {len(differ) - 8} more" if differ[8:] else "")
    return f"; the default kernel, {now.key}, differs in {shown or 'its name only'}"


def _differs(then: manifests.Table, now: manifests.Table, sha256: str) -> bool:
    return (then.rows, then.sha256) != (now.rows, sha256)


def _nobody(_name: str, _columns: object) -> None:
    """Discards rows that are only counted."""
