# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Backends of a run and their options: the simulator, Linux hosts, emulation."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab import _core
from perigee_lab.common.files import RecordError
from perigee_lab.hosts import kernels
from perigee_lab.hosts.real_time import AS_ROOT, COMMAND, punctual, release, without_effect

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from perigee_lab.hosts.kernels import Kernel

MACHINE = "machine"
"""Key of emulation in jobs, instead of the key of a kernel."""


@dataclass(frozen=True)
class Backend:
    """A registered backend without options, and the interface of backends with options."""

    name: str = "simulator"

    @property
    def key(self) -> str | None:
        """Key of the backend in a job; None = the default."""
        return None if self == SIMULATOR else self.name

    @property
    def has_hosts(self) -> bool:
        """Whether hosts are real: they run programs, exist only on this machine, can fail."""
        return False

    @property
    def in_real_time(self) -> bool:
        """Whether runs are in real time, and therefore one after the other."""
        return False

    def options(self) -> dict[str, bool | Path | list[str]]:
        """The options, named as in the backend's registry entry (`perigee-run/src/backends`)."""
        return {}

    def as_core(self) -> dict[str, object]:
        """Argument of the core: the name of the backend under "backend", and the options."""
        return {"backend": self.name, **self.options()}

    def about(self) -> dict[str, object] | None:
        """The manifest's `kernel`, which has all that determines the behaviour of hosts.

        None = no hosts.
        """
        return None

    def why_not(self, _toml: str) -> str | None:
        """Message about a key of a resolved scenario that has no effect here.

        None = there is none.
        """
        return None

    def running(self) -> AbstractContextManager[None]:
        """Context of a run."""
        return contextlib.nullcontext()


SIMULATOR = Backend()


@dataclass(frozen=True)
class Linux(Backend):
    """Linux kernels in virtual time."""

    name: str = field(default="linux", init=False)
    kernel: Kernel

    @property
    def key(self) -> str:
        """The key of the kernel."""
        return self.kernel.key

    @property
    def has_hosts(self) -> bool:
        """The hosts are real."""
        return True

    def options(self) -> dict[str, bool | Path | list[str]]:
        """The folder of the kernel, and additional congestion controls."""
        return {"kernel": self.kernel.folder, "modules": schemes_of_modules(self.kernel)}

    def about(self) -> dict[str, object]:
        """The provenance of the kernel."""
        made = self.kernel.manifest
        return {
            "key": made.key,
            "version": made.version,
            "source": made.source.name,
            "pinned": made.source.pinned,
            "patches": [f.name for f in made.extra_patches],
            "modules": [f.name for f in made.modules],
            "files": dict(made.files),
        }


@dataclass(frozen=True)
class Emulation(Backend):
    """Network namespaces of this machine, in real time."""

    name: str = field(default="emulation", init=False)
    all_flows: bool = True
    """Whether flows that do not name their backend also use real hosts."""
    places: tuple[str, ...] = ()
    """Existing hosts: HOST=netns:NAME or HOST=interface:NAME."""

    @property
    def key(self) -> str:
        """A constant, which is the same on every machine."""
        return MACHINE

    @property
    def has_hosts(self) -> bool:
        """The hosts are real."""
        return True

    @property
    def in_real_time(self) -> bool:
        """The hosts run in real time."""
        return True

    def options(self) -> dict[str, bool | Path | list[str]]:
        """The command that creates the hosts, their flows, and hosts behind interfaces."""
        apart = [p.partition("=")[0] for p in self.places if "=interface:" in p]
        command = [*(AS_ROOT if self.places else COMMAND), *self.places]
        return {"command": command, "all_flows": self.all_flows, "apart": apart}

    def about(self) -> dict[str, object]:
        """The version of the running kernel."""
        return {"version": release()}

    def why_not(self, toml: str) -> str | None:
        """Message about keys that have no effect in real time."""
        return without_effect(toml)

    def running(self) -> AbstractContextManager[None]:
        """Sets a real-time priority, if the user is permitted to."""
        return punctual()


def names() -> list[str]:
    """Names of all registered backends, starting with the default."""
    return [name for name, _ in _core.backends()]


def by_key(key: str | None) -> Backend:
    """The backend with this key. Raises RecordError if its kernel is not in the user's cache."""
    if key is None:
        return SIMULATOR
    if key == MACHINE:
        return Emulation()
    if key in names():
        return Backend(key)
    return linux(key)


def linux(kernel: str | None = None) -> Linux:
    """Linux hosts with a kernel by key or name; None = the default. Raises RecordError."""
    try:
        return Linux(kernels.find(kernel))
    except kernels.KernelError as error:
        raise RecordError(str(error)) from None


def schemes_of_modules(kernel: Kernel) -> list[str]:
    """Names of additional congestion controls; by convention, tcp_mine.c implements `mine`."""
    return [Path(m.name).stem.removeprefix("tcp_") for m in kernel.manifest.modules]
