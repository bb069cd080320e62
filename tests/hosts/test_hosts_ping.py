# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pings before a run with real hosts: wrong connections end it with an error that names them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.hosts import kernels, own, real_time
from real_hosts import SCENARIO, real

MISSING = real_time.why_not()


AGENT = own.FOLDER / "agent"


def with_agent(cache: Path, file: str, old: str, new: str) -> dict[str, str]:
    """An environment with the default kernel and a fault in its agent."""
    kernel = kernels.find(None).folder
    shutil.copytree(kernel, cache / "perigee/kernels" / kernel.name)
    agent = cache / "perigee/kernels" / kernel.name / "agent"
    compiled(cache / "agent", agent, [p for p in own.agent() if p.suffix == ".c"], (file, old, new))
    manifest = agent.parent / kernels.MANIFEST
    known = json.loads(manifest.read_text())
    known["files"]["agent"] = own.sha256(agent)
    manifest.write_text(json.dumps(known))
    return {**os.environ, "XDG_CACHE_HOME": str(cache)}


def compiled(folder: Path, out: Path, programs: list[Path], fault: tuple[str, str, str]) -> None:
    """Compiles an agent with a fault: a file, and a text in it with its replacement."""
    file, old, new = fault
    shutil.copytree(AGENT, folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    names = [p.relative_to(AGENT) for p in programs]
    subprocess.run(["gcc", "-O1", "-static", "-o", out, *names], cwd=folder, check=True)


@pytest.mark.slow
@real
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        # Frames for all other hosts are addressed to the first host.
        ("net.c", "begin_message(&m, RTM_NEWNEIGH", "hardware[5] = 1;\n\tbegin_message(&m, RTM_NEWNEIGH",
         "by IPv4: s1 sends to s1 instead of d1"),
        # The second host has no IPv6 address.
        ("net.c", "	add_address(host->device, host->address6);",
         "	if (strcmp(host->name, \"d1\")) add_address(host->device, host->address6);",
         "by IPv6: d1 does not answer"),
        # A host that answers no pings.
        ("net.c", '	link_up("lo");', '	write_file("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1");\n	link_up("lo");',
         "by IPv4: d1 does not answer"),
    ],
    ids=["neighbour", "address", "silence"],
)  # fmt: skip
def test_a_misconnected_host_ends_the_run_and_is_named(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    (tmp_path / "real.toml").write_text(SCENARIO)
    environment = with_agent(tmp_path, file, old, new)
    words = ["run", "real.toml", "--cc", "cubic", "--backend", "linux", "--no-report", "--out", "out"]
    done = subprocess.run(
        [sys.executable, "-m", "perigee_lab", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done
    assert f'ping of flow "s1->d1" from s1 to d1 {said}' in done.stderr
    assert not (tmp_path / "out").exists(), "nothing was run"


@pytest.mark.slow
@real
def test_a_path_that_is_down_at_first_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(SCENARIO + '[[change]]\nat = "0 s"\noutage = "500 ms"\n')
    done = cli("run", "real.toml", "--cc", "cubic", "--backend", "linux", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "was not pinged over the network before the run: its path has an outage at the beginning" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(MISSING is not None, reason=f"no hosts in real time: {MISSING}")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_a_misconnected_namespace_ends_the_run_and_is_named(tmp_path: Path) -> None:
    # The interfaces of the two hosts are mixed up.
    programs = [*AGENT.glob("*.c"), *AGENT.glob("namespaces/*.c")]
    fault = ("namespaces/namespaces.c", "socket_of_host(i)", "socket_of_host(job.host_count - 1 - i)")
    compiled(tmp_path / "agent", tmp_path / "swapped", programs, fault)
    (tmp_path / "real.toml").write_text(SCENARIO)
    program = (
        "import sys; from perigee_lab.runs import backends; from perigee_lab.entry import main\n"
        "backends.COMMAND = (*backends.COMMAND[:-1], './swapped'); sys.exit(main())"
    )
    words = ["emulate", "real.toml", "--at", "s1", "--", "true"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "from s1 to d1 by IPv4: s1 sends through the interface of d1" in done.stderr
