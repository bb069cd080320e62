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
from perigee_lab.hosts import kernels, namespaces, own, real_time
from real_hosts import SCENARIO, real

MISSING = real_time.why_not()


def with_agent(cache: Path, file: str, old: str, new: str) -> dict[str, str]:
    """An environment with the default kernel and a fault in its agent."""
    kernel = kernels.find(None).folder
    shutil.copytree(kernel, cache / "perigee/kernels" / kernel.name)
    sources = cache / "agent"
    shutil.copytree(own.agent()[0].parent, sources)
    text = (sources / file).read_text()
    assert text.count(old) == 1
    (sources / file).write_text(text.replace(old, new))
    agent = cache / "perigee/kernels" / kernel.name / "agent"
    programs = [p.name for p in own.agent() if p.suffix == ".c"]
    subprocess.run(["gcc", "-O1", "-static", "-o", agent, *programs], cwd=sources, check=True)
    manifest = agent.parent / kernels.MANIFEST
    known = json.loads(manifest.read_text())
    known["files"]["agent"] = own.sha256(agent)
    manifest.write_text(json.dumps(known))
    return {**os.environ, "XDG_CACHE_HOME": str(cache)}


@real
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        # Frames for all other hosts are addressed to the first host.
        ("net.c", "begin(&m, RTM_NEWNEIGH", "hardware[5] = 1;\n\tbegin(&m, RTM_NEWNEIGH",
         "by IPv4: s1 sends to s1 instead of d1"),
        # The second host has no IPv6 address.
        ("net.c", "	add_address(host->address6);", "	if (strcmp(host->name, \"d1\")) add_address(host->address6);",
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


@real
def test_a_path_that_is_down_at_first_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(SCENARIO + '[[change]]\nat = "0 s"\noutage = "500 ms"\n')
    done = cli("run", "real.toml", "--cc", "cubic", "--backend", "linux", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "was not pinged over the network before the run: its path has an outage at the beginning" in done.stdout


@pytest.mark.skipif(MISSING is not None, reason=f"no hosts in real time: {MISSING}")
def test_a_misconnected_namespace_ends_the_run_and_is_named(tmp_path: Path) -> None:
    # The interfaces of the two hosts are mixed up.
    source = Path(namespaces.__file__).read_text()
    fault = source.replace("\n    return made\n", "\n    return made[::-1]\n")
    assert fault != source
    (tmp_path / "swapped.py").write_text(fault)
    # The process in the namespaces imports only files in its folder.
    for beside in Path(namespaces.__file__).parent.glob("*.py"):
        if beside.name != "__init__.py":
            (tmp_path / beside.name).write_text(beside.read_text())
    (tmp_path / "real.toml").write_text(SCENARIO)
    program = (
        "import sys; from perigee_lab.hosts import namespaces; from perigee_lab.entry import main\n"
        "namespaces.COMMAND = (*namespaces.COMMAND[:-1], 'swapped.py'); sys.exit(main())"
    )
    words = ["emulate", "real.toml", "--at", "s1", "--", "true"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "from s1 to d1 by IPv4: s1 sends through the interface of d1" in done.stderr
