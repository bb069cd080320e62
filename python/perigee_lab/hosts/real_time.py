# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Requirements and scheduling of hosts in real time on this machine."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.common.reading import parsed_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

AGENT = Path(__file__).parent / "perigee-hosts"
"""The agent, compiled from `agent/` by `make agent`, a part of `make setup` and of wheels for Linux."""
COMMAND = (
    *("unshare", "--user", "--map-root-user", "--net", "--mount", "--ipc", "--pid", "--fork"),
    *("--kill-child=SIGKILL", "--mount-proc", "--propagation=private", str(AGENT)),
)
"""Command that creates the hosts: the agent as process 1 of its own namespaces."""
AS_ROOT = tuple(word for word in COMMAND if word not in ("--user", "--map-root-user", "--net"))
"""The same command for root.

Its arguments are existing places of hosts: HOST=netns:NAME, HOST=interface:NAME.
"""
# Priority among real-time threads (sched(7)), below those of the system.
PRIORITY = 10
# Settings that forbid user namespaces, with the forbidding value and the remedy.
SETTINGS = (
    ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
    ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
)


def release() -> str:
    """Version of the running kernel."""
    return platform.release()


def wrong_place(place: str) -> str | None:
    """The error in HOST=netns:NAME or HOST=interface:NAME; None if it is valid."""
    host, _, where = place.partition("=")
    kind, _, name = where.partition(":")
    if not host or not name or kind not in ("netns", "interface"):
        return f"{place!r} is neither HOST=netns:NAME nor HOST=interface:NAME"
    if os.geteuid() != 0:
        return f"{place}: what this machine has already is root's to use"
    folder = {"netns": Path("/run/netns"), "interface": Path("/sys/class/net")}[kind]
    if not (folder / name).exists():
        there = ", ".join(sorted(p.name for p in folder.glob("*"))) or "none"
        return f"{place}: this machine has no {kind} {name}; it has {there}"
    return None


def why_not() -> str | None:
    """The missing requirement for hosts in real time; None if all are met."""
    if not sys.platform.startswith("linux"):
        return "hosts in real time need Linux"
    if shutil.which("unshare") is None:
        return "hosts in real time need the program unshare (Debian's package util-linux)"
    if not os.access(AGENT, os.X_OK):
        return f"hosts in real time need their agent, {AGENT}: make agent, in Perigee's sources, compiles it"
    tried = subprocess.run([*COMMAND, "try"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return None
    return _named(tried.stderr.strip().removeprefix("perigee: "))


def without_effect(toml: str) -> str | None:
    """The first key of a resolved scenario that hosts in real time ignore.

    None if there is none.
    """
    if parsed_toml(toml).get("hosts", {}).get("kernel") == "own":
        return 'hosts.kernel = "own" has no effect in real time: all hosts have this machine\'s kernel; leave it away'
    return None


def _named(said: str) -> str:
    for name, bad, remedy in SETTINGS:
        try:
            value = Path("/proc/sys", name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == bad:
            return f"this machine forbids user namespaces ({name.replace('/', '.')} = {bad}): as root, {remedy}"
    if "veth" in said or "Unknown device type" in said:
        return f"this machine's kernel has no virtual Ethernet pairs (module veth): {said}"
    why = "in a container it must allow unshare(2) and mounting /proc (its seccomp profile, masked paths)"
    return f"this machine refuses namespaces without root: {said}; {why}"


@contextlib.contextmanager
def punctual() -> Iterator[None]:
    """Runs this thread at real-time priority, if permitted; programs are not affected."""
    before = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, os.sched_param(0))
