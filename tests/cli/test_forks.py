# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Forked commands.

They behave like fresh interpreters, and change nothing in the forking process.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, SMALL, Cli, fresh
from forks import HARMLESS, Forks


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("schemes", "--json"),
        ("run", "s.toml", "--cc", "cubci"),
        ("run", "s.toml", "--no-such-option"),
        ("check", "s.toml", "--set", "port.bottleneck.rate=0 bit"),
        ("run", "s.toml", "--dry"),
        ("report", "nowhere"),
    ],
    ids=" ".join,
)
def test_it_says_what_a_fresh_one_says(cli: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    forked = cli(*words)
    own = fresh(*words, folder=tmp_path, environment={**os.environ, "COLUMNS": "200"})
    assert (forked.returncode, forked.stdout, forked.stderr) == (own.returncode, own.stdout, own.stderr)


@pytest.mark.slow
def test_it_leaves_the_same_record(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "a").returncode == 0
    assert fresh("run", small, "--out", "b", folder=tmp_path, environment=dict(os.environ)).returncode == 0
    a, b = (json.loads((tmp_path / o / "cubic/seed1/manifest.json").read_text(encoding="utf-8")) for o in "ab")
    assert a["tables"] == b["tables"]
    assert [w.replace("/a", "/b") for w in a.get("command", [])][:-1] == b.get("command", [])[:-1]


@pytest.mark.slow
def test_results_hang_on_no_order_of_sets(small: Path, tmp_path: Path) -> None:
    """Forked commands all have the hash seed of one process; here, two are used."""
    pages = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        assert fresh("run", small, "--out", seed, folder=tmp_path, environment=environment).returncode == 0
        words = ("study", "report", "orbcc/initial-phase", "--from", ROOT / "docs/studies", "--out", f"o{seed}")
        done = fresh(*words, "--docs", f"pages{seed}", folder=tmp_path, environment=environment)
        assert done.returncode == 0, done.stderr
        pages.append({f.name: f.read_bytes() for f in sorted((tmp_path / f"pages{seed}").glob("*.md"))})
    a, b = (json.loads((tmp_path / o / "cubic/seed1/manifest.json").read_text(encoding="utf-8")) for o in "12")
    assert a["tables"] == b["tables"]
    assert pages[0]
    assert pages[0] == pages[1]


@pytest.fixture
def own() -> Forks:
    """A separate forking process, so that a failure of it affects no other test."""
    return Forks()


@pytest.mark.slow
def test_what_never_ends_is_killed(own: Forks, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SMALL.replace('"3 s"', '"80000 s"'), encoding="utf-8")
    with pytest.raises(subprocess.TimeoutExpired):
        own.run(["run", "s.toml", "--no-report"], tmp_path, dict(os.environ), timeout=1.5)
    assert own.run(["--version"], tmp_path, dict(os.environ), 60).returncode == 0
    own.close()
    assert own.process.returncode == 0


@pytest.mark.slow
def test_a_changed_environment_needs_a_fresh_one(own: Forks, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HARMLESS:
        monkeypatch.setenv(name, "7")
    assert own.may_run(dict(os.environ))
    monkeypatch.setenv("MPLBACKEND", "svg")
    assert not own.may_run(dict(os.environ))
    own.close()
