# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Archives of runs: they run and verify anywhere, run no code without consent, and are bounded."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from archives import RATES, parts, rebuilt, zipped
from conftest import SMALL, Cli
from perigee_lab.common.errors import PerigeeError
from perigee_lab.runs import archive as archives
from perigee_lab.runs import packing
from perigee_lab.runs.archive import JOBS, ArchiveError, open_archive

HELPER = "FACTOR = 1\n"
MINE = """
from pathlib import Path
from helper import FACTOR
from perigee_lab import CongestionControl
Path({mark!r}).touch()
class Mine(CongestionControl):
    def on_ack(self, cx, window, ack):
        window.cwnd += 100 * FACTOR
"""


class Project:
    """A project with a scheme that imports a module, and a schedule in a folder beside the scenario."""

    def __init__(self, folder: Path, mark: Path) -> None:
        """Writes the files."""
        self.folder, self.mark = folder, mark
        (folder / "code").mkdir(parents=True)
        (folder / "data").mkdir()
        (folder / "code/mine.py").write_text(MINE.format(mark=str(mark)), encoding="utf-8")
        (folder / "code/helper.py").write_text(HELPER, encoding="utf-8")
        (folder / "data/rates.csv").write_text(RATES, encoding="utf-8")
        text = SMALL.replace('"newreno"', '"mine.py:Mine"') + '[schedule]\nfile = "../data/rates.csv"\n'
        (folder / "code/s.toml").write_text(text, encoding="utf-8")

    def has_run(self) -> bool:
        """Whether the code has run since the last call."""
        found = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Project(tmp_path / "project", tmp_path / "has-run")


@pytest.fixture
def packed(project: Project, tmp_path: Path, cli: Cli) -> Path:
    """An archive of the project's runs; the project itself is gone."""
    done = cli("run", project.folder / "code/s.toml", "--trust", "--out", "out", "--no-report")
    assert done.returncode == 0, done.stderr
    assert cli("pack", "out", "-o", "x.perigee").returncode == 0
    project.folder.rename(tmp_path / "gone")
    shutil.rmtree(tmp_path / "gone")
    (tmp_path / "out").rename(tmp_path / "kept")
    project.has_run()
    return tmp_path / "x.perigee"


def hashes(out: Path) -> dict[str, Any]:
    return {
        str(m.parent.relative_to(out)): {n: t["sha256"] for n, t in json.loads(m.read_text())["tables"].items()}
        for m in out.glob("*/seed*/manifest.json")
    }


@pytest.mark.slow
def test_an_archive_verifies_and_runs_without_the_files_that_it_was_made_of(
    packed: Path, project: Project, tmp_path: Path, cli: Cli
) -> None:
    for words in (("verify", packed), ("run", packed, "--out", "again"), ("run-job", packed, "--out", "again")):
        done = cli(*words)
        assert (done.returncode, project.has_run()) == (2, False), done.stderr
        assert "files/0/code/mine.py" in done.stderr
        assert not (tmp_path / "again").exists()
        assert "Traceback" not in done.stderr
    done = cli("verify", packed, "--trust", "--json")
    assert (done.returncode, project.has_run()) == (0, True), done.stdout + done.stderr
    assert [(f["cc"], f["problems"]) for f in json.loads(done.stdout)] == [("cubic", []), ("mine.py:Mine", [])]
    done = cli("verify", packed, "--no-rerun")
    assert done.returncode == 5, "what runs nothing needs no consent, and compares nothing"
    assert done.stdout.splitlines()[0] == "cubic seed 1: no tables in it: nothing was compared"
    done = cli("verify", packed, "--no-rerun", "--json")
    assert (done.returncode, [f["compared"] for f in json.loads(done.stdout)]) == (5, [False, False])
    done = cli("run", packed, "--trust", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert hashes(tmp_path / "again") == hashes(tmp_path / "kept")
    inputs = tmp_path / "again/inputs"
    assert all(stat.S_IMODE(p.stat().st_mode) in (0o700, 0o600) for p in [inputs, *inputs.rglob("*")])
    (tmp_path / "else").mkdir()
    (tmp_path / "again").rename(tmp_path / "else/where")
    done = cli("verify", "else/where", "--trust")
    assert done.returncode == 0, done.stdout
    done = cli("run", packed, "--trust", "--out", "else/where")
    assert (done.returncode, "2 of 2 runs" in done.stderr) == (0, True), done.stderr


def test_consent_holds_for_the_content_wherever_it_is(packed: Path, project: Project, tmp_path: Path, cli: Cli) -> None:
    assert cli("trust", packed).returncode == 0
    assert not project.has_run(), "to trust is not to run"
    packed.rename(tmp_path / "moved.perigee")
    assert cli("verify", "moved.perigee").returncode == 0
    assert project.has_run()
    changed = MINE.format(mark=str(project.mark)).encode() + b"\n# another\n"
    rebuilt(tmp_path / "moved.perigee", packed, {"files/0/code/mine.py": changed})
    done = cli("verify", packed)
    assert (done.returncode, project.has_run()) == (2, False), done.stderr
    assert cli("trust", "moved.perigee", "--forget").returncode == 0
    assert cli("verify", "moved.perigee").returncode == 2


@pytest.mark.slow
def test_records_travel_with_their_tables(packed: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("pack", "kept", "-o", "y.perigee", "--records")
    assert done.returncode == 2
    assert "rates.csv is gone" in done.stderr
    unpacked = tmp_path / "unpacked"
    open_archive(packed).unpack(unpacked)
    shutil.copytree(unpacked / "files/0", tmp_path / "kept", dirs_exist_ok=True)
    done = cli("pack", "kept", "-o", "y.perigee", "--records", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tables"] is True
    open_archive(tmp_path / "y.perigee").unpack(tmp_path / "y")
    assert (tmp_path / "y/records/cubic/seed1/flows.parquet").exists()
    assert cli("verify", "y.perigee", "--no-rerun").returncode == 0
    flows = (tmp_path / "y/records/cubic/seed1/links.parquet").read_bytes()
    rebuilt(tmp_path / "y.perigee", tmp_path / "z.perigee", {"records/cubic/seed1/flows.parquet": flows})
    done = cli("verify", "z.perigee", "--no-rerun")
    assert (done.returncode, "flows" in done.stdout) == (3, True), done.stdout + done.stderr


@pytest.mark.slow
def test_a_changed_result_is_found_by_the_second_run(packed: Path, tmp_path: Path, cli: Cli) -> None:
    with zipfile.ZipFile(packed) as file:
        manifest = json.loads(file.read("records/cubic/seed1/manifest.json"))
    manifest["tables"]["flows"]["sha256"] = "0" * 64
    text = json.dumps(manifest).encode()
    rebuilt(packed, tmp_path / "z.perigee", {"records/cubic/seed1/manifest.json": text})
    done = cli("verify", "z.perigee", "--trust")
    assert (done.returncode, "cubic seed 1: table flows differs" in done.stdout) == (3, True), done.stdout


@pytest.mark.slow
def test_settings_of_a_machine_do_not_travel(project: Project, tmp_path: Path, cli: Cli) -> None:
    words = [
        "/usr/bin/perigee",
        "run",
        "s.toml",
        "--cluster",
        "tls://h:1",
        "--store=s3://b",
        "--env",
        "A=b",
        "--cc",
        "cubic",
    ]
    assert packing._portable(words) == ["perigee", "run", "s.toml", "--cc", "cubic"]
    done = cli("run", project.folder / "code/s.toml", "--cc", "cubic", "--out", "out", "--jobs", "1", "--no-report")
    assert done.returncode == 2, "the scenario still names code"
    done = cli("run", project.folder / "code/s.toml", "--trust", "--out", "out", "--jobs", "1", "--no-report")
    assert done.returncode == 0, done.stderr
    assert cli("pack", "out", "-o", "x.perigee").returncode == 0
    with zipfile.ZipFile(tmp_path / "x.perigee") as file:
        content = b"".join(file.read(n) for n in file.namelist() if not n.endswith(".py"))
    assert str(tmp_path).encode() not in content
    assert b"--jobs" not in content


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../code/mine.py:Mine", "{folder}/code/mine.py:Mine"])
def test_a_class_with_a_path_of_one_machine_is_not_packed(
    project: Project, tmp_path: Path, cli: Cli, name: str
) -> None:
    scenario = project.folder / "code/s.toml"
    name = name.format(folder=project.folder)
    scenario.write_text(scenario.read_text().replace("mine.py:Mine", "cubic") + f'[[flow]]\ncc = "{name}"\n')
    assert cli("run", scenario, "--cc", "cubic", "--trust", "--out", "out", "--no-report").returncode == 0
    done = cli("verify", project.folder.parent / "out", "--trust")
    assert "Traceback" not in done.stderr
    done = cli("pack", "out", "-o", "x.perigee")
    assert (done.returncode, f"{name}: an archive needs a name from the scenario's folder" in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_archive_is_the_same_every_time(project: Project, tmp_path: Path, cli: Cli) -> None:
    assert cli("run", project.folder / "code/s.toml", "--trust", "--out", "out", "--no-report").returncode == 0
    for name in ("a.perigee", "b.perigee"):
        assert cli("pack", "out", "-o", name).returncode == 0
    assert (tmp_path / "a.perigee").read_bytes() == (tmp_path / "b.perigee").read_bytes()
    assert cli("pack", "out", "-o", "a.perigee").returncode == 2, "what exists is kept"
    assert cli("pack", "out", "-o", "a.zip").returncode == 2


@pytest.mark.slow
def test_jobs_are_archives_too(project: Project, tmp_path: Path, cli: Cli) -> None:
    scenario = project.folder / "code/s.toml"
    assert cli("run", scenario, "--trust", "--out", "direct", "--no-report").returncode == 0
    for name in ("j.perigee", "project/j.json"):
        done = cli("run", scenario, "--trust", "--dry", "--save-job", name)
        assert done.returncode == 0, done.stderr
    project.folder.rename(tmp_path / "renamed")
    assert cli("verify", "j.perigee").returncode == 2, "it has no records"
    for n, name in enumerate(("j.perigee", "renamed/j.json")):
        project.has_run()
        done = cli("run-job", name, "--out", f"o{n}", "--no-report")
        assert (done.returncode, project.has_run()) == (2, False), done.stderr
        done = cli("run-job", name, "--out", f"o{n}", "--no-report", "--trust")
        assert done.returncode == 0, done.stderr
        assert hashes(tmp_path / f"o{n}") == hashes(tmp_path / "direct")


@pytest.mark.slow
def test_a_record_that_was_moved_with_its_inputs_verifies(project: Project, tmp_path: Path, cli: Cli) -> None:
    scenario = project.folder / "code/s.toml"
    assert cli("run", scenario, "--trust", "--out", "project/out", "--no-report").returncode == 0
    project.folder.rename(tmp_path / "renamed")
    done = cli("verify", "renamed/out", "--trust")
    assert done.returncode == 0, done.stdout
    (tmp_path / "renamed/data/rates.csv").write_text(RATES + "2.5,1\n", encoding="utf-8")
    done = cli("verify", "renamed/out", "--trust")
    assert (done.returncode, "rates.csv is gone" in done.stdout) == (3, True), done.stdout


@pytest.mark.slow
def test_a_changed_import_is_another_run_and_is_named(project: Project, tmp_path: Path, cli: Cli) -> None:
    scenario = project.folder / "code/s.toml"
    assert cli("trust", project.folder / "code/mine.py").returncode == 0
    assert cli("run", scenario, "--out", "out", "--no-report").returncode == 0
    (project.folder / "code/helper.py").write_text("FACTOR = 2\n", encoding="utf-8")
    done = cli("run", scenario, "--out", "out", "--no-report")
    assert (done.returncode, "helper.py has changed since" in done.stderr) == (2, True), done.stderr
    assert "helper.py has changed" in cli("trust").stdout
    done = cli("run", scenario, "--out", "out", "--no-report", "--trust")
    assert (done.returncode, "is not the result of this run" in done.stderr) == (2, True), done.stderr
    done = cli("verify", "out", "--no-rerun")
    assert (done.returncode, "helper.py has changed" in done.stdout) == (3, True), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("--cc", "cubic"), ("--set", "run.seed=2"), ("--seed", "3"), ("--pcap",), ("--dry",), ("--backend", "linux")],
)
def test_what_an_archive_fixes_cannot_be_set(packed: Path, cli: Cli, words: tuple[str, ...]) -> None:
    done = cli("run", packed, *words)
    assert (done.returncode, words[0] in done.stderr) == (2, True), done.stderr


# ---- foreign archives ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of a job without code."""
    from perigee_lab.runs.runner import Plan
    from perigee_lab.runs.scenario import load

    folder = tmp_path_factory.mktemp("plain")
    (folder / "rates.csv").write_text(RATES, encoding="utf-8")
    (folder / "s.toml").write_text(SMALL + '[schedule]\nfile = "rates.csv"\n', encoding="utf-8")
    packing.save_jobs(Plan.of(load(folder / "s.toml"), []).jobs, folder / "j.perigee")
    return folder / "j.perigee"


def _with(index: dict[str, Any], name: str, data: bytes) -> dict[str, Any]:
    entry = {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return {**index, "entries": [*index["entries"], entry]}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("files/" + "n" * 300, "has a part of more than 255 bytes"),
        ("files/d/", "is a folder; only files are read"),
        ("files//x", "has an empty part, '.' or '..'"),
        ("files/" + "d/" * 60 + "x", "is too long"),
    ],
)
def test_a_bad_name_is_refused_with_its_reason(plain: Path, name: str, why: str) -> None:
    with pytest.raises(ArchiveError) as refused:
        archives.check_name(name, plain)
    assert str(refused.value).endswith(why)


@pytest.mark.parametrize("words", [("check",), ("sweep", "--set", "run.seed=1,2"), ("judge",), ("judge", "bbr", "-")])
def test_commands_that_need_something_else_name_those_for_archives(
    plain: Path, cli: Cli, words: tuple[str, ...]
) -> None:
    done = cli("judge", "bbr", "--catalogue", plain) if words[-1] == "-" else cli(words[0], plain, *words[1:])
    assert (done.returncode, f"perigee run {plain} runs it" in done.stderr) == (2, True), done.stderr
    assert len(done.stderr.splitlines()) == 1


NAMES = (
    "/etc/passwd", "../up", "files/../../up", "files/0/../../../up", "files//x", "files/./x", "files/", "~/x", "..",
    "C:/x", "files\\..\\up", "a.txt", "other/x", "files/a\nb", "files/\x1b[2J", "files/a\u202eb",
    "files/" + "d/" * 60 + "x",
    "files/" + "n" * 300, "perigee.json/x", "JOBS.json", "files/0/rates.csv/x", "files/0/RATES.csv", "",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_entry_leaves_its_folder_or_hides_another(plain: Path, tmp_path: Path, name: str) -> None:
    content, index = parts(plain)
    bad = tmp_path / "in" / "bad.perigee"
    bad.parent.mkdir()
    zipped(bad, {**content, name: b"x"}, _with(index, name, b"x"))
    with pytest.raises(ArchiveError) as refused:
        open_archive(bad).unpack(bad.parent / "out")
    assert str(bad) in str(refused.value)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["bad.perigee", "in"]


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("link", stat.S_IFLNK),
        ("device", stat.S_IFCHR),
        ("block", stat.S_IFBLK),
        ("pipe", stat.S_IFIFO),
        ("folder", stat.S_IFDIR),
        ("socket", stat.S_IFSOCK),
    ],
)
def test_only_files_are_entries(plain: Path, tmp_path: Path, kind: str, mode: int) -> None:
    content, index = parts(plain)

    def edit(info: zipfile.ZipInfo) -> None:
        if info.filename == "files/0/odd":
            info.external_attr = (mode | 0o777) << 16

    zipped(tmp_path / "b.perigee", {**content, "files/0/odd": b"/etc"}, _with(index, "files/0/odd", b"/etc"), edit)
    with pytest.raises(ArchiveError, match="only files are read"):
        open_archive(tmp_path / "b.perigee")


def test_sizes_are_bounded(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, index = parts(plain)
    zeros = bytes(3 << 20)

    def packed_small(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_DEFLATED

    zipped(tmp_path / "bomb.perigee", {**content, "files/z": zeros}, _with(index, "files/z", zeros), packed_small)
    with pytest.raises(ArchiveError, match="would grow more than 200 times"):
        open_archive(tmp_path / "bomb.perigee")
    monkeypatch.setattr(archives, "MOST_UNPACKED", 1000)
    with pytest.raises(ArchiveError, match="would unpack to"):
        open_archive(plain)
    monkeypatch.setattr(archives, "MOST_ENTRIES", 3)
    with pytest.raises(ArchiveError, match="has 4 entries"):
        open_archive(plain)


def test_uniform_inputs_are_packed_so_that_they_can_be_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w") as file:
        assert packing._add(file, "files/0/zeros", bytes(3 << 20)).size == 3 << 20
        assert file.getinfo("files/0/zeros").compress_type == zipfile.ZIP_STORED


def test_a_directory_is_bounded_before_it_is_read(plain: Path, tmp_path: Path) -> None:
    data = bytearray(plain.read_bytes())
    for at, value in ((-12, struct.pack("<HL", 65_000, 100)), (-12, struct.pack("<HL", 4, 1 << 30))):
        changed = data.copy()
        changed[at : at + len(value)] = value
        (tmp_path / "b.perigee").write_bytes(changed)
        with pytest.raises(ArchiveError, match="at most"):
            open_archive(tmp_path / "b.perigee")
    (tmp_path / "b.perigee").write_bytes(bytes(data) + b"trailing")
    with pytest.raises(ArchiveError, match="does not end like a ZIP file"):
        open_archive(tmp_path / "b.perigee")


def test_every_entry_is_what_the_index_lists(plain: Path, tmp_path: Path) -> None:
    content, index = parts(plain)
    bad = tmp_path / "b.perigee"
    zipped(bad, {**content, "files/0/extra": b"x"}, index)
    with pytest.raises(ArchiveError, match="does not list its entries"):
        open_archive(bad)
    zipped(bad, {**content, "files/0/rates.csv": RATES.replace("5", "6").encode()}, index)
    with pytest.raises(ArchiveError, match=r"'files/0/rates.csv' is not the file that its index lists"):
        open_archive(bad).unpack(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    zipped(bad, {**content, JOBS: content[JOBS] + b" "}, index)
    with pytest.raises(ArchiveError, match=r"jobs\.json"):
        open_archive(bad)
    found = open_archive(plain)
    shutil.copy(plain, bad)
    opened = archives.Archive(bad, found.sha256, found.index, found._jobs)
    rebuilt(plain, bad, {"files/0/rates.csv": b"t_s,rate_mbps\n"})
    with pytest.raises(ArchiveError, match="has changed since it was opened"):
        opened.unpack(tmp_path / "out")


@pytest.mark.parametrize("path", ["/etc/passwd", "../../up.csv", "~/x.csv", "files/../../x", "rates.csv"])
def test_jobs_name_files_of_their_archive_only(plain: Path, tmp_path: Path, path: str) -> None:
    content, _ = parts(plain)
    jobs = json.loads(content[JOBS])
    for edit in ("files", "toml", "folder"):
        changed = json.loads(json.dumps(jobs))
        for one in changed["jobs"]:
            if edit == "files":
                one["files"][0]["path"] = path
            elif edit == "folder":
                one["folder"] = path
            else:
                one["toml"] = one["toml"].replace("files/0/rates.csv", path)
        rebuilt(plain, tmp_path / "b.perigee", {JOBS: json.dumps(changed).encode()})
        if edit == "toml" and path == "rates.csv":
            # Within the archive's folder, where there is no such file.
            continue
        with pytest.raises(PerigeeError):
            open_archive(tmp_path / "b.perigee")


def test_an_unpacked_archive_is_used_again_only_if_it_is_intact(plain: Path, tmp_path: Path) -> None:
    found = open_archive(plain)
    found.unpack(tmp_path / "out")
    assert found.is_in(tmp_path / "out")
    (tmp_path / "out/files/0/more.py").touch()
    assert not found.is_in(tmp_path / "out")
    (tmp_path / "out/files/0/more.py").unlink()
    (tmp_path / "out/files/0/rates.csv").write_text("x", encoding="utf-8")
    assert not found.is_in(tmp_path / "out")
    with pytest.raises(FileExistsError):
        found.unpack(tmp_path / "out")


@pytest.mark.slow
def test_the_cell_of_a_sweep_is_packed_and_not_the_sweep(small: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli(
        "sweep", small, "--cc", "cubic", "--set", "port.bottleneck.rate=5Mbit,10Mbit", "--out", "s", "--no-plots"
    )
    assert done.returncode == 0, done.stderr
    done = cli("pack", "s", "-o", "x.perigee")
    assert (done.returncode, "s/cells/NAME" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x.perigee").exists()
    assert cli("pack", next((tmp_path / "s/cells").iterdir()), "-o", "x.perigee").returncode == 0
    assert cli("verify", "x.perigee").returncode == 0
