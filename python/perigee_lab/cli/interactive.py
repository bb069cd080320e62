# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Terminal of `perigee shell`: keys, output and window size of a shell on a host."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab import _core
from perigee_lab.cli.programs import check_nodes, groups_of, words_of
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import OURS
from perigee_lab.common.files import RecordError
from perigee_lab.common.messages import complain
from perigee_lab.extensions.trust import PluginError
from perigee_lab.runs.programs import STAGGER_NS, look_on
from perigee_lab.runs.stories import Program, of_scenario

if TYPE_CHECKING:
    from perigee_lab.runs.backends import Backend
    from perigee_lab.runs.scenario import Scenario

# Maximum number of keys sent to the host at once; further ones stay in the terminal's buffer.
KEYS = 512
END_OF_INPUT = b"\x04"


def shell_programs(words: Sequence[str], environment: Sequence[str]) -> list[Program]:
    """Programs of `--at NODE [[--] COMMAND...]`; a node without a command gets the shell, last."""
    programs: list[Program] = []
    nodes: list[str] = []
    for node, command in groups_of(words):
        if command:
            start = len(programs) * STAGGER_NS
            programs.append(Program(node, words_of(command), environment=tuple(environment), start_ns=start))
        else:
            nodes.append(node)
    if len(nodes) != 1 or not nodes[0]:
        stop("a shell needs one --at NODE without a command: --at london, and --at new-york -- iperf3 -s in addition")
    shell = ("/bin/bash", "--norc", "-i") if Path("/bin/bash").exists() else ("/bin/sh", "-i")
    own = (f"PS1={nodes[0]}:\\w# ", f"TERM={os.environ.get('TERM', 'dumb')}", "HISTFILE=", *environment)
    start = len(programs) * STAGGER_NS
    return [*programs, Program(nodes[0], shell, awaited=True, environment=own, start_ns=start, terminal=True)]


def check_terminal() -> None:
    """Ends the command if its input or output is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        stop("a shell needs a terminal; use `perigee exec` for commands")


def shell_command(scenario: Scenario, programs: list[Program], backend: Backend, writable: Sequence[Path]) -> int:
    """Runs the shell; returns its exit code, or that of `perigee exec` for other endings."""
    check_terminal()
    check_nodes(scenario, programs)
    all_programs = [*of_scenario(scenario.core), *programs]
    last = len(all_programs) - 1

    def on_output(program: int, _kind: str, data: bytes) -> None:
        if program == last:
            sys.stdout.buffer.write(data)
        else:
            text = data.decode("utf-8", "replace").replace("\n", "\r\n")
            sys.stdout.buffer.write(f"[{all_programs[program].node}] {text}".encode())
        sys.stdout.buffer.flush()

    try:
        with raw_terminal() as signals:
            stories = look_on(scenario, programs, backend, on_output, Keyboard(signals), writable)
    except (RecordError, PluginError, _core.RunError) as error:
        stop(str(error), OURS)
    if signals:
        # The signal arrived while the core was running, which ends the run without reporting it.
        return 128 + signals[0]
    story = stories[-1]
    complain(f"{story.program.node}: {story.ending}")
    return story.exit_code


@contextmanager
def raw_terminal() -> Iterator[list[int]]:
    """Raw mode: keys arrive as they are pressed; the previous mode is restored, also on signals.

    Yields the received signals: an exception raised by a handler during a callback of the core may
    be lost.
    """
    came: list[int] = []

    def end(number: int, _frame: object) -> None:
        came.append(number)
        raise SystemExit(128 + number)

    before = termios.tcgetattr(0)
    handlers = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setraw(0)
        # Output passes through unchanged: the host's terminal has already processed it.
        yield came
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Keyboard:
    """Terminal input for the agent: keys, and the size of the window."""

    def __init__(self, signals: Sequence[int] = ()) -> None:
        """The size is sent first. After a signal the run should end."""
        self.signals = signals
        self.size = (0, 0)
        self.error: BaseException | None = None

    def __call__(self, time_s: float) -> bytes | None:
        """Waits for keys; None = the run should end."""
        if self.signals:
            return None
        try:
            return self._wait(time_s)
        except BaseException as error:
            # A signal: it is raised again once the run has ended.
            self.error = error
            return None

    def _wait(self, time_s: float) -> bytes:
        size = os.get_terminal_size(1)
        if (size.lines, size.columns) != self.size:
            self.size = (size.lines, size.columns)
            return f"s{size.lines} {size.columns}".encode()
        if not select.select([0], [], [], time_s)[0]:
            return b""
        return b"k" + (os.read(0, KEYS) or END_OF_INPUT)
