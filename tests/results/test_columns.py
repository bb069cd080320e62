# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Columns of summary.csv, terminal and report, against values computed by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from conftest import ROOT, Cli
from perigee_lab.results import columns, manifest, summary
from perigee_lab.results.beside import beside
from perigee_lab.results.metrics import flow_rows
from perigee_lab.results.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

S, MS = 1_000_000_000, 1_000_000
DUMBBELL = '[source.dumbbell]\npairs = 2\nrtt = "20 ms"\n'
SUMS = "rtt_samples rtt_sum_ns inflation_samples base_rtt_sum_ns"
PACKETS = "sent_packets under_way_packets drops_queue drops_random drops_outage drops_no_route"
COUNTED = "goodput_bytes window_bytes window_ns data_sent retransmits timeouts path_changes unreachable"
COUNTERS = f"{COUNTED} {SUMS} {PACKETS}".split()
DATAGRAMS = "datagrams delay_sum_ns delay_max_ns jitter_sum_ns"
WINDOW = f"payload_bytes there_ns open_ns capacity_bits {DATAGRAMS}".split()


def total(flow: int, name: str, cc: str = "cubic", **known: Any) -> dict[str, Any]:
    """A row of flow_totals for a flow of the first pair of a dumbbell, present all the time."""
    ends = {"from": "s1", "to": "d1", "started_ns": 0, "completed_ns": None, "stop_ns": 10 * S, "routed_ns": 10 * S}
    rest = {"inflation_sum": 0.0, "base_rtt_min_ns": None, "payload_share": 0.96, "capacity_bps": 10e6}
    return {"flow": flow, "name": name, "cc": cc, **ends, **rest, **dict.fromkeys(COUNTERS, 0), **known}


def window(flow: int | None, kind: str, **known: Any) -> dict[str, Any]:
    """A row of windows."""
    return {"flow": flow, "class": kind, **dict.fromkeys(WINDOW, 0), "capacity_bits": 0.0, **known}


def rtts(n: int, sum_ms: float, base_ms: float, inflation_sum: float, least_ms: float) -> dict[str, Any]:
    """Columns of flow_totals for n samples."""
    sums = {"rtt_samples": n, "rtt_sum_ns": int(sum_ms * MS), "base_rtt_sum_ns": int(base_ms * MS)}
    return {**sums, "inflation_samples": n, "inflation_sum": inflation_sum, "base_rtt_min_ns": int(least_ms * MS)}


# 10 s with a warm-up of 1 s: the window has 9 s if a flow is present all the time.
TOTALS = [
    total(
        0, "first", data_sent=1000, retransmits=10, timeouts=1, path_changes=3, unreachable=1, routed_ns=9_500 * MS,
        **rtts(4, 150, 80, 7.5, 15),
    ),
    total(
        1, "late", started_ns=2 * S, stop_ns=8 * S, routed_ns=6 * S, data_sent=500, retransmits=20, path_changes=2,
        unreachable=1, **rtts(1, 50, 20, 2.5, 20),
    ),
    total(2, "web", data_sent=500, path_changes=1, **{"from": "s2"}, **rtts(5, 105, 100, 5.25, 20)),
    total(3, "file", started_ns=5 * S, completed_ns=6 * S, routed_ns=S),
    total(
        4, "probe", "ping", drops_queue=1, drops_random=2, drops_outage=3, drops_no_route=4, **rtts(2, 45, 40, 2.25, 20)
    ),
    total(5, "voice", "cbr", sent_packets=1000, under_way_packets=10, drops_queue=90, drops_outage=9),
    total(6, "radio", "cbr", sent_packets=500),
    total(7, "pages"),
    total(8, "film", started_ns=2 * S),
    total(9, "call", "voice", sent_packets=410, under_way_packets=10, drops_queue=30, drops_outage=10),
    total(10, "upload", "programs", started_ns=2_400 * MS, routed_ns=7_600 * MS, goodput_bytes=200_000),
]  # fmt: skip
WINDOWS = [
    window(0, "bulk", payload_bytes=9_000_000, there_ns=9 * S, capacity_bits=90e6),
    window(1, "bulk", payload_bytes=1_500_000, there_ns=6 * S, capacity_bits=60e6),
    window(2, "request", payload_bytes=450_000, there_ns=2 * S, capacity_bits=20e6),
    window(3, "transfer", payload_bytes=250_000, there_ns=1 * S, capacity_bits=10e6),
    window(4, "ping"),
    window(
        5, "cbr", payload_bytes=1_800_000, datagrams=800, delay_sum_ns=800 * 25 * MS, delay_max_ns=40 * MS,
        jitter_sum_ns=799 * MS // 2,
    ),
    window(
        6, "cbr", payload_bytes=900_000, datagrams=401, delay_sum_ns=401 * 10 * MS, delay_max_ns=12 * MS,
        jitter_sum_ns=400 * MS // 10,
    ),
    window(7, "web"),
    window(8, "video"),
    window(9, "voice", datagrams=360, delay_sum_ns=360 * 30 * MS, delay_max_ns=99 * MS, jitter_sum_ns=359 * 2 * MS),
    window(10, "programs", payload_bytes=200_000, there_ns=7_600 * MS, capacity_bits=76e6),
    window(None, "", payload_bytes=11_400_000, there_ns=9 * S, capacity_bits=120e6),
]  # fmt: skip
RTTS = [(0, 20_000, 1), (0, 30_000, 2), (0, 70_000, 1), (1, 50_000, 1), (2, 21_000, 5), (4, 20_000, 1), (4, 25_000, 1)]
# Bytes delivered by "first" and "late"; the latter is present from 2 s to 8 s.
# The payload of "upload", which starts at 2.4 s, has arrived by 5 s.
UPLOADED = [(3, 10, 1e5), (5, 10, 2e5), (8, 10, 2e5), (10, 10, 2e5)]
DELIVERED = [
    *UPLOADED,
    (1, 0, 1e6),
    (2, 0, 2e6),
    (2, 1, 0),
    (5, 0, 4e6),
    (5, 1, 4e5),
    (8, 0, 5e6),
    (8, 1, 1e6),
    (10, 0, 9e6),
]
# Objects of "web" (requested, first data, done), the first of them before the end of the warm-up;
# "file"; two pages of "pages" that take 2 s and 4 s; a segment of "film" that takes 1 s.
COMPLETIONS = [
    (7, 1, 1.5, 3),
    (7, 4, 4.1, 8),
    (8, 2, 2.2, 3),
    (2, 0.5, 0.6, 0.7),
    (2, 2, 2.05, 2.1),
    (2, 3, 3.1, 3.3),
    (2, 4, 4.1, 4.2),
    (3, 5, None, 6),
]
FIRST = ["first_byte_ns", "first_10kb_ns", "first_100kb_ns", "first_1mb_ns", "first_10mb_ns"]
VIDEO = ["playing_ns", "stalls", "stalled_ns", "segments", "media_ns", "played_ns", "media_bits", "switches"]
CALL = ["played_packets", "late_packets", "mouth_ear_sum_ns"]


def application(flow: int, **known: Any) -> dict[str, Any]:
    """A row of applications."""
    return {"flow": flow, "codec": "", **dict.fromkeys(FIRST + VIDEO + CALL), **known}


APPLICATIONS = [
    application(1, first_byte_ns=2_100 * MS, first_10kb_ns=2_200 * MS, first_100kb_ns=2_300 * MS, first_1mb_ns=8 * S),
    application(3, first_byte_ns=5_200 * MS),
    # Playback starts 1.5 s after the start of the flow, runs for 3 s, and stalls for 1 s; 8 s of
    # media are 16 Mbit.
    application(
        8, playing_ns=3_500 * MS, stalls=2, stalled_ns=S, segments=2, media_ns=8 * S, played_ns=3 * S,
        media_bits=16_000_000, switches=1,
    ),
    # 40 of 400 packets are lost and 36 of 360 are late, so that 81 % are played, each 180 ms after
    # it was spoken.
    application(9, codec="g711", played_packets=324, late_packets=36, mouth_ear_sum_ns=324 * 180 * MS),
]  # fmt: skip
# R = 93.2 - 25 ((1 + X^6)^(1/6) - 3 (1 + (X/3)^6)^(1/6) + 2) - 95 * 19 / (19 + 25.1), X = log2 1.8.
CALL_R = 93.2 - 1.3463 - 40.9297


def rows(names: str, values: list[Any]) -> list[dict[str, Any]]:
    """Rows of a table."""
    return [dict(zip(names.split(), v, strict=True)) for v in values]


EVENING = {"name": "evening", "background": False, "flows": [[1, 1]]}


def record(totals: list[dict[str, Any]], toml: str = DUMBBELL) -> Run:
    """A record in memory."""
    ns = lambda t: None if t is None else round(t * S)  # noqa: E731
    tables: Mapping[str, list[dict[str, Any]]] = {
        "flow_totals": totals,
        "windows": WINDOWS,
        "rtt": rows("flow rtt_us count", RTTS),
        "flows": rows("t_ns flow delivered_bytes", [(t * S, f, int(d)) for t, f, d in DELIVERED]),
        "events": rows("kind", [("handover",), ("outage-begin",), ("handover",), ("mode",)]),
        "completions": rows("flow asked_ns first_ns done_ns", [(f, ns(a), ns(b), ns(c)) for f, a, b, c in COMPLETIONS]),
        "applications": APPLICATIONS,
        "link_totals": rows("mean_wait_ns", [(None,), (2e6,), (5e6,)]),
        **{name: [{"t_ns": 0}] for name in ("links", "routes", "tracks")},
    }
    said = {
        "record_format": 1, "scenario": "hand", "title": "by hand", "scenario_toml": toml, "cc": "cubic", "seed": 1,
        "duration_ns": 10 * S, "simulated_ns": 10 * S, "warmup_ns": S, "sample_ns": S, "stopped": False,
        "conserved": True, "packet_hops": 1, "flows": [], "groups": [EVENING],
        "nodes": [], "pairs": [], "ports": [], "report": [],
        "warnings": [], "tables": {n: {"rows": len(r), "sha256": 64 * "0"} for n, r in tables.items()},
    }  # fmt: skip
    about = manifest.parsed(said, Path("manifest.json"))
    return Run(about, None, {n: pa.Table.from_pylist(r) for n, r in tables.items()})


# For each column: values by flow, and that of the run. All flows have a payload of 91.2 Mbit and a
# capacity of 120 Mbit.
HAND: dict[str, dict[str, Any]] = {
    "cc": {"all": "cubic", "probe": "cubic"},
    "seed": {"all": 1, "web": 1},
    "flow": {"all": "all", "late": "late"},
    "flow_cc": {"all": "cubic", "first": "cubic", "probe": "ping", "voice": "cbr"},
    "class": {"first": "bulk", "web": "request", "file": "transfer", "probe": "ping", "voice": "cbr"},
    "group": {"late": "evening"},
    "goodput_mbps": {"all": 91.2 / 9, "first": 8, "late": 2, "web": 0.4, "file": 2, "voice": 1.6},
    "active_goodput_mbps": {"all": 1.6 / 2.6, "upload": 1.6 / 2.6},
    "active_s": {"all": 2.6, "upload": 2.6},
    "share": {"all": 91.2 / (120 * 0.96), "first": 72 / 86.4, "late": 12 / 57.6, "web": 3.6 / 19.2, "voice": None},
    "net_share": {"all": 91.2 * 1500 / (120 * 1448), "late": 12 * 1500 / (60 * 1448)},
    "payload_share": {"all": 0.96, "first": 0.96},
    "capacity_mbps": {"all": 120 / 9, "first": 10, "web": 10},
    "there_s": {"all": 9, "late": 6, "web": 2},
    "rtt_over": {"all": "samples"},
    # Samples: 20, 21 (five times), 30 (twice), 50 and 70 ms.
    "rtt_mean_ms": {"all": 30.5, "first": 37.5, "late": 50, "web": 21, "file": None, "probe": 22.5},
    "rtt_median_ms": {"all": 21, "first": 30, "probe": 20},
    "rtt_p95_ms": {"all": 70, "first": 70, "late": 50, "probe": 25},
    "rtt_p99_ms": {"all": 70, "web": 21},
    "base_rtt_ms": {"all": 20, "first": 20, "file": None},
    "inflation": {"all": 1.525, "first": 1.875, "late": 2.5, "web": 1.05},
    "inflation_min": {"all": 30.5 / 15, "first": 2.5, "late": 2.5},
    "rtt_samples": {"all": 10, "first": 4, "probe": 2},
    "queue_mean_ms": {"all": 5},
    "retransmits": {"all": 30, "first": 10, "voice": None},
    "retransmit_pct": {"all": 1.5, "first": 1, "late": 4},
    "timeouts": {"all": 1, "first": 1, "late": 0},
    # From 2 s to 8 s, the flows deliver 3 MB and 1 MB.
    "jain": {"all": 16 / (2 * 10)},
    "jain_s": {"all": 6},
    "path_changes": {"all": 3 + 1, "first": 3, "late": 2, "web": 1},
    "unreachable": {"all": 1, "late": 1, "web": 0},
    "handovers": {"all": 2},
    "outages": {"all": 1},
    "no_path_s": {"all": 0.5, "first": 0.5, "late": 0, "file": 0},
    "completed_s": {"file": 6, "first": None},
    "objects": {"all": 3},
    "object_mean_s": {"all": 0.2},
    "object_median_s": {"all": 0.2},
    "object_p95_s": {"all": 0.3},
    "object_p99_s": {"all": 0.3},
    "transfers": {"all": 1},
    "transfer_mean_s": {"all": 1},
    "transfer_median_s": {"all": 1},
    "transfer_p95_s": {"all": 1},
    "transfer_p99_s": {"all": 1},
    "object_first_mean_s": {"all": (0.05 + 0.1 + 0.1) / 3},
    "pages": {"all": 2},
    "page_mean_s": {"all": 3},
    "page_median_s": {"all": 2},
    "page_p95_s": {"all": 4},
    "page_p99_s": {"all": 4},
    "page_first_mean_s": {"all": 0.3},
    "segments": {"all": 1},
    "segment_mean_s": {"all": 1},
    "segment_median_s": {"all": 1},
    "segment_p95_s": {"all": 1},
    "segment_p99_s": {"all": 1},
    "segment_first_mean_s": {"all": 0.2},
    "transfer_first_mean_s": {"all": 0.2},
    "first_byte_s": {"late": 0.1, "file": 0.2, "first": None},
    "first_10kb_s": {"late": 0.2, "file": None},
    "first_100kb_s": {"late": 0.3},
    "first_1mb_s": {"late": 6},
    "first_10mb_s": {"late": None},
    "videos": {"all": 1},
    "start_up_s": {"all": 1.5, "film": 1.5},
    "stalls": {"all": 2, "film": 2},
    "stalled_s": {"all": 1, "film": 1},
    "stalled_pct": {"all": 25, "film": 25},
    "video_mbps": {"all": 2, "film": 2},
    "switches": {"all": 1, "film": 1},
    "calls": {"all": 1},
    "late_pct": {"all": 10, "call": 10},
    "mouth_ear_ms": {"all": 180, "call": 180},
    "mos": {"all": 1 + 0.035 * CALL_R + CALL_R * (CALL_R - 60) * (100 - CALL_R) * 7e-6, "call": 2.623565},
    "mos_min": {"all": 2.623565},
    "lost_probes": {"probe": 10},
    "cbr_flows": {"all": 2},
    "cbr_goodput_mbps": {"all": 2.4},
    "loss_pct": {"all": 100 * 99 / 1490, "voice": 10, "radio": 0, "call": 10},
    "delay_mean_ms": {"all": (20_000 + 4_010) / 1201, "voice": 25, "radio": 10, "call": 30},
    "delay_max_ms": {"all": 40, "radio": 12},
    "jitter_ms": {"all": (399.5 + 40) / 1199, "voice": 0.5, "radio": 0.1},
}


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    """Rows by flow; `all` is the row of the run."""
    run = record(TOTALS)
    return {"all": run.summary, **{row["flow"]: row for row in flow_rows(run)}}


@pytest.mark.parametrize("column", columns.COLUMNS, ids=lambda c: c.name)
def test_a_column_is_what_its_definition_says(column: columns.Column, found: dict[str, dict[str, Any]]) -> None:
    assert column.name in HAND, "no value of this column was computed by hand"
    assert len(column.meaning) > 10
    for row, value in HAND[column.name].items():
        got = found[row][column.name]
        if value is None:
            assert math.isnan(got), row
        else:
            assert got == (value if isinstance(value, str) else pytest.approx(value)), row
    # A row that the definition of a column does not name does not have the column.
    assert ("all" in HAND[column.name]) == ("run" in column.rows)


def test_no_column_is_without_a_definition(found: dict[str, dict[str, Any]]) -> None:
    assert {name for row in found.values() for name in row} == set(columns.BY_NAME) == set(HAND)


UNLIKE = """
[source.constellation]
preset = "starlink-shell1"
"""
DRAWN = (
    UNLIKE
    + """
[[flow]]
pattern = "gravity"
"""
)
MEASURED = "# capture of a lab"


@pytest.mark.parametrize(
    "toml",
    [
        UNLIKE,
        MEASURED,
        DUMBBELL.replace('"20 ms"', '["20 ms", "22 ms"]'),
        DUMBBELL + '[port."s2->r1"]\nrate = "1 Mbit"\n',
        DUMBBELL.replace("dumbbell", "parking_lot"),
        DUMBBELL.replace("dumbbell", "crossing") + '[jitter]\npreset = "geo"\n',
        DUMBBELL.replace("dumbbell", "crossing") + '[[change]]\nat = "1 s"\non = "a1->a2"\ndelay = "9 ms"\n',
    ],
)
def test_rtts_of_paths_that_may_differ_are_means_over_the_flows(toml: str) -> None:
    """The statistic does not depend on base RTTs: 20 and 20 ms are like 20 and 22 ms."""
    for base_ms in (100, 110):
        row = record([*TOTALS[:2], {**TOTALS[2], "base_rtt_sum_ns": base_ms * MS}, *TOTALS[3:]], toml).summary
        assert row["rtt_over"] == "flows"
        assert row["rtt_mean_ms"] == pytest.approx((37.5 + 50 + 21) / 3)
        assert row["rtt_median_ms"] == pytest.approx((30 + 50 + 21) / 3)
        assert row["inflation"] == pytest.approx((1.875 + 2.5 + 1.05) / 3)
        assert math.isnan(row["base_rtt_ms"])
        assert row["rtt_samples"] == 10
    [said] = summary.about_seeds([record(TOTALS, toml)])
    assert said == "RTTs and inflation: means over the flows, whose base RTTs may differ"


def test_rtts_of_one_path_are_over_all_samples_whatever_was_measured() -> None:
    """On a moving path, a late flow has another mean base RTT than an early flow."""
    alone = [{**t, "from": "s1"} for t in TOTALS]
    for base_ms in (20, 25):
        totals = [alone[0], {**alone[1], "base_rtt_sum_ns": base_ms * MS}, *alone[2:]]
        for toml in (UNLIKE, MEASURED, DUMBBELL, DUMBBELL.replace('"20 ms"', '["20 ms", "0.02 s"]')):
            row = record(totals, toml).summary
            assert (row["rtt_over"], row["rtt_median_ms"]) == ("samples", 21)
    assert record(alone, DRAWN).summary["rtt_over"] == "flows", "another seed draws other pairs"
    silent = [{**t, "rtt_samples": 0} for t in TOTALS]
    assert record(silent, UNLIKE).summary["rtt_over"] == "flows", "without a sample, too"


def test_jain_needs_a_time_in_which_all_were_there() -> None:
    early = {**TOTALS[0], "stop_ns": 2 * S}
    row = record([early, *TOTALS[1:]]).summary
    assert math.isnan(row["jain"])
    assert math.isnan(row["jain_s"])


@pytest.mark.slow
def test_the_page_of_columns_is_up_to_date(cli: Cli) -> None:
    page = (ROOT / "docs/reference/columns.md").read_text(encoding="utf-8")
    assert page == columns.markdown()
    assert cli("columns", "--markdown").stdout == page
    told = cli("columns", "share", "jain_s").stdout
    assert "Of achievable" in told.replace("\n", " ")
    assert "full sampling intervals" in " ".join(told.split())
    listed = [c["name"] for c in json.loads(cli("columns", "--json").stdout)]
    assert listed == [c.name for c in (*columns.COLUMNS, *columns.SPANS)]
    done = cli("columns", "shaer")
    said = "perigee: no column 'shaer' (did you mean share?); perigee columns lists them\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_record_without_windows_has_what_can_be_known() -> None:
    """Records of versions without the table.

    They have goodput, RTTs and losses, but no shares of a capacity.
    """
    run = record([{**t, "window_bytes": 1_125_000} for t in TOTALS[:3]])
    tables = {n: t for n, t in run.manifest.tables.items() if n != "windows"}
    row = Run(replace(run.manifest, tables=tables), None, run._tables).summary
    assert row["goodput_mbps"] == pytest.approx(3 * 9 / 9)
    assert row["rtt_mean_ms"] == pytest.approx(30.5)
    assert math.isnan(row["share"])


def test_what_stands_beside_the_table_is_in_the_report_too() -> None:
    run = record(TOTALS)
    lines = beside([run])
    assert [line.split(":")[0] for line in lines] == [
        "completion times of objects, cubic",
        "completion times of pages, cubic",
        "completion times of transfers, cubic",
        "1 video, cubic",
        "1 call, cubic",
        "constant rate beside cubic, 2 flows",
        "ping probe beside cubic",
    ]
    assert "lost % 6.644" in lines[5]
    assert lines[6].endswith("without a path 0 times; 10 lost probes")
