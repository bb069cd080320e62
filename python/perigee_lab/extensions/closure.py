# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Import closure of a Python file within its own folder: hashed, and imported as hashed.

It follows import statements through the source text, without running it. Modules outside the
closure (names that `importlib` or `__import__` computes, bytecode without a source, compiled files
in `__pycache__`) cannot be imported from that folder.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import CodeType, ModuleType

SOURCE, EXTENSION, NAMESPACE = "source", "extension", "namespace"


@dataclass(frozen=True)
class Part:
    """A module of the closure, with its hashed content."""

    kind: str
    path: Path
    content: bytes = b""
    is_package: bool = False


@dataclass(frozen=True)
class Closure:
    """A Python file, and the modules of its folder that it can import."""

    file: Path
    content: bytes
    parts: Mapping[str, Part]

    def digest(self) -> str:
        """Digest over all modules."""
        found = hashlib.sha256(hashlib.sha256(self.content).digest())
        for _, part in sorted(self.parts.items()):
            place = part.path.relative_to(self.file.parent).as_posix()
            found.update(f"\0{place}\0".encode() + hashlib.sha256(part.content).digest())
        return found.hexdigest()

    def modules(self) -> dict[str, str]:
        """Hashes of the file and its imports, by path relative to the folder of the file."""
        found = {self.file.name: hashlib.sha256(self.content).hexdigest()}
        for part in self.parts.values():
            if part.kind != NAMESPACE:
                found[part.path.relative_to(self.file.parent).as_posix()] = hashlib.sha256(part.content).hexdigest()
        return dict(sorted(found.items()))

    @contextmanager
    def importable(self) -> Iterator[None]:
        """Within the block, the modules can be imported, but nothing else from their folder."""
        finder = _Finder(self)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)


def closure(file: Path) -> Closure:
    """Closure of a file with its current content. Raises OSError."""
    root, content = file.parent, file.read_bytes()
    parts: dict[str, Part] = {}
    waiting = _imported(content, file, "")
    while waiting:
        name = waiting.pop()
        part = None if name in parts else _part(root, name)
        if part is None:
            continue
        parts[name] = part
        # Its parent packages are imported before it.
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
        if part.kind == SOURCE:
            waiting += _imported(part.content, part.path, name if part.is_package else parent)
    parts.pop(file.stem, None)
    return Closure(file, content, parts)


def _part(root: Path, name: str) -> Part | None:
    """The module of that name in a folder, in Python's search order."""
    base = root.joinpath(*name.split("."))
    for stem, is_package in ((base / "__init__", True), (base, False)):
        for suffix in (*EXTENSION_SUFFIXES, ".py"):
            path = stem.with_name(stem.name + suffix)
            if path.is_file():
                return Part(SOURCE if suffix == ".py" else EXTENSION, path, path.read_bytes(), is_package)
        if stem.with_name(stem.name + ".pyc").is_file():
            return None
    return Part(NAMESPACE, base, is_package=True) if base.is_dir() else None


def _imported(content: bytes, path: Path, package: str) -> list[str]:
    """Names in the import statements of a source, most of which are outside its folder."""
    try:
        tree = ast.parse(content, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Such a source cannot run either.
        return []
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [name for alias in node.names for name in _with_parents(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            whole = _absolute(node, package)
            if whole:
                found += [
                    *_with_parents(whole),
                    *(f"{whole}.{alias.name}" for alias in node.names if alias.name != "*"),
                ]
    return found


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module of `from … import`.

    It is empty if the module is beyond the top-level package, which is a Python error.
    """
    above = package.split(".") if package else []
    if node.level > len(above):
        return ""
    return ".".join([*(above[: len(above) - node.level + 1] if node.level else []), *filter(None, [node.module])])


def _with_parents(name: str) -> list[str]:
    words = name.split(".")
    return [".".join(words[:n]) for n in range(1, len(words) + 1)]


class _Finder(MetaPathFinder):
    def __init__(self, of: Closure) -> None:
        self.of = of

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        part = self.of.parts.get(fullname)
        if part is None:
            self._refuse(fullname, path)
            return None
        if part.kind == NAMESPACE and "." not in fullname:
            # As on Python's path: an installed package precedes a folder without `__init__.py`.
            installed = PathFinder.find_spec(fullname, path)
            if installed is not None and installed.loader is not None:
                return installed
        loader: Loader | None = None
        if part.kind == SOURCE:
            loader = _Source(part)
        elif part.kind == EXTENSION:
            if part.path.read_bytes() != part.content:
                raise ImportError(f"{part.path} has changed since its hash was taken", name=fullname)
            loader = ExtensionFileLoader(fullname, str(part.path))
        spec = ModuleSpec(fullname, loader, origin=str(part.path), is_package=part.is_package)
        if part.is_package:
            # No other finder may search its folder, now or later.
            spec.submodule_search_locations = []
        return spec

    def _refuse(self, fullname: str, path: Sequence[str] | None) -> None:
        """Raises ImportError for a module that has no hash here and is not found elsewhere."""
        root = self.of.file.parent
        base = root.joinpath(*fullname.split("."))
        there = [p for s in (".py", ".pyc", *EXTENSION_SUFFIXES) if (p := base.with_name(base.name + s)).is_file()]
        there += [base / "__init__.pyc"] if (base / "__init__.pyc").is_file() else []
        if there and PathFinder.find_spec(fullname, path) is None:
            raise ImportError(
                f"{there[0]} is not among the files with a remembered hash: import a source by an import statement, or "
                "say --trust",
                name=fullname,
            )


class _Source(Loader):
    """Executes a source as it was hashed."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def create_module(self, _spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.part.path)
        exec(self._code(), module.__dict__)

    def get_source(self, _fullname: str) -> str:
        """For tracebacks."""
        return self.part.content.decode("utf-8", "replace")

    def _code(self) -> CodeType:
        return compile(self.part.content, str(self.part.path), "exec")
