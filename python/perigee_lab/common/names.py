# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Validation of names and other texts from files and servers: one line of visible characters.

The rules are the core's for scenarios. Line breaks would become lines of the output (scripts,
tables), escape sequences commands of a terminal; directional marks disguise the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# As in `perigee-units/src/names.rs`: controls, separators, directional embeddings and
# overrides, isolates, byte order mark.
UNFIT = "\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
_ONE = re.compile(f"[{UNFIT}]")
# Folder names that leave the parent folder, or are hidden.
_LEADING = re.compile(r"^\.+")


def problem(text: str) -> str | None:
    """The reason why a text cannot be a name, with the remedy; None if it can."""
    found = _ONE.search(text)
    if found is None:
        return None
    code = f"U+{ord(found[0]):04X}"
    return f"contains the control character {code}; only one line of visible characters is allowed: remove it"


def problem_in(data: Any) -> str | None:
    """The first problem among all texts in JSON, keys included."""
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
    """The text with invisible characters escaped."""
    return _ONE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def as_folder(text: str) -> str:
    """A folder name that stays within its parent: never hidden, never empty."""
    return _LEADING.sub("_", re.sub(r"[^\w.+-]+", "_", text)) or "_"
