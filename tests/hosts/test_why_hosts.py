# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Limits of the senders of real Linux hosts, with the limit set by construction."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.results.run import find_records
from perigee_lab.results.sender_limits import NAMES
from real_hosts import real
from why_cases import CASES, Case

# Kernels have these schemes, no slow start threshold of a new connection, and one window for both buffers.
SCHEMES = ("cubic", "newreno", "bbr")
AT_HOSTS = {"send_buffer": "receive_window"}
CHOSEN = (
    "application on-off",
    "application request",
    "receive grown",
    "send",
    "start 600",
    "steady 60",
    "outage flush",
)


def cases() -> list[Case]:
    """The first case of each kind that kernels can run."""
    able = [c for c in CASES if c.cc in SCHEMES and "init_ssthresh" not in c.toml]
    found = [next(c for c in able if c.name.startswith(kind)) for kind in CHOSEN]
    return found + [next(c for c in able if c.family == f) for f in ("pacing", "handshake", "timeout")]


@pytest.mark.slow
@real
@pytest.mark.parametrize("made", cases(), ids=lambda c: c.name)
def test_the_limits_of_real_hosts_are_found(cli: Cli, tmp_path: Path, made: Case) -> None:
    (tmp_path / "s.toml").write_text(made.toml, encoding="utf-8")
    done = cli("run", "s.toml", "--cc", made.cc, "--backend", "linux", "--no-report", "--out", "out")
    assert done.returncode == 0, done.stderr
    (run,) = find_records(tmp_path / "out")
    (of,) = run.why()
    seconds = {int(b["t_s"]): max(NAMES, key=lambda n: b[n]) for b in of.over_time()}
    kinds: Counter[bool] = Counter()
    for begin, end, name in made.truth:
        kinds += Counter(seconds[t] == AT_HOSTS.get(name, name) for t in range(begin, end))
    assert kinds[True] >= 0.9 * kinds.total(), seconds
