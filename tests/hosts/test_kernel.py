# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kernels of real hosts: inputs determine the key, the cache is checked, errors are one line.

A source tree of a dozen lines stands for Linux, so that a full build takes a second. Tests of the
real kernel are skipped if none is built (`make kernel`).
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Cli
from perigee_lab.hosts import build as building
from perigee_lab.hosts import doctor, kernels, needs, own, pinned, recipe, source
from perigee_lab.hosts.kernels import Damaged, Kernel, KernelError, Manifest, Source

MAKEFILE = """\
allnoconfig:
	cp $(KCONFIG_ALLCONFIG) .config
	sed -i s/CONFIG_LOST=y/CONFIG_LOST=n/ .config
mrproper:
linux:
	@echo '  CC      main.o'
	@[ ! -e hangs ] || touch ../../hanging
	@while [ -e ../../hanging ]; do sleep 0.1; done
	gcc -o linux main.c
	mkdir -p include/config
	echo 6.12.0-test > include/config/kernel.release
modules:
	echo symbols > Module.symvers
	for f in $(M)/*.c; do [ ! -e $$f ] || gcc -c -o $${f%.c}.ko $$f || exit 1; done
"""
MAIN = '#include <stdio.h>\nint main(void)\n{\n\treturn puts("Linux") < 0;\n}\n'
PATCH = """\
--- a/main.c
+++ b/main.c
@@ -1,5 +1,5 @@
 #include <stdio.h>
 int main(void)
 {
-\treturn puts("Linux") < 0;
+\treturn puts("patched") < 0;
 }
"""

on_x86 = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="kernels run on Linux on x86-64 only"
)
lacks = [tool for tool in needs.PROGRAMS if shutil.which(tool) is None]
with_tools = pytest.mark.skipif(bool(lacks), reason=f"building needs {', '.join(lacks)}")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return kernels.store()


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for Perigee's own configuration, patches and agent."""
    folder = tmp_path / "room"
    (folder / "kernel/patches").mkdir(parents=True)
    (folder / "agent").mkdir()
    (folder / "kernel/config").write_text("CONFIG_NET=y\n# CONFIG_BLOCK is not set\n")
    (folder / "kernel/patches/0001-say.patch").write_text(PATCH)
    (folder / "agent/agent.c").write_text("int main(void) { return 0; }\n")
    monkeypatch.setattr(own, "FOLDER", folder)
    monkeypatch.setattr(pinned, "ROOM", 1)
    monkeypatch.setattr(pinned, "LESS_ROOM", 1)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that stands for the source of Linux."""
    folder = tmp_path / "linux-6.12"
    (folder / "arch/um").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "main.c").write_text(MAIN)
    return folder


@pytest.fixture
def real() -> Kernel:
    """A kernel that was built on this machine."""
    try:
        found = kernels.find()
    except KernelError as error:
        pytest.skip(f"{error} (in a checkout: make kernel)")
    if own.agent_sha256() is None:
        pytest.skip("there is no agent yet")
    return found


def quiet(*_: object) -> None:
    """Ignores progress."""


def made(**keys: Any) -> building.Built:
    return building.build(building.Asked(**keys), quiet)


def put(store: Path, key: str, **changes: Any) -> Path:
    """Puts a kernel that was never built into the cache."""
    folder = store / key
    (folder / "modules").mkdir(parents=True)
    (folder / "linux").write_bytes(b"kernel")
    (folder / "agent").write_bytes(b"agent")
    (folder / "kit.tar.gz").write_bytes(b"kit")
    names = ("linux", "agent", "kit.tar.gz")
    manifest = Manifest(
        format=1,
        name="default",
        key=key,
        base=key,
        version="6.12.117-perigee",
        source=Source("linux-source-6.12", "0" * 64, pinned=True),
        patches=own.parts(),
        extra_patches=(),
        config_sha256=own.sha256(own.config()),
        modules=(),
        agent_sha256=own.agent_sha256(),
        compiler="gcc 12",
        linker="ld 2.40",
        files={n: own.sha256(folder / n) for n in names},
        built="2026-01-01T00:00:00+00:00",
        build_s=1.0,
    )
    kernels.write_manifest(folder, replace(manifest, **changes))
    return folder


A, B, C = ("a" * 16, "b" * 16, "c" * 16)
MINE = (own.File("tcp_mine.c", "1" * 64),)


# ---- what goes in gives the key ------------------------------------------------------------------


def test_the_key_is_that_of_content_not_of_names(room: Path, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tcp_mine.c").write_text("int a;\n")
        (tmp_path / folder / f"{folder}.patch").write_text("p\n")
    origin = Source("one name", "f" * 64, pinned=False)
    keys = {
        recipe.Recipe.of([tmp_path / f"{d}/{d}.patch"], [tmp_path / d / "tcp_mine.c"]).key(o)
        for d in ("x", "y")
        for o in (origin, replace(origin, name="another", pinned=True))
    }
    assert len(keys) == 1
    assert kernels.KEY.fullmatch(keys.pop())


def test_whatever_goes_in_changes_the_key_and_only_the_kernel_itself_its_base(room: Path, tmp_path: Path) -> None:
    origin = Source("linux", "f" * 64, pinned=True)
    patch, module = tmp_path / "p.patch", tmp_path / "tcp_mine.c"
    patch.write_text("p\n")
    module.write_text("int a;\n")

    def both(patches: list[Path] | None = None, modules: list[Path] | None = None) -> tuple[str, str]:
        r = recipe.Recipe.of(patches or [], modules or [])
        return r.base(origin), r.key(origin)

    seen = [both(), both([patch]), both([], [module])]
    assert seen[2][0] == seen[0][0], "a module leaves the kernel as it is"
    module.write_text("int b;\n")
    seen.append(both([], [module]))
    patch.write_text("q\n")
    seen.append(both([patch]))
    plain = recipe.Recipe.of([], [])
    for other in (replace(plain, compiler="gcc 99"), replace(plain, linker="ld 99")):
        seen.append((other.base(origin), other.key(origin)))
    seen.append((plain.base(replace(origin, sha256="e" * 64)), plain.key(replace(origin, sha256="e" * 64))))
    (room / "agent/agent.h").write_text("")
    seen.append(both())
    assert seen[-1][0] == seen[0][0], "the agent leaves the kernel as it is"
    (room / "kernel/config").write_text("CONFIG_NET=y\n")
    seen.append(both())
    (room / "kernel/patches/0002-more.patch").write_text("more\n")
    seen.append(both())
    keys = [key for _, key in seen]
    assert len(set(keys)) == len(keys)
    assert len({base for base, _ in seen}) == len(seen) - 3


@pytest.mark.parametrize("name", ["mine.ko", "my-scheme.c", "Mine.c", "1.c"])
def test_modules_are_single_files_named_as_modules_are(name: str, room: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(KernelError, match=r"--module .*: give one file of C"):
        recipe.Recipe.of([], [tmp_path / name])


def test_settings_that_did_not_take_effect_are_named() -> None:
    wanted = 'CONFIG_A=y\n# CONFIG_B is not set\n# a comment\nCONFIG_C="x"\n# CONFIG_D is not set\nCONFIG_E=y\n'
    found = 'CONFIG_A=y\nCONFIG_B=y\nCONFIG_C="y"\n# CONFIG_E is not set\n'
    lost = ["CONFIG_B=n (is y)", 'CONFIG_C="x" (is "y")', "CONFIG_E=y (is not there)"]
    assert recipe.vanished(wanted, found) == lost
    assert recipe.vanished(wanted, wanted) == []


def test_our_own_patches_and_configuration_are_there_with_their_licence() -> None:
    assert len(own.patches()) >= 4
    licence = own.patches()[0].with_name("LICENSE").read_text()
    assert "SPDX-License-Identifier: GPL-2.0-only" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
    assert recipe.settings(own.config().read_text())["CONFIG_UML_TIME_TRAVEL_SUPPORT"] == "y"


# ---- the cache -----------------------------------------------------------------------------------


def test_a_manifest_comes_back_as_it_was(store: Path) -> None:
    kernel = kernels.opened(put(store, A, modules=MINE))
    assert json.loads((kernel.folder / "kernel.json").read_text()) == json.loads(json.dumps(asdict(kernel.manifest)))
    assert kernel.manifest.modules == MINE


@pytest.mark.parametrize("key", ["key", "base", "source", "files", "patches", "built"])
def test_what_a_manifest_lacks_is_named(key: str, store: Path) -> None:
    path = put(store, A) / "kernel.json"
    found = json.loads(path.read_text())
    del found[key]
    path.write_text(json.dumps(found))
    with pytest.raises(KernelError, match=rf"kernel.json: {key} is missing"):
        kernels.opened(path.parent)


def cut(folder: Path) -> None:
    (folder / "linux").write_bytes(b"ker")


def lost(folder: Path) -> None:
    (folder / "agent").unlink()


def garbled(folder: Path) -> None:
    (folder / "kernel.json").write_text("{")


def unmarked(folder: Path) -> None:
    (folder / "kernel.json").unlink()


def moved(folder: Path) -> None:
    folder.rename(folder.with_name(C))


DAMAGES = [cut, lost, garbled, unmarked, moved]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__)
def test_damaged_kernels_are_named_and_never_taken(damage: Callable[[Path], None], store: Path, cli: Cli) -> None:
    damage(put(store, A))
    (only,) = kernels.every()
    assert isinstance(only, Damaged)
    with pytest.raises(KernelError, match=r"is damaged .*: perigee kernel build"):
        kernels.find()
    done = cli("kernel", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("damaged: ")
    assert "Traceback" not in cli("kernel", "path", only.folder.name).stderr
    assert cli("kernel", "remove", only.folder.name).returncode == 0
    assert not list(store.iterdir())


def test_the_default_is_the_latest_without_patches_and_modules_of_ones_own(store: Path) -> None:
    put(store, A, built="2026-01-01T00:00:00+00:00")
    assert kernels.find().manifest.key == A
    put(store, B, built="2026-01-02T00:00:00+00:00", modules=MINE, name="tcp_mine")
    assert kernels.find().manifest.key == A
    put(store, C, built="2026-01-03T00:00:00+00:00")
    assert [k.folder.name for k in kernels.every()] == [C, A, B]
    for key in (A, C):
        kernels.remove(store / key)
    assert kernels.find().manifest.key == B, "the latest where there is no other"


def test_a_kernel_of_another_source_is_no_default_where_there_is_one_of_this_release(store: Path) -> None:
    put(store, A)
    put(store, B, built="2027-01-01T00:00:00+00:00", source=Source("linux-6.13", "3" * 64, pinned=False))
    assert kernels.find().manifest.key == A


def test_kernels_of_another_version_of_perigee_are_not_run(store: Path, cli: Cli) -> None:
    put(store, A)
    put(store, B, built="2027-01-01T00:00:00+00:00", agent_sha256="3" * 64)
    assert kernels.find().manifest.key == A
    kernels.remove(store / A)
    with pytest.raises(
        KernelError, match=r"default \(b+\) has the agent of another version .* build mends it, in seconds"
    ):
        kernels.find()
    put(store, C, config_sha256="3" * 64, patches=MINE)
    with pytest.raises(KernelError, match=r"has the patches and configuration of another version .* in some minutes"):
        kernels.find(C)
    done = cli("kernel", "list")
    assert "(default)" not in done.stdout
    assert done.stdout.count("of another Perigee: build it again") == 2
    assert cli("kernel", "remove", C).returncode == 0


def test_kernels_are_found_by_name_and_by_the_beginning_of_a_key(store: Path) -> None:
    put(store, A)
    put(store, B, name="mine")
    put(store, "b" * 15 + "c", name="mine", built="2026-02-01T00:00:00+00:00")
    assert kernels.find("mine").manifest.key.endswith("c"), "the latest of a name"
    assert kernels.find("aaaa").manifest.key == A
    with pytest.raises(KernelError, match="bbbb begins more than one key"):
        kernels.find("bbbb")
    with pytest.raises(KernelError, match=r"no kernel is named other; there are mine \(b+c\), .*default \(a+\)"):
        kernels.find("other")


def test_without_a_kernel_every_command_says_the_one_that_makes_it(store: Path, cli: Cli) -> None:
    for words in (("path",), ("path", "mine"), ("doctor",), ("remove", "mine")):
        done = cli("kernel", *words)
        assert done.returncode == 2, words
        assert "perigee kernel build" in done.stderr
        assert done.stderr.count("\n") == 1
    assert "perigee kernel build" in cli("kernel", "list").stdout
    assert cli("kernel", "remove").returncode == 2
    assert cli("kernel", "remove", "--all").stdout == "no kernel to remove\n"
    found = json.loads(cli("kernel", "doctor", "--json").stdout)
    assert not found["ok"]
    assert "perigee kernel build" in found["message"]


def test_kernels_are_listed_and_removed(store: Path, cli: Cli) -> None:
    put(store, A)
    put(store, B, name="tcp_mine", modules=MINE, extra_patches=(own.File("bbr3.patch", "2" * 64),))
    lines = cli("kernel", "list").stdout.splitlines()
    assert lines[0].split() == ["name", "key", "version", "patches", "modules", "MB", "built"]
    assert lines[1].split()[:4] == ["default", "(default)", A, "6.12.117-perigee"]
    assert "bbr3.patch" in lines[2]
    assert "tcp_mine.c" in lines[2]
    found = json.loads(cli("kernel", "list", "--json").stdout)
    assert [(k["key"], k["default"]) for k in found["kernels"]] == [(A, True), (B, False)]
    assert cli("kernel", "path").stdout == f"{store / A}\n"
    assert cli("kernel", "path", "tcp_mine").stdout == f"{store / B}\n"
    assert cli("kernel", "remove", "tcp_mine").stdout == f"removed {store / B}\n"
    (store / "tree-x").mkdir()
    (store / "work").mkdir()
    done = json.loads(cli("kernel", "remove", "--all", "--json").stdout)
    assert {Path(f).name for f in done["removed"]} == {A, "tree-x", "work"}
    assert not list(store.iterdir())


# ---- the doctor ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ended", "said"),
    [
        (["Checking PROT_EXEC mmap in /dev/shm...", "/dev/shm must be not mounted noexec"], 1, "mounted noexec"),
        (["ptrace: Operation not permitted"], 1, "ptrace is forbidden"),
        (["check_ptrace : expected SIGSTOP, got status = 9"], 1, "ptrace is forbidden"),
        (["ptrace set fp regs failed, errno = 14"], -9, "registers of this processor"),
        (["Kernel panic - not syncing: VFS: Unable to mount root fs on hostfs"], -6, "openat2(2) is missing here"),
        (["a", "Kernel panic - not syncing: VFS: no root"], -6, "the kernel panics: VFS: no root"),
        (["the last words"], -11, "was killed by signal 11 before it was up: the last words"),
        ([], 0, "ended with 0 before it was up, without a word"),
    ],
)
def test_what_is_wrong_is_read_from_the_console(lines: list[str], ended: int, said: str) -> None:
    assert said in doctor.diagnosis(lines, ended)


def faked(store: Path, program: str) -> None:
    """A kernel with a script as its program."""
    folder = put(store, A)
    (folder / "linux").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "linux").chmod(0o755)
    path = folder / "kernel.json"
    found = json.loads(path.read_text())
    found["files"]["linux"] = own.sha256(folder / "linux")
    path.write_text(json.dumps(found))


@on_x86
def test_the_doctor_tells_a_sound_kernel_from_others(store: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    faked(store, "echo perigee: ok")
    done = cli("kernel", "doctor")
    assert done.returncode == 0
    assert done.stdout.startswith(f"default ({A}) boots in ")
    kernels.remove(store / A)
    faked(store, "echo one; echo 'Kernel panic - not syncing: two'; exit 3")
    done = cli("kernel", "doctor")
    assert done.returncode == 1
    assert done.stderr == (
        f"perigee: default ({A}): the kernel panics: two\n  one\n  Kernel panic - not syncing: two\n"
    )
    found = json.loads(cli("kernel", "doctor", "--json").stdout)
    assert found["console"] == ["one", "Kernel panic - not syncing: two"]
    kernels.remove(store / A)
    faked(store, "echo perigee: ok; sleep 1000")
    assert doctor.examine(patience_s=0.5).message == "has not come up within 0.5 s"
    small = os.statvfs_result((4096, 4096, 0, 0, 1024, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: small)
    assert "has 4 MB free, a kernel's memory takes 256" in doctor.examine().message
    kernels.remove(store / A)
    folder = put(store, A, files={})
    (folder / "agent").unlink()
    with pytest.raises(KernelError, match="was built without the agent"):
        doctor.examine()


# ---- the real one --------------------------------------------------------------------------------


def test_the_kernel_boots_on_this_machine(real: Kernel) -> None:
    found = doctor.examine(real.manifest.key)
    assert found.ok, (found.message, found.console)


@pytest.mark.slow
@with_tools
def test_the_example_of_a_module_builds_and_boots(real: Kernel, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shutil.copytree(real.folder, kernels.store() / real.folder.name)
    # The hash of the source as it was then; the source is not read again.
    monkeypatch.setattr(pinned, "SHA256", real.manifest.source.sha256)
    monkeypatch.setattr(needs, "FETCHING", {})
    monkeypatch.setattr(building._Build, "_compile", lambda *_: pytest.skip("built with other tools than are here now"))
    monkeypatch.setattr(source, "fetch", lambda *_: pytest.skip("built with other tools than are here now"))
    built = made(modules=(ROOT / "examples/tcp_mine.c",)).kernel
    assert built.manifest.files["linux"] == real.manifest.files["linux"]
    assert b"license=Dual MIT/GPL" in (built.folder / "modules/tcp_mine.ko").read_bytes()
    found = doctor.examine("tcp_mine")
    assert found.ok, (found.message, found.console)


def test_the_page_shows_the_example_whole() -> None:
    page = (ROOT / "docs/how-to/hosts-kernel.md").read_text(encoding="utf-8")
    assert (ROOT / "examples/tcp_mine.c").read_text(encoding="utf-8") in page
