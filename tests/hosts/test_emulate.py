# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Real time: programs of this machine in network namespaces, over a scenario's network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perigee_lab.hosts import real_time
from perigee_lab.results.run import find_records as perigee_records

MISSING = real_time.why_not()
needs_namespaces = pytest.mark.skipif(MISSING is not None, reason=f"no hosts in real time: {MISSING}")
needs_ping = pytest.mark.skipif(shutil.which("ping") is None, reason="this machine has no ping (iputils-ping)")

SCENARIO = """
[run]
duration = "20 s"
cc = ["cubic"]

[source.dumbbell]
rtt = "40 ms"
rtt_at = "bottleneck"

[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"

[[flow]]
cc = "*"
"""
ECHO = """
import socket
listener = socket.create_server(("", 7000))
peer, _ = listener.accept()
while data := peer.recv(65536):
    peer.sendall(data)
"""
ASK = """
import os, socket, time
peer = socket.create_connection((socket.gethostbyname("d1"), 7000))
sent, got = os.urandom(200_000), b""
begin = time.monotonic()
peer.sendall(sent[:1])
while len(got) < 1:
    got += peer.recv(1)
print("rtt", time.monotonic() - begin >= 0.04 or "too short")
peer.sendall(sent[1:])
while len(got) < len(sent):
    got += peer.recv(65536)
print("intact", got == sent)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A dumbbell from s1 to d1."""
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


def emulate(scenario: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the command in the folder of the scenario."""
    return subprocess.run(
        [sys.executable, "-m", "perigee_lab", "emulate", str(scenario), "--out", str(scenario.parent / "out"), *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=scenario.parent,
    )


@needs_namespaces
def test_programs_talk_over_the_simulated_network(scenario: Path) -> None:
    python = ("--", sys.executable, "-c")
    done = emulate(scenario, "--at", "d1", *python, ECHO, "--at", "s1", *python, ASK)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "rtt True\nintact True\n"
    manifest = scenario.parent / "out" / "programs" / "seed1" / "manifest.json"
    told = json.loads(manifest.read_text(encoding="utf-8"))
    assert told["backend"] == "real-time"
    measured = told["real_time"]
    # 200 kB in each direction in packets of 1500 B, and their ACKs.
    assert measured["delivered"]["packets"] > 270
    assert sum(n for _, n in measured["delivered"]["histogram"]) == measured["delivered"]["packets"]
    assert "late by" in done.stderr


@pytest.mark.slow
@needs_namespaces
def test_the_exit_code_is_that_of_the_last_program(scenario: Path) -> None:
    assert emulate(scenario, "--at", "s1", "--", "sh", "-c", "exit 7").returncode == 7
    missing = emulate(scenario, "--force", "--at", "s1", "--", "no-such-program")
    assert missing.returncode == 127
    assert "perigee: no-such-program: No such file or directory" in missing.stderr


@pytest.mark.slow
@needs_namespaces
def test_programs_have_time_to_write_their_logs(scenario: Path) -> None:
    server = "trap 'sleep 0.2; echo complete > log; exit 3' TERM; echo ready; while true; do sleep 0.05; done"
    words = ("--at", "d1", "--", "sh", "-c", server, "--at", "s1", "--", "sleep", "0.5")
    done = emulate(scenario, *words)
    assert (done.returncode, "exit code 3, 2" in done.stderr) == (0, True), done.stderr
    assert (scenario.parent / "log").read_text() == "complete\n"
    (scenario.parent / "log").unlink()
    done = emulate(scenario, "--set", "hosts.grace=0s", "--force", *words)
    assert (done.returncode, (scenario.parent / "log").exists()) == (0, False), done.stderr


@needs_namespaces
def test_a_shell_reads_what_is_typed(scenario: Path) -> None:
    done = emulate(scenario, "--at", "s1", stdin="getent hosts d1\nexit 3\n")
    assert done.returncode == 3, done.stderr
    assert done.stdout.split() == ["fd00::2", "d1"]


@needs_namespaces
def test_standard_input_reaches_the_last_program(scenario: Path) -> None:
    done = emulate(scenario, "--stdin", "-", "--at", "d1", "--", "cat", "--at", "s1", "--", "cat", stdin="two\nlines")
    assert (done.returncode, done.stdout) == (0, "two\nlines"), done.stderr


@pytest.mark.slow
@needs_namespaces
@needs_ping
def test_what_an_interface_did_not_take_is_told(scenario: Path) -> None:
    # d1 continues to send until its peer's interface is removed; packets then in flight cannot be
    # delivered.
    words = ["--at", "d1", "--", "ping", "-i", "0.002", "s1", "--at", "s1", "--"]
    done = emulate(scenario, *words, "sh", "-c", "sleep 0.5; ip link delete eth1; sleep 0.3")
    assert done.returncode == 0, done.stderr
    assert "packets were lost because the interfaces of hosts rejected them" in done.stderr


@pytest.mark.slow
@needs_namespaces
@pytest.mark.parametrize("command", [["emulate"], ["exec", "--backend", "emulation"]])
def test_programs_that_a_file_names_need_trust(scenario: Path, command: list[str]) -> None:
    trace = scenario.parent / "trace"
    flow = SCENARIO.replace('cc = "*"', 'from = "s1"\nto = "d1"\napp = "programs"')
    scenario.write_text(f"{flow}\n[[program]]\nnode = 's1'\ncommand = ['touch', '{trace}']\n", encoding="utf-8")
    words = [sys.executable, "-m", "perigee_lab", *command, str(scenario), "--out", str(scenario.parent / "out")]
    for trust, code in (([], 2), (["--trust"], 0)):
        done = subprocess.run(
            [*words, *trust, "--at", "s1", "--", "sleep", "0.5"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, trace.exists()) == (code, bool(trust)), done.stderr


@pytest.mark.slow
@needs_namespaces
@needs_ping
def test_the_report_says_how_late_packets_were(scenario: Path) -> None:
    assert emulate(scenario, "--at", "s1", "--", "ping", "-c", "1", "d1").returncode == 0
    out = str(scenario.parent / "out")
    done = subprocess.run(
        [sys.executable, "-m", "perigee_lab", "verify", out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "a run in real time cannot be repeated" in done.stdout
    page = (scenario.parent / "out" / "report.html").read_text(encoding="utf-8")
    assert "hosts in real time, 99 % of packets at most" in page


@pytest.mark.slow
@needs_namespaces
def test_segments_on_the_network_are_single_packets(scenario: Path) -> None:
    code = (
        "import socket; s = socket.create_server(('', 7000)); p, _ = s.accept()\nwhile p.recv(65536): pass",
        "import socket; c = socket.create_connection(('d1', 7000))\nc.sendall(bytes(9**6)); c.shutdown(1); c.recv(1)",
    )
    words = ["--at", "d1", "--", sys.executable, "-c", code[0], "--at", "s1", "--", sys.executable, "-c", code[1]]
    done = emulate(scenario, "--pcap", *words)
    assert done.returncode == 0, done.stderr
    capture = (scenario.parent / "out" / "programs" / "seed1" / "senders.pcapng").read_bytes()
    assert len(capture) > 9**6
    assert max(_sizes(capture)) == 1500


def _sizes(capture: bytes) -> list[int]:
    """Original lengths of the packets of a pcapng file (enhanced packet blocks)."""
    found, at = [], 0
    while at < len(capture):
        kind, size = (int.from_bytes(capture[at + i : at + i + 4], "little") for i in (0, 4))
        if kind == 6:
            found.append(int.from_bytes(capture[at + 24 : at + 28], "little"))
        at += size
    return found


@pytest.mark.slow
@needs_namespaces
@pytest.mark.parametrize("victim", ["perigee", "unshare", "agent"])
def test_nothing_outlives_a_kill(scenario: Path, victim: str) -> None:
    command = [sys.executable, "-m", "perigee_lab", "emulate", str(scenario), "--at", "s1", "--", "sleep", "98.76"]
    run = subprocess.Popen(command, cwd=scenario.parent, stderr=subprocess.DEVNULL)
    parts = _wait_for(run.pid)
    os.kill({"perigee": run.pid, **parts}[victim], signal.SIGKILL)
    assert run.wait(20) != 0
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in parts.values()):
        assert time.monotonic() < deadline, "processes are left"
        time.sleep(0.01)


def _wait_for(perigee: int) -> dict[str, int]:
    """Waits until the program of a run has started; returns the processes of the run."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = {}
        for pid, parent, words in _processes():
            if parent == perigee and words[0].endswith("unshare"):
                found["unshare"] = pid
        for pid, parent, words in _processes():
            if parent == found.get("unshare") and words[0].endswith("perigee-hosts"):
                found["agent"] = pid
        for pid, parent, words in _processes():
            if parent == found.get("agent") and words[0] == "sleep":
                found["sleep"] = pid
        if len(found) == 3:
            return found
        time.sleep(0.01)
    pytest.fail("the program did not start")


def _processes() -> list[tuple[int, int, list[str]]]:
    """Process ID, parent and command line of all processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            parent = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        found.append((int(folder.name), parent, words))
    return found


def perigee(scenario: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in the folder of the scenario."""
    command = [sys.executable, "-m", "perigee_lab", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=scenario.parent)


REAL = ("--backend", "emulation", "--out", "flows", "--json")


@pytest.mark.alone
@needs_namespaces
def test_bulk_flows_run_on_this_machines_kernel_in_real_time(scenario: Path) -> None:
    flows = (
        SCENARIO.replace("20 s", "3 s") + '[[flow]]\nname = "short"\ncc = "newreno"\nstart = "1 s"\nbytes = "300 kB"\n'
    )
    scenario.write_text(flows, encoding="utf-8")
    done = perigee(scenario, "run", str(scenario), *REAL)
    assert done.returncode == 0, done.stderr
    [run] = perigee_records(scenario.parent / "flows")
    manifest = run.manifest
    assert (manifest.backend, manifest.get("kernel")["version"]) == ("real-time", os.uname().release)
    bulk, short = run.table("flow_totals").to_pylist()
    # The remainder of 20 Mbit/s over three seconds, whatever the other load of the machine.
    assert 2_000_000 < bulk["goodput_bytes"] < 7_500_000
    assert short["goodput_bytes"] == 300_000
    rows = [r for r in run.table("flows").to_pylist() if r["flow"] == 0]
    assert max(r["cwnd_bytes"] or 0 for r in rows) > 20_000
    assert min(r["srtt_ns"] for r in rows if r["srtt_ns"]) >= 40_000_000
    assert run.table("completions").num_rows == 1
    assert perigee(scenario, "verify", "flows").returncode == 0


@needs_namespaces
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", 'flow.0.app="web"'), "made by the simulator only"),
        (("--cc", "orbcc"), "this machine's kernel has no congestion control"),
        (("--kernel", "default"), "--kernel names the kernel of --backend linux"),
    ],
)
def test_what_real_time_does_not_have_is_refused(scenario: Path, words: tuple[str, ...], told: str) -> None:
    done = perigee(scenario, "run", str(scenario), *REAL, *words)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.slow
@needs_namespaces
def test_flows_of_real_hosts_run_beside_programs(scenario: Path) -> None:
    flow = '[[flow]]\nname = "beside"\ncc = "newreno"\nbackend = "linux"\nbytes = "100 kB"\n'
    scenario.write_text(SCENARIO + flow, encoding="utf-8")
    done = emulate(scenario, "--at", "s1", "--", "sleep", "1")
    assert done.returncode == 0, done.stderr
    [run] = perigee_records(scenario.parent / "out")
    assert run.table("flow_totals").to_pylist()[1]["goodput_bytes"] == 100_000


@pytest.mark.slow
@needs_namespaces
@needs_ping
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_namespaces_and_interfaces_of_the_machine_are_hosts(scenario: Path) -> None:
    name, outer = f"pg{os.getpid()}", f"pgo{os.getpid() % 100000}"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    try:
        ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no namespaces can be named here: {error.stderr.decode()}")
    try:
        ping = ("--", "ping", "-4", "-c", "2", "-i", "0.2")
        there = emulate(scenario, "--use", f"d1=netns:{name}", "--at", "s1", *ping, "d1")
        assert there.returncode == 0, there.stderr
        # A device with its own hardware address, which sends ARP requests.
        ip("link", "add", outer, "type", "veth", "peer", "name", "device", "netns", name)
        ip("link", "set", outer, "up")
        ip("-n", name, "address", "add", "10.0.0.1/16", "dev", "device")
        ip("-n", name, "link", "set", "device", "up")
        # Packets for a device that has not yet sent are lost, so both ends retry until a packet
        # arrives.
        asking = subprocess.Popen(["ip", "netns", "exec", name, "ping", "-i", "0.2", "10.0.0.2"])
        try:
            often = ("--", "ping", "-4", "-c", "30", "-i", "0.2", "s1")
            behind = emulate(scenario, "--force", "--use", f"s1=interface:{outer}", "--at", "d1", *often)
        finally:
            asking.kill()
            asking.wait()
        assert behind.returncode == 0, behind.stderr
        assert f"s1 is behind {outer}: its addresses are 10.0.0.1/16 and fd00::1/64" in behind.stderr
        refused = emulate(scenario, "--force", "--use", f"s1=interface:{outer}", "--at", "s1", *ping, "d1")
        assert "cannot run at s1, which is behind an interface" in refused.stderr
        links = subprocess.run(["ip", "-n", name, "-br", "link"], capture_output=True, text=True, check=True).stdout
        assert [line.split("@")[0].split()[0] for line in links.splitlines()] == ["lo", "device"]
    finally:
        ip("netns", "delete", name)


@pytest.mark.parametrize("place", ["s1", "s1=tap:x", "s1=netns:no-such-namespace", "s1=interface:no-such"])
def test_wrong_places_are_refused(scenario: Path, place: str) -> None:
    done = emulate(scenario, "--use", place, "--at", "s1", "--", "true")
    assert done.returncode == 2
    assert place in done.stderr


@needs_namespaces
def test_exec_by_the_machines_clock_is_the_same(scenario: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "perigee_lab",
        "exec",
        str(scenario),
        "--backend",
        "emulation",
        "--json",
        "--out",
        "out",
    ]
    done = subprocess.run(
        [*words, "--at", "s1", "--", "echo", "hello"], capture_output=True, text=True, check=False, cwd=scenario.parent
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["programs"][0]["output"] == "hello\n"
    assert told["real_time"]["delivered"]["packets"] == 0


def test_unknown_nodes_and_two_shells_are_refused(scenario: Path) -> None:
    unknown = emulate(scenario, "--at", "mars", "--", "true")
    assert unknown.returncode == 2
    assert "'mars': programs can be at s1, d1" in unknown.stderr
    assert emulate(scenario, "--at", "s1", "--at", "d1").returncode == 2


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(real_time, "AGENT", tmp_path / "perigee-hosts")
    assert "make agent, in Perigee's sources, compiles it" in str(real_time.why_not())
    monkeypatch.setattr(real_time.shutil, "which", lambda name: None if name == "unshare" else "/bin/true")
    assert real_time.why_not() == "hosts in real time need the program unshare (Debian's package util-linux)"
