# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reader of foreign files: regular ones of a bounded size, or an error at once."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MIB = 1 << 20
MOST_TEXT = 256 * MIB
"""Limit for a manifest, a summary or a text table in bytes: 100 times the size for large runs."""
MOST_VALUES = 4_000_000
"""Limit for the values of JSON that is parsed completely: 10 times those of the manifest of a large run."""
MOST_DATA = 4 << 30
"""Limit for a file that is read piecewise, or for its hash, in bytes."""


class UnreadableError(OSError):
    """A file cannot be read; `strerror` is the reason."""

    def __init__(self, path: Path, why: str) -> None:
        """The path is that of the file, `why` a part of a sentence."""
        super().__init__(None, why, str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def opened(path: Path, most: int = MOST_DATA) -> BinaryIO:
    """An open regular file of at most `most` bytes.

    Does not wait for pipes and does not read devices; links are followed to their targets.

    Raises:
        UnreadableError: it is something else, or longer.
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        check(os.fstat(descriptor), path, most)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check(found: os.stat_result, path: Path, most: int = MOST_DATA) -> None:
    """Raises UnreadableError for anything but a regular file of at most `most` bytes."""
    if kind := special(found.st_mode):
        raise UnreadableError(path, f"it is {kind}, not a file")
    if found.st_size > most:
        raise UnreadableError(path, f"it has {found.st_size / 1e6:,.0f} MB, at most {most / 1e6:,.0f} MB are read")


def special(mode: int) -> str | None:
    """The kind of a file that is not a regular one; None for others."""
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else "a device"


def regular(path: Path, most: int | None = None) -> Path:
    """The path of a file for a library that opens it by itself. Raises as `opened` does."""
    found = os.stat(path)
    check(found, path, found.st_size if most is None else most)
    return path


def read_bytes(path: Path, most: int = MOST_TEXT) -> bytes:
    """The content of a file. Raises as `opened` does."""
    with opened(path, most) as file:
        # Some system files report no size, and a file may grow in the meantime.
        data = file.read(most + 1)
    if len(data) > most:
        raise UnreadableError(path, f"it is longer than the {most / 1e6:,.0f} MB that are read")
    return data


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """The content as text in UTF-8. Raises UnicodeDecodeError for other encodings."""
    return read_bytes(path, most).decode("utf-8")


def counted(text: bytes | str) -> tuple[int, int]:
    """Commas, and lists and objects, of JSON: with one more, a bound for its values.

    Parsing takes up to 200 bytes of memory for each, much more than the text may have.
    """
    if isinstance(text, bytes):
        return text.count(b","), text.count(b"[") + text.count(b"{")
    return text.count(","), text.count("[") + text.count("{")


def parsed_json(text: bytes | str, most: int = MOST_VALUES, **options: Any) -> Any:
    """The content of JSON of at most `most` values, which are counted first; `options` of `json.loads`.

    Raises:
        ValueError: it is invalid, or has more values.
        RecursionError: it is nested too deeply.
    """
    if sum(counted(text)) > most:
        raise ValueError(f"it has more than {most:,} values")
    return json.loads(text, **options)


def parsed_toml(text: str) -> dict[str, Any]:
    """The content of a TOML file, nested at most `MOST_NESTED` deep. No other function parses TOML.

    Raises:
        ValueError: it is invalid, nested too deep, or has a number with too many digits.
    """
    # Before parsing, which takes time by the square of the number of parts.
    _check_keys(text)
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level: list[Any] = [found]
    for _ in range(MOST_NESTED):
        level = [v for one in level for v in (one.values() if isinstance(one, dict) else one)]
        level = [v for v in level if isinstance(v, (dict, list))]
        if not level:
            return found
    raise ValueError(_TOO_DEEP)


MOST_NESTED = 64
"""Limit for the parts of a key in TOML, and for tables and arrays within each other."""
_TOO_DEEP = f"it is nested too deep, at most {MOST_NESTED} tables or arrays within each other are read"
# Text in quotes and comments as one token each, then what a dotted key consists of, then everything
# else; each alternative matches whatever follows, so that the scan takes linear time.
_TOKEN = re.compile(
    r"""
    (?P<part>\"{3} (?: [^"\\]+ | \\.? | "(?!"") )* (?: "{3,5} | \Z )
           | '{3} (?: [^']+ | '(?!'') )* (?: '{3,5} | \Z )
           | " (?: [^"\\\n]+ | \\[^\n]? )* "?
           | ' [^'\n]* '?
           | [\w+-]+ | [ \t]+)
    | (?P<dot>\.)
    | \#[^\n]*
    | [^\w+.#"' \t-]+
    """,
    re.VERBOSE | re.DOTALL,
)


def _check_keys(text: str) -> None:
    """Raises ValueError for a key with more than `MOST_NESTED` parts (TOML 1.0, Keys)."""
    dots = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "dot":
            dots += 1
            if dots >= MOST_NESTED:
                line = text.count("\n", 0, token.start()) + 1
                raise ValueError(f"line {line}: a key has more than {MOST_NESTED} parts")
        elif token.lastgroup is None:
            dots = 0
