# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Inputs of a kernel and its key: the same inputs yield the same key and the same files."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from perigee_lab.hosts import own
from perigee_lab.hosts.kernels import NAME, KernelError, Source
from perigee_lab.hosts.needs import version_of
from perigee_lab.hosts.own import hashed, sha256

# Incremented at every change of the build that is not visible in the inputs.
RECIPE = 1
MODULE = re.compile(r"[a-z][a-z0-9_]{0,40}\.c")


@dataclass(frozen=True)
class Recipe:
    """Inputs of a kernel other than its source."""

    config: Path
    patches: tuple[Path, ...]
    sources: tuple[Path, ...]
    """Sources that are added to Linux's."""
    extra_patches: tuple[Path, ...]
    modules: tuple[Path, ...]
    agent: tuple[Path, ...]
    """C sources with headers."""
    agent_sha256: str | None
    compiler: str
    linker: str

    @classmethod
    def of(cls, patches: list[Path], modules: list[Path]) -> Recipe:
        """The recipe with user-supplied patches and modules.

        Raises:
            KernelError: one of them cannot be used.
        """
        for path in (*patches, *modules):
            try:
                path.open("rb").close()
            except OSError as error:
                raise KernelError(f"{path} cannot be read: {error.strerror}") from None
        for path in modules:
            if not MODULE.fullmatch(path.name):
                raise KernelError(f"--module {path}: give one file of C named as its module, such as tcp_mine.c")
        names = [p.name for p in modules]
        if twice := {n for n in names if names.count(n) > 1}:
            raise KernelError(f"--module {min(twice)} is given twice")
        return cls(
            own.config(),
            own.patches(),
            own.sources(),
            tuple(patches),
            tuple(sorted(modules, key=lambda p: p.name)),
            own.agent(),
            own.agent_sha256(),
            version_of("gcc"),
            version_of("ld"),
        )

    def base(self, source: Source) -> str:
        """Hash of the inputs of the kernel itself."""
        content = {
            "recipe": RECIPE,
            "source": source.sha256,
            "patches": [f.sha256 for f in hashed((*self.patches, *self.sources, *self.extra_patches))],
            "config": sha256(self.config),
            "tools": [self.compiler, self.linker],
        }
        return _hash(content)[:16]

    def key(self, source: Source) -> str:
        """Hash of all inputs."""
        modules = [asdict(f) for f in hashed(self.modules)]
        return _hash({"base": self.base(source), "modules": modules, "agent": self.agent_sha256})[:16]

    def usual_name(self) -> str:
        """Default name of a kernel."""
        stems = [p.stem for p in (*self.extra_patches, *self.modules)]
        name = re.sub(r"[^A-Za-z0-9._+-]", "-", "+".join(stems))[:64].lstrip("._+-")
        return name if NAME.fullmatch(name) else "default" if not stems else "custom"


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def settings(config: str) -> dict[str, str | None]:
    """The settings of a configuration: `CONFIG_X=value`, None for `# CONFIG_X is not set`."""
    found: dict[str, str | None] = {}
    for line in config.splitlines():
        if match := re.fullmatch(r"(CONFIG_\w+)=(.*)", line.strip()):
            found[match[1]] = match[2]
        elif match := re.fullmatch(r"# (CONFIG_\w+) is not set", line.strip()):
            found[match[1]] = None
    return found


def vanished(wanted: str, found: str) -> list[str]:
    """Settings of a configuration that did not take effect, human-readable."""
    there = settings(found)
    return [
        f"{name}={value or 'n'} (is {there.get(name) or 'not there'})"
        for name, value in settings(wanted).items()
        if there.get(name) != value
    ]
