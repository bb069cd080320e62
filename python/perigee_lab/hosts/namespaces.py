# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hosts in real time: network namespaces with a virtual Ethernet pair each, and the programs in them.

The core starts this file as process 1 of a user, network, mount and process namespace (`COMMAND`), with a socket as
its standard input, and gets descriptors of packet sockets, one per host, and reports of programs. When this process
ends, or the socket is closed, the kernel ends all programs and removes all namespaces and devices.
It needs nothing but Python's own library, so that it starts fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote_to_bytes

if not __package__:
    # As a script it finds its neighbours by their names, and nothing else of the package, which takes long to import.
    for name, folder in (("perigee_lab", Path(__file__).parents[1]), ("perigee_lab.hosts", Path(__file__).parent)):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]

from perigee_lab.hosts.applications import on_off, request
from perigee_lab.hosts.echoes import Ping, ask, open_pings
from perigee_lab.hosts.ports import (
    Answerer,
    NamespaceError,
    enter,
    fresh_net,
    in_net,
    outside,
    packet_socket,
    plain_frames,
    set_up_or_down,
)
from perigee_lab.hosts.probes import Probe, Probes
from perigee_lab.hosts.relays import ETH_P_IP, Relay
from perigee_lab.hosts.reports import BEGUN, ERRORS, EXITED, FAILED, PROGRAM, READY, WROTE, send
from perigee_lab.hosts.transfers import Transfer, Transfers
from perigee_lab.hosts.waiting import NEVER_NS, Timer, Waiting, monotonic_ns

COMMAND = (
    *("unshare", "--user", "--map-root-user", "--net", "--mount", "--ipc", "--pid", "--fork"),
    *("--kill-child=SIGKILL", "--mount-proc", "--propagation=private"),
    *(sys.executable, "-I", "-S", str(Path(__file__).resolve())),
)
"""Starts this file."""
AS_ROOT = tuple(word for word in COMMAND if word not in ("--user", "--map-root-user", "--net"))
"""The same for root; arguments after it are what the machine has already: HOST=netns:NAME, HOST=interface:NAME."""
NAMED = Path("/run/netns")
# prctl(2), linux/capability.h
PR_CAPBSET_READ, PR_CAPBSET_DROP, CAP_SYS_CHROOT = 23, 24, 18
# Opened before anything forks.
LIBC = ctypes.CDLL(None, use_errno=True)

# The interface of host 0 is eth1, as in virtual time; the other end of its pair has this prefix.
OUTER = "sky"
MOST_WRITTEN = 32768
# What the core says while a run lasts: number of a host, and whether it has a carrier.
CARRIER = struct.Struct("=II")
# A program that reads this has our own standard input and output.
TERMINAL = b"/dev/tty"

libc = ctypes.CDLL(None, use_errno=True)


def ip(lines: list[str]) -> None:
    """Commands of iproute2, in the current namespace."""
    done = subprocess.run(
        ["ip", "-batch", "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NamespaceError(f"ip: {done.stderr.strip()}")


@dataclass
class Host:
    """A line of the job, and its namespace."""

    name: str
    interface: str
    addresses: list[str]
    neighbours: list[tuple[str, str]] = field(default_factory=list)
    sysctls: list[tuple[str, str]] = field(default_factory=list)
    route: list[str] = field(default_factory=list)
    """Attributes of the route to the other hosts, as ip(8) takes them."""
    mac: str = ""
    net: int = -1
    place: str = ""
    """What the machine has for it: netns:NAME or interface:NAME."""


@dataclass
class Program:
    """A line of the job."""

    number: int
    host: int
    start_ns: int
    stdin: bytes
    folder: bytes
    environment: list[bytes]
    words: list[bytes]
    given: bytes | None = None
    """What it reads, where that is in no file."""


@dataclass
class Job:
    """What the core asks for (`job.rs`)."""

    hosts: list[Host] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    pings: list[Ping] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    numbered: dict[int, Transfer] = field(default_factory=dict)
    """Transfers by number."""
    probes: list[Probe] = field(default_factory=list)
    sample_ns: int = 0
    end_ns: int = 0

    @staticmethod
    def of(text: str) -> Job:
        """Lines of a kind and words."""
        job = Job()
        for line in text.splitlines():
            kind, *words = line.split(" ")
            if kind in ("host", "mac", "neighbour", "sysctl", "route"):
                job.describe(kind, words)
            elif kind == "flow":
                job.transfers.append(Transfer.of(words))
                job.numbered[job.transfers[-1].number] = job.transfers[-1]
            elif kind == "probe":
                job.probes.append(Probe.of(words))
            elif kind in ("window", "turns", "objects", "relay"):
                job.shape(kind, job.numbered[int(words[0])], words[1:])
            elif kind == "sample":
                job.sample_ns = int(words[0])
            elif kind == "end":
                job.end_ns = int(words[0])
            elif kind == "program":
                job.programs.append(_program(words))
            elif kind == "ping":
                job.pings.append(Ping(int(words[0]), int(words[1]), words[2]))
            elif kind == "input":
                [of] = [p for p in job.programs if p.number == int(words[0])]
                of.given = unescaped(words[1])
        return job

    def describe(self, kind: str, words: list[str]) -> None:
        """A host, or more of one."""
        if kind == "host":
            self.hosts.append(Host(words[0], words[1], words[2:]))
            return
        host = self.hosts[int(words[0])]
        if kind == "mac":
            host.mac = words[1]
        elif kind == "neighbour":
            host.neighbours.append((words[1], words[2]))
        elif kind == "sysctl":
            host.sysctls.append((words[1], " ".join(words[2:])))
        else:
            host.route = route_attributes(*map(int, words[1:]))

    def shape(self, kind: str, flow: Transfer, words: list[str]) -> None:
        """What a flow does beside sending all the time."""
        if kind == "window":
            flow.window = int(words[0])
        elif kind == "turns":
            flow.application, flow.offered = on_off(words), 0
        elif kind == "objects":
            flow.application, flow.offered = request(words), 0
        else:
            after, standing = self.numbered[int(words[0])], words[2]
            flow.relay, after.fed_by, after.offered = Relay(after, self.open_packets), flow, 0
            # It begins when a SYN arrives; a standing connection is made before it is needed.
            after.start_ns = 0 if standing == "1" else NEVER_NS

    def open_packets(self, host: int) -> socket.socket:
        """A packet socket for IP at the interface of a host."""
        made = in_net(self.hosts[host].net, socket.AF_PACKET, socket.SOCK_DGRAM)
        made.setblocking(False)
        with contextlib.ExitStack() as back:
            hub = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            back.callback(os.close, hub)
            back.callback(enter, hub)
            enter(self.hosts[host].net)
            made.bind((self.hosts[host].interface, ETH_P_IP))
        return made

    def open_tcp(self, host: int) -> socket.socket:
        """A socket in a host's namespace."""
        return in_net(self.hosts[host].net, socket.AF_INET, socket.SOCK_STREAM)

    def open_udp(self, host: int) -> socket.socket:
        """A socket in a host's namespace."""
        return in_net(self.hosts[host].net, socket.AF_INET, socket.SOCK_DGRAM)


def route_attributes(initial_window: int, quick_acks: int) -> list[str]:
    """Attributes of a route; 0 = the kernel's own choice."""
    window = ["initcwnd", str(initial_window)] if initial_window else []
    return [*window, "quickack", "1"] if quick_acks else window


def unescaped(word: str) -> bytes:
    """A word of the job; %00 alone is an empty one."""
    return b"" if word == "%00" else unquote_to_bytes(word)


def _program(words: list[str]) -> Program:
    number, host, start = map(int, words[:3])
    stdin, folder, *rest = [unescaped(w) for w in words[3:]]
    end = rest.index(b"--")
    return Program(number, host, start, stdin, folder, rest[:end], rest[end + 1 :])


def use_places(hosts: list[Host], places: list[str]) -> None:
    """Puts hosts where the machine has something for them. Raises NamespaceError."""
    for place in places:
        name, _, where = place.partition("=")
        found = [h for h in hosts if h.name == name]
        if not found:
            raise NamespaceError(f"the scenario has no real host {name!r}; it has {', '.join(h.name for h in hosts)}")
        found[0].place = where


def make_hosts(hosts: list[Host], machine: int) -> list[socket.socket]:
    """Namespaces with an interface each; the sockets at the other ends of their pairs.

    `machine` is the machine's own namespace, where it is not the present one.
    """
    hub = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    for host in hosts:
        kind, _, name = host.place.partition(":")
        if kind == "interface":
            continue
        host.net = os.open(NAMED / name, os.O_RDONLY | os.O_CLOEXEC) if kind == "netns" else fresh_net()
        enter(hub)
    made = []
    for number, host in enumerate(hosts):
        kind, _, name = host.place.partition(":")
        if kind == "interface":
            enter(machine)
            made.append(outside(name))
            told = " and ".join(host.addresses)
            print(f"perigee: {host.name} is behind {name}: its addresses are {told}", file=sys.stderr, flush=True)
            enter(hub)
            continue
        outer, pid = f"{OUTER}{number}", os.getpid()
        pair = f"link add {outer} mtu 1500 type veth peer name {host.interface} address {host.mac}"
        ip([f"{pair} netns /proc/{pid}/fd/{host.net}", f"link set {outer} up"])
        # The hub is silent: it has no addresses, of which version 6 would tell its neighbours.
        Path(f"/proc/sys/net/ipv6/conf/{outer}/disable_ipv6").write_text("1", encoding="ascii")
        plain_frames(outer)
        made.append(packet_socket(outer))
        enter(host.net)
        set_up(host)
        enter(hub)
    return made


CONGESTION = "net.ipv4.tcp_congestion_control"
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


def _allowed(scheme: str) -> str:
    """What this machine lets its users take, and how another one is allowed."""
    try:
        allowed = ALLOWED.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return (
        f"; this machine lets users take {', '.join(allowed.split())}: choose one of these, or as root: "
        f"sysctl net.ipv4.tcp_allowed_congestion_control='{allowed} {scheme}'"
    )


def set_up(host: Host) -> None:
    """Addresses, neighbours and settings of the host whose namespace is the current one.

    A namespace that was there before keeps its settings: they would stay changed.
    """
    for name, value in [] if host.place else host.sysctls:
        path = Path("/proc/sys", *name.split("."))
        try:
            path.write_text(value, encoding="ascii")
        except OSError as error:
            remedy = _allowed(value) if name == CONGESTION and isinstance(error, PermissionError) else ""
            raise NamespaceError(f"{host.name}: {name} = {value!r} cannot be set: {error.strerror}{remedy}") from None
    with contextlib.suppress(OSError):
        # No duplicate is looked for: addresses serve at once.
        Path(f"/proc/sys/net/ipv6/conf/{host.interface}/accept_dad").write_text("0", encoding="ascii")
    plain_frames(host.interface)
    lines = ["link set lo up", f"link set {host.interface} up"]
    lines += [f"address add {a} dev {host.interface}{' nodad' if ':' in a else ''}" for a in host.addresses]
    lines += [f"neighbour replace {a} lladdr {mac} dev {host.interface} nud permanent" for a, mac in host.neighbours]
    if host.route:
        [v4] = [a for a in host.addresses if ":" not in a]
        net = ipaddress.ip_interface(v4)
        lines.append(f"route change {net.network} dev {host.interface} src {net.ip} {' '.join(host.route)}")
    ip(lines)


def name_hosts(hosts: list[Host]) -> None:
    """/etc/hosts of the mount namespace: a file in memory in place of the machine's."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{a.partition('/')[0]} {h.name}" for h in hosts for a in h.addresses]
    flags = {"MS_BIND": 4096}
    place = b"/sys"

    def mount(source: bytes, target: bytes, kind: bytes | None, number: int) -> None:
        if libc.mount(source, target, kind, number, None) != 0:
            why = os.strerror(ctypes.get_errno())
            raise NamespaceError(f"{target.decode()} cannot be mounted in the namespace: {why}")

    # Over a folder that every machine has, for a moment.
    mount(b"perigee", place, b"tmpfs", 0)
    file = Path(os.fsdecode(place), "hosts")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mount(bytes(file), b"/etc/hosts", None, flags["MS_BIND"])
    if libc.umount2(place, 2) != 0:
        raise NamespaceError(f"/sys cannot be unmounted: {os.strerror(ctypes.get_errno())}")


@dataclass
class Running:
    """A program that has been started."""

    program: Program
    pid: int
    pipes: dict[int, int]
    """Flags of reports by descriptor of its output."""


class Rooms:
    """Starts programs, and tells the core of them."""

    def __init__(self, control: socket.socket, job: Job, stdin: int) -> None:
        """Nothing runs yet."""
        self.control, self.job, self.stdin = control, job, stdin
        self.waiting = sorted(job.programs, key=lambda p: (p.start_ns, p.number))
        self.running: dict[int, Running] = {}
        self.selector = selectors.DefaultSelector()
        self.waiting_for, self.timer = Waiting(self.selector), Timer()
        span_ns = job.sample_ns, job.end_ns
        self.transfers = Transfers(job.transfers, span_ns, self.waiting_for, self.tell, self._now_ns)
        self.probes = Probes(job.probes, self.waiting_for)
        self.carriers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.zero_ns = 0

    def listen(self) -> None:
        """Opens the sockets of all flows. Raises OSError."""
        self.transfers.listen(self.job.open_tcp)
        self.probes.listen(self.job.open_udp)

    def answer_devices(self, machine: int) -> None:
        """Devices behind interfaces hear where the other hosts are."""
        hub = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        enter(machine)
        for host in self.job.hosts:
            kind, _, name = host.place.partition(":")
            if kind == "interface":
                answerer = Answerer(name, host.neighbours)
                self.selector.register(answerer.socket, selectors.EVENT_READ, answerer)
        enter(hub)
        os.close(hub)

    def tell(self, kind: int, number: int, more: bytes = b"", at_ns: int = -1) -> None:
        """A report of a program or flow; -1 = of now."""
        send(self.control, kind, number, more, at_ns if at_ns >= 0 else self._now_ns())

    def _now_ns(self) -> int:
        return max(monotonic_ns() - self.zero_ns, 0)

    def serve(self, zero_ns: int) -> None:
        """Until the core closes its end."""
        self.zero_ns = zero_ns
        wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(woken)
        # A handler, because what is ignored would stay so in programs.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self.selector.register(self.control, selectors.EVENT_READ)
        self.selector.register(wake, selectors.EVENT_READ)
        self.selector.register(self.timer, selectors.EVENT_READ, self.timer.clear)
        while True:
            self.timer.set(self._next_ns())
            for key, _ in self.selector.select():
                if key.fileobj is self.control:
                    self._set_carrier(*CARRIER.unpack(receive(self.control, CARRIER.size)))
                elif key.fd == wake:
                    os.read(wake, 512)
                elif callable(key.data):
                    key.data()
                else:
                    self._read(key.fd, key.data)
            self._reap()
            self.transfers.on_time(self._now_ns())
            self.probes.on_time(self._now_ns())
            while self.waiting and self.waiting[0].start_ns <= self._now_ns():
                self._start(self.waiting.pop(0))

    def _next_ns(self) -> int:
        """The machine's time at which something is due next."""
        started_ns = self.waiting[0].start_ns if self.waiting else NEVER_NS
        due_ns = min(self.transfers.due_ns, self.probes.due_ns(), started_ns)
        return NEVER_NS if due_ns >= NEVER_NS else self.zero_ns + due_ns

    def _set_carrier(self, host: int, carrier: int) -> None:
        """An interface has a carrier while the other end of its pair is up."""
        set_up_or_down(self.carriers, f"{OUTER}{host}", up=bool(carrier))

    def _start(self, program: Program) -> None:
        terminal = program.stdin == TERMINAL
        flag = PROGRAM | program.number
        outputs = [] if terminal else [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
        self.tell(BEGUN, flag)
        # The program's own files come first, so that its errors do, too.
        pid = os.fork()
        if pid == 0:
            child(self.job.hosts[program.host], program, self.stdin, [w for _, w in outputs])
        pipes = {}
        for (read, write), errors in zip(outputs, (0, ERRORS), strict=False):
            os.close(write)
            os.set_blocking(read, False)
            pipes[read] = flag | errors
            self.selector.register(read, selectors.EVENT_READ, flag | errors)
        self.running[pid] = Running(program, pid, pipes)

    def _read(self, fd: int, flags: int) -> bool:
        """Hands on what a program wrote; False at the end, or where there is nothing now."""
        try:
            data = os.read(fd, MOST_WRITTEN)
        except BlockingIOError:
            return False
        if data:
            self.tell(WROTE, flags, data)
            return True
        self.selector.unregister(fd)
        os.close(fd)
        for running in self.running.values():
            running.pipes.pop(fd, None)
        return False

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            running = self.running.pop(pid, None)
            if running is None:
                continue
            for fd, flags in list(running.pipes.items()):
                while self._read(fd, flags):
                    pass
            self.tell(EXITED, PROGRAM | running.program.number, struct.pack("=i", status))


def opened(program: Program) -> int:
    """What a program reads."""
    if program.given is None:
        return os.open(program.stdin.removeprefix(b"/world") or b"/dev/null", os.O_RDONLY)
    file = os.memfd_create("input")
    os.write(file, program.given)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def child(host: Host, program: Program, stdin: int, outputs: list[int]) -> None:
    """What a forked process does: it becomes the program, or says why it cannot."""
    try:
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if outputs:
            os.setsid()
            os.dup2(outputs[0], 1)
            os.dup2(outputs[1], 2)
        os.dup2(stdin if not outputs else opened(program), 0)
        enter(host.net)
        os.chdir(program.folder)
        drop_chroot()
        environment = {**os.environb, **dict(e.partition(b"=")[::2] for e in program.environment)}
        os.execvpe(program.words[0], program.words, environment)
    except OSError as error:
        # Of a program that is in no folder of PATH the last of them is named.
        named = os.fsencode(error.filename or b"")
        what = os.fsdecode(program.words[0] if not named or named.endswith(b"/" + program.words[0]) else named)
        os.write(2, f"perigee: {what}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
    except BaseException as error:
        os.write(2, f"perigee: {error}\n".encode())
        os._exit(126)


def drop_chroot() -> None:
    """Takes CAP_SYS_CHROOT from what this process becomes (capabilities(7)). Raises OSError."""
    if LIBC.prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT, 0, 0, 0) == 1 and LIBC.prctl(
        PR_CAPBSET_DROP, CAP_SYS_CHROOT, 0, 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the capability CAP_SYS_CHROOT cannot be dropped")


def receive(control: socket.socket, size: int) -> bytes:
    """Exactly so many bytes; the core has gone where fewer come."""
    got = b""
    while len(got) < size:
        part = control.recv(size - len(got))
        if not part:
            raise SystemExit(0)
        got += part
    return got


def main(places: list[str]) -> None:
    """Makes the hosts, and serves until the core ends."""
    machine = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if places:
        os.close(fresh_net())
    control = socket.socket(fileno=os.dup(0))
    first, files, *_ = socket.recv_fds(control, 4, 1)
    size = struct.unpack("=I", first + receive(control, 4 - len(first)))[0]
    job = Job.of(receive(control, size).decode("ascii"))
    for number in files:
        os.set_inheritable(number, False)
    try:
        use_places(job.hosts, places)
        name_hosts(job.hosts)
        sockets = make_hosts(job.hosts, machine)
        echoes = open_pings(job.pings, lambda host: job.hosts[host].net)
        rooms = Rooms(control, job, files[0])
        rooms.listen()
        rooms.answer_devices(machine)
    except (NamespaceError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        send(control, FAILED, 0, why.encode()[:60000])
        return
    for number, made in enumerate(sockets):
        send(control, READY, number, file=made.fileno())
        made.close()
    ask(control, job.pings, echoes)
    [zero_ns] = struct.unpack("=Q", receive(control, 8))
    rooms.serve(zero_ns)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    finally:
        # Not even an exception leaves programs behind.
        os._exit(0)
