# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs of OrbCC for Linux: where they are, what the machine lacks for them, calls of the loader."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.exit_codes import INCOMPLETE

FOLDER_VARIABLE = "PERIGEE_ORBCC"
LOADER = "orbcc"
HOST_PROGRAMS = "orbcc.bpf.o"
PORT_PROGRAMS = "port.bpf.o"
BTF = Path("/sys/kernel/btf/vmlinux")
PINS = Path("/sys/fs/bpf")
HOST_PIN = PINS / "perigee-orbcc"


class OrbccError(PerigeeError):
    """The programs are missing, or the kernel does not take them."""

    code = INCOMPLETE


def folder() -> Path:
    """Folder of the built programs. Raises OrbccError if there is none."""
    given = os.environ.get(FOLDER_VARIABLE)
    package = Path(__file__).parent
    places = [Path(given)] if given else [package / "built", package.parents[2] / "build" / "orbcc"]
    for place in places:
        if (place / LOADER).is_file() and (place / HOST_PROGRAMS).is_file():
            return place
    looked = " and ".join(str(p) for p in places)
    raise OrbccError(
        f"the programs of OrbCC are not in {looked}: run `make ebpf` in a clone (it needs clang, bpftool and "
        f"libbpf-dev), or set {FOLDER_VARIABLE} to the folder that has them"
    )


def lacks() -> list[str]:
    """What this machine lacks, a sentence each."""
    found = []
    if platform.system() != "Linux":
        found.append(f"the system is {platform.system()}, and the programs are Linux's")
    elif not BTF.exists():
        found.append(f"the kernel has no type information ({BTF}): it needs CONFIG_DEBUG_INFO_BTF")
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        found.append("loading needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON: run it as root")
    return found


def require() -> Path:
    """Folder of the programs, on a machine that can load them. Raises OrbccError."""
    built, missing = folder(), lacks()
    if missing:
        raise OrbccError("; ".join(missing))
    return built


def check_device(device: str) -> None:
    """Raises OrbccError for what is no name of a device."""
    if not re.fullmatch(r"[^/\s\x00-\x1f]{1,15}", device) or device in (".", ".."):
        raise OrbccError(f"{device!r} is no name of a device: `ip link` lists them")


def port_pin(device: str) -> Path:
    """Where a port's links are pinned. Raises OrbccError for what is no name of a device."""
    check_device(device)
    return PINS / f"perigee-port-{device}"


def run(words: list[str]) -> int:
    """Runs the loader in this process's place of input and output; its exit code."""
    return subprocess.run([str(require() / LOADER), *words], check=False).returncode


def call(words: list[str]) -> Any:
    """The loader's report. Raises OrbccError with its message."""
    done = subprocess.run([str(require() / LOADER), *words], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise OrbccError(done.stderr.strip().removeprefix("orbcc: ") or "the loader failed")
    return json.loads(done.stdout) if done.stdout.strip() else {}


def rate_of_shaper(device: str) -> int:
    """Rate in kbit/s of the token bucket at a device. Raises OrbccError if there is none."""
    if shutil.which("tc") is None:
        raise OrbccError("tc, which reads the rate of the token bucket, is not installed (iproute2): give --rate")
    done = subprocess.run(["tc", "-j", "qdisc", "show", "dev", device], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise OrbccError(done.stderr.strip() or f"tc does not list {device}")
    rates = [q["options"]["rate"] for q in json.loads(done.stdout or "[]") if q.get("kind") == "tbf"]
    if not rates:
        raise OrbccError(f"{device} has no token bucket (tbf) whose rate could be read: give --rate")
    return int(rates[0]) * 8 // 1000
