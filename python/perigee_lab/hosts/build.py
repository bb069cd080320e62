# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kernel build into the cache, with reuse of earlier builds.

The kernel itself takes minutes. It is built once for all requests with the same source, patches and
configuration, together with a kit (headers, configuration, symbols) for compiling modules: another
module or agent takes seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from perigee_lab.common.exit_codes import FAILED
from perigee_lab.common.files import LOCK, RecordError, claimed, filled
from perigee_lab.hosts import kernels, needs, pinned, source
from perigee_lab.hosts.kernels import AGENT, KIT, LINUX, MODULES, NAME, Kernel, KernelError, Manifest, Source
from perigee_lab.hosts.own import hashed, sha256
from perigee_lab.hosts.recipe import Recipe, vanished
from perigee_lab.hosts.steps import Progress, call, counting

# Modules are compiled in this subfolder of a kit: a relative name, so that no path of the machine
# enters them.
USER = "user"
# Folder of the kernel to which Perigee's sources are added.
SOURCES = "net/ipv4/orbcc"
MAKE = ("make", "ARCH=um")


@dataclass(frozen=True)
class Asked:
    """Options of a build."""

    source: Path | None = None
    patches: tuple[Path, ...] = ()
    modules: tuple[Path, ...] = ()
    name: str | None = None
    jobs: int | None = None
    keep: bool = False


@dataclass(frozen=True)
class Built:
    """Result of a build."""

    kernel: Kernel
    fresh: bool
    """False if it was in the cache."""
    warnings: tuple[str, ...]
    tree: Path | None
    """The built source tree, if `keep` was set."""


def build(asked: Asked, progress: Progress) -> Built:
    """Builds a kernel, unless it is in the cache.

    Raises:
        KernelError: it cannot be built; partial results are removed.
        OSError: the disk is full or not writable.
    """
    needs.check_machine()
    needs.check_path(kernels.store())
    if asked.name is not None and not NAME.fullmatch(asked.name):
        raise KernelError(f"--name {asked.name}: give a word of letters, digits and . _ + -")
    needs.check_tools(fetching=asked.source is None, archive=asked.source)
    recipe = Recipe.of(list(asked.patches), list(asked.modules))
    with _workplace() as work:
        return _Build(asked, recipe, work, progress).run()


@contextmanager
def _workplace() -> Iterator[Path]:
    """A folder for one build at a time, cleared of a killed build's files."""
    work = kernels.store() / kernels.WORK
    try:
        with claimed(work, fresh=True):
            _clear(work)
            try:
                yield work
            finally:
                _clear(work)
    except RecordError as error:
        busy = "is being written by another perigee" in str(error)
        raise KernelError("another kernel is being built: wait until that has ended" if busy else str(error)) from None


def _clear(work: Path) -> None:
    for path in work.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


class _Build:
    """One build, from source to cache."""

    def __init__(self, asked: Asked, recipe: Recipe, work: Path, progress: Progress) -> None:
        self.asked, self.recipe, self.work, self.progress = asked, recipe, work, progress
        self.tree = work / "tree"
        self.begin = time.monotonic()
        self.warnings: list[str] = []
        self.kept: Path | None = None

    def run(self) -> Built:
        """Builds, reusing as much of an earlier build as possible."""
        origin = source.identify(self.asked.source, self.work, self.progress)
        if (there := self._there(origin)) is None and origin.at is None and self._base(origin) is None:
            needs.check_room(self.work, lean=self._lean(origin))
            origin = source.fetch(origin, self.work, self.progress)
            there = self._there(origin)
        if not origin.source.pinned:
            self.warnings.append(
                f"{origin.source.name} is not the source of this release ({pinned.PACKAGE} {pinned.VERSION}): "
                "results may differ from those of others"
            )
        if there is not None:
            if self.asked.name not in (None, there.manifest.name):
                there = kernels.renamed(there, str(self.asked.name))
            return Built(there, fresh=False, warnings=tuple(self.warnings), tree=None)
        kernel = self._base(origin) or self._from_source(origin)
        if kernel.manifest.key != self.recipe.key(origin.source):
            kernel = self._from_base(kernel, origin.source)
        elif self.asked.name is not None:
            kernel = kernels.renamed(kernel, self.asked.name)
        if self.asked.keep and self.tree.exists():
            self.kept = self.work.with_name(f"{kernels.TREE}{kernel.manifest.base}")
            shutil.rmtree(self.kept, ignore_errors=True)
            self.tree.replace(self.kept)
        return Built(kernel, fresh=True, warnings=tuple(self.warnings), tree=self.kept)

    def _from_source(self, origin: source.Origin) -> Kernel:
        """Builds a kernel without modules; it is kept even if a module cannot be compiled."""
        parts = self.work / "parts"
        parts.mkdir()
        # First, because it is fast.
        self._agent(parts)
        version = self._compile(origin, parts)
        return self._store(replace(self.recipe, modules=()), origin.source, parts, version)

    def _from_base(self, base: Kernel, known: Source) -> Kernel:
        """Builds a kernel with another agent or other modules."""
        parts = self.work / "parts-and-modules"
        parts.mkdir()
        _share(base.folder, parts)
        self._agent(parts)
        self._modules(parts)
        return self._store(self.recipe, known, parts, base.manifest.version, self.asked.name)

    def _lean(self, origin: source.Origin) -> bool:
        """Whether unused source files can be omitted (known only for the pinned source)."""
        return origin.source.pinned and not self.asked.keep and not self.recipe.extra_patches

    def _there(self, origin: source.Origin) -> Kernel | None:
        key = self.recipe.key(origin.source)
        return next((k for k in kernels.sound() if k.manifest.key == key), None)

    def _base(self, origin: source.Origin) -> Kernel | None:
        """A cached kernel that differs at most in agent and modules."""
        base = self.recipe.base(origin.source)
        return next((k for k in kernels.sound() if k.manifest.base == base), None)

    # ---- the kernel itself -----------------------------------------------------------------------

    def _compile(self, origin: source.Origin, parts: Path) -> str:
        lean = self._lean(origin)
        needs.check_room(self.work, lean=lean)
        source.unpack(origin, self.tree, self.progress, lean=lean)
        for patch in self.recipe.patches:
            self._patch(patch, ours=True)
        added = self.tree / SOURCES
        added.mkdir(parents=True, exist_ok=True)
        for path in self.recipe.sources:
            shutil.copyfile(path, added / path.name)
        for patch in self.recipe.extra_patches:
            self._patch(patch, ours=False)
        self._configure()
        jobs = self.asked.jobs or len(os.sched_getaffinity(0))
        on_line = counting(self.progress, "compiling", pinned.LINES, made=True)
        done = call([*MAKE, f"-j{jobs}", "linux", "modules"], self.tree, on_line=on_line)
        if done.code != 0:
            raise KernelError(f"the kernel cannot be compiled:\n{done.errors}", FAILED)
        self.progress("packing", 0, 0)
        self._must(["strip", "-o", parts / LINUX, "linux"])
        self._pack_kit(parts / KIT)
        return (self.tree / "include/config/kernel.release").read_text(encoding="utf-8").strip()

    def _patch(self, patch: Path, *, ours: bool) -> None:
        self.progress(f"patching: {patch.name}", 0, 0)
        # Perigee's patches must apply exactly; user-supplied ones may be for a neighbouring
        # version.
        strict = ["--fuzz=0"] if ours else []
        words = ["patch", "-p1", "--forward", "--batch", "--no-backup-if-mismatch", *strict, "-i", patch.resolve()]
        done = call(words, self.tree)
        if done.code != 0:
            raise KernelError(f"{patch.name} does not fit this source: {_hunks(done.lines)}")
        if any("with fuzz" in line for line in done.lines):
            self.warnings.append(f"{patch.name} fits only roughly (see `patch --fuzz`): look at what it changed")

    def _configure(self) -> None:
        self.progress("configuring", 0, 0)
        wanted = self.recipe.config.read_text(encoding="utf-8")
        done = call([*MAKE, "allnoconfig"], self.tree, more={"KCONFIG_ALLCONFIG": str(self.recipe.config.resolve())})
        if done.code != 0:
            raise KernelError(f"the kernel cannot be configured:\n{done.errors}", FAILED)
        found = (self.tree / ".config").read_text(encoding="utf-8")
        if lost := vanished(wanted, found):
            raise KernelError(f"this source does not know what the configuration asks for: {', '.join(lost)}", FAILED)

    def _must(self, words: list[object]) -> None:
        done = call(words, self.tree)
        if done.code != 0:
            raise KernelError(f"{words[0]} failed:\n{done.errors}", FAILED)

    def _pack_kit(self, kit: Path) -> None:
        """Packs the files that `make M=…` needs, after scripts/package/install-extmod-build."""
        every = ["Makefile", "Kbuild", ".config", "Module.symvers", "scripts", "include"]
        every += ["arch/um", "arch/x86/include", "arch/x86/um", "arch/x86/Kbuild"]
        every += [str(p.relative_to(self.tree)) for p in sorted(self.tree.glob("arch/x86/Makefile*"))]
        # include/config has an empty file per setting, needed only to rebuild the kernel.
        left_out = ["*.o", "*.a", ".*.cmd", "scripts/dtc", "scripts/atomic", "scripts/kconfig", "include/config/[A-Z]*"]
        there = [name for name in every if (self.tree / name).exists()]
        same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]
        self._must(["tar", "-czf", kit, *same, *(f"--exclude={pattern}" for pattern in left_out), *there])

    # ---- agent and modules -----------------------------------------------------------------------

    def _agent(self, parts: Path) -> None:
        programs = [p for p in self.recipe.agent if p.suffix == ".c"]
        if not programs:
            return
        self.progress("compiling the agent", 0, 0)
        words = ["gcc", "-O2", "-Wall", "-static", "-s", "-o", parts / AGENT, *programs]
        done = call(words, parts)
        if done.code != 0:
            raise KernelError(f"the agent cannot be compiled:\n{done.errors}", FAILED)

    def _modules(self, parts: Path) -> None:
        if not self.recipe.modules:
            return
        self.progress("compiling modules", 0, 0)
        kit = self.work / "kit"
        (kit / USER).mkdir(parents=True)
        done = call(["tar", "-xzf", parts / KIT], kit)
        if done.code != 0:
            raise KernelError(f"{parts / KIT} cannot be unpacked:\n{done.errors}", FAILED)
        for module in self.recipe.modules:
            shutil.copyfile(module, kit / USER / module.name)
        objects = " ".join(f"{m.stem}.o" for m in self.recipe.modules)
        (kit / USER / "Kbuild").write_text(f"obj-m := {objects}\n", encoding="utf-8")
        done = call([*MAKE, f"M={USER}", "modules"], kit)
        if done.code != 0:
            raise KernelError(f"{', '.join(map(str, self.recipe.modules))} cannot be compiled:\n{done.errors}")
        (parts / MODULES).mkdir()
        for module in self.recipe.modules:
            shutil.copyfile(kit / USER / f"{module.stem}.ko", parts / MODULES / f"{module.stem}.ko")

    # ---- the cache -------------------------------------------------------------------------------

    def _store(self, r: Recipe, known: Source, parts: Path, version: str, name: str | None = None) -> Kernel:
        inside = sorted(p for p in parts.rglob("*") if p.is_file())
        manifest = Manifest(
            format=kernels.FORMAT,
            name=name or r.usual_name(),
            key=r.key(known),
            base=r.base(known),
            version=version,
            source=known,
            patches=hashed((*r.patches, *r.sources)),
            extra_patches=hashed(r.extra_patches),
            config_sha256=sha256(r.config),
            modules=hashed(r.modules),
            agent_sha256=r.agent_sha256,
            compiler=r.compiler,
            linker=r.linker,
            files={p.relative_to(parts).as_posix(): sha256(p) for p in inside},
            built=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            build_s=round(time.monotonic() - self.begin, 1),
        )
        folder = kernels.store() / manifest.key
        if folder.exists():
            # An existing folder is damaged, otherwise it would have been used.
            kernels.remove(folder)
        kernels.write_manifest(parts, manifest)
        with filled(folder) as partial:
            parts.replace(partial)
        return Kernel(folder, manifest)


def _hunks(lines: list[str]) -> str:
    """Rejected hunks of `patch`, by file."""
    file, found = "", []
    for line in lines:
        if match := re.match(r"(?:patching|checking) file (.+)", line):
            file = match[1]
        elif match := re.match(r"Hunk #(\d+) FAILED at (\d+)", line):
            found.append(f"hunk {match[1]} of {file} (line {match[2]})")
        elif "can't find file to patch" in line or line.startswith("patch: ****"):
            found.append(line.removeprefix("patch: **** "))
        elif "previously applied" in line:
            found.append(f"{file} has this change already")
    return ", ".join(found) or "; ".join(lines[-3:])


def _share(base: Path, parts: Path) -> None:
    """Links kernel and kit from another kernel's folder, or copies them if linking fails."""
    for name in (LINUX, KIT):
        try:
            os.link(base / name, parts / name)
        except OSError:
            shutil.copy2(base / name, parts / name)
