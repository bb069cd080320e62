# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goodput of programs' flows from their first to their last packet with payload.

The window of a flow's goodput lasts until the run ends, also where its programs have long finished.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perigee_lab.results.run import Run

    Row = dict[str, Any]


def last_arrivals(run: Run, flows: Sequence[Row]) -> dict[int, int]:
    """The sampling instant by which all payload of each flow has arrived, ns; its stop if that is earlier.

    `flows` are rows of `flow_totals`; those without payload are left out.
    """
    if not flows:
        return {}
    frame = run.columns("flows", ["t_ns", "flow", "delivered_bytes"]).to_pandas()
    found = {}
    for t in flows:
        own = frame[frame["flow"] == t["flow"]]
        complete = own[own["delivered_bytes"] >= t["goodput_bytes"]]["t_ns"]
        if t["goodput_bytes"] > 0:
            found[t["flow"]] = int(complete.min()) if len(complete) else t["stop_ns"]
    return found


def active_columns(flows: Sequence[Row], last: Mapping[int, int]) -> Row:
    """Goodput and length of the time from the first packet to the last payload, over flows of programs.

    `flows` have the windows of `perigee_lab.results.metrics`. Without flows there are no columns; without
    payload in the window they are NaN.
    """
    if not flows:
        return {}
    spans = [(t["begin_ns"], last[t["flow"]], t["payload_bytes"]) for t in flows if t["flow"] in last]
    spans = [(begin, end, payload) for begin, end, payload in spans if end > begin and payload > 0]
    if not spans:
        return {"active_goodput_mbps": math.nan, "active_s": math.nan}
    took_ns = max(end for _, end, _ in spans) - min(begin for begin, _, _ in spans)
    return {
        "active_goodput_mbps": sum(payload for _, _, payload in spans) * 8e3 / took_ns,
        "active_s": took_ns / 1e9,
    }
