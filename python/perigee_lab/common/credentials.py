# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Redaction of credentials in user input, for manifests, reports and messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HIDDEN = "***"
ENVIRONMENT = "--env"
"""Option for variables of programs; their values are also hidden."""
# Up to the last @ before the path: a password may have one.
_PASSWORD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@]*:)[^\s/?#]+(?=@)")
_WORDS = "key|secret|token|sig|signature|password|passwd|pwd|credential|sas"
_QUERY = re.compile(rf"([?&;](?:[^\s=&;#]*[-_.])?(?:{_WORDS})(?:[-_.][^\s=&;#]*)?=)[^\s&;#]+", re.IGNORECASE)


def hidden(text: str) -> str:
    """The text with the passwords, keys and signatures of its URLs removed."""
    return _QUERY.sub(rf"\g<1>{HIDDEN}", _PASSWORD.sub(rf"\g<1>{HIDDEN}", text))


def recorded(words: Sequence[str], programs: str = "--at") -> list[str]:
    """A command line as records store it; words from `programs` on belong to programs."""
    ours = words.index(programs) if programs in words else len(words)
    kept = []
    for i, word in enumerate(words):
        value = word.removeprefix(f"{ENVIRONMENT}=")
        if i < ours and value != word:
            kept.append(f"{ENVIRONMENT}={_named(value)}")
        elif 0 < i < ours and words[i - 1] == ENVIRONMENT:
            kept.append(_named(word))
        else:
            kept.append(hidden(word))
    return kept


def _named(variable: str) -> str:
    """NAME=*** of NAME=VALUE."""
    return f"{variable.partition('=')[0]}={HIDDEN}"
