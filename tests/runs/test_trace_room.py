# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Captures of traces of IOAM that have no room in an option."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli


@pytest.mark.slow
@pytest.mark.parametrize(("carrier", "most"), [("ioam_rate", 12), ("ioam_snapshot", 8)])
def test_a_capture_with_more_ports_than_an_option_holds_is_refused(
    cli: Cli, small: Path, carrier: str, most: int
) -> None:
    settings = ["run.duration=1 s", f"cc.orbcc.carrier={carrier}", "telemetry.overhead=wire"]
    words = [w for s in [*settings, f"telemetry.max_hops={most + 1}"] for w in ("--set", s)]
    done = cli("run", small, "--cc", "orbcc", "--pcap", "--out", "out", "--no-report", *words)
    assert done.returncode != 0
    assert f"holds {most} in its 255 bytes; set telemetry.max_hops = {most}" in done.stderr
    words = [w for s in [*settings, f"telemetry.max_hops={most}"] for w in ("--set", s)]
    assert cli("run", small, "--cc", "orbcc", "--pcap", "--out", "two", "--no-report", *words).returncode == 0
