# SPDX-License-Identifier: Apache-2.0 OR MIT
"""User-defined functions of a sky: choice of satellites, of paths, and of links.

A scenario names them, `attach = "mine.py:choose"`; the core finds them through `function`.
Guide: docs/how-to/plugins.md.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from perigee_lab.extensions import trust
from perigee_lab.extensions.trust import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perigee_lab.extensions.closure import Closure

__all__ = ["IN_MEMORY", "KEYS", "PluginError", "function", "load_file", "split", "where_raised"]

# Keys of [source.constellation] that may name a function.
KEYS = ("attach", "route", "isls")
# Former names of the keys, accepted for one version.
OLD_KEYS = {"lasers": "isls"}
IN_MEMORY = "in-memory"


def function(path: str, name: str) -> Callable[..., Any]:
    """The function `name` of the Python file `path`, which is run if permitted."""
    module = load_file(path, trust.admit(existing(path)))
    call = getattr(module, name, None)
    if not callable(call):
        own = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        raise PluginError(f"{path} defines no function {name}" + (f"; it defines {', '.join(own)}" if own else ""))
    found: Callable[..., Any] = call
    return found


def existing(path: str | Path) -> Path:
    """The file of that name. Raises PluginError."""
    file = Path(path)
    if not file.exists():
        raise PluginError(f"there is no file {path}")
    if not file.is_file():
        raise PluginError(f"{path} is not a Python file, but " + ("a folder" if file.is_dir() else "a device or pipe"))
    return file


def load_file(path: str | Path, admitted: Closure | None) -> ModuleType:
    """The Python file `path` as a fresh module, with the closure from `Permission.admit`.

    Raises PluginError.
    """
    file = existing(path)
    # Under a unique name, so that a file named like a package shadows nothing.
    spec = importlib.util.spec_from_file_location(f"perigee_plugin_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    content = file.read_bytes() if admitted is None else admitted.content
    try:
        with _own_folder(file) if admitted is None else admitted.importable():
            # Without the loader, which would prefer a compiled file in `__pycache__` that may
            # differ.
            exec(compile(content, str(file), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:  # a file that exits on import is also an error
        raise PluginError(f"{path} cannot be loaded: {type(error).__name__}: {error}{where_raised(error)}") from error
    return module


@contextmanager
def _own_folder(file: Path) -> Iterator[None]:
    """Within the block, the folder of a file comes first on the path."""
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def where_raised(error: BaseException) -> str:
    """The origin of an exception as " (file, line n)"; empty if unknown."""
    if isinstance(error, SyntaxError):
        return f" ({Path(error.filename or '').name}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def _present(key: str) -> str:
    """The current name of a key."""
    word = key.removeprefix("source.constellation.")
    if word not in OLD_KEYS:
        return key
    new = key.removesuffix(word) + OLD_KEYS[word]
    warnings.warn(f"{key} is now called {new}", DeprecationWarning, stacklevel=5)
    return new


def split(keys: dict[str, object]) -> tuple[dict[str, object], dict[str, Callable[..., Any]]]:
    """Overrides without their functions, and the functions by the last part of their key."""
    rest: dict[str, object] = {}
    functions: dict[str, Callable[..., Any]] = {}
    for given, value in keys.items():
        key = _present(given)
        word = key.removeprefix("source.constellation.")
        if word == key and word in KEYS:
            # The three keys may be given without their section.
            rest[f"source.constellation.{word}"] = value
        if callable(value):
            if word not in KEYS:
                raise PluginError(f"{key}: a function may be given for {', '.join(KEYS)}")
            functions[word] = value
            name = getattr(value, "__name__", type(value).__name__)
            rest[f"source.constellation.{word}"] = f"{IN_MEMORY}:{name if name.isidentifier() else 'function'}"
        elif word != key or word not in KEYS:
            rest[key] = value
    return rest, functions
