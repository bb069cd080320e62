# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pages of congestion controls: no links that only rustdoc resolves."""

from __future__ import annotations

import re
import sys

import pytest

from conftest import ROOT

# Last, since both folders have modules of the same name.
sys.path.append(str(ROOT / "docs/make"))
import schemes


@pytest.mark.parametrize("module", sorted(set(schemes.homes().values())))
def test_links_of_a_head_lead_to_pages(module: str) -> None:
    text = schemes.head(module)
    assert not re.search(r"\[`[^`]+`\](?!\()", text)
    for target in re.findall(r"\[`[^`]+`\]\(([^)]+)\)", text):
        assert (schemes.OUT / target).is_file(), target


def test_links_to_schemes_are_kept_and_others_become_code() -> None:
    text = "[`orbcc`], [`PARAMS`], [`policy`](crate::policy), [`cubic`](cubic.md), [a](b.md), `x`"
    expected = "[`orbcc`](orbcc.md), `PARAMS`, `policy`, [`cubic`](cubic.md), [a](b.md), `x`"
    assert schemes.plain(text, {"orbcc", "cubic"}) == expected
