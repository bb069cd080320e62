# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Vivace's published user-space program over real hosts, compared with our Vivace in the simulator.

    bench/pcc/run.py --program FOLDER [--out runs/pcc] [--seeds 2]

FOLDER has the compiled programs `pccclient` and `pccserver` of PCC-Uspace
(github.com/PCCproject/PCC-Uspace), built as in docs/how-to/hosts-programs.md. Real hosts need their
kernel (`perigee kernel build`). In virtual time, a program must read the time from the system's
clock instead of the processor's cycle counter (`arch=GENERIC` in that project's makefile), and should
sleep while it waits: polling the clock works, but a second took 52 s of CPU time (3 s measured, over
10 Mbit/s). Neither concerns its congestion control. `--label` names the build in results.csv.

The set-ups are the start of one flow at the rate of the testbed of Mazilu et al., and two flows at
a tenth of that rate, which share a bottleneck with outages of 45 to 120 ms every 15 s; as in the
testbed, the second flow joins after a quarter of the run and the last half counts. With programs that
sleep, a second of one flow at 100 Mbit/s takes half a minute of CPU time, a second of two flows at
10 Mbit/s takes two seconds. Stopping these processes (SIGSTOP) kills the guests.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from perigee_lab.results.run import open_record

PROGRAMS = ("pccclient", "pccserver")
PORT = 9000


@dataclass(frozen=True)
class SetUp:
    """Flows, given by their RTTs, over one bottleneck; goodput counts from `counts_s` on."""

    rtts: tuple[str, ...]
    rate_mbps: float
    length_s: int
    counts_s: float


SET_UPS = {
    "start of one flow, 50 ms": SetUp(("50 ms",), 100, 6, 1),
    "20 and 100 ms": SetUp(("20 ms", "100 ms"), 10, 200, 100),
    "50 and 50 ms": SetUp(("50 ms", "50 ms"), 10, 200, 100),
}


def located(folder: Path) -> Path:
    """The folder of the programs, as an absolute path."""
    for name in PROGRAMS:
        path = folder / name
        if not (path.is_file() and os.access(path, os.X_OK)):
            sys.exit(f"--program {folder}: no executable {name}; give the folder with {' and '.join(PROGRAMS)}")
    return folder.resolve()


def scenario(s: SetUp, seed: int, programs: Path | None) -> str:
    """A scenario with flows of the published programs, or ours without `programs`."""
    rate, joins_s = s.rate_mbps, s.length_s / 4 + 0.137 * seed
    text = f"""
title = "Vivace"
[run]
duration = "{s.length_s} s"
sample = "1 s"
[source.dumbbell]
pairs = {len(s.rtts)}
rtt = {list(s.rtts)}
[port.all]
rate = "10 Gbit"
queue = "100000 packets"
[port.bottleneck]
rate = "{rate:g} Mbit"
queue = "{round(6553.6 * rate)} B"
burst = "{round(5242.88 * rate)} B"
[schedule]
every = "15 s"
first = "15 s"
outage = "uniform(45 ms, 120 ms)"
"""
    text += '[tcp]\nprofile = "study-leo-cc"\n' if programs is None else '[hosts]\nkernel = "own"\n'
    text = text.replace("'", '"')
    for k, start in enumerate((0.1 + 0.137 * seed, joins_s)[: len(s.rtts)], 1):
        if programs is None:
            text += f'[[flow]]\nfrom = "s{k}"\nto = "d{k}"\ncc = "*"\nstart = "{start:.3f} s"\n'
            continue
        client = [f"{programs}/pccclient", "send", f"d{k}", str(PORT), "Vivace"]
        text += f"""
[[flow]]
from = "s{k}"
to = "d{k}"
app = "programs"
[[program]]
node = "d{k}"
command = ["{programs}/pccserver", "recv", "{PORT}"]
[[program]]
node = "s{k}"
command = {client!r}
start = "{start:.3f} s"
""".replace("'", '"')
    return text


def goodput_mbps(folder: Path, s: SetUp) -> list[float]:
    """Goodput of each flow in Mbit/s; that of programs includes all headers."""
    flows = open_record(folder).to_pandas("flows")
    late = flows[flows["t_ns"] > s.counts_s * 1e9]
    return [float(late[late["flow"] == k]["goodput_bps"].mean()) / 1e6 for k in range(len(s.rtts))]


def run(programs: Path, label: str, out: Path, seeds: int, only: str | None, chosen: str | None) -> None:
    """Runs all set-ups with both; writes one row for each to results.csv."""
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, s in SET_UPS.items():
        if chosen not in (None, name):
            continue
        for seed in range(1, seeds + 1):
            for what in ("program", "simulated"):
                if only not in (None, what):
                    continue
                word = f"{re.sub(r'[^0-9a-z]+', '-', name)}-{what}-{seed}"
                file, folder = out / f"{word}.toml", out / word
                file.write_text(scenario(s, seed, programs if what == "program" else None))
                shutil.rmtree(folder, ignore_errors=True)
                hosts = ["--backend", "linux", "--trust", "--cc", "cubic"] if what == "program" else ["--cc", "vivace"]
                command = [sys.executable, "-m", "perigee_lab", "run", file, *hosts, "--seed", str(seed), "--no-report"]
                done = subprocess.run([*command, "--out", folder], check=False, capture_output=True, text=True)
                found = next(folder.glob("*/seed*"), None)
                if found is None or "incomplete" in done.stdout:
                    print(done.stdout[-1500:], done.stderr[-1500:], file=sys.stderr)
                    continue
                mbps = [f"{x:.3f}" for x in goodput_mbps(found, s)]
                rows.append([name, what, seed, s.rate_mbps, *mbps, *[""] * (2 - len(mbps))])
                print(*rows[-1], sep="\t", flush=True)
    with (out / "results.csv").open("w", newline="") as file_:
        file_.write(f"# PCC-Uspace {label}\n")
        table = csv.writer(file_)
        table.writerow(["set_up", "what", "seed", "rate_mbps", "first_mbps", "second_mbps"])
        table.writerows(rows)


def main() -> None:
    """The command line."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument(
        "--program", type=Path, required=True, metavar="FOLDER", help="where pccclient and pccserver are"
    )
    asked.add_argument("--label", help="of the build, such as its commit (default: a hash of pccclient)")
    asked.add_argument("--out", type=Path, default=Path("runs/pcc"))
    asked.add_argument("--seeds", type=int, default=2)
    asked.add_argument("--only", choices=("program", "simulated"))
    asked.add_argument("--set-up", choices=tuple(SET_UPS))
    args = asked.parse_args()
    programs = located(args.program)
    label = args.label or hashlib.sha256((programs / PROGRAMS[0]).read_bytes()).hexdigest()[:12]
    run(programs, label, args.out, args.seeds, args.only, args.set_up)


if __name__ == "__main__":
    main()
