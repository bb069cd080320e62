# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of a record and their columns, as they are declared in `perigee-record/src/tables.rs`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from perigee_lab import _core


@dataclass(frozen=True)
class ColumnSpec:
    """A column: type (u32, u64, f64, bool, words), unit, meaning of null, and description."""

    name: str
    type: str
    unit: str
    null: str
    """Meaning of null; empty if every row has a value."""
    help: str


@dataclass(frozen=True)
class TableSpec:
    """A table: the meaning of a row, and its columns in order."""

    name: str
    help: str
    columns: tuple[ColumnSpec, ...]


def _declared() -> dict[str, TableSpec]:
    tables = json.loads(_core.record_tables())
    return {t["name"]: TableSpec(t["name"], t["help"], tuple(ColumnSpec(**c) for c in t["columns"])) for t in tables}


TABLES = _declared()

# Columns that readers require; records of earlier versions may lack the others.
RELIED_ON = {
    "flows": "t_ns flow goodput_bps delivered_bytes cwnd_bytes rtt_ns base_rtt_ns",
    "links": "t_ns link port queue_bytes rate_bps",
    "events": "t_ns kind flow node value text",
    "rtt": "flow rtt_us count",
    "delays": "flow direction delay_us count",
    "completions": "flow object bytes asked_ns done_ns",
    "flow_totals": "flow name from to cc window_bytes window_ns rtt_samples rtt_sum_ns capacity_bps payload_share",
    "windows": "flow class payload_bytes there_ns capacity_bits datagrams delay_sum_ns delay_max_ns jitter_sum_ns",
    "applications": "flow first_byte_ns playing_ns stalls stalled_ns media_ns played_ns media_bits switches codec "
    "played_packets late_packets mouth_ear_sum_ns",
    "limits": "t_ns flow application_ns receive_window_ns send_buffer_ns congestion_window_ns pacing_ns",
    "carriers": "t_ns port rate_bps neighbour_bytes",
    "link_totals": "link port name mean_wait_ns",
    "meters": "",
    "routes": "t_ns pair hop node",
    "tracks": "t_ns node name lat_deg lon_deg",
}
