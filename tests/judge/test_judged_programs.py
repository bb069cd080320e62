# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs in place of a congestion control: what is observed of them, and what is not."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from conftest import Cli
from perigee_lab import _core
from perigee_lab.cli.judge import _code as exit_code_of
from perigee_lab.cli.judge import release_pair
from perigee_lab.common.errors import CommandError
from perigee_lab.common.exit_codes import BAD_INPUT, FAILED, UNDECIDED, UNMET
from perigee_lab.common.files import RecordError
from perigee_lab.hosts import real_time
from perigee_lab.judge import catalogue, observed, programs, releases
from perigee_lab.judge.programs import Pair, ProgramError
from perigee_lab.judge.releases import ReleaseError
from perigee_lab.runs.backends import SIMULATOR
from perigee_lab.runs.stories import Program, Stories
from real_hosts import real

HERE = Path(__file__).parent
TCP, QUIC = HERE / "tcp_program.py", HERE / "quic_program.py"
SERVER = f"{sys.executable} {TCP} server {{port}}"
CLIENT = f"{sys.executable} {TCP} client {{host}} {{port}} {{seconds}} {{bytes}}"
UDP = """
import socket, sys, time
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
if sys.argv[1] == "server":
    s.bind(("::", int(sys.argv[2])))
    total = 0
    for k in range(1 << 30):
        total += len(s.recv(2000))
        if k % 50 == 0 and len(sys.argv) > 3:
            print("received", total, flush=True)
else:
    end = time.monotonic() + float(sys.argv[4])
    while time.monotonic() < end:
        s.sendto(bytes(1200), (sys.argv[2], int(sys.argv[3])))
        time.sleep(0.002)
"""
CASE = """
title = "small"
[case]
source = "ours"
purpose = "A program has most of a small path."
[run]
duration = "4 s"
warmup = "1 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
{}
[[expect]]
title = "share"
metric = "share"
at_least = {}
[[expect]]
title = "queue"
metric = "queue"
quantile = "95 %"
at_most = "60 ms"
[[expect]]
title = "window"
metric = "variable"
variable = "cwnd_bytes"
at_least = 1000
[[expect]]
title = "drain"
metric = "visits"
state = "drain"
at_least = 1
"""
needs_namespaces = pytest.mark.skipif(real_time.why_not() is not None, reason=f"{real_time.why_not()}")


def cases(folder: Path, flow: str = "", share: float = 0.5) -> Path:
    """A catalogue of one case."""
    (folder / "cases").mkdir()
    (folder / "cases/one.toml").write_text(CASE.format(flow, share), encoding="utf-8")
    return folder / "cases"


def verdicts(folder: Path) -> dict[str, str]:
    """Verdicts by title, from the JSON of a call."""
    results = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
    [case] = results["catalogues"][0]["cases"]
    return {e["title"]: e["verdict"] for e in case["expectations"]}


@real
def test_a_tcp_program_is_judged_by_its_packets_only(tmp_path: Path, cli: Cli) -> None:
    words = ["judge", "--program", SERVER, CLIENT, "--catalogue", cases(tmp_path), "--backend", "linux"]
    done = cli(*words, "--out", tmp_path / "o", "--junit", tmp_path / "j.xml", "--tap", tmp_path / "t.tap")
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(tmp_path / "o") == {
        "share": "passed",
        "queue": "passed",
        "window": "not observable",
        "drain": "not observable",
    }
    assert "1 passed (1 of them in part" in done.stdout
    assert "# SKIP" in (tmp_path / "t.tap").read_text(encoding="utf-8")
    assert 'skipped="2"' in (tmp_path / "j.xml").read_text(encoding="utf-8")
    assert not list((tmp_path / "o").rglob("*.pcapng")), "captures are large"
    records = sorted(p.stat().st_mtime_ns for p in (tmp_path / "o").rglob("manifest.json"))
    again = cli(*words, "--out", tmp_path / "o")
    assert again.returncode == 0
    assert sorted(p.stat().st_mtime_ns for p in (tmp_path / "o").rglob("manifest.json")) == records


@pytest.mark.slow
@real
def test_slow_and_broken_programs_fail(tmp_path: Path, cli: Cli) -> None:
    words = ["--catalogue", cases(tmp_path), "--backend", "linux"]
    slow = cli("judge", "--program", f"{SERVER} slow", CLIENT, *words, "--out", tmp_path / "slow")
    assert slow.returncode == UNMET, slow.stdout + slow.stderr
    assert verdicts(tmp_path / "slow")["share"] == "failed"
    broken = cli(
        "judge", "--program", SERVER, CLIENT.replace("{seconds}", "nonsense"), *words, "--out", tmp_path / "broken"
    )
    assert broken.returncode == UNMET
    assert "the client of flow 's1->d1' ended: exit code 1" in broken.stdout


@pytest.mark.slow
@real
def test_what_a_program_does_not_report_is_not_observable(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "udp.py").write_text(UDP, encoding="utf-8")
    own = f"{sys.executable} {tmp_path / 'udp.py'}"
    words = ["--catalogue", cases(tmp_path, share=0.4), "--backend", "linux"]
    client = f"{own} client {{host}} {{port}} {{seconds}}"
    silent = cli("judge", "--program", f"{own} server {{port}}", client, *words, "--out", tmp_path / "silent")
    assert silent.returncode == UNDECIDED, silent.stdout + silent.stderr
    assert set(verdicts(tmp_path / "silent").values()) == {"not observable"}
    talking = cli("judge", "--program", f"{own} server {{port}} talks", client, *words, "--out", tmp_path / "talking")
    assert verdicts(tmp_path / "talking")["share"] == "passed", talking.stdout + talking.stderr
    assert verdicts(tmp_path / "talking")["queue"] == "not observable"


@pytest.mark.slow
@needs_namespaces
def test_programs_run_in_real_time_without_a_kernel(tmp_path: Path, cli: Cli) -> None:
    words = ["judge", "--program", SERVER, CLIENT, "--catalogue", cases(tmp_path, 'bytes = "300 kB"', 0.001)]
    (tmp_path / "cases/one.toml").write_text(
        CASE.format('bytes = "300 kB"', 0.001) + '[[expect]]\ntitle = "done"\nmetric = "completion"\nat_most = "3 s"\n',
        encoding="utf-8",
    )
    done = cli(*words, "--backend", "emulation", "--out", tmp_path / "o")
    assert done.returncode in (0, UNMET), done.stdout + done.stderr
    assert verdicts(tmp_path / "o")["done"] == "passed"


@pytest.mark.slow
@needs_namespaces
@pytest.mark.parametrize(
    ("server", "expected"),
    [("exit 3; {port}", "the server of flow 's1->d1' ended: exit code 3"), ("/nowhere/server-{port}", "the server of")],
)
def test_a_case_that_failed_by_a_problem_is_in_the_files_for_ci(
    tmp_path: Path, cli: Cli, server: str, expected: str
) -> None:
    words = ["--catalogue", cases(tmp_path), "--set", "run.duration=1s", "--set", "run.warmup=0s"]
    files = ["--junit", tmp_path / "j.xml", "--tap", tmp_path / "t.tap"]
    done = cli("judge", "--program", server, CLIENT, *words, "--backend", "emulation", "--out", tmp_path / "o", *files)
    assert done.returncode == UNMET, done.stdout + done.stderr
    [suite] = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert {k: suite.get(k) for k in ("tests", "failures", "errors")} == {"tests": "1", "failures": "0", "errors": "1"}
    [error] = suite.iter("error")
    assert expected in str(error.get("message"))
    lines = (tmp_path / "t.tap").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["TAP version 13", "1..1"]
    assert lines[2].startswith("not ok 1 - ")
    assert lines[2].endswith("cases.programs.one: run")
    assert expected in lines[4]


def test_a_run_that_perigee_cannot_make_is_no_failed_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise RecordError("no space left")

    monkeypatch.setattr(programs.hosts, "run", full)
    [case] = catalogue.load(str(cases(tmp_path)))
    done = programs.run("cases", [case], Pair(SERVER, CLIENT), tmp_path / "o", backend=SIMULATOR)
    assert [(o.problem, o.unable) for o in done.outcomes] == [("seed 1: no space left", True)]
    assert exit_code_of([done]) == FAILED


@real
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("aioquic") is None, reason="aioquic is missing: pip install aioquic")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")
def test_a_quic_program_is_judged_by_its_qlog(tmp_path: Path, cli: Cli) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days"]
    subprocess.run(
        [*made, "36500", "-subj", "/CN=t", "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    server = f"{sys.executable} {QUIC} server {{port}} {certificate} {key}"
    client = f"{sys.executable} {QUIC} client {{host}} {{port}} {{seconds}} {{bytes}} {{qlog}} cubic"
    words = ["judge", "--program", server, client, "--catalogue", cases(tmp_path), "--backend", "linux"]
    done = cli(*words, "--out", tmp_path / "o")
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(tmp_path / "o")
    assert found == {"share": "passed", "queue": "passed", "window": "passed", "drain": "not observable"}


# ---- without hosts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cubic", "--program", SERVER, CLIENT], "and not both"),
        ([], "give what to judge"),
        (["--program", "server", CLIENT], "server has no {port}"),
        (["--program", SERVER, "client {port}"], "client has no {host}"),
        (["--program", SERVER, CLIENT + " {second}"], "{second} in the command of the client is no placeholder"),
        (["--program", SERVER, CLIENT, "--sends", "both"], "neither client nor server"),
        (["--program", SERVER, CLIENT, "--backend", "simulator"], "has no hosts for programs"),
        (["cubic", "--sends", "server"], "belongs to --program"),
        (["--program", SERVER, CLIENT, "--catalogue", "starts"], "--catalogue starts tests parameters of Perigee's"),
        (["quinn@0.11.9", "--catalogue", "bbr", "--catalogue", "starts"], "give bbr, rfc9743, satellite or a folder"),
        (["quinn@0.11.9:reno"], "has no congestion control 'reno'; it has cubic, newreno, bbr"),
        (["msquic@2.5.0"], "there is no adapter for msquic"),
    ],
)
def test_errors_name_the_remedy(cli: Cli, words: list[str], expected: str) -> None:
    done = cli("judge", *words)
    assert done.returncode == BAD_INPUT, done.stderr
    assert expected in done.stderr


def test_cases_that_programs_cannot_run_are_not_available(tmp_path: Path) -> None:
    pair = Pair("s {port}", "c {host} {port}")
    why = {c.name: programs.why_not(c, pair, SIMULATOR) for c in catalogue.load("bbr") + catalogue.load("satellite")}
    assert why["13-cruise-aggregation"] is None
    assert "app = 'on-off'" in str(why["11-idle"]) or "app" in str(why["11-idle"])
    assert "needs {bytes}" in str(why["15-geo-start"])
    with_bytes = Pair("s {port}", "c {host} {port} {bytes}")
    [geo] = [c for c in catalogue.load("satellite") if c.name == "15-geo-start"]
    assert programs.why_not(geo, with_bytes, SIMULATOR) is None
    for command in ("", " "):
        with pytest.raises(ProgramError, match="is empty"):
            Pair(command, "c {host} {port}").check()


@pytest.mark.parametrize("node", ["x;id>PWNED;:", "$(id)", "a b", "-x", "{qlog}", "x" * 61])
def test_the_name_of_a_node_is_no_line_of_a_shell(tmp_path: Path, node: str) -> None:
    ends = f'from = "client"\nto = "{node}"\n'
    link = f'[[source.network.link]]\n{ends}rate = "10 Mbit"\ndelay = "10 ms"\n'
    case = (
        CASE.partition("[source.dumbbell]")[0]
        + link
        + f'[[flow]]\ncc = "*"\n{ends}[[expect]]\nmetric = "goodput"\nat_least = "1 bit"\n'
    )
    (tmp_path / "a.toml").write_text(case, encoding="utf-8")
    [found] = catalogue.load(str(tmp_path))
    why = programs.why_not(found, Pair("s {port}", "c {host} {port}"), SIMULATOR)
    assert why is not None
    assert f"its node {node!r} has no name that a command can have" in why


def test_a_placeholder_is_filled_in_once() -> None:
    values = dict.fromkeys(programs.PLACEHOLDERS, "x") | {"host": "{qlog}", "qlog": "y"}
    assert programs.filled("c {host}:{qlog}", values) == ("/bin/sh", "-c", "c {qlog}:y")


def test_programs_write_through_no_link(tmp_path: Path) -> None:
    """Links in place of the folders of a catalogue, a case, its runs and its qlogs."""
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat/a.toml").write_text(CASE.format("", 0.5), encoding="utf-8")
    [case] = catalogue.load(str(tmp_path / "cat"))
    pair, outside = Pair("s {port}", "c {host} {port} {qlog}"), tmp_path / "outside"
    outside.mkdir()
    for inside in ("out", "out/a", "out/a/programs"):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        (tmp_path / inside).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / inside).symlink_to(outside)
        done = programs.run("cat", [case], pair, tmp_path / "out", backend=SIMULATOR)
        assert "it is a link" in done.outcomes[0].problem, inside
        (tmp_path / inside).unlink()
    runs = tmp_path / "out/a/programs"
    runs.mkdir(parents=True)
    (runs / "seed1.qlog").symlink_to(outside)
    with pytest.raises(_core.ScenarioError, match="programs"):
        # The simulator has no hosts; the folder for qlogs is made before that is found.
        programs.run("cat", [case], pair, tmp_path / "out", backend=SIMULATOR)
    assert list(outside.iterdir()) == []
    assert not (runs / "seed1.qlog").exists()


@pytest.mark.parametrize("braces", ["${x}", "{1..3}", "{a,b}", "{{x}}", "{ x; }", "{X}", "{}"])
def test_braces_of_the_shell_are_no_placeholders(braces: str) -> None:
    Pair(SERVER, f"{CLIENT} {braces}").check()


def test_each_flow_has_a_port_and_the_sender_is_where_the_data_is_from(tmp_path: Path) -> None:
    [case] = [c for c in catalogue.load("rfc9743") if c.name == "06-newcomer"]
    found = programs.tasks(case, 1, SIMULATOR)
    assert not isinstance(found, str)
    assert [t.port for t in found] == [5201, 5202]
    assert [round(t.start_ns / 1e9, 1) for t in found] == [0.1, 20.0]
    for sends, nodes in (("client", ["d2", "s2"]), ("server", ["s2", "d2"])):
        pair = Pair("serve {port} {qlog}", "get {host} {port} {seconds} {bytes}", sends)
        server, client = programs.programs_of(found[1], pair, tmp_path / sends)
        assert [server.node, client.node] == nodes
        assert client.words == ("/bin/sh", "-c", f"get {server.node} 5202 60 0")
        assert (tmp_path / sends / "1" / "server").is_dir()


def test_lines_of_a_receiver_have_the_times_of_its_writes() -> None:
    stories = Stories([Program("d", ("x",))])
    for at_ns, data in ((10, b"hello\nrecei"), (20, b"ved 100\n"), (30, b"received 250\nreceived 300 of\n")):
        stories("output", at_ns, 0, data, 0)
    found = observed.received(stories.all[0])
    assert found is not None
    assert found.t_ns.tolist() == [20, 30]
    assert found.columns["delivered_bytes"].tolist() == [100, 250]
    assert observed.received(Stories([Program("d", ("x",))]).all[0]) is None


def test_a_qlog_has_states_and_the_time_of_the_run(tmp_path: Path) -> None:
    zero_ms = observed.GUEST_EPOCH_NS / 1e6
    lines: list[Any] = [{"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}}]
    for k in range(10):
        lines.append({"time": zero_ms + 100 * k, "name": "transport:packet_sent", "data": {}})
        metrics = {"congestion_window": 12_000 + k, "latest_rtt": 50}
        lines.append({"time": zero_ms + 100 * k, "name": "recovery:metrics_updated", "data": metrics})
    for at, state in ((0, "Startup"), (500, "Drain")):
        event = {"time": zero_ms + at, "name": "recovery:congestion_state_updated", "data": {"new": state}}
        lines.append(event)
    file = tmp_path / "a.sqlog"
    file.write_text("".join(f"\x1e{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    found = observed.of_qlogs([file], 0)
    assert found is not None
    assert found.t_ns.tolist() == pytest.approx([1e8 * k for k in range(10)], abs=1e4)
    assert [s for _, s in found.states] == ["startup", "drain"]
    assert found.columns["cwnd_bytes"][-1] == 12_009
    grid = np.array([1.5e8, 5e8])
    assert observed.on_grid(found, "sent_packets", grid).tolist() == pytest.approx([2.5, 6.0], abs=1e-3)
    # An RTT sample belongs to one interval.
    assert np.isnan(observed.on_grid(found, "rtt_ns", np.array([5e8, 5.2e8]))).tolist() == [False, True]
    assert observed.of_qlogs([], 0) is None


def test_a_release_sets_a_version_and_nothing_else() -> None:
    release = releases.parsed("quinn-proto@0.11.14")
    assert release is not None
    assert release.label == "quinn-proto@0.11.14:cubic"
    template = (releases.ADAPTERS / "quinn/Cargo.toml.in").read_text(encoding="utf-8")
    changed = [
        (before, after)
        for before, after in zip(template.splitlines(), release.manifest().splitlines(), strict=True)
        if before != after
    ]
    assert [after for _, after in changed] == [
        'quic = { package = "quinn", version = "0.11" }',
        'proto = { package = "quinn-proto", version = "=0.11.14" }',
    ]
    assert releases.parsed("cubic") is None
    assert releases.parsed("mine.py:Scheme") is None
    with pytest.raises(ReleaseError, match="no adapter"):
        releases.parsed("s2n-quic@1.0.0")


def test_building_a_release_needs_consent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    cargo = tmp_path / "bin/cargo"
    cargo.write_text(
        '#!/bin/sh\ncase $1 in tree) printf "perigee-judged v0.0.0\\nring v0.17.8\\ntokio v1.0.0\\n";; '
        "generate-lockfile) touch Cargo.lock;; *) echo error: called >&2; exit 1;; esac\n",
        encoding="utf-8",
    )
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(releases, "build", lambda _: pytest.fail("built without consent"))
    quinn = releases.Release("quinn", "0.11.9", "cubic")
    with pytest.raises(CommandError, match=r"2 crates .* ring v0\.17\.8, tokio v1\.0\.0\nadd --trust"):
        release_pair(quinn, trust=False)
    assert releases.plan(quinn) == ["ring v0.17.8", "tokio v1.0.0"]
