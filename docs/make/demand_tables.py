# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of docs/reference/demand.md: the tables of a record of `perigee demand`.

python docs/make/demand_tables.py (part of `make docs`)
"""

from pathlib import Path

from perigee_lab.demand.columns import TABLES, Column

PAGE = Path(__file__).resolve().parents[1] / "reference/demand.md"
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->
<!-- Written by docs/make/demand_tables.py. -->
# Records of demand

The tables that `perigee demand run SCENARIO --out OUT` writes ([how-to](../how-to/demand.md)):

```python
import pandas as pd

pd.read_parquet("OUT/steps")
```

`vertices.parquet` is a file, the others are folders with one Parquet file per chunk. Totals, errors and the scenario
are in `manifest.json`.
"""


def row(column: Column) -> str:
    """A line of a table."""
    return f"| `{column.name}` | {column.type} | {column.unit} | {column.help} |\n"


def page() -> str:
    """The page."""
    head = "| column | type | unit | meaning |\n| --- | --- | --- | --- |\n"
    sections = (
        f"\n## {name}\n\n{what[0].upper()}{what[1:]}.\n\n{head}" + "".join(map(row, of))
        for name, (what, of) in TABLES.items()
    )
    return HEAD + "".join(sections)


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
