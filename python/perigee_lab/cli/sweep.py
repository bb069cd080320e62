# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee sweep`: runs a scenario with every combination of values; `perigee cells`: lists, filters and plots them."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from perigee_lab.cli.options import (
    CcOption,
    ClusterOption,
    ForceOption,
    HostsOption,
    JobsOption,
    JsonOption,
    KernelOption,
    ScenarioArg,
    StoreOption,
    TrustOption,
    check_free,
    count,
    machines_of,
    names_of,
    schemes_of,
    stop,
)
from perigee_lab.common import quoting
from perigee_lab.common.credentials import recorded
from perigee_lab.common.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from perigee_lab.common.messages import complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from perigee_lab.hosts.kernels import Kernel
    from perigee_lab.results.cells import Axis, Sweep
    from perigee_lab.runs.sweep import SweepPlan

SHOWN = ("goodput_mbps", "share", "rtt_mean_ms", "inflation", "retransmits", "jain")
_kernel: list[Callable[[str | None, str | None], Kernel | None]] = []
# Columns of which `rtt_over` says what they are over.
RTTS = {"rtt_mean_ms", "rtt_median_ms", "rtt_p95_ms", "rtt_p99_ms", "inflation", "inflation_min"}
# A terminal shows so many cells; sweep.csv has all.
MOST_LINES = 60


def register(app: typer.Typer, kernel: Callable[[str | None, str | None], Kernel | None]) -> None:
    """Adds the commands; `kernel` finds the kernel of real hosts or ends."""
    _kernel[:] = [kernel]
    app.command("sweep")(sweep)
    app.command("cells")(cells)


def sweep(
    scenario: ScenarioArg,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=A,B,C", help="A key with its values; with one value, an override."),
    ] = None,
    cc: CcOption = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first run.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Repetitions with successive seeds.")] = None,
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder; default: a fresh runs/NAME-sweep.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    plots: Annotated[bool, typer.Option(help="Draw heat maps and lines into OUT/plots.")] = True,
    dry: Annotated[bool, typer.Option("--dry", help="Only say what would be run.")] = False,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario with every combination of values of some keys, and of its [sweep]. A killed sweep goes on."""
    from perigee_lab import _core
    from perigee_lab.common.files import RecordError, cannot_write, claimed, fresh_folder, refuse_file
    from perigee_lab.common.interrupt import announce
    from perigee_lab.extensions.trust import PluginError
    from perigee_lab.runs.runner import Interrupted
    from perigee_lab.runs.sweep import execute_sweep, unfinished

    single, axes = _split(sets or [])
    single += [f"run.seed={seed}"] if seed is not None else []
    single += [f"run.runs={runs}"] if runs is not None else []
    on = _kernel[0](hosts, kernel)
    machines = machines_of(jobs, cluster, store)
    folder = out
    try:
        if out is not None:
            refuse_file(out)
        plan = _planned(scenario, single, axes, schemes_of(cc), on, trust=trust, quiet=as_json)
        if dry:
            raise SystemExit(_tell(plan, as_json=as_json))
        name, base = f"{plan.index.scenario}-sweep", Path("runs")
        begun = None if out is not None or force else unfinished(plan, name, base)
        folder = out or begun or fresh_folder(name, base)
        with claimed(folder, fresh=out is None and begun is None):
            plan = plan.into(folder, force=force)
            if (there := plan.resumed()) and not as_json:
                print(f"from an earlier call: {there} of {count(plan.size, 'run')} in {folder}", file=sys.stderr)
            done = _with_bar(
                lambda p: execute_sweep(plan, folder, machines=machines, progress=p), plan.size, quiet=as_json
            )
            drawn = _drawn(done, folder) if plots and not plan.failed else []
    except _core.ScenarioError as error:
        complain(error.args[0])
        raise SystemExit(BAD_INPUT) from None
    except (RecordError, PluginError) as error:
        stop(str(error))
    except _core.RunError as error:
        _fail(error)
    except Interrupted:
        announce(f"complete runs are in {folder}; the same call goes on")
        raise SystemExit(INTERRUPTED) from None
    except OSError as error:
        stop(cannot_write(folder or Path("runs"), error))
    _conclude(plan, done, folder, drawn, as_json=as_json)


def _conclude(plan: SweepPlan, done: Sweep, folder: Path, drawn: list[Path], *, as_json: bool) -> None:
    from perigee_lab.results.cells import CELLS
    from perigee_lab.results.flow_file import FILE, MOST_IN_CSV

    if as_json:
        told = {"out": str(folder), "keys": done.keys, "cells": done.means(_there(done)), "failed": plan.failed}
        print(json.dumps(_finite(told), indent=1))
    else:
        _print(done, _there(done))
        print(
            f"table: {folder / 'sweep.csv'}, a row per run"
            + (f"; {len(drawn)} plots in {folder / 'plots'}" * bool(drawn))
        )
        if many := sum((folder / CELLS / c.folder / FILE).exists() for c in done.index.cells):
            where = folder / CELLS / "NAME" / FILE
            print(f"rows of flows: {where} of {count(many, 'cell')} (more than {MOST_IN_CSV} each)")
    for line in plan.failed[:5]:
        complain(line)
    if plan.failed:
        failed = f"{len(plan.failed)} of {plan.size} runs failed; without them there is no sweep.csv"
        complain(f"{failed}. The same call tries them again")
        raise SystemExit(FAILED)


def cells(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="KEY=VALUE", help="Only these cells; repeatable. Also cc, seed."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B,C", help="Columns (`perigee columns`).")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="CSV with a row per run instead of means per cell.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Picture of the first column (.png, .svg, .pdf).")] = None,
    x: Annotated[str | None, typer.Option(help="With --plot: the key to the right.")] = None,
    y: Annotated[str | None, typer.Option(help="With --plot: the key upwards, for a heat map.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """List the cells of a sweep, filter and plot them."""
    from perigee_lab.common.files import RecordError, cannot_write
    from perigee_lab.results.cells import open_sweep
    from perigee_lab.results.columns import COLUMNS
    from perigee_lab.results.summary import as_csv

    check_free(plot, force=force)
    if plot is None and (x or y):
        stop("--x and --y are axes of a picture: say --plot FILE, too")
    try:
        found = open_sweep(folder).where(dict(_condition(w) for w in where or []))
        names = names_of("--columns", columns) or _there(found)
        unknown = [n for n in names if n not in {c.name for c in COLUMNS}]
        if unknown:
            stop(f"--columns: there is no column {unknown[0]!r}: `perigee columns` lists them")
        if plot is not None:
            from perigee_lab.cli.sky import save

            save(found.plot(names[0], x, y), plot)
            print(f"{plot} is written")
        elif csv:
            print(
                as_csv(found.rows, [*found.keys, "cc", "seed", *(n for n in names if n not in ("cc", "seed"))]), end=""
            )
        elif as_json:
            print(json.dumps(_finite({"keys": found.keys, "cells": found.means(names)}), indent=1))
        else:
            _print(found, names)
    except RecordError as error:
        stop(str(error))
    except ValueError as error:
        stop(f"{plot}: {error}")
    except OSError as error:
        if plot is None and error.filename is None:
            # It is the standard output that cannot be written.
            raise
        stop(cannot_write(plot or folder, error))


def _condition(text: str) -> tuple[str, str]:
    key, sign, value = text.rpartition("=")
    if not sign or not key:
        stop(f"--where {text!r}: write KEY=VALUE, such as queue=1bdp")
    return key.strip(), value.strip()


def _split(sets: list[str]) -> tuple[list[str], list[Axis]]:
    """Overrides, and keys with several values. Commas within brackets and quotes belong to a value."""
    from perigee_lab.common.quantities import quantity
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
            stop(f"--set {text!r} has an empty value: give values with commas between them")
        # Numbers by their text: a float does not tell all seeds apart.
        read = [q if (q := quantity(p)).unit else p for p in parts]
        twice = [p for i, p in enumerate(parts) if read[i] in read[:i]]
        if twice:
            stop(f"--set {text!r}: {twice[0]} is given twice")
        if key.strip() in {a.key for a in axes}:
            stop(f"--set {key.strip()} is given twice: put all its values into one")
        axes.append(Axis(key.strip(), tuple(parts)))
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
    path: Path, single: list[str], axes: list[Axis], cc: list[str], kernel: Kernel | None, *, trust: bool, quiet: bool
) -> SweepPlan:
    from rich.console import Console
    from rich.status import Status

    from perigee_lab.runs.sweep import plan_of

    console = Console(stderr=True)
    given: dict[str, Any] = {"kernel": kernel, "trust": trust, "command": recorded(sys.argv)}
    if quiet or not console.is_terminal:
        return plan_of(path, single, axes, cc, **given)
    with Status("checking cells", console=console) as status:
        tell = lambda n, of: status.update(f"checking cells: {n} of {of}")  # noqa: E731
        return plan_of(path, single, axes, cc, **given, progress=tell)


def _tell(plan: SweepPlan, *, as_json: bool) -> int:
    shape = {a.key: a.shown() for a in plan.index.axes}
    schemes, seeds = list(plan.plans[0].jobs[0].schemes), [j.seed for j in plan.plans[0].jobs]
    if as_json:
        told = {"keys": shape, "cells": len(plan.plans), "runs": plan.size, "cc": schemes, "seeds": seeds}
        print(json.dumps({**told, **plan.cost.as_data()}, indent=1))
        return 0
    for key, values in shape.items():
        print(f"{key}: {', '.join(values)}")
    print(f"{count(len(plan.plans), 'cell')}, {', '.join(schemes)}, seeds {', '.join(map(str, seeds))}: ", end="")
    print(f"{count(plan.size, 'run')}\n  {plan.cost.in_words()}")
    return 0


def _with_bar(make: Callable[[Callable[[float], None] | None], Sweep], runs: int, *, quiet: bool) -> Sweep:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        return make(None)
    columns = (TextColumn("{task.completed:.0f} of {task.total:.0f} runs"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=runs)
        return make(lambda share: bar.update(task, completed=share * runs))


def _drawn(done: Sweep, folder: Path) -> list[Path]:
    from perigee_lab.results.cell_plots import pictures

    return pictures(done, folder / "plots")


def _there(found: Sweep) -> list[str]:
    """The usual columns, as far as some run has them."""
    return [n for n in SHOWN if any(isinstance(v := r.get(n), (int, float)) and not math.isnan(v) for r in found.rows)]


def _print(found: Sweep, names: list[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from perigee_lab.results.columns import COLUMNS
    from perigee_lab.results.rtt_over import FLOWS
    from perigee_lab.results.summary import statistics_of

    forms = {c.name: c.form for c in COLUMNS}
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else box.ASCII2, pad_edge=False)
    for key in [*found.keys, "cc", "runs"]:
        table.add_column(quoting.cell(key), no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    rows = found.means(names)
    for row in rows[:MOST_LINES]:
        cells = [f"{row[k]:g}" if isinstance(row[k], float) else str(row[k]) for k in [*found.keys, "cc", "runs"]]
        table.add_row(*map(quoting.cell, cells), *(_shown(row, n, forms[n]) for n in names))
    console.print(table)
    if rows[MOST_LINES:]:
        print(f"and {len(rows) - MOST_LINES} more: all are in {found.folder / 'sweep.csv'}; --where KEY=VALUE filters")
    seeds = sorted({r["seed"] for r in found.rows})
    if len(seeds) > 1:
        print(f"means over {len(seeds)} seeds; ± half of the 95 % t-interval, none where all are equal")
    over = statistics_of(found.rows)
    if FLOWS in over and RTTS & set(names):
        of = "" if len(over) == 1 else " of some cells (column rtt_over)"
        print(f"RTTs and inflation{of}: means over the flows, whose base RTTs may differ")


def _shown(row: dict[str, Any], name: str, form: str) -> str:
    mean, half = row[name], row[f"{name}_half_95"]
    if math.isnan(mean):
        return "-"
    return form.format(mean) + ("" if math.isnan(half) else " ± " + form.format(half))


def _finite(told: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(told, dict):
        return {k: _finite(v) for k, v in told.items()}
    if isinstance(told, list):
        return [_finite(v) for v in told]
    return None if isinstance(told, float) and math.isnan(told) else told


def _fail(error: Exception) -> NoReturn:
    complain(str(error))
    raise SystemExit(FAILED)
