# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of design/unsafe.md: every use of `unsafe` in the crates, with its invariant.

python docs/make/unsafe.py (part of `make docs`); a test checks that the page is current.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "design/unsafe.md"
USE = re.compile(r"\bunsafe\s*(\{|impl\b|fn\b|extern\b|$)")
KINDS = {"{": "block", "": "block", "impl": "impl", "fn": "fn", "extern": "fn"}
NOTE = re.compile(r"(?:SAFETY:|# Safety)\s*(.*)")
LINES_ABOVE = 14
CONTRACT = "contract of the C header: pointers are valid or null, a handle is used by one thread at a time"
"""Functions that C calls share the contract at the head of their module."""
SHARED = {"crates/perigee-capi/src/api.rs": CONTRACT}
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->
# Uses of `unsafe`

Every use of `unsafe` in the crates, with the invariant that its note states (`// SAFETY:`). Written by `make docs` from
the sources; a test counts the uses and rejects one without a note. The lint `unsafe_code` is denied for the workspace:
each module below allows it for itself.

"""


@dataclass(frozen=True)
class Use:
    """A use: its file and line, its kind (block, fn, impl), and its invariant (empty: none is stated)."""

    file: str
    line: int
    kind: str
    invariant: str


def uses(root: Path = ROOT) -> Iterator[Use]:
    """All uses of `unsafe` in the crates."""
    for path in sorted((root / "crates").rglob("*.rs")):
        name = str(path.relative_to(root))
        lines = path.read_text(encoding="utf-8").splitlines()
        for at, line in enumerate(lines):
            found = USE.search(re.sub(r"//.*|\"(?:[^\"\\]|\\.)*\"", "", line).rstrip())
            if found is not None:
                yield Use(name, at + 1, KINDS[found[1]], _invariant(lines, at) or SHARED.get(name, ""))


def _invariant(lines: list[str], at: int) -> str:
    """The note at a use, or directly above its statement: its first sentence."""
    for above in range(at, max(-1, at - LINES_ABOVE), -1):
        text = lines[above].strip()
        if above < at and not text.startswith(("//", "#[", "#![")) and (not text or text.endswith((";", "}", "{"))):
            return ""
        if note := NOTE.search(text):
            words = [note[1]]
            for more in lines[above + 1 : at + 1]:
                stripped = more.strip()
                if not stripped.startswith("//"):
                    break
                words.append(stripped.lstrip("/").strip())
            sentence = " ".join(w for w in words if w)
            return sentence.partition(". ")[0].rstrip(".")
    return ""


def page(root: Path = ROOT) -> str:
    """The page."""
    every = list(uses(root))
    rows = Counter((u.file, u.kind, u.invariant) for u in every)
    kinds = Counter(u.kind for u in every)
    counts = ", ".join(f"{n} of kind {kind}" for kind, n in sorted(kinds.items()))
    text = HEAD + f"{len(every)} uses in {len({u.file for u in every})} files: {counts}.\n\n"
    text += "| file | kind | uses | invariant |\n| --- | --- | ---: | --- |\n"
    for (file, kind, invariant), n in sorted(rows.items()):
        cell = invariant.replace("|", "\\|").replace("<", "&lt;") or "**none**"
        text += f"| {file.removeprefix('crates/')} | {kind} | {n} | {cell} |\n"
    return text


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
