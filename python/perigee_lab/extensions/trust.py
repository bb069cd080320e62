# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Trust in Python code: the model of docs/reference/security.md, and the single permission check.

Code that the user names (on the command line, or as a class or function in Python) is trusted:
`Said` marks such a name, `of` finds it in the user's overrides. Any other name comes from a file,
and its code is untrusted: it runs with `--trust`, with `trust=True`, or after `perigee trust FILE`,
which remembers the answer for the current content of the file. Code is loaded only after
`Permission.admit`, `check_module` or `check_programs`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import NO_LINKS, write_text
from perigee_lab.extensions.closure import Closure, closure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# FILE.py:NAME or MODULE:NAME, alone or within a TOML string, list or table.
# The first form starts only at the start of a word, else long words would take quadratic time.
_NAMED = re.compile(r"""(?<![^\s"'=,\[\]{}])([^\s"'=,\[\]{}]+):\w+|["']([^"']+):\w+["']""")

ARCHIVE = "archive:"
"""Prefix of the entries of archives in the store, before their hash."""


class Said(str):
    """A trusted name, given by the user; strings derived from it are plain, and not trusted."""

    __slots__ = ()


def said(names: Iterable[str | type]) -> list[str | type]:
    """Names from the command line or a Python caller, marked as trusted."""
    return [Said(n) if isinstance(n, str) else n for n in names]


class PluginError(PerigeeError):
    """Python code that cannot be used; the message states the reason."""

    has_cause = True


class UntrustedError(PluginError):
    """Python code named by a file that the user has not agreed to run."""

    def __init__(self, what: str, file: Path | None, changes: Sequence[str] = ()) -> None:
        """`what` describes the code in terms of its source; `file` is None for a module.

        `changes` are those since the user trusted the file.
        """
        remember = "" if file is None else f", or `perigee trust {file}` to remember the answer for this file"
        since = f" (trusted before, but {', '.join(changes)} since)" if changes else ""
        super().__init__(
            f"{what} is Python code that this file names, and it has not been run{since}: read it, then say --trust "
            f"(in Python trust=True){remember}"
        )
        self.file = file


class UntrustedProgramError(UntrustedError):
    """Programs of a scenario, record or job that the user has not agreed to run."""

    def __init__(self, line: str) -> None:
        """`line` is the command of the first program."""
        PluginError.__init__(
            self,
            f"this file wants to run programs, the first one `{line}`, and none has been run: "
            "read its [[program]] tables, then say --trust (in Python trust=True)",
        )
        self.file = None


@dataclass(frozen=True)
class Permission:
    """Set of code that may run."""

    everything: bool = False
    files: frozenset[Path] = field(default_factory=frozenset)
    modules: frozenset[str] = field(default_factory=frozenset)
    sealed: frozenset[Path] = field(default_factory=frozenset)
    """Files of a trusted archive: they import from their folder only what the archive has."""
    programs: bool = False

    def admit(self, file: Path) -> Closure | None:
        """The modules that the file may import from its folder; None = all, for code trusted now.

        Raises UntrustedError unless the file may run.
        """
        resolved = file.resolve()
        if self.everything or resolved in self.files:
            return None
        found = closure(resolved) if resolved in self.sealed else _remembered(resolved)
        if found is None:
            raise UntrustedError(str(file), resolved, changes(resolved))
        return found

    def check_programs(self, lines: Sequence[str]) -> None:
        """Raises UntrustedProgramError unless the programs named by a file may run."""
        if lines and not (self.everything or self.programs):
            raise UntrustedProgramError(lines[0])

    def check_module(self, name: str) -> None:
        """Raises UntrustedError unless modules, which have no file to hash, may be imported."""
        if not (self.everything or name in self.modules):
            raise UntrustedError(f"the module {name}", None)


NOTHING = Permission()


def together(permissions: Iterable[Permission]) -> Permission:
    """The union of several permissions."""
    every = list(permissions)
    files = frozenset(f for p in every for f in p.files)
    modules = frozenset(m for p in every for m in p.modules)
    sealed = frozenset(f for p in every for f in p.sealed)
    return Permission(any(p.everything for p in every), files, modules, sealed, any(p.programs for p in every))


_now: ContextVar[Permission] = ContextVar("permission", default=NOTHING)
_refused: ContextVar[list[UntrustedError] | None] = ContextVar("refused", default=None)


def of(sets: Sequence[str], folder: Path, *, trust: bool) -> Permission:
    """Permission of a scenario in `folder`; code in the user's overrides `key=value` is trusted."""
    named = [a or b for value in sets for a, b in _NAMED.findall(value.partition("=")[2])]
    files = {(base / n).resolve() for n in named if n.endswith(".py") for base in (folder, Path())}
    return Permission(trust, frozenset(files), frozenset(n for n in named if not n.endswith(".py")))


def now() -> Permission:
    """The permission of the innermost `permitted`."""
    return _now.get()


@contextmanager
def permitted(permission: Permission) -> Iterator[list[UntrustedError]]:
    """Within the block, code found in scenarios runs if `permission` allows it.

    Yields rejections.
    """
    refused: list[UntrustedError] = []
    tokens = _now.set(permission), _refused.set(refused)
    try:
        yield refused
    finally:
        _now.reset(tokens[0])
        _refused.reset(tokens[1])


def admit(file: Path) -> Closure | None:
    """`Permission.admit` of the current permission."""
    try:
        return now().admit(file)
    except UntrustedError as error:
        refused = _refused.get()
        if refused is not None:
            refused.append(error)
        raise


# ---- remembered answers --------------------------------------------------------------------------


def store() -> Path:
    """The file that stores answers."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "perigee" / "trusted.json"


@dataclass(frozen=True)
class Answer:
    """Consent to the content of a file: the digest of its closure, and the hash of each module."""

    digest: str
    modules: Mapping[str, str] = field(default_factory=dict)
    """Hashes by path relative to the folder of the file; none in entries of Perigee 0.2."""


def _stored() -> dict[str, Any]:
    """The entries of the store. An unreadable one counts as empty."""
    try:
        found = json.loads(store().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def remembered() -> dict[str, Answer]:
    """The answers by file."""
    found = {k: _answer(v) for k, v in _stored().items() if not k.startswith(ARCHIVE)}
    return {k: v for k, v in found.items() if v is not None}


def _answer(entry: Any) -> Answer | None:
    if isinstance(entry, str):
        return Answer(entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("digest"), str):
        return None
    modules = entry.get("modules")
    named = modules.items() if isinstance(modules, dict) else ()
    return Answer(entry["digest"], {k: v for k, v in named if isinstance(v, str)})


def changes(file: Path) -> list[str]:
    """Changes of a trusted file and its imports: "helper.py has changed"; none if not trusted."""
    answer = remembered().get(str(file))
    if answer is None or not answer.modules:
        return []
    try:
        now = closure(file).modules()
    except OSError:
        return [f"{file.name} is gone"]
    found = [
        f"{name} {'is gone' if name not in now else 'has changed'}"
        for name, sha256 in answer.modules.items()
        if now.get(name) != sha256
    ]
    return found + [f"{name} is imported" for name in now if name not in answer.modules]


def is_remembered(file: Path) -> bool:
    """Whether the user has agreed to run this file and its imports with their current content."""
    return _remembered(file.resolve()) is not None


def _remembered(file: Path) -> Closure | None:
    answer = remembered().get(str(file))
    if answer is None:
        return None
    try:
        found = closure(file)
    except OSError:
        return None
    return found if found.digest() == answer.digest else None


def remember(file: Path) -> str:
    """Stores the agreement to run a file with its current content. Returns its digest.

    Raises OSError.
    """
    found = closure(file.resolve())
    with _alone():
        _write({**_stored(), str(file.resolve()): {"digest": found.digest(), "modules": found.modules()}})
    return found.digest()


def archives() -> dict[str, str]:
    """Trusted archives: the file in which each was seen, by the archive's hash."""
    found = {k.removeprefix(ARCHIVE): v for k, v in _stored().items() if k.startswith(ARCHIVE)}
    return {k: v for k, v in found.items() if isinstance(v, str)}


def remember_archive(sha256: str, file: Path) -> None:
    """Stores the agreement to run the code of an archive, wherever it is. Raises OSError."""
    with _alone():
        _write({**_stored(), ARCHIVE + sha256: str(file.absolute())})


def forget_archive(sha256: str) -> bool:
    """Withdraws the permission of an archive; returns whether there was one."""
    with _alone():
        answers = _stored()
        known = answers.pop(ARCHIVE + sha256, None) is not None
        if known:
            _write(answers)
    return known


def forget(file: Path) -> bool:
    """Withdraws the permission; returns whether there was one."""
    with _alone():
        answers = _stored()
        known = answers.pop(str(file.resolve()), None) is not None
        if known:
            _write(answers)
    return known


@contextmanager
def _alone() -> Iterator[None]:
    """Within the block no other process changes the store; waits for one that does.

    Raises OSError.
    """
    path = store().with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | NO_LINKS, 0o600)
    try:
        if sys.platform != "win32":
            import fcntl

            # File systems without locks: the store is replaced as a whole, one change may be lost.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(answers: dict[str, Any]) -> None:
    path = store()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_text(path, json.dumps(dict(sorted(answers.items())), indent=1) + "\n")
