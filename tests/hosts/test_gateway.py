# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Gateway that splits connections, between namespaces of this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gateways
from gateways import CLIENT, SERVER, SERVER_V6, Network

MISSING = gateways.why_not()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=f"no gateway: {MISSING}")

# Receives until the end, answers with the hash of what came, and the peer's address.
DIGEST = """
import hashlib, socket, sys, threading
listener = socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
def serve(peer, address):
    digest = hashlib.sha256()
    try:
        while data := peer.recv(1 << 16):
            digest.update(data)
        peer.sendall(digest.hexdigest().encode() + f" {address[0].removeprefix('::ffff:')} {address[1]}".encode())
        peer.close()
        print("end", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept(), daemon=True).start()
"""
SEND = """
import hashlib, os, socket, sys
data = os.urandom(1 << 16) * 64
peer = socket.create_connection((sys.argv[1], 7000), timeout=20)
name = peer.getsockname()
peer.sendall(data)
peer.shutdown(socket.SHUT_WR)
answer = b""
while got := peer.recv(1000):
    answer += got
digest, address, port = answer.decode().split()
print(digest == hashlib.sha256(data).hexdigest(), address == name[0], int(port) == name[1])
"""
# Connects, holds the connection, and echoes lines of its standard input through it.
HOLD = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 7001), timeout=10)
file = peer.makefile("rwb", buffering=0)
print("connected", flush=True)
for line in sys.stdin:
    try:
        file.write(line.encode())
        print(file.readline().decode().strip() or "end", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""
ECHO = """
import socket, threading
listener = socket.create_server(("::", 7001), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096)
def serve(peer):
    try:
        while data := peer.recv(4096):
            peer.sendall(data)
        peer.close()
    except OSError:
        pass
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    with Network(tmp_path, "--delay-ms 5") as made:
        yield made


def line(child: subprocess.Popen[bytes]) -> str:
    """The next line that a program prints."""
    assert child.stdout is not None
    return child.stdout.readline().decode().strip()


def serve(network: Network, code: str) -> subprocess.Popen[bytes]:
    child = network.python("server", code)
    assert line(child) == "ready"
    return child


def say(child: subprocess.Popen[bytes], text: str) -> str:
    """Sends a line through a connection of `HOLD`, and returns what comes back."""
    assert child.stdin is not None
    child.stdin.write(text.encode() + b"\n")
    child.stdin.flush()
    return line(child)


def hold(network: Network, host: str = "client") -> subprocess.Popen[bytes]:
    child = network.python(host, HOLD, SERVER, stdin=subprocess.PIPE)
    assert line(child) == "connected"
    return child


def client(network: Network, code: str, *words: object) -> str:
    return network.run("client", sys.executable, "-c", code, *map(str, words)).strip()


def soon(value: Any, wanted: object) -> None:
    """Waits until a function returns a value."""
    end = time.monotonic() + 15
    while (now := value()) != wanted:
        assert time.monotonic() < end, f"{now}, not {wanted}"
        time.sleep(0.05)


@pytest.mark.parametrize("spoof", [(), ("--spoof",)])
@pytest.mark.parametrize("server", [SERVER, SERVER_V6])
def test_bytes_addresses_ports_and_half_closes_are_kept(network: Network, server: str, spoof: tuple[str, ...]) -> None:
    """Through two gateways, the far one of which splits what arrives from the link."""
    serve(network, DIGEST)
    far = network.gateway("far", "--from", "outside", "--cc", "bbr", *spoof)
    near = network.gateway("near", "--cc", "bbr", *spoof)
    assert client(network, SEND, server) == "True True True"
    for gateway in (near, far):
        soon(lambda gateway=gateway: gateway.status()["open"], 0)
        status = gateway.status()
        assert (status["split"], status["completed"], status["reset"]) == (1, 1, 0)
        assert (status["bytes_outwards"], status["bytes_inwards"]) != (0, 0)
        assert gateway.end() == 0
    # The rules are gone, and packets pass as they did before.
    assert client(network, SEND, server) == "True True True"
    assert "5047" not in network.run("near", "ip", "rule")


CONNECT = """
import socket, sys
peer = socket.socket()
peer.settimeout(float(sys.argv[2]))
try:
    peer.connect((sys.argv[1], int(sys.argv[3])))
    print("connected", flush=True)
    peer.settimeout(20)
    peer.recv(1)
    print("end")
except OSError as error:
    print(type(error).__name__)
"""


def test_a_client_is_refused_as_by_the_server(network: Network) -> None:
    gateway = network.gateway("near")
    assert client(network, CONNECT, SERVER, 10, 7009) == "ConnectionRefusedError"
    assert (gateway.status()["refused"], gateway.status()["split"]) == (1, 0)


def test_a_handshake_ends_only_once_the_far_side_has_answered(network: Network) -> None:
    """No host answers here; with --spoof the gateway does, and resets the connection afterwards."""
    network.run("far", "ip", "neigh", "add", "10.81.3.9", "lladdr", "02:00:00:00:00:09", "dev", "in0")
    gateway = network.gateway("near", "--dial-timeout", "3")
    assert client(network, CONNECT, "10.81.3.9", 4.5, 7000) == "TimeoutError"
    status = gateway.status()
    assert status["repeated_syns"] > 0
    assert (status["timed_out"], status["split"]) == (1, 0)
    gateway.end()
    network.gateway("near", "--dial-timeout", "1", "--spoof")
    assert client(network, CONNECT, "10.81.3.9", 2, 7000).split() == ["connected", "ConnectionResetError"]


RESET = """
import socket, struct, sys
peer = socket.create_connection((sys.argv[1], 7000), timeout=10)
peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
peer.close()
"""


def test_resets_are_passed_on(network: Network) -> None:
    server = serve(network, DIGEST)
    gateway = network.gateway("near")
    client(network, RESET, SERVER)
    assert line(server) == "ConnectionResetError"
    soon(lambda: gateway.status()["reset"], 1)


URGENT = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 7001), timeout=10)
peer.sendall(b"before")
peer.send(b"!", socket.MSG_OOB)
peer.sendall(b"after")
print(peer.makefile("rb").read(11).decode())
"""
URGENT_SERVER = """
import select, socket
listener = socket.create_server(("", 7001))
print("ready", flush=True)
peer, _ = listener.accept()
select.select([], [], [peer], 20)
print(peer.recv(1, socket.MSG_OOB).decode(), flush=True)
got = b""
while len(got) < 11:
    got += peer.recv(100)
peer.sendall(got)
"""


def test_urgent_data_stay_urgent_and_in_place(network: Network) -> None:
    server = serve(network, URGENT_SERVER)
    gateway = network.gateway("near")
    assert client(network, URGENT, SERVER) == "beforeafter"
    assert line(server) == "!"
    assert gateway.status()["urgent"] == 1


SNIFF = """
import socket
sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
print("ready", flush=True)
while True:
    packet = sniffer.recv(100)
    if packet[9] == 6 and packet[33] & 0x12 == 2 and int.from_bytes(packet[22:24], "big") == 7001:
        print(packet[1], flush=True)
"""
MARKED = """
import socket, sys
peer = socket.socket()
peer.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xb8)
peer.connect((sys.argv[1], 7001))
"""


@pytest.mark.parametrize("spoof", [(), ("--spoof",)])
def test_the_class_of_traffic_is_kept(network: Network, spoof: tuple[str, ...]) -> None:
    serve(network, ECHO)
    sniffer = serve(network, SNIFF)
    network.gateway("near", *spoof)
    client(network, MARKED, SERVER)
    assert int(line(sniffer)) & 0xFC == 0xB8


UDP_ECHO = """
import socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.bind(("", 443))
print("ready", flush=True)
while True:
    data, address = peer.recvfrom(2000)
    peer.sendto(data + f" {address[0]} {address[1]}".encode(), address)
"""
UDP_ASK = """
import socket, sys
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.settimeout(10)
peer.sendto(b"hello", (sys.argv[1], 443))
print(peer.recv(2000).decode() == f"hello {sys.argv[2]} {peer.getsockname()[1]}")
"""


def test_datagrams_and_connections_that_exist_are_left_alone(network: Network) -> None:
    serve(network, UDP_ECHO)
    serve(network, ECHO)
    held = hold(network)
    assert say(held, "one") == "one"
    gateway = network.gateway("near")
    assert client(network, UDP_ASK, SERVER, CLIENT) == "True"
    assert say(held, "two") == "two"
    gateway.end()
    assert say(held, "three") == "three"
    assert gateway.process.returncode == 0


def test_a_killed_gateway_resets_its_connections_and_clean_removes_the_rest(network: Network) -> None:
    serve(network, ECHO)
    gateway = network.gateway("near", "--cc", "bbr")
    held = hold(network)
    assert say(held, "one") == "one"
    gateway.end(signal.SIGKILL)
    assert say(held, "two") in ("ConnectionResetError", "end")
    # New connections are forwarded: the kernel has removed the rules.
    assert say(hold(network), "three") == "three"
    assert "5047" in network.run("near", "ip", "rule")
    assert "4 rules and routes" in network.run("near", gateway.program, "clean")
    for words in (["rule"], ["-6", "rule"], ["route", "show", "table", "all"], ["-6", "route", "show", "table", "all"]):
        assert "5047" not in network.run("near", "ip", *words)
    again = network.gateway("near")
    assert say(hold(network), "four") == "four"
    assert again.status()["open"] == 1
    refused = subprocess.run(["ip", "netns", "exec", network.ns("near"), gateway.program, "clean"],
                             capture_output=True, text=True, check=False)  # fmt: skip
    assert refused.returncode == 1
    assert "is running" in refused.stderr


def test_a_replaced_gateway_keeps_its_connections(network: Network) -> None:
    serve(network, ECHO)
    first = network.gateway("near")
    held = hold(network)
    second = network.gateway("near", "--replace")
    assert say(held, "one") == "one"
    other = hold(network)
    assert second.status()["open"] == 1
    assert first.process.poll() is None
    held.kill()
    assert first.process.wait(timeout=20) == 0
    assert say(other, "two") == "two"
    assert second.end(signal.SIGKILL) != 0


def test_connections_above_the_limit_are_forwarded(network: Network) -> None:
    serve(network, ECHO)
    gateway = network.gateway("near", "--connections", "1")
    first, second = hold(network), hold(network)
    assert (say(first, "one"), say(second, "two")) == ("one", "two")
    status = gateway.status()
    assert (status["open"], status["passed"]) == (1, 1)


def test_counters_are_served_for_prometheus(network: Network) -> None:
    gateway = network.gateway("near", "--health-port", "9180")
    fetch = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:9180/metrics').read().decode())"
    served = network.run("near", sys.executable, "-c", fetch)
    assert "# TYPE perigee_gateway_split_total counter\nperigee_gateway_split_total 0\n" in served
    printed = network.run("near", gateway.program, "metrics", "--control", str(gateway.control))
    assert "perigee_gateway_open 0" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--inside", "in0", "--outside", "nowhere"], "--outside nowhere: no such interface; there are in0, lo, out0"),
        (["--inside", "in0", "--outside", "out0", "--cc", "none"], "no congestion control none"),
        (["status", "--control", "/nowhere"], "no gateway answers at /nowhere"),
    ],
)
def test_mistakes_are_explained(network: Network, words: list[str], message: str) -> None:
    program = str(network.programs / "perigee-gateway")
    done = subprocess.run(["ip", "netns", "exec", network.ns("near"), program, *words], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode != 0
    assert message in done.stderr


MANY_SERVER = """
import asyncio
async def serve(reader, writer):
    while data := await reader.read(4096):
        writer.write(data)
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "0.0.0.0", 7003, backlog=4096)
    print("ready", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
MANY_CLIENTS = """
import asyncio, sys
address, count = sys.argv[1], int(sys.argv[2])
async def connect(n):
    async with limit:
        reader, writer = await asyncio.open_connection(address, 7003)
        writer.write(b"%d" % n)
        assert await reader.read(100) == b"%d" % n
        return reader, writer
async def main():
    global limit
    limit = asyncio.Semaphore(500)
    pairs = await asyncio.gather(*map(connect, range(count)))
    print("open", flush=True)
    sys.stdin.readline()
    for n, (reader, writer) in enumerate(pairs):
        writer.write(b"last %d" % n)
    for n, (reader, writer) in enumerate(pairs):
        assert await reader.read(100) == b"last %d" % n
        writer.close()
    print("closed", flush=True)
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("spoof", [(), ("--spoof",)])
def test_ten_thousand_connections_are_open_at_once(network: Network, spoof: tuple[str, ...]) -> None:
    count = 10_000
    for host in ("client", "near", "server"):
        network.run(host, "sysctl", "-qw", "net.ipv4.ip_local_port_range=1100 65000")
    serve_many = network.python("server", MANY_SERVER)
    assert line(serve_many) == "ready"
    gateway = network.gateway("near", "--workers", "2", *spoof)
    clients = network.python("client", MANY_CLIENTS, SERVER, count, stdin=subprocess.PIPE)
    assert line(clients) == "open"
    status = gateway.status()
    assert (status["open"], status["passed"], status["lost_notices"]) == (count, 0, 0)
    assert say(clients, "") == "closed"
    soon(lambda: gateway.status()["open"], 0)
    status = gateway.status()
    assert (status["completed"], status["reset"], status["window_bytes"]) == (count, 0, 0)


ENDLESS = """
import socket
listener = socket.create_server(("", 7004))
print("ready", flush=True)
peer, _ = listener.accept()
try:
    while True:
        peer.sendall(bytes(1 << 18))
except OSError:
    pass
"""
DISCARD = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 7004))
got, buffer = 0, bytearray(1 << 18)
print("open", flush=True)
while n := peer.recv_into(buffer):
    got += n
"""


def test_what_waits_in_a_gateway_is_less_than_an_rtt_of_the_next_leg(tmp_path: Path) -> None:
    """A server fills the gateway at the speed of the machine, the link takes 20 Mbit/s at an RTT of 100 ms."""
    of_an_rtt = 20e6 / 8 * 0.1
    with Network(tmp_path, "--delay-ms 50 --rate-mbit 20 --queue-kb 250") as network:
        serve(network, ENDLESS)
        gateway = network.gateway("far", "--from", "outside", "--cc", "bbr")
        receiver = network.python("client", DISCARD, SERVER)
        assert line(receiver) == "open"
        # A second for the start.
        soon(lambda: gateway.status()["bytes_outwards"] > 2e6, True)
        waiting = []
        for _ in range(10):
            time.sleep(0.3)
            status = gateway.status()
            waiting.append(status["backlog_bytes"])
            assert 0 < status["window_bytes"] <= of_an_rtt
        assert max(waiting) > 0
        assert sorted(waiting)[5] <= of_an_rtt
