# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Execution of jobs for `perigee run` and `perigee run-job`: progress bar, table and record."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab import _core
from perigee_lab.cli.expectations import Outlets, conclude_expectations
from perigee_lab.cli.options import count
from perigee_lab.cli.tables import print_groups, scheme_table
from perigee_lab.common.credentials import recorded
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import INCOMPLETE, INTERRUPTED
from perigee_lab.common.files import claimed, fresh_folder, refuse_file, removed, writing
from perigee_lab.common.interrupt import announce, on_termination
from perigee_lab.common.messages import complain, say
from perigee_lab.common.terminal import print_table, table_console
from perigee_lab.extensions.trust import Permission
from perigee_lab.judge import expectations as judge
from perigee_lab.judge.verdicts import evaluate
from perigee_lab.results import flow_file
from perigee_lab.results.beside import beside
from perigee_lab.results.conclusion import conclude
from perigee_lab.results.record import in_order
from perigee_lab.results.summary import about_seeds, as_data, by_scheme
from perigee_lab.runs import job, work
from perigee_lab.runs.archive import is_archive, open_archive
from perigee_lab.runs.backends import SIMULATOR, Backend
from perigee_lab.runs.cost import cost_of
from perigee_lab.runs.machines import HERE, Machines
from perigee_lab.runs.relocation import relocated_jobs
from perigee_lab.runs.runner import Interrupted, Plan, execute, unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from perigee_lab.judge.expectations import Expectation
    from perigee_lab.results.run import Results, Run
    from perigee_lab.runs.job import Job
    from perigee_lab.runs.scenario import Scenario

RUNS = Path("runs")
INPUTS = "inputs"
"""Folder for an unpacked archive, in that of its records."""
# Estimates above this are printed.
LONG_RUN_S = 5.0


@dataclass(frozen=True)
class Options:
    """Request of the command line."""

    machines: Machines = HERE
    out: Path | None = None
    force: bool = False
    report: bool = True
    as_json: bool = False
    outlets: Outlets = field(default_factory=Outlets)


def run_command(
    scenario: Scenario, cc: Sequence[str], options: Options, *, pcap: bool, backend: Backend = SIMULATOR
) -> int:
    """Runs, prints and writes. Returns the exit code."""
    expectations = judge.of(scenario.core)

    def planned() -> Plan:
        plan = Plan.of(scenario, cc, pcap=pcap, backend=backend, command=recorded(sys.argv))
        judge.check_all(expectations, plan.first.world(), plan.jobs[0].schemes, of_file=not cc)
        return plan

    return _run(planned, options, expectations)


def run_job_command(file: Path, options: Options, *, trust: bool) -> int:
    """Runs the jobs of a file. Returns the exit code."""
    return _run(
        lambda: Plan.of_jobs(relocated_jobs(job.read(file), file), Permission(trust), recorded(sys.argv)), options, None
    )


def run_archive_command(file: Path, options: Options, *, trust: bool) -> int:
    """Runs the jobs of an archive, which is unpacked next to their records. Returns the exit code."""
    archive = open_archive(file)
    archive.refuse_untrusted(trusted=trust)
    if options.out is not None:
        refuse_file(options.out)
    with writing(options.out or RUNS):
        folder, fresh = _folder(archive.jobs(Path()), options)
    place = folder / INPUTS
    try:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            unpacked = not archive.is_in(place)
            if unpacked:
                if os.path.lexists(place):
                    stop(f"{place} exists and belongs to another run: remove it, or choose another --out")
                archive.unpack(place)
        permission = archive.permission(place, trusted=trust)
        jobs = archive.jobs(place)
        return _run(lambda: Plan.of_jobs(jobs, permission, recorded(sys.argv)), replace(options, out=folder), None)
    finally:
        if fresh and [p.name for p in folder.glob("*")] == [INPUTS]:
            removed(folder)


def dry_command(
    scenario: Scenario,
    cc: Sequence[str],
    save: Path | None,
    *,
    pcap: bool,
    backend: Backend = SIMULATOR,
    as_json: bool,
) -> None:
    """Prints the planned runs, and saves them as jobs."""
    from perigee_lab.runs.packing import save_jobs

    plan = Plan.of(scenario, cc, pcap=pcap, backend=backend)
    if save is not None:
        if plan.stays:
            stop("code that exists in memory only cannot be saved as a job")
        with writing(save):
            if is_archive(save):
                save_jobs(plan.jobs, save)
            else:
                job.save(plan.jobs, save)
    cost = cost_of(plan).times(plan.size)
    seeds, schemes = [j.seed for j in plan.jobs], list(plan.jobs[0].schemes)
    if as_json:
        data = {"scenario": scenario.name, "cc": schemes, "seeds": seeds, "runs": plan.size}
        print(json.dumps({**data, **cost.as_data(), "job": save and str(save)}, indent=1))
        return
    say(f"{scenario.name}: {count(plan.size, 'run')} of {', '.join(schemes)}, seeds {', '.join(map(str, seeds))}")
    say(f"  {cost.in_words()}")
    if save is not None:
        say(f"job: {save}; now, here or elsewhere: perigee run-job {save}")


def _folder(jobs: Sequence[Job], options: Options) -> tuple[Path, bool]:
    """Folder of the records, and whether it was created for them; a killed call is resumed."""
    if options.out is not None:
        return options.out, False
    begun = None if options.force else unfinished(jobs, RUNS)
    return (begun, False) if begun is not None else (fresh_folder(jobs[0].scenario, RUNS), True)


def _run(made: Callable[[], Plan], options: Options, expectations: Sequence[Expectation] | None) -> int:
    report, as_json = options.report, options.as_json
    if options.out is not None:
        # Before anything is built for the folder.
        refuse_file(options.out)
    with writing(options.out or RUNS):
        plan = made()
        folder, fresh = _folder(plan.jobs, options)
    try:
        with writing(folder), claimed(folder, fresh=fresh), on_termination():
            plan = plan.into(folder, force=options.force)
            if (there := plan.resumed()) and not as_json:
                say(f"resuming: {there} of {count(plan.size, 'run')} already complete in {folder}", file=sys.stderr)
            try:
                results = _execute(plan, options.machines, quiet=as_json)
            except work.BrokenRunError as error:
                _write_problem(plan, error, options)
                return _broken(error, folder, options)
            except _core.RunError as error:
                _write_problem(plan, error, options)
                raise
            strangers = conclude(folder, results[-1], report=report)
    except Interrupted as stopped:
        return _interrupted(stopped, folder)
    chosen = judge.of(plan.first.core) if expectations is None else expectations
    findings = evaluate(chosen, list(results))
    if as_json:
        data = {"expectations": [f.as_data() for f in findings]} if findings else {}
        print(json.dumps({**as_data(results, folder), **data}, indent=1))
    else:
        _print_results(results, folder, report=report)
        for r in strangers:
            say(f"skipped in summary and report: {r.folder} (recorded from a different scenario)")
    _name_unchecked(chosen, plan.jobs[0].schemes)
    return conclude_expectations(plan.jobs[0].scenario, findings, options.outlets, quiet=as_json)


def _name_unchecked(expectations: Sequence[Expectation], compared: Sequence[str]) -> None:
    for e in expectations:
        missing = judge.uncompared(e, compared)
        if missing and len(missing) == len(e.keys["cc"]):
            who = ", ".join(missing)
            say(f"{e.place}: not checked, as {who} is not compared: {e.title} {e.bound()}", file=sys.stderr)


def _write_problem(plan: Plan, error: Exception, options: Options) -> None:
    """The files for CI, with the error in place of verdicts."""
    name = plan.jobs[0].scenario
    options.outlets.write({name: []}, {name: str(error)})


def _broken(error: work.BrokenRunError, folder: Path, options: Options) -> int:
    """Shows a comparison with hosts that ended, without a summary: the next call resumes it."""
    results = error.results
    report = options.report and len(results) > 0
    if report:
        from perigee_lab.results.report import write_report

        write_report(results, folder / "report.html")
    if options.as_json:
        print(json.dumps({**as_data(results, folder), "broken": str(error)}, indent=1))
    elif results:
        _print_results(results, folder, report=report)
    complain(str(error))
    return INCOMPLETE


def _interrupted(stopped: Interrupted, folder: Path) -> int:
    kept = f"{len(stopped.results)} complete runs are in {folder}" if len(stopped.results) else "nothing was complete"
    announce(kept)
    return INTERRUPTED


def _execute(plan: Plan, machines: Machines, *, quiet: bool) -> Results:
    from rich.console import Console

    console = Console(stderr=True, emoji=False)
    n = len(plan.missing())
    cost = cost_of(plan).times(n)
    if not quiet and cost.cpu_s > LONG_RUN_S:
        say(
            f"estimate: {count(n, 'run')}, {cost.in_words(None if machines.cluster else machines.cores)}",
            file=sys.stderr,
        )
    if quiet or not console.is_terminal:
        return execute(plan, machines=machines)
    return _with_bar(console, plan, machines)


def _with_bar(console: Console, plan: Plan, machines: Machines) -> Results:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    simulated_s = plan.first.core.duration_ns / 1e9 * plan.size
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} simulated s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(plan.jobs[0].scenario, total=simulated_s)
        on_progress: Callable[[float], None] = lambda share: bar.update(task, completed=share * simulated_s)  # noqa: E731
        return execute(plan, machines=machines, progress=on_progress)


def _print_results(results: Sequence[Run], folder: Path, *, report: bool) -> None:
    console = table_console()
    schemes = by_scheme(in_order(results))
    ended = {r.cc for r in results if "broken" in r.manifest}
    schemes = {f"{cc} (incomplete)" if cc in ended else cc: rows for cc, rows in schemes.items()}
    print_table(console, scheme_table(schemes, width=console.width, plain=not console.is_terminal))
    print_groups(console, results)
    for line in [*beside(results), *about_seeds(results)]:
        say(line)
    warnings = _warnings(results)
    if warnings:
        print("Warnings:")
        for warning in warnings:
            say(f"  {warning}")
    for line in flow_file.where(folder):
        say(line)
    say(f"record: {folder}" + (f", report: {folder / 'report.html'}" if report else ""))


def _warnings(results: Sequence[Run]) -> list[str]:
    """Warnings of the runs; those common to all schemes appear once."""
    every = list(dict.fromkeys(w for r in results for w in r.manifest.warnings))
    schemes = dict.fromkeys(r.cc for r in results)
    found = []
    for w in every:
        of = dict.fromkeys(r.cc for r in results if w in r.manifest.warnings)
        found.append(w if len(of) == len(schemes) else f"{', '.join(of)}: {w}")
    return found
