# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Counts of words to avoid in comments and in texts for users, per 10,000 words: `make words`.

    python tests/words.py                        # this repository against tests/words.json
    python tests/words.py NAME=FOLDER ...        # other code bases alongside
    python tests/words.py --list whole           # every use, with file and line
    python tests/words.py --list whole --strings # the same in texts for users
    python tests/words.py --changed [COMMIT]     # warnings on changed lines; never fails
    python tests/words.py --bless                # write tests/words.json

It counts words in comments of Rust and C and in comments and docstrings of Python, except in
backticks and code blocks. tests/words.toml lists the words, their replacements and legitimate uses.
Texts for users are strings of three words or more in the crates and in python/perigee_lab (keys,
options, errors, messages), outside of tests and assertions; they have a column of their own. Module
heads that start with a wh-word, comment lines over 100 columns and Markdown lines over 120 are also
counted. tests/words.json has the counts before the language was revised, those of two
network stacks that serve as references, and the rates in texts for users, which may not rise.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_suffix(".json")
COMMENT_COLUMNS = 100
MARKDOWN_COLUMNS = 120
PER = 10_000
# A rate is acceptable up to this multiple of the highest reference, and always up to LEAST.
MULTIPLE = 3
LEAST = 1.0
WH = re.compile(r"(what|who|whose|whether|where|how|when)\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
C_LIKE = {".c", ".h", ".cc"}
# Sources of other projects, and build folders.
SKIPPED = {"vendor.js", "target", ".venv", ".venv-site", "node_modules", ".git", "build", "dist", "site"}

# The fewest words of a string that is counted as a text.
LEAST_WORDS = 3
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod tests")
FOR_DEVELOPERS = re.compile(r"\b(assert\w*!|debug_assert\w*!|unreachable!|panic!|expect\(|reason =|include_str!)")

# Strings come first, since they may contain text that looks like a comment. A lifetime ('a) is not
# a character literal.
RUST = re.compile(
    r'(?P<raw>\bb?r(?P<hash>#*)"(?:.|\n)*?"(?P=hash))|(?P<text>"(?:\\(?:.|\n)|[^"\\])*")'
    r"|(?P<char>'(?:\\[^\n]{1,8}?|[^'\\\n])')|(?P<line>//[^\n]*)|(?P<block>/\*(?:.|\n)*?\*/)"
)
MARKS = re.compile(r"^\s*(///?|//!|/\*\*?|\*/|\*|#)?!? ?")


@dataclass(frozen=True)
class Entry:
    """A word or phrase, its replacement, and whether only a reader can judge a use."""

    name: str
    pattern: re.Pattern[str]
    write: str
    judge: bool


@dataclass(frozen=True)
class Words:
    """Contents of words.toml."""

    entries: list[Entry]
    allowed: list[re.Pattern[str]]


@dataclass
class Text:
    """The prose of a file: lines of comments with their numbers, and its head."""

    lines: dict[int, str] = field(default_factory=dict)
    head: str = ""
    long: int = 0


@dataclass
class Count:
    """Totals of a code base."""

    words: int = 0
    found: dict[str, int] = field(default_factory=dict)
    heads: int = 0
    wh_heads: int = 0
    long_comments: int = 0
    long_markdown: int = 0

    def rates(self) -> dict[str, float]:
        """Uses per 10,000 words."""
        return {name: round(PER * n / max(self.words, 1), 2) for name, n in self.found.items()}


def load() -> Words:
    """Reads words.toml."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    # A phrase may continue on the next line. \b before a comma would require a letter.
    entries = [
        Entry(
            w["name"],
            re.compile(
                (r"" if w["pattern"].startswith(",") else r"\b") + rf"(?:{_gaps(w['pattern'])})\b", re.IGNORECASE
            ),
            w["write"],
            w.get("judge", False),
        )
        for w in data["word"]
    ]
    return Words(entries, [re.compile(_gaps(a["text"]), re.IGNORECASE) for a in data["allow"]])


def _gaps(pattern: str) -> str:
    return pattern.replace(" ", r"\s+")


def comments_of_rust(source: str, *, doc: bool) -> Text:
    """Comments of Rust (`doc`: with `//!` heads) or C."""
    text = Text()
    rows = source.splitlines()
    fenced = False
    for match in RUST.finditer(source):
        if not (match["line"] or match["block"]):
            continue
        first = source.count("\n", 0, match.start()) + 1
        for number, raw in enumerate(match[0].splitlines(), first):
            text.long += len(rows[number - 1]) > COMMENT_COLUMNS
            line = MARKS.sub("", raw).rstrip("*/ ")
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced and "SPDX-" not in line:
                text.lines[number] = line
                if doc and not text.head and raw.startswith("//!"):
                    text.head = line
    return text


def comments_of_python(source: str) -> Text:
    """Comments and docstrings."""
    text = Text()
    rows = source.splitlines()
    tree = ast.parse(source)
    text.head = (ast.get_docstring(tree) or "").partition("\n")[0]
    for node in ast.walk(tree):
        # Docstrings of modules, classes, functions and fields: any string that is a statement.
        if not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            continue
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            text.lines[number] = rows[number - 1].strip().strip('"')
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "SPDX-" not in token.string and not token.string.startswith("#!"):
            text.lines[token.start[0]] = MARKS.sub("", token.string)
    text.long = sum(len(rows[number - 1]) > COMMENT_COLUMNS for number in text.lines)
    return text


def strings_of_rust(source: str) -> Text:
    """Texts for users: string literals of three words or more, without placeholders.

    Unit tests, assertions and reasons of lint attributes are left out.
    """
    text = Text()
    source = TESTS.split(source)[0]
    code_since = 0
    for match in RUST.finditer(source):
        if match["line"] or match["block"] or match["char"]:
            continue
        # The code from the end of the previous statement to the string.
        before = re.split(r"[;{}]", source[code_since : match.start()])[-1]
        if FOR_DEVELOPERS.search(before) and not re.search(r"\)\s*$", before):
            continue
        code_since = match.end()
        literal = re.sub(
            r"\\\n|\\.|\{[^{}]*\}", lambda m: "\n" if "\n" in m[0] else " ", re.sub(r'^b?r?#*"|"#*$', "", match[0])
        )
        _add(text, literal, source.count("\n", 0, match.start()) + 1)
    return text


def strings_of_python(source: str) -> Text:
    """Texts for users: strings of three words or more that are no docstrings."""
    text = Text()
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        elif isinstance(node, ast.Assert):
            skipped.update(id(part) for part in ast.walk(node))
        elif isinstance(node, ast.JoinedStr) and id(node) not in skipped:
            parts = [str(p.value) if isinstance(p, ast.Constant) else " " for p in node.values]
            _add(text, "".join(parts), node.lineno)
            skipped.update(id(p) for p in node.values if isinstance(p, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            _add(text, node.value, node.lineno)
    return text


def _add(text: Text, literal: str, number: int) -> None:
    """Adds a string; a full stop at its end keeps phrases within one string."""
    if len(WORD.findall(literal)) >= LEAST_WORDS:
        for i, line in enumerate(f"{literal}.".splitlines()):
            text.lines[number + i] = f"{text.lines.get(number + i, '')} {line}".strip()


def read_strings(path: Path) -> Text:
    """The texts for users in a source file."""
    source = path.read_text(encoding="utf-8", errors="replace")
    return strings_of_rust(source) if path.suffix == ".rs" else strings_of_python(source)


def has_strings(path: Path) -> bool:
    """Whether the strings of a file reach users."""
    parts = path.relative_to(ROOT).parts
    if path.suffix == ".rs":
        return parts[0] == "crates" and parts[2] == "src" and "tests" not in path.stem
    return path.suffix == ".py" and parts[:2] == ("python", "perigee_lab")


def read(path: Path) -> Text:
    """The prose of a source file."""
    source = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".py":
        return comments_of_rust(source, doc=path.suffix == ".rs")
    try:
        return comments_of_python(source)
    except (SyntaxError, tokenize.TokenError):
        print(f"{path}: skipped, not valid Python here", file=sys.stderr)
        return Text()


def blocks(text: Text) -> Iterator[tuple[int, str]]:
    """Runs of adjacent lines, with the number of the first.

    Text in backticks is replaced by blanks.
    """
    first, last, joined = 0, -1, ""
    for number, line in [*sorted(text.lines.items()), (0, "")]:
        if number == last + 1 and number:
            joined += "\n" + line
        else:
            if joined:
                yield first, re.sub(r"`[^`]*`", lambda m: re.sub(r"[^\n]", " ", m[0]), joined)
            first, joined = number, line
        last = number


def uses(text: Text, words: Words) -> Iterator[tuple[Entry, int, str]]:
    """Every use of a listed word: entry, line number, the line."""
    for first, block in blocks(text):
        # The patterns of allowed uses may match code in backticks. Its length is the same in both
        # texts.
        allowed = [m.span() for pattern in words.allowed for m in pattern.finditer(block)]
        for entry in words.entries:
            for match in entry.pattern.finditer(block):
                if not any(a <= match.start() and match.end() <= b for a, b in allowed):
                    number = first + block.count("\n", 0, match.start())
                    yield entry, number, text.lines[number].strip()


def files(folder: Path) -> list[Path]:
    """Files of a code base: those that git tracks, or all."""
    tracked = git("ls-files", folder=folder)
    found = [folder / name for name in tracked.splitlines()] if tracked else sorted(folder.rglob("*"))
    wanted = {".rs", ".py", ".md", *C_LIKE}
    return [p for p in found if p.suffix in wanted and p.is_file() and not SKIPPED & set(p.relative_to(folder).parts)]


def long_lines(markdown: str) -> int:
    """Lines of prose over the limit, except tables, code blocks and lines of a single link."""
    long, fenced = 0, False
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and len(line) > MARKDOWN_COLUMNS and not line.lstrip().startswith("|"):
            long += " " in line.strip().lstrip("-* ")
    return long


def count(folder: Path, words: Words) -> Count:
    """Counts a code base."""
    total = Count(found={entry.name: 0 for entry in words.entries})
    for path in files(folder):
        if path.suffix == ".md":
            total.long_markdown += long_lines(path.read_text(encoding="utf-8", errors="replace"))
            continue
        text = read(path)
        total.words += sum(len(WORD.findall(block)) for _, block in blocks(text))
        for entry, _, _ in uses(text, words):
            total.found[entry.name] += 1
        total.heads += bool(text.head)
        total.wh_heads += bool(WH.match(text.head))
        total.long_comments += text.long
    return total


def count_strings(words: Words) -> Count:
    """Counts the texts for users of this repository."""
    total = Count(found={entry.name: 0 for entry in words.entries})
    for path in filter(has_strings, files(ROOT)):
        text = read_strings(path)
        total.words += sum(len(WORD.findall(block)) for _, block in blocks(text))
        for entry, _, _ in uses(text, words):
            total.found[entry.name] += 1
    return total


def goal(name: str, references: list[dict[str, Any]]) -> float:
    """The highest acceptable rate of a word."""
    rates: list[float] = [r["per_10000"].get(name, 0.0) for r in references]
    return max([LEAST, *(round(MULTIPLE * rate, 2) for rate in rates)])


def table(columns: dict[str, dict[str, float]], goals: dict[str, float], words: Words) -> str:
    """Rates per word, with those that only a reader can judge at the end."""
    names = list(columns)
    lines = ["| per 10,000 words of comments | " + " | ".join(names) + " | goal | write |"]
    lines.append("| --- |" + " ---: |" * (len(names) + 1) + " --- |")
    for entry in sorted(words.entries, key=lambda e: e.judge):
        cells = [f"{columns[n].get(entry.name, 0.0):.1f}" for n in names]
        name = f"{entry.name} (to be judged)" if entry.judge else entry.name
        mark = " !" if not entry.judge and columns[names[0]].get(entry.name, 0.0) > goals[entry.name] else ""
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {goals[entry.name]:.1f}{mark} | {entry.write} |")
    return "\n".join(lines)


def totals(counts: dict[str, dict[str, Any]]) -> str:
    """A table of sizes, heads and long lines."""
    keys = ("words", "heads", "wh_heads", "long_comments", "long_markdown")
    lines = ["| | " + " | ".join(counts) + " |", "| --- |" + " ---: |" * len(counts)]
    labels = {
        "words": "words of comments",
        "heads": "module heads",
        "wh_heads": "heads that begin with a wh-word",
        "long_comments": f"comment lines over {COMMENT_COLUMNS} columns",
        "long_markdown": f"Markdown lines over {MARKDOWN_COLUMNS} columns",
    }
    for key in keys:
        lines.append(f"| {labels[key]} | " + " | ".join(f"{c[key]:,}" for c in counts.values()) + " |")
    return "\n".join(lines)


def summary(total: Count) -> dict[str, Any]:
    """The counts of a code base as stored in words.json."""
    sizes = {k: getattr(total, k) for k in ("words", "heads", "wh_heads", "long_comments", "long_markdown")}
    return {**sizes, "per_10000": total.rates()}


def git(*words: str, folder: Path | None = None) -> str | None:
    """Output of git; `None` if it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=folder or ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def base() -> str | None:
    """The commit for comparison: where this branch left main, or the last commit's parent."""
    head = git("rev-parse", "HEAD")
    for branch in ("origin/main", "main"):
        found = git("merge-base", "HEAD", branch)
        if found and found != head:
            return found.strip()
    return (git("rev-parse", "--verify", "--quiet", "HEAD~1") or "").strip() or None


def changed(commit: str) -> dict[str, set[int]]:
    """Numbers of the lines that the working tree adds or changes since a commit."""
    found: dict[str, set[int]] = {}
    name = ""
    for line in (git("diff", "--unified=0", "--no-color", "--no-ext-diff", commit) or "").splitlines():
        if line.startswith("+++ "):
            name = line[4:].removeprefix("b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, n = int(match[1]), int(match[2] or 1)
            found.setdefault(name, set()).update(range(first, first + n))
    return found


def warn(commit: str | None, words: Words) -> None:
    """Prints uses on changed lines as warnings."""
    commit = commit or base()
    if commit is None or git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}") is None:
        print("words: skipped, no commit to compare with")
        return
    n = 0
    for name, numbers in sorted(changed(commit).items()):
        path = ROOT / name
        if path.suffix not in {".rs", ".py", *C_LIKE} or not path.is_file():
            continue
        for entry, number, line in uses(read(path), words):
            if number in numbers and not entry.judge:
                print(f'{name}:{number}: "{entry.name}"; write: {entry.write}: {line}')
                n += 1
    print(f"words: {n} warnings on lines changed since {commit[:7]}")


def list_uses(name: str, words: Words, *, strings: bool) -> None:
    """Prints every use of a word, or every head with a wh-word at its start (`heads`)."""
    if name != "heads" and not any(name in e.name for e in words.entries):
        sys.exit(f"--list {name}: not a listed word (heads, {', '.join(e.name for e in words.entries)})")
    for path in files(ROOT):
        if path.suffix == ".md" or (strings and not has_strings(path)):
            continue
        text, shown = read_strings(path) if strings else read(path), path.relative_to(ROOT)
        if name == "heads" and WH.match(text.head):
            print(f"{shown}: {text.head}")
        for entry, number, line in uses(text, words):
            if name in entry.name:
                print(f"{shown}:{number}: {line}")


def compare(named: list[str], words: Words, *, bless: bool) -> None:
    """Prints the tables; with `bless`, writes words.json."""
    others = {}
    for other in named:
        name, equals, folder = other.partition("=")
        if not equals or not Path(folder).is_dir():
            sys.exit(f"{other}: must be NAME=FOLDER with an existing folder")
        path = Path(folder).resolve()
        commit = git("rev-parse", "--short=12", "HEAD", folder=path)
        others[name] = {"commit": (commit or "unknown").strip(), **summary(count(path, words))}
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"references": {}}
    references = {**known["references"], **others}
    now = summary(count(ROOT, words))
    users = count_strings(words)
    columns = {"Perigee": now, **({"before": known["before"]} if "before" in known else {}), **references}
    goals = {e.name: goal(e.name, list(references.values())) for e in words.entries}
    rates = {name: c["per_10000"] for name, c in columns.items()}
    print(table({"Perigee": rates.pop("Perigee"), "texts for users": users.rates(), **rates}, goals, words))
    print()
    print(totals(columns))
    if bless:
        strings = {"words": users.words, "per_10000": users.rates()}
        kept = {"before": known.get("before", now), "references": references, "strings": strings}
        FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("others", nargs="*", metavar="NAME=FOLDER", help="other code bases, as references")
    parser.add_argument("--list", metavar="WORD", help="list the uses of a word, or wh-words in `heads`")
    parser.add_argument("--strings", action="store_true", help="with --list: in texts for users")
    parser.add_argument("--changed", nargs="?", const="", metavar="COMMIT", help="warnings on lines changed since")
    parser.add_argument("--bless", action="store_true", help="write words.json")
    options = parser.parse_args()
    words = load()
    if options.changed is not None:
        warn(options.changed or None, words)
    elif options.list:
        list_uses(options.list, words, strings=options.strings)
    else:
        compare(options.others, words, bless=options.bless)


if __name__ == "__main__":
    main()
