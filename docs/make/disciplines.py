# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of docs/reference/queues.md from the heads of the queue disciplines' files.

python docs/make/disciplines.py (part of `make docs`)
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "crates/perigee-queue/src"
OUT = ROOT / "docs/reference/queues.md"

START = """<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->
# Queue disciplines

Made by `make docs` from the heads of the files. `discipline = "NAME"` in a `[port.NAME]` of a scenario; parameters with
their defaults and sources: [the reference](scenario/queue.md). Each is checked by vectors that its tests compute
from the formulas of its specification (`crates/perigee-queue/tests`). On a port that requests its capacity
(`dama_delay`) the wait for grants counts as queueing delay, far above the default targets:
[limits.md](../explanation/limits.md).
"""


def listed() -> list[str]:
    """The modules in the list, in its order."""
    text = (SOURCE / "lib.rs").read_text(encoding="utf-8")
    return re.findall(r"\b(\w+)::INFO\b", text)


def section(module: str) -> str:
    """The name and text of one discipline."""
    text = (SOURCE / f"{module}.rs").read_text(encoding="utf-8")
    found = re.search(r'\bid: "([^"]+)",\s+label: "([^"]+)"', text)
    if found is None:
        raise SystemExit(f"{module}.rs has no INFO with an id and a label")
    head = "\n".join(line[3:].removeprefix(" ") for line in text.splitlines() if line.startswith("//!"))
    return f"\n## {found[2]} (`{found[1]}`)\n\n{head}\n"


def main() -> None:
    """Writes the page."""
    OUT.write_text(START + "".join(section(m) for m in listed()), encoding="utf-8")


if __name__ == "__main__":
    main()
