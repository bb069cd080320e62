# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Teeth: faults in schemes fail cases that the schemes without them pass."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from faults import BUGS, FAULTS, Cubical, Halving, Modelled, Seen, missed, verdicts

from perigee_lab.judge.verdicts import Verdict

CASES = ("04-high-loss", "13-tail-drop")
FOUND = [
    (Halving, "no-reduction"),
    (Halving, "segment-per-ack"),
    (Halving, "threshold-in-segments"),
    (Modelled, "no-pacing"),
    (Modelled, "rate-in-bytes"),
    (Modelled, "latest-rate"),
]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[type, Seen]:
    """The verdicts on the schemes without a fault."""
    schemes = (Halving, Modelled)
    return {s: verdicts(s, "none", tmp_path_factory.mktemp(s.__name__), ("rfc9743",), CASES) for s in schemes}


@pytest.mark.slow
def test_a_scheme_without_a_fault_passes(right: dict[type, Seen]) -> None:
    assert set(right[Halving].values()) == {Verdict.PASSED}
    lost = ("rfc9743", "04-high-loss", "lasting loss")
    assert {key: v for key, v in right[Modelled].items() if v is not Verdict.PASSED} == {lost: Verdict.FAILED}


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "fault"), FOUND, ids=[fault for _, fault in FOUND])
def test_a_fault_is_found(scheme: type, fault: str, right: dict[type, Seen], tmp_path: Path) -> None:
    assert missed(right[scheme], verdicts(scheme, fault, tmp_path, ("rfc9743",), CASES)) != []


@pytest.mark.parametrize(
    ("scheme", "fault", "case"),
    [
        pytest.param(Cubical, "reduced-twice", "01-reductions", marks=pytest.mark.slow),
        (Modelled, "first-rate-kept", "02-app-limited-bursts"),
        (Modelled, "no-pacing", "02-app-limited-bursts"),
    ],
)
def test_a_published_bug_is_found(scheme: type, fault: str, case: str, tmp_path: Path) -> None:
    assert fault in FAULTS[scheme]
    right = verdicts(scheme, "none", tmp_path / "right", (BUGS,), (case,))
    assert set(right.values()) == {Verdict.PASSED}
    assert missed(right, verdicts(scheme, fault, tmp_path / "wrong", (BUGS,), (case,))) != []
