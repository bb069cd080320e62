# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Model of a cause of misses: what it is due to, and the claims that hang on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Origin(str, Enum):
    """What a miss is due to."""

    PAPER = "paper"
    TESTBED = "testbed"
    CHOICE = "our choice"
    UNDECIDABLE = "undecidable"
    CHANCE = "chance"

    @property
    def meaning(self) -> str:
        """The meaning as a clause, for tables."""
        return MEANINGS[self]


MEANINGS = {
    Origin.PAPER: "the published value contradicts the study's own set-up, code or other values",
    Origin.TESTBED: "the study's network or machines had a property that its text does not give",
    Origin.CHOICE: "we chose a model, a weight or a bound for which the study gives nothing",
    Origin.UNDECIDABLE: "it depends on something that the study does not publish",
    Origin.CHANCE: "another run of the same set-up has another result",
}


@dataclass(frozen=True)
class Cause:
    """A cause of misses, and the claims that hang on it."""

    name: str
    title: str
    origin: Origin
    support: str
    """The sentence that supports the origin."""
    pages: tuple[str, ...]
    """Experiments that support it."""
    claims: Mapping[str, tuple[str, ...]]
    """Keys of claims by experiment."""
