# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfers of unmodified programs over an emulated network with ports that stamp telemetry.

Hosts of the scenario are named namespaces, since BPF programs are loaded in the machine's user namespace.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from network import BUILT, ROOT, sh

SCENARIO = ROOT / "scenarios/leo/london-new-york.toml"
# The shells of Starlink's first generation, at a time with four changes of the path in 13 s.
CHANGING = ("source.constellation.preset=starlink-gen1", 'source.constellation.start="2000-01-01T00:36:00Z"')
ETHERNET = 1500
PORT = 5201


@dataclass(frozen=True)
class Carrier:
    """A scheme, its carrier, and the version of IP."""

    name: str
    scheme: str = "orbcc"
    options: tuple[str, ...] = ()
    v4: bool = False
    payload: int = 1428
    """Bytes of payload in a packet of 1500."""


CARRIERS = (
    Carrier("OrbCC, headers, IPv6", options=("--carrier", "ip6"), payload=1364),
    Carrier("OrbCC, option, IPv4", options=("--carrier", "tcp"), v4=True, payload=1424),
    Carrier("OrbCC, option, IPv6", options=("--carrier", "tcp"), payload=1404),
    Carrier("Cubic", "cubic"),
    Carrier("BBR", "bbr"),
)


@dataclass
class Transfer:
    """Result of a transfer."""

    mbit: float
    achievable_mbit: float
    """Payload of full packets at the link's rate, while it is up."""
    rtt_ms: float
    """Mean smoothed RTT; 0 = unknown."""
    base_ms: float
    """Mean RTT of the path without queues."""
    last_base_ms: float
    retransmissions: int = 0
    changes: int = 0
    """Changes of the path."""
    flow: dict[str, Any] = field(default_factory=dict)
    """OrbCC's last report of the connection."""

    @property
    def share(self) -> float:
        """Share of what is achievable."""
        return self.mbit / self.achievable_mbit

    @property
    def inflation(self) -> float:
        """Mean RTT over that of the path without queues."""
        return self.rtt_ms / self.base_ms


class Emulation:
    """An emulated network with hosts in namespaces; `close` removes them."""

    def __init__(self, scenario: Path, hosts: Sequence[str], overrides: Sequence[str] = ()) -> None:
        """Creates a namespace for each host."""
        self.scenario, self.hosts, self.overrides = scenario, list(hosts), list(overrides)
        self.folder = Path(tempfile.mkdtemp(prefix="orbcc-sky-"))
        self.spaces = {host: f"orbs{os.getpid() % 100000}-{i}" for i, host in enumerate(hosts)}
        for space in self.spaces.values():
            sh("ip", "netns", "add", space)

    def run(self, programs: Sequence[tuple[str, Sequence[str]]], seconds: float) -> Path:
        """Runs programs at hosts; returns the folder of the record."""
        words = [sys.executable, "-m", "perigee_lab", "exec", str(self.scenario), "--backend", "emulation"]
        words += ["--out", str(self.folder / "out"), "--force"]
        words += [word for host, space in self.spaces.items() for word in ("--use", f"{host}=netns:{space}")]
        words += [word for override in self.overrides for word in ("--set", override)]
        for host, program in programs:
            words += ["--at", host, "--", *program]
        done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=ROOT, timeout=seconds + 60)
        if done.returncode != 0:
            raise RuntimeError(done.stderr + done.stdout)
        [record] = (self.folder / "out").glob("*/seed1")
        return record

    def close(self) -> None:
        """Removes namespaces and files."""
        for space in self.spaces.values():
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)
        shutil.rmtree(self.folder)

    def __enter__(self) -> Emulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@functools.cache
def may_be_urgent() -> bool:
    """Whether this machine grants real-time priorities."""
    words = ["chrt", "-f", "1", "true"]
    return bool(shutil.which("chrt")) and subprocess.run(words, check=False, capture_output=True).returncode == 0


def urgent(words: Sequence[str]) -> list[str]:
    """A command with the emulation's priority, so that other processes of the machine matter less."""
    return ["chrt", "-f", "1", *words] if may_be_urgent() else list(words)


def later(words: Sequence[str]) -> list[str]:
    """A command that starts when servers listen."""
    return ["sh", "-c", f"sleep 1.5; exec {' '.join(map(quote, words))}"]


def loader(*words: str) -> list[str]:
    """A call of OrbCC's loader, up to its options."""
    return [str(BUILT / "orbcc"), "run", "--object", str(BUILT / "orbcc.bpf.o"), *words]


def address(host: int, v4: bool) -> str:
    """Address of a host of the emulation, by its number from 1."""
    return f"10.0.0.{host}" if v4 else f"fd00::{host}"


def iperf(
    e: Emulation, carrier: Carrier, pair: tuple[int, int], seconds: float, fallback: str = "cubic"
) -> list[tuple[str, list[str]]]:
    """Server and client of a transfer between hosts, which are given by their places in the emulation."""
    source, destination = pair
    server = ["iperf3", "-s", "-1"]
    log = e.folder / f"{source}.json"
    log.unlink(missing_ok=True)
    client = ["iperf3", "-c", address(destination + 1, carrier.v4), "-t", str(seconds), "-J", "--logfile", str(log)]
    if carrier.scheme == "orbcc":
        server = [*loader("--receiver", "--dev", f"eth{destination + 1}", *carrier.options), "--", *server]
        words = ["--dev", f"eth{source + 1}", "--log", str(e.folder / f"{source}.flows"), "--fallback", fallback]
        client = [*loader(*words, *carrier.options), "--", *later(client)]
    else:
        client = later([*client, "-C", carrier.scheme])
    return [(e.hosts[destination], urgent(server)), (e.hosts[source], urgent(client))]


def flow_log(path: Path) -> list[dict[str, Any]]:
    """OrbCC's reports of the connection with the most ACKs."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if not lines:
        return []
    busiest = max(lines, key=lambda line: line["acks"])
    return [line for line in lines if (line["local"], line["remote"]) == (busiest["local"], busiest["remote"])]


def outages_s(record: Path) -> float:
    """Seconds in which a host of the record has no link."""
    import pyarrow.parquet as pq

    spans = [
        (row["t_ns"], row["t_ns"] + int(row["value"] * 1e9))
        for row in pq.read_table(record / "events.parquet").to_pylist()
        if row["kind"] == "outage-begin"
    ]
    total, end = 0, 0
    for begin, until in sorted(spans):
        total += max(until - max(begin, end), 0)
        end = max(end, until)
    return total / 1e9


def figures_of(
    e: Emulation, record: Path, carrier: Carrier, mbit: float, seconds: float, rate_mbit: float = 100
) -> Transfer:
    """Figures of a transfer from the first host, without those of its program."""
    import pyarrow.parquet as pq

    rows = pq.read_table(record / "flows.parquet", columns=["base_rtt_ns"]).column("base_rtt_ns").to_pylist()
    bases = [base / 1e6 for base in rows if base]
    events = pq.read_table(record / "events.parquet", columns=["kind"]).column("kind").to_pylist()
    transfer = Transfer(
        mbit=mbit,
        achievable_mbit=rate_mbit * carrier.payload / ETHERNET * (1 - outages_s(record) / seconds),
        rtt_ms=0,
        base_ms=statistics.fmean(bases),
        last_base_ms=bases[-1],
        changes=events.count("path-change"),
    )
    if carrier.scheme == "orbcc":
        # Without the last ones: the network may have ended before the connection did.
        flows = flow_log(e.folder / "0.flows")[:-5]
        transfer.flow = flows[-1]
        transfer.rtt_ms = statistics.fmean(flow["srtt_us"] / 1e3 for flow in flows)
    return transfer


def iperf_figures(e: Emulation, carrier: Carrier, seconds: float, fallback: str, rate_mbit: float) -> Transfer:
    """Runs iperf3 between the first two hosts; its figures."""
    record = e.run(iperf(e, carrier, (0, 1), seconds, fallback), seconds)
    end = json.loads((e.folder / "0.json").read_text(encoding="utf-8"))["end"]
    received = end["sum_received"]
    transfer = figures_of(e, record, carrier, received["bits_per_second"] / 1e6, received["seconds"], rate_mbit)
    transfer.rtt_ms = end["streams"][0]["sender"]["mean_rtt"] / 1e3
    transfer.retransmissions = end["sum_sent"]["retransmits"]
    return transfer


def over_the_sky(carrier: Carrier, seconds: float, fallback: str = "cubic") -> Transfer:
    """A transfer of iperf3 from London to New York at 100 Mbit/s."""
    with Emulation(SCENARIO, ["london", "new-york"], CHANGING) as e:
        return iperf_figures(e, carrier, seconds, fallback, 100)


PARTLY = """
[run]
duration = "300 s"
[source.network]
link = [
  { from = "s", to = "r1", delay = "2 ms", rate = "200 Mbit" },
  { from = "r1", to = "r2", delay = "10 ms", rate = "50 Mbit" },
  { from = "r2", to = "d", delay = "8 ms", rate = "200 Mbit" },
  { from = "r1", to = "r2", at = "8 s", delay = "25 ms" },
  { from = "r1", to = "r2", at = "16 s", delay = "12 ms" },
]
[port.link]
queue = "500 kB"
metered = false
[port."r2->d"]
metered = true
[schedule]
every = "8 s"
first = "8 s"
outage = "uniform(60 ms, 120 ms)"
on = "r1->r2"
direction = "both"
[[flow]]
from = "s"
to = "d"
app = "programs"
"""


def over_one_of_three(seconds: float, fallback: str, scheme: str = "orbcc") -> Transfer:
    """A transfer over three ports of which the last stamps, and the second is the bottleneck of 50 Mbit/s."""
    folder = Path(tempfile.mkdtemp(prefix="orbcc-partly-"))
    (folder / "partly.toml").write_text(PARTLY, encoding="utf-8")
    carrier = CARRIERS[0] if scheme == "orbcc" else Carrier(scheme, scheme)
    try:
        with Emulation(folder / "partly.toml", ["s", "d"]) as e:
            return iperf_figures(e, carrier, seconds, fallback, 50)
    finally:
        shutil.rmtree(folder)


def download(carrier: Carrier, seconds: float) -> Transfer:
    """The same for curl, which downloads from an unmodified web server; OrbCC only."""
    with Emulation(SCENARIO, ["london", "new-york"], CHANGING) as e:
        with (e.folder / "file").open("wb") as file:
            file.truncate(int(seconds * 100e6 / 8 * 1.2))
        web = [sys.executable, "-m", "http.server", "-d", str(e.folder), "--bind", address(1, carrier.v4), "8000"]
        web = [*loader("--dev", "eth1", "--log", str(e.folder / "0.flows"), *carrier.options), "--", *web]
        host = address(1, True) if carrier.v4 else f"[{address(1, False)}]"
        figures = "%{size_download} %{time_total} %{time_connect}"
        options = ["-s", "-o", "/dev/null", "-m", str(seconds), "-w", figures]
        client = ["curl", *options, f"http://{host}:8000/file"]
        client = [*loader("--receiver", "--dev", "eth2", *carrier.options), "--", *client]
        client = ["sh", "-c", f"{' '.join(map(quote, client))} > {e.folder / 'curl'}; sleep 0.2"]
        record = e.run([("london", urgent(web)), ("new-york", urgent(client))], seconds)
        size, total, connect = map(float, (e.folder / "curl").read_text(encoding="utf-8").split())
        return figures_of(e, record, carrier, size * 8 / 1e6 / (total - connect), total - connect)


UNEQUAL = """
[run]
duration = "300 s"
[source.network]
link = [
  { from = "s", to = "r", delay = "1 ms", rate = "100 Mbit" },
  { from = "r", to = "d1", delay = "9 ms", rate = "1 Gbit" },
  { from = "r", to = "d2", delay = "19 ms", rate = "1 Gbit" },
  { from = "r", to = "d3", delay = "39 ms", rate = "1 Gbit" },
]
[port.link]
queue = "500 kB"
"""


def unequal(carrier: Carrier, seconds: float) -> list[float]:
    """Mbit/s of three transfers with RTTs of 20, 40 and 80 ms that share 100 Mbit/s, after the first five seconds."""
    flows = "".join(f'[[flow]]\nfrom = "s"\nto = "d{i}"\napp = "programs"\n' for i in (1, 2, 3))
    file = Path(tempfile.mkdtemp(prefix="orbcc-rtts-")) / "rtts.toml"
    file.write_text(UNEQUAL + flows, encoding="utf-8")
    try:
        with Emulation(file, ["s", "d1", "d2", "d3"]) as e:
            record = [str(e.folder / f"{i}.json") for i in range(3)]
            words = [
                f"iperf3 -c {address(i + 2, carrier.v4)} -t {seconds} -J --logfile {record[i]} &" for i in range(3)
            ]
            answer = loader("--receiver", "--dev")
            programs = [
                (f"d{i}", urgent([*answer, f"eth{i + 1}", *carrier.options, "--", "iperf3", "-s", "-1"]))
                for i in (1, 2, 3)
            ]
            send = loader("--dev", "eth1", *carrier.options, "--", "sh", "-c", " ".join(["sleep 1.5;", *words, "wait"]))
            e.run([*programs, ("s", urgent(send))], seconds)
            logs = [json.loads(Path(name).read_text(encoding="utf-8")) for name in record]
    finally:
        shutil.rmtree(file.parent)
    later = [[i["sum"]["bits_per_second"] / 1e6 for i in log["intervals"][5:]] for log in logs]
    return [statistics.fmean(rates) for rates in later]
