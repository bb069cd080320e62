# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Confinement of programs on real hosts. Skipped if no kernel is built (`make kernel`)."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.hosts.real_time import why_not
from perigee_lab.runs.programs import outermost
from real_hosts import SCENARIO, real

OWN = ("--set", 'hosts.kernel="own"')
CHROOT = 1 << 18
real_time = pytest.mark.skipif(why_not() is not None, reason=f"no namespaces here: {why_not()}")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "real.toml"
    path.write_text(SCENARIO)
    return path


@real
def test_a_folder_that_another_kernel_replaces_by_a_link_leads_nowhere(
    cli: Cli, scenario: Path, tmp_path: Path
) -> None:
    shared, outside = tmp_path / "shared", tmp_path / "outside"
    for folder in (shared / "held", shared / "deep" / "er", outside, outside / "er"):
        folder.mkdir(parents=True)
    (outside / "kept").write_text("before")
    (shared / "held" / "kept").write_text("mine")
    (shared / "file").write_text("mine")
    # The first host holds a folder open and has accessed a deeper one; the second replaces both;
    # the first continues to write.
    held = [
        "cat kept",
        "sleep 0.5",
        "echo after > kept",
        "echo new > made",
        "mkdir made.d",
        "ln -s x made.l",
        "ln kept made.h",
        "chmod 777 kept",
        "touch -d 2001-01-01 kept",
        "truncate -s 1 kept",
        "mv kept moved",
        "rm kept",
        "mkfifo made.p",
        f"echo new > {shared}/deep/er/made",
        f"cat {shared}/file",
        f"echo after > {shared}/file",
    ]
    replacing = (
        f"sleep 0.3; mv {shared}/held {shared}/was; ln -s {outside} {shared}/held; "
        f"mv {shared}/deep {shared}/deeper; ln -s {outside} {shared}/deep; "
        f"rm {shared}/file; ln -s {outside}/kept {shared}/file"
    )
    line = f"cd {shared}/held && ls {shared}/deep/er; " + "; ".join(f"({w}) 2>/dev/null" for w in held) + "; true"
    words = ("--at", "d1", "--", "sh", "-c", replacing, "--at", "s1", "--", "sh", "-c", line)
    before = outside.stat()
    done = cli("exec", scenario, *OWN, "--writable", shared, "--json", *words)
    assert done.returncode == 0, done.stderr
    other, first = json.loads(done.stdout)["programs"]
    # Both hosts accessed the folder, and the second did replace it.
    assert (first["output"][:4], other["exit_code"]) == ("mine", 0), done.stdout
    assert os.readlink(shared / "held") == str(outside)
    assert sorted(p.name for p in outside.rglob("*")) == ["er", "kept"]
    after = (outside / "kept").stat()
    assert ((outside / "kept").read_text(), stat.S_IMODE(after.st_mode) & 0o111) == ("before", 0)
    assert after.st_mtime > before.st_mtime - 60
    assert (shared / "was" / "kept").read_text() == "mine"


@real
def test_links_that_a_folder_has_lead_where_they_do_on_the_machine(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "a").mkdir(parents=True)
    (shared / "a" / "file").write_text("one")
    (shared / "link").symlink_to("a")
    (shared / "away").symlink_to(tmp_path)
    line = (
        "cat link/file; echo two > link/file; echo three > a/new; mv a/new a/newer; ln a/newer a/also; "
        "mkdir d; rmdir d; chmod 600 a/newer; ln -s x l; readlink l; rm l; cat away/real.toml | head -c 5; "
        "echo no > away/out 2>&1; ls a"
    )
    done = cli("exec", scenario, "--writable", shared, "--at", "s1", "--", "sh", "-c", f"cd {shared}; {line}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "onex\n[run]also\nfile\nnewer\n"
    assert (shared / "a" / "file").read_text() == "two\n"
    assert (shared / "a" / "also").read_text() == "three\n"
    assert stat.S_IMODE((shared / "a" / "newer").stat().st_mode) == 0o600
    # Outside the shared folder, the guest writes to an overlay in memory, even through a link.
    assert not (tmp_path / "out").exists()


def capabilities(text: str) -> dict[str, int]:
    """The capability sets of a process by name, from its status."""
    return {name: int(value, 16) for name, _, value in (line.partition(":\t") for line in text.splitlines())}


@pytest.mark.slow
@real
def test_programs_cannot_change_their_root(cli: Cli, scenario: Path) -> None:
    line = "grep ^Cap /proc/self/status"
    done = cli("exec", scenario, "--at", "s1", "--", "sh", "-c", line)
    found = capabilities(done.stdout)
    assert sorted(found) == ["CapAmb", "CapBnd", "CapEff", "CapInh", "CapPrm"], done.stdout
    # The other capabilities of root are present, such as the one to change the network.
    assert found["CapEff"] & 1 << 12
    assert [name for name, bits in found.items() if bits & CHROOT] == []
    tries = "for how in 'chroot /' 'unshare -Ur true'; do $how true 2>/dev/null && echo open: $how; done; true"
    done = cli("exec", scenario, "--at", "s1", "--", "sh", "-c", tries)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@real_time
def test_programs_in_real_time_cannot_change_their_root(cli: Cli, scenario: Path) -> None:
    words = ("exec", scenario, "--backend", "emulation", "--at", "s1", "--", "grep", "^Cap", "/proc/self/status")
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    found = capabilities(done.stdout)
    assert found["CapEff"] & 1 << 12
    assert [name for name, bits in found.items() if bits & CHROOT] == []


def test_a_folder_within_another_is_not_given_twice(tmp_path: Path) -> None:
    for name in ("a/b", "ab"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    given = [tmp_path / n for n in ("a/b", "a", "link", "ab", "a/../a/b")]
    assert outermost(given) == [tmp_path / "a", tmp_path / "ab"]
