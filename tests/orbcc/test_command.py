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
from perigee_lab.orbcc import ports, programs

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
    assert done.stdout.splitlines() == ["v0 stamps records at 20 Mbit/s", '{"detached": 3}']


@pytest.mark.skipif(bool(LACK), reason=LACK)
def test_a_port_reports_what_it_has_sent() -> None:
    lines = ["ip link set v0 up", "ip link set v1 up", "ip addr add fd00::1/64 dev v0 nodad"]
    # A datagram to a neighbour is preceded by a solicitation, which the port sends.
    code = "import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(bytes(100), ('fd00::2', 9))"
    send = f'{sys.executable} -c "{code}"; sleep 0.2'
    statistics = [perigee("port", "stats", "--json"), perigee("port", "top", "--count", "1", "--every", "0.1")]
    done = alone(*lines, perigee("port", "attach", "v0"), send, *statistics, perigee("port", "detach", "v0"))
    assert done.returncode == 0, done.stderr
    found, _ = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{") :])
    assert (found["v0"]["rate_kbit"], found["v0"]["counters"]["blocks"]) == (20_000, 0)
    assert found["v0"]["counters"]["packets"] > 0
    assert found["v0"]["bytes"] > 50
    assert "v0      20 " in done.stdout


@pytest.mark.skipif(bool(LACK), reason=LACK)
def test_a_running_process_gets_a_group_of_its_own_until_detach() -> None:
    where = "sed -n 's/^0:://p' /proc/$pid/cgroup"
    attach, detach = perigee("orbcc", "attach", "--dev", "v0", "--pid", "$pid"), perigee("orbcc", "detach")
    done = alone("sleep 30 &", "pid=$!", where, attach, where, detach, where, "kill $pid")
    assert done.returncode == 0, done.stderr
    before, _, within, _, after = done.stdout.splitlines()
    assert within.startswith(f"{before.rstrip('/')}/perigee-orbcc-pid-")
    assert after == before


@pytest.mark.skipif(bool(LACK), reason=LACK)
def test_what_cannot_be_attached_leaves_no_group() -> None:
    failed = perigee("orbcc", "attach", "--dev", "v7", "--pid", "$pid")
    done = alone("sleep 30 &", "pid=$!", f"{failed} || true", "cat /proc/$pid/cgroup", "kill $pid")
    assert "no device v7" in done.stderr
    assert "perigee-orbcc-pid" not in done.stdout
    assert "no process has the id" in alone(perigee("orbcc", "attach", "--pid", "4194305")).stderr


def test_a_unit_has_the_options_of_attach() -> None:
    words = [*PERIGEE, "orbcc", "unit", "--dev", "eth0", "--cgroup", "/sys/fs/cgroup/a b"]
    lines = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    [start] = [line for line in lines if line.startswith("ExecStart=")]
    assert start.endswith('orbcc attach --dev eth0 --cgroup "/sys/fs/cgroup/a b"')
    assert "[Install]" in lines


def unit(*words: str) -> subprocess.CompletedProcess[str]:
    """Calls `perigee orbcc unit`."""
    done = [*PERIGEE, "orbcc", "unit", *words]
    return subprocess.run(done, check=False, capture_output=True, text=True, timeout=60)


def test_a_unit_quotes_every_word_of_a_command() -> None:
    odd = ["printf", "", ";", "100%", "$HOME", 'a"b', "it's", "back\\slash", "a b", "--flag", "ü"]
    done = unit("--dev", "eth0", "--fallback", "bbr", "--report", "/r.json", "--", *odd)
    assert done.returncode == 0, done.stderr
    [start] = [line for line in done.stdout.splitlines() if line.startswith("ExecStart=")]
    options, _, command = start.partition(" -- ")
    assert options.endswith("orbcc attach --dev eth0 --fallback bbr --report /r.json")
    quoted = '"" ";" 100%% $$HOME "a\\"b" "it\'s" "back\\\\slash" "a b" --flag ü'
    assert command == f"printf {quoted}"
    assert "ExecStop" not in done.stdout, "OrbCC ends with the command"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "nothing to attach to"),
        (["--foo"], "--foo"),
        (["--dev"], "--dev"),
        (["--dev", "eth0", "--fallback", "foo"], "--fallback 'foo' is unknown"),
        (["--dev", "eth0", "--carrier", "udp"], "--carrier 'udp' is unknown"),
        (["--pid", "1"], "does not outlive a boot"),
        (["--dev", "eth0", "--report", "F"], "--report needs a command"),
        (["--cgroup", "/a", "--", "true"], "excludes --cgroup"),
        (["--dev", "eth0\nExecStartPre=/bin/evil"], "no name of a device"),
        (["--cgroup", "/a\nExecStartPre=/bin/evil"], "control character"),
        (["--dev", "eth0", "--", "echo", "\x1b[31m"], "control character"),
    ],
)
def test_a_unit_has_no_wrong_option_and_no_further_line(words: list[str], expected: str) -> None:
    done = unit(*words)
    assert done.returncode != 0
    assert done.stdout == ""
    assert expected in done.stderr


def test_statistics_have_one_format() -> None:
    words = [*PERIGEE, "port", "stats", "--json", "--prometheus"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "exclude each other" in done.stderr


def test_statistics_in_the_format_of_prometheus() -> None:
    counters = {"packets": 9, "blocks": 7, "options": 0, "no_room": 1, "intervals": 2}
    port = {"counters": counters, "bytes": 12_000, "rate_kbit": 20_000, "utilisation": 0.98, "wait_us": 1500}
    lines = ports.prometheus({"eth0": port | {"avg_rtt_us": 40_000, "flows": 2}}).splitlines()
    assert 'perigee_port_bytes_total{device="eth0"} 12000' in lines
    assert 'perigee_port_blocks_total{device="eth0"} 7' in lines
    assert 'perigee_port_rate_bits_per_second{device="eth0"} 20000000' in lines
    assert 'perigee_port_queueing_seconds{device="eth0"} 0.0015' in lines
    assert "# TYPE perigee_port_packets_total counter" in lines


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
