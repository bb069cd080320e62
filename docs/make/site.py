# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of the documentation site from docs/, the pages at the root and the docstrings.

    python docs/make/site.py STAGE [MKDOCS]

writes the generator's input to STAGE: the pages, at the same relative paths, with every file that
they link to, and pages generated from the program itself (commands, Python); and runs the
generator if it is named. `make site` does this; then open site/index.html.

The pages are the same as on a forge; a link to a folder leads to its README, or to a list of its
files.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AT_ROOT = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
# Kinds of files that a browser displays.
CODE = {
    ".py",
    ".toml",
    ".rs",
    ".c",
    ".h",
    ".cff",
    ".json",
    ".csv",
    ".ipynb",
    ".css",
    ".js",
    "",
    ".txt",
    ".lua",
    ".patch",
}


def pages() -> list[Path]:
    """All pages, relative to the root."""
    return [Path(name) for name in AT_ROOT] + sorted(p.relative_to(ROOT) for p in (ROOT / "docs").rglob("*.md"))


def stage(out: Path) -> None:
    """Writes the source of the site."""
    shutil.rmtree(out, ignore_errors=True)
    known = set(pages())
    for page in sorted(known):
        text = (ROOT / page).read_text(encoding="utf-8")
        target = out / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(LINK.sub(lambda m, p=page: _link(m, p, known, out), text), encoding="utf-8")
    (out / "docs/reference/commands.md").write_text(commands(), encoding="utf-8")
    (out / "docs/reference/python.md").write_text(python(), encoding="utf-8")
    shutil.copytree(ROOT / "docs/site", out / "docs/site")


def _link(match: re.Match[str], page: Path, known: set[Path], out: Path) -> str:
    """Rewrites a link for the site, and stages its target."""
    begin, name, end = match.groups()
    if re.match(r"[a-z]+:", name):
        return match.group(0)
    target = Path(os.path.normpath(page.parent / name))
    here = ROOT / target
    if here.is_dir():
        target = target / "README.md"
        if target not in known:
            _list(here, out / target, known, target)
    elif target not in known:
        # Pages of design/ are not part of the site and are shown as text.
        if not here.is_file():
            raise SystemExit(f"{page}: there is no {name}")
        copied = out / target
        copied.parent.mkdir(parents=True, exist_ok=True)
        if here.suffix in {*CODE, ".md"}:
            # Displayed by the browser instead of downloaded.
            target = target.with_name(target.name + ".txt")
            copied = out / target
        shutil.copyfile(here, copied)
    return begin + os.path.relpath(target, page.parent) + end


def _list(folder: Path, page: Path, known: set[Path], name: Path) -> None:
    """Writes a page for a folder that has none: its files with their first lines."""
    page.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"# {folder.relative_to(ROOT)}", ""]
    for file in sorted(
        p for p in folder.rglob("*") if p.is_file() and p.suffix in CODE and "__pycache__" not in p.parts
    ):
        place = file.relative_to(folder)
        copied = page.parent / f"{place}.txt"
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)
        title = re.search(r'^title = "(.*)"', file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        lines.append(f"- [{place}]({place}.txt)" + (f": {title[1]}" if title else ""))
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    known.add(name)


def commands() -> str:
    """The page of commands: the output of `--help` for every command."""
    from typer.main import get_command

    from perigee_lab.cli.app import app
    from perigee_lab.cli.help_texts import PlainContext

    parts = ["# Commands", "", "What `perigee COMMAND --help` prints.", ""]
    root = get_command(app)

    def add(name: str, command: object, level: int) -> None:
        context = PlainContext(command, info_name=name, terminal_width=100)
        parts.extend(["#" * level + f" {name}", "", "```text", command.get_help(context).rstrip(), "```", ""])  # type: ignore[attr-defined]
        names = command.list_commands(context) if hasattr(command, "list_commands") else []
        for word in sorted(names):
            inner = command.get_command(context, word)  # type: ignore[attr-defined]
            if not inner.hidden:
                add(f"{name} {word}", inner, min(level + 1, 3))

    add("perigee", root, 2)
    return "\n".join(parts)


def python() -> str:
    """The page of Python: docstrings of `perigee`, and of modules named in the pages."""
    import perigee_lab as perigee

    parts = ["# Python", "", "Everything that `import perigee_lab as perigee` offers.", ""]
    for name in sorted(perigee.__all__, key=str.lower):
        thing = getattr(perigee, name)
        if not inspect.getdoc(thing):
            raise SystemExit(f"perigee.{name} has no docstring")
        home = thing.__module__
        path = f"{home}.{name}" if home != "perigee_lab._core" else f"perigee_lab._core.{name}"
        parts += [f"## perigee.{name}", "", f"::: {path}", ""]
    for module in ("perigee_lab.learn.gym", "perigee_lab.learn.vector", "perigee_lab.results.looks"):
        parts += [f"## {module}", "", f"::: {module}", ""]
    return "\n".join(parts)


# The theme fetches this script for the search in pages opened from a folder; here, it is next to
# the pages.
SHIM = "https://unpkg.com/iframe-worker/shim"


def build(generator: str) -> int:
    """Runs the generator, and removes remote resources from its pages. Warnings are errors.

    Returns its exit code.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "NO_MKDOCS_2_WARNING": "true"}
    words = [generator, "build", "--strict", "--quiet", "--config-file", str(ROOT / "docs/site/mkdocs.yml")]
    code = subprocess.run(words, check=False, env=environment, cwd=ROOT).returncode
    site = ROOT / "site"
    for page in site.rglob("*.html"):
        own = os.path.relpath(site / "docs/site/iframe-worker.js", page.parent)
        page.write_text(page.read_text(encoding="utf-8").replace(SHIM, own), encoding="utf-8")
    return code


def main() -> None:
    """Writes the stage; builds the site from it if the generator is named."""
    stage(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        raise SystemExit(build(sys.argv[2]))


if __name__ == "__main__":
    main()
