# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Commands in processes forked from one that has imported third-party libraries.

Most of the time of a short command is spent on those imports (Typer, NumPy, Arrow, pandas, …), and
the tests start a thousand commands. No module of Perigee is imported before the fork: a command
starts with `perigee_lab.__main__`, has its own folder, environment and output, and waits for its
threads and exit handlers at the end. `test_forks.py` compares forked commands with fresh
interpreters; unusual starts and ends (kills, Ctrl-C, full disks) are tested with fresh interpreters
(`begin`, `fresh`).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

LIBRARIES = (
    "typer", "typer._adapters", "rich.console", "rich.progress", "rich.table", "numpy", "pyarrow.compute",
    "pyarrow.parquet", "pandas", "scipy.stats", "matplotlib.pyplot", "matplotlib.backends.backend_agg",
)  # fmt: skip
# Variables that no library reads during import. If any other variable differs, a command gets a
# fresh interpreter.
HARMLESS = {"COLUMNS", "PYTEST_CURRENT_TEST", "XDG_CACHE_HOME", "XDG_STATE_HOME"}
NUMBER = struct.Struct("<q")


class Forks:
    """The forking process, which ends with its owner."""

    def __init__(self) -> None:
        """Starts the process."""
        self.at_start = dict(os.environ)
        self.busy = threading.Lock()
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def may_run(self, environment: dict[str, str]) -> bool:
        """Whether a command would have the environment of a fresh interpreter."""
        names = environment.keys() | self.at_start.keys()
        return not {n for n in names if environment.get(n) != self.at_start.get(n)} - HARMLESS

    def run(
        self, words: list[str], folder: Path, environment: dict[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command, like subprocess.run with captured text."""
        asked = {"words": words, "folder": str(folder), "environment": environment}
        with (
            self.busy,
            tempfile.TemporaryFile() as ask,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            ask.write(json.dumps(asked).encode())
            ask.seek(0)
            socket.send_fds(self.channel, [b"?"], [ask.fileno(), out.fileno(), err.fileno()])
            pid = self._number()
            self.channel.settimeout(timeout)
            try:
                code = self._number()
            except TimeoutError:
                self.channel.settimeout(None)
                os.kill(pid, signal.SIGKILL)
                self._number()
                raise subprocess.TimeoutExpired(words, timeout, _text(out), _text(err)) from None
            finally:
                self.channel.settimeout(None)
            return subprocess.CompletedProcess(words, code, _text(out), _text(err))

    def close(self) -> None:
        """Ends the process."""
        self.channel.close()
        self.process.wait()

    def _number(self) -> int:
        data = self.channel.recv(NUMBER.size)
        assert len(data) == NUMBER.size, "the process that forks has ended"
        return int(NUMBER.unpack(data)[0])


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


def serve(channel: socket.socket) -> list[str]:
    """Forks for each request; returns in a child, with the words of its command."""
    while True:
        _, files, _, _ = socket.recv_fds(channel, 1, 3)
        if not files:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            channel.close()
            return _become(*files)
        for file in files:
            os.close(file)
        with suppress(BrokenPipeError):
            channel.sendall(NUMBER.pack(pid))
            _, status = os.waitpid(pid, 0)
            channel.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))


def _become(ask: int, out: int, err: int) -> list[str]:
    """Adopts the output, folder and environment of a request; returns its arguments."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    with open(ask, "rb") as file:
        asked = json.load(file)
    for file_number in (out, err):
        os.close(file_number)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.path[0] = asked["folder"]
    return list(asked["words"])


def perform(words: list[str]) -> int:
    """Runs a command as `python -m perigee_lab`; returns its exit code."""
    sys.argv = ["-m", *words]
    try:
        runpy.run_module("perigee_lab", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def leave(code: int) -> NoReturn:
    """Exits like the interpreter, but without tearing down modules, which takes half a second."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    gc.collect()
    gc.freeze()
    leave(perform(serve(socket.socket(fileno=int(sys.argv[1])))))
