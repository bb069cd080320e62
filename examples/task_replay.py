# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Task: replay recordings of a terminal in both directions, with bulk flows and web objects.

    python examples/task_replay.py --down down.trace --up up.trace --delay delay.trace --out
    runs/replay

Traces are those of mahimahi (one line per opportunity to deliver 1500 bytes, in ms), and one-way
delays in ms, one line per 10 ms, which may have fractions. Without them, a synthetic terminal is
used.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
from pathlib import Path

import perigee_lab as perigee

REPLAY = """
title = "a recorded terminal, up and down"
[run]
duration = "{seconds} s"
[source.trace]
rate_file = "{down}"
reverse_rate_file = "{up}"
delay_file = "{delay}"
reordering = false
[port.all]
queue = "1000 packets"
discipline = "codel"
[[flow]]
name = "download"
from = "s"
to = "d"
cc = "*"
[[flow]]
name = "upload"
from = "d"
to = "s"
cc = "*"
[[flow]]
name = "web"
from = "s"
to = "d"
cc = "*"
arrivals = "exponential(500 ms)"
object = "pareto(60 kB, 1.5)"
"""


def made_up(folder: Path, seconds: int) -> dict[str, Path]:
    """A synthetic terminal: 40 and 8 Mbit/s on average, varying over 15 s; 22 to 34 ms."""
    paths = {name: folder / f"{name}.trace" for name in ("down", "up", "delay")}
    for name, mbps in (("down", 40.0), ("up", 8.0)):
        lines, gathered = [], 0.0
        for ms in range(1, seconds * 1000 + 1):
            gathered += mbps * (1 + 0.5 * math.sin(2 * math.pi * ms / 15_000)) * 1e3 / 12_000
            lines += [ms] * int(gathered)
            gathered -= int(gathered)
        paths[name].write_text("".join(f"{ms}\n" for ms in lines), encoding="utf-8")
    delays = (28 + 6 * math.sin(2 * math.pi * k / 700) for k in range(seconds * 100))
    paths["delay"].write_text("".join(f"{d:.3f}\n" for d in delays), encoding="utf-8")
    return paths


def first_bytes(capture: Path) -> dict[str, float]:
    """Times to the first byte, by TCP stream of a capture at the senders.

    They are in ms, from the first packet to the first acknowledged byte.
    """
    tshark = shutil.which("tshark")
    if tshark is None:
        return {}
    words = [tshark, "-r", str(capture), "-T", "fields", "-e", "tcp.stream", "-e", "frame.time_epoch", "-e", "tcp.ack"]
    begun: dict[str, float] = {}
    found: dict[str, float] = {}
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        stream, at, ack = [*line.split("\t"), "", ""][:3]
        if not stream:
            continue
        begun.setdefault(stream, float(at))
        # Numbers are relative: 1 acknowledges the SYN, higher numbers acknowledge bytes.
        if ack and int(ack) > 1 and stream not in found:
            found[stream] = (float(at) - begun[stream]) * 1e3
    return found


def main() -> None:
    """Replays the recordings; prints metrics of the terminal's users and of the capture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("down", "up", "delay"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--cc", default="cubic,bbr3")
    parser.add_argument("--out", type=Path, default=Path("runs/replay"))
    parser.add_argument("--quick", action="store_true", help="short runs: a smoke check")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    seconds = 5 if asked.quick else 60
    paths = made_up(asked.out, seconds)
    paths |= {name: path.resolve() for name in paths if (path := getattr(asked, name)) is not None}
    text = REPLAY.format(seconds=seconds, **{name: path.resolve() for name, path in paths.items()})
    file = asked.out / "replay.toml"
    file.write_text(text, encoding="utf-8")

    runs = perigee.load(file).run_all(asked.cc.split(","), out=asked.out / "record", pcap=True)
    for run in runs:
        s = run.summary
        mean_ms, most_ms = s["transfer_mean_s"] * 1e3, s["transfer_p95_s"] * 1e3
        print(f"{run.cc}: web objects of a mean {mean_ms:.0f} ms, 95 % within {most_ms:.0f} ms")
        for warning in run.manifest.warnings:
            print(f"  {warning}")
        for capture in sorted(run.folder.glob("senders*.pcapng")):
            times = sorted(first_bytes(capture).values())
            what = (
                f"first byte acknowledged after {times[len(times) // 2]:.0f} ms (median)" if times else "needs tshark"
            )
            print(f"  {capture}: {what}")


if __name__ == "__main__":
    main()
