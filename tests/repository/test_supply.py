# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Supply chain: packages pinned by hash, actions by commit; the table of `unsafe` with its invariants."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LOCKS = sorted(ROOT.glob("requirements*.lock"))
PIN = re.compile(r"^([A-Za-z0-9_.\-]+)(?:\[[a-z0-9,]*\])?==([^\s;\\]+)", re.MULTILINE)


def pins(text: str) -> set[tuple[str, str]]:
    """Names and versions."""
    return {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in PIN.findall(text)}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda p: p.name)
def test_every_pin_has_hashes(lock: object) -> None:
    path = ROOT / str(lock)
    text = path.with_suffix(".hashes").read_text(encoding="utf-8")
    assert pins(text) == pins(path.read_text(encoding="utf-8")), f".ci/hashes {path.stem} writes them"
    entries = re.split(r"\n(?=[A-Za-z])", text.partition("\n")[2])
    assert [e for e in entries if PIN.match(e) and "--hash=sha256:" not in e] == []


def test_make_installs_by_hash_only() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = [line for line in makefile.splitlines() if re.search(r"(\$\(PIP\)|pip install).* -r ", line)]
    assert len(lines) == 7
    assert [line for line in lines if "--require-hashes" not in line] == []


def test_actions_are_pinned_by_commit() -> None:
    used = [
        line.partition("uses:")[2].strip()
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(used) > 20
    assert [u for u in used if re.fullmatch(r"[\w\-]+/[\w\-]+@[0-9a-f]{40}  # v\S+", u) is None] == []


def test_licences_and_sources_are_listed() -> None:
    deny = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    assert "MIT" in deny["licenses"]["allow"]
    assert deny["sources"]["unknown-registry"] == "deny"


def test_every_unsafe_has_an_invariant_and_the_table_is_current() -> None:
    unsafe = runpy.run_path(str(ROOT / "docs/make/unsafe.py"))
    every = list(unsafe["uses"]())
    assert len(every) > 50
    assert [f"{u.file}:{u.line}" for u in every if not u.invariant] == []
    written = (ROOT / "design/unsafe.md").read_text(encoding="utf-8")
    assert written == unsafe["page"](), "make docs writes it"
