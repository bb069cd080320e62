# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Records of a campaign, one per scheme and cycle, with a flow per transfer and per ping series."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import names
from perigee_lab.common.files import RecordError, claimed
from perigee_lab.common.messages import complain
from perigee_lab.common.reading import read_text
from perigee_lab.measure.clocks import Offset, offset_of
from perigee_lab.measure.journal import CAMPAIGN, FOLDER, read_parts
from perigee_lab.measure.net.client import EARLY
from perigee_lab.measure.net.kernel import CA_STATES, INFINITE, NAMES
from perigee_lab.measure.quantities import amount_text
from perigee_lab.measure.sections import write_sections
from perigee_lab.measure.store import About, add_tables, as_table, columns_table, manifest_of
from perigee_lab.measure.stored import Part
from perigee_lab.measure.trains import WAYS, capacity, trains_of
from perigee_lab.results.conclusion import conclude
from perigee_lab.results.record import record_folders, run_folder
from perigee_lab.results.run import Run, open_record
from perigee_lab.results.writer import RecordWriter

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from perigee_lab.measure.campaign import Campaign, Step

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

TRANSFERS = ("download", "upload")
CUT = "-cut"
"""Suffix of the scheme for transfers that ended early."""
LOST = -1
NO_LINK = 0xFFFF_FFFF
CLOCK_STEP_NS = 5_000_000
MAX_TOLD_GAPS = 3


@dataclass
class Tables:
    """Tables of a record, which are filled flow by flow."""

    flows: list[pa.Table]
    events: list[dict[str, Any]]
    rtt: list[pa.Table]
    totals: list[dict[str, Any]]
    windows: list[dict[str, Any]]
    completions: list[dict[str, Any]]
    remarks: list[str]
    limits: list[pa.Table] = field(default_factory=list)

    def whole(self) -> dict[str, pa.Table]:
        """The complete tables."""
        import pyarrow as pa

        found = {
            "events": as_table("events", sorted(self.events, key=lambda e: e["t_ns"])),
            "flow_totals": as_table("flow_totals", self.totals), "windows": as_table("windows", self.windows),
            "completions": as_table("completions", self.completions),
        }  # fmt: skip
        for name, parts in (("flows", self.flows), ("rtt", self.rtt), ("limits", self.limits)):
            if parts:
                one = pa.concat_tables(parts, promote_options="default")
                found[name] = one.sort_by([("t_ns", "ascending"), ("flow", "ascending")]) if name != "rtt" else one
        return found


def write_records(folder: Path, *, force: bool = True, tell: Callable[[str], None] = lambda _: None) -> list[Run]:
    """Rebuilds the records of a campaign's folder, with their report; returns them.

    Damaged measurements are left out; `tell` receives a line on each, as does standard error.

    Raises RecordError if nothing was measured; OSError.
    """
    damaged: list[str] = []
    parts = read_parts(folder, tell=damaged.append)
    for line in damaged:
        complain(line)
        tell(line)
    if not parts:
        raise RecordError(f"{folder / FOLDER}: nothing was measured yet" + " that can be read" * bool(damaged))
    records: dict[tuple[str, int], list[Part]] = {}
    by_group: dict[tuple[int, int], list[Part]] = {}
    for part in parts:
        by_group.setdefault((part.cycle, part.group), []).append(part)
    both = {"download", "upload"} <= {p.about["do"] for p in parts}
    apart = _apart(folder)
    for (cycle, group), own in by_group.items():
        scheme = _scheme(own, both=both) + apart.get(group, "") + (CUT if _cut(own) else "")
        records.setdefault((scheme, cycle), []).extend(own)
    with claimed(folder, fresh=False):
        _forget(folder, {run_folder(folder, cc, cycle) for cc, cycle in records})
        for (cc, cycle), own in list(records.items()):
            record = run_folder(folder, cc, cycle)
            try:
                with RecordWriter(record, force=force) as writer:
                    tables, about = _record(folder, cc, cycle, own)
                    writer.finish(manifest_of(about, add_tables(writer, tables)))
            except (LookupError, TypeError, ValueError, ArithmeticError, RecordError) as error:
                # Values that are valid by themselves, and contradict each other.
                files = ", ".join(p.name for p in own[:4]) + ", …" * (len(own) > 4)
                why = names.visible(" ".join(str(error).split())[:160])
                line = f"{folder / FOLDER}: {files} give no record ({why}); they are left out"
                complain(line)
                tell(line)
                del records[cc, cycle]
        if not records:
            raise RecordError(f"{folder / FOLDER}: nothing was measured yet that can be read")
        runs = [open_record(run_folder(folder, cc, cycle)) for cc, cycle in records]
        write_sections(runs, folder)
        conclude(folder, runs[-1], report=True)
    return runs


def _forget(folder: Path, keep: set[Path]) -> None:
    """Removes records of these measurements that earlier versions wrote under another name."""
    for record in record_folders(folder):
        if record not in keep and _is_ours(record):
            shutil.rmtree(record)
            with contextlib.suppress(OSError):
                record.parent.rmdir()


def _is_ours(record: Path) -> bool:
    try:
        return open_record(record).manifest.backend == "measure"
    except RecordError:
        return False


def _apart(folder: Path) -> dict[int, str]:
    """Suffix of the scheme for each group, if a campaign has different downloads (or uploads).

    Their goodputs are not comparable: a mean over 1 MB and 1 GB of cubic has no meaning. The suffix
    depends on the campaign instead of on the measurements so far, so that names do not change.
    """
    campaign = _campaign(folder)
    if campaign is None:
        return {}
    kinds: dict[str, dict[int, tuple[str, ...]]] = {}
    for group, steps in enumerate(campaign.groups()):
        moved = [s for s in steps if s.do in TRANSFERS]
        if moved:
            kinds.setdefault(moved[0].do, {})[group] = _says(moved)
    found = {}
    for says in kinds.values():
        different = [len(set(column)) > 1 for column in zip(*says.values(), strict=True)]
        for group, words in says.items():
            label = "-".join(w for w, d in zip(words, different, strict=True) if d and w)
            found[group] = f"-{label}" if label else ""
    return found


def _says(steps: Sequence[Step]) -> tuple[str, ...]:
    """Parameters of a group of transfers: server, amount, time, streams, buffer, other steps."""
    first = steps[0]
    amount = "" if first.bytes is None else amount_text(first.bytes)
    time = "" if first.duration is None else f"{first.duration / 1e9:g}s"
    buffer = "" if first.buffer is None else f"buffer-{amount_text(first.buffer)}"
    streams = sum(s.streams for s in steps)
    rest = "-".join(f"{s.do}-{s.cc or 'default'}-{s.bytes or ''}-{s.duration or ''}" for s in steps[1:])
    return (first.server or "", amount, time, f"{streams}-streams" if streams > 1 else "", buffer, rest)


def _cut(parts: Sequence[Part]) -> bool:
    """Whether a transfer of a group ended early, which excludes the group from the means."""
    moved = [p.about for p in parts if p.about["do"] in TRANSFERS]
    return any(a["why"] or any(EARLY in remark for remark in a["remarks"]) for a in moved)


def _scheme(parts: Sequence[Part], *, both: bool) -> str:
    """Scheme of a group's transfers; ping if there are none.

    If a campaign has both directions, which have different rates, uploads get a suffix.
    """
    first = next((p.about for p in parts if "cc" in p.about), None)
    if first is None:
        return "ping"
    return f"{first['cc']}-up" if both and first["do"] == "upload" else str(first["cc"])


def _record(folder: Path, cc: str, cycle: int, parts: Sequence[Part]) -> tuple[dict[str, pa.Table], About]:
    start = min(int(p.about["began_ns"]) for p in parts)
    tables = Tables([], [], [], [], [], [], [])
    # Pieces of the same pings form one flow.
    flows: dict[tuple[int, int], list[Part]] = {}
    for part in parts:
        flows.setdefault((part.group, part.step), []).append(part)
    ends, called = [], _names([own[0] for own in flows.values()])
    for number, own in enumerate(flows.values()):
        add = ADDING.get(own[0].about["do"], _add_transfer)
        ends.append(add(tables, number, called[number], own, start))
    name = folder.resolve().name
    nodes = list(dict.fromkeys(end for t in tables.totals for end in (t["from"], t["to"])))
    about = About(
        backend="measure", name=name, title=_title(folder, name), cc=cc, began_ns=start, duration_ns=max(ends),
        sample_ns=min(int(p.about["sample_ns"]) for p in parts), seed=cycle,
        flows=[
            {"name": t["name"], "from": t["from"], "to": t["to"], "cc": t["cc"], "start_ns": t["started_ns"],
             "stop_ns": t["stop_ns"]}
            for t in tables.totals
        ],
        nodes=nodes, remarks=tables.remarks,
        files=[folder / FOLDER / p.name for p in parts],
        more={"measure": {"cycle": cycle, "flows": [_kept(own[0]) for own in flows.values()]}},
    )  # fmt: skip
    return tables.whole(), about


def _kept(part: Part) -> dict[str, Any]:
    keys = ("do", "name", "server", "bytes", "duration_ns", "connect_ns", "interval_ns", "burst", "size", "buffer")
    return {k: part.about[k] for k in keys if part.about.get(k) is not None}


def _names(parts: Sequence[Part]) -> list[str]:
    """Unique names of flows."""
    given = [str(p.about["name"]) for p in parts]
    seen: dict[str, int] = {}
    found = []
    for name in given:
        seen[name] = seen.get(name, 0) + 1
        found.append(f"{name} {seen[name]}" if given.count(name) > 1 else name)
    return found


def _title(folder: Path, name: str) -> str:
    campaign = _campaign(folder)
    return (campaign.title if campaign is not None else "") or f"Measurement {name}"


def _campaign(folder: Path) -> Campaign | None:
    from perigee_lab.measure.campaign import parsed
    from perigee_lab.measure.net.protocol import MeasureError

    try:
        return parsed(read_text(folder / FOLDER / CAMPAIGN), folder.resolve().name)
    except (OSError, ValueError, MeasureError):
        return None


def _add_transfer(tables: Tables, number: int, name: str, parts: Sequence[Part], start_ns: int) -> int:
    """Adds a download or an upload; returns the time of its end."""
    about, columns = parts[0].about, parts[0].columns
    zero = int(about["began_ns"]) - start_ns
    r_t, r_total = columns["r_t"] + zero, columns["r_total"]
    keep = np.concatenate(([True], np.diff(r_t) > 0))
    r_t, r_total = r_t[keep], r_total[keep]
    rows: dict[str, Any] = {
        "t_ns": r_t, "flow": number, "goodput_bps": _rates(r_t, r_total, zero), "delivered_bytes": r_total,
        **_of_sender(about, columns, zero, r_t),
    }  # fmt: skip
    tables.flows.append(columns_table("flows", rows, len(r_t)))
    if "s_info" in columns:
        accounts = _accounts(about, columns, zero, r_t)
        tables.limits.append(columns_table("limits", {**accounts, "flow": number}, len(accounts["t_ns"])))
    rtts = _smoothed(about, columns)
    tables.rtt.append(_counted(number, rtts))
    got, done = int(r_total[-1]), zero + int(about["done_ns"])
    complete = about["bytes"] is not None and got >= int(about["bytes"]) and not about["why"]
    if complete:
        first = about["first_ns"]
        tables.completions.append(
            {"flow": number, "object": 0, "bytes": got, "asked_ns": zero, "done_ns": done,
             "first_ns": None if first is None else zero + int(first)}
        )  # fmt: skip
    last = columns["s_info"][-1] if "s_info" in columns else None
    tables.totals.append(
        _total(number, name, about["from"], about["to"], about["cc"], zero, done)
        | {"completed_ns": done if complete else None, "goodput_bytes": got, "window_bytes": got}
        | {"window_ns": done - zero, "rtt_samples": len(rtts), "rtt_sum_ns": int(rtts.sum())}
        | (
            {}
            if last is None
            else {"data_sent": _known(last, "data_segs_out"), "retransmits": _known(last, "total_retrans")}
        )
    )
    kind = "bulk" if about["bytes"] is None else "transfer"
    tables.windows.append({"flow": number, "class": kind, "payload_bytes": got, "there_ns": done - zero})
    tables.events.append(
        {
            "t_ns": zero + int(about["connect_ns"]),
            "kind": "handshake",
            "flow": number,
            "value": about["connect_ns"] / 1e9,
        }
    )
    tables.remarks += [f"{name}: {r}" for r in about["remarks"]]
    if last is not None:
        tables.remarks += _limited(name, last)
    return max(done, int(r_t[-1]))


def _limited(name: str, last: Ints) -> list[str]:
    """Warnings about limits other than the network, with which a transfer does not show it."""
    busy = _known(last, "busy_us") or 0
    found = []
    for key, what in (("rwnd_limited_us", "the receiver's window"), ("sndbuf_limited_us", "the sender's buffer")):
        share = (_known(last, key) or 0) / busy if busy else 0
        if share > 0.05:
            found.append(
                f"{name}: {100 * share:.0f} % of its time it was bounded by {what}, not by the network (buffer "
                f"= … asks for more)"
            )
    return found


def _known(row: Ints, key: str) -> int | None:
    value = int(row[NAMES.index(key)])
    return None if value < 0 else value


def _rates(t: Ints, total: Ints, zero: int) -> Floats:
    """Rates in bit/s since the previous row."""
    took = np.diff(np.concatenate(([zero], t)))
    return np.diff(np.concatenate(([0], total))) * 8e9 / np.maximum(took, 1)


def _of_sender(about: Mapping[str, Any], columns: Mapping[str, Ints], zero: int, at: Ints) -> dict[str, Any]:
    """The sender's last TCP_INFO before each time."""
    if "s_info" not in columns:
        return {}
    t = columns["s_t"] + int(about["sender_zero_ns"]) + zero
    info = columns["s_info"]
    which = np.searchsorted(t, at, side="right") - 1
    there = which >= 0
    rows = info[np.maximum(which, 0)]

    def column(key: str, factor: float = 1, none: int | None = None) -> list[int | None]:
        values = rows[:, NAMES.index(key)]
        fine = there & (values >= 0) & (np.full(len(values), True) if none is None else values < none)
        return [int(v * factor) if ok else None for v, ok in zip(values.tolist(), fine.tolist(), strict=True)]

    mss = rows[:, NAMES.index("snd_mss")]

    def packets(key: str, none: int | None = None) -> list[int | None]:
        return [None if v is None else v * int(m) for v, m in zip(column(key, none=none), mss, strict=True)]

    state = rows[:, NAMES.index("ca_state")]
    rtt = [None if v in (None, 0) else v for v in column("rtt_us", 1000)]
    return {
        "cwnd_bytes": packets("cwnd"), "ssthresh_bytes": packets("ssthresh", INFINITE), "srtt_ns": rtt, "rtt_ns": rtt,
        "pacing_bps": column("pacing_rate", 8, 1 << 59), "in_flight_bytes": packets("unacked"),
        "delivery_rate_bps": column("delivery_rate", 8), "sent_packets": column("data_segs_out"),
        "retransmits": column("total_retrans"),
        "ca_state": [CA_STATES[s] if 0 <= s < 5 else "" for s in np.where(there, state, -1).tolist()],
        "measure.min_rtt_ms": [None if v is None else v / 1e3 for v in column("min_rtt_us", none=(1 << 32) - 1)],
    }  # fmt: skip


def _accounts(about: Mapping[str, Any], columns: Mapping[str, Ints], zero: int, at: Ints) -> dict[str, Any]:
    """Time under each limit up to each time, from the accounts of the sender's kernel."""
    t = columns["s_t"] + int(about["sender_zero_ns"]) + zero
    which = np.searchsorted(t, at, side="right") - 1
    at, which = at[which >= 0], which[which >= 0]
    keys = ("busy_us", "rwnd_limited_us", "sndbuf_limited_us")
    totals = [np.maximum(columns["s_info"][which, NAMES.index(key)], 0) * 1000 for key in keys]
    busy, receive, send = (np.maximum(np.diff(total), 0) for total in totals)
    idle = np.maximum(np.diff(t[which]) - busy, 0)
    return {
        "t_ns": at[1:], "application_ns": idle, "receive_window_ns": receive, "send_buffer_ns": send,
        "congestion_window_ns": np.maximum(busy - receive - send, 0),
    }  # fmt: skip


def _smoothed(about: Mapping[str, Any], columns: Mapping[str, Ints]) -> Ints:
    if "s_info" not in columns:
        return np.zeros(0, np.int64)
    rtt = columns["s_info"][:, NAMES.index("rtt_us")]
    found: Ints = rtt[rtt > 0] * 1000
    return found


def _counted(number: int, rtts_ns: Ints) -> pa.Table:
    us, count = np.unique(np.round(rtts_ns / 1000).astype(np.int64), return_counts=True)
    return columns_table("rtt", {"flow": number, "rtt_us": us, "count": count}, len(us))


def _total(number: int, name: str, origin: str, target: str, cc: str, start: int, stop: int) -> dict[str, Any]:
    return {
        "flow": number, "name": name, "from": origin, "to": target, "cc": cc, "started_ns": start, "stop_ns": stop,
        "bottleneck": NO_LINK, "inflation_samples": 0, "inflation_sum": 0.0, "base_rtt_sum_ns": 0, "payload_share": 1.0,
    }  # fmt: skip


@dataclass
class _Piece:
    """Pings of one piece; times are since the start of the record."""

    sent: Ints
    rtt: Ints
    out: Floats
    back: Floats
    came: Ints
    offset: Offset


def _piece(part: Part, start_ns: int) -> _Piece:
    c = part.columns
    answered = c["back"] != LOST
    hold = np.where(answered, c["left"] - c["arrived"], 0)
    # A server's clock may be wrong, or its times invented: no RTT is negative.
    rtt = np.where(answered, np.maximum(0, c["back"] - c["sent"] - hold), LOST)
    zero = int(part.about["began_ns"]) - start_ns - int(part.about["mono_ns"])
    offset = offset_of(c["sent"], c["arrived"], c["left"], c["back"], c["epoch"])
    out = np.where(answered, c["arrived"] - c["sent"] - offset.at, np.nan)
    return _Piece(c["sent"] + zero, rtt, out, rtt - out, c["came"], offset)


def _add_pings(tables: Tables, number: int, name: str, parts: Sequence[Part], start_ns: int) -> int:
    """Adds probes; returns the time of their end."""
    pieces = [_piece(p, start_ns) for p in parts]
    sent, rtt, out, back = (np.concatenate([getattr(p, k) for p in pieces]) for k in ("sent", "rtt", "out", "back"))
    answered = rtt != LOST
    arrived = (sent + rtt)[answered]
    rows = {
        "t_ns": arrived, "flow": number, "goodput_bps": 0.0, "delivered_bytes": 0, "rtt_ns": rtt[answered],
        "measure.out_ms": out[answered] / 1e6, "measure.back_ms": back[answered] / 1e6,
        "measure.sent_s": sent[answered] / 1e9,
    }  # fmt: skip
    tables.flows.append(columns_table("flows", rows, len(arrived)))
    tables.rtt.append(_counted(number, rtt[answered]))
    return _end_pings(tables, number, name, parts, pieces, start_ns, rtt[answered])


def _add_trains(tables: Tables, number: int, name: str, parts: Sequence[Part], start_ns: int) -> int:
    """Adds trains, one per row; returns the time of their end.

    A row has the RTT of the train's first answered probe, and the rate of each direction.
    """
    pieces = [_piece(p, start_ns) for p in parts]
    columns: dict[str, list[Any]] = {}
    for part, piece in zip(parts, pieces, strict=True):
        found = trains_of(part.columns, part.about)
        sent, rtt = piece.sent[found.first], piece.rtt[found.first]
        of_train = {
            "t_ns": sent + rtt, "rtt_ns": rtt, "measure.sent_s": sent / 1e9,
            "measure.out_ms": piece.out[found.first] / 1e6, "measure.back_ms": piece.back[found.first] / 1e6,
        }  # fmt: skip
        for way in WAYS:
            of_train |= {f"measure.{way}_mbps": found.mbps[way], f"measure.{way}_spread": found.spread[way]}
        for key, values in of_train.items():
            columns.setdefault(key, []).append(values)
    whole = {key: np.concatenate(values) for key, values in columns.items()}
    rows = whole | {"flow": number, "goodput_bps": 0.0, "delivered_bytes": 0}
    tables.flows.append(columns_table("flows", rows, len(whole["t_ns"])))
    tables.rtt.append(_counted(number, whole["rtt_ns"]))
    for way, label in (("there", "on the way there"), ("back", "on the way back")):
        said = capacity(whole[f"measure.{way}_mbps"], whole[f"measure.{way}_spread"])
        tables.remarks.append(f"{name}, {label}: " + ("too few trains for a rate" if said is None else said.told))
    return _end_pings(tables, number, name, parts, pieces, start_ns, whole["rtt_ns"])


def _end_pings(
    tables: Tables, number: int, name: str, parts: Sequence[Part], pieces: Sequence[_Piece], start_ns: int, rtts: Ints
) -> int:
    """Adds losses, totals and warnings for probes or trains; returns the time of their end.

    `rtts` are the RTT samples.
    """
    sent, rtt, came = (np.concatenate([getattr(p, k) for p in pieces]) for k in ("sent", "rtt", "came"))
    answered = rtt != LOST
    arrived = (sent + rtt)[answered]
    way = {0: "on the way there", 1: "on the way back", LOST: ""}
    tables.events += [
        {"t_ns": int(sent[i]), "kind": "probe-lost", "flow": number, "value": float(i), "text": way[int(came[i])]}
        for i in np.flatnonzero(~answered)
    ]
    begin, end = int(sent[0]) if len(sent) else 0, int(max(sent[-1], arrived.max(initial=0))) + 1 if len(sent) else 1
    peer = str(parts[0].about["server"])
    tables.totals.append(
        _total(number, name, "here", peer, "ping", begin, end)
        | {
            "goodput_bytes": 0,
            "window_bytes": 0,
            "window_ns": end - begin,
            "data_sent": len(sent),
            "sent_packets": len(sent),
        }
        | {
            "delivered_packets": int(answered.sum()),
            "rtt_samples": len(rtts),
            "rtt_sum_ns": int(rtts.sum()),
        }
    )
    tables.windows.append({"flow": number, "class": "ping", "payload_bytes": 0, "there_ns": end - begin})
    tables.remarks += _told_of_pings(name, parts, pieces, answered, came)
    tables.events += _clock_steps(tables, name, parts, start_ns)
    return end


ADDING = {"pings": _add_pings, "trains": _add_trains}


def _told_of_pings(
    name: str, parts: Sequence[Part], pieces: Sequence[_Piece], answered: npt.NDArray[np.bool_], came: Ints
) -> list[str]:
    found = []
    if not answered.all():
        lost = "".join(" " if a else "x" for a in answered).split()
        there, back = int((came[~answered] == 0).sum()), int((came[~answered] == 1).sum())
        share = 100 * float((~answered).mean())
        found.append(
            f"{name}: {int((~answered).sum())} of {len(answered)} probes lost ({share:.3g} %), {there} on the "
            f"way there and "
            f"{back} on the way back, in {len(lost)} runs, {max(map(len, lost))} at most in a row"
        )
    counts = {
        k: sum(int(p.about[k]) for p in parts) for k in ("duplicates", "there_twice", "reordered", "there_reordered")
    }
    if counts["duplicates"] or counts["there_twice"]:
        found.append(
            f"{name}: {counts['there_twice']} probes and {counts['duplicates']} answers came twice; the first "
            f"of each counts"
        )
    if counts["reordered"] or counts["there_reordered"]:
        found.append(
            f"{name}: {counts['there_reordered']} probes came after a later one, and {counts['reordered']} answers "
            "after one to a later probe"
        )
    known = [p.offset for p in pieces if p.offset.known]
    if known:
        error = max(o.error_ns for o in known)
        found.append(
            f"{name}: one-way delays take both ways of the fastest probes for equally long: all may be off by "
            f"one constant, "
            f"± {error / 1e6:.3f} ms at most"
        )
    return found + [f"{name}: {r}" for p in parts for r in p.about["remarks"]]


def _clock_steps(tables: Tables, name: str, parts: Sequence[Part], start_ns: int) -> list[dict[str, Any]]:
    """Events for steps of the wall clock, which shift times of day, but not RTTs."""
    found = []
    for part in parts:
        wall = part.columns["wall"].reshape(-1, 2)
        ahead = wall[:, 1] - wall[:, 0]
        zero = int(part.about["began_ns"]) - start_ns - int(part.about["mono_ns"])
        for k in np.flatnonzero(np.abs(np.diff(ahead)) > CLOCK_STEP_NS):
            step = float(ahead[k + 1] - ahead[k]) / 1e9
            t = int(wall[k + 1, 0]) + zero
            found.append({"t_ns": max(0, t), "kind": "clock-step", "flow": None, "value": step})
            tables.remarks.append(
                f"{name}: the clock of the day was set by {step:+.3f} s; RTTs are by another clock and not affected"
            )
    return found
