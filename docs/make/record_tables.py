# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the tables in docs/reference/record.md, from the declarations of the core.

python docs/make/record_tables.py (part of `make docs`)
"""

import textwrap
from pathlib import Path

from perigee_lab.results.tables import TABLES, ColumnSpec, TableSpec

PAGE = Path(__file__).resolve().parents[1] / "reference/record.md"
BEGIN = "<!-- Columns: written by `make docs` from crates/perigee-record/src/tables.rs. -->\n"
END = "<!-- End of the columns. -->\n"


def row(column: ColumnSpec) -> str:
    """A line of a table."""
    cells = [f"`{column.name}`", column.type, column.unit, column.help, column.null]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def section(table: TableSpec) -> str:
    """Heading and columns of one table."""
    text = textwrap.fill(table.help, 120, break_long_words=False, break_on_hyphens=False)
    head = "| column | type | unit | meaning | null where |\n| --- | --- | --- | --- | --- |\n"
    return f"\n### {table.name}\n\n{text}\n\n{head}" + "".join(map(row, table.columns))


def page(old: str) -> str:
    """The page with its tables replaced by the current columns."""
    before, rest = old.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + "".join(map(section, TABLES.values())) + "\n" + END + after


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
