# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Names and other words of files and servers: one line of visible characters, as the core has it for scenarios.

Line breaks would become lines of what is written with them (scripts, tables), escape sequences commands of a terminal;
marks of direction show another text than there is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# As in `perigee-units/src/names.rs`: controls, separators, embeddings and overrides of direction, isolates, byte order
# mark.
UNFIT = "\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
_ONE = re.compile(f"[{UNFIT}]")
# A name of a folder that leads elsewhere, or is hidden.
_LEADING = re.compile(r"^\.+")


def problem(text: str) -> str | None:
    """What is wrong with a text as a name, with the remedy; None where it can be one."""
    found = _ONE.search(text)
    if found is None:
        return None
    return f"holds the control character U+{ord(found[0]):04X}; names are one line of visible characters: remove it"


def problem_in(data: Any) -> str | None:
    """The same of all texts in JSON, keys included."""
    if isinstance(data, str):
        return problem(data)
    if isinstance(data, Mapping):
        parts: Any = (part for pair in data.items() for part in pair)
    elif isinstance(data, (list, tuple)):
        parts = data
    else:
        return None
    return next((why for part in parts if (why := problem_in(part)) is not None), None)


def visible(text: str) -> str:
    """The text with such characters as escapes."""
    return _ONE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def as_folder(text: str) -> str:
    """A name of a folder in the one that it is put into: no way up, nothing hidden, never empty."""
    return _LEADING.sub("_", re.sub(r"[^\w.+-]+", "_", text)) or "_"
