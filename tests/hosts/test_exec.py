# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee exec`: programs of this machine on real hosts.

Skipped if no kernel is built (`make kernel`).
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_S, Begin, Cli, command
from perigee_lab.cli.arguments import without_programs
from perigee_lab.cli.programs import parsed
from perigee_lab.common.errors import CommandError
from perigee_lab.common.exit_codes import INTERRUPTED, OURS
from perigee_lab.hosts import kernels
from perigee_lab.results.run import open_record
from real_hosts import SCENARIO, real


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO)
    return path


def test_programs_keep_their_own_options() -> None:
    given = ["exec", "s.toml", "--json", "--at", "a", "--", "iperf3", "-s", "--json", "--at", "b", "curl -s x"]
    front = without_programs(given)
    assert front[:4] == ["exec", "s.toml", "--json", "--programs"]
    server, client = parsed(json.loads(front[4]), ["A=1"])
    assert (server.node, server.words, server.awaited) == ("a", ("iperf3", "-s", "--json"), False)
    assert (client.node, client.words, client.awaited) == ("b", ("/bin/sh", "-c", "curl -s x"), True)
    assert client.environment == ("A=1",)
    assert without_programs(["run", "--at", "x"]) == ["run", "--at", "x"]


@pytest.mark.parametrize("words", [["--at"], ["--at", "a"], ["--at", "a", "--"], ["--at", "", "x"]])
def test_a_program_has_a_node_and_a_command(words: list[str]) -> None:
    with pytest.raises(CommandError, match="--at london -- iperf3") as end:
        parsed(words, [])
    assert end.value.code == 2


def test_exec_without_programs_says_what_it_wants(cli: Cli, scenario: Path) -> None:
    done = cli("exec", scenario)
    assert (done.returncode, "--at" in done.stderr) == (2, True)


@pytest.mark.slow
@real
def test_a_server_and_a_client_talk_over_the_network(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "page").write_text("x" * 100_000)
    fetch = (
        "import time, urllib.request as u; t = time.time(); n = len(u.urlopen('http://d1:8000/page').read());"
        "print(n, round(time.time() - t, 4))"
    )
    server = ("--at", "d1", "python3", "-m", "http.server", "8000")
    words = ("exec", scenario, "--out", tmp_path / "out", *server, "--at", "s1", "--", "python3", "-c", fetch)
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    size, seconds = done.stdout.split()
    assert size == "100000"
    # At least three round trips of 20 ms, and 100 kB at 20 Mbit/s; unlike the wall-clock time.
    assert 0.1 < float(seconds) < 0.25
    assert "[d1] " in done.stderr
    folder = tmp_path / "out/programs/seed1"
    run = open_record(folder)
    assert (run.manifest.backend, run.manifest.conserved) == ("linux", True)
    told = json.loads((folder / "programs/programs.json").read_text())
    assert [t["exit_code"] for t in told] == [None, 0]
    assert (folder / "programs/1-s1.output").read_text() == done.stdout
    report = tmp_path / "out/report.html"
    assert done.stderr.splitlines()[-1] == f"perigee: record {folder}, report {report}"
    assert "<html" in report.read_text()
    again = cli(*words[:3], tmp_path / "again", *words[4:])
    assert again.stdout == done.stdout
    other = open_record(tmp_path / "again/programs/seed1")
    assert other.manifest.tables == run.manifest.tables


POLLED = """
import socket, time
to = socket.getaddrinfo("d1", 9, type=socket.SOCK_DGRAM)[0]
sender = socket.socket(to[0], socket.SOCK_DGRAM)
due = begin = time.monotonic()
for k in range(200):
    while time.monotonic() < due:
        pass
    sender.sendto(b"x" * 1000, to[4])
    due += 0.001
print(round(time.monotonic() - begin, 3))
"""


@pytest.mark.slow
@real
def test_a_program_can_pace_its_datagrams_by_polling_the_clock(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """As PCC's user-space sender does: time passes while it reads the clock, and only then."""
    (tmp_path / "polled.py").write_text(POLLED)
    done = cli("exec", scenario, "--out", tmp_path / "out", "--at", "s1", "--", "python3", tmp_path / "polled.py")
    assert done.returncode == 0, done.stderr
    assert 0.198 <= float(done.stdout.split()[0]) <= 0.205


@pytest.mark.slow
@real
def test_a_host_has_names_addresses_and_files_that_it_cannot_change(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("before")
    (tmp_path / "shared").mkdir()
    line = (
        "hostname; cat mine; echo after > mine; cat mine; echo kept > shared/new; head -c 8 /dev/urandom | od -An -tx1"
    )
    words = ("exec", scenario, "--writable", tmp_path / "shared", "--json", "--no-report", "--at", "s1", line)
    done, again = cli(*words), cli(*words)
    told = json.loads(done.stdout)["programs"][0]
    assert told["exit_code"] == 0, told
    assert told["output"].startswith("s1\nbeforeafter\n")
    assert "report" not in json.loads(done.stdout)
    assert (tmp_path / "mine").read_text() == "before"
    assert (tmp_path / "shared/new").read_text() == "kept\n"
    # Random numbers are derived from the seed of the scenario.
    assert json.loads(again.stdout)["programs"][0]["output"] == told["output"]


@real
def test_a_program_cannot_reach_the_machine_by_mounting_it(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("before")
    ways = [
        "mkdir -p /tmp/m; mount -t hostfs none /tmp/m",
        "mount -o remount,rw /",
        "unshare -Ur mount -t hostfs none /mnt",
        "nsenter -t 1 -m mount -t hostfs none /mnt",
        f"echo after > /proc/1/root/machine{tmp_path}/mine",
        "mknod /tmp/null c 1 3",
    ]
    line = "; ".join(f"({way}) 2>/dev/null && echo open: {n}" for n, way in enumerate(ways))
    done = cli("exec", scenario, "--at", "s1", "--", "sh", "-c", line)
    assert "open:" not in done.stdout, done.stdout
    assert (tmp_path / "mine").read_text() == "before"


@pytest.mark.slow
@real
def test_a_record_of_programs_is_checked_and_not_run_again(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    words = ("exec", scenario, "--out", tmp_path / "out", "--at", "s1", "--", "true")
    assert cli(*words).returncode == 0
    done = cli("verify", tmp_path / "out")
    assert (done.returncode, "programs are not run again" in done.stdout) == (0, True), done.stdout
    # Nor is the record replaced without a request.
    assert cli(*words).returncode == 2
    assert cli(*words[:4], "--force", *words[4:]).returncode == 0


@real
def test_programs_need_a_flow_that_carries_them(cli: Cli, scenario: Path) -> None:
    scenario.write_text(SCENARIO + 'cc = "cubic"\n')
    done = cli("exec", scenario, "--at", "s1", "--", "true")
    assert done.returncode != 0
    assert 'cc = "*"' in done.stderr


@real
@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["no-such-program"], 127, "No such file"),
        (["sh", "-c", "exit 7"], 7, "exit code 7"),
        (["sh", "-c", "kill -9 $$"], 137, "signal 9"),
        (["sleep", "1000"], 124, "still running"),
    ],
)
def test_the_last_program_decides_the_exit_code(
    cli: Cli, scenario: Path, command: list[str], code: int, words: str
) -> None:
    done = cli("exec", scenario, "--at", "s1", "--", *command)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr


SPIN = """
import select, socket, sys, time
# A QUIC packet of the handshake, then short headers with the spin bit (RFC 9000, 17.4).
long, client = bytes([0xc0, 0, 0, 0, 1, 0, 0]), sys.argv[1] == "client"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if client:
    s.connect(("d1", 443))
    s.send(long)
else:
    s.bind(("", 443))
spin, peer, shaken, end = 0, None, not client, time.time() + (2 if client else 1000)
while time.time() < end:
    while select.select([s], [], [], 0.001)[0]:
        data, peer = s.recvfrom(2000)
        if data[0] & 0x80:
            s.sendto(long, peer) if not client or not shaken else None
            shaken = True
        else:
            spin = data[0] & 0x20 ^ (0x20 if client else 0)
    if peer is not None and shaken:
        s.sendto(bytes([0x40 | spin]) + bytes(100), peer)
"""


@real
def test_the_network_measures_delays_and_the_rtt_of_the_spin_bit(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO.replace('warmup = "1 s"', 'warmup = "0 s"'))
    (tmp_path / "spin.py").write_text(SPIN)
    ends = (("--at", node, "--", "python3", "spin.py", role) for node, role in (("d1", "server"), ("s1", "client")))
    done = cli("exec", scenario, "--json", "--out", tmp_path / "out", *(word for end in ends for word in end))
    assert done.returncode == 0, done.stderr
    (goodput,) = json.loads(done.stdout)["flows"]
    row = open_record(tmp_path / "out/programs/seed1").summary
    assert {k: row[k] for k in goodput if k != "flow"} == pytest.approx(
        {k: v for k, v in goodput.items() if k != "flow"}
    )
    assert goodput["active_s"] > 0
    forward, back, rtt = json.loads(done.stdout)["delays"]
    assert [d["of"] for d in (forward, back, rtt)] == ["forward", "return", "rtt"]
    # 10 ms each way and less than a millisecond of serialisation, and up to 1 ms until an end sends its next packet.
    assert all(10 < d["p50_ms"] < 10.3 and d["count"] > 1000 for d in (forward, back))
    assert 20 < rtt["p50_ms"] < 24
    assert 60 < rtt["count"] < 100
    assert "one-way delay (return)" in (tmp_path / "out/report.html").read_text()
    run = open_record(tmp_path / "out/programs/seed1")
    delays = run.table("delays").to_pandas()
    sent = run.table("flow_totals").to_pandas()
    assert delays["count"].sum() == sent["delivered_packets"].sum()
    assert 0 < run.table("flows").to_pylist()[-1]["delivered_bytes"] <= sent["goodput_bytes"].sum()
    assert run.table("flows").to_pandas()["rtt_ns"].dropna().between(20e6, 45e6).mean() > 0.9


@real
def test_the_network_measures_rtts_of_tcp(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO.replace('warmup = "1 s"', 'warmup = "0 s"'))
    (tmp_path / "page").write_text("x" * 10_000)
    server = ("--at", "d1", "python3", "-m", "http.server", "8000")
    fetch = "import urllib.request as u; u.urlopen('http://d1:8000/page').read()"
    words = ("exec", scenario, "--out", tmp_path / "out", *server)
    done = cli(*words, "--at", "s1", "--", "sh", "-c", f'sleep 0.5; python3 -c "{fetch}"')
    assert done.returncode == 0, done.stderr
    # From the client to the server: the request, without the headers of its packets and ACKs.
    run = open_record(tmp_path / "out/programs/seed1")
    [flow] = run.table("flow_totals").to_pylist()
    assert 80 < flow["goodput_bytes"] < 300
    assert math.isnan(run.summary["retransmits"]), "not tracked"
    [line] = [line for line in done.stderr.splitlines() if " RTTs of TCP or QUIC: " in line]
    assert 20 < float(line.split("50 % ")[1].split(" ms")[0]) < 30


POLITE = """
import signal, sys, time
def end(number, frame):
    time.sleep(0.5)
    open("log", "w").write("complete")
    print("wrote its log", flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
time.sleep(1000)
"""


@real
def test_a_server_writes_its_log_after_the_end(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    server = ("--at", "d1", "cd logs; exec python3 -c '" + POLITE.replace("'", '"') + "'")
    words = ("exec", scenario, "--writable", tmp_path / "logs", "--out", tmp_path / "out", "--force")
    client = ("--at", "s1", "--", "sleep", "1")
    done = cli(*words, *server, *client)
    assert (done.returncode, "[d1] wrote its log" in done.stderr) == (0, True), done.stderr
    assert "was still running at the end; exit code 3, 5" in done.stderr
    assert (tmp_path / "logs/log").read_text() == "complete"
    (tmp_path / "logs/log").unlink()
    # Its record ends at the same instant without that time.
    manifest = open_record(tmp_path / "out/programs/seed1").manifest
    done = cli(*words, "--grace", "0s", *server, *client)
    assert (done.returncode, "was still running at the end\n" in done.stderr) == (0, True), done.stderr
    assert not (tmp_path / "logs/log").exists()
    assert open_record(tmp_path / "out/programs/seed1").manifest.tables == manifest.tables


@real
def test_a_program_that_ignores_sigterm_is_killed(cli: Cli, scenario: Path) -> None:
    deaf = ("--at", "d1", "trap '' TERM; while true; do sleep 0.1; done")
    done = cli("exec", scenario, *deaf, "--at", "s1", "--", "true")
    assert (done.returncode, "did not exit on SIGTERM, and was killed" in done.stderr) == (0, True), done.stderr


def test_a_grace_that_is_no_time_is_refused(cli: Cli, scenario: Path) -> None:
    done = cli("exec", scenario, "--grace", "long", "--at", "s1", "--", "true")
    assert (done.returncode, "hosts.grace" in done.stderr) == (2, True), done.stderr


@real
def test_packets_between_hosts_that_no_flow_connects_are_told(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO.replace("[source.dumbbell]", "[source.dumbbell]\npairs = 2"))
    send = "import socket as s; s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', ('s2', 9))"
    listen = ("--at", "s2", "--", "sleep", "1")
    words = ("exec", scenario, "--out", tmp_path / "out", *listen, "--at", "s1", "--", "python3", "-c", send)
    assert cli(*words).returncode == 0
    warnings = open_record(tmp_path / "out/programs/seed1").manifest.warnings
    assert [w for w in warnings if "1 packets from s1 to s2 were dropped" in w], warnings


@real
def test_a_node_without_flows_is_named(cli: Cli, scenario: Path) -> None:
    done = cli("exec", scenario, "--at", "london", "--", "true")
    assert done.returncode == 2
    assert "london" in done.stderr
    assert "s1, d1" in done.stderr


@real
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing(sign: int, begin: Begin, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO.replace("4 s", "10000 s"))
    line = "while :; do echo x; sleep 0.01; done"
    process = begin("exec", scenario, "--out", "out", "--at", "s1", line)
    assert process.stdout is not None
    assert process.stdout.readline() == "x\n"
    assert list(tmp_path.rglob("*.partial"))
    process.send_signal(sign)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (INTERRUPTED, "perigee: interrupted\n")
    assert not (tmp_path / "out").exists()


@real
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full stands for a full disk")
def test_output_that_cannot_be_written_ends_the_run(scenario: Path, tmp_path: Path) -> None:
    line = command("exec", scenario, "--out", "out", "--at", "s1", "seq 100000; sleep 1000")
    with Path("/dev/full").open("w") as full:
        keys: dict[str, Any] = {"cwd": tmp_path, "text": True, "timeout": PATIENCE_S}
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, check=False, **keys)
    said = "perigee: cannot write standard output: No space left on device; make room there, or write elsewhere\n"
    assert (done.returncode, done.stderr) == (OURS, said)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@real
def test_a_reader_that_goes_away_does_not_end_the_run(begin: Begin, scenario: Path, tmp_path: Path) -> None:
    process = begin("exec", scenario, "--out", "out", "--no-report", "--at", "s1", "seq 100000; exit 7")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 7
    output = (tmp_path / "out/programs/seed1/programs/0-s1.output").read_text()
    assert output.splitlines()[-1] == "100000"


def test_exec_needs_a_kernel(cli: Cli, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert kernels.sound() == []
    done = cli("exec", scenario, "--at", "s1", "--", "true")
    assert (done.returncode, "perigee kernel build" in done.stderr) == (2, True)


@pytest.mark.slow
@real
@pytest.mark.parametrize(
    ("forever", "how"),
    [
        # Writing takes virtual time, so that the grace of two seconds ends.
        ("os.write(1, b'y' * 1000)", "was still running at the end, did not exit on SIGTERM, and was killed"),
        # Computing takes none.
        ("pass", "were killed 10 s of real time after SIGTERM"),
    ],
)
def test_a_program_without_end_does_not_extend_its_grace(
    forever: str, how: str, cli: Cli, scenario: Path, tmp_path: Path
) -> None:
    (tmp_path / "endless.py").write_text(
        "import os, signal, sys, time\n"
        "def go_on(number, frame):\n"
        "    while True:\n"
        f"        {forever}\n"
        "signal.signal(signal.SIGTERM, go_on)\n"
        "time.sleep(1000)\n"
    )
    server = ("--at", "d1", "--", "python3", "endless.py")
    done = cli("exec", scenario, "--out", tmp_path / "out", *server, "--at", "s1", "--", "sleep", "0.5")
    assert done.returncode == 0, done.stderr[-2000:]
    assert how in done.stderr
