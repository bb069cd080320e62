# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee shell`: a terminal on a real host.

Tests that boot a kernel are skipped if none is built.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import PATIENCE_S, Cli, command, wait_for
from perigee_lab.cli.interactive import shell_programs
from perigee_lab.common.errors import CommandError
from real_hosts import SCENARIO, real


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO.replace("4 s", "3600 s").replace("1 s", "0 s"))
    return path


class Person:
    """A user at a terminal with `perigee shell`."""

    def __init__(self, *words: object) -> None:
        """Starts `perigee shell`."""
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(command("shell", *words), stdin=theirs, stdout=theirs, stderr=theirs, text=True)
        self.theirs = theirs
        self.seen = ""

    def sees(self, text: str) -> None:
        """Waits for a text, and discards the output up to it."""

        def there() -> bool:
            if select.select([self.terminal], [], [], 0)[0]:
                self.seen += os.read(self.terminal, 4096).decode("utf-8", "replace")
            return text in self.seen

        if text not in self.seen:
            wait_for(there, self.process)
        self.seen = self.seen.partition(text)[2]

    def types(self, keys: str) -> None:
        """Presses keys."""
        os.write(self.terminal, keys.encode())

    def restored(self) -> bool:
        """Whether the terminal has its previous settings."""
        return termios.tcgetattr(self.theirs) == self.before


@pytest.fixture
def person(scenario: Path) -> Iterator[Person]:
    someone = Person(scenario, "--at", "d1", "--", "sleep", "3000", "--at", "s1")
    yield someone
    someone.process.kill()
    someone.process.wait()
    os.close(someone.terminal)
    os.close(someone.theirs)


@real
def test_a_person_works_in_a_shell(person: Person) -> None:
    person.sees("s1:")
    person.types("echo $((6 * 7)) $(tty) $(stty size)\r")
    person.sees("42 /dev/pts/0 33 77\r\n")
    # Covers the other host over the network, a key that interrupts, and the answer to a prompt.
    person.types("python3 -c \"import socket; print(socket.gethostbyname('d1'))\"\r")
    person.sees("10.0.0.2")
    person.types("sleep 1000\r")
    person.sees("sleep 1000\r\n")
    person.types("\x03")
    person.types("read -p 'what? ' it; echo $it-$it\r")
    person.sees("\rwhat? ")
    person.types("yes\r")
    person.sees("yes-yes")
    assert not person.restored()
    person.types("(exit 7)\r\x04")
    person.sees("exit code 7")
    assert person.process.wait(PATIENCE_S) == 7
    assert person.restored()


@real
def test_a_signal_ends_the_session_and_the_terminal_is_as_before(person: Person) -> None:
    person.sees("s1:")
    person.process.send_signal(signal.SIGTERM)
    assert person.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert person.restored()


@real
def test_a_shell_needs_a_terminal(cli: Cli, scenario: Path) -> None:
    for backend in ("linux", "emulation"):
        done = cli("shell", scenario, "--backend", backend, "--at", "s1", "true", "--at", "d1")
        assert (done.returncode, "a shell needs a terminal" in done.stderr) == (2, True), done.stderr
    done = cli("shell", scenario, "--at", "s1")
    assert (done.returncode, "perigee exec" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("words", [["--at"], ["--at", "a", "--at", "b"], ["--at", "a", "true"]])
def test_a_shell_is_at_one_node(words: list[str]) -> None:
    with pytest.raises(CommandError, match="--at london") as end:
        shell_programs(words, [])
    assert end.value.code == 2


def test_programs_beside_a_shell_start_before_it() -> None:
    server, shell = shell_programs(["--at", "b", "--", "iperf3", "-s", "--at", "a"], ["A=1"])
    assert (server.node, server.words, server.terminal, server.awaited) == ("b", ("iperf3", "-s"), False, False)
    assert (shell.node, shell.terminal, shell.awaited) == ("a", True, True)
    assert shell.start_ns > server.start_ns
    assert "A=1" in shell.environment
