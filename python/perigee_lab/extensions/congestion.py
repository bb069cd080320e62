# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Congestion controls written in Python: base class, and lookup by name."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from perigee_lab.extensions import trust
from perigee_lab.extensions.plugins import PluginError, existing, load_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee_lab import _core


class CongestionControl:
    """Base of a congestion control in Python. Methods that are not overridden cost nothing.

    One object per connection. `cx` (`perigee.Cx`) and `ack` (`perigee.Ack`) are read-only, and
    valid only during the call; `window` (`perigee.Window`) can be set at any call. Fields, whose
    help has more:

    cx      now_ns, mss (bytes), in_flight (bytes), delivered (bytes), lost (bytes), srtt_ns,
            min_rtt_ns, snd_una (bytes), snd_nxt (bytes), state, cwnd_limited, app_limited
    ack     newly_acked (bytes), newly_lost (bytes), rtt_ns, delivery_rate_bps (bit/s), app_limited,
            may_grow, ece (bytes), sent_ns, received_ns, one_way_ns (by the clocks of the ends; None
            without a report of the peer), hops (list of `perigee.Hop`)
    window  cwnd (bytes), ssthresh (bytes, None at first), pacing_bps (bit/s, None: the transport
            decides), next_timer_ns (None: never)

    The simulator's transport does the rest as Linux does: loss detection, recovery, pacing,
    timeouts. An exception ends the run with its traceback and the simulated time.
    """

    kind: ClassVar[str] = "window"
    """"window": the transport reduces cwnd to ssthresh() in recovery (PRR) and undoes spurious
    reductions. "model": the class sets the window at all times, and the connection is paced (as
    BBR)."""
    telemetry: ClassVar[bool] = False
    """Request in-network telemetry: `ack.hops`, where the path's ports are metered."""
    params: ClassVar[Mapping[str, float | bool | str]] = {}
    """Parameters of the scheme by name, with their defaults; a literal.

    `self.params` has the values of the run. `[cc.CLASS]` of a scenario and
    `--set cc.CLASS.NAME=VALUE` change them; `perigee schemes FILE.py --params` shows them without
    running the file.
    """

    def on_start(self, cx: _core.Cx, window: _core.Window) -> None:
        """The connection is established."""

    def on_ack(self, cx: _core.Cx, window: _core.Window, ack: _core.Ack) -> None:
        """An ACK was processed. "window" schemes grow only if `ack.may_grow and cx.cwnd_limited`."""

    def ssthresh(self, cx: _core.Cx, window: _core.Window) -> float:
        """The threshold in bytes after a loss, called once per episode. Default: half of cwnd."""
        return max(window.cwnd / 2, 2 * cx.mss)

    def on_loss(self, cx: _core.Cx, window: _core.Window, lost: int, kind: str) -> None:
        """A packet of `lost` bytes was marked lost; `kind` is "rack" or "rto"."""

    def on_transition(self, cx: _core.Cx, window: _core.Window, what: str) -> None:
        """The transport's state changed: "enter recovery", "exit recovery", "enter rto", "exit rto", "undo", ..."""

    def on_timer(self, cx: _core.Cx, window: _core.Window) -> None:
        """`window.next_timer_ns` has been reached (and is cleared)."""

    def on_signal(self, cx: _core.Cx, window: _core.Window, what: str, value: int | None) -> None:
        """A signal from outside the transport.

        "handover begin" (with its expected end, ns), "handover end", "path change" or "probe rtt". The
        end of a handover is reported `notices.hold` (2.3 s) after its begin, as in SaTCP's testbed, not
        when the outage is over; the next handover may begin before.
        """

    def state(self) -> str:
        """Name of the current state, one of a few, for the record and expectations.

        Default: "slow start" or "congestion avoidance", from window and threshold.
        """
        return ""

    def internals(self) -> dict[str, float]:
        """Numbers to record with every sample of the flow."""
        return {}


_FILES: dict[object, Path] = {}
OWN = trust.Permission(everything=True)
"""Permission of code named by the user."""


def find(name: str, folder: Path, permission: trust.Permission) -> type:
    """The class named by `file.py:Class` or `module:Class`; files are relative to `folder`.

    Raises PluginError with the missing part, or UntrustedError before anything runs.
    """
    where, _, what = name.rpartition(":")
    if not where or not what:
        raise PluginError(f"{name!r} names no class: write file.py:Class or module:Class")
    file = (folder / where).resolve()
    if where.endswith(".py"):
        module = _module_of_file(file, permission)
    else:
        permission.check_module(where)
        module = _module(name, where)
    found = getattr(module, what, None)
    if found is None:
        classes = [n for n, c in vars(module).items() if inspect.isclass(c) and issubclass(c, CongestionControl)]
        own = ", ".join(n for n in classes if n != "CongestionControl") or "none"
        raise PluginError(f"{name}: {where} has no {what!r}; congestion controls in it: {own}")
    if where.endswith(".py"):
        # Python does not retain the location of a class in such a module.
        _FILES[found] = file
    return checked(found, name)


def described(file: Path) -> list[dict[str, Any]]:
    """The classes of a file with their literal declarations, parsed without running it.

    Raises PluginError if the text is not Python.
    """
    try:
        tree = ast.parse(existing(file).read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        raise PluginError(f"{file} is no Python: {error}") from None
    return [_described(node) for node in tree.body if isinstance(node, ast.ClassDef)]


def declares(file: Path, name: str) -> bool:
    """Whether a file has a class of that name, according to its text."""
    with suppress(PluginError, OSError):
        return any(c["id"] == name for c in described(file))
    return False


def _described(node: ast.ClassDef) -> dict[str, Any]:
    literals: dict[str, Any] = {}
    for line in node.body:
        if not isinstance(line, (ast.Assign, ast.AnnAssign)) or line.value is None:
            continue
        target = line.targets[0] if isinstance(line, ast.Assign) else line.target
        if isinstance(target, ast.Name):
            with suppress(ValueError):
                literals[target.id] = ast.literal_eval(line.value)
    params = literals.get("params", {})
    doc = (ast.get_docstring(node) or "").partition("\n")[0]
    own = {"kind": literals.get("kind", "window"), "telemetry": literals.get("telemetry", False)}
    return {"id": node.name, "summary": doc, **own, "params": params if isinstance(params, dict) else {}}


def checked(found: object, name: str) -> type:
    """The class itself, if it is a congestion control."""
    if not (inspect.isclass(found) and issubclass(found, CongestionControl)):
        raise PluginError(f"{name}: must be a class derived from perigee.CongestionControl, not {found!r}")
    return found


def _module(name: str, where: str) -> ModuleType:
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        # The module itself is missing; a failing import within it is an error for its author.
        if error.name is not None and f"{where}.".startswith(f"{error.name}."):
            raise PluginError(
                f"{name}: there is no module {where!r}; a file is named by its .py, file.py:Class"
            ) from None
        raise PluginError(f"{name}: module {where!r} cannot be imported: {error!r}") from error
    except (Exception, SystemExit) as error:
        raise PluginError(f"{name}: module {where!r} cannot be imported: {error!r}") from error


_MODULES: dict[Path, ModuleType] = {}


def _module_of_file(path: Path, permission: trust.Permission) -> ModuleType:
    """The module of a file, loaded once, so that its classes stay identical."""
    admitted = permission.admit(existing(path))
    if path not in _MODULES:
        _MODULES[path] = load_file(path, admitted)
    return _MODULES[path]


def named(cc: Sequence[str | type]) -> tuple[list[str], dict[str, type]]:
    """Names for the core of schemes given as names, `file.py:Class` or classes; and their classes.

    A class is called `python:NAME` in records and tables. Code that is not `trust.Said` keeps its
    name: a file names it, and is subject to the permission of that file (`Scenario.classes`).
    """
    names: list[str] = []
    classes: dict[str, type] = {}
    for given in map(_with_class, cc):
        if isinstance(given, str) and not (":" in given and isinstance(given, trust.Said)):
            names.append(given)
            continue
        found = find(given, Path(), OWN) if isinstance(given, str) else checked(given, repr(given))
        name = f"python:{found.__name__}"
        if classes.setdefault(name, found) is not found:
            raise PluginError(f"two congestion controls are called {found.__name__}: rename one")
        names.append(name)
    return names, classes


def _with_class(given: str | type) -> str | type:
    """`file.py` as `file.py:Class` if it has one class. Raises PluginError for none or several."""
    if not (isinstance(given, trust.Said) and given.endswith(".py")):
        return given
    file = Path(given)
    there = [str(c["id"]) for c in described(file)]
    if len(there) == 1:
        return trust.Said(f"{file}:{there[0]}")
    which = " or ".join(f"{file}:{name}" for name in there)
    raise PluginError(f"{file}: {'say which class: ' + which if there else 'there is no class in it'}")


def with_params(classes: Mapping[str, type], core: _core.Scenario) -> dict[str, type]:
    """The classes with the parameters of `[cc.CLASS]`; classes without such a section unchanged.

    Raises PluginError for an unknown class, or a parameter that it does not declare or that has
    another type.
    """
    given: dict[str, dict[str, float | bool | str]] = {}
    for owner, name, text, place in core.class_params():
        found = next((c for c in classes.values() if c.__name__ == owner), None)
        key = f"{place}: cc.{owner}.{name}"
        if found is None:
            there = ", ".join(sorted({c.__name__ for c in classes.values()})) or "none"
            raise PluginError(f"{key}: no Python class {owner} is among the schemes of this run; there are: {there}")
        declared = getattr(found, "params", {})
        if name not in declared:
            known = ", ".join(declared) or f"none: declare it, params = {{{name!r}: ...}}"
            raise PluginError(f"{key}: the class declares no parameter {name!r}; it has {known}")
        given.setdefault(owner, {})[name] = _as_declared(json.loads(text), declared[name], key)
    made = {}
    for name, cls in classes.items():
        own = given.get(cls.__name__)
        made[name] = cls if own is None else _with(cls, own)
    return made


def _as_declared(value: object, default: object, key: str) -> float | bool | str:
    """A value converted to the type of the default; an integer is accepted as a float."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default) or not isinstance(value, (bool, int, float, str)):
        want = {bool: "true or false", int: "an integer", float: "a number", str: "text"}.get(type(default), "text")
        raise PluginError(f"{key}: {value!r} is not {want}, as the class's default {default!r} is")
    return value


def _with(cls: type, own: Mapping[str, float | bool | str]) -> type:
    """A class of the same name and file with other parameters."""
    body = {"params": {**getattr(cls, "params", {}), **own}, "__module__": cls.__module__, "__doc__": cls.__doc__}
    made = type(cls.__name__, (cls,), body)
    if (file := _FILES.get(cls)) is not None:
        _FILES[made] = file
    return made


def recorded(cc: str, sources: Sequence[Path], permission: trust.Permission) -> dict[str, type]:
    """The class of a record's `python:NAME`, from the files in its manifest; else nothing.

    Raises PluginError, or UntrustedError before anything runs.
    """
    where, _, what = cc.partition(":")
    if where != "python":
        return {}
    files = [path for path in sources if path.suffix == ".py"]
    # The file that declares the class first: others may be its imports, which need not run alone.
    for path in sorted(files, key=lambda path: not declares(path, what)):
        found = getattr(_module_of_file(path.resolve(), permission), what, None)
        if found is not None:
            return {cc: checked(found, cc)}
    raise PluginError(f"{cc}: none of the record's files has this class")


def file_of(cls: type) -> Path | None:
    """The file of a class loaded as `file.py:Class`; None if it exists only in memory."""
    return _FILES.get(cls)


def class_in(file: Path, name: str, permission: trust.Permission) -> type:
    """The class of that name in a file, which is run. Raises PluginError; UntrustedError first."""
    found = getattr(_module_of_file(file.resolve(), permission), name, None)
    if found is None:
        raise PluginError(f"{file} has no class {name}")
    _FILES[found] = file.resolve()
    return checked(found, f"{file}:{name}")
