# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Text of the table of mutants, design/mutants.md."""

from __future__ import annotations

import textwrap
from collections import Counter

HEAD = """\
<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->
# Mutants

Sensitivity of the Rust tests: `make mutants` injects small faults into the code, one at a time (those that
cargo-mutants {version} lists), and runs tests until one fails. A fault that no test notices is *missed*, and listed
below with its reason. Whole groups are tested where an error would be subtle; of the other {pool} mutants of `sim/net`,
`tcp` and `cc`, {drawn} are drawn with a fixed seed. *Timeout*: a test did not end, which counts as noticed. *Unviable*:
it does not compile. Property tests run the same cases for every mutant. This page is written by `tests/mutants.py`.

| group | mutants | caught | timeout | unviable | missed | of the viable |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def item(text: str) -> str:
    """An item of a list, wrapped."""
    return textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def row(name: str, count: Counter) -> str:
    whole = sum(count.values())
    viable = whole - count["unviable"]
    share = f"{100 * count['missed'] / viable:.1f} %" if viable else ""
    late = f" ({count['not run']} not run)" if count["not run"] else ""
    cells = [whole, count["caught"], count["timeout"], count["unviable"], count["missed"], share]
    return f"| {name}{late} | " + " | ".join(map(str, cells)) + " |"
