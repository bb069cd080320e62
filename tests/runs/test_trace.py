# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee trace`: the packets of a record, from a repeated run."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import ROOT, SMALL, Cli
from perigee_lab.results.run import open_record


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace") / "record"
    perigee.loads(SMALL, name="small").run_all(out=folder)
    return folder


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_text_shows_every_packet_of_the_window_at_the_sender(cli: Cli, record: Path) -> None:
    done = cli("trace", record, "--cc", "cubic", "--flow", "1", "--from", "0.5s", "--to", "0.6s")
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert "cubic, seed 1: flow 1 (s1->d1), 0.5 to 0.6 s" in head
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    assert times[0] >= 0.5
    assert times[-1] <= 0.6
    kinds = {re.search(r" (out|in ) (data|ack) ", line).groups() for line in lines}  # type: ignore[union-attr]
    assert kinds == {("out", "data"), ("in ", "ack")}


def test_csv_of_the_whole_run_agrees_with_the_record(cli: Cli, record: Path) -> None:
    done = cli("trace", record, "--cc", "newreno", "--to", "3s", "--csv", "--at", "both")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    totals = open_record(record / "newreno" / "seed1").to_pandas("flow_totals").iloc[0]
    out = [r for r in found if r["direction"] == "out" and r["kind"] == "data"]
    assert len(out) == totals["data_sent"]
    assert sum(r["retransmission"] == "1" for r in out) == totals["retransmits"] > 0
    arrived = {(r["kind"], r["number"]) for r in found if r["direction"] == "in"}
    assert all(((r["kind"], r["number"]) in arrived) == bool(r["arrived_ns"]) for r in found)


def test_qlog_has_the_packets_in_the_words_of_quic(cli: Cli, record: Path, tmp_path: Path) -> None:
    done = cli("trace", record / "cubic" / "seed1", "--from", "1s", "--to", "2s", "--qlog", "flow.qlog")
    assert done.returncode == 0, done.stderr
    log = json.loads((tmp_path / "flow.qlog").read_text())
    assert log["qlog_version"] == "0.3"
    [trace] = log["traces"]
    events = trace["events"]
    assert [e["time"] for e in events] == sorted(e["time"] for e in events)
    names = {e["name"] for e in events}
    assert {"transport:packet_sent", "transport:packet_received", "recovery:metrics_updated"} <= names
    text = cli("trace", record / "cubic" / "seed1", "--from", "1s", "--to", "2s", "--csv")
    packets = sum(e["name"].startswith("transport:") for e in events)
    assert packets == len(rows(text.stdout))
    sent = [e["data"]["frames"][0] for e in events if e["name"] == "transport:packet_sent"]
    assert all(f["frame_type"] == "stream" and f["length"] == 1448 for f in sent)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say which with --cc and --seed"),
        (["--cc", "vegas"], "none of them"),
        (["--cc", "cubic", "--flow", "2"], "there are 1 (s1->d1)"),
        (["--cc", "cubic", "--from", "1"], "with a unit"),
        (["--cc", "cubic", "--from", "-1s"], "with a unit"),
        (["--cc", "cubic", "--from", "2s", "--to", "1s"], "before"),
        (["--cc", "cubic", "--from", "9s"], "after the end of the run, 3 s"),
        (["--cc", "cubic", "--at", "router"], "sender, receiver, both"),
    ],
)
def test_bad_input_is_named(cli: Cli, record: Path, words: list[str], said: str) -> None:
    done = cli("trace", record, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_record_of_a_python_class_can_be_traced_and_verified(cli: Cli, small: Path) -> None:
    scheme = f"{ROOT / 'examples' / 'target_delay.py'}:TargetDelay"
    assert cli("run", small, "--no-report", "--cc", scheme, "--out", "own").returncode == 0
    done = cli("trace", "own", "--trust", "--from", "1s", "--to", "1.1s")
    assert done.returncode == 0, done.stderr
    assert "python:TargetDelay" in done.stdout
    checked = cli("verify", "own", "--trust")
    assert checked.returncode == 0, checked.stdout
