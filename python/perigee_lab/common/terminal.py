# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of commands: one style and width for all."""

from __future__ import annotations

import sys
from typing import Any

# Width of tables in files and pipes, where cells must not be truncated.
PIPE_WIDTH = 200


def table_console(width: int = PIPE_WIDTH) -> Any:
    """The console for tables: as wide as the terminal, or of this width for a file or pipe."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else width)


def empty_table(*headings: str, plain: bool, **more: Any) -> Any:
    """An empty table in the style of all commands; `plain` for files and pipes."""
    from rich import box
    from rich.table import Table

    return Table(*headings, box=box.ASCII2 if plain else box.SIMPLE_HEAD, pad_edge=False, **more)


def natural_width(table: Any) -> int:
    """Columns of a table of which no cell is cut or wrapped."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(width=10_000)
    return Measurement.get(console, console.options, table).maximum
