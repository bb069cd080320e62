# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of commands: one style and width for all."""

from __future__ import annotations

import io
import sys
from typing import Any

# Width of tables in files and pipes, where cells must not be truncated.
PIPE_WIDTH = 200
# Character at the end of a cut cell.
CUT = "\N{HORIZONTAL ELLIPSIS}"


def table_console(width: int = PIPE_WIDTH) -> Any:
    """The console for tables: as wide as the terminal, or of this width for a file or pipe."""
    from rich.console import Console

    # `:smile:` is a name of a folder like others.
    return Console(width=None if sys.stdout.isatty() else width, emoji=False)


def empty_table(*headings: str, plain: bool, **more: Any) -> Any:
    """An empty table in the style of all commands; `plain` for files and pipes."""
    from rich import box
    from rich.table import Table

    return Table(*headings, box=box.ASCII2 if plain else box.SIMPLE_HEAD, pad_edge=False, **more)


def natural_width(table: Any) -> int:
    """Columns of a table of which no cell is cut or wrapped."""
    from rich.console import Console
    from rich.measure import Measurement

    # Of a terminal that is called dumb the width would be 80.
    console = Console(width=10_000, file=io.StringIO(), emoji=False)
    return Measurement.get(console, console.options, table).maximum


def print_table(console: Any, table: Any) -> None:
    """Prints a table; where its cells would be cut, a block per row instead, with a line per cell.

    An empty cell of the first column is that of the row above.
    """
    if not _is_cut(console, table):
        console.print(table)
        return
    names = [_one_line(column.header) for column in table.columns]
    first = ""
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first = str(cells[0]) or first
        lines = [(name, _one_line(cell)) for name, cell in zip(names, [first, *cells[1:]], strict=True)]
        for name, cell in lines:
            if cell:
                console.print(f"{name}: {cell}" if name else cell, highlight=False, soft_wrap=True)
        console.print()


def _is_cut(console: Any, table: Any) -> bool:
    """Whether the width of a console cuts cells of a table: ellipses are added, or words are missing."""
    if natural_width(table) <= console.width:
        return False
    from rich.console import Console
    from rich.text import Text

    # In colour systems of terminals, escape sequences would be part of the text.
    drawn = io.StringIO()
    Console(width=console.width, color_system=None, file=drawn, emoji=False).print(table)
    output = drawn.getvalue()
    cells = [
        Text.from_markup(str(c), emoji=False).plain for column in table.columns for c in (column.header, *column.cells)
    ]
    added = output.count(CUT) > sum(cell.count(CUT) for cell in cells)
    return added or any(word not in output for cell in cells for word in cell.split())


def _one_line(text: Any) -> str:
    """A cell without its line breaks, which may divide a word."""
    return str(text).replace("-\n", "").replace("\n", " ")
