# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boot test of a kernel: whether real hosts work on this machine, with a one-line diagnosis."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perigee_lab.hosts import needs
from perigee_lab.hosts.kernels import AGENT, BUILD, LINUX, MODULES, KernelError, find
from perigee_lab.hosts.steps import environment

MEMORY_MB = 256
PATIENCE_S = 30.0
# Folder of the file that backs a kernel's memory, unless TMPDIR is set.
SHARED = "/dev/shm"
# Printed by the agent before it powers off.
WELL = "perigee: ok"
LAST_LINES = 8


@dataclass(frozen=True)
class Health:
    """Result of a boot."""

    kernel: str
    """Name and key of the kernel."""
    ok: bool
    message: str
    """One line: the error and its remedy."""
    console: tuple[str, ...]
    """The last lines that the kernel printed."""
    wall_s: float


def examine(name: str | None = None, patience_s: float = PATIENCE_S) -> Health:
    """Boots a kernel with the agent, which reports and powers off.

    Raises:
        KernelError: there is no kernel to boot.
    """
    needs.check_machine()
    kernel = find(name)
    title = f"{kernel.manifest.name} ({kernel.manifest.key})"
    if not (kernel.folder / AGENT).exists():
        raise KernelError(f"{title} was built without the agent that hosts run: {BUILD}")
    if (room := _lacks_memory()) is not None:
        return Health(title, False, room, (), 0.0)
    begin = time.monotonic()
    lines, ended = _boot(kernel.folder, patience_s)
    wall_s = time.monotonic() - begin
    if WELL in lines and ended == 0:
        return Health(title, True, f"boots in {wall_s:.2f} s", (), wall_s)
    message = diagnosis(lines, ended) if ended is not None else f"has not come up within {patience_s:g} s"
    return Health(title, False, message, tuple(lines[-LAST_LINES:]), wall_s)


def memory() -> str:
    """The folder of the file that backs a kernel's memory."""
    return os.environ.get("TMPDIR") or SHARED


def _lacks_memory() -> str | None:
    where = memory()
    try:
        found = os.statvfs(where)
    except OSError as error:
        return f"kernels keep their memory in {where}: {error.strerror}"
    free_mb = found.f_bavail * found.f_frsize // 2**20
    if free_mb >= MEMORY_MB:
        return None
    remedy = f"enlarge it (mount -o remount,size=1G {where}; docker run --shm-size=1g)" if where == SHARED else ""
    return f"{where} has {free_mb} MB free, a kernel's memory takes {MEMORY_MB}: {remedy or 'make room there'}"


def _boot(folder: Path, patience_s: float) -> tuple[list[str], int | None]:
    """Console output, and the exit code of the kernel; None if it was killed."""
    with tempfile.TemporaryDirectory(prefix="perigee-doctor-") as root:
        for name in ("dev", "proc", "sys", "tmp", "run"):
            (Path(root) / name).mkdir()
        shutil.copy(folder / AGENT, root)
        if (folder / MODULES).is_dir():
            shutil.copytree(folder / MODULES, Path(root) / MODULES)
        words = [
            str(folder / LINUX),
            f"mem={MEMORY_MB}M",
            "time-travel=inf-cpu",
            "root=/dev/root",
            "rootfstype=hostfs",
            # A path without spaces and commas, whatever the name of the folder.
            "rootflags=/proc/self/cwd/.",
            "ro",
            "uml_dir=run",
            "con=null",
            "con0=null,fd:1",
            f"init=/{AGENT}",
            "boot-test",
        ]
        process = subprocess.Popen(
            words,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(GLIBC_TUNABLES="glibc.pthread.rseq=0", PERIGEE_SEED="1"),
            start_new_session=True,
        )
        try:
            text, ended = _read(process, time.monotonic() + patience_s)
        finally:
            # Kills the guest's processes as well.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None  # requested above
            process.stdout.close()
    lines = [line.strip() for line in text.decode(errors="replace").splitlines()]
    return [line for line in lines if line], ended


def _read(process: subprocess.Popen[bytes], end: float) -> tuple[bytes, int | None]:
    """Output of a process and its exit code, which is None if it does not exit in time."""
    assert process.stdout is not None  # requested
    text = b""
    while (left := end - time.monotonic()) > 0:
        if not select.select([process.stdout], [], [], left)[0]:
            break
        piece = os.read(process.stdout.fileno(), 1 << 16)
        text += piece
        if not piece:
            with suppress(subprocess.TimeoutExpired):
                return text, process.wait(max(0.1, end - time.monotonic()))
            break
    return text, None


def diagnosis(lines: list[str], ended: int) -> str:
    """Diagnosis of a failed boot from the kernel's output."""
    text = "\n".join(lines)
    if "must be not mounted noexec" in text:
        where = memory()
        return f"{where} is mounted noexec, and kernels run from their memory: mount -o remount,exec {where}"
    if re.search(r"ptrace: (Operation not permitted|Function not implemented)|check_ptrace|check_sysemu", text):
        return (
            "ptrace is forbidden here, without which kernels cannot run their programs: by a container "
            "(docker run --cap-add SYS_PTRACE --security-opt seccomp=unconfined), a sandbox, or "
            "kernel.yama.ptrace_scope = 3"
        )
    if "ptrace set fp regs failed" in text:
        return f"the kernel does not know the registers of this processor: it lacks Perigee's patches ({BUILD})"
    if "Unable to mount root fs" in text:
        return (
            "openat2(2) is missing here, which keeps a guest's files within their folders: Linux has it since 5.6; a "
            "container's seccomp profile must allow it"
        )
    if match := re.search(r"Kernel panic - not syncing: (.+)", text):
        return f"the kernel panics: {match[1]}"
    how = f"was killed by signal {-ended}" if ended < 0 else f"ended with {ended}"
    return f"the kernel {how} before it was up" + (f": {lines[-1]}" if lines else ", without a word")
