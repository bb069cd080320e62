# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Completion times, delay and CPU time of downloads through split connections, over emulated links.

    make gateway
    sudo .venv/bin/python bench/gateway.py [--links leo,geo-loss] [--sizes 12e3,1e6] [--repeat 3] [--limit-s 40]

Hosts use Cubic; a pair of gateways, one at each end of the link, uses BBR between them. The network is that of
`tests/gateways.py`: namespaces of this machine, with `perigee-delay-line` as the link. Times are
from the client's `connect` to the last byte, medians of the repetitions; a download that takes longer than the limit is
shown as > limit. CPU time is that of both gateway processes over the largest download.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import gateways
from gateways import SERVER, Network

# The LEO link changes its delay every 15 s, as at handovers; queues hold one bandwidth-delay product.
LINKS = {
    "leo": "--delay-ms 25,32,21,28 --rate-mbit 50 --queue-kb 312",
    "leo-loss": "--delay-ms 25,32,21,28 --rate-mbit 50 --queue-kb 312 --loss 0.01",
    "geo": "--delay-ms 300 --rate-mbit 50 --queue-kb 3750",
    "geo-loss": "--delay-ms 300 --rate-mbit 50 --queue-kb 3750 --loss 0.01",
}
SETUPS: dict[str, tuple[str, ...] | None] = {
    "nothing": None,
    "gateways": ("--cc", "bbr"),
    "gateways --spoof": ("--cc", "bbr", "--spoof"),
}
SERVE = """
import socket, sys, threading
listener = socket.create_server(("", 7000), backlog=512)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
block = bytes(1 << 18)
def serve(peer):
    left = int(peer.makefile("rb").readline())
    try:
        while left > 0:
            left -= peer.send(block[:min(left, len(block))])
        peer.shutdown(socket.SHUT_WR)
        peer.recv(1)
    except OSError:
        pass
    peer.close()
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""
FETCH = """
import socket, sys, time
address, size, limit = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
begin = time.monotonic()
peer = socket.create_connection((address, 7000), timeout=limit)
peer.sendall(b"%d\\n" % size)
got, buffer = 0, bytearray(1 << 18)
while got < size and time.monotonic() - begin < limit:
    peer.settimeout(max(limit - (time.monotonic() - begin), 0.01))
    try:
        got += peer.recv_into(buffer)
    except TimeoutError:
        break
print(time.monotonic() - begin if got >= size else "inf", got)
"""
# Records with the time at which they were written; the sender holds few of them.
PACED = """
import select, socket, struct, sys, time
listener = socket.create_server(("", 7001))
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
print("ready", flush=True)
peer, _ = listener.accept()
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 32768)
peer.setblocking(False)
writable = select.poll()
writable.register(peer, select.POLLOUT)
end, rest = time.monotonic() + float(sys.argv[1]), b""
while time.monotonic() < end:
    writable.poll(1000)
    rest = rest or struct.pack("d", time.monotonic()) + bytes(1016)
    try:
        rest = rest[peer.send(rest):]
    except BlockingIOError:
        pass
"""
DELAYS = """
import socket, struct, sys, time
file = socket.create_connection((sys.argv[1], 7001)).makefile("rb", buffering=1 << 16)
begin, delays = time.monotonic(), []
try:
    while len(record := file.read(1024)) == 1024:
        if time.monotonic() - begin > float(sys.argv[2]):
            delays.append(time.monotonic() - struct.unpack_from("d", record)[0])
except OSError:
    pass
print(1e3 * sum(delays) / len(delays), 8192e-6 * len(delays) / (time.monotonic() - begin - float(sys.argv[2])))
"""


def one_way(network: Network, seconds: float, skip: float) -> tuple[float, float]:
    """Mean delay (ms) from the server's `send` to the client's `recv`, and goodput (Mbit/s)."""
    sender = network.python("server", PACED, seconds)
    assert sender.stdout is not None
    sender.stdout.readline()
    delay, goodput = network.run("client", sys.executable, "-c", DELAYS, SERVER, str(skip), timeout=120).split()
    return float(delay), float(goodput)


def downloads(network: Network, size: int, repeat: int, limit: float) -> tuple[float, int]:
    """Median time of downloads (s; inf above the limit), and the bytes of the last."""
    times, got = [], 0
    for _ in range(repeat):
        words = (SERVER, str(size), str(limit))
        time, got_now = network.run("client", sys.executable, "-c", FETCH, *words, timeout=limit + 60).split()
        times.append(float(time))
        got = int(got_now)
        if float(time) > limit / 4:
            break
    return statistics.median(times), got


def measure(link: str, setup: str, sizes: list[int], repeat: int, limit: float) -> str:
    """A row of the table."""
    options = SETUPS[setup]
    with tempfile.TemporaryDirectory() as folder, Network(Path(folder), LINKS[link]) as network:
        for host in gateways.HOSTS:
            network.run(host, "sysctl", "-qw", "net.ipv4.tcp_rmem=4096 131072 33554432",
                        "net.ipv4.tcp_wmem=4096 16384 33554432")  # fmt: skip
        server = network.python("server", SERVE)
        assert server.stdout is not None
        server.stdout.readline()
        pair = []
        if options is not None:
            pair = [network.gateway("far", "--from", "outside", *options), network.gateway("near", *options)]
        cells, cpu, got = [], 0.0, 0
        for size in sizes:
            before = sum(gateway.status()["cpu_s"] for gateway in pair)
            time, got = downloads(network, size, repeat if size < 5_000_000 else 1, limit)
            cpu = sum(gateway.status()["cpu_s"] for gateway in pair) - before
            cells.append(f"{time:.2f}" if time <= limit else f"> {limit:.0f} ({8e-6 * got / limit:.1f} Mbit/s)")
        delay, goodput = one_way(network, 16, 6)
        cost = f"{1e9 * cpu / got:.1f}" if pair and got else "-"
        return " | ".join([link, setup, *cells, f"{delay:.0f}", f"{goodput:.1f}", cost])


def main() -> None:
    """Prints the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", default=",".join(LINKS))
    parser.add_argument("--sizes", default="12e3,100e3,1e6,10e6,100e6")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit-s", type=float, default=40)
    given = parser.parse_args()
    if reason := gateways.why_not():
        sys.exit(f"no gateway: {reason}")
    sizes = [int(float(size)) for size in given.sizes.split(",")]
    heads = [f"{size / 1e6:g} MB, s" for size in sizes]
    head = ["link", "between the hosts", *heads, "delay, ms", "goodput, Mbit/s", "CPU, s/GB"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    for link in given.links.split(","):
        for setup in SETUPS:
            print(f"| {measure(link, setup, sizes, given.repeat, given.limit_s)} |", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
