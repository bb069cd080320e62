# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tutorials and how-tos: their files are written, and their commands run in order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from perigee_lab.hosts import kernels

BLOCK = re.compile(r"```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)```", re.DOTALL)
# Guides with fragments of commands, other machines or other people's recordings; separate tests
# cover their subjects.
GUIDES = {
    *("cluster", "gateway", "hosts", "hosts-kernel", "hosts-programs", "hosts-real-time", "inputs", "learning"),
    *("maps", "measure", "measure-campaign", "measure-fit", "measure-import", "orbcc-on-your-machines"),
    *("plugins", "quic-stack", "rain", "sweeps"),
}
PAGES = [
    "tutorials/first-run.md",
    *sorted(f"how-to/{p.name}" for p in (ROOT / "docs/how-to").glob("*.md") if p.stem not in {"README", *GUIDES}),
]
# Files that a page promises, in addition to commands that exit with 0.
LEFT = {
    "tutorials/first-run.md": [
        "first/report.html",
        "globe.html",
        "path.png",
        "mine/report.html",
        "patience/plots",
        "rtt-goodput.pdf",
    ],
    "how-to/pair.md": ["pair.png", "pair.csv", "latency.png", "coverage.geojson"],
    "how-to/demand.md": ["load.png", "hour/report.html", "rain.html", "lost.png", "below.png", "unserved.geojson"],
    "how-to/background.md": ["download/report.html", "users.csv", "evening-run/report.html"],
    "how-to/constellation.md": ["shell.png", "shell/report.html"],
    "how-to/satellites.md": ["sizes/sweep.csv", "sixty-planes.png"],
    "how-to/trace.md": ["trace/report.html", "path-log/report.html"],
    "how-to/neighbours.md": ["neighbours/report.html", "none", "crowded", "contention"],
    "how-to/return-link.md": ["return-link/report.html", "by-rate", "codel", "longer-target"],
    "how-to/scheme.md": ["mine/report.html", "checked/report.html", "loss/report.html"],
    "how-to/expectations.md": ["checked.xml", "checked/report.html"],
    "how-to/why-slow.md": ["slow/report.html", "lossy/report.html"],
    "how-to/figure.md": ["overview.pdf", "rtt.pdf", "map.pdf"],
    "how-to/sweep.md": ["sweep/sweep.csv", "heat.png"],
    "how-to/comparison.md": ["five/summary.csv", "five.svg", "rtt.html", "p99.png"],
    "how-to/judge.md": ["bbr3-quick/judge.html", "mine/judge.json"],
    "how-to/pcap.md": ["captured/cubic/seed1/senders.pcapng", "one-second.qlog", "imported"],
    "how-to/pack.md": ["measured.perigee", "paper.perigee", "elsewhere/report.html", "planned/report.html"],
    "how-to/programs.md": ["programs", "linux/report.html"],
}


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, title and text of each block of a page."""
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def test_every_page_is_known_and_has_commands() -> None:
    assert set(PAGES) == set(LEFT)
    for page in PAGES:
        assert any(language == "sh" for language, _, _ in blocks(page)), page
    listed = (ROOT / "docs/how-to/README.md").read_text(encoding="utf-8")
    pages = {p.name for p in (ROOT / "docs/how-to").glob("*.md")} - {"README.md"}
    assert [name for name in sorted(pages) if f"({name})" not in listed] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_works(page: str, tmp_path: Path) -> None:
    if page == "how-to/programs.md" and not kernels.sound():
        pytest.skip("no kernel for real hosts: perigee kernel build")
    # Pages are run outside the clone: files that a page names must be part of the installation.
    environment = {**os.environ, "MPLBACKEND": "Agg", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for language, title, text in blocks(page):
        if title:
            (tmp_path / title).write_text(text, encoding="utf-8")
        elif language == "sh":
            for command in text.splitlines():
                done = subprocess.run(
                    shlex.split(command), cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
                )
                assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    for name in LEFT[page]:
        assert (tmp_path / name).exists(), name
