# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Selection of a backend: the registry, --backend and its older forms, backends in jobs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from conftest import ROOT, Cli
from perigee_lab import _core
from perigee_lab.cli.backend import OLDER, BackendOption, name_of
from perigee_lab.common.files import RecordError
from perigee_lab.results.record import run_folder
from perigee_lab.results.run import open_record
from perigee_lab.runs import backends

SCENARIO = '[run]\nduration = "1 s"\n[source.dumbbell]\n[port.bottleneck]\nrate = "2 Mbit"\n[[flow]]\n'


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_the_registry_is_what_the_pages_list() -> None:
    assert backends.names()[0] == backends.SIMULATOR.name, "the default"
    assert all(summary and "\n" not in summary for _, summary in _core.backends())
    page = (ROOT / "docs/how-to/hosts.md").read_text(encoding="utf-8").split("## Backends\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == backends.names()
    option = get_args(BackendOption)[1]
    assert option.metavar == "|".join(backends.names()), "python/perigee_lab/cli/backend.py"


def test_the_core_names_what_it_does_not_know() -> None:
    core = _core.Scenario.parse(SCENARIO, "s", ".", [])
    for given, said in (
        ({"backend": "linus"}, f'unknown backend "linus": use one of {", ".join(backends.names())}'),
        ({"backend": "linux", "kernle": "x"}, 'no option "kernle"; it has kernel, modules'),
        ({"backend": "linux", "modules": True}, 'option "modules"'),
    ):
        with pytest.raises(_core.RunError, match=re.escape(said)):
            core.schemes(["cubic"], given)
    with pytest.raises(ValueError, match='missing key "backend"'):
        core.schemes(["cubic"], {})


def test_jobs_name_backends_by_key() -> None:
    # Keys of results depend on these values, which are those of earlier versions.
    assert (backends.SIMULATOR.key, backends.Emulation().key) == (None, "machine")
    assert backends.by_key(None) == backends.SIMULATOR
    assert backends.by_key("machine") == backends.Emulation()
    assert backends.Backend("mine").key == "mine"
    with pytest.raises(RecordError):
        backends.by_key("0123456789abcdef")


def test_emulation_has_its_options() -> None:
    told = backends.Emulation(all_flows=False, places=("a=netns:x", "b=interface:eth9")).as_core()
    assert (told["backend"], told["all_flows"], told["apart"]) == ("emulation", False, ["b"])
    command = told["command"]
    assert isinstance(command, list)
    assert command[-2:] == ["a=netns:x", "b=interface:eth9"]
    assert backends.SIMULATOR.as_core() == {"backend": "simulator"}


@pytest.mark.slow
def test_the_default_by_its_name_is_the_same_run(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    found = []
    for name, words in (("default", ()), ("named", ("--backend", "simulator")), ("older", ("--hosts", "simulated"))):
        out = tmp_path / name
        assert cli("run", scenario, "--cc", "cubic", "--no-report", "--out", out, *words).returncode == 0
        run = open_record(run_folder(out, "cubic", 1))
        found.append((run.manifest["key"], {n: t.sha256 for n, t in run.manifest.tables.items()}))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("command", ["run", "check", "sweep", "exec", "shell"])
def test_unknown_backends_are_refused_with_those_there_are(cli: Cli, scenario: Path, command: str) -> None:
    programs = ["--at", "s1", "--", "true"] if command in ("exec", "shell") else []
    done = cli(command, scenario, "--backend", "linus", *programs)
    assert done.returncode == 2
    assert f"'linus' is not registered; there are {', '.join(backends.names())}" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--hosts", "windows"), "neither simulated nor linux"),
        (("run", "--clock", "slow"), "neither virtual nor real"),
        (("run", "--clock", "real"), "use --backend emulation"),
        (("run", "--backend", "simulator", "--hosts", "linux"), "--hosts linux contradicts --backend simulator"),
        (("check", "--backend", "linux", "--clock", "real"), "--clock real contradicts --backend linux"),
        (("run", "--backend", "emulation", "--kernel", "x"), "--kernel names the kernel of --backend linux"),
        (("sweep", "--backend", "emulation", "--set", "run.seed=1,2"), "side by side"),
        (("exec", "--backend", "simulator", "--at", "s1", "--", "true"), "no hosts for programs; linux and emulation"),
        (("exec", "--use", "s1=netns:x", "--at", "s1", "--", "true"), "--backend emulation"),
    ],
)
def test_what_contradicts_itself_is_refused(cli: Cli, scenario: Path, words: tuple[str, ...], said: str) -> None:
    command, *others = words
    done = cli(command, scenario, *others)
    if said not in done.stderr and ("namespaces" in done.stderr or "hosts in real time need" in done.stderr):
        pytest.skip("no hosts in real time here")
    assert done.returncode == 2
    assert said in done.stderr, done.stderr


@pytest.mark.parametrize(("hosts", "clock"), OLDER)
def test_older_forms_hold_with_a_warning(hosts: str, clock: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    name = OLDER[hosts, clock]
    for backend in (None, name):
        assert name_of(backend, hosts, clock) == name
        assert f"is deprecated and will be removed in the next version; use --backend {name}" in capsys.readouterr().err
    assert name_of(name, None, None) == name
    assert capsys.readouterr().err == ""


def test_the_clock_of_programs_is_that_of_real_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    assert name_of(None, None, "real", default="linux") == "emulation"
    assert "use --backend emulation" in capsys.readouterr().err
    assert name_of(None, None, "virtual", default="linux") == "linux"
