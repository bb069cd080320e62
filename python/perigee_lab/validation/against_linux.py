# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee validate --against linux`: comparison of scenarios with simulated and real hosts."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.credentials import recorded
from perigee_lab.common.exit_codes import OUTSIDE_TOLERANCE
from perigee_lab.common.files import RecordError, claimed, writing
from perigee_lab.common.messages import say
from perigee_lab.common.terminal import empty_table, print_table, table_console
from perigee_lab.extensions.trust import Permission, together
from perigee_lab.results.manifest import MANIFEST
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import Run, open_record
from perigee_lab.runs.backends import SIMULATOR
from perigee_lab.runs.executor import Executor, Outcome, Task, partial_of
from perigee_lab.runs.runner import RECORD, Plan
from perigee_lab.runs.work import Sink
from perigee_lab.validation import side_by_side
from perigee_lab.validation.side_by_side import Cell, Explained, Pair, Summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from perigee_lab.runs.backends import Linux
    from perigee_lab.runs.job import Job
    from perigee_lab.runs.scenario import Scenario

SIDES = ("simulated", "linux")
RESULTS = "real-hosts.csv"
ORBCC_RESULTS = "orbcc-hosts.csv"
"""Results of the cells of `side_by_side.ORBCC_TABLE`, in this package."""


@dataclass(frozen=True)
class Asked:
    """Options of the command line."""

    scenarios: Sequence[Scenario] = ()
    schemes: Sequence[str] = ()
    cells: Sequence[str] = ()
    jobs: int | None = None
    seeds: int | None = None
    out: Path | None = None
    as_json: bool = False


@dataclass(frozen=True)
class Wanted:
    """A run of a cell, and the folder of its record."""

    cell: Cell
    cc: str
    side: str
    job: Job
    folder: Path
    permission: Permission


def compare_command(asked: Asked, linux: Linux) -> int:
    """Runs the cells on both sides and prints tables.

    Returns 0 if differences are explained or due to chance, 3 otherwise.
    """
    cells = _cells(asked, linux)
    with writing(asked.out or Path()), ExitStack() as stack:
        if asked.out is None:
            out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="perigee-")))
        else:
            out = asked.out
            stack.enter_context(claimed(out))
        found = _run(cells, asked, linux, out)
        if asked.out is not None:
            side_by_side.write(out / RESULTS, found)
    known = [] if asked.scenarios else side_by_side.explained() + side_by_side.explained(side_by_side.ORBCC_TABLE)
    _tell(found, known, as_json=asked.as_json)
    return OUTSIDE_TOLERANCE if any(side_by_side.verdict(p, known) == side_by_side.OUTSIDE for p in found) else 0


def _cells(asked: Asked, linux: Linux) -> list[Cell]:
    """The requested cells, from scenarios or the table. Raises RecordError if there is none."""
    if asked.scenarios:
        cells = [_of_scenario(s, asked, linux) for s in asked.scenarios]
        twice = [c.name for i, c in enumerate(cells) if c.name in [d.name for d in cells[:i]]]
        if twice:
            raise RecordError(f"two scenarios are called {twice[0]!r}: their records would share a folder")
    else:
        table = side_by_side.read() + side_by_side.read(side_by_side.ORBCC_TABLE)
        names = [c.name for c in table]
        for name in asked.cells:
            if name not in names:
                raise RecordError(f"no cell is called {name!r}; there are {', '.join(names)}")
        cells = [c for c in table if not asked.cells or c.name in asked.cells]
        if asked.schemes:
            kept = [(c, tuple(cc for cc in c.schemes if cc in asked.schemes)) for c in cells]
            cells = [_with(c, schemes, c.seeds) for c, schemes in kept if schemes]
    if asked.seeds is not None:
        cells = [_with(c, c.schemes, tuple(range(1, asked.seeds + 1))) for c in cells]
    if not cells:
        raise RecordError(f"no cell has the schemes {', '.join(asked.schemes)}: name a scenario to compare them on")
    return cells


def _with(cell: Cell, schemes: tuple[str, ...], seeds: tuple[int, ...]) -> Cell:
    return Cell(cell.name, cell.scenario, schemes, seeds, cell.by_flow)


def _of_scenario(scenario: Scenario, asked: Asked, linux: Linux) -> Cell:
    """A cell from a user-supplied scenario, with its seeds and the schemes that the kernel has."""
    core = scenario.core
    names = core.schemes(list(asked.schemes))
    if not asked.schemes and len(names) > 1:
        names, left_out = _in_kernel(scenario, names, linux)
        if left_out:
            say(f"{scenario.name}: not in the kernel and left out: {', '.join(left_out)}", file=sys.stderr)
    seeds = tuple(range(core.seed, core.seed + core.runs))
    return Cell(scenario.name, scenario, tuple(names), seeds, by_flow=None)


def _in_kernel(scenario: Scenario, names: Sequence[str], linux: Linux) -> tuple[list[str], list[str]]:

    world = scenario.core.world(scenario.core.seed)
    refused: dict[str, _core.RunError] = {}
    for name in names:
        try:
            world.check(name, scenario.classes(), linux.as_core())
        except _core.RunError as error:
            refused[name] = error
    if len(refused) == len(names):
        raise refused[names[0]]
    return [n for n in names if n not in refused], list(refused)


# ---- running -------------------------------------------------------------------------------------


def _run(cells: Sequence[Cell], asked: Asked, linux: Linux, out: Path) -> list[Pair]:
    wanted = [w for cell in cells for w in _of(cell, linux, out)]
    todo = [w for w in wanted if not _is_there(w)]
    errors: list[BaseException] = []

    def on_outcome(outcome: Outcome) -> None:
        if outcome.error is not None:
            errors.append(outcome.error)
            executor.stop()

    permission = together(w.permission for w in wanted)
    cores = max(1, asked.jobs or os.cpu_count() or 1)
    with ExitStack() as stack:
        on_progress = None if asked.as_json else _bar(stack, len(wanted), len(wanted) - len(todo))
        executor = Executor(cores, permission, on_outcome, on_progress, {"command": recorded(sys.argv)})
        # Runs with real hosts take longest and start first; short runs fill the cores at the end.
        executor.run([_task(w) for side in reversed(SIDES) for w in todo if w.side == side])
    if errors:
        raise errors[0]
    return [p for cell in cells for cc in cell.schemes for p in _pairs(cell, cc, wanted)]


def _of(cell: Cell, linux: Linux, out: Path) -> list[Wanted]:
    found = []
    for side in SIDES:
        on = linux if side == "linux" else SIMULATOR
        plan = Plan.of(cell.scenario, cell.schemes, seeds=cell.seeds, backend=on)
        folder = out / cell.name / side
        found += [
            Wanted(cell, cc, side, j, run_folder(folder, cc, j.seed), plan.permission)
            for j in plan.jobs
            for cc in cell.schemes
        ]
    return found


def _is_there(w: Wanted) -> bool:
    """Whether an earlier call has completed the record.

    Raises RecordError if the record is that of another run.
    """
    if not (w.folder / MANIFEST).exists():
        return False
    if open_record(w.folder).manifest.key != w.job.key(w.cc):
        raise RecordError(f"{w.folder} exists and is not the result of this run: name another folder, or remove it")
    return True


def _task(w: Wanted) -> Task:
    arguments = {"folder": str(w.folder), "force": False, "capture": None}
    return Task(w.job, w.cc, Sink(RECORD, arguments), None, partial_of(w.folder))


def _pairs(cell: Cell, cc: str, wanted: Sequence[Wanted]) -> list[Pair]:
    def of(side: str) -> list[Run]:
        return [open_record(w.folder) for w in wanted if w.cell is cell and w.cc == cc and w.side == side]

    return side_by_side.pairs(cell, cc, of("simulated"), of("linux"))


def _bar(stack: ExitStack, total: int, before: int) -> Callable[[float], None] | None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, emoji=False)
    if not console.is_terminal:
        return None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
        TimeRemainingColumn(),
    )
    bar = stack.enter_context(Progress(*columns, console=console, transient=True))
    task = bar.add_task("simulated and real", total=total, completed=before)
    return lambda done: bar.update(task, completed=before + done)


# ---- output --------------------------------------------------------------------------------------


def _tell(found: Sequence[Pair], known: Sequence[Explained], *, as_json: bool) -> None:
    summaries = list(side_by_side.summaries(found))
    if as_json:
        rows = [side_by_side.as_row(p) | {"verdict": side_by_side.verdict(p, known)} for p in found]
        print(json.dumps({"pairs": rows, "schemes": [asdict(s) for s in summaries]}, indent=1))
        return
    console = table_console()
    print_table(console, pairs_table(found, plain=not console.is_terminal))
    print_table(console, summary_table(summaries, plain=not console.is_terminal))
    for line in remarks(found, known):
        say(line)


def pairs_table(found: Sequence[Pair], *, plain: bool) -> Table:
    """A table of pairs.

    It has both sides and the difference, in percent for goodput and RTT, otherwise in counts.
    """
    table: Table = empty_table(plain=plain, title="simulated | Linux, difference", title_justify="left")
    for name in ("cell", "scheme"):
        table.add_column(name, no_wrap=True)
    for name in ("goodput Mbit/s", "mean RTT ms", "queue ms", "retransmits", "timeouts"):
        table.add_column(name, justify="right", no_wrap=True)
    for p in found:
        table.add_row(*map(quoting.cell, cells_of(p)))
    return table


def cells_of(p: Pair) -> list[str]:
    """The table cells of a row as text."""
    s, linux = p.simulated, p.linux
    where = p.cell if p.flow == side_by_side.ALL else f"{p.cell}: {p.flow}"
    return [
        where,
        p.cc,
        f"{s.goodput_mbps:.3f} | {linux.goodput_mbps:.3f} {p.goodput_pct:+.2f} %",
        f"{s.rtt_ms:.2f} | {linux.rtt_ms:.2f} {p.rtt_pct:+.2f} %",
        "" if s.queue_ms != s.queue_ms else f"{s.queue_ms:.2f} | {linux.queue_ms:.2f}",
        f"{s.retransmits:.4g} | {linux.retransmits:.4g} {p.retransmits:+.4g}",
        f"{s.timeouts:.4g} | {linux.timeouts:.4g}",
    ]


def summary_table(summaries: Sequence[Summary], *, plain: bool) -> Table:
    """A table with the median and the largest differences of each scheme."""
    table: Table = empty_table(plain=plain, title="differences without sign: median, largest", title_justify="left")
    for name in ("scheme", "pairs", "goodput %", "mean RTT %", "retransmits", "largest of goodput at"):
        table.add_column(name, justify="left" if name in {"scheme", "largest of goodput at"} else "right", no_wrap=True)
    for s in summaries:
        table.add_row(
            quoting.cell(s.cc),
            str(s.pairs),
            f"{s.goodput_median:.3f}, {s.goodput_largest:.2f}",
            f"{s.rtt_median:.3f}, {s.rtt_largest:.2f}",
            f"{s.retransmits_median:.4g}, {s.retransmits_largest:.4g}",
            quoting.cell(s.worst),
        )
    return table


def remarks(found: Sequence[Pair], known: Sequence[Explained]) -> list[str]:
    """Lines about goodput differences above 1 % and their reasons; the last line has the counts."""
    lines, counts = [], dict.fromkeys(("near", "chance", "explained", "outside"), 0)
    for p in found:
        why = side_by_side.verdict(p, known)
        kind = {"": "near", side_by_side.OUTSIDE: "outside"}.get(why, "chance" if p.by_chance else "explained")
        counts[kind] += 1
        lines += [f"{p.name}: goodput differs by {p.goodput_pct:+.2f} %: {why}"] if why else []
    last = (
        f"{len(found)} pairs: goodput of {counts['near']} within 1 %, {counts['chance']} within chance, "
        f"{counts['explained']} outside and explained, {counts['outside']} outside"
    )
    return [*lines, last]
