# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Control groups (version 2) of running processes, so that OrbCC can be attached to them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from perigee_lab.orbcc.programs import OrbccError

PREFIX = "perigee-orbcc-pid-"
MOUNTS = Path("/proc/self/mounts")


def hierarchy() -> Path:
    """Where version 2 is mounted. Raises OrbccError."""
    for line in MOUNTS.read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return Path(where)
    raise OrbccError("no hierarchy of control groups of version 2 is mounted: mount -t cgroup2 none FOLDER")


def of_process(pid: int) -> Path:
    """Control group of a process. Raises OrbccError."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        raise OrbccError(f"no process has the id {pid}: `ps -e` lists them") from None
    [own] = [line.removeprefix("0::") for line in lines if line.startswith("0::")] or ["/"]
    return hierarchy() / own.lstrip("/")


def enclose(pid: int) -> Path:
    """Moves a process into a control group of its own, below its present one. Raises OrbccError."""
    group = of_process(pid) / f"{PREFIX}{pid}"
    try:
        group.mkdir(exist_ok=True)
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        raise OrbccError(f"process {pid} cannot be moved to {group}: {error.strerror}; give its --cgroup") from None
    return group


def release() -> None:
    """Returns enclosed processes, and those that they started, to the groups above."""
    try:
        root = hierarchy()
    except OrbccError:
        return
    for group in [Path(folder) for folder, _, _ in os.walk(root) if Path(folder).name.startswith(PREFIX)]:
        for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid, encoding="ascii")
        with contextlib.suppress(OSError):
            group.rmdir()
