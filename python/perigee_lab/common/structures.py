# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Parser of JSON into frozen structures; errors state file, key and value.

Texts are names, one line of visible characters, except for fields that are `free`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from perigee_lab.common import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")


MOST_SHOWN = 60
"""Characters of an invalid value in a message."""


class Reader:
    """Turns JSON into frozen structures, by their annotations."""

    def __init__(self, path: Path, error: Callable[[str], Exception]) -> None:
        """`error` creates an exception from "FILE: KEY is VALUE, must be …"."""
        self.path, self.error = path, error

    def wrong(self, key: str, value: Any, wanted: str) -> Exception:
        """The error for an invalid value."""
        shown = _start_of(value)
        shown = shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + " …"
        return self.error(f"{self.path}: {key or 'it'} is {shown}, must be {wanted}")

    def missing(self, key: str) -> Exception:
        """The error for a missing key."""
        return self.error(f"{self.path}: {key} is missing")

    def structure(self, kind: type[T], found: Any, key: str = "") -> T:
        """An object as a structure; missing fields without a default are reported."""
        if not isinstance(found, dict):
            raise self.wrong(key, found, "an object")
        hints = _hints(cast("Any", kind))
        values = {}
        for f in dataclasses.fields(cast("Any", kind)):
            name = f.metadata.get("key", f.name)
            full = f"{key}.{name}" if key else name
            if name in found:
                values[f.name] = self.value(hints[f.name], found[name], full, free=f.metadata.get("free", False))
            elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
                raise self.missing(full)
        return kind(**values)

    def value(self, hint: Any, found: Any, key: str, *, free: bool = False) -> Any:
        """A value of the annotated type; texts that are `free` may contain any characters."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (types.UnionType, typing.Union):
            return None if found is None else self.value(arguments[0], found, key, free=free)
        if origin is tuple:
            if not isinstance(found, list):
                raise self.wrong(key, found, "a list")
            return tuple(self.value(arguments[0], v, f"{key}.{i}", free=free) for i, v in enumerate(found))
        if origin is Mapping:
            if not isinstance(found, dict):
                raise self.wrong(key, found, "an object")
            return {self._name(k, key): self.value(arguments[1], v, f"{key}.{k}", free=free) for k, v in found.items()}
        if dataclasses.is_dataclass(hint):
            return self.structure(cast("type", hint), found, key)
        return self.plain(hint, found, key) if free else self._named(self.plain(hint, found, key), key)

    def _named(self, found: Any, key: str) -> Any:
        why = names.problem_in(found)
        if why is not None:
            raise self.error(f"{self.path}: {key} {why}")
        return found

    def _name(self, found: str, key: str) -> str:
        why = names.problem(found)
        if why is not None:
            raise self.error(f"{self.path}: a key of {key or 'it'} {why}")
        return found

    def plain(self, hint: Any, found: Any, key: str) -> Any:
        """A text, number or boolean. JSON integers are accepted as floats, booleans as neither."""
        if hint is Any:
            return found
        accepted: dict[Any, tuple[type, ...]] = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}
        if not isinstance(found, accepted[hint]) or (isinstance(found, bool) and hint is not bool):
            raise self.wrong(key, found, _WORDS[hint])
        if isinstance(found, (int, float)) and abs(found) >= 2**63:
            raise self.wrong(key, found, f"{_WORDS[hint]} below 2^63")
        return found


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a structure's fields, cached: manifests contain thousands of structures."""
    return typing.get_type_hints(kind)


def _start_of(value: Any) -> str:
    """JSON of a value, of which a large one has only the start."""
    found = ""
    for piece in _pieces(value):
        found += piece
        if len(found) > MOST_SHOWN:
            break
    return found


def _pieces(value: Any) -> Iterator[str]:
    """Pieces of JSON, each short."""
    if isinstance(value, Mapping):
        yield "{"
        for i, (k, v) in enumerate(value.items()):
            yield ", " if i else ""
            yield from _pieces(str(k))
            yield ": "
            yield from _pieces(v)
        yield "}"
    elif isinstance(value, (list, tuple)):
        yield "["
        for i, v in enumerate(value):
            yield ", " if i else ""
            yield from _pieces(v)
        yield "]"
    elif isinstance(value, str):
        yield json.dumps(value[: MOST_SHOWN + 1])
    else:
        yield json.dumps(value, default=str)


_WORDS = {float: "a number", int: "an integer", str: "text", bool: "true or false"}


def json_problem(error: Exception) -> str:
    """Reason why a text is not valid JSON, in one line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not valid UTF-8"
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return "it has an integer of thousands of digits"
    return str(error)


def kind_of(found: Any) -> str:
    """The type of a JSON value, for a message."""
    kinds = {list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return kinds.get(type(found), "a number")
