# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Recorder of inputs and decisions of Linux's congestion controls, for crates/perigee-cc/tests.

perigee kernel build --module python/perigee_lab/hosts/kernel/modules/tcp_decisions.c
python docs/make/decisions.py [FOLDER]

Each scheme runs over each path on a real host; /proc/decisions is read at the end, and a recording
is stored as FOLDER/SCHEME-PATH.csv.gz, with one line per call and each number as the difference
from the previous line. Times are shifted so that a timer tick (jiffies) starts at each whole
millisecond.
"""

import csv
import gzip
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNEL = "tcp_decisions"
# Names of schemes in the simulator and in the kernel.
SCHEMES = {"newreno": "reno", "cubic": "cubic", "vegas": "vegas", "hybla": "hybla", "bbr": "bbr"}
COMMON = """
[run]
duration = "18 s"
[source.dumbbell]
rtt = "60 ms"
rtt_at = "ack-path"
reordering = true
[port.all]
framing = 14
[port.bottleneck]
rate = "6 Mbit"
queue = "1 bdp"
[port.reverse]
rate = "1 Tbit"
queue = "1000000 packets"
[port.access]
rate = "1 Tbit"
queue = "1000000 packets"
[[flow]]
start = "1 s"
stop = "16 s"
[[flow]]
from = "s1"
to = "d1"
app = "programs"
cc = "newreno"
[[program]]
node = "s1"
command = "echo SCHEME > /proc/decisions"
[[program]]
node = "s1"
command = "cat /proc/decisions"
start = "17 s"
"""
PATHS = {
    # A longer path, then a shorter one on which packets overtake others, then 0.7 s without a path.
    "steps": """
[[change]]
at = "4 s"
rtt = "120 ms"
[[change]]
at = "7 s"
rtt = "60 ms"
[[change]]
at = "13 s"
outage = "700 ms"
mode = "blackhole"
""",
    "loss": "",
}
SETTINGS = {"steps": (), "loss": ("source.dumbbell.loss=0.004",)}
MS = 1_000_000
# Columns of times by unit, and columns of byte numbers, which count from the connection's first
# byte.
NANOSECONDS, MICROSECONDS, BYTES = ("clock_ns", "edt_ns"), ("delivered_us",), ("snd_una", "snd_nxt")


def run(scheme: str, path: str, folder: Path) -> tuple[list[dict[str, str]], str]:
    """Runs a scheme over a path; returns its calls and the version of the kernel."""
    scenario, out = folder / f"{path}.toml", folder / f"{scheme}-{path}"
    scenario.write_text(COMMON.replace("SCHEME", SCHEMES[scheme]) + PATHS[path])
    words = ["run", scenario, "--backend", "linux", "--kernel", KERNEL, "--cc", "decisions", "--trust"]
    for setting in SETTINGS[path]:
        words += ["--set", setting]
    subprocess.run(["perigee", *map(str, words), "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
    (text,) = [p for p in out.rglob("programs/*") if p.is_file() and p.read_bytes().startswith(b"call,")]
    rows = list(csv.DictReader(io.StringIO(text.read_text())))
    # The receiver's connection also makes calls, but only a few.
    sockets = [row["socket"] for row in rows]
    sender = max(set(sockets), key=sockets.count)
    return [row for row in rows if row["socket"] == sender], version(out)


def version(out: Path) -> str:
    """The kernel version in the record."""
    (manifest,) = out.rglob("manifest.json")
    return str(json.loads(manifest.read_text())["kernel"]["version"])


def shift_ns(rows: list[dict[str, str]], first_tick: int) -> int:
    """Offset of times with which ticks start at whole milliseconds, the first at one second."""
    low, high = [], []
    for row in rows:
        tick = (int(row["jiffies"]) - first_tick + 1000) * MS - int(row["clock_ns"])
        low.append(tick)
        high.append(tick + MS)
    shift = -(-max(low) // 1000) * 1000
    if shift >= min(high):
        late = sum(value <= max(low) for value in high)
        raise SystemExit(
            f"no shift fits all calls: {late} of {len(rows)} were made in a tick that had not been counted"
        )
    return shift


def signed(value: int) -> int:
    """Converts 64 bits to a signed value: an unlimited pacing rate has all bits set."""
    return value - (1 << 64) if value >= 1 << 63 else value


def condensed(rows: list[dict[str, str]], facts: dict[str, object]) -> bytes:
    """The contents of a recording's file."""
    first = rows[0]
    shift, una, tick = shift_ns(rows, int(first["jiffies"])), int(first["snd_una"]), int(first["jiffies"])
    names = [name for name in first if name not in ("socket", "jiffies")]
    lines = [f"# {name} = {value}" for name, value in facts.items()] + [",".join(names)]
    above = dict.fromkeys(names[1:], 0)
    for row in rows:
        here = {name: signed(int(row[name])) for name in names[1:]}
        here |= {name: here[name] + shift for name in NANOSECONDS}
        here |= {name: here[name] + shift // 1000 for name in MICROSECONDS}
        here |= {name: here[name] - una for name in BYTES}
        here["lsndtime"] += 1000 - tick
        # Events that have not happened yet have no time.
        here |= {name: max(here[name], 0) for name in (*MICROSECONDS, "lsndtime")}
        # At least the clock, since a departure time in the past has no effect.
        here["edt_ns"] = max(here["edt_ns"], here["clock_ns"])
        changes = (here[name] - above[name] for name in names[1:])
        lines.append(",".join([row["call"], *(str(c) if c else "" for c in changes)]).rstrip(","))
        above = here
    # Without a date, so that equal calls yield equal files.
    return gzip.compress("\n".join(lines).encode() + b"\n", 9, mtime=0)


def main() -> None:
    """Records every scheme over every path."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "crates/perigee-cc/tests/recorded")
    with tempfile.TemporaryDirectory() as runs:
        for scheme in SCHEMES:
            for path in PATHS:
                rows, kernel = run(scheme, path, Path(runs))
                facts = {"scheme": scheme, "path": path, "kernel": kernel}
                file = folder / f"{scheme}-{path}.csv.gz"
                file.write_bytes(condensed(rows, facts))
                print(f"{file.name}: {len(rows)} calls, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
