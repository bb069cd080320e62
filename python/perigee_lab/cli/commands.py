# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The commands `run`, `compare` and `report`."""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab import _core
from perigee_lab.cli.options import count
from perigee_lab.common import quoting
from perigee_lab.common.credentials import recorded
from perigee_lab.common.exit_codes import BAD_INPUT, FAILED, INCOMPLETE, INTERRUPTED
from perigee_lab.common.files import RecordError, cannot_write, claimed, fresh_folder, refuse_file
from perigee_lab.common.interrupt import announce
from perigee_lab.common.messages import complain
from perigee_lab.extensions.trust import Permission, PluginError
from perigee_lab.results import flow_file
from perigee_lab.results.beside import beside
from perigee_lab.results.columns import one_line
from perigee_lab.results.differing import differing
from perigee_lab.results.metrics import Row, mean_and_interval
from perigee_lab.results.record import find_records, in_order
from perigee_lab.results.rtt_over import SAMPLES
from perigee_lab.results.summary import (
    COLUMNS,
    about_seeds,
    as_data,
    by_scheme,
    conclude,
    finite,
    shown,
    statistics_of,
)
from perigee_lab.runs import job, work
from perigee_lab.runs.cost import cost_of
from perigee_lab.runs.executor import RemoteError
from perigee_lab.runs.machines import HERE, Machines
from perigee_lab.runs.runner import Interrupted, Plan, execute, unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from perigee_lab.results.record import Run
    from perigee_lab.runs.scenario import Results, Scenario
    from perigee_lab.runs.work import Hosts

RUNS = Path("runs")
# The table with a line per scheme needs this many characters.
WIDE_TABLE = 142
# An estimate is worth a line when it is longer than this.
LONG_RUN_S = 5.0
# Keys by which two scenarios differ that are named.
MOST_KEYS = 6


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    machines: Machines = HERE
    out: Path | None = None
    force: bool = False
    report: bool = True
    as_json: bool = False


def run_command(scenario: Scenario, cc: Sequence[str], asked: Asked, *, pcap: bool, kernel: Hosts | None = None) -> int:
    """Runs, prints, writes. Returns the exit code."""
    return _run(lambda: Plan.of(scenario, cc, pcap=pcap, kernel=kernel, command=recorded(sys.argv)), asked)


def run_job_command(file: Path, asked: Asked, *, trust: bool) -> int:
    """Runs the jobs of a file. Returns the exit code."""
    return _run(lambda: Plan.of_jobs(job.read(file), Permission(trust), recorded(sys.argv)), asked)


def dry_command(
    scenario: Scenario,
    cc: Sequence[str],
    save: Path | None,
    *,
    pcap: bool,
    kernel: Hosts | None = None,
    as_json: bool,
) -> int:
    """Says what would be run, and saves it as jobs. Returns the exit code."""
    try:
        plan = Plan.of(scenario, cc, pcap=pcap, kernel=kernel)
        if save is not None:
            if plan.stays:
                raise RecordError("code that exists in memory only cannot be saved as a job")
            job.save(plan.jobs, save)
    except _core.ScenarioError as error:
        complain(error.args[0])
        return BAD_INPUT
    except (RecordError, PluginError, _core.RunError) as error:
        _print_cause(error)
        complain(str(error))
        return BAD_INPUT
    except OSError as error:
        complain(f"{cannot_write(save or Path(), error)}")
        return BAD_INPUT
    cost = cost_of(plan).times(plan.size)
    seeds, schemes = [j.seed for j in plan.jobs], list(plan.jobs[0].schemes)
    if as_json:
        told = {"scenario": scenario.name, "cc": schemes, "seeds": seeds, "runs": plan.size}
        print(json.dumps({**told, **cost.as_data(), "job": save and str(save)}, indent=1))
        return 0
    print(f"{scenario.name}: {count(plan.size, 'run')} of {', '.join(schemes)}, seeds {', '.join(map(str, seeds))}")
    print(f"  {cost.in_words()}")
    if save is not None:
        print(f"job: {save}; now, here or elsewhere: perigee run-job {save}")
    return 0


def _folder(plan: Plan, asked: Asked) -> tuple[Path, bool]:
    """Where the records go, and whether the folder was made for them: what a killed call began is carried on."""
    if asked.out is not None:
        return asked.out, False
    begun = None if asked.force else unfinished(plan, plan.jobs[0].scenario, RUNS)
    return (begun, False) if begun is not None else (fresh_folder(plan.jobs[0].scenario, RUNS), True)


def _run(made: Callable[[], Plan], asked: Asked) -> int:
    folder = asked.out if asked.out is not None else RUNS
    report, as_json = asked.report, asked.as_json
    try:
        if asked.out is not None:
            # Before anything is built for what belongs there.
            refuse_file(asked.out)
        plan = made()
        folder, fresh = _folder(plan, asked)
        with claimed(folder, fresh=fresh):
            plan = plan.into(folder, force=asked.force)
            if (there := plan.resumed()) and not as_json:
                print(f"from an earlier call: {there} of {count(plan.size, 'run')} in {folder}", file=sys.stderr)
            try:
                results = _execute(plan, asked.machines, quiet=as_json)
            except work.BrokenRunError as error:
                return _broken(error, folder, asked)
            strangers = conclude(folder, results[-1], report=report)
    except (_core.ScenarioError, RecordError, PluginError, _core.RunError, OSError) as error:
        return _failed(error, folder)
    except Interrupted as stop:
        return _interrupted(stop, folder)
    if as_json:
        print(json.dumps(as_data(results, folder), indent=1))
    else:
        _print_results(results, folder, report=report)
        for r in strangers:
            print(f"left out of summary and report, as it is of another scenario: {r.folder}")
    return 0


def _failed(error: Exception, folder: Path) -> int:
    """Says why there are no results. Returns the exit code."""
    if isinstance(error, _core.ScenarioError):
        complain(error.args[0])
        return BAD_INPUT
    if isinstance(error, OSError):
        complain(f"{cannot_write(folder, error)}")
        return BAD_INPUT
    _print_cause(error)
    complain(str(error))
    if isinstance(error, _core.RunError):
        return INCOMPLETE if isinstance(error, _core.HostsError) else FAILED
    return BAD_INPUT


def _broken(error: work.BrokenRunError, folder: Path, asked: Asked) -> int:
    """Shows what there is of a comparison whose hosts ended. It gets no summary: the next call goes on with it."""
    results = error.results
    report = asked.report and len(results) > 0
    if report:
        from perigee_lab.results.report import write_report

        write_report(results, folder / "report.html")
    if asked.as_json:
        print(json.dumps({**as_data(results, folder), "broken": str(error)}, indent=1))
    elif results:
        _print_results(results, folder, report=report)
    complain(str(error))
    return INCOMPLETE


def _interrupted(stop: Interrupted, folder: Path) -> int:
    kept = f"{len(stop.results)} complete runs are in {folder}" if len(stop.results) else "nothing was complete"
    announce(kept)
    return INTERRUPTED


def _print_cause(error: Exception) -> None:
    """The traceback of a plug-in's exception, where there is one."""
    if isinstance(error, RecordError):
        return
    if isinstance(error.__cause__, RemoteError):
        print(error.__cause__, end="", file=sys.stderr)
    elif error.__cause__ is not None:
        import traceback

        traceback.print_exception(error.__cause__, file=sys.stderr)


def _execute(plan: Plan, machines: Machines, *, quiet: bool) -> Results:
    from rich.console import Console

    console = Console(stderr=True)
    n = len(plan.missing())
    cost = cost_of(plan).times(n)
    if not quiet and cost.cpu_s > LONG_RUN_S:
        print(
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
    from rich.console import Console

    # Files and pipes have no width: cells must not be cut there.
    console = Console(width=None if sys.stdout.isatty() else 200)
    schemes = by_scheme(in_order(results))
    ended = {r.cc for r in results if "broken" in r.manifest}
    schemes = {f"{cc} (incomplete)" if cc in ended else cc: rows for cc, rows in schemes.items()}
    console.print(scheme_table(schemes, width=console.width, plain=not console.is_terminal))
    for line in [*beside(results), *about_seeds(results)]:
        print(line)
    remarks = _remarks(results)
    if remarks:
        print("Look before you trust:")
        for remark in remarks:
            print(f"  {remark}")
    for line in flow_file.where(folder):
        print(line)
    print(f"record: {folder}" + (f", report: {folder / 'report.html'}" if report else ""))


def _remarks(results: Sequence[Run]) -> list[str]:
    """Warnings of the runs; what all schemes have in common is said once."""
    every = list(dict.fromkeys(w for r in results for w in r.manifest.warnings))
    schemes = dict.fromkeys(r.cc for r in results)
    found = []
    for w in every:
        of = dict.fromkeys(r.cc for r in results if w in r.manifest.warnings)
        found.append(w if len(of) == len(schemes) else f"{', '.join(of)}: {w}")
    return found


def scheme_table(schemes: dict[str, list[Row]], *, width: int, plain: bool) -> Any:
    """Means, with 95 % intervals where runs differ. On a narrow terminal metrics go down the page."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.ASCII2 if plain else box.SIMPLE_HEAD, pad_edge=False)
    cells = {cc: [shown(rows, name, form, "\n±") for name, _, form in COLUMNS] for cc, rows in schemes.items()}
    headings = [heading for _, heading, _ in COLUMNS]
    if width >= WIDE_TABLE:
        table.add_column("scheme", no_wrap=True)
        for heading in headings:
            table.add_column(heading, justify="right", no_wrap=True)
        for cc, values in cells.items():
            table.add_row(quoting.cell(cc), *values)
    else:
        table.add_column("", no_wrap=True)
        for cc in cells:
            table.add_column(quoting.cell(cc), justify="right", no_wrap=True)
        for k, heading in enumerate(headings):
            table.add_row(one_line(heading), *(values[k] for values in cells.values()))
    return table


def compare_command(a: Path, b: Path, *, as_json: bool) -> int:
    """Two records side by side."""
    try:
        runs = find_records(a), find_records(b)
        left, right = (by_scheme(r) for r in runs)
    except RecordError as error:
        complain(str(error))
        return BAD_INPUT
    others = differing(*(r[0].manifest.scenario_toml for r in runs))
    names = list(dict.fromkeys([*left, *right]))
    rows = [_compared(cc, left.get(cc, []), right.get(cc, [])) for cc in names]
    over = [statistics_of(r.summary for r in of) for of in runs]
    if as_json:
        told = {"a": str(a), "b": str(b), "differing_keys": others, "rtt_over": dict(zip("ab", over, strict=True))}
        print(json.dumps({**told, "schemes": rows}, indent=1))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table("scheme", "metric", quoting.cell(f"A: {a}"), quoting.cell(f"B: {b}"), "B - A")
    both = [row for row in rows if row["cc"] in left and row["cc"] in right]
    for row in both:
        for i, cells in enumerate(_lines(row)):
            table.add_row(quoting.cell(row["cc"]) if i == 0 else "", *cells)
        table.add_section()
    if both:
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    for folder, mine, theirs in ((a, left, right), (b, right, left)):
        if only := [cc for cc in mine if cc not in theirs]:
            print(f"Only in {folder}: {', '.join(only)}")
    seeds = [sorted({r.seed for r in of}) for of in runs]
    if seeds[0] != seeds[1]:
        print(
            f"The seeds differ: {_in_words(seeds[0])} in A, {_in_words(seeds[1])} in B; the numbers are means over them"
        )
    if over != [[SAMPLES], [SAMPLES]] and any(over):
        said = " and ".join(f"{' or '.join(of) or 'nothing'} in {side}" for of, side in zip(over, "AB", strict=True))
        print(f"RTTs and inflation are over {said}: `perigee columns rtt_over` says what that means")
    if others:
        more = f" and {len(others) - MOST_KEYS} more" if len(others) > MOST_KEYS else ""
        shown_keys = ", ".join(f"{k} ({x} and {y})" for k, x, y in others[:MOST_KEYS])
        print(f"The scenarios differ in {shown_keys}{more}")
    return 0


def _lines(row: dict[str, Any]) -> list[list[str]]:
    """Heading, both values and their difference for each metric that one of them has."""
    found = []
    for name, heading, form in COLUMNS:
        x, y = row["a"].get(name), row["b"].get(name)
        if x is None and y is None:
            continue
        if x is None or y is None:
            difference = "-"
        elif x == y:
            difference = form.format(0)
        elif form.endswith("%}"):
            difference = f"{100 * (y - x):+.1f} points"
        else:
            difference = f"{form[:2]}+{form[2:]}".format(y - x)
        found.append([one_line(heading), *("-" if v is None else form.format(v) for v in (x, y)), difference])
    return found


def _in_words(seeds: Sequence[int]) -> str:
    """Seeds as a range where they are one."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _compared(cc: str, a: list[Row], b: list[Row]) -> dict[str, Any]:
    means = [
        finite({name: mean_and_interval([float(r.get(name, math.nan)) for r in rows])[0] for name, _, _ in COLUMNS})
        for rows in (a, b)
    ]
    return {"cc": cc, "a": means[0], "b": means[1]}


def report_command(folder: Path, out: Path | None) -> int:
    """Writes the report of a record."""
    from perigee_lab.results.report import write_report

    target = out or folder / "report.html"
    begin = time.perf_counter()
    try:
        write_report(find_records(folder), target)
    except RecordError as error:
        complain(str(error))
        return BAD_INPUT
    except OSError as error:
        complain(f"{cannot_write(target, error)}")
        return BAD_INPUT
    print(f"{target} is written ({time.perf_counter() - begin:.1f} s)")
    return 0
