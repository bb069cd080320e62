# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Network of namespaces around gateways: client - gateway - link - gateway - server.

```text
client  10.81.1.1 --- 10.81.1.2  near  10.81.2.1 === link === 10.81.2.2  far  10.81.3.2 --- 10.81.3.1  server
        fd81:1::1     (in0)            (out0)                 (out0)          (in0)
```

Either router may run a gateway. The link is `perigee-delay-line`. All namespaces have names of this
process and end with the network.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SERVER = "10.81.3.1"
SERVER_V6 = "fd81:3::1"
CLIENT = "10.81.1.1"
CLIENT_V6 = "fd81:1::1"
HOSTS = ("client", "near", "line", "far", "server")
# Veth pairs: namespace, interface, number of the subnet and host (none: no address).
PAIRS = (
    (("client", "e0", 1, 1), ("near", "in0", 1, 2)),
    (("near", "out0", 2, 1), ("line", "a0", 0, 0)),
    (("line", "b0", 0, 0), ("far", "out0", 2, 2)),
    (("far", "in0", 3, 2), ("server", "e0", 3, 1)),
)
COUNT = itertools.count()
# Turns offloads of interfaces off: checksums, TSO, GSO, GRO (SIOCETHTOOL, linux/ethtool.h).
PLAIN_FRAMES = """
import array, fcntl, socket, struct, sys
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name in sys.argv[1:]:
    for command in (0x17, 0x1F, 0x24, 0x2C):
        value = array.array("B", struct.pack("II", command, 0))
        fcntl.ioctl(control, 0x8946, struct.pack("16sP", name.encode(), value.buffer_info()[0]))
"""


def programs() -> Path | None:
    """The folder of the gateway's programs, as `make gateway` builds them."""
    for folder in (os.environ.get("PERIGEE_GATEWAY_PROGRAMS"), ROOT / "target/release", ROOT / "target/debug"):
        if folder and (Path(folder) / "perigee-gateway").exists():
            return Path(folder)
    return None


def why_not() -> str | None:
    """Why there can be no gateways here, or None."""
    if os.geteuid() != 0:
        return "namespaces of a gateway's test need root"
    if shutil.which("ip") is None:
        return "this machine has no ip (iproute2)"
    if programs() is None:
        return "no perigee-gateway: make gateway builds it"
    made = subprocess.run(["ip", "netns", "add", f"pgw{os.getpid()}-try"], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "del", f"pgw{os.getpid()}-try"], capture_output=True, check=False)
    return None if made.returncode == 0 else f"no network namespace: {made.stderr.strip()}"


def ip(*words: str) -> None:
    """Runs ip."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Network:
    """The namespaces, and the programs that run in them."""

    def __init__(self, folder: Path, link: str = "") -> None:
        """Makes the network; `link` has options of `perigee-delay-line`."""
        self.folder = folder
        self.name = f"pgw{os.getpid()}-{next(COUNT)}"
        self.running: list[subprocess.Popen[bytes]] = []
        folder_of_programs = programs()
        assert folder_of_programs is not None
        self.programs = folder_of_programs
        try:
            self._make()
            self.line = self.start("line", str(self.programs / "perigee-delay-line"), "a0", "b0", *link.split())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ns(self, host: str) -> str:
        """Name of a host's namespace."""
        return f"{self.name}-{host}"

    def _make(self) -> None:
        for host in HOSTS:
            ip("netns", "add", self.ns(host))
            ip("-n", self.ns(host), "link", "set", "lo", "up")
            settings = ["net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.accept_dad=0"]
            if host in ("near", "far"):
                settings += ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]
            if host == "line":
                settings = ["net.ipv6.conf.default.disable_ipv6=1"]
            self.run(host, "sysctl", "-qw", *settings)
        for first, second in PAIRS:
            ip("-n", self.ns(first[0]), "link", "add", first[1], "type", "veth", "peer", "name", second[1],
               "netns", self.ns(second[0]))  # fmt: skip
            for host, device, net, number in (first, second):
                ip("-n", self.ns(host), "link", "set", device, "up")
                if net:
                    ip("-n", self.ns(host), "addr", "add", f"10.81.{net}.{number}/24", "dev", device)
                    ip("-n", self.ns(host), "addr", "add", f"fd81:{net}::{number}/64", "dev", device, "nodad")
        # Single packets with checksums cross the line.
        for host, devices in (("near", ["out0"]), ("line", ["a0", "b0"]), ("far", ["out0"])):
            self.run(host, sys.executable, "-c", PLAIN_FRAMES, *devices)
        for host, net, via in (("client", 1, 2), ("near", 2, 2), ("far", 2, 1), ("server", 3, 2)):
            ip("-n", self.ns(host), "route", "add", "default", "via", f"10.81.{net}.{via}")
            ip("-n", self.ns(host), "-6", "route", "add", "default", "via", f"fd81:{net}::{via}")

    def start(self, host: str, *words: str, **given: Any) -> subprocess.Popen[bytes]:
        """Starts a program on a host."""
        child = subprocess.Popen(["ip", "netns", "exec", self.ns(host), *words], **given)
        self.running.append(child)
        return child

    def python(self, host: str, code: str, *words: object, **given: Any) -> subprocess.Popen[bytes]:
        """Starts a Python program on a host, with its output in a pipe."""
        return self.start(host, sys.executable, "-c", code, *map(str, words), stdout=subprocess.PIPE, **given)

    def run(self, host: str, *words: str, timeout: float = 60) -> str:
        """Runs a program on a host and returns its output."""
        done = subprocess.run(["ip", "netns", "exec", self.ns(host), *words], capture_output=True, text=True,
                              timeout=timeout, check=False)  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def gateway(self, host: str, *options: str) -> Gateway:
        """Starts a gateway on a router; its inside is the hosts' side."""
        return Gateway(self, host, options)

    def close(self) -> None:
        """Ends all programs and removes the namespaces."""
        for child in self.running:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", self.ns(host)], capture_output=True, check=False)


class Gateway:
    """A running gateway."""

    def __init__(self, network: Network, host: str, options: tuple[str, ...]) -> None:
        """Starts it and waits until it is ready."""
        self.network, self.host = network, host
        self.control = network.folder / f"{host}.sock"
        self.program = str(network.programs / "perigee-gateway")
        self.log = network.folder / f"{host}-{next(COUNT)}.log"
        words = [self.program, "--inside", "in0", "--outside", "out0", "--control", str(self.control), *options]
        with self.log.open("wb") as log:
            self.process = network.start(host, *words, stdout=log, stderr=log)
        end = time.monotonic() + 20
        while "ready" not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.02)

    def status(self) -> dict[str, Any]:
        """Its state and counters."""
        loaded: dict[str, Any] = json.loads(self.network.run(self.host, self.program, "status", "--control",
                                                             str(self.control)))  # fmt: skip
        return loaded

    def end(self, how: int = signal.SIGTERM) -> int:
        """Ends it by a signal and returns its exit code."""
        self.process.send_signal(how)
        return self.process.wait(timeout=60)
