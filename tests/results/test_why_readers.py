# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Errors and choices of the command for limits of senders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.results.run import Run
from perigee_lab.results.sender_limits import NAMES
from why_cases import case


def run_of(flow: str = "", cc: str = "cubic", **how: object) -> Run:
    """A run over one bottleneck."""
    made = case("reader", cc, (), flow=flow, **how)  # type: ignore[arg-type]
    return perigee.loads(made.toml).run(made.cc)


def test_records_without_a_flow_are_skipped_if_another_has_it(cli: Cli, tmp_path: Path) -> None:
    for cc, seed, name in (("cubic", 1, "one"), ("cubic", 2, "two"), ("bbr", 1, "one")):
        run = run_of(f"name = 'download {name}'", cc, duration=2)
        run.save(tmp_path / "camp" / cc / f"seed{seed}")
    for name, expected in (("one", ["bbr", "cubic"]), ("two", ["cubic"])):
        found = json.loads(cli("why", "camp", "--flow", f"download {name}", "--json").stdout)
        assert sorted(item["cc"] for item in found) == expected
        assert {item["flow"] for item in found} == {f"download {name}"}
        assert sum(found[0]["seconds"][n] for n in NAMES) == pytest.approx(2)
    none = cli("why", "camp", "--flow", "download three")
    assert none.returncode == 2
    assert "there is no flow 'download three'" in none.stderr


def test_the_command_rejects_sweeps_archives_and_two_formats(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(case("s", "cubic", (), duration=1).toml, encoding="utf-8")
    assert cli("sweep", "s.toml", "--cc", "cubic", "--set", "run.seed=1,2", "--out", "sweep").returncode == 0
    assert cli("run", "s.toml", "--cc", "cubic", "--no-report", "--out", "out").returncode == 0
    assert cli("pack", "out", "-o", "a.perigee").returncode == 0
    for arguments, what in (
        (("sweep",), "sweep is a sweep: give the folder of one of its cells, sweep/"),
        (("a.perigee",), "a.perigee is an archive: run it with `perigee run a.perigee`"),
        (("out", "--csv", "--json"), "--csv and --json cannot be used together"),
    ):
        done = cli("why", *arguments)
        assert done.returncode == 2
        assert what in done.stderr
