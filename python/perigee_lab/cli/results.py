# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee results`: lists, filters, joins, plots and exports of the runs of sweeps."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from perigee_lab.cli.cell_tables import show_cells
from perigee_lab.cli.options import ForceOption, JsonOption, check_free, names_of
from perigee_lab.cli.run_figures import plot_runs
from perigee_lab.common import quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import complain, say
from perigee_lab.common.terminal import empty_table, print_table, table_console

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = ("goodput_mbps", "share", "rtt_mean_ms", "inflation", "retransmits", "jain")
MOST_LINES = 60
# Columns of a table that is written to a file or pipe.
WIDE = 2000


def command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Folders of `perigee sweep` or `perigee run`.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="COND", help="Only rows that match, such as KEY=VALUE (or !=, <, <=, >, >=); repeatable."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="A,B,C", help="Columns to show, or all (see `perigee columns`; also record, key)."
        ),
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Sort by this column; -COLUMN: in descending order.")
    ] = None,
    means: Annotated[
        bool, typer.Option("--means", help="One folder only: means over seeds, with 95 % intervals, instead of runs.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Plot the first column of a sweep, or the columns of runs over their seeds (.png, .svg, .pdf, .html)."
        ),
    ] = None,
    x: Annotated[str | None, typer.Option(help="With --plot of a sweep: key on the x axis.")] = None,
    y: Annotated[str | None, typer.Option(help="With --plot of a sweep: key on the y axis, for a heat map.")] = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --plot of runs: the flow drawn over time.")
    ] = None,
    join: Annotated[bool, typer.Option("--join", help="Join folders on keys, scheme and seed.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write: .csv, .parquet or .json.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """List, filter, plot and export the runs of sweeps and folders.

    With several folders, rows are appended, or joined with --join. The plot of one sweep has its keys as axes, or
    as sliders (.html). The plot of the runs of folders has a column per scheme as mean with 95 % interval, and
    goodput and RTT of a flow as median over seeds with a band.
    """
    from perigee_lab.common.files import writing
    from perigee_lab.results import dataset
    from perigee_lab.results.cells import INDEX

    if plot is not None and not any((f / INDEX).exists() for f in folders):
        _refuse_for_runs(table=join or sort is not None or out is not None, axes=bool(x or y), lists=means or as_json)
        plot_runs(folders, where or [], names_of("--columns", columns), flow, plot, force=force)
        return
    if flow is not None:
        stop("--flow chooses a flow of the plot of runs: it needs --plot FILE, and folders of perigee run")
    if means or plot is not None or x or y:
        if len(folders) > 1 or join or sort is not None or out is not None:
            stop("--means, and --plot of a sweep, need one folder, and cannot be combined with --sort, --join or --out")
        show_cells(folders[0], where or [], names_of("--columns", columns), plot, x, y, force=force, as_json=as_json)
        return
    check_free(out, force=force)
    if join and len(folders) < 2:
        stop("--join needs at least two folders")
    by = None if sort is None else sort.removeprefix("-")
    with writing(folders[0]):
        tables = [_queried(f, where or [], names_of("--columns", columns), by) for f in folders]
    for folder, table in zip(folders, tables, strict=True):
        if where and not table.num_rows:
            complain(dataset.unmet(folder, where))
    found = tables[0]
    if len(folders) > 1:
        found = dataset.joined(folders, tables) if join else dataset.together(folders, tables)
    if sort is not None and by is not None:
        name = dataset.resolved(by, found.column_names)
        found = dataset.ordered(found, name, descending=sort.startswith("-"))
    if out is not None:
        with writing(out):
            _export(found, out)
        say(f"{out}: {_rows(found)}, {found.num_columns} columns")
    elif as_json:
        print(_as_json(found))
    else:
        _print(found)


def _refuse_for_runs(*, table: bool, axes: bool, lists: bool) -> None:
    """Ends the command for options that do not fit a plot of runs."""
    if table or axes or lists:
        stop("--plot of runs cannot be combined with --x, --y, --sort, --join, --means, --json or --out")


def _queried(folder: Path, where: list[str], names: list[str], sort: str | None) -> pa.Table:
    """Rows of a folder: keys, scheme, seed, the requested columns, and the column to sort by."""
    from perigee_lab.results import dataset

    if names == ["all"]:
        return dataset.query(folder, where)
    keys = dataset.keys_of(folder)
    available = dataset.dataset(folder).schema.names
    chosen = names or [n for n in SHOWN if n in available]
    # With --join, columns have the name of their folder as a suffix.
    by = [dataset.resolved(sort.partition("@")[0], available)] if sort else []
    return dataset.query(folder, where, list(dict.fromkeys([*keys, "cc", "seed", *chosen, *by])))


def _export(table: pa.Table, out: Path) -> None:
    from perigee_lab.common.files import write_text, written

    if out.suffix == ".json":
        write_text(out, _as_json(table) + "\n")
        return
    with written(out) as partial:
        if out.suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, partial, compression="zstd")
        elif out.suffix == ".csv":
            import pyarrow.csv

            pyarrow.csv.write_csv(_quoted(table), partial)
        else:
            stop(f"--out {out}: the name must end in .csv, .parquet or .json")


def _quoted(table: pa.Table) -> pa.Table:
    """The table with text escaped, so that no spreadsheet interprets it as a formula."""
    import pyarrow as pa

    columns = [
        pa.array([quoting.csv(v) for v in c.to_pylist()], c.type) if pa.types.is_string(c.type) else c
        for c in table.columns
    ]
    return pa.table(columns, names=[quoting.csv(n) for n in table.column_names])


def _as_json(table: pa.Table) -> str:
    """A JSON list with one line per row; indentation would take 50 % more time."""
    return "[\n" + ",\n".join(json.dumps(row) for row in table.to_pylist()) + "\n]"


def _print(table: pa.Table) -> None:
    from perigee_lab.results.columns import COLUMNS

    forms = {c.name: c.form for c in COLUMNS}
    console = table_console(WIDE)
    shown = empty_table(plain=not console.is_terminal)
    for name in table.column_names:
        side: Literal["left", "right"] = "left" if str(table[name].type) == "string" else "right"
        shown.add_column(quoting.cell(name), no_wrap=True, justify=side)
    for row in table.slice(0, MOST_LINES).to_pylist():
        shown.add_row(*(_cell(v, forms.get(n.partition("@")[0], "{:g}")) for n, v in row.items()))
    print_table(console, shown)
    more = table.num_rows - MOST_LINES
    say(_rows(table) + (f"; {more} are not shown: filter with --where, or write all with --out" if more > 0 else ""))


def _rows(table: pa.Table) -> str:
    return "1 row" if table.num_rows == 1 else f"{table.num_rows} rows"


def _cell(value: Any, form: str) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return form.format(value) if isinstance(value, float) else quoting.cell(str(value))
