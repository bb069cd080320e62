# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Recorder of packet arrivals and ACKs at a Linux receiver, for crates/perigee-tcp/tests.

python docs/make/acknowledgements.py [FOLDER]

Each path runs on a real host with a capture at the receiver; a recording is stored as
FOLDER/NAME.csv.gz, with one line per packet. `D` is arriving data: time in ns, segment, timestamp,
1 if the PSH flag is set, and the echoed timestamp by the receiver's clock in ms. `A` is a departing
ACK: time, next expected segment, SACK blocks. Numbers are differences from the previous line of the
same kind.
"""

import gzip
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMON = """
[source.dumbbell]
rtt = "20 ms"
rtt_at = "ack-path"
reordering = true
[port.all]
framing = 14
[port.bottleneck]
rate = "10 Mbit"
burst = "1600 B"
[port.reverse]
rate = "1 Tbit"
queue = "1000000 packets"
[port.access]
rate = "1 Tbit"
queue = "1000000 packets"
[[flow]]
"""
PATHS = {
    # A queue of three packets, at which one burst in eight loses packets.
    "bbr-short-queue": ("bbr", "6 s", ("port.bottleneck.queue=5000 B",)),
    "bbr-loss": ("bbr", "6 s", ("port.bottleneck.queue=1 bdp", "source.dumbbell.loss=0.01")),
    "cubic-loss": ("cubic", "8 s", ("port.bottleneck.queue=1 bdp", "source.dumbbell.loss=0.003")),
}
MSS, PSH, SYN = 1448, 8, 2
ENHANCED_PACKET, TIMESTAMP, SACK = 6, 8, 5
# The clock of the hosts starts at this second.
EPOCH_NS = 946_684_800 * 10**9


@dataclass(frozen=True)
class Packet:
    """A TCP segment of a capture."""

    time_ns: int
    seq: int
    ack: int
    flags: int
    payload: int
    stamp: int
    echo: int
    blocks: list[tuple[int, int]]


def packets(capture: bytes) -> Iterator[Packet]:
    """Segments in a little-endian pcapng file of IPv4 without link headers, with times in ns."""
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == ENHANCED_PACKET:
            _, high, low, kept = struct.unpack_from("<4I", capture, at + 8)
            yield tcp(high << 32 | low, capture[at + 28 : at + 28 + kept])
        at += length


def tcp(time_ns: int, ip: bytes) -> Packet:
    """Parses the segment in a datagram."""
    header = 4 * (ip[0] & 15)
    seq, ack, offset, flags = struct.unpack_from("!IIBB", ip, header + 4)
    data = header + 4 * (offset >> 4)
    stamp, echo, blocks = 0, 0, []
    at = header + 20
    while at < data and ip[at]:
        if ip[at] == 1:
            at += 1
            continue
        if ip[at] == TIMESTAMP:
            stamp, echo = struct.unpack_from("!II", ip, at + 2)
        if ip[at] == SACK:
            edges = struct.unpack_from(f"!{(ip[at + 1] - 2) // 4}I", ip, at + 2)
            blocks = list(zip(edges[::2], edges[1::2], strict=True))
        at += ip[at + 1]
    total = int.from_bytes(ip[2:4], "big")
    return Packet(time_ns - EPOCH_NS, seq, ack, flags, total - data, stamp, echo, blocks)


def lines(found: list[Packet]) -> Iterator[str]:
    """The lines of a recording, from a connection with data in one direction."""
    data = [p for p in found if p.payload]
    first, acks = data[0], [p for p in found if not p.payload and not p.flags & SYN and p.ack != data[0].ack]
    ahead = acks[0].stamp - acks[0].time_ns // 10**6 - 1
    above = {"D": [0] * 5, "A": [0] * 2}
    for p in sorted([*data, *acks], key=lambda p: (p.time_ns, not p.payload)):
        kind = "D" if p.payload else "A"
        if p.payload:
            echo = max(p.echo - ahead, 0)
            here = [p.time_ns, (p.seq - first.seq) // MSS, p.stamp - first.stamp + 1, p.flags & PSH and 1, echo]
        else:
            here = [p.time_ns, (p.ack - first.seq) // MSS]
        blocks = ["{}-{}".format(*((edge - first.seq) // MSS for edge in b)) for b in p.blocks]
        yield ",".join([kind, *(str(a - b) for a, b in zip(here, above[kind], strict=True)), *blocks])
        above[kind] = here


def record(name: str, folder: Path) -> bytes:
    """Runs a path and returns its recording as a file."""
    cc, duration, settings = PATHS[name]
    scenario, out = folder / f"{name}.toml", folder / name
    scenario.write_text(COMMON)
    sets = [f"run.duration={duration}", *settings]
    words = ["run", scenario, "--backend", "linux", "--pcap", "--cc", cc, "--out", out, "--no-report"]
    words += [w for s in sets for w in ("--set", s)]
    subprocess.run(["perigee", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    (capture,) = out.rglob("receivers.pcapng")
    text = "\n".join(lines(list(packets(capture.read_bytes()))))
    # Without a date, so that equal packets yield equal files.
    return gzip.compress(text.encode() + b"\n", 9, mtime=0)


def main() -> None:
    """Records every path."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "crates/perigee-tcp/tests/recorded")
    with tempfile.TemporaryDirectory() as runs:
        for name in PATHS:
            file = folder / f"{name}.csv.gz"
            file.write_bytes(record(name, Path(runs)))
            print(f"{file.name}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
