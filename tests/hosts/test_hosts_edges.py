# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Edge cases of real hosts. Skipped if no kernel is built (`make kernel`)."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.hosts import kernels, real_time
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import open_record
from real_hosts import SCENARIO, real

# A name that every machine gives itself, and a name that is not one of a host.
NAMES = """
[run]
duration = "2 s"
[source.constellation]
preset = "starlink-shell1"
[node.localhost]
place = "London"
[node."New York"]
place = "New York"
[port.ground]
rate = "100 Mbit"
queue = "1 bdp"
[[flow]]
from = "localhost"
to = "New York"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO + '[[flow]]\napp = "ping"\n')
    return path


@real
def test_check_says_which_flows_are_real_and_what_is_refused(cli: Cli, scenario: Path) -> None:
    done = cli("check", scenario, "--backend", "linux", "--cc", "cubic")
    assert (done.returncode, "on real hosts: s1->d1\n" in done.stdout) == (0, True), done.stdout + done.stderr
    done = cli("check", scenario, "--backend", "linux", "--cc", "copa")
    assert (done.returncode, 'no congestion control "copa"' in done.stderr) == (2, True)


@real
def test_estimates_count_the_frames_of_real_hosts(cli: Cli, scenario: Path) -> None:
    words = ("run", scenario, "--cc", "cubic", "--dry", "--json")
    costs = [json.loads(cli(*words, *more).stdout)["estimate_cpu_s"] for more in ((), ("--backend", "linux"))]
    assert costs[1] > 5 * costs[0] > 0


@real
def test_all_schemes_are_those_of_the_kernel_each_once(cli: Cli, scenario: Path) -> None:
    told = json.loads(cli("check", scenario, "--backend", "linux", "--cc", "all", "--json").stdout)
    assert {"newreno", "cubic", "bbr", "illinois"} < set(told["cc"])
    assert "reno" not in told["cc"]
    assert len(told["cc"]) == len(set(told["cc"]))


@real
def test_a_record_of_another_kernel_names_what_differs(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    cli("run", scenario, "--backend", "linux", "--cc", "cubic", "--no-report", "--out", tmp_path / "out")
    manifest = run_folder(tmp_path / "out", "cubic", 1) / "manifest.json"
    told = json.loads(manifest.read_text())
    told["kernel"]["key"] = "0" * 16
    changed = min(told["kernel"]["files"])
    told["kernel"]["files"][changed] = "0" * 64
    manifest.write_text(json.dumps(told))
    done = cli("verify", tmp_path / "out")
    assert done.returncode == 3
    assert f"differs in {changed}\n" in done.stdout, done.stdout


@real
def test_a_kernel_that_does_not_boot_ends_the_run_with_3(
    cli: Cli, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = kernels.find(None)
    copy = tmp_path / "cache/perigee/kernels" / built.folder.name
    shutil.copytree(built.folder, copy)
    (copy / "linux").write_text("#!/bin/sh\necho no memory\nexit 9\n")
    told = json.loads((copy / "kernel.json").read_text())
    told["files"]["linux"] = hashlib.sha256((copy / "linux").read_bytes()).hexdigest()
    (copy / "kernel.json").write_text(json.dumps(told))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = cli("run", scenario, "--backend", "linux", "--cc", "cubic", "--out", tmp_path / "out")
    assert (done.returncode, "the guest has ended with exit code 9" in done.stderr) == (3, True), done.stderr
    assert "no memory" in done.stderr
    done = cli("exec", scenario, "--at", "s1", "--", "true")
    assert done.returncode == 125, done.stderr


@real
def test_the_report_says_that_hosts_are_real(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    assert cli("run", scenario, "--backend", "linux", "--cc", "cubic", "--out", tmp_path / "out").returncode == 0
    version = open_record(run_folder(tmp_path / "out", "cubic", 1)).manifest["kernel"]["version"]
    assert f"real hosts: Linux {version} (s1-" in (tmp_path / "out/report.html").read_text()


@real
def test_hosts_with_other_names_than_their_nodes_are_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    path.write_text(NAMES)
    done = cli("exec", path, "--at", "localhost", "--", "getent", "hosts", "new-york", "localhost")
    assert done.returncode == 0, done.stderr
    assert "fd00::2" in done.stdout
    assert "::1 " in done.stdout
    assert 'node "New York" is the host new-york in /etc/hosts' in done.stderr
    assert 'node "localhost" is the host localhost-2' in done.stderr


@real
def test_a_refused_program_leaves_no_folder(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO + 'cc = "cubic"\n')
    done = cli("exec", scenario, "--at", "s1", "--", "true")
    assert (done.returncode, list((tmp_path / "runs").glob("*"))) == (125, []), done.stderr


@real
def test_what_a_host_cannot_carry_is_refused_before_anything_is_made(cli: Cli, tmp_path: Path) -> None:
    often = 'app = "on-off"\non = "100 us"\noff = "100 us"\n'
    (tmp_path / "often.toml").write_text(SCENARIO.replace('"4 s"', '"60 s"') + often)
    for command in (("check", "often.toml"), ("run", "often.toml", "--out", "out"), ("run", "often.toml", "--dry")):
        done = cli(*command, "--cc", "cubic", "--backend", "linux")
        assert (done.returncode, "more than 200000 times" in done.stderr) == (2, True), (command, done.stderr)
    assert [p.name for p in tmp_path.iterdir()] == ["often.toml"]


@real
@pytest.mark.parametrize("app", ["web", "video", "voice"])
def test_applications_of_the_simulator_are_refused_by_name(cli: Cli, tmp_path: Path, app: str) -> None:
    flow = f'app = "{app}"\nbackend = "linux"\n[[flow]]\ncc = "cubic"\n'
    (tmp_path / "app.toml").write_text(SCENARIO + flow)
    words = ("--cc", "cubic", "--backend", "linux") if app != "voice" else ("--backend", "linux")
    done = cli("check", "app.toml", *words)
    assert (done.returncode, f'app = "{app}" is made by the simulator only' in done.stderr) == (2, True), done.stderr
    assert 'backend = "simulator"' in done.stderr


@real
@pytest.mark.skipif(real_time.why_not() is not None, reason="no mount namespaces without root")
def test_outputs_that_find_no_room_are_told(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SCENARIO + 'cc = "*"\n')
    (full := tmp_path / "full").mkdir()
    write = ["--at", "s1", "--", "head", "-c", "2000000", "/dev/zero"]
    words = [sys.executable, "-m", "perigee_lab", "exec", str(scenario), "--out", str(full / "out"), *write]
    mounted = f"mount -t tmpfs -o size=1m none {full} && {{ {shlex.join(words)}; code=$?; ls {full} >&2; exit $code; }}"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", mounted], capture_output=True, check=False)
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert "No space left on device" in said
    # There is no partial record either; the output so far was displayed.
    assert said.rstrip().endswith("make room there, or write elsewhere")
    assert done.stdout.count(b"\0") == 2_000_000
