# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee new-cc`: the files of a new congestion control."""

from __future__ import annotations

import keyword
import re
import string
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import write_text, writing
from perigee_lab.common.messages import say

LOOKS = Path("python/perigee_lab/results/looks.py")
SECTION = "Add a congestion control"


class NewSchemeError(PerigeeError, ValueError):
    """The files cannot be written; the message contains the reason and the remedy."""


def command(
    name: Annotated[str, typer.Argument(help="Its name, such as my_scheme.")],
    python: Annotated[bool, typer.Option("--python", help="A Python class instead of a Rust file.")] = False,
    folder: Annotated[Path, typer.Option("--in", help="Folder; for Rust, a checkout of Perigee.")] = Path(),
) -> None:
    """Write the skeleton of a new congestion control.

    In Python: a class with its test, page and scenario. In Rust: a file with its test, and its entries in the lists.
    """
    with writing(folder):
        written = python_files(name, folder) if python else rust_files(name, folder)
    for path in written:
        say(path)
    if python:
        cc, test = f"{folder / name}.py:{label_of(name)}", f"; its test: pytest {folder / f'test_{name}.py'}"
        say(f"next: perigee run scenarios/micro/dumbbell.toml --cc {cc},cubic{test}")
        say(f"its expectations: perigee run {folder / name}.toml --cc {cc}")
    else:
        say(f"next: CONTRIBUTING.md, section {SECTION!r}; cargo test -p perigee-cc {name} && make setup docs; ", end="")
        say(f"perigee run scenarios/micro/dumbbell.toml --cc {name},cubic")


def python_files(name: str, folder: Path) -> list[Path]:
    """Writes a class, its test, its page and a scenario with expectations. Returns the files."""
    _check(name)
    plan = {
        folder / f"{name}.py": "new_cc.py.txt",
        folder / f"test_{name}.py": "new_cc_test.py.txt",
        folder / f"{name}.md": "new_cc.md.txt",
        folder / f"{name}.toml": "new_cc.toml.txt",
    }
    return _write(name, plan)


def rust_files(name: str, root: Path) -> list[Path]:
    """Writes `crates/perigee-cc/src/NAME.rs` with its test, and enters it in the lists.

    These are the modules, the schemes and the styles of plots. Returns the files.
    """
    _check(name)
    source, looks = root / "crates/perigee-cc/src", root / LOOKS
    if not ((source / "schemes.rs").is_file() and looks.is_file()):
        raise NewSchemeError(f"{root} is not a checkout of Perigee: run this in one, or pass --python")
    if re.search(rf'"{name}",', (source / "schemes.rs").read_text(encoding="utf-8")):
        raise NewSchemeError(f"there is a congestion control {name!r} already: choose another name, such as my_{name}")
    written = _write(name, {source / f"{name}.rs": "new_cc.rs.txt"})
    _enter_module(source / "lib.rs", name)
    _enter_scheme(source / "schemes.rs", name)
    _enter_look(looks, name)
    return [*written, source / "lib.rs", source / "schemes.rs", looks]


def label_of(name: str) -> str:
    """Name of the class: `my_scheme` becomes `MyScheme`."""
    return "".join(word.capitalize() for word in name.split("_"))


def _check(name: str) -> None:
    from perigee_lab.runs.scenario import schemes

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise NewSchemeError(f"{name!r}: names must match [a-z][a-z0-9_]*, and cannot be keywords of Python")
    if name in {s["id"] for s in schemes()}:
        raise NewSchemeError(f"there is a congestion control {name!r} already: choose another name, such as my_{name}")


def _write(name: str, plan: dict[Path, str]) -> list[Path]:
    from importlib.resources import files

    for path in plan:
        if path.exists():
            raise NewSchemeError(f"{path} exists: choose another name, or move the file")
    for path, template in plan.items():
        text = (files("perigee_lab") / "templates" / template).read_text(encoding="utf-8")
        write_text(path, text.replace("@NAME@", name).replace("@LABEL@", label_of(name)))
    return list(plan)


def _enter_module(path: Path, name: str) -> None:
    """Inserts `pub mod NAME;` in alphabetical order among the schemes."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first = lines.index("pub mod astraea;\n")
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("pub mod "))
    modules = sorted([*lines[first:last], f"pub mod {name};\n"], key=lambda line: line.rstrip(";\n"))
    write_text(path, "".join([*lines[:first], *modules, *lines[last:]]))


def _enter_scheme(path: Path, name: str) -> None:
    """Appends an entry to the list."""
    text = path.read_text(encoding="utf-8")
    end = text.index("\n}\n", text.index("\nschemes! {"))
    label = label_of(name)
    entry = (
        f"\n    {label}({name}::{label}), {name}::PARAMS => {{\n"
        f'        "{name}", "{label}", no_profile, "what it does, in a line";\n'
        "    }"
    )
    write_text(path, text[:end] + entry + text[end:])


def _enter_look(path: Path, name: str) -> None:
    """Appends a style with an unused marker and unused dashes, which its author may replace."""
    from perigee_lab.results.looks import BUILT_IN

    text = path.read_text(encoding="utf-8")
    start = text.index("\nBUILT_IN = {")
    end = text.index("\n}\n", start)
    letters = [c for c in f"{name.upper()}{string.ascii_uppercase}" if c.isalpha()]
    marker = next(f"${c}$" for c in letters if f'"${c}$"' not in text[start:end])
    known = {look.dashes for look in BUILT_IN.values()}
    lengths = ((4.0, k / 2, 1.0, k / 2) for k in range(2, 99))
    dashes = next(d for d in lengths if d not in known and str(d) not in text[start:end])
    write_text(path, f'{text[:end]}\n    "{name}": Look("#000000", "{marker}", {dashes}),{text[end:]}')
