# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The agent of hosts in real time by itself: its jobs and reports, without the core."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perigee_lab.hosts import own, real_time

MISSING = real_time.why_not()
needs_namespaces = pytest.mark.skipif(MISSING is not None, reason=f"no hosts in real time: {MISSING}")

# Kinds of reports (`report.rs`); numbers of programs have a flag.
STARTED, FAILED, READY, OUTPUT, EXITED = 4, 6, 7, 8, 9
PROGRAM, ERRORS = 1 << 30, 1 << 29
HOSTS = """\
epoch 4000000000
sample 0
end 5000000000
host a eth1 10.0.0.1/16 fd00::1/64 02:00:00:00:00:01
host b eth2 10.0.0.2/16 fd00::2/64 02:00:00:00:00:02
neighbour 0 10.0.0.2 02:00:00:00:00:02
neighbour 1 10.0.0.1 02:00:00:00:00:01
"""

Report = tuple[int, int, bytes]
"""Kind, number of its subject, payload."""


class Agent:
    """An agent with a job."""

    def __init__(self, core: socket.socket) -> None:
        """`core` is the end of the core."""
        self.core = core
        self.bytes = b""

    def give(self, text: str) -> None:
        """Sends the job, and an empty standard input."""
        with Path(os.devnull).open() as nothing:
            socket.send_fds(self.core, [struct.pack("=I", len(text))], [nothing.fileno()])
        self.core.sendall(text.encode())

    def start(self) -> None:
        """Starts the run."""
        self.core.sendall(struct.pack("=Q", time.monotonic_ns()))

    def reports(self) -> Iterator[Report]:
        """Reports until the agent ends."""
        while frame := self._read(*struct.unpack("=I", self._read(4) or bytes(4))):
            records = frame[14:]
            while records:
                kind, size = struct.unpack_from("=HH", records)
                _, number = struct.unpack_from("=QI", records, 4)
                yield kind, number, records[16 : 4 + size]
                records = records[4 + size :]

    def _read(self, size: int) -> bytes:
        while len(self.bytes) < size:
            part = self.core.recv(1 << 16)
            if not part:
                return b""
            self.bytes += part
        found, self.bytes = self.bytes[:size], self.bytes[size:]
        return found


@contextlib.contextmanager
def agent(command: tuple[str, ...] = real_time.COMMAND) -> Iterator[Agent]:
    """A started agent, which ends with its socket."""
    core, theirs = socket.socketpair()
    core.settimeout(20)
    process = subprocess.Popen(command, stdin=theirs)
    theirs.close()
    try:
        yield Agent(core)
    finally:
        core.close()
        assert process.wait(20) == 0


def refusal(lines: str) -> str:
    """The error of a job."""
    with agent() as made:
        made.give(HOSTS + lines + "\n")
        reports = [r for r in made.reports() if r[0] != READY]
    assert [kind for kind, *_ in reports] == [FAILED]
    return reports[0][2].decode()


@needs_namespaces
def test_programs_are_those_that_the_core_writes(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "file").write_text("from a file")
    named, file = (str(p).replace(" ", "%20") for p in (folder, folder / "file"))
    show = 'printf%20\'<%25s>\'%20"$A"%20"$1"%20"$2">&2'
    lines = [
        "world of programs",
        "names of hosts",
        f"program 7 0 5 %00 {named} A=1%202 -- sh -c cat;pwd;{show} x 50%25 %00",
        "input 7 x%0a%00y",
        f"program 8 1 5 {file} {named} -- cat",
        f"program 9 1 5 %00 {named} -- no-such-program",
    ]
    said: dict[int, bytes] = {}
    exits: dict[int, int] = {}
    with agent() as made:
        made.give(HOSTS + "\n".join(lines) + "\n")
        for kind, number, payload in made.reports():
            if kind == READY and number == 1:
                made.start()
            elif kind == OUTPUT:
                said[number & ~PROGRAM] = said.get(number & ~PROGRAM, b"") + payload
            elif kind == EXITED:
                exits[number & ~PROGRAM] = os.waitstatus_to_exitcode(struct.unpack("=i", payload)[0])
                if len(exits) == 3:
                    break
    assert exits == {7: 0, 8: 0, 9: 127}
    assert said == {
        7: f"x\n\0y{folder}\n".encode(),
        7 | ERRORS: b"<1 2><50%><>",
        8: b"from a file",
        9 | ERRORS: b"perigee: no-such-program: No such file or directory\n",
    }


@needs_namespaces
def test_what_a_program_leaves_behind_is_reaped(tmp_path: Path) -> None:
    # The inner shell ends before its child, which then has the agent as parent.
    program = "sh -c 'sleep 0.2 &' ; sleep 0.6; grep -l ' Z ' /proc/[0-9]*/stat; true"
    words = program.replace(" ", "%20")
    lines = f"world of programs\nnames of hosts\nprogram 0 0 5 %00 {tmp_path} -- sh -c {words}\n"
    said = b""
    with agent() as made:
        made.give(HOSTS + lines)
        for kind, number, payload in made.reports():
            if kind == READY and number == 1:
                made.start()
            elif kind == OUTPUT:
                said += payload
            elif kind == EXITED:
                break
    assert said == b""


@needs_namespaces
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("flow 3 0 1 10.0.0.2 5004 5 9", "a flow cannot be read"),
        ("flow 3 0 1 10.0.0.2 5004 5 9 700 no-such", "congestion control no-such: No such file or directory"),
        ("relay 3 4 256000 1", "a relay of no flow"),
        ("turns 3 7 8", "numbers of no flow"),
        ("neighbour 9 10.0.0.2 02:00:00:00:00:02", "the job names host 9 of 2"),
        ("sysctl 0 net.ipv4.no_such 1", "a: net.ipv4.no_such = '1' cannot be set: No such file or directory"),
        ("program 0 1 5 /no/such/file / -- cat", "a program's standard input, /no/such/file: No such file"),
        ("orbit 9", "the job says orbit, which this agent cannot read: it is of another version"),
    ],
)
def test_a_job_that_cannot_be_done_is_refused_before_the_run(line: str, said: str) -> None:
    assert said in refusal(line)


@needs_namespaces
def test_a_scheme_that_users_may_not_take_has_a_remedy() -> None:
    there, allowed = (
        Path(f"/proc/sys/net/ipv4/tcp_{name}_congestion_control").read_text().split()
        for name in ("available", "allowed")
    )
    if not (others := sorted(set(there) - set(allowed))):
        pytest.skip("this machine lets users take every congestion control")
    said = refusal(f"sysctl 0 net.ipv4.tcp_congestion_control {others[0]}")
    assert f"this machine lets users take {' '.join(allowed)}: choose one of these" in said
    assert said.endswith(f"sysctl net.ipv4.tcp_allowed_congestion_control='{' '.join([*allowed, others[0]])}'")


@needs_namespaces
def test_places_of_no_host_are_refused() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with agent((*real_time.AS_ROOT, "mars=netns:x")) as made:
        made.give(HOSTS)
        [(kind, _, why)] = made.reports()
    assert (kind, why) == (FAILED, b"the scenario has no real host 'mars'; it has a, b")


ASKS = """
import socket, sys
sys.path[:0] = {path!r}
import subprocess
from perigee_lab.hosts import real_time
from test_agent import HOSTS, READY, agent
subprocess.run("ip link add outer type veth peer name device && ip link set outer up && ip link set device up",
               shell=True, check=True)
device, own = bytes([6] * 6), bytes([10, 0, 0, 1])
asking = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
asking.bind(("device", 0x0806))
asking.settimeout(1)

def ask(wanted):
    head = bytes.fromhex("0001080006040001")
    asking.send(b"\\xff" * 6 + device + b"\\x08\\x06" + head + device + own + bytes(6) + wanted)
    try:
        answer = asking.recv(100)
    except TimeoutError:
        return None
    return answer[:6] == device, answer[20:22], answer[22:28], answer[28:32] == wanted, answer[32:42] == device + own

with agent((*real_time.AS_ROOT, "a=interface:outer")) as made:
    made.give(HOSTS)
    for kind, number, _ in made.reports():
        if (kind, number) == (READY, 1):
            break
    made.start()
    print(ask(bytes([10, 0, 0, 2])))
    # The device itself has no address that answers.
    print(ask(own), ask(bytes([10, 0, 0, 9])))
"""


@pytest.mark.slow
@needs_namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_attached_devices_hear_where_other_hosts_are() -> None:
    program = ASKS.format(path=[str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    expected = (True, b"\0\2", bytes([2, 0, 0, 0, 0, 2]), True, True)
    assert done.stdout.splitlines() == [str(expected), "None None"]
    assert "a is behind outer: its addresses are 10.0.0.1/16 and fd00::1/64" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
@pytest.mark.parametrize("platform", ["guest", "namespaces"])
def test_the_sources_compile_without_a_warning(platform: str) -> None:
    folder = own.FOLDER / "agent"
    sources = [*folder.glob("*.c"), *(folder / platform).glob("*.c")]
    words = ["cc", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-o", "/dev/null", *sources]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
