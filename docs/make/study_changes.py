# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Comparison of the published claims of the studies in two revisions of the pages.

python docs/make/study_changes.py [REVISION]

Writes design/study-changes.md: each claim with a changed verdict, and the reason for it: its
order is now tested, the results of other schemes would also satisfy it, its tolerance has changed,
or our value has changed. Numbers are those of the pages.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = "docs/studies"
FIRST = "a28a712"
"""Revision of the first pages with kinds of claims."""
PUBLISHED = {"published number", "published order or statement"}
ALIKE = 0.75
GONE = "reworded, or part of one claim on several schemes, as the paper has it"
NEVER_WRITTEN = ("README.md", "misses.md", "changes.md")


@dataclass(frozen=True)
class Claim:
    """A row in the table of a page."""

    page: str
    words: str
    kind: str
    published: str
    ours: str
    interval: str
    tolerance: str
    verdict: str
    size: tuple[str, ...]
    """Size of the page's runs, and their number, including variants."""


def claims(page: str, text: str) -> list[Claim]:
    """The rows in a page's table of verdicts, parsed by the names of its columns."""
    found: list[Claim] = []
    names: list[str] = []
    said = re.search(r"\((\w+)\s+size:\s+(\d+)\s+runs\)", text)
    size = said.groups() if said else ()
    for line in text.splitlines():
        cells = [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[:2] == ["claim", "kind"]:
            # Pages about unpublished results have "expected" in this place.
            names = ["published" if name == "expected" else name for name in cells]
        elif names and len(cells) == len(names) and not cells[0].startswith("---"):
            row = dict(zip(names, cells, strict=True))
            values = (row[n] for n in ("published", "ours", "95 % interval", "tolerance", "verdict"))
            # Of a number, the cell also states where it is from.
            kind = row["kind"].split(", ", 1)[0]
            found.append(Claim(page, row["claim"], kind, *values, size))
        elif not cells:
            names = []
    return found


def before(revision: str) -> dict[str, list[Claim]]:
    """The claims on the pages of a revision."""
    names = _git("ls-tree", "--name-only", f"{revision}:{PAGES}").split()
    pages = [n for n in names if n.endswith(".md") and n not in NEVER_WRITTEN]
    return {n: claims(n, _git("show", f"{revision}:{PAGES}/{n}")) for n in pages}


def now() -> dict[str, list[Claim]]:
    """The claims on the current pages."""
    pages = [p for p in sorted((ROOT / PAGES).glob("*.md")) if p.name not in NEVER_WRITTEN]
    return {p.name: claims(p.name, p.read_text(encoding="utf-8")) for p in pages}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def pairs(old: list[Claim], new: list[Claim]) -> list[tuple[Claim | None, Claim | None]]:
    """Pairs claims of a page with their successors, which have the same text or similar text."""
    left = list(new)
    out: list[tuple[Claim | None, Claim | None]] = []
    by_words = {c.words: c for c in new}
    unmatched = []
    for c in old:
        if c.words in by_words:
            out.append((c, by_words[c.words]))
            left.remove(by_words[c.words])
        else:
            unmatched.append(c)
    for c in unmatched:
        close = max(left, key=lambda other: SequenceMatcher(None, c.words, other.words).ratio(), default=None)
        if close is not None and SequenceMatcher(None, c.words, close.words).ratio() >= ALIKE:
            out.append((c, close))
            left.remove(close)
        else:
            out.append((c, None))
    return [*out, *((None, c) for c in left)]


def reason(old: Claim, new: Claim) -> str:
    """The difference between two rows, as text."""
    if new.verdict == "two modes":
        return f"the runs have two modes, whose mean carries no verdict: {new.ours}"
    if new.verdict == "any scheme":
        return "at least half of the other schemes' results would meet it"
    said = []
    if new.kind != old.kind:
        said.append(f"counts as {new.kind}")
    if "≥" in new.published and "tie" in (old.verdict, new.verdict):
        said.append("the order is tested run by run")
    elif new.verdict == "tie":
        said.append(f"the interval, {new.interval}, crosses the tolerance")
    if new.tolerance != old.tolerance:
        said.append(f"tolerance {old.tolerance} → {new.tolerance}")
    if new.ours != old.ours:
        said.append(f"ours {old.ours or 'none'} → {new.ours or 'none'}")
    if new.size[:1] != old.size[:1]:
        said.append(f"size {' of '.join(old.size)} runs → {' of '.join(new.size)} runs")
    return "; ".join(said) or "the verdict alone"


def main() -> None:
    """Compares the claims and writes the page."""
    revision = sys.argv[1] if len(sys.argv) > 1 else FIRST
    then, today = before(revision), now()
    rows, moved, added = [], Counter[tuple[str, str]](), Counter[str]()
    for page in sorted(then.keys() | today.keys()):
        for old, new in pairs(then.get(page, []), today.get(page, [])):
            if old is not None and old.kind in PUBLISHED:
                moved[old.verdict, new.verdict if new else "no longer a claim"] += 1
                if new is None:
                    rows.append((page, old.words, old.verdict, "-", GONE))
                elif old.verdict != new.verdict or new.kind not in PUBLISHED:
                    rows.append((page, new.words, old.verdict, new.verdict, reason(old, new)))
            elif old is None and new is not None and new.kind in PUBLISHED:
                added[new.verdict] += 1
    (ROOT / "design/study-changes.md").write_text(_page(revision, rows, moved, added), encoding="utf-8")


def _page(revision: str, rows: list[tuple[str, ...]], moved: Counter[tuple[str, str]], added: Counter[str]) -> str:
    order = ("reproduced", "not reproduced", "tie", "two modes", "any scheme", "no data", "no longer a claim")
    parts = [
        "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->",
        "<!-- Written by docs/make/study_changes.py from the pages of two revisions. -->",
        "# Published claims, before and now",
        "",
        f"Before: the pages of commit `{revision}`, the first whose claims have kinds. Only claims of the two",
        "published kinds are counted. The numbers follow from no goal: new claims may fail, ties become ties.",
        "",
        f"| before \\ now | {' | '.join(order)} |",
        "|---" * (len(order) + 1) + "|",
    ]
    parts += [
        f"| {a} | {' | '.join(str(moved[a, b]) for b in order)} |" for a in order[:6] if any(moved[a, b] for b in order)
    ]
    parts += [f"| new claims | {' | '.join(str(added[b]) for b in order)} |", "", "## Claims whose verdict changed", ""]
    parts += ["| page | claim | before | now | what changed |", "|---|---|---|---|---|"]
    for page, words, old, new, why in rows:
        cells = (f"[{page.removesuffix('.md')}](../{PAGES}/{page})", words, old, new, why)
        parts.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
