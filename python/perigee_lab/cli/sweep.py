# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee sweep`: a scenario with every combination of values."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli.backend import BackendOption, HostsOption, KernelOption, chosen, name_of, not_in_real_time
from perigee_lab.cli.cell_tables import finite, print_cells, print_groups, usual_columns
from perigee_lab.cli.expectations import JunitOption, Outlets, TapOption, conclude_expectations
from perigee_lab.cli.options import (
    CcOption,
    ClusterOption,
    JobsOption,
    JsonOption,
    ScenarioArg,
    StoreOption,
    SweptOption,
    TrustOption,
    ZipOption,
    count,
    machines_of,
    schemes_of,
)
from perigee_lab.cli.output import print_warnings
from perigee_lab.common.credentials import recorded
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED, INTERRUPTED
from perigee_lab.common.files import writing
from perigee_lab.common.messages import complain, say

if TYPE_CHECKING:
    from perigee_lab.judge.verdicts import Finding
    from perigee_lab.results.cells import Axis, Sweep
    from perigee_lab.runs.sweep import SweepPlan

RUNS = Path("runs")


def command(
    scenario: ScenarioArg,
    sets: SweptOption = None,
    zip_values: ZipOption = False,
    cc: CcOption = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first run.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Repetitions with successive seeds.")] = None,
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder; default: a fresh runs/NAME-sweep.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    plots: Annotated[bool, typer.Option(help="Draw heat maps and lines into OUT/plots.")] = True,
    dry: Annotated[bool, typer.Option("--dry", help="Print what would run, then exit.")] = False,
    backend: BackendOption = None,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
    junit: JunitOption = None,
    tap: TapOption = None,
) -> int:
    """Run every combination of some values.

    Values of keys (--set KEY=A,B,C) and of the scenario's [sweep]. An interrupted sweep resumes. Exit codes
    4 and 5: an expectation of the scenario has failed, or is undecided.
    """
    from perigee_lab.common.files import claimed, fresh_folder, refuse_file
    from perigee_lab.common.interrupt import announce
    from perigee_lab.runs.runner import Interrupted
    from perigee_lab.runs.sweep import execute_sweep, unfinished

    outlets = Outlets(junit, tap)
    outlets.check()
    single, axes = split(sets or [], zip_values)
    single += [f"run.seed={seed}"] if seed is not None else []
    single += [f"run.runs={runs}"] if runs is not None else []
    on = chosen(name_of(backend, hosts, None), kernel)
    not_in_real_time(on, "and a sweep's runs side by side")
    machines = machines_of(jobs, cluster, store)
    if out is not None:
        refuse_file(out)
    with writing(out or RUNS):
        given: dict[str, Any] = {"backend": on, "zip_values": zip_values, "trust": trust}
        plan = _planned(scenario, single, axes, schemes_of(cc), given, quiet=as_json)
        print_warnings(plan.warnings)
        if dry:
            _print_plan(plan, as_json=as_json)
            return 0
        name = f"{plan.index.scenario}-sweep"
        begun = None if out is not None or force else unfinished(plan, name, RUNS)
        folder = out or begun or fresh_folder(name, RUNS)
    try:
        with writing(folder), claimed(folder, fresh=out is None and begun is None):
            plan = plan.into(folder, force=force)
            if (there := plan.resumed()) and not as_json:
                say(f"resuming: {there} of {count(plan.size, 'run')} already complete in {folder}", file=sys.stderr)
            done = _with_bar(
                lambda p: execute_sweep(plan, folder, machines=machines, progress=p), plan.size, quiet=as_json
            )
            drawn = _drawn(done, folder) if plots and not plan.failed else []
    except Interrupted:
        announce(f"complete runs are in {folder}; the same call resumes")
        return INTERRUPTED
    return _conclude(plan, done, folder, drawn, outlets, as_json=as_json)


def _conclude(plan: SweepPlan, done: Sweep, folder: Path, drawn: list[Path], outlets: Outlets, *, as_json: bool) -> int:
    from perigee_lab.results.cells import CELLS
    from perigee_lab.results.flow_file import FILE, MOST_IN_CSV

    findings = _findings(plan, folder)
    if as_json:
        shown = {"out": str(folder), "keys": done.keys, "cells": done.means(usual_columns(done)), "failed": plan.failed}
        shown |= {"groups": done.groups} if done.groups else {}
        warnings = [*plan.warnings, *done.warnings]
        shown |= {"warnings": warnings} if warnings else {}
        shown |= {"expectations": [f.as_data() for f in findings]} if findings else {}
        print(json.dumps(finite(shown), indent=1))
    else:
        print_cells(done, usual_columns(done))
        print_groups(done, usual_columns(done))
        if done.warnings:
            say("Warnings:\n  " + "\n  ".join(done.warnings))
        say(
            f"table: {folder / 'sweep.csv'}, a row per run"
            + (f"; {len(drawn)} plots in {folder / 'plots'}" * bool(drawn))
        )
        if many := sum((folder / CELLS / c.folder / FILE).exists() for c in done.index.cells):
            where = folder / CELLS / "NAME" / FILE
            say(f"rows of flows: {where} of {count(many, 'cell')} (more than {MOST_IN_CSV} each)")
    for line in plan.failed[:5]:
        complain(line)
    if plan.failed:
        failed = f"{len(plan.failed)} of {plan.size} runs failed; without them there is no sweep.csv"
        complain(f"{failed}. The same call retries them")
    met = conclude_expectations(done.index.scenario, findings, outlets, quiet=as_json)
    return FAILED if plan.failed else met


def _findings(plan: SweepPlan, folder: Path) -> list[Finding]:
    """The verdicts of all cells with complete runs."""
    from perigee_lab.judge import expectations
    from perigee_lab.judge.verdicts import evaluate
    from perigee_lab.results.cells import CELLS, bare
    from perigee_lab.results.record import in_order, record_folders
    from perigee_lab.results.run import find_records

    found: list[Finding] = []
    for core, cell in zip(plan.cores, plan.index.cells, strict=True):
        chosen = expectations.of(core)
        where = folder / CELLS / cell.folder
        if chosen and record_folders(where):
            pairs = zip(plan.index.axes, cell.values, strict=True)
            name = ", ".join(f"{a.key.rpartition('.')[2]}={bare(v)}" for a, v in pairs)
            found += evaluate(chosen, in_order(find_records(where)), name)
    return found


def split(sets: list[str], zip_values: bool) -> tuple[list[str], list[Axis]]:
    """Overrides, and keys with several values. Commas in brackets or quotes belong to a value."""
    from perigee_lab.common.quantities import repeated
    from perigee_lab.results.cells import Axis

    single: list[str] = []
    axes: list[Axis] = []
    for text in sets:
        key, _, values = text.partition("=")
        parts = _parts(values)
        if len(parts) < 2:
            single.append(text)
            continue
        if "" in parts:
            stop(f"--set {text!r} has an empty value: give comma-separated values")
        if not zip_values and (twice := repeated(parts)) is not None:
            stop(f"--set {text!r}: {twice} is given twice")
        if key.strip() in {a.key for a in axes}:
            stop(f"--set {key.strip()} is given twice: put all its values into one")
        axes.append(Axis(key.strip(), tuple(parts)))
    for text in single:
        if (key := text.partition("=")[0].strip()) in {a.key for a in axes}:
            stop(f"--set {key} is given twice, once with one value: put all its values into one")
    return single, axes


def _parts(text: str) -> list[str]:
    found, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        else:
            depth += (c in "([{") - (c in ")]}")
        if c == "," and depth <= 0 and not quote:
            found.append("")
        else:
            found[-1] += c
    return [p.strip() for p in found]


def _planned(
    path: Path, single: list[str], axes: list[Axis], cc: list[str], given: dict[str, Any], *, quiet: bool
) -> SweepPlan:
    from rich.console import Console
    from rich.status import Status

    from perigee_lab.runs.sweep import plan_of

    console = Console(stderr=True, emoji=False)
    given = {**given, "command": recorded(sys.argv)}
    if quiet or not console.is_terminal:
        return plan_of(path, single, axes, cc, **given)
    with Status("checking cells", console=console) as status:
        report = lambda n, of: status.update(f"checking cells: {n} of {of}")  # noqa: E731
        return plan_of(path, single, axes, cc, **given, progress=report)


def _print_plan(plan: SweepPlan, *, as_json: bool) -> None:
    shape = {a.key: a.shown() for a in plan.index.axes}
    schemes, seeds = list(plan.plans[0].jobs[0].schemes), [j.seed for j in plan.plans[0].jobs]
    if as_json:
        shown = {"keys": shape, "cells": len(plan.plans), "runs": plan.size, "cc": schemes, "seeds": seeds}
        print(json.dumps({**shown, **plan.cost.as_data()}, indent=1))
        return
    for key, values in shape.items():
        say(f"{key}: {', '.join(values)}")
    say(f"{count(len(plan.plans), 'cell')}, {', '.join(schemes)}, seeds {', '.join(map(str, seeds))}: ", end="")
    say(f"{count(plan.size, 'run')}\n  {plan.cost.in_words()}")


def _with_bar(make: Callable[[Callable[[float], None] | None], Sweep], runs: int, *, quiet: bool) -> Sweep:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, emoji=False)
    if quiet or not console.is_terminal:
        return make(None)
    columns = (TextColumn("{task.completed:.0f} of {task.total:.0f} runs"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=runs)
        return make(lambda share: bar.update(task, completed=share * runs))


def _drawn(done: Sweep, folder: Path) -> list[Path]:
    from perigee_lab.results.cell_plots import pictures

    return pictures(done, folder / "plots")
