# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The house keeps its rules: who may know whom, a licence line on each file, files that fit in a head."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

LOW = {"units"}
TRANSPORT = LOW | {"cc"}
MAY_KNOW = {
    "units": set(),
    "cc": LOW,
    "capi": TRANSPORT,
    "timeline": LOW,
    "record": LOW,
    "telemetry": TRANSPORT,
    "tcp": TRANSPORT,
    "orbit": LOW | {"timeline"},
    "sim": TRANSPORT | {"tcp", "telemetry", "timeline"},
    "scenario": TRANSPORT | {"tcp", "timeline", "orbit", "sim"},
    "run": TRANSPORT | {"tcp", "timeline", "orbit", "sim", "record", "scenario"},
    "py": {"scenario", "run", "record"},
}
SOURCE = {".rs", ".py", ".pyi", ".toml", ".js", ".css", ".html"}
MAX_LINES = 700


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).exists()]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo on this machine")
def test_no_crate_knows_one_that_it_should_not() -> None:
    words = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline", "--locked"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    for package in json.loads(done.stdout)["packages"]:
        name = package["name"].removeprefix("perigee-")
        if name not in MAY_KNOW:
            continue
        deps = [d for d in package["dependencies"] if d["name"].startswith("perigee-") and d["kind"] is None]
        known = {d["name"].removeprefix("perigee-") for d in deps}
        assert known <= MAY_KNOW[name], f"{name} knows {known - MAY_KNOW[name]}"


def test_every_source_file_names_its_licence_at_the_top() -> None:
    def top(path: Path) -> str:
        return "\n".join(path.read_text(encoding="utf-8").splitlines()[:3])

    sources = [p for p in tracked() if p.suffix in SOURCE]
    missing = [str(p.relative_to(ROOT)) for p in sources if "SPDX-License-Identifier" not in top(p)]
    assert missing == []


def test_files_fit_in_a_head() -> None:
    long = [
        f"{p.relative_to(ROOT)}: {n}"
        for p in tracked()
        if p.suffix in {".rs", ".py", ".js"} and (n := len(p.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    ]
    assert long == []
