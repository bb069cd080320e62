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
from typing import TYPE_CHECKING

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import NO_LINKS, write_text
from perigee_lab.extensions.closure import Closure, closure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# FILE.py:NAME or MODULE:NAME, alone or within a TOML string, list or table.
_NAMED = re.compile(r"""([^\s"'=,\[\]{}]+):\w+|["']([^"']+):\w+["']""")


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

    def __init__(self, what: str, file: Path | None) -> None:
        """`what` describes the code in terms of its source; `file` is None for a module."""
        remember = "" if file is None else f", or `perigee trust {file}` to remember the answer for this file"
        super().__init__(
            f"{what} is Python code that this file names, and it has not been run: read it, then say --trust "
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

    def admit(self, file: Path) -> Closure | None:
        """The modules that the file may import from its folder; None = all, for code trusted now.

        Raises UntrustedError unless the file may run.
        """
        resolved = file.resolve()
        if self.everything or resolved in self.files:
            return None
        found = _remembered(resolved)
        if found is None:
            raise UntrustedError(str(file), resolved)
        return found

    def check_programs(self, lines: Sequence[str]) -> None:
        """Raises UntrustedProgramError unless the programs named by a file may run."""
        if lines and not self.everything:
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
    return Permission(any(p.everything for p in every), files, modules)


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


def remembered() -> dict[str, str]:
    """The answers: digests by file. An unreadable store counts as empty."""
    try:
        found = json.loads(store().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


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
    return found if found.digest() == answer else None


def remember(file: Path) -> str:
    """Stores the agreement to run a file with its current content. Returns its digest.

    Raises OSError.
    """
    answer = closure(file.resolve()).digest()
    with _alone():
        _write({**remembered(), str(file.resolve()): answer})
    return answer


def forget(file: Path) -> bool:
    """Withdraws the permission; returns whether there was one."""
    with _alone():
        answers = remembered()
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


def _write(answers: dict[str, str]) -> None:
    path = store()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_text(path, json.dumps(dict(sorted(answers.items())), indent=1) + "\n")
