# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Perigee's congestion controls in quinn (examples/quinn), over an emulated network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from perigee_lab.hosts import real_time
from real_hosts import transferred

EXAMPLE = Path(__file__).parents[2] / "examples/quinn"
MISSING = real_time.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(MISSING is not None, reason=f"no hosts in real time: {MISSING}"),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="this machine has no cargo"),
]
REPORT = re.compile(r"window (\d+) bytes, RTT ([\d.]+) ms, (\d+) packets sent, (\d+) lost")
SECONDS = 8
# Payload of a QUIC datagram after the discovery of the path's MTU.
DATAGRAM = 1452


def cargo(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs cargo in the example."""
    return subprocess.run(["cargo", *words], cwd=EXAMPLE, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def program() -> Path:
    """The example's program, built."""
    if cargo("fetch", "--locked").returncode != 0:
        pytest.skip("the crates of quinn cannot be fetched")
    built = cargo("build", "--release", "--locked")
    assert built.returncode == 0, built.stderr
    return EXAMPLE / "target/release/perigee-quinn"


def test_its_unit_tests_pass(program: Path) -> None:
    tested = cargo("test", "--release", "--locked")
    assert (tested.returncode, "5 passed" in tested.stdout) == (0, True), tested.stdout + tested.stderr


@pytest.mark.parametrize("scheme", ["cubic", "bbr3", "copa"])
def test_a_scheme_fills_the_link(tmp_path: Path, program: Path, scheme: str) -> None:
    printed = transferred(tmp_path, program, scheme, SECONDS)
    found = REPORT.search(printed)
    assert found, printed
    window, rtt_ms, sent, lost = (float(word) for word in found.groups())
    delivered_mbit = (sent - lost) * DATAGRAM * 8e-6 / SECONDS
    # At least two thirds of the rate from the first second on, by windows of one to three bandwidth-delay products
    # (100 kB), at few losses.
    assert delivered_mbit > 13, printed
    assert 50_000 < window < 300_000, printed
    assert 40 <= rtt_ms < 90, printed
    assert lost < 0.05 * sent, printed


@pytest.mark.parametrize("scheme", ["orbcc", "cubik"])
def test_other_schemes_are_refused_with_a_reason(program: Path, scheme: str) -> None:
    done = subprocess.run(
        [program, "client", "127.0.0.1", "1", "1", scheme], capture_output=True, text=True, check=False
    )
    expected = {"orbcc": "telemetry", "cubik": "unknown scheme"}[scheme]
    assert (done.returncode, expected in done.stderr) == (1, True), done.stderr
