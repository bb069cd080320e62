# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A sender, a router, a cable with a delay and a receiver, in network namespaces of their own.

h1 ── r ══ d ── h2      r: token bucket at the device r1; d: the delay, in user space
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "orbcc"
SIOCETHTOOL = 0x8946
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None)
# ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM.
OFFLOADS = [0x1F, 0x24, 0x2C, 0x17]


def missing() -> str:
    """What the machine lacks for these tests; empty = nothing."""
    if os.geteuid() != 0:
        return "not root"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "the kernel has no BTF"
    for name in ["orbcc", "orbcc.bpf.o", "port.bpf.o", "box"]:
        if not (BUILT / name).exists():
            return f"no {name}: make ebpf"
    for tool in ["ip", "tc", "nsenter", "iperf3"]:
        if shutil.which(tool) is None:
            return f"no {tool}"
    if subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True).returncode != 0:
        return "no network namespaces"
    return ""


def sh(*words: str) -> str:
    """Runs a command; its output."""
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


class Network:
    """The network; `close` removes all of it."""

    def __init__(
        self,
        rate_kbit: int = 20_000,
        queue: int = 60_000,
        delay_ms: float = 10,
        meddling: str = "",
        offload: bool = False,
    ) -> None:
        """`queue`: bytes of the bucket's queue; `meddling`: of tests/box.c; `offload`: at the sender."""
        self.name = f"orb{os.getpid() % 10000}"
        self.rate_kbit, self.queue = rate_kbit, queue
        self.folder = Path(tempfile.mkdtemp(prefix="orbcc-"))
        self.processes: list[subprocess.Popen[str]] = []
        self.pins: list[Path] = []
        self.delay_us = int(delay_ms * 1000)
        self.meddling = meddling
        self.offload = offload
        sh("mount", "-t", "bpf", "none", str(self.folder))
        try:
            self.build()
        except BaseException:
            self.close()
            raise

    def ns(self, host: str) -> str:
        """Name of a namespace."""
        return f"{self.name}-{host}"

    def inside(self, host: str, *words: str) -> list[str]:
        """A command within a namespace; mounts are those of the machine."""
        return ["nsenter", f"--net=/run/netns/{self.ns(host)}", *words]

    def build(self) -> None:
        """Makes namespaces, devices, addresses, routes, the bucket and the cable."""
        for host in ["h1", "r", "d", "h2"]:
            sh("ip", "netns", "add", self.ns(host))
            sh("ip", "-n", self.ns(host), "link", "set", "lo", "up")
            for where in ["all", "default"]:
                sh(*self.inside(host, "sysctl", "-qw", f"net.ipv6.conf.{where}.accept_dad=0"))
        for host, device, other, peer in [("h1", "e0", "r", "r0"), ("r", "r1", "d", "d0"), ("d", "d1", "h2", "e0")]:
            words = ["link", "add", device, "type", "veth", "peer", "name", peer, "netns", self.ns(other)]
            sh("ip", "-n", self.ns(host), *words)
        sh(*self.inside("r", "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", "net.ipv4.ip_forward=1"))
        sh(
            *self.inside(
                "d", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv6.conf.all.disable_ipv6=1"
            )
        )
        for host, device in [("h1", "e0"), ("r", "r0"), ("r", "r1"), ("d", "d0"), ("d", "d1"), ("h2", "e0")]:
            sh("ip", "-n", self.ns(host), "link", "set", device, "up")
            if not (self.offload and device == "e0" and host == "h1"):
                self.switch_offloads_off(host, device)
        for host, device, net, last in [("h1", "e0", 1, 1), ("r", "r0", 1, 2), ("r", "r1", 2, 2), ("h2", "e0", 2, 1)]:
            sh("ip", "-n", self.ns(host), "addr", "add", f"fd0{net}::{last}/64", "dev", device, "nodad")
            sh("ip", "-n", self.ns(host), "addr", "add", f"10.{net}.0.{last}/24", "dev", device)
        for host, net in [("h1", 1), ("h2", 2)]:
            sh("ip", "-n", self.ns(host), "route", "add", "default", "via", f"fd0{net}::2")
            sh("ip", "-n", self.ns(host), "route", "add", "default", "via", f"10.{net}.0.2")
        bucket = ["rate", f"{self.rate_kbit}kbit", "burst", "2000", "limit", str(self.queue)]
        sh(*self.inside("r", "tc", "qdisc", "add", "dev", "r1", "root", "tbf", *bucket))
        box = [str(BUILT / "box"), "d0", "d1", str(self.delay_us), *([self.meddling] if self.meddling else [])]
        cable = self.start("d", *box)
        assert cable.stdout is not None
        assert cable.stdout.readline() == "ready\n"

    def switch_offloads_off(self, host: str, device: str) -> None:
        """Has the kernel make packets as they are on a wire."""
        before = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.ns(host)}", os.O_RDONLY)
        LIBC.setns(there, CLONE_NEWNET)
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                for command in OFFLOADS:
                    value = ctypes.create_string_buffer(struct.pack("II", command, 0))
                    request = struct.pack("16sP8x", device.encode(), ctypes.addressof(value))
                    with contextlib.suppress(OSError):
                        fcntl.ioctl(s, SIOCETHTOOL, request)
        finally:
            LIBC.setns(before, CLONE_NEWNET)
            os.close(before)
            os.close(there)

    def start(self, host: str, *words: str) -> subprocess.Popen[str]:
        """Starts a process that ends with the network."""
        process = subprocess.Popen(
            self.inside(host, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.processes.append(process)
        return process

    def loader(self, host: str, command: str, pin: str, *words: str) -> str:
        """The loader's output."""
        self.pins.append(self.folder / pin)
        return sh(*self.inside(host, str(BUILT / "orbcc"), command, "--pin", str(self.folder / pin), *words))

    def receiver(self, *words: str) -> None:
        """Attaches the receiving side at h2."""
        self.loader("h2", "attach", "h2", "--object", str(BUILT / "orbcc.bpf.o"), "--receiver", "--dev", "e0", *words)

    def port(self, switch: int = 0x5157) -> None:
        """Has the router's port stamp records."""
        words = ["--dev", "r1", "--rate", str(self.rate_kbit), "--switch", str(switch), "--queue", str(self.queue)]
        self.loader("r", "port", "port", "--object", str(BUILT / "port.bpf.o"), *words)

    def trace(self, node: int = 7) -> None:
        """Has the router fill IOAM traces, as an unpatched Linux router does."""
        sysctls = ["net.ipv6.conf.r0.ioam6_enabled=1", f"net.ipv6.ioam6_id={node}"]
        sh(*self.inside("r", "sysctl", "-qw", *sysctls))
        sh(*self.inside("r", "ip", "ioam", "namespace", "add", "0"))

    def status(self, pin: str, host: str = "h2") -> Any:
        """Counters and connections of what is attached."""
        return json.loads(sh(*self.inside(host, str(BUILT / "orbcc"), "status", "--pin", str(self.folder / pin))))

    def iperf(
        self, seconds: float, scheme: str = "orbcc", v4: bool = False, options: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """A transfer from h1 to h2: Mbit/s of payload, mean sRTT in ms, retransmissions; with OrbCC its report."""
        server = ["iperf3", "-s", "-1"]
        if "tcp" in options:
            loader = [str(BUILT / "orbcc"), "run", "--object", str(BUILT / "orbcc.bpf.o"), "--receiver"]
            server = [*loader, "--carrier", "tcp", "--", *server]
        self.start("h2", *server)
        time.sleep(1.2 if "tcp" in options else 0.3)
        client = ["iperf3", "-c", "10.2.0.1" if v4 else "fd02::1", "-t", str(seconds), "-J"]
        report = self.folder.parent / f"{self.folder.name}.json"
        if scheme == "orbcc":
            loader = [str(BUILT / "orbcc"), "run", "--object", str(BUILT / "orbcc.bpf.o"), "--dev", "e0"]
            words = [*loader, "--report", str(report), *options, "--", *client]
        else:
            words = [*client, "-C", scheme]
        done = subprocess.run(
            self.inside("h1", *words), check=False, capture_output=True, text=True, timeout=seconds + 30
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr + done.stdout)
        end = json.loads(done.stdout)["end"]
        result = {
            "mbit": end["sum_received"]["bits_per_second"] / 1e6,
            "srtt_ms": end["streams"][0]["sender"]["mean_rtt"] / 1e3,
            "retransmissions": end["sum_sent"]["retransmits"],
        }
        if scheme == "orbcc":
            result["report"] = json.loads(report.read_text(encoding="utf-8"))
            report.unlink()
            # The transfer is last, after iperf3's own connection.
            result["report"]["flows"].sort(key=lambda flow: flow["acks"])
        return result

    def close(self) -> None:
        """Removes everything."""
        for process in self.processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        for pin in self.pins:
            for path in pin.glob("*"):
                path.unlink()
            if pin.exists():
                pin.rmdir()
        for host in ["h1", "r", "d", "h2"]:
            subprocess.run(["ip", "netns", "del", self.ns(host)], check=False, capture_output=True)
        subprocess.run(["umount", str(self.folder)], check=False, capture_output=True)
        self.folder.rmdir()


@contextlib.contextmanager
def network(**how: Any) -> Iterator[Network]:
    """A network for a test."""
    n = Network(**how)
    try:
        yield n
    finally:
        n.close()
