# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Kills commands at random times, and fills their disk: `make faults`.

python examples/faults.py kills 100 [SEED]     # SIGKILL to run, sweep, study, results, measure, train, exec, emulate
python examples/faults.py full 60 [SEED]       # a file system of a random size below what the command needs

After a kill no process of the command may remain, and the same command must end with the results of
an undisturbed one. On a full disk a command must end with one line and without a traceback, results
that count as complete must be those of an undisturbed one, and with more room the same command must
end with all of them. Commands whose results depend on the clock (measure, emulate) must be complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SCENARIO = """
[run]
duration = "20 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""
RECIPE = """
title = "tiny"
[world]
rate_mbps = "uniform(2, 4)"
rtt_ms = 30
buffer_bdp = 1
flows = "choice(1, 2)"
duration_s = 3
exploring = 1.0
[td3]
actor = [8]
critic = [8]
batch = 16
[train]
transitions = 4000
explore = 1000
episodes = 2
evaluate = 4
evaluation_episodes = 2
"""
CAMPAIGN = """
[campaign]
cycles = 3
[[step]]
do = "pings"
duration = "300 ms"
interval = "10 ms"
[[step]]
do = "download"
bytes = "300 kB"
"""
GATEWAYS = """name,lat,lon,dishes
Usingen,50.33,8.47,8
Ibi,38.63,-0.55,8
"""
CELLS = """name,lat,lon,population
Berlin,52.5,13.4,3700000
Madrid,40.4,-3.7,3300000
Paris,48.9,2.4,2100000
"""
DEMAND = """
[run]
duration = "2 h"
[source.constellation]
preset = "starlink-shell1"
[[nodes]]
file = "gateways.csv"
[demand]
file = "cells.csv"
step = "60 s"
active = 0.1
terminals = 30000
[demand.down]
gateway = "3 Gbit"
"""
SERVE = """
import socket
peer, _ = socket.create_server(("", 7000)).accept()
while data := peer.recv(4096):
    peer.sendall(data)
"""
ASK = """
import socket
peer = socket.create_connection(("d1", 7000))
for _ in range(20):
    peer.sendall(bytes(900))
    peer.recv(900)
"""
PROGRAMS = ("--at", "d1", "--", sys.executable, "-c", SERVE, "--at", "s1", "--", sys.executable, "-c", ASK)
KEY = "0123456789abcdef0123"
MARK = "PERIGEE_FAULTS"
"""Variable in the environment of a command and of all that it starts."""
PATIENCE_S, SETTLING_S = 300.0, 10.0
Results = dict[str, str]


def tables(out: Path) -> Results:
    """Hashes of the tables of complete records, by folder."""
    found = {}
    for path in sorted(out.rglob("manifest.json")):
        if not any(part.endswith(".partial") or part.startswith(".") for part in path.relative_to(out).parts):
            listed = json.loads(path.read_text(encoding="utf-8"))["tables"]
            found[str(path.parent.relative_to(out))] = ",".join(sorted(t["sha256"] for t in listed.values()))
    return found


def files(*patterns: str) -> Callable[[Path], Results]:
    """Hashes of files."""

    def read(out: Path) -> Results:
        paths = sorted(p for pattern in patterns for p in out.glob(pattern))
        return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}

    return read


def complete(out: Path) -> Results:
    """Names of complete records: their content depends on the clock."""
    return dict.fromkeys(tables(out), "complete")


@dataclass(frozen=True)
class Case:
    """A command: its words after `perigee`, and the results in its folder."""

    name: str
    words: tuple[str, ...]
    results: Callable[[Path], Results]
    on_disk: bool = True
    """Whether it takes part in the series of full disks."""


CASES = (
    Case("run", ("run", "../s.toml", "--cc", "cubic,newreno", "--set", "run.runs=2", "--out", "out"), tables),
    Case(
        "sweep",
        ("sweep", "../s.toml", "--set", "port.bottleneck.rate=2Mbit,4Mbit,8Mbit", "--cc", "cubic", "--out", "out"),
        files("sweep.csv"),
    ),
    Case(
        "study",
        ("study", "run", "orbcc/initial-phase", "--quick", "--cc", "newreno", "--out", "out"),
        files("quick/*/*/verdicts.json", "quick/*/*/data/*.csv"),
    ),
    Case("results", ("results", "../swept", "--out", "out/x.csv", "--force"), files("x.csv")),
    Case(
        "measure",
        ("measure", "run", "../c.toml", "--server", "SERVER", "--key-file", "../key", "--out", "out"),
        complete,
    ),
    Case(
        "demand",
        ("demand", "run", "../d.toml", "--out", "out"),
        files("chunks/*.json", "*/*.parquet", "*.parquet", "*.csv"),
    ),
    Case(
        "policies",
        ("demand", "sweep", "../d.toml", "--set", "demand.gateway=nearest,balanced", "--out", "out"),
        files("sweep.csv"),
    ),
    Case("train", ("train", "../r.toml", "--out", "out", "--no-report"), files("*.policy", "scores.csv")),
    Case("exec", ("exec", "../s.toml", "--out", "out", "--force", *PROGRAMS), tables),
    Case("emulate", ("emulate", "../s.toml", "--out", "out", "--force", *PROGRAMS), complete),
)


def command(words: tuple[str, ...], server: str) -> list[str]:
    """The command line."""
    return [sys.executable, "-m", "perigee_lab", *(server if w == "SERVER" else w for w in words)]


def environment(place: Path) -> dict[str, str]:
    """Variables of a command: files for the moment go into its own folder."""
    (place / "tmp").mkdir(exist_ok=True)
    return os.environ | {"TMPDIR": str(place / "tmp"), MARK: str(place), "XDG_STATE_HOME": str(place / "state")}


def marked(place: Path) -> list[int]:
    """Processes of a command, whoever their parent is."""
    word, found = f"{MARK}={place}\0".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if word in path.read_bytes() + b"\0":
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def inputs(base: Path) -> None:
    """What the commands read."""
    (base / "s.toml").write_text(SCENARIO, encoding="utf-8")
    (base / "r.toml").write_text(RECIPE, encoding="utf-8")
    (base / "c.toml").write_text(CAMPAIGN, encoding="utf-8")
    (base / "gateways.csv").write_text(GATEWAYS, encoding="utf-8")
    (base / "cells.csv").write_text(CELLS, encoding="utf-8")
    (base / "d.toml").write_text(DEMAND, encoding="utf-8")
    (base / "key").write_text(KEY + "\n", encoding="utf-8")
    (base / "key").chmod(0o600)
    words = [
        sys.executable,
        "-m",
        "perigee_lab",
        "sweep",
        "s.toml",
        "--set",
        "run.duration=1s,2s",
        "--cc",
        "cubic",
        "--out",
        "swept",
    ]
    subprocess.run(words, cwd=base, check=True, capture_output=True)


@contextmanager
def served(base: Path) -> Iterator[str]:
    """A server of measurements on this machine."""
    words = [sys.executable, "-m", "perigee_lab", "measure", "serve", "--key-file", "key", "--host", "127.0.0.1"]
    log = base / "server.log"
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen([*words, "--port", "0"], cwd=base, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(r"port (\d+)", log.read_text(encoding="utf-8"))) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the server did not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.05)
        yield f"127.0.0.1:{found[1]}"
    finally:
        process.terminate()
        process.wait()


def undisturbed(case: Case, base: Path, server: str) -> tuple[Results, float, int] | None:
    """Results of a command, its duration, and the bytes that it leaves; None if it cannot run here."""
    place = base / f"{case.name}-whole"
    shutil.rmtree(place, ignore_errors=True)
    (place / "out").mkdir(parents=True)
    begin = time.monotonic()
    done = subprocess.run(
        command(case.words, server), cwd=place, env=environment(place), capture_output=True, text=True, check=False
    )
    took = time.monotonic() - begin
    if done.returncode != 0:
        print(f"{case.name}: left out: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return None
    size = sum(p.stat().st_size for p in (place / "out").rglob("*") if p.is_file())
    found = case.results(place / "out")
    shutil.rmtree(place)
    return found, took, size


def killed(case: Case, base: Path, server: str, after_s: float) -> tuple[Path, list[str]]:
    """Starts a command and kills it; returns its folder and the problems."""
    place = base / f"{case.name}-killed"
    shutil.rmtree(place, ignore_errors=True)
    (place / "out").mkdir(parents=True)
    process = subprocess.Popen(
        command(case.words, server),
        cwd=place,
        env=environment(place),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + SETTLING_S
    while (left := marked(place)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return place, [f"processes {left} are left"] if left else []


def again(case: Case, place: Path, server: str, expected: Results) -> list[str]:
    """Repeats a command; returns the problems."""
    done = subprocess.run(
        command(case.words, server), cwd=place, env=environment(place), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return [f"the command ends with {done.returncode} when repeated: {done.stderr.strip()[-300:]}"]
    found = case.results(place / "out")
    differing = sorted(k for k in {*found, *expected} if found.get(k) != expected.get(k))
    partial = [str(p) for p in (place / "out").rglob("*") if ".partial" in p.name]
    return [f"{name} differs" for name in differing] + [f"{name} is left" for name in partial]


def kills(count: int, draw: random.Random, base: Path, server: str) -> int:
    """Kills commands in turn. Returns the number of problems."""
    known = {c.name: found for c in CASES if (found := undisturbed(c, base, server)) is not None}
    chosen = [c for c in CASES if c.name in known]
    rows = {c.name: [0, 0, 0, 0] for c in chosen}
    for number in range(count):
        case = chosen[number % len(chosen)]
        expected, took_s, _ = known[case.name]
        after_s = draw.uniform(0.0, took_s)
        place, problems = killed(case, base, server, after_s)
        row = rows[case.name]
        row[0] += 1
        row[1] += bool(case.results(place / "out"))
        row[2] += len(list((place / "tmp").iterdir()))
        problems += again(case, place, server, expected)
        row[3] += len(problems)
        for problem in problems:
            print(f"{case.name}, killed after {after_s:.3f} s: {problem}", flush=True)
    print(f"{'command':<10}{'kills':>7}{'with results':>14}{'temporary':>11}{'problems':>10}")
    for name, (n, some, left, wrong) in rows.items():
        print(f"{name:<10}{n:>7}{some:>14}{left:>11}{wrong:>10}")
    return sum(row[3] for row in rows.values())


def full(count: int, draw: random.Random, base: Path, server: str) -> int:
    """Gives commands too little room in turn. Returns the number of problems."""
    known = {c.name: found for c in CASES if c.on_disk and (found := undisturbed(c, base, server)) is not None}
    chosen = [c for c in CASES if c.name in known]
    rows = {c.name: [0, 0, 0, 0] for c in chosen}
    for number in range(count):
        case = chosen[number % len(chosen)]
        expected, _, size = known[case.name]
        room = draw.randrange(4096, max(8192, size))
        place = base / f"{case.name}-full"
        shutil.rmtree(place, ignore_errors=True)
        (place / "out").mkdir(parents=True)
        ask = json.dumps({"case": case.name, "server": server, "room": room, "expected": expected})
        words = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, __file__, "inside", ask]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"no file system of its own: {done.stderr}")
        code, problems, some = json.loads(done.stdout)
        row = rows[case.name]
        row[0] += 1
        row[1] += code != 0
        row[2] += some
        row[3] += len(problems)
        for problem in problems:
            print(f"{case.name}, {room} bytes: {problem}", flush=True)
    print(f"{'command':<10}{'disks':>7}{'ended':>7}{'with results':>14}{'problems':>10}")
    for name, (n, ended, some, wrong) in rows.items():
        print(f"{name:<10}{n:>7}{ended:>7}{some:>14}{wrong:>10}")
    return sum(row[3] for row in rows.values())


def inside(ask: str) -> None:
    """In a mount namespace: a command on a small file system, and again on a large one."""
    given = json.loads(ask)
    case = next(c for c in CASES if c.name == given["case"])
    place, expected = Path.cwd(), given["expected"]
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={given['room']}", "tmpfs", "out"], check=True)
    done = subprocess.run(
        command(case.words, given["server"]),
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    problems = []
    if "Traceback" in done.stderr or done.returncode < 0 or (done.returncode != 0 and not done.stderr.strip()):
        problems.append(f"it ends with {done.returncode}: {done.stderr.strip()[-400:]}")
    found = case.results(place / "out") if done.returncode == 0 or case.results is tables else {}
    problems += [f"{name} counts as complete and differs" for name, sha in found.items() if expected.get(name) != sha]
    subprocess.run(["mount", "-o", "remount,size=1G", str(place / "out")], check=True)
    problems += again(case, place, given["server"], expected)
    print(json.dumps([done.returncode, problems, bool(found)]))


def main(words: list[str]) -> int:
    """Runs a series. Returns the exit code."""
    series = {"kills": kills, "full": full}
    if len(words) not in (2, 3) or words[0] not in series:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        base = Path(place)
        inputs(base)
        with served(base) as server:
            draw = random.Random(int((words[2:] or ["1"])[0]))
            return int(series[words[0]](int(words[1]), draw, base, server) > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        inside(sys.argv[2])
        raise SystemExit(0)
    raise SystemExit(main(sys.argv[1:]))
