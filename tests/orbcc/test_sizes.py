# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Messages of every size around the bounds of packets arrive, with offloads on and off."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from network import BUILT, missing, network

LACK = missing()
pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.skipif(bool(LACK), reason=LACK)]

SERVER = """
import socket
s = socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True)
print("ready", flush=True)
c, _ = s.accept()
f = c.makefile("rwb")
while line := f.readline():
    f.write(b"%d %d\\n" % (int(line), sum(f.read(int(line)))))
    f.flush()
"""
CLIENT = """
import socket, sys
c = socket.create_connection((sys.argv[1], 7000), timeout=20)
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
f = c.makefile("rwb")
for n in [*range(1, 120), *range(1250, 1520), *range(2600, 2860), *range(4000, 4400), 65535, 70000, 200000]:
    body = bytes(i & 255 for i in range(n))
    f.write(b"%d\\n" % n + body)
    f.flush()
    assert f.readline() == b"%d %d\\n" % (n, sum(body)), n
print("all")
"""


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize(
    ("carrier", "host"), [("ip6", "fd02::1"), ("ioam", "fd02::1"), ("tcp", "fd02::1"), ("tcp", "10.2.0.1")]
)
def test_every_size_arrives(carrier: str, host: str, offload: bool) -> None:
    with network(delay_ms=1, offload=offload) as n:
        n.receiver()
        n.port()
        server = [sys.executable, "-c", SERVER]
        loader = [str(BUILT / "orbcc"), "run", "--object", str(BUILT / "orbcc.bpf.o")]
        if carrier == "tcp":
            server = [*loader, "--receiver", "--carrier", "tcp", "--", *server]
        started = n.start("h2", *server)
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        report = n.folder.parent / f"{n.folder.name}.json"
        words = [*loader, "--dev", "e0", "--carrier", carrier, "--report", str(report), "--"]
        begin = time.monotonic()
        done = subprocess.run(
            n.inside("h1", *words, sys.executable, "-c", CLIENT, host),
            check=False,
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert done.stdout == "all\n", done.stderr
        assert time.monotonic() - begin < 40
        counters = json.loads(report.read_text(encoding="utf-8"))["counters"]
        report.unlink()
        assert counters["options_written" if carrier == "tcp" else "tagged"] > 1000, counters
        assert counters["too_large"] == 0, counters
