# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Folders from other people: links redirect no write.

Pipes, devices and endless files are rejected.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.common.files import LOCK, PARTIAL, RecordError, appended, claimed, filled, inner, is_claimed, written
from perigee_lab.common.files import fresh as fresh_folder
from perigee_lab.common.reading import UnreadableError, opened, read_text
from perigee_lab.measure.journal import JOURNAL, read_lines
from perigee_lab.runs.scenario import load

SHORT = """
title = "echo pwned"
[run]
duration = "200 ms"
cc = ["cubic"]
[source.dumbbell]
rtt = "10 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes are of POSIX")
SPARSE = 1 << 40


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(SHORT, encoding="utf-8")
    return path


class Victim:
    """Files outside a foreign folder, one of which exists."""

    def __init__(self, folder: Path) -> None:
        """Creates the files."""
        self.folder = folder
        folder.mkdir()
        (folder / "kept").write_text("mine", encoding="utf-8")
        (folder / "folder").mkdir()

    def lure(self, folder: Path, *names: str) -> None:
        """Replaces names in a folder by links to these files."""
        for i, name in enumerate(names):
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
            path.symlink_to(self.folder / ("kept" if i % 2 else "missing"))

    def untouched(self) -> bool:
        """Whether the files are unchanged."""
        found = {p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*")}
        return found == {"kept", "folder"} and (self.folder / "kept").read_text(encoding="utf-8") == "mine"


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path / "outside")


# ---- what is written -----------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [0, 1])
def test_a_report_of_a_foreign_record_is_written_beside_its_links(
    cli: Cli, short: Path, tmp_path: Path, victim: Victim, turn: int
) -> None:
    out = tmp_path / "out"
    assert cli("run", short, "--out", out).returncode == 0
    made = [p.name for p in out.iterdir() if p.is_file()]
    assert {"report.html", "summary.csv"} <= set(made)
    names = [n + PARTIAL for n in made] + made
    victim.lure(out, *(names[turn:] + names[:turn]))
    done = cli("report", out, timeout=60)
    assert done.returncode == 0, done.stderr
    assert victim.untouched()
    report = out / "report.html"
    assert not report.is_symlink()
    assert "echo pwned" in report.read_text(encoding="utf-8")


def test_a_run_into_a_foreign_folder_follows_no_link(cli: Cli, short: Path, tmp_path: Path, victim: Victim) -> None:
    out = tmp_path / "out"
    words = ("run", short, "--out", out, "--pcap")
    assert cli(*words).returncode == 0
    victim.lure(out / "cubic", "seed1.partial", "seed1.old", "seed1.pcapng.partial")
    done = cli(*words, "--force", timeout=60)
    assert (done.returncode, victim.untouched()) == (0, True), done.stderr
    # A folder of captures with a link under the name of a capture, and a folder that is itself a
    # link.
    (out / "cubic" / "seed1.pcapng.partial").mkdir()
    victim.lure(out / "cubic" / "seed1.pcapng.partial", "senders.pcapng", "receivers.pcapng")
    done = cli(*words, "--force", timeout=60)
    assert (done.returncode, victim.untouched()) == (0, True), done.stderr
    shutil.rmtree(out / "cubic")
    (out / "cubic").symlink_to(victim.folder / "folder")
    done = cli(*words, "--force", timeout=60)
    assert (done.returncode != 0, victim.untouched()) == (True, True), done.stderr
    assert f"{out / 'cubic'}: it is a link; remove it" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_judgement_into_a_foreign_folder_follows_no_link(
    cli: Cli, short: Path, tmp_path: Path, victim: Victim
) -> None:
    (tmp_path / "cat").mkdir()
    case = short.read_text(encoding="utf-8") + '[case]\nsource = "x"\n'
    (tmp_path / "cat/a.toml").write_text(
        case + '[[expect]]\nmetric = "goodput"\nat_least = "1 bit"\n', encoding="utf-8"
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out/cat").symlink_to(victim.folder / "folder")
    done = cli("judge", "cubic", "--catalogue", "cat", "--out", "out")
    assert (done.returncode, victim.untouched()) == (2, True), done.stderr
    assert "out/cat: it is a link; remove it" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("dangling", [True, False])
def test_a_lock_that_is_a_link_is_refused(
    cli: Cli, short: Path, tmp_path: Path, victim: Victim, dangling: bool
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / LOCK).symlink_to(victim.folder / ("missing" if dangling else "kept"))
    done = cli("run", short, "--out", out, timeout=60)
    assert (done.returncode, victim.untouched()) == (2, True), done.stderr
    assert f"{out / LOCK} is no file of ours; remove it" in done.stderr.replace("\n", " ")
    (out / LOCK).unlink()
    os.mkfifo(out / LOCK)
    with pytest.raises(RecordError, match="no file of ours"), claimed(out):
        pass
    (out / LOCK).unlink()
    with claimed(out):
        assert is_claimed(out)
        with pytest.raises(RecordError, match="is being written by another perigee"), claimed(out):
            pass
    assert not is_claimed(out)


def test_a_sweep_into_a_foreign_folder_follows_no_link(cli: Cli, short: Path, tmp_path: Path, victim: Victim) -> None:
    out = tmp_path / "out"
    words = ("sweep", short, "--set", "port.bottleneck.queue=1bdp,2bdp", "--out", out)
    assert cli(*words).returncode == 0
    made = [p.name for p in out.iterdir() if p.is_file()]
    assert "sweep.csv" in made
    victim.lure(out, "sweep.csv", *(n + PARTIAL for n in made), "results.partial", "results.old")
    pictures = [p.name for p in (out / "plots").iterdir()] if (out / "plots").is_dir() else []
    if pictures:
        victim.lure(out / "plots", *pictures)
    done = cli(*words, timeout=120)
    assert (done.returncode, victim.untouched()) == (0, True), done.stderr
    assert not (out / "sweep.csv").is_symlink()
    shutil.rmtree(out / "cells")
    (out / "cells").symlink_to(victim.folder / "folder")
    done = cli(*words, timeout=120)
    assert (done.returncode != 0, victim.untouched()) == (True, True), done.stdout
    assert "Traceback" not in done.stderr


def test_files_are_new_under_random_names(tmp_path: Path) -> None:
    target = tmp_path / "t"
    seen = []
    for _ in range(2):
        with written(target) as partial:
            seen += [n for n in os.listdir(tmp_path) if n.endswith(PARTIAL)]
            partial.write_text("new", encoding="utf-8")
    assert len(set(seen)) == 2
    assert os.listdir(tmp_path) == ["t"]
    assert target.read_text(encoding="utf-8") == "new"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask


def test_what_is_written_stays_in_the_folder_that_was_opened(tmp_path: Path) -> None:
    # Another process replaces the folder by a link while a file in the folder is being written.
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    with written(folder / "t") as partial:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(other)
        partial.write_text("new", encoding="utf-8")
    assert os.listdir(other) == []
    assert (tmp_path / "moved" / "t").read_text(encoding="utf-8") == "new"


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "t"
    target.write_text("before", encoding="utf-8")

    def half() -> None:
        with written(target) as partial:
            partial.write_text("half", encoding="utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert (os.listdir(tmp_path), target.read_text(encoding="utf-8")) == (["t"], "before")
    with pytest.raises(OSError, match="No space") as found, written(target):
        raise OSError(28, "No space left on device", "/proc/self/fd/5")
    assert found.value.filename == str(target)


def test_what_a_killed_writer_left_goes_and_what_another_writes_stays(tmp_path: Path) -> None:
    left = tmp_path / f".perigee-00{PARTIAL}"
    left.write_text("half", encoding="utf-8")
    (tmp_path / f".perigee-01{PARTIAL}").symlink_to(tmp_path / "kept")
    (tmp_path / "kept").write_text("mine", encoding="utf-8")
    os.mkfifo(tmp_path / f".perigee-02{PARTIAL}")
    with written(tmp_path / "one") as first:
        with written(tmp_path / "two") as second:
            second.write_text("2", encoding="utf-8")
        first.write_text("1", encoding="utf-8")
    assert not left.exists()
    assert (tmp_path / "kept").read_text(encoding="utf-8") == "mine"
    assert [(tmp_path / n).read_text(encoding="utf-8") for n in ("one", "two")] == ["1", "2"]


def test_many_writers_of_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def write(n: int) -> None:
        try:
            for k in range(30):
                with written(tmp_path / f"{n % 3}") as partial:
                    partial.write_text(f"{n} {k}", encoding="utf-8")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failed == []
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2"]


def test_pipes_are_written_below_dev_only(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with written(Path(f"/dev/fd/{writer}")) as direct:
        direct.write_text("through", encoding="utf-8")
    assert os.read(reader, 100) == b"through"
    # If standard output is a file, the target of its name in /dev is written, and the name remains.
    with (tmp_path / "redirected").open("w") as file:
        with written(Path(f"/dev/fd/{file.fileno()}")) as direct:
            direct.write_text("through", encoding="utf-8")
        assert (tmp_path / "redirected").read_text(encoding="utf-8") == "through"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe, not a file"), written(tmp_path / "pipe"):
        pass
    (tmp_path / "null").symlink_to("/dev/null")
    with written(tmp_path / "null") as partial:
        partial.write_text("kept", encoding="utf-8")
    assert (tmp_path / "null").read_text(encoding="utf-8") == "kept"
    os.close(reader)
    os.close(writer)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no shared memory here")
def test_a_foreign_folder_in_shared_memory_is_one_like_others() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        os.mkfifo(folder / "pipe")
        with pytest.raises(OSError, match="it is a pipe, not a file"), written(folder / "pipe"):
            pass
        (folder / "null").symlink_to("/dev/null")
        with written(folder / "null") as partial:
            partial.write_text("kept", encoding="utf-8")
        assert (folder / "null").read_text(encoding="utf-8") == "kept"


@pytest.mark.slow
def test_the_default_folder_is_no_link(cli: Cli, short: Path, tmp_path: Path, victim: Victim) -> None:
    """The user did not name it."""
    (tmp_path / "runs").symlink_to(victim.folder / "folder")
    (tmp_path / "log.csv").write_text("t_s,rtt_ms\n" + "".join(f"{t},20\n" for t in range(20)), encoding="utf-8")
    for words in (
        ("run", short, "--cc", "cubic"),
        ("sweep", short, "--set", "run.seed=1,2", "--cc", "cubic"),
        ("judge", "cubic", "--quick", "--catalogue", "starts"),
        ("import", "log", "log.csv"),
        ("train", "smoke", "--quick"),
    ):
        done = cli(*words)
        assert (done.returncode, "cannot write to runs: it is a link" in done.stderr) == (2, True), (words, done.stderr)
    assert victim.untouched()
    assert cli("run", short, "--cc", "cubic", "--out", "runs/named").returncode == 0


@pytest.mark.slow
def test_a_link_in_the_default_folder_is_not_resumed(cli: Cli, short: Path, tmp_path: Path) -> None:
    assert cli("run", short, "--cc", "cubic", "--out", "other").returncode == 0
    (tmp_path / "other/summary.csv").unlink()
    before = sorted(p.name for p in (tmp_path / "other").rglob("*"))
    (tmp_path / "runs").mkdir()
    (tmp_path / f"runs/{short.stem}").symlink_to(tmp_path / "other")
    done = cli("run", short, "--cc", "cubic")
    assert (done.returncode, f"record: runs/{short.stem}-2" in done.stdout) == (0, True), done.stdout + done.stderr
    assert sorted(p.name for p in (tmp_path / "other").rglob("*")) == before


def test_folders_and_journals_are_no_links(tmp_path: Path, victim: Victim) -> None:
    (tmp_path / "link").symlink_to(victim.folder / "folder")
    with pytest.raises(RecordError, match="it is a link"):
        inner(tmp_path / "link")
    assert fresh_folder(tmp_path / "link").is_dir()
    assert not (tmp_path / "link").is_symlink()
    (tmp_path / f"full{PARTIAL}").symlink_to(victim.folder / "folder")
    with filled(tmp_path / "full") as partial:
        partial.mkdir()
        (partial / "file").write_text("x", encoding="utf-8")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["file"]
    victim.lure(tmp_path, "a", "b")
    for name in "ab":
        with pytest.raises(OSError, match=r"symbolic links") as found, appended(tmp_path / name):
            pass
        assert found.value.filename == str(tmp_path / name)
    # Reading a journal truncates neither the journal nor the target of the link.
    journal = tmp_path / JOURNAL
    journal.symlink_to(victim.folder / "kept")
    assert read_lines(journal) == []
    assert victim.untouched()


# ---- what is read --------------------------------------------------------------------------------


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE)


def folder_of_it(path: Path) -> None:
    path.mkdir()


HOSTILE = (pipe, device, endless, folder_of_it)


@pytest.mark.parametrize("make", HOSTILE)
def test_a_file_of_a_record_that_is_none_ends_each_command_in_a_line(
    cli: Cli, short: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    import resource

    good = tmp_path / "good"
    assert cli("run", short, "--out", good).returncode == 0
    record = Path("cubic") / "seed1"
    commands = [("report",), ("verify", "--no-rerun"), ("compare", good), ("verify",)]
    for name in ("manifest.json", "flows.parquet", "flow_totals.parquet", "rtt.parquet"):
        bad = tmp_path / "bad"
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(good, bad)
        (bad / record / name).unlink()
        make(bad / record / name)
        for command, *more in commands:
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            done = cli(command, *more, bad, timeout=60)
            assert "Traceback" not in done.stderr, done.stderr
            if (command, name) != ("compare", "flows.parquet"):
                # This command needs no series.
                assert done.returncode != 0, (name, command, done.stdout)
                assert name in done.stderr + done.stdout, (command, done.stdout, done.stderr)
            grown = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before
            assert grown < 1_000_000, f"{grown} KB"


@pytest.mark.parametrize("make", HOSTILE)
def test_readers_refuse_what_is_no_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "x"
    make(path)
    word = {pipe: "a pipe", device: "a device", endless: "1,099,512 MB", folder_of_it: "a folder"}[make]
    for read in (read_text, opened):
        with pytest.raises(OSError, match=word) as found:
            read(path)
        assert isinstance(found.value, UnreadableError)
        assert str(path) in str(found.value)


def test_a_pipe_in_a_folder_is_no_scenario(cli: Cli, short: Path, tmp_path: Path) -> None:
    """Reading would wait for a writer for ever; the pipes of a shell's `<(command)` have one."""
    folder = tmp_path / "catalogue"
    folder.mkdir()
    shutil.copyfile(short, folder / "a.toml")
    os.mkfifo(folder / "ff.toml")
    (tmp_path / "link.toml").symlink_to(folder / "ff.toml")
    for words in (
        ("check", "catalogue/ff.toml"),
        ("check", "link.toml"),
        ("run", "catalogue/ff.toml", "--out", "o"),
        ("sweep", "catalogue/ff.toml", "--set", "run.seed=1,2", "--out", "o"),
    ):
        done = cli(*words, timeout=60)
        assert done.returncode == 2
        assert f"cannot read {words[1]}: it is a pipe, not a file" in done.stderr
    done = cli("timeline", "link.toml", timeout=60)
    assert (done.returncode, "cannot read link.toml: it is a pipe, not a file" in done.stderr) == (2, True)
    with (folder / "a.toml").open("a", encoding="utf-8") as file:
        file.write('[[expect]]\nmetric = "share"\nat_least = 0.1\n')
    done = cli("judge", "cubic", "--catalogue", "catalogue", "--out", "j", timeout=60)
    assert done.returncode == 2
    assert "catalogue/ff.toml: it is a pipe, not a file" in done.stderr
    reader, writer = os.pipe()
    os.write(writer, SHORT.encode())
    os.close(writer)
    assert load(Path(f"/dev/fd/{reader}")).title == "echo pwned"
    os.close(reader)


def test_a_file_without_a_size_is_read_up_to_the_bound() -> None:
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("no /proc here")
    assert path.stat().st_size == 0
    assert "Pid:" in read_text(path)
    with pytest.raises(UnreadableError, match="longer than"):
        read_text(path, most=100)


def test_a_manifest_cannot_have_a_device_hashed(cli: Cli, short: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli("run", short, "--out", out).returncode == 0
    path = out / "cubic" / "seed1" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    os.mkfifo(tmp_path / "pipe")
    for named in ("/dev/zero", str(tmp_path / "pipe")):
        manifest["files"] = [{"path": named, "sha256": "0" * 64}]
        path.write_text(json.dumps(manifest), encoding="utf-8")
        done = cli("verify", out, timeout=60)
        assert done.returncode != 0
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("make", HOSTILE)
def test_results_of_a_sweep_with_what_is_no_file_are_refused(
    cli: Cli, short: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    out = tmp_path / "out"
    assert cli("sweep", short, "--set", "source.dumbbell.rtt=10ms,20ms", "--out", out, "--no-plots").returncode == 0
    for name in ("sweep.json", "results/part-0.parquet"):
        kept = (out / name).read_bytes()
        (out / name).unlink()
        make(out / name)
        done = cli("results", out, timeout=60)
        if make is not folder_of_it or name == "sweep.json":
            assert done.returncode != 0 or name == "sweep.json", done.stdout
        assert "Traceback" not in done.stderr
        done = cli("sweep", short, "--set", "source.dumbbell.rtt=10ms,20ms", "--out", out, "--no-plots", timeout=60)
        assert "Traceback" not in done.stderr
        shutil.rmtree(out / name) if (out / name).is_dir() else (out / name).unlink()
        (out / name).write_bytes(kept)


@pytest.mark.parametrize("make", HOSTILE)
@pytest.mark.parametrize("name", ["campaign.toml", "journal.jsonl", "00000-00-0000-0000.npz"])
def test_measurements_with_what_is_no_file_are_refused(
    cli: Cli, tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    folder = tmp_path / "m" / "measurements"
    folder.mkdir(parents=True)
    make(folder / name)
    done = cli("measure", "report", tmp_path / "m", timeout=60)
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stderr
    if name.endswith("npz"):
        assert str(folder / name) in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("make", HOSTILE)
def test_tables_of_a_study_with_what_is_no_file_are_refused(
    cli: Cli, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    docs = Path(__file__).parents[2] / "docs/studies"
    shutil.copytree(docs, tmp_path / "docs")
    about = tmp_path / "docs" / "data" / "geo-ping" / "about.json"
    assert about.is_file()
    about.unlink()
    make(about)
    done = cli("study", "report", "geo/ping", "--from", tmp_path / "docs", "--docs", tmp_path / "new", timeout=120)
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stderr
    assert "about.json" in done.stderr.replace("\n", "")
