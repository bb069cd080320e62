# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Flags of Wireshark's analysis of TCP (`tcp.analysis`), compared with ours by flow."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import RecordError

if TYPE_CHECKING:
    from perigee_lab.results.run import Run

ENDS = ("ip.src", "ipv6.src", "tcp.srcport", "ip.dst", "ipv6.dst", "tcp.dstport")
OF_DATA = {
    "retransmission": "retransmissions",
    "fast_retransmission": "of them fast",
    "spurious_retransmission": "of them spurious",
    "out_of_order": "out of order",
    "lost_segment": "previous segment not captured",
    "window_full": "window full",
}
OF_ANSWERS = {"duplicate_ack": "duplicate ACKs", "zero_window": "zero windows"}
"""Flags set on packets of the receiver."""
FLAGS = (*OF_DATA, *OF_ANSWERS)
OURS = ("retransmits", "capture.needless_packets", "capture.reordered_packets", "timeouts")
MOST_FLOWS = 100
"""Maximum number of flows in the table: those with the most retransmissions."""
KEY = "wireshark"
"""Key in the manifest."""


def classified(file: Path) -> dict[str, Any]:
    """Version of tshark, and its counts for each flow `ADDRESS:PORT > ADDRESS:PORT`.

    Raises RecordError if there is no tshark or it cannot read the file.
    """
    tshark = shutil.which("tshark")
    if tshark is None:
        raise RecordError("--wireshark: there is no tshark on this machine (Debian: apt install tshark)")
    version = subprocess.run([tshark, "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    words = [tshark, "-r", str(file), "-Y", "tcp.analysis.flags", "-T", "fields", "-E", "occurrence=f"]
    for name in (*ENDS, *(f"tcp.analysis.{flag}" for flag in FLAGS)):
        words += ["-e", name]
    flows: dict[str, Counter[str]] = {}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            fields = line.rstrip("\n").split("\t")
            if len(fields) < len(ENDS) + len(FLAGS):
                continue
            v4, v6, port, to_v4, to_v6, to_port = fields[: len(ENDS)]
            ends = (_end(v4, v6, port), _end(to_v4, to_v6, to_port))
            for flag, value in zip(FLAGS, fields[len(ENDS) :], strict=False):
                if value:
                    origin, target = ends if flag in OF_DATA else ends[::-1]
                    flows.setdefault(f"{origin} > {target}", Counter())[flag] += 1
        said = process.stderr.read().strip()
    # If a file is truncated, tshark reads all packets in it and exits with 2.
    if process.returncode not in (0, 2):
        raise RecordError(f"{file}: tshark cannot read it: {said.splitlines()[-1] if said else process.returncode}")
    return {"version": version, "flows": {name: dict(counts) for name, counts in flows.items()}}


def _end(v4: str, v6: str, port: str) -> str:
    return f"[{v6}]:{port}" if v6 else f"{v4}:{port}"


def section(run: Run) -> dict[str, Any] | None:
    """Both classifications as a table of the report; None if tshark was not used."""
    theirs = run.manifest.get(KEY)
    if theirs is None:
        return None
    rows = sorted(run.table("flow_totals").to_pylist(), key=lambda t: -t["retransmits"])
    last = _last_rows(run)
    heads = ["flow", "sent again", "needless", "reordered", "timeouts", *OF_DATA.values(), *OF_ANSWERS.values()]
    table: list[Sequence[str]] = [heads]
    for t in rows[:MOST_FLOWS]:
        own = {**last.get(t["flow"], {}), "retransmits": t["retransmits"], "timeouts": t["timeouts"]}
        counts = theirs["flows"].get(t["name"], {})
        ours = [str(round(own.get(name) or 0)) for name in OURS]
        table.append([t["name"], *ours, *(str(counts.get(flag, 0)) for flag in FLAGS)])
    lines = [
        f"The first four numbers are ours, the others those of {theirs['version']}.",
        "Wireshark counts captured packets, where ours are packets on the wire; it calls a retransmission "
        '"out of order" that comes soon after the gap, and knows no needless ones but those whose data had been '
        "acknowledged in order (spurious).",
    ]
    return {"title": "Beside Wireshark's analysis", "lines": lines, "table": table, "image": None}


def _last_rows(run: Run) -> dict[int, dict[str, Any]]:
    """The last row of each flow, which has its counters."""
    table = run.table("flows")
    names = ["flow", *(n for n in OURS if n in table.column_names and "." in n)]
    return {row["flow"]: row for row in table.select(names).to_pylist()}
