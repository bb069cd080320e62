# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Utilisation of links and ports of a run at an instant, with their positions on the map."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common.files import RecordError, sha256_of
from perigee_lab.common.reading import parsed_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perigee_lab.results.run import Run
    from perigee_lab.runs.scenario import Scenario


@dataclass(frozen=True)
class Busy:
    """A directed link at a sampling time of the run."""

    origin: str
    target: str
    port: int
    """The port that feeds the link; a radio may be shared with other links."""
    utilisation: float
    """Fraction of the port's rate that this link has carried since the previous sample."""
    port_utilisation: float
    """Fraction of that rate that all links of the port have carried."""
    queue_packets: int
    """Number of packets waiting at the port."""


@dataclass(frozen=True)
class BusyPort:
    """A port at a sampling time of the run, with its links that carried traffic, busiest first."""

    links: tuple[Busy, ...]

    @property
    def utilisation(self) -> float:
        """Fraction of the port's rate used since the previous sample."""
        return self.links[0].port_utilisation

    def __str__(self) -> str:
        first = self.links[0]
        waiting = f"{first.queue_packets} packets waiting"
        if len(self.links) == 1:
            return f"{self.utilisation:6.1%}  {first.origin} -> {first.target}, {waiting}"
        shown = ", ".join(f"{b.target} {b.utilisation:.1%}" for b in self.links[:MOST_TARGETS])
        more = f" and {len(self.links) - MOST_TARGETS} more" if len(self.links) > MOST_TARGETS else ""
        return f"{self.utilisation:6.1%}  {first.origin} -> {shown}{more} (one radio), {waiting}"


MOST_TARGETS = 4


@dataclass(frozen=True)
class Difference:
    """A key with different values in a record's scenario and the plotted one."""

    key: str
    in_record: str
    """Value in the record; empty if it is not given."""
    in_scenario: str
    moves: bool
    """Whether positions of satellites or places differ, so that the loads of one cannot be drawn on
    the map of the other."""


def differences(run: Run, scenario: Scenario) -> list[Difference]:
    """Differences between the scenario of a record and another.

    Title, schemes, seeds and repetitions are ignored. Files are compared by their contents at the
    time of the run, not by path.
    """
    there, here = _recorded(run), _flat(scenario.core.toml)
    digests = {f.path: f.sha256 for f in run.manifest.files if f.sha256 is not None}
    found = []
    for key in dict.fromkeys([*there, *here]):
        if key in IGNORED:
            continue
        a, b = there.get(key), here.get(key)
        changed = _changed(a, b, digests)
        if changed is not None:
            found.append(Difference(key, _as_written(a), _as_written(b) + changed, key.startswith(MOVES)))
    return found


def _changed(there: Any, here: Any, digests: dict[str, str]) -> str | None:
    """None if two values are equivalent; otherwise a note on the second one."""
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        every = [c for a, b in zip(there, here, strict=True) if (c := _changed(a, b, digests)) is not None]
        return every[0] if every else None
    if not isinstance(there, str) or not isinstance(here, str):
        return None if there == here else ""
    path = Path(here).absolute()
    # Paths in records are absolute; those in a scenario are relative to the current folder.
    digest = digests.get(there) or digests.get(str(Path(there).absolute()))
    if digest is not None and path.is_file():
        return None if sha256_of(path) == digest else " with other contents"
    return None if there == here or Path(os.path.abspath(there)) == Path(os.path.abspath(here)) else ""


def _as_written(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


MOVES = ("source.", "node.", "nodes.")
# Keys that may differ between runs of one scenario.
IGNORED = {"title", "run.cc", "run.seed", "run.runs"}


def _recorded(run: Run) -> dict[str, Any]:
    try:
        return _flat(run.manifest.scenario_toml)
    except ValueError as error:
        raise RecordError(f"{run.folder}: scenario_toml of its manifest is no TOML: {error}") from None


def _flat(toml: str) -> dict[str, Any]:
    """Values by dotted key; entries of lists of tables by their number."""
    flat: dict[str, Any] = {}

    def walk(key: str, value: Any) -> None:
        if isinstance(value, dict):
            inner = list(value.items())
        elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            inner = [(str(i), v) for i, v in enumerate(value)]
        else:
            flat[key] = value
            return
        for name, v in inner:
            walk(f"{key}.{name}" if key else name, v)

    walk("", parsed_toml(toml))
    return flat


def busy(run: Run, t_s: float) -> list[Busy]:
    """Links with traffic at the last sample up to `t_s`, those of the busiest port first."""
    links, totals = run.table("links"), run.table("link_totals")
    t = links.column("t_ns").to_numpy()
    before = t[t <= round(t_s * 1e9)]
    if len(before) == 0:
        raise RecordError(f"the record has no sample of its links up to {t_s:g} s")
    at = int(before.max())
    rows = np.flatnonzero(t == at)
    ends = dict(zip(totals["link"].to_pylist(), zip(totals["from"].to_pylist(), totals["to"].to_pylist(), strict=True),
                    strict=True))  # fmt: skip
    number, sent = (links.column(c).to_numpy() for c in ("link", "tx_bytes"))
    # A link without a row at a sampling time has carried nothing since the last one, so that
    # differences are over this interval.
    earlier = np.zeros(int(number.max()) + 1)
    np.maximum.at(earlier, number[t < at], sent[t < at])
    sample_ns = run.manifest.sample_ns or at
    step_ns = max(1, at % sample_ns or sample_ns)
    rate = links.column("rate_bps").to_numpy()[rows].astype(float)
    bits = 8 * (sent[rows] - earlier[number[rows]])
    share = np.divide(bits, rate * step_ns / 1e9, out=np.zeros(len(rows)), where=rate > 0)
    port = links.column("port").to_numpy()[rows]
    of_port = np.zeros(int(port.max()) + 1)
    np.add.at(of_port, port, share)
    # A packet counts completely when it has left, so that one that started before the interval may
    # exceed the rate.
    share, of_port = np.minimum(share, 1), np.minimum(of_port, 1)
    queue = links.column("queue_packets").to_numpy()[rows]
    found = []
    for n, p, u, q in zip(number[rows].tolist(), port.tolist(), share, queue, strict=True):
        if n in ends and u > 0:
            origin, target = ends[n]
            found.append(Busy(origin, target, p, float(u), float(of_port[p]), int(q)))
    return sorted(found, key=lambda b: (-b.port_utilisation, b.port, -b.utilisation, b.origin, b.target))


def ports(links: Sequence[Busy]) -> list[BusyPort]:
    """The ports of these links, the busiest first."""
    of: dict[int, list[Busy]] = {}
    for b in links:
        of.setdefault(b.port, []).append(b)
    found = [BusyPort(tuple(sorted(group, key=lambda b: -b.utilisation))) for group in of.values()]
    return sorted(found, key=lambda p: (-p.utilisation, p.links[0].origin, p.links[0].target))
