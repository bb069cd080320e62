# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Python interpreters of Perigee's subprocesses, without the current folder on their path.

`python -m` and `python -c` both put the current folder first in `sys.path`, before anything is
imported; `-P` exists from Python 3.11 on, and `-I` would drop the entries of PYTHONPATH.
Therefore the first line of a process cleans its path with `sys` alone, which is built in.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

# Followed by the number of path entries, the entries, and the arguments of the module.
_BOOT = (
    "import sys; a = sys.argv; n = 2 + int(a[1]); sys.path[:] = a[2:n]; sys.argv[:] = a[n:]; "
    "from {module} import main; main()"
)
# The same for the arguments of multiprocessing: options, -c, a program, its arguments.
_BOOT_ANY = (
    "import sys; a = sys.argv; n = 2 + int(a[1]); sys.path[:] = a[2:n]; i = a.index('-c', n); "
    "p = a[i + 1]; sys.argv[:] = a[i:i + 1] + a[i + 2:]; exec(p)"
)
HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder that contains this package."""


def command(module: str, *arguments: str) -> list[str]:
    """The command that starts `main` of a module with the search path of this process.

    Its `sys.argv` is the module's name and `arguments`.
    """
    path = clean(sys.path)
    return [sys.executable, "-c", _BOOT.format(module=module), str(len(path)), *path, module, *arguments]


@contextmanager
def spawning() -> Iterator[None]:
    """Makes multiprocessing start interpreters like `command`, also in started processes.

    Python 3.10 has no variable for this: there a shell script replaces the interpreter.
    """
    if sys.version_info >= (3, 11):
        given = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            yield
        finally:
            if given is None:
                del os.environ["PYTHONSAFEPATH"]
            else:
                os.environ["PYTHONSAFEPATH"] = given
        return
    import tempfile
    from multiprocessing import spawn

    from perigee_lab.common import quoting

    before = spawn.get_executable()
    path = clean(sys.path)
    words = [sys.executable, "-c", _BOOT_ANY, str(len(path)), *path]
    with tempfile.TemporaryDirectory(prefix="perigee-") as folder:
        program = os.path.join(folder, "python")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {quoting.shell_words(words)} "$@"\n')
        os.chmod(program, 0o700)
        spawn.set_executable(program)
        try:
            yield
        finally:
            spawn.set_executable(before)


def clean(path: list[str]) -> list[str]:
    """Absolute entries of a `sys.path`, without the current folder unless PYTHONPATH names it."""
    here = _current()
    named = {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    kept = [p for p in path if os.path.isabs(p) and (here is None or p in named or not _same(p, here))]
    # Last, so that files next to the package shadow no other module.
    return kept if HOME in kept else [*kept, HOME]


def leave_current_folder_out() -> None:
    """Removes the current folder from the path, and keeps matplotlib from its `matplotlibrc`."""
    sys.path[:] = clean(sys.path)
    sys.meta_path.insert(0, _Elsewhere())


class _Elsewhere(MetaPathFinder):
    """Imports matplotlib from this folder, since it first reads settings in the current folder.

    Settings can name code: a backend is a module, and TeX takes a preamble.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec found on the path, with this loader."""
        if fullname != "matplotlib":
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _AtHome(spec.loader)
        return spec


class _AtHome(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with _at_home():
            self.loader.exec_module(module)

    def __getattr__(self, name: str) -> object:
        # Other attributes of the loader: resources, sources.
        return getattr(self.loader, name)


@contextmanager
def _at_home() -> Iterator[None]:
    settings = os.environ.get("MATPLOTLIBRC")
    if settings:
        os.environ["MATPLOTLIBRC"] = os.path.abspath(settings)
    try:
        # The folder is unreadable: it may permit opening its files but not listing them.
        back = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))
    except OSError:
        # The folder has been removed; no file can be found in it.
        yield
        return
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    try:
        yield
    finally:
        os.fchdir(back)
        os.close(back)


def _current() -> str | None:
    """The current folder; None if it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _same(path: str, here: str) -> bool:
    try:
        return os.path.samefile(path, here)
    except OSError:
        return os.path.normpath(path) == here
