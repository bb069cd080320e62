# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Perigee's congestion controls in UDT (examples/udt), by the installed C library, over an emulated network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from perigee_lab.hosts import real_time
from real_hosts import transferred

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/udt"
TOOLS = [tool for tool in ("cargo", "c++", "pkg-config") if shutil.which(tool) is None]
MISSING = real_time.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(TOOLS), reason=f"this machine has no {', '.join(TOOLS)}"),
    pytest.mark.skipif(not Path("/usr/include/udt/ccc.h").is_file(), reason="no headers of UDT (Debian: libudt-dev)"),
]
REPORT = re.compile(
    r"([\d.]+) Mbit/s, window (\d+) bytes, RTT ([\d.]+) ms, (\d+) packets sent, (\d+) lost, (\d+) timeouts"
)
SECONDS = 8
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def call(*words: object, **given: str) -> str:
    """Output of a command that must succeed, with variables of its environment."""
    environment = {**os.environ, **given}
    done = subprocess.run(
        [str(w) for w in words], capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's program, compiled as its guide does with the library of `make install`."""
    folder = tmp_path_factory.mktemp("udt")
    call("cargo", "build", "--release", "--locked", "-p", "perigee-capi")
    call("crates/perigee-capi/install.sh", PREFIX=str(folder))
    flags = call(
        "pkg-config", "--cflags", "--libs", "perigee-cc", PKG_CONFIG_PATH=str(folder / "lib/pkgconfig")
    ).split()
    rpath = f"-Wl,-rpath,{folder / 'lib'}"
    made = folder / "transfer"
    call(
        "c++", "-std=c++11", "-O2", *WARNINGS, EXAMPLE / "transfer.cpp", *flags, rpath, "-ludt", "-lpthread", "-o", made
    )
    return made


@pytest.mark.skipif(MISSING is not None, reason=f"no hosts in real time: {MISSING}")
@pytest.mark.parametrize("scheme", ["cubic", "bbr3", "copa"])
def test_a_scheme_fills_the_link(tmp_path: Path, program: Path, scheme: str) -> None:
    printed = transferred(tmp_path, program, scheme, SECONDS)
    found = REPORT.search(printed)
    assert found, printed
    goodput_mbps, window, rtt_ms, sent, lost, _ = (float(word) for word in found.groups())
    # Two thirds of the rate, by windows of up to three bandwidth-delay products (100 kB). BBR's start overflows the
    # queue, and UDT repeats a lost retransmission only after a timeout.
    assert 13 < goodput_mbps < 20, printed
    assert 50_000 < window < 300_000, printed
    assert 40 <= rtt_ms < 90, printed
    assert lost < 0.1 * sent, printed


def test_the_receiver_gets_what_the_sender_delivers_on_this_machine(program: Path) -> None:
    server = subprocess.Popen([program, "server", "46017"], stdout=subprocess.PIPE, text=True)
    try:
        # A connection attempt lasts three seconds, within which the server listens.
        sent = call(program, "client", "127.0.0.1", "46017", "1", "newreno")
        received, _ = server.communicate(timeout=60)
    finally:
        server.kill()
    found = REPORT.search(sent)
    assert found, sent
    total = re.search(r"received (\d+) bytes", received)
    assert total, received
    # What the receiver has got counts as delivered one ACK later at most; the last packets may be lost at the end.
    assert int(total[1]) >= 0.9 * float(found[1]) * 1e6 / 8
    assert int(total[1]) > 1_000_000


@pytest.mark.parametrize("scheme", ["orbcc", "cubik"])
def test_other_schemes_are_refused_with_a_reason(program: Path, scheme: str) -> None:
    done = subprocess.run(
        [program, "client", "127.0.0.1", "1", "1", scheme], capture_output=True, text=True, check=False
    )
    expected = {"orbcc": "needs telemetry", "cubik": "unknown scheme"}[scheme]
    assert (done.returncode, expected in done.stderr) == (1, True), done.stderr


def test_two_other_libraries_of_debian_have_no_controllers_of_their_callers() -> None:
    """The guide's statement: settings select among their own; skipped without their headers."""
    headers = {"ngtcp2/ngtcp2.h": r"ngtcp2_cc_algo cc_algo;", "usrsctp.h": r"#define SCTP_CC_RTCC"}
    there = {
        Path("/usr/include") / name: text for name, text in headers.items() if (Path("/usr/include") / name).is_file()
    }
    if not there:
        pytest.skip("no headers of ngtcp2 or usrsctp (Debian: libngtcp2-dev, libusrsctp-dev)")
    for path, selects in there.items():
        text = path.read_text(encoding="utf-8")
        assert selects in text, path
        assert (
            re.search(r"\(\*\w*(on_ack|cong(estion)?_event|cwnd)\w*\)|ngtcp2_cc_\w*callback|ngtcp2_cc;", text) is None
        ), path
