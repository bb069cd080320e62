# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kills each part of a run with real hosts in turn, and counts what remains: `make kills`.

In virtual time, the parts are perigee, the main process of the guest and another process of the
guest; in real time, they are perigee, the process that created the namespaces, process 1 in the
namespaces, and a program. Kills occur at times spread over the start and the run. After each kill,
the counts are compared with those before.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIO = """
[run]
duration = "1000 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
# Marks only our programs.
MARK = f"987.{os.getpid()}"
PING = f"ping -i 0.01 d1 > /dev/null # {MARK}"
PROGRAMS = ["--at", "d1", "--", "sleep", MARK, "--at", "s1", "--", "sh", "-c", PING]
# Backends by clock.
BACKENDS = {"virtual": "linux", "real": "emulation"}
PATIENCE_S = 20.0
SETTLING_S = 5.0


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command line of each process, by process ID."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            parent = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        found[int(folder.name)] = (parent, words)
    return found


def under(root: int) -> list[int]:
    """A process and all its descendants, parents first."""
    everybody, found = processes(), [root]
    for pid in found:
        found += [child for child, (parent, _) in everybody.items() if parent == pid]
    return found


def counted(runs: Path) -> dict[str, int]:
    """Counts what may remain of a run on this machine.

    A complete run's output is a record, which has a manifest.
    """
    links = {os.readlink(p) for p in Path("/proc").glob("[0-9]*/ns/net") if os.access(p, os.R_OK)}
    ours = [words for _, words in processes().values() if str(runs) in words or MARK in words]
    return {
        "processes": len(ours),
        "namespaces": len(links),
        "interfaces": len(list(Path("/sys/class/net").iterdir())),
        "in /tmp": sum(1 for p in Path(tempfile.gettempdir()).iterdir() if _is_ours(p)),
        "in /dev/shm": sum(1 for p in Path("/dev/shm").iterdir()),
        "in runs": sum(1 for run in runs.iterdir() if not list(run.rglob("manifest.json")) for _ in files(run)),
    }


def settled(runs: Path, before: dict[str, int]) -> dict[str, int]:
    """The counts once they are as before, or after some time, as other processes come and go."""
    deadline = time.monotonic() + SETTLING_S
    while (found := counted(runs)) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def files(folder: Path) -> list[Path]:
    """All files; a killed run may leave an empty folder, which the next run replaces."""
    return [p for p in folder.rglob("*") if p.is_file()]


def _is_ours(path: Path) -> bool:
    """Whether a path is a guest's folder or a file of User-Mode Linux."""
    return path.name.startswith(("perigee-", "vm_file", "uml", ".perigee"))


def is_of_run(guest: int) -> bool:
    """Whether a guest is the run's second: the first only sends pings before the run."""
    try:
        return os.readlink(f"/proc/{guest}/cwd").removesuffix(" (deleted)").endswith("-1")
    except OSError:
        return False


def victims(run: int, clock: str) -> list[int]:
    """The parts of a started run, at most four, perigee first."""
    everybody = processes()
    below = [pid for pid in under(run) if pid in everybody]
    if clock == "virtual":
        guest = [pid for pid in below if "time-travel" in everybody[pid][1] and is_of_run(pid)]
        return [run, *guest[:1], *guest[-1:]] if len(guest) > 1 else []
    named = [
        next((pid for pid in below if everybody[pid][1].startswith("unshare ")), None),
        next((p for p in below if "perigee-hosts" in everybody[p][1] and not everybody[p][1].startswith("un")), None),
        next((pid for pid in below if everybody[pid][1].startswith("ping ")), None),
    ]
    return [run, *[pid for pid in named if pid is not None]] if None not in named else []


def one(clock: str, number: int, folder: Path) -> str | None:
    """Starts a run, kills one of its parts, and waits for its end; returns the problem, or None."""
    words = [sys.executable, "-m", "perigee_lab", "exec", str(folder / "kills.toml"), "--backend", BACKENDS[clock]]
    words += ["--out", str(folder / "out" / str(number)), *PROGRAMS]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + PATIENCE_S
    # Kills occur from the start of the process on.
    for wait_s in (0.0, 0.01 * (number % 7) ** 2):
        time.sleep(wait_s)
        while not (parts := victims(run.pid, clock)):
            if run.poll() is not None or time.monotonic() > deadline:
                run.kill()
                return f"the run did not begin (exit code {run.returncode})"
            time.sleep(0.002)
    below = under(run.pid)
    victim = parts[number % len(parts)]
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        run.kill()
        run.wait()
        return "the part had ended before it was killed"
    # A run may continue after the death of a program in a guest.
    may_go_on = clock == "virtual" and victim == parts[-1]
    try:
        run.wait(5 if may_go_on else PATIENCE_S)
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        if not may_go_on:
            return f"the run went on without part {number % len(parts)}"
    while left := [pid for pid in below if pid in processes()]:
        if time.monotonic() > deadline + PATIENCE_S:
            return f"processes {left} are left"
        time.sleep(0.002)
    return None


def main() -> int:
    """Prints the counts before and after; returns 1 if anything remains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--clock", choices=["virtual", "real", "both"], default="both")
    asked = parser.parse_args()
    wrong = 0
    for clock in ["real", "virtual"] if asked.clock == "both" else [asked.clock]:
        with tempfile.TemporaryDirectory(prefix="kills-") as place:
            folder = Path(place)
            (folder / "kills.toml").write_text(SCENARIO, encoding="utf-8")
            runs = folder / "out"
            runs.mkdir()
            before = counted(runs)
            most = dict(before)
            for number in range(asked.kills):
                problem = one(clock, number, folder)
                after = settled(runs, before)
                most = {name: max(most[name], count) for name, count in after.items()}
                if problem is not None:
                    wrong += 1
                    print(f"{clock}, kill {number}: {problem}")
            after = settled(runs, before)
            print(f"{clock} time, {asked.kills} kills: before, most after any, at the end")
            for name, count in before.items():
                wrong += after[name] > count
                print(f"  {name:<12}{count:>6}{most[name]:>6}{after[name]:>6}")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
