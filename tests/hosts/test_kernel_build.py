# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kernel builds for real hosts, with a dozen lines in place of Linux (`test_kernel.py`)."""

from __future__ import annotations

import platform
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from test_kernel import MAIN, PATCH, made, on_x86, quiet, room, store, tree, with_tools

from conftest import PATIENCE_S, restore_signals, wait_for
from perigee_lab.hosts import build as building
from perigee_lab.hosts import kernels, needs, own, pinned, source, steps
from perigee_lab.hosts.kernels import KernelError, Source

__all__ = ["room", "store", "tree"]


@on_x86
def test_all_that_is_missing_is_said_at_once(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in set(needs.PROGRAMS) - {"flex", "bison", "xz"}:
        (tmp_path / tool).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / tool).chmod(0o755)
    with pytest.raises(KernelError) as caught:
        made()
    assert str(caught.value) == (
        "to build a kernel this machine lacks flex, bison, xz, apt-get, dpkg-deb (on Debian and Ubuntu: apt-get "
        "install bison flex xz-utils; without Debian's tools give the source with --source: Linux 6.12.117)"
    )
    (tmp_path / "gcc").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(KernelError, match=r"headers and static library of C.*libc6-dev"):
        made()
    assert not store.exists()


def test_other_machines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(KernelError, match=r"run on Linux on x86-64 only; this is \w+ on aarch64"):
        made()


@on_x86
@with_tools
def test_a_kernel_is_built_once(store: Path, room: Path, tree: Path) -> None:
    first = made(source=tree)
    assert first.fresh
    m = first.kernel.manifest
    assert (m.name, m.version, m.source.pinned) == ("default", "6.12.0-test", False)
    assert "is not the source of this release" in first.warnings[0]
    assert [p.name for p in m.patches] == ["0001-say.patch"]
    assert set(m.files) == {"linux", "agent", "kit.tar.gz"}
    assert {p.name for p in first.kernel.folder.iterdir()} == {*m.files, "kernel.json"}
    ran = subprocess.run([first.kernel.folder / "linux"], capture_output=True, text=True, check=True)
    assert ran.stdout == "patched\n"
    again = made(source=tree)
    assert not again.fresh
    assert again.kernel.manifest.built == m.built
    assert [p.name for p in store.iterdir()] == [m.key], "nothing else is left"
    assert made(source=tree, name="mine").kernel.manifest.name == "mine"
    assert kernels.find("mine").manifest.key == m.key


@on_x86
@with_tools
def test_a_module_or_an_agent_needs_no_other_kernel(store: Path, room: Path, tree: Path, tmp_path: Path) -> None:
    plain = made(source=tree).kernel
    module = tmp_path / "tcp_mine.c"
    module.write_text("int mine;\n")
    # From now on, compiling fails: any file that is compiled again causes an error.
    again = building.Asked(source=tree, modules=(module,))

    def refused(*_: object) -> None:
        raise AssertionError("the kernel is compiled again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building._Build, "_compile", refused)
        mine = building.build(again, quiet).kernel
        (room / "agent/agent.c").write_text("int main(void) { return 1; }\n")
        newer = made(source=tree).kernel
    assert mine.manifest.name == "tcp_mine"
    assert set(mine.manifest.files) == {"linux", "agent", "kit.tar.gz", "modules/tcp_mine.ko"}
    assert mine.manifest.files["linux"] == newer.manifest.files["linux"] == plain.manifest.files["linux"]
    assert newer.manifest.files["agent"] != plain.manifest.files["agent"]
    assert kernels.find().manifest.key == newer.manifest.key
    for kernel in kernels.sound():
        kernels.remove(kernel.folder)
    module.write_text("int mine\n")
    with pytest.raises(KernelError, match=r"(?s)tcp_mine.c cannot be compiled:.*tcp_mine.c:1.*error") as caught:
        made(source=tree, modules=(module,))
    assert caught.value.code == 2
    assert [k.manifest.name for k in kernels.sound()] == ["default"], "the kernel itself is not lost"


@on_x86
@with_tools
def test_an_archive_and_its_tree_can_be_kept(store: Path, room: Path, tree: Path, tmp_path: Path) -> None:
    archive = tmp_path / "linux-6.12.tar.xz"
    with tarfile.open(archive, "w:xz") as file:
        file.add(tree, "linux-6.12")
    done = made(source=archive, keep=True)
    assert done.tree == store / f"tree-{done.kernel.manifest.base}"
    assert (done.tree / "linux").exists()
    assert done.kernel.manifest.source == Source(archive.name, own.sha256(archive), pinned=False)
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(KernelError, match="cannot be unpacked"):
        made(source=archive)
    assert not (store / "work").exists()


@on_x86
@with_tools
def test_the_source_of_the_release_is_known_by_its_hash(
    store: Path, room: Path, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "any-name.tar"
    with tarfile.open(archive, "w") as file:
        file.add(tree, "linux-6.12")
    monkeypatch.setattr(pinned, "SHA256", own.sha256(archive))
    done = made(source=archive)
    assert done.kernel.manifest.source.pinned
    assert done.warnings == ()
    # The source need not be fetched for its hash to be known.
    monkeypatch.setattr(source, "fetch", lambda *_: pytest.fail("is fetched"))
    monkeypatch.setattr(needs, "FETCHING", {})
    assert not made().fresh


@on_x86
@with_tools
def test_a_patch_that_does_not_fit_names_file_and_hunk(store: Path, room: Path, tree: Path, tmp_path: Path) -> None:
    patch = tmp_path / "other.patch"
    patch.write_text(PATCH.replace("Linux", "BSD").replace("patched", "other"))
    with pytest.raises(KernelError, match=r"other.patch does not fit this source: hunk 1 of main.c \(line 1\)"):
        made(source=tree, patches=(patch,))
    patch.write_text(PATCH.replace("main.c", "none.c"))
    with pytest.raises(KernelError, match=r"other.patch does not fit this source: can't find file to patch"):
        made(source=tree, patches=(patch,))
    patch.write_text(PATCH)
    with pytest.raises(KernelError, match=r"other.patch does not fit this source: .*main.c has this change already"):
        made(source=tree, patches=(patch,))
    patch.write_text("no patch\n")
    with pytest.raises(KernelError, match=r"other.patch does not fit this source: Only garbage was found"):
        made(source=tree, patches=(patch,))
    with pytest.raises(KernelError, match=r"none.patch cannot be read: No such file"):
        made(source=tree, patches=(tmp_path / "none.patch",))
    assert not list(store.iterdir())


@on_x86
@with_tools
def test_what_the_source_does_not_know_is_an_error(store: Path, room: Path, tree: Path) -> None:
    with (room / "kernel/config").open("a") as file:
        file.write("CONFIG_LOST=y\n")
    with pytest.raises(KernelError, match=r"does not know what the configuration asks for: CONFIG_LOST=y \(is n\)"):
        made(source=tree)


@on_x86
@with_tools
def test_errors_of_the_compiler_are_shown(store: Path, room: Path, tree: Path) -> None:
    (room / "agent/agent.c").write_text("int main(void) { return }\n")
    with pytest.raises(KernelError, match=r"(?s)the agent cannot be compiled:.*agent.c:1:.*error"):
        made(source=tree)
    (room / "agent/agent.c").unlink()
    (tree / "main.c").write_text(MAIN.replace("puts", "put(s"))
    (room / "kernel/patches/0001-say.patch").unlink()
    with pytest.raises(KernelError, match=r"(?s)the kernel cannot be compiled:.*main.c:4:.*error") as caught:
        made(source=tree)
    assert caught.value.code == 1
    assert not list(store.iterdir())


@on_x86
@with_tools
def test_no_room_and_no_source_are_said_before_anything_begins(
    store: Path, room: Path, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinned, "ROOM", 10**18)
    with pytest.raises(KernelError, match=r"takes 1000000000.0 GB for some minutes, .* make room there"):
        made(source=tree)
    with pytest.raises(KernelError, match="no source of Linux"):
        made(source=tmp_path)
    with pytest.raises(KernelError, match="there is no such folder or archive"):
        made(source=tmp_path / "none")
    with pytest.raises(KernelError, match="--name a/b: give a word"):
        made(source=tree, name="a/b")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a b"))
    with pytest.raises(KernelError, match="because of the spaces or colons in this name: set XDG_CACHE_HOME"):
        made(source=tree)


@on_x86
@with_tools
def test_the_environment_of_the_user_does_not_get_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ARCH", "CROSS_COMPILE", "MAKEFLAGS", "KCFLAGS", "CFLAGS", "LANG", "LC_ALL"):
        monkeypatch.setenv(name, "odd")
    done = steps.call(["env"], tmp_path)
    assert "odd" not in "".join(done.lines)


def test_what_went_wrong_is_told_from_what_follows_of_it() -> None:
    lines = ["  CC      a.o", "make[3]: *** No rule to make target 'b.o', needed by 'c'.  Stop."]
    follows = ["  CC      d.o", "make[2]: *** [Makefile:478: drivers] Error 2", "make: *** [Makefile:236: sub] Error 2"]
    assert steps.Done(2, [*lines, *follows]).errors == f"  {lines[1]}"
    compiler = ["a.c:1:2: error: expected ';'", 'lib/Kconfig:9: can\'t open file "x"']
    assert steps.Done(2, [*compiler, *follows]).errors == f"  {compiler[0]}\n  {compiler[1]}"
    assert steps.Done(2, ["odd", "words"]).errors == "  odd\n  words"


SCRIPT = """
from pathlib import Path
from perigee_lab import entry
from perigee_lab.hosts import own, pinned
pinned.ROOM = pinned.LESS_ROOM = 1
own.FOLDER = Path({room!r})
entry.main()
"""


@on_x86
@with_tools
def test_ctrl_c_ends_a_build_and_leaves_nothing(store: Path, room: Path, tree: Path, tmp_path: Path) -> None:
    (tree / "hangs").touch()
    words = [sys.executable, "-c", SCRIPT.format(room=str(room)), "kernel", "build", "--source", str(tree)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=restore_signals)  # noqa: PLW1509
    wait_for((store / "hanging").exists, process)
    other = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE_S)
    assert other.returncode == 2
    assert other.stderr == "perigee: another kernel is being built: wait until that has ended\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert errors.endswith("perigee: interrupted\n")
    assert [p.name for p in store.iterdir()] == ["hanging"]
    (store / "hanging").unlink()
    (tree / "hangs").unlink()
    assert made(source=tree).fresh


@on_x86
@with_tools
def test_what_a_killed_build_left_is_swept(store: Path, room: Path, tree: Path) -> None:
    (tree / "hangs").touch()
    words = [sys.executable, "-c", SCRIPT.format(room=str(room)), "kernel", "build", "--source", str(tree)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    wait_for((store / "hanging").exists, process)
    process.kill()
    process.wait()
    (store / "hanging").unlink()
    assert (store / "work/tree").exists()
    (tree / "hangs").unlink()
    kernel = made(source=tree).kernel
    assert {p.name for p in store.iterdir()} == {kernel.manifest.key}
