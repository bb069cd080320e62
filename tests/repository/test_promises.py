# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Promises of docs/reference/security.md: each has a test that exists, and those that had none, here."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT, Begin, command, wait_for
from perigee_lab.measure.stored import DamagedError, read_part
from perigee_lab.runs import archive
from perigee_studies.cache import Cache
from perigee_studies.digest import Digest

PAGE = ROOT / "docs/reference/security.md"
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| (?P<tests>`[\w/]+\.(?:py|rs)`: [^|]+) \|$", re.MULTILINE)
PYTHON = [
    p for folder in ("python/perigee_lab", "studies/perigee_studies") for p in sorted((ROOT / folder).rglob("*.py"))
]


def plain(text: str) -> str:
    """Text without line breaks."""
    return " ".join(text.split())


def promises() -> list[tuple[str, list[tuple[str, str]]]]:
    """The quotations of the list with their tests, as (file, function)."""
    text = (ROOT / "docs/reference/security-tests.md").read_text(encoding="utf-8")
    found = []
    for row in ROW.finditer(text):
        tests = []
        for part in row["tests"].split("; "):
            file, *names = re.findall(r"`([\w/.-]+)`", part)
            tests += [(file if file.startswith("crates/") else f"tests/{file}", name) for name in names]
        found.append((row["promise"], tests))
    return found


def test_every_promise_is_on_the_page_and_its_tests_exist() -> None:
    listed = promises()
    assert len(listed) > 60
    page = plain(PAGE.read_text(encoding="utf-8"))
    assert [promise for promise, _ in listed if plain(promise) not in page] == []
    missing = [
        f"{file}::{name}"
        for _, tests in listed
        for file, name in tests
        if not re.search(rf"\b(def|fn) {name}\(", (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert missing == []
    assert all(tests for _, tests in listed)


def test_every_section_of_the_page_has_promises() -> None:
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    quoted = [plain(promise) for promise, _ in promises()]
    assert len(sections) > 10
    assert [s.splitlines()[0] for s in sections if not any(q in plain(s) for q in quoted)] == []


def imports(path: Path) -> set[str]:
    """Top-level modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


def test_nothing_is_pickled() -> None:
    assert len(PYTHON) > 200
    banned = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
    assert [str(p.relative_to(ROOT)) for p in PYTHON if imports(p) & banned] == []
    loads = [line for p in PYTHON for line in p.read_text(encoding="utf-8").splitlines() if "np.load(" in line]
    assert len(loads) >= 2
    assert [line for line in loads if "allow_pickle=False" not in line] == []


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        """The file to create."""
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, (str(self.marker),)


def test_pickled_arrays_are_refused_unread(tmp_path: Path) -> None:
    hostile = np.array([Payload(tmp_path / "ran")], dtype=object)
    np.savez(tmp_path / "00000-00-0000-0000.npz", about=hostile, t=hostile)
    with pytest.raises(DamagedError):
        read_part(tmp_path / "00000-00-0000-0000.npz")
    cache = Cache(tmp_path)
    cache.write("ab12", Digest([], np.arange(3.0), {}, np.ones((1, 201))))
    path, array = cache.path("ab12"), io.BytesIO()
    np.save(array, hostile, allow_pickle=True)
    with zipfile.ZipFile(path) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(path, "w") as damaged:
        for name, data in parts.items():
            damaged.writestr(name, array.getvalue() if name.endswith(".npy") else data)
    assert cache.read("ab12") is None
    assert not (tmp_path / "ran").exists()


SOCKETS = re.compile(r"\b(TcpStream|TcpListener|UdpSocket)\b")
CONNECTING = re.compile(r"create_server|create_connection|\.bind\(|\.connect\(|http\.server|urlopen|http\.client")


def test_connections_are_opened_by_measurements_clusters_and_the_gateway_only() -> None:
    rust = [p for p in sorted((ROOT / "crates").rglob("*.rs")) if SOCKETS.search(p.read_text(encoding="utf-8"))]
    assert {p.relative_to(ROOT).parts[1] for p in rust} == {"perigee-gateway"}
    python = {
        str(p.relative_to(ROOT / "python/perigee_lab")) for p in PYTHON if CONNECTING.search(p.read_text("utf-8"))
    }
    measuring = {f"measure/net/{name}.py" for name in ("client", "pings", "server")}
    assert python == measuring | {"runs/connect.py", "view/server.py"}


def listed(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_foreign_scenario_writes_to_its_results_only(tmp_path: Path, small: Path) -> None:
    work = tmp_path / "work"
    for name in ("home", "tmp", "work"):
        (tmp_path / name).mkdir()
    text = small.read_text(encoding="utf-8").replace('title = "small"', 'title = "../../x"')
    (work / "s.toml").write_text(text.replace('cc = "*"', 'cc = "*"\nname = "../../../y"'), encoding="utf-8")
    before = listed(tmp_path)
    inside = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "MPLCONFIGDIR": str(tmp_path / "mpl")}
    done = subprocess.run(
        command("run", "s.toml", "--cc", "cubic", "--out", "out"),
        cwd=work, env=os.environ | inside, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    after = {name: data for name, data in listed(tmp_path).items() if not name.startswith("mpl/")}
    assert {name: data for name, data in after.items() if not name.startswith("work/out/")} == before
    assert "work/out/cubic/seed1/manifest.json" in after


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")
def test_workers_listen_on_no_socket(begin: Begin, small: Path) -> None:
    process = begin("run", small, "--set", "run.duration=100000s", "--out", "out")

    def workers() -> list[Path]:
        found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in found]
        return [Path("/proc") / pid for pid, line in zip(found, lines, strict=True) if b"runs.worker" in line]

    wait_for(lambda: bool(workers()), process)
    for worker in workers():
        opened = [os.readlink(fd) for fd in (worker / "fd").iterdir()]
        assert any(name.startswith("pipe:") for name in opened)
        assert [name for name in opened if name.startswith("socket:")] == []
    process.kill()


def test_bounds_of_archives_are_those_of_the_page() -> None:
    page = plain(PAGE.read_text(encoding="utf-8"))
    mib, gib = 1 << 20, 1 << 30
    assert f"{archive.MOST_ENTRIES:,} entries; {archive.MOST_INDEX // mib} MiB each for the directory" in page
    assert f"{archive.MOST_MANIFESTS // gib} GiB for all manifests; {archive.MOST_UNPACKED // gib} GiB unpacked" in page
    assert f"{archive.MOST_RATIO} times its compressed size for an entry above {archive.FREE // mib} MiB" in page
