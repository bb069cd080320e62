# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ctrl-C, two processes in one folder, unwritable files: one clear line, no partial files."""

from __future__ import annotations

import errno
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_S, ROOT, Begin, Cli, little_room, restore_signals, wait_for
from perigee_lab import CongestionControl, load
from perigee_lab.common import files
from perigee_lab.common.errors import CommandError
from perigee_lab.hosts import real_time
from perigee_lab.runs import runner
from perigee_lab.runs.machines import Machines
from perigee_lab.runs.runner import Interrupted, Plan

LEO = ROOT / "scenarios/leo/london-new-york.toml"
LONG = ("--set", "run.duration=80000s")

FOREVER = """
import pathlib
from perigee_lab import CongestionControl

class Forever(CongestionControl):
    def on_ack(self, cx, w, ack):
        pathlib.Path("asked").touch()
        while True:
            pass
"""

SMALL = """
[run]
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""

HANGING = """
import pathlib, time

def choose(view):
    pathlib.Path("asked").touch()
    time.sleep(1000)
"""


def interrupt(process: subprocess.Popen[str]) -> str:
    """Sends one Ctrl-C; returns the messages of the program."""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "perigee: interrupted" in errors
    return errors


def loaded(process: subprocess.Popen[str]) -> bool:
    """Whether the core is loaded, which means that the command has started."""
    return "_core.abi3" in Path(f"/proc/{process.pid}/maps").read_text()


needs_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc for the loaded core")


@needs_proc
@pytest.mark.parametrize(
    "words",
    [
        ("paths", LEO, *LONG),
        ("timeline", LEO, "--out", "t.json", *LONG),
        ("export", "timeline", LEO, "t.json", *LONG),
        ("export", "hypatia", LEO, "state", *LONG),
    ],
    ids=lambda words: " ".join(map(str, words[:2])).replace(str(LEO), "").strip(),
)
def test_ctrl_c_ends_long_looks_at_a_sky(words: tuple[object, ...], begin: Begin, tmp_path: Path) -> None:
    process = begin(*words)
    writes = len(words) > 4
    wait_for((lambda: any(tmp_path.iterdir())) if writes else (lambda: loaded(process)), process)
    interrupt(process)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_ends_a_function_of_a_sky_that_hangs(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HANGING, encoding="utf-8")
    attach = f"source.constellation.attach={tmp_path / 'mine.py'}:choose"
    process = begin("paths", LEO, "--set", attach)
    wait_for((tmp_path / "asked").exists, process)
    interrupt(process)


@pytest.mark.slow
def test_one_ctrl_c_ends_a_scheme_that_loops_forever(begin: Begin, small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FOREVER, encoding="utf-8")
    words = ("run", small, "--cc", "mine.py:Forever", "--runs", 3, "--jobs", 2, "--out", "out")
    process = begin(*words)
    wait_for((tmp_path / "asked").exists, process)
    assert "nothing was complete" in interrupt(process)
    assert not (tmp_path / "out").exists()


def test_ctrl_c_while_the_runs_are_being_started_leaves_none(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over = threading.Event(), threading.Event()

    class Loops(CongestionControl):
        def on_ack(self, cx: Any, w: Any, ack: Any) -> None:
            begun.set()
            while not over.is_set():
                pass

    class Thread(threading.Thread):
        """The signal arrives while the thread works, before its caller continues."""

        def start(self) -> None:
            super().start()
            begun.wait(PATIENCE_S)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("threading.Thread", Thread)
    plan = Plan.of(load(small), [Loops], seeds=[1, 2, 3])
    # The process that starts the tests may ignore Ctrl-C, so the handler is set here; a watchdog
    # ends the loop if the test fails.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watchdog = threading.Timer(PATIENCE_S, over.set)
    threading.Thread.__base__.start(watchdog)
    try:
        with pytest.raises(Interrupted):
            runner.execute(plan, machines=Machines(2))
        assert not [t for t in threading.enumerate() if t.name == "perigee-run"]
    finally:
        over.set()
        watchdog.cancel()
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_is_swallowed_is_raised_again() -> None:
    swallowing = """
import signal, sys, time
from perigee_lab import entry
from perigee_lab.cli import app as cli

class Finalized:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def command():
    Finalized()
    while True:
        time.sleep(0.1)

cli.main = command
entry.main()
"""
    words = [sys.executable, "-c", swallowing]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, preexec_fn=restore_signals)
    assert (done.returncode, done.stderr) == (130, "perigee: interrupted\n")


def test_an_interrupt_that_becomes_another_error_is_one() -> None:
    wrapping = """
import signal
from perigee_lab import entry
from perigee_lab.cli import app as cli

def command():
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException as error:
        raise ImportError("half imported") from error

cli.main = command
entry.main()
"""
    words = [sys.executable, "-c", wrapping]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, preexec_fn=restore_signals)
    assert (done.returncode, done.stderr) == (130, "perigee: interrupted\n")


def test_ctrl_c_before_the_command_begins_is_quiet(begin: Begin, tmp_path: Path) -> None:
    # A module that shadows the first import stands for a slow disk.
    (tmp_path / "typer.py").write_text("import pathlib, time\npathlib.Path('here').touch()\ntime.sleep(60)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = begin("schemes", env=environment)
    wait_for((tmp_path / "here").exists, process)
    assert interrupt(process) == "perigee: interrupted\n"


def test_ctrl_c_between_a_new_file_and_its_first_line_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int, *, wait: bool = False) -> bool:
        assert [p.suffix for p in tmp_path.iterdir()] == [files.PARTIAL]
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_claim", interrupted)
    with pytest.raises(KeyboardInterrupt), files.written(tmp_path / "t.json"):
        pytest.fail("the block was entered")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_removed_while_interrupted_work_adds_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = iter(range(2))
    really = os.rmdir

    def rmdir(path: Any, *, dir_fd: int | None = None) -> None:
        for number in itertools.islice(added, 1):
            (tmp_path / "state.partial" / str(number)).touch()
        really(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", rmdir)
    (tmp_path / "state.partial").mkdir()
    files.removed(tmp_path / "state.partial")
    assert next(added, None) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_folder_in_use_is_refused(
    force: tuple[str, ...], cli: Cli, begin: Begin, small: Path, tmp_path: Path
) -> None:
    long = ("--runs", 500, "--set", "run.duration=20 s", "--no-report")
    process = begin("run", small, "--out", "out", *long)
    wait_for(lambda: any((tmp_path / "out").glob("*/*/manifest.json")), process)
    done = cli("run", small, "--out", "out", *force)
    assert done.returncode == 2
    assert "out is being written by another perigee" in done.stderr
    interrupt(process)
    assert any((tmp_path / "out").glob("*/*/manifest.json"))
    assert not (tmp_path / "out/.perigee.lock").exists()


@pytest.mark.slow
def test_runs_at_once_take_folders_of_their_own(begin: Begin, small: Path, tmp_path: Path) -> None:
    both = [begin("run", small, "--no-report") for _ in range(3)]
    assert [p.wait(timeout=PATIENCE_S) for p in both] == [0, 0, 0]
    for p in both:
        p.communicate()
    assert {p.name for p in (tmp_path / "runs").iterdir()} == {"small", "small-2", "small-3"}
    assert len(list(tmp_path.glob("runs/*/*/*/manifest.json"))) == 6


@pytest.mark.slow
def test_what_was_killed_is_in_nobodys_way(cli: Cli, begin: Begin, small: Path, tmp_path: Path) -> None:
    process = begin("run", small, "--out", "out", "--runs", 500, "--set", "run.duration=20 s")
    wait_for(lambda: any((tmp_path / "out").glob("*/*/manifest.json")), process)
    process.kill()
    process.communicate()
    assert (tmp_path / "out/.perigee.lock").exists()
    done = cli("run", small, "--out", "out", "--force", "--no-report")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_studies_have_one_writer_to_a_folder_and_any_number_of_readers(cli: Cli, begin: Begin, tmp_path: Path) -> None:
    quick = ("study", "run", "leotcp/responsiveness", "--quick", "--cc", "newreno", "--out", "out")
    assert cli(*quick).returncode == 0
    process = begin("study", "run", "leotcp/responsiveness", "--full", "--jobs", 1, "--out", "out")
    wait_for((tmp_path / "out/.perigee.lock").exists, process)
    done = cli(*quick)
    assert done.returncode == 2
    assert done.stderr.startswith("perigee: out is being written by another perigee: wait until it has ended")
    assert cli("study", "report", "--size", "quick", "--out", "out").returncode == 0
    assert process.poll() is None
    process.kill()
    process.communicate()
    assert (tmp_path / "out/.perigee.lock").exists(), "a killed process leaves it, and it is in nobody's way"
    assert cli(*quick).returncode == 0
    assert not (tmp_path / "out/.perigee.lock").exists()


@pytest.mark.parametrize("out", ["small.toml", "/proc/x"])
def test_a_folder_that_cannot_be_is_named_in_one_line(out: str, cli: Cli, small: Path) -> None:
    done = cli("run", small, "--out", out)
    assert done.returncode == 2
    assert done.stderr.startswith(f"perigee: cannot write to {out}: ")
    assert done.stderr.count("\n") == 1
    assert not list(small.parent.rglob("*.lock"))


def test_refused_runs_leave_no_folder(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--cc", "cubicc").returncode == 2
    assert cli("run", small, "--cc", "cubicc", "--out", "a/b").returncode == 2
    assert not (tmp_path / "a").exists()
    assert not list(tmp_path.glob("runs/*"))


def test_tables_of_paths_make_their_folder_or_say_why_not(cli: Cli, small: Path, tmp_path: Path) -> None:
    short = ("paths", LEO, "--set", "run.duration=20s", "--csv")
    done = cli(*short, "missing/p.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "missing/p.csv").read_text().startswith("from,to,")
    done = cli(*short, "small.toml/p.csv")
    assert done.returncode == 2
    assert "cannot write small.toml/p.csv: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full stands for a full disk")
def test_a_full_disk_names_the_file(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--cc", "cubic", "--out", "out", "--no-report").returncode == 0
    for words in (("trace", "out", "--out"), ("trace", "out", "--qlog"), ("report", "out", "--out")):
        done = cli(*words, "/dev/full")
        assert done.returncode in (1, 2)
        assert "cannot write /dev/full: No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
    for words in (("trace", "out", "--out"), ("report", "out", "--out")):
        assert "cannot write small.toml/x: " in cli(*words, "small.toml/x").stderr
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.skipif(real_time.why_not() is not None, reason=f"{real_time.why_not()}")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["run", "judge"])
def test_hosts_in_real_time_leave_no_partial_record(name: str, sign: int, begin: Begin, tmp_path: Path) -> None:
    text = SMALL.replace("[run]\n", '[run]\nduration = "60 s"\n')
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/one.toml").write_text(
        text + '[case]\nsource = "ours"\n[[expect]]\nmetric = "share"\nat_least = 0.1\n', encoding="utf-8"
    )
    programs = ("--program", "touch begun; sleep 100; {port}", "sleep 100; {host} {port}", "--catalogue", "cases")
    words = ("run", "cases/one.toml", "--cc", "cubic") if name == "run" else ("judge", *programs)
    process = begin(*words, "--backend", "emulation", "--out", "out")
    begun = "begun" if name == "judge" else "*.partial"
    wait_for(lambda: bool(list(tmp_path.rglob(begun))), process)
    process.send_signal(sign)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "perigee: interrupted" in errors
    assert not list(tmp_path.rglob("*.partial"))


def refused_for_room(process: subprocess.Popen[str], *files: str) -> None:
    """Asserts exit code 2 and one line that names one of the files, the problem and the remedy."""
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, errors
    last = errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert re.match(
        f"perigee: cannot write ({'|'.join(map(re.escape, files))}).*: File too large; make room there", last
    )


@pytest.mark.slow
def test_commands_that_find_no_room_say_where_in_one_line(begin: Begin, cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--cc", "cubic", "--out", "full", "--no-report").returncode == 0
    refused_for_room(begin("run", small, "--out", "out", preexec_fn=little_room), "out/newreno/", "out/cubic/")
    refused_for_room(begin("report", "full", preexec_fn=little_room), "full/report.html")
    quick = ("study", "run", "leotcp/responsiveness", "--quick", "--cc", "newreno", "--out")
    refused_for_room(begin(*quick, "none", preexec_fn=little_room), "none/cache/")
    assert cli(*quick, "some").returncode == 0
    refused_for_room(begin(*quick, "some", preexec_fn=little_room), "some/quick/leotcp/responsiveness/data/")
    report = ("study", "report", "--size", "quick", "--out")
    refused_for_room(begin(*report, "some", preexec_fn=little_room), "some/quick/leotcp/responsiveness/")
    assert not [p for p in tmp_path.rglob("*.partial*") if p.parent.name != "cubic"]
    # The failure has lost no data.
    assert cli(*report, "some").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("write", ["_write_failures", "gallery.write"])
def test_a_study_that_cannot_write_its_last_files_says_which(
    write: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perigee_studies import commands
    from perigee_studies.model import Ask, Size

    def full(folder: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "last"))

    monkeypatch.setattr(f"perigee_studies.commands.{write}", full)
    ask = Ask(Size.QUICK, ("newreno",))
    with pytest.raises(CommandError) as end:
        commands.run_command(["leotcp/responsiveness"], ask, tmp_path / "o", machines=Machines(2), force=False)
    assert end.value.code == 2
    assert str(end.value).startswith(f"cannot write {tmp_path}/o/quick/last: No space left on device; make room")
