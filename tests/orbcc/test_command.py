# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee orbcc` and `perigee port`, in namespaces of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from network import ROOT, missing

from perigee_lab.cli.orbcc import table
from perigee_lab.orbcc import programs

LACK = missing()
PERIGEE = [sys.executable, "-m", "perigee_lab"]
SCRIPT = """
set -e
mount --make-rprivate /
mount -t tmpfs none /sys/fs/bpf
ip link add v0 type veth peer name v1
tc qdisc add dev v0 root tbf rate 20mbit burst 2000 limit 60000
"""


def alone(*lines: str) -> subprocess.CompletedProcess[str]:
    """Runs lines of a shell where nothing of the machine is touched."""
    words = ["unshare", "-m", "-n", "bash", "-c", "\n".join([SCRIPT, *lines])]
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=60, cwd=ROOT)


def perigee(*words: str) -> str:
    """A command line."""
    return " ".join([*PERIGEE, *words])


@pytest.mark.skipif(bool(LACK), reason=LACK)
def test_what_is_attached_is_listed_and_detached() -> None:
    pins = "find /sys/fs/bpf -name 'perigee*' | wc -l"
    attach = perigee("orbcc", "attach", "--dev", "v0")
    done = alone(attach, perigee("orbcc", "status", "--json"), perigee("orbcc", "detach"), pins)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("attached")
    assert lines[-1] == "0"
    found = json.loads("\n".join(lines[1:-2]))
    assert found["flows"] == []
    assert set(found["counters"].values()) == {0}


@pytest.mark.skipif(bool(LACK), reason=LACK)
def test_a_port_takes_the_rate_of_its_bucket() -> None:
    done = alone(perigee("port", "attach", "v0"), perigee("port", "detach", "v0"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["v0 stamps records at 20 Mbit/s", '{"detached": 2}']


@pytest.mark.skipif(bool(LACK), reason=LACK)
def test_a_command_keeps_its_exit_code_and_a_wrong_device_is_named() -> None:
    assert alone(perigee("orbcc", "attach", "--dev", "v0", "--", "false")).returncode == 1
    wrong = alone(perigee("orbcc", "attach", "--dev", "v7", "--", "true"))
    assert wrong.returncode == 2
    assert "no device v7" in wrong.stderr


def test_missing_programs_are_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(programs.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(programs.OrbccError, match="make ebpf"):
        programs.folder()


def test_connections_are_shown_as_a_table() -> None:
    flow = {"remote": "[2001:db8::1]:443", "window_bytes": 54_560, "srtt_us": 21_750, "utilisation": 982}
    flow |= {"bottleneck_kbit": 20_000, "bottleneck_flows": 1, "path_changes": 0, "fallback": 0}
    head, row = table([flow]).splitlines()
    assert head.split()[0] == "remote"
    assert row.split() == ["[2001:db8::1]:443", "54.6", "21.8", "0.982", "20", "1", "0", "orbcc"]


@pytest.mark.parametrize("name", ["../../x", "", "a b", "a/b", "..", "sixteen-letters-"])
def test_a_device_has_a_valid_name(name: str) -> None:
    with pytest.raises(programs.OrbccError, match="no name of a device"):
        programs.port_pin(name)


def test_a_machine_without_tc_gets_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(programs.OrbccError, match=r"tc.*is not installed.*--rate"):
        programs.rate_of_shaper("eth0")
