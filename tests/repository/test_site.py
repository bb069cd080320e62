# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Documentation site: pages and links, and build and search if the generator is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import ROOT
from perigee_lab.cli.groups import SECTIONS

GENERATOR = ROOT / ".venv-site/bin/mkdocs"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def test_every_link_of_the_pages_leads_somewhere_and_every_name_is_documented(tmp_path: Path) -> None:
    stage = tmp_path / "stage"
    words = [sys.executable, str(ROOT / "docs/make/site.py"), str(stage)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    python = (stage / "docs/reference/python.md").read_text(encoding="utf-8")
    assert all(f"## perigee.{name}\n" in python for name in perigee.__all__)
    commands = (stage / "docs/reference/commands.md").read_text(encoding="utf-8")
    listed = [name for section in SECTIONS.values() for name in section]
    assert [name for name in listed if f"### perigee {name}\n" not in commands] == []
    assert "### perigee study run\n" in commands
    nav = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    named = [line.split(": ")[-1].strip().removeprefix("- ") for line in nav.splitlines() if line.endswith(".md")]
    assert len(named) > 40
    assert [name for name in named if not (stage / name).is_file()] == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning_fetches_nothing_and_finds_things_from_a_folder() -> None:
    if not GENERATOR.exists():
        pytest.skip("the generator is not installed: make site")
    words = [sys.executable, "docs/make/site.py", "build/site-source", str(GENERATOR)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    pages = list((ROOT / "site").rglob("*.html"))
    assert len(pages) > 90
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert 'src="http' not in text, page
        assert 'rel="stylesheet" href="http' not in text, page
    if CHROMIUM is None:
        pytest.skip("search needs a Chromium")
    address = f"file://{ROOT}/site/index.html?q=token+bucket"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom", address]
    found = subprocess.run([CHROMIUM, *flags], capture_output=True, text=True, check=True).stdout
    assert found.count('class="md-search-result__item"') >= 3
