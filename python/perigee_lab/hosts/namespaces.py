# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hosts in real time: network namespaces with a virtual Ethernet pair each, and their programs.

The core starts this file as process 1 of a user, network, mount and process namespace (`COMMAND`),
with a socket as its standard input; it receives descriptors of packet sockets, one per host, and
reports of programs. When this process exits or the socket is closed, the kernel kills all programs
and removes all namespaces and devices. It uses Python's standard library only, so that it starts
fast.
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
    # As a script, this file imports its neighbours directly, since importing the package takes
    # long.
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
"""Command that starts this file."""
AS_ROOT = tuple(word for word in COMMAND if word not in ("--user", "--map-root-user", "--net"))
"""The same command for root.

Its arguments are existing places of hosts: HOST=netns:NAME, HOST=interface:NAME.
"""
NAMED = Path("/run/netns")
# prctl(2), linux/capability.h
PR_CAPBSET_READ, PR_CAPBSET_DROP, CAP_SYS_CHROOT = 23, 24, 18
# Loaded before any fork.
LIBC = ctypes.CDLL(None, use_errno=True)

# The interface of host 0 is eth1, as in virtual time; the other end of its pair has this prefix.
OUTER = "sky"
MOST_WRITTEN = 32768
# The core's messages during a run: number of a host, and its carrier state.
CARRIER = struct.Struct("=II")
# A program with this input gets the standard input and output of this process.
TERMINAL = b"/dev/tty"

libc = ctypes.CDLL(None, use_errno=True)


def ip(lines: list[str]) -> None:
    """Runs commands of iproute2 in the current namespace."""
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
    """A host of the job, and its namespace."""

    name: str
    interface: str
    addresses: list[str]
    neighbours: list[tuple[str, str]] = field(default_factory=list)
    sysctls: list[tuple[str, str]] = field(default_factory=list)
    route: list[str] = field(default_factory=list)
    """Attributes of the route to the other hosts, as for ip(8)."""
    mac: str = ""
    net: int = -1
    place: str = ""
    """Existing place of the host: netns:NAME or interface:NAME."""


@dataclass
class Program:
    """A program of the job."""

    number: int
    host: int
    start_ns: int
    stdin: bytes
    folder: bytes
    environment: list[bytes]
    words: list[bytes]
    given: bytes | None = None
    """Standard input, if it is not a file."""


@dataclass
class Job:
    """The job, as sent by the core (`job.rs`)."""

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
        """Parses lines of a kind and words."""
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
        """Parses a line on a host."""
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
        """Parses a line on a flow's window, application or relay."""
        if kind == "window":
            flow.window = int(words[0])
        elif kind == "turns":
            flow.application, flow.offered = on_off(words), 0
        elif kind == "objects":
            flow.application, flow.offered = request(words), 0
        else:
            after, standing = self.numbered[int(words[0])], words[2]
            flow.relay, after.fed_by, after.offered = Relay(after, self.open_packets), flow, 0
            # It starts when a SYN arrives; a permanent connection is opened in advance.
            after.start_ns = 0 if standing == "1" else NEVER_NS

    def open_packets(self, host: int) -> socket.socket:
        """Opens a packet socket for IP at the interface of a host."""
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
        """Opens a TCP socket in a host's namespace."""
        return in_net(self.hosts[host].net, socket.AF_INET, socket.SOCK_STREAM)

    def open_udp(self, host: int) -> socket.socket:
        """Opens a UDP socket in a host's namespace."""
        return in_net(self.hosts[host].net, socket.AF_INET, socket.SOCK_DGRAM)


def route_attributes(initial_window: int, quick_acks: int) -> list[str]:
    """Attributes of a route; 0 = kernel default."""
    window = ["initcwnd", str(initial_window)] if initial_window else []
    return [*window, "quickack", "1"] if quick_acks else window


def unescaped(word: str) -> bytes:
    """Decodes a word of the job; %00 alone is an empty one."""
    return b"" if word == "%00" else unquote_to_bytes(word)


def _program(words: list[str]) -> Program:
    number, host, start = map(int, words[:3])
    stdin, folder, *rest = [unescaped(w) for w in words[3:]]
    end = rest.index(b"--")
    return Program(number, host, start, stdin, folder, rest[:end], rest[end + 1 :])


def use_places(hosts: list[Host], places: list[str]) -> None:
    """Assigns hosts to existing places of the machine. Raises NamespaceError."""
    for place in places:
        name, _, where = place.partition("=")
        found = [h for h in hosts if h.name == name]
        if not found:
            raise NamespaceError(f"the scenario has no real host {name!r}; it has {', '.join(h.name for h in hosts)}")
        found[0].place = where


def make_hosts(hosts: list[Host], machine: int) -> list[socket.socket]:
    """Creates namespaces with an interface each.

    Returns the sockets at the other ends of their pairs.

    `machine` is the machine's own namespace, if it is not the current one.
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
        # No IPv6 addresses, so that the hub sends no neighbour discovery.
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
    """Hint about the congestion controls that this machine allows, and how to allow another one."""
    try:
        allowed = ALLOWED.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return (
        f"; this machine lets users take {', '.join(allowed.split())}: choose one of these, or as root: "
        f"sysctl net.ipv4.tcp_allowed_congestion_control='{allowed} {scheme}'"
    )


def set_up(host: Host) -> None:
    """Configures addresses, neighbours and settings of the host in the current namespace.

    Settings of an existing namespace are not changed, since they would persist.
    """
    for name, value in [] if host.place else host.sysctls:
        path = Path("/proc/sys", *name.split("."))
        try:
            path.write_text(value, encoding="ascii")
        except OSError as error:
            remedy = _allowed(value) if name == CONGESTION and isinstance(error, PermissionError) else ""
            raise NamespaceError(f"{host.name}: {name} = {value!r} cannot be set: {error.strerror}{remedy}") from None
    with contextlib.suppress(OSError):
        # No duplicate address detection: addresses are usable at once.
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
    """Replaces /etc/hosts in the mount namespace by a file in memory."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{a.partition('/')[0]} {h.name}" for h in hosts for a in h.addresses]
    flags = {"MS_BIND": 4096}
    place = b"/sys"

    def mount(source: bytes, target: bytes, kind: bytes | None, number: int) -> None:
        if libc.mount(source, target, kind, number, None) != 0:
            why = os.strerror(ctypes.get_errno())
            raise NamespaceError(f"{target.decode()} cannot be mounted in the namespace: {why}")

    # Mounted briefly over a folder that every machine has.
    mount(b"perigee", place, b"tmpfs", 0)
    file = Path(os.fsdecode(place), "hosts")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mount(bytes(file), b"/etc/hosts", None, flags["MS_BIND"])
    if libc.umount2(place, 2) != 0:
        raise NamespaceError(f"/sys cannot be unmounted: {os.strerror(ctypes.get_errno())}")


@dataclass
class Running:
    """A running program."""

    program: Program
    pid: int
    pipes: dict[int, int]
    """Report flags, by file descriptor of the output."""


class Rooms:
    """Starts programs and reports on them to the core."""

    def __init__(self, control: socket.socket, job: Job, stdin: int) -> None:
        """Starts nothing yet."""
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
        """Answers ARP requests of devices attached to interfaces."""
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
        """Sends a report about a program or flow; `at_ns` -1 = now."""
        send(self.control, kind, number, more, at_ns if at_ns >= 0 else self._now_ns())

    def _now_ns(self) -> int:
        return max(monotonic_ns() - self.zero_ns, 0)

    def serve(self, zero_ns: int) -> None:
        """Runs until the core closes its end."""
        self.zero_ns = zero_ns
        wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(woken)
        # A handler is installed because programs would inherit ignored signals.
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
        """The next instant with work, on the monotonic clock."""
        started_ns = self.waiting[0].start_ns if self.waiting else NEVER_NS
        due_ns = min(self.transfers.due_ns, self.probes.due_ns(), started_ns)
        return NEVER_NS if due_ns >= NEVER_NS else self.zero_ns + due_ns

    def _set_carrier(self, host: int, carrier: int) -> None:
        """Sets the carrier of a host: the state of the other end of its pair."""
        set_up_or_down(self.carriers, f"{OUTER}{host}", up=bool(carrier))

    def _start(self, program: Program) -> None:
        terminal = program.stdin == TERMINAL
        flag = PROGRAM | program.number
        outputs = [] if terminal else [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
        self.tell(BEGUN, flag)
        # The program's own files are opened first, so that their errors are reported first.
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
        """Forwards output of a program; False at the end, or if there is no output now."""
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
    """Opens the standard input of a program."""
    if program.given is None:
        return os.open(program.stdin.removeprefix(b"/world") or b"/dev/null", os.O_RDONLY)
    file = os.memfd_create("input")
    os.write(file, program.given)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def child(host: Host, program: Program, stdin: int, outputs: list[int]) -> None:
    """Body of a forked process: executes the program, or prints the error."""
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
        # For a program that is not in PATH, the error names the last folder searched.
        named = os.fsencode(error.filename or b"")
        what = os.fsdecode(program.words[0] if not named or named.endswith(b"/" + program.words[0]) else named)
        os.write(2, f"perigee: {what}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
    except BaseException as error:
        os.write(2, f"perigee: {error}\n".encode())
        os._exit(126)


def drop_chroot() -> None:
    """Drops CAP_SYS_CHROOT for executed programs (capabilities(7)). Raises OSError."""
    if LIBC.prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT, 0, 0, 0) == 1 and LIBC.prctl(
        PR_CAPBSET_DROP, CAP_SYS_CHROOT, 0, 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the capability CAP_SYS_CHROOT cannot be dropped")


def receive(control: socket.socket, size: int) -> bytes:
    """Receives exactly `size` bytes; exits if the core has closed the socket."""
    got = b""
    while len(got) < size:
        part = control.recv(size - len(got))
        if not part:
            raise SystemExit(0)
        got += part
    return got


def main(places: list[str]) -> None:
    """Creates the hosts and serves them until the core exits."""
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
        # Programs are killed even after an exception.
        os._exit(0)
