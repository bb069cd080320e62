# SPDX-License-Identifier: Apache-2.0 OR MIT
"""In-network telemetry in real frames: OrbCC over UDP, between real hosts and simulated."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cli
from perigee_lab.results.metrics import run_summary
from perigee_lab.results.run import find_records
from real_hosts import real

PATH = """
[run]
duration = "8 s"
warmup = "2 s"
[source.chain]
links = 2
rtt = "50 ms"
[port.bottleneck]
rate = "100 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds examples/orbcc_udp.c with the library of congestion controls."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    built = subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--package", "perigee-capi", "--message-format", "json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = [f for line in built.stdout.splitlines() for f in json.loads(line).get("filenames", ())]
    (library,) = (f for f in files if f.endswith("libperigee_capi.a"))
    out = tmp_path_factory.mktemp("orbcc") / "orbcc_udp"
    words = ["-O2", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "crates/perigee-capi/include")]
    source = str(ROOT / "examples/orbcc_udp.c")
    subprocess.run(["cc", *words, source, library, "-lpthread", "-ldl", "-lm", "-o", str(out)], check=True)
    return out


@pytest.mark.slow
@real
def test_orbcc_over_udp_does_what_the_simulated_flow_does(cli: Cli, program: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "path.toml"
    scenario.write_text(PATH)
    done = cli("run", scenario, "--cc", "orbcc", "--out", tmp_path / "simulated", "--no-report")
    assert done.returncode == 0, done.stderr
    (run,) = find_records(tmp_path / "simulated")
    simulated = run_summary(run)
    words = ["--at", "d", "--", program, "receive", "7000", "--at", "s", "--", program, "send", "d", "7000", "7.5"]
    done = cli("exec", scenario, "--out", tmp_path / "real", *words)
    assert done.returncode == 0, done.stderr
    real_one = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert real_one["lost"] == 0
    assert abs(real_one["goodput_mbps"] / simulated["goodput_mbps"] - 1) < 0.05, (real_one, simulated)
    assert abs(real_one["rtt_ms"] / simulated["rtt_mean_ms"] - 1) < 0.05, (real_one, simulated)
