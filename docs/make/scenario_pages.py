# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of docs/reference/scenario/: the reference of scenario files, a page per group.

python docs/make/scenario_pages.py (part of `make docs`)
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from perigee_lab import _core

FOLDER = Path(__file__).resolve().parents[1] / "reference/scenario"
HEAD = "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->\n<!-- Written by docs/make/scenario_pages.py. -->\n"
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# Name of a page, its title, its purpose, and the sections on it, by the first word of their
# headings.
PAGES = (
    ("run", "Runs", "Length, seed, warm-up and recording of a run.", ("[run]",)),
    ("source", "Sources", "The origin of the network: exactly one `[source.…]` section.", ("[source", "[[source")),
    ("node", "Nodes", "Terminals, stations and hosts of a constellation.", ("[node.", "[[nodes]]")),
    ("beam", "Beam", "Neighbours on the carriers of a satellite ([how-to](../../how-to/neighbours.md)).", ("[beam]",)),
    ("queue", "Queue disciplines", "Parameters of each queue discipline of a port.", ("[port.NAME] discipline",)),
    ("port", "Ports", "Rate and queue of a port or of a class of ports.", ("[port.",)),
    (
        "change",
        "Changes over time",
        "Changes of the network at given or drawn times: rates, delays, losses, outages.",
        ("[[change]]", "[schedule]", "[jitter]", "[bursts]"),
    ),
    (
        "handover",
        "Handovers and notices",
        "Outages at handovers, and notifications to congestion controls and programs.",
        ("[handover]", "[notices]"),
    ),
    ("telemetry", "Telemetry", "In-band network telemetry.", ("[telemetry]",)),
    ("app", "Applications", "Traffic of a flow: the keys of each value of `app`.", ("[[flow]] app",)),
    (
        "flow",
        "Flows",
        "Ends, congestion control and schedule of flows; background traffic as a fluid.",
        ("[[flow]]", "[[background]]"),
    ),
    ("expect", "Expectations", "Bounds that results must meet, by metric.", ("[[expect]]", "[case]")),
    (
        "demand",
        "Demand",
        "Users of a constellation, as a fluid: cells, plans, capacities, failures ([how-to](../../how-to/demand.md)).",
        ("[demand", "[[demand"),
    ),
    ("hosts", "Real hosts and programs", "Linux hosts, and programs on them.", ("[hosts]", "[[program]]")),
    ("tcp", "TCP", "Transport options of all flows, and profiles of published studies.", ("[tcp]",)),
    ("cc", "Congestion controls", "Parameters of each congestion control.", ("[cc.",)),
    (
        "slow_start",
        "Starts",
        "Parameters of each initial slow start ([choice by path](../../explanation/starts.md)).",
        ("[slow_start.",),
    ),
)
EXAMPLES = {
    "README": """title = "two flows over one bottleneck"

[run]
duration = "30 s"
cc = ["cubic", "bbr"]

[source.dumbbell]
rtt = "40 ms"

[port.bottleneck]
rate = "100 Mbit"
queue = "1 bdp"

[[flow]]
cc = "*"
""",
    "run": """[run]
duration = "60 s"
warmup = "5 s"
runs = 5                # successive seeds
cc = ["cubic", "bbr"]
""",
    "source": """[source.dumbbell]
pairs = 2
rtt = ["20 ms", "80 ms"]
loss = 0.001
""",
    "node": """[node.london]
kind = "terminal"       # one dish: hard handovers
place = "London"
""",
    "port": """[port.bottleneck]
rate = "100 Mbit"
queue = "1 bdp"
""",
    "beam": """[beam]
neighbours = 50
forward_rate = "170 Mbit"   # of the carrier
forward_load = 0.5          # of the carrier, by all neighbours
""",
    "queue": """[port.bottleneck]
rate = "100 Mbit"
queue = "1 bdp"
discipline = "codel"
""",
    "change": """[schedule]
every = "15 s"
rate = "uniform(50 Mbit, 100 Mbit)"
outage = "uniform(45 ms, 120 ms)"
""",
    "handover": """[handover]
mode = "flush"
outage = "uniform(45 ms, 120 ms)"
""",
    "telemetry": """[telemetry]
overhead = "wire"
echo = "bottleneck"
""",
    "app": """[[flow]]
name = "film"
app = "video"
ladder = ["1 Mbit", "2.5 Mbit", "5 Mbit", "8 Mbit"]
""",
    "expect": """[[expect]]
metric = "share"
at_least = "90 %"
from = "5 s"

[[expect]]
metric = "rtt"
quantile = "95 %"
at_most = "80 ms"
cc = "bbr"
""",
    "flow": """[[flow]]
from = "s1"
to = "d1"
cc = "bbr"
start = "5 s"
""",
    "demand": """[demand]
set = "cities"
count = 1000
terminals = 10_000_000

[[demand.failure]]
gateway = ["london", "paris"]
at = "18 h"
length = "2 h"
""",
    "hosts": """[hosts]
offload = true
""",
    "tcp": """[tcp]
init_cwnd = 20
delayed_ack = 1
""",
    "cc": """[cc.bbr]
min_rtt_window = "5 s"
""",
    "slow_start": """[run]
duration = "30 s"
slow_start = "careful"

[slow_start.careful]
saved_window = "18750 kB"
saved_rtt = "600 ms"
""",
}
"""TOML at the top of each page, by its name; a test loads them."""


def sections(reference: str) -> list[tuple[str, str]]:
    """Heading and text of each section, in order; `###` below `[[flow]]` and `[[expect]]` count."""
    reference = re.sub(r"^### (\[\[flow\]\] app|\[\[expect\]\] metric)", r"## \1", reference, flags=re.MULTILINE)
    parts = HEADING.split(reference)
    return [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]


def page_of(heading: str) -> str:
    """Name of the page for a section."""
    return next((name for name, _, _, starts in PAGES if heading.startswith(starts)), "README")


def place_of(heading: str) -> int:
    """Place of a section on its page: the index of its heading in the page's list, whatever the brackets."""
    starts = next((starts for *_, starts in PAGES if heading.startswith(starts)), ())
    bare = heading.lstrip("[")
    return next((i for i, start in enumerate(starts) if bare.startswith(start.lstrip("["))), 0)


def pages(reference: str) -> dict[str, str]:
    """Text of each page by its name."""
    found: dict[str, list[str]] = {"README": [], **{name: [] for name, *_ in PAGES}}
    of = {heading: page_of(heading) for heading, _ in sections(reference)}
    for heading, text in sorted(sections(reference), key=lambda section: place_of(section[0])):
        found[of[heading]].append(f"## {heading}\n\n{sentence(text.lstrip())}" if heading else text)
    intro, *top = found.pop("README")
    listed = "\n".join(
        f"| [{title}]({name}.md) | {', '.join(f'`{h}`' for h in of if of[h] == name)} |" for name, title, *_ in PAGES
    )
    index = f"\n| page | sections |\n|---|---|\n{listed}\n\n"
    out = {"README": HEAD + intro.rstrip() + "\n\n" + _example("README") + index + "".join(top)}
    for name, title, purpose, _ in PAGES:
        text = f"# {title}\n\n{purpose} Part of the [reference of scenario files](README.md).\n\n{_example(name)}\n"
        out[name] = HEAD + text + "".join(found[name])
    return {name: wrapped(text.rstrip()) + "\n" for name, text in out.items()}


def sentence(text: str) -> str:
    """The text with its first line as a sentence: summaries of schemes are phrases."""
    first, newline, rest = text.partition("\n")
    # Names such as "ns-3" and "study-orbcc," keep their case.
    first = re.sub(r"^[a-z](?=[a-z-]* )", lambda m: m[0].upper(), first)
    return first + ("" if first.endswith((".", ":", "|")) else ".") + newline + rest


def wrapped(text: str) -> str:
    """The text with lines of prose of at most 120 columns; code spans stay in one piece."""
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        if fenced or len(line) <= 120 or line.startswith(("|", "#", "<")):
            lines.append(line)
            continue
        kept = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), line)
        indent = "  " if line.startswith(("- ", "* ")) else ""
        parts = textwrap.wrap(kept, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines += [part.replace("\0", " ") for part in parts]
    return "\n".join(lines)


def _example(name: str) -> str:
    return f"```toml\n{EXAMPLES[name]}```\n"


def main() -> int:
    """Writes the pages; with `--check`, exits with 1 if one differs."""
    made = pages(_core.reference())
    if "--check" in sys.argv:
        stale = [n for n, text in made.items() if (FOLDER / f"{n}.md").read_text(encoding="utf-8") != text]
        print("\n".join(f"docs/reference/scenario/{n}.md differs: make docs" for n in stale), end="")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
