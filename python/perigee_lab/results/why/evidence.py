# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Evidence on the limits of a flow: its rows, its events, and the accounts of its sender."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.results.metrics import WITHOUT_TCP
from perigee_lab.results.why.accounts import ACCOUNTS, by_flow
from perigee_lab.results.why.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from perigee_lab.results.run import Run

    Floats = npt.NDArray[np.float64]

VALUES = (
    "delivered_bytes", "goodput_bps", "cwnd_bytes", "ssthresh_bytes", "pacing_bps", "in_flight_bytes", "srtt_ns",
    "rtt_ns", "base_rtt_ns", "path_rate_bps", "sent_packets", "retransmits", "lost_packets", "timeouts",
)  # fmt: skip
TEXTS = ("ca_state", "mode")
OWN = ("cc_", "linux.", "capture.", "log.")
PLAIN_MSS = 1448


@dataclass(frozen=True)
class Event:
    """An event of the flow."""

    t_ns: int
    kind: str
    value: float
    text: str


@dataclass(frozen=True)
class Evidence:
    """The rows of one flow, in order of time; unknown values are NaN."""

    flow: int
    name: str
    cc: str
    ends: tuple[str, str]
    begin_ns: int
    end_ns: int
    limited: bool
    """Whether the flow is a transfer that was complete at its end."""
    backend: str
    sample_ns: int
    t_ns: npt.NDArray[np.int64]
    values: Mapping[str, Floats]
    texts: Mapping[str, list[str]]
    own: Mapping[str, Floats]
    """Columns of the scheme, the backend or the import, without those that are empty."""
    accounts: Floats | None
    """Nanoseconds by limit since the previous row; None = the record has none of this flow."""
    others_bps: Floats
    """Goodput of the other flows over the same slowest port."""
    payload_share: float
    """Payload of a full packet over its bytes on the slowest port."""
    sent_data: bool
    """Whether it ever sent data; False = not even its handshake was complete."""
    tcp: Mapping[str, Any]
    """Settings of its transport; empty if the manifest has none."""
    events: tuple[Event, ...] = field(repr=False)

    def __getitem__(self, name: str) -> Floats:
        return self.values[name]

    @property
    def measured(self) -> bool:
        """Whether the record is of a measurement, a capture or a log."""
        return self.backend in ("capture", "log", "measure")

    @cached_property
    def starts_ns(self) -> npt.NDArray[np.int64]:
        """Start of the interval of each row."""
        before = np.concatenate(([self.begin_ns], self.t_ns[:-1]))
        return np.minimum(before, self.t_ns)

    @cached_property
    def base_rtt_ns(self) -> Floats:
        """RTT of the path without queues; where the record has none, the least RTT so far."""
        least: Floats = np.fmin.accumulate(np.where(np.isnan(self["rtt_ns"]), np.inf, self["rtt_ns"]))
        return np.where(np.isnan(self["base_rtt_ns"]) & self.measured & np.isfinite(least), least, self["base_rtt_ns"])

    @cached_property
    def undone_ns(self) -> tuple[int, ...]:
        """Times at which a reduction was taken back as spurious."""
        return tuple(ev.t_ns for ev in self.of_kind("undo"))

    def rise(self, name: str) -> Floats:
        """Increase of a counter over the interval of each row."""
        counter = self[name] if name in self.values else self.own[name]
        return np.diff(counter, prepend=0.0 if not len(counter) or not np.isnan(counter[0]) else np.nan)

    def of_kind(self, *kinds: str) -> list[Event]:
        """Events of these kinds."""
        return [e for e in self.events if e.kind in kinds]


def evidence(run: Run, chosen: set[int] | None = None) -> Iterator[Evidence]:
    """The evidence on each flow over TCP or QUIC that has started, or on those with these numbers."""
    totals = [
        t
        for t in run.table("flow_totals").to_pylist()
        if t["cc"] not in WITHOUT_TCP and t["started_ns"] is not None and (chosen is None or t["flow"] in chosen)
    ]
    if not totals:
        return
    wanted = {t["flow"] for t in totals}
    rows, accounts, events = _rows(run, wanted), by_flow(run, wanted), _events(run)
    shared = Shared(run, wanted)
    for t in totals:
        made = _of_flow(run, t, rows.get(t["flow"]), accounts.get(t["flow"]), events)
        yield _without_handshake(replace(made, others_bps=shared.others_bps(made)))


def _of_flow(
    run: Run, t: dict[str, Any], rows: Any, accounts: Any, events: Mapping[int | None, list[Event]]
) -> Evidence:  # fmt: skip
    flow = t["flow"]
    own = tuple(events.get(flow, ())) + tuple(e for e in events.get(None, ()) if _is_handshake_of(e, t["name"]))
    end = min(t["stop_ns"] if t["completed_ns"] is None else t["completed_ns"], run.manifest.simulated_ns)
    begin = min([t["started_ns"], *(e.t_ns - round(e.value * 1e9) for e in own if e.kind == "handshake")])
    columns = {} if rows is None else {c: rows.column(c) for c in rows.column_names}
    times = np.asarray(columns["t_ns"] if columns else [], dtype=np.int64)
    numbers = {c: _floats(columns.get(c), len(times)) for c in VALUES}
    extra = {c: _floats(v, len(times)) for c, v in columns.items() if c.startswith(OWN)}
    return Evidence(
        flow=flow,
        name=t["name"],
        cc=t["cc"],
        ends=(t["from"], t["to"]),
        begin_ns=begin,
        end_ns=max(begin, end),
        limited=t["completed_ns"] is not None,
        backend=run.manifest.backend,
        sample_ns=max(1, run.manifest.sample_ns),
        t_ns=times,
        values=numbers,
        texts={c: [x or "" for x in columns[c].to_pylist()] if c in columns else [""] * len(times) for c in TEXTS},
        own={c: v for c, v in extra.items() if not np.isnan(v).all()},
        accounts=_aligned(accounts, times),
        others_bps=np.zeros(len(times)),
        payload_share=t["payload_share"] or PLAIN_MSS / 1500,
        sent_data=t.get("data_sent") != 0,
        tcp=_settings(run, flow),
        events=own,
    )


def _settings(run: Run, flow: int) -> Mapping[str, Any]:
    """Settings of a flow's transport; the manifest has those of the first hundred flows."""
    flows = run.manifest.get("flows", [])
    found = flows[flow].get("tcp") if flow < len(flows) else None
    return found if isinstance(found, dict) else {}


def _without_handshake(e: Evidence) -> Evidence:
    """The evidence with accounts of a host that start with the established connection.

    The kernel counts the time in which it was not busy, so that of the handshake belongs to no
    limit of the interval in which the handshake ends.
    """
    if e.accounts is None or e.backend == "simulator":
        return e
    counted = np.flatnonzero(np.nansum(e.accounts, axis=1) > 0)
    if not len(counted):
        return e
    first, accounts = counted[0], e.accounts.copy()
    known = [ev.t_ns for ev in e.of_kind("handshake")]
    before = max(0, known[0] - int(e.starts_ns[first])) if known else accounts[first, 0]
    accounts[first, 0] = max(0.0, accounts[first, 0] - before)
    return replace(e, accounts=accounts)


def _is_handshake_of(event: Event, name: str) -> bool:
    """Whether a handshake of a capture is that of a flow `a > b`, opened by either end."""
    ends = event.text.removesuffix(", QUIC").split(" > ")
    return event.kind == "handshake" and len(ends) == 2 and set(ends) == set(name.split(" > "))


def _floats(column: Any, rows: int) -> Floats:
    if column is None:
        return np.full(rows, np.nan)
    return np.asarray(column.to_pandas(), dtype=np.float64)


def _rows(run: Run, wanted: set[int]) -> dict[int, Any]:
    """Rows by flow."""
    return _by_flow(run, "flows", wanted)


def _by_flow(run: Run, name: str, wanted: set[int]) -> dict[int, Any]:
    """The rows of each wanted flow, in order of time; those of others are not kept."""
    import pyarrow as pa

    chosen = np.array(sorted(wanted))
    pieces = [part.filter(np.isin(np.asarray(part.column("flow")), chosen)) for part in run.groups(name)]
    table = pa.concat_tables(pieces, promote_options="default")
    flow = np.asarray(table.column("flow"))
    order = np.lexsort((np.asarray(table.column("t_ns")), flow))
    numbers, starts = np.unique(flow[order], return_index=True)
    bounds = [*starts.tolist(), len(order)]
    return {int(n): table.take(order[a:b]) for n, a, b in zip(numbers, bounds, bounds[1:], strict=False)}


def _aligned(accounts: Any, times: npt.NDArray[np.int64]) -> Floats | None:
    """Accounts by row of the flow; rows before the connection was established have none (NaN)."""
    if accounts is None:
        return None
    at = np.searchsorted(times, np.asarray(accounts.column("t_ns"), dtype=np.int64))
    found = np.full((len(times), len(ACCOUNTS)), np.nan)
    amounts = np.column_stack([_floats(accounts.column(c), accounts.num_rows) for c in ACCOUNTS])
    inside = at < len(times)
    found[at[inside]] = amounts[inside]
    return found


def _events(run: Run) -> dict[int | None, list[Event]]:
    """Events by flow; None: handshakes of captures, which name the ends of their connection."""
    table = run.columns("events", ("t_ns", "kind", "flow", "value", "text"))
    columns = [table.column(c).to_pylist() for c in ("flow", "t_ns", "kind", "value", "text")]
    found: dict[int | None, list[Event]] = {}
    for flow, t, kind, value, text in zip(*columns, strict=True):
        if flow is not None or kind == "handshake":
            found.setdefault(flow, []).append(Event(t, kind, value or 0.0, text or ""))
    return found
