# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Campaign runner: cycle by cycle, group by group, resuming after completed measurements."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from perigee_lab.measure.campaign import Campaign, Step, place
from perigee_lab.measure.journal import Journal
from perigee_lab.measure.net import client, pings
from perigee_lab.measure.net.client import Peer, Transfer
from perigee_lab.measure.net.pings import Pinger, Probes
from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.measure.stored import Part

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PIECE_NS = 3600 * 10**9
"""Longer series of pings are split into pieces of this length, each in its own file."""
FIRST_AGAIN_S, LAST_AGAIN_S = 5.0, 60.0
LEAST_FREE_BYTES = 20 << 20
LIMIT_NS = 1800 * 10**9
MOST = (1 << 63) - 1
ENDLESS_NS = 366 * 86_400 * 10**9

Tell = Callable[[str], None]


@dataclass
class Runner:
    """A campaign in progress."""

    campaign: Campaign
    journal: Journal
    key: bytes
    server: str | None
    tell: Tell
    stop: threading.Event
    given_up: int = 0
    """Groups of steps that were abandoned."""

    def run(self) -> None:
        """Runs the rest of the campaign; returns early when `stop` is set.

        Raises MeasureError if the campaign cannot continue; OSError if measurements cannot be
        written.
        """
        groups = self.campaign.groups()
        for cycle in range(1, self.campaign.cycles + 1):
            wanted = [g for g, group in enumerate(groups) if cycle == 1 or not all(s.first for s in group)]
            if all(self.journal.done(cycle, g) for g in wanted):
                continue
            self._wait_for(cycle)
            for g in wanted:
                if self.stop.is_set():
                    return
                if not self.journal.done(cycle, g):
                    self._group(cycle, g, [s for s in groups[g] if cycle == 1 or not s.first])

    def _wait_for(self, cycle: int) -> None:
        """Waits until the cycle may start."""
        # The timetable starts after the steps that run in the first cycle only.
        once = [g for g, group in enumerate(self.campaign.groups()) if all(s.first for s in group)]
        began = self.journal.began_ns(once)
        if self.campaign.every is not None and began is not None:
            self._sleep_until(began / 1e9 + (cycle - 1) * self.campaign.every / 1e9)
        now = datetime.now()
        opens = self.campaign.opens(now)
        if opens > now:
            self.tell(f"cycle {cycle} waits until {opens:%a %H:%M}")
            self._sleep_until(opens.timestamp())

    def _sleep_until(self, wall_s: float) -> None:
        # Waits in short steps, since the wall clock may be set and the machine may sleep.
        while not self.stop.is_set() and (left := wall_s - time.time()) > 0:
            self.stop.wait(min(left, 5.0))

    def _group(self, cycle: int, group: int, steps: list[Step]) -> None:
        self._need_room()
        began = time.time_ns()
        since = time.monotonic()
        wait = FIRST_AGAIN_S
        while not self.stop.is_set():
            try:
                self._once(cycle, group, steps)
            except OSError as error:
                if error.filename is not None or isinstance(error, _DiskError):
                    raise
                if time.monotonic() - since > self.campaign.patience / 1e9:
                    why = f"given up: {error}"
                    self.tell(f"cycle {cycle}, {steps[0].title}: {why}")
                    self.journal.note(_line(cycle, group, began) | {"whole": True, "failed": str(error)})
                    self.given_up += 1
                    return
                self.tell(f"cycle {cycle}, {steps[0].title}: {error}; tried again in {wait:g} s")
                self.stop.wait(wait)
                wait = min(LAST_AGAIN_S, 2 * wait)
                continue
            if not self.stop.is_set():
                self.journal.note(_line(cycle, group, began) | {"whole": True})
            return

    def _need_room(self) -> None:
        import shutil

        free = shutil.disk_usage(self.journal.folder).free
        if free < LEAST_FREE_BYTES:
            raise MeasureError(
                f"{self.journal.folder}: {free >> 20} MB are free, {LEAST_FREE_BYTES >> 20} are needed; nothing "
                f"is lost: "
                "make room and give the same command again"
            )

    def _once(self, cycle: int, group: int, steps: list[Step]) -> None:
        """Runs the steps of a group concurrently.

        Raises the error of the first step that failed.
        """
        if len(steps) == 1 and steps[0].do == "pause":
            self.stop.wait((steps[0].duration or 0) / 1e9)
            return
        problems: list[BaseException] = []
        over = threading.Event()
        """Ends pings that accompany another step."""
        first: list[threading.Thread] = []
        beside: list[threading.Thread] = []
        for k, step in enumerate(steps):
            for stream in range(step.streams):
                work = (cycle, group, k * 100 + stream, step, over)
                thread = threading.Thread(target=self._caught, args=(problems, *work), daemon=True)
                (beside if step.do == "pings" and step.duration is None else first).append(thread)
                thread.start()
        for thread in first:
            while thread.is_alive():
                thread.join(0.5)
                if self.stop.is_set():
                    over.set()
        over.set()
        for thread in beside:
            thread.join()
        if problems:
            raise problems[0]

    def _caught(self, problems: list[BaseException], *work: Any) -> None:
        try:
            self._step(*work)
        except Exception as error:
            problems.append(error)

    def _step(self, cycle: int, group: int, number: int, step: Step, over: threading.Event) -> None:
        peer = self._peer(step)
        if step.do == "pause":
            self.stop.wait((step.duration or 0) / 1e9)
        elif step.do in ("pings", "trains"):
            self._pings(cycle, group, number, step, peer, over)
        else:
            self._transfer(cycle, group, number, step, peer)

    def _peer(self, step: Step) -> Peer:
        name = step.server or self.server or self.campaign.server
        if name is None:
            raise MeasureError('no server: name one on the command line or in the campaign, server = "HOST:PORT"')
        host, port = place(name)
        return Peer(host, port, self.key)

    def _pings(self, cycle: int, group: int, number: int, step: Step, peer: Peer, over: threading.Event) -> None:
        ends = over if step.duration is None else self.stop
        had = self.journal.kept(cycle, group, number)
        left = (step.duration or ENDLESS_NS) - sum(_measured_ns(p, step) for p in had)
        # A damaged piece keeps its file, which is named; its time is measured again.
        piece = self.journal.next_piece(cycle, group, number)
        pace = pings.Pace(step.interval, step.burst, step.size, train=step.do == "trains")
        while left > 0 and not ends.is_set():
            length = min(left, PIECE_NS)
            began = time.time_ns()

            def part(probes: Probes, began: int = began, piece: int = piece) -> Part:
                about = _about(step, peer, began) | _of_probes(probes, pace)
                return Part(cycle, group, piece, number, about, _probe_columns(probes))

            def kept(probes: Probes, part: Callable[[Probes], Part] = part) -> None:
                self._keep(part(probes))

            probes = Pinger(peer, pace, ends, lambda line: self.tell(f"cycle {cycle}, {step.title}: {line}")).run(
                length, kept
            )
            self._keep(part(probes))
            left -= length
            piece += 1

    def _transfer(self, cycle: int, group: int, number: int, step: Step, peer: Peer) -> None:
        work = client.download if step.do == "download" else client.upload
        began = time.time_ns()
        found = work(
            peer, cc=step.cc, most_bytes=step.bytes, most_ns=step.duration, sample_ns=step.sample,
            limit_ns=LIMIT_NS if step.duration is None else step.duration + 60 * 10**9, buffer=step.buffer,
        )  # fmt: skip
        self._keep(Part(cycle, group, 0, number, _about(step, peer, began) | _of_transfer(found), _columns(found)))
        rate = found.receiver.total[-1] * 8e3 / max(1, found.receiver.done_ns)
        self.tell(
            f"cycle {cycle}, {step.title}: {found.cc}, {found.receiver.total[-1] / 1e6:.3f} MB, {rate:.2f} Mbit/s"
        )

    def _keep(self, part: Part) -> None:
        try:
            self.journal.keep(part)
        except OSError as error:
            raise _DiskError(error.errno, error.strerror, error.filename) from None


class _DiskError(OSError):
    """A measurement cannot be written."""


def _measured_ns(part: Part, step: Step) -> int:
    """Time covered by a piece of pings, as a multiple of the interval."""
    sent = part.columns["sent"]
    return int(sent[-1]) - int(part.about["mono_ns"]) + step.interval if len(sent) else 0


def _line(cycle: int, group: int, began_ns: int) -> dict[str, Any]:
    return {"cycle": cycle, "group": group, "began_ns": began_ns}


def _about(step: Step, peer: Peer, began_ns: int) -> dict[str, Any]:
    return {
        "do": step.do, "name": step.title, "server": str(peer), "began_ns": began_ns, "bytes": step.bytes,
        "duration_ns": step.duration, "sample_ns": step.sample, "asked_cc": step.cc,
    }  # fmt: skip


def _of_probes(probes: Probes, pace: pings.Pace) -> dict[str, Any]:
    return {
        "interval_ns": pace.interval_ns, "burst": pace.burst, "size": pace.size, "mono_ns": probes.began_ns,
        "duplicates": probes.duplicates, "there_twice": probes.there_twice, "reordered": probes.reordered,
        "there_reordered": probes.there_reordered, "remarks": probes.remarks, "header_bytes": probes.header_bytes,
    }  # fmt: skip


def _probe_columns(probes: Probes) -> dict[str, npt.NDArray[np.int64]]:
    import numpy as np

    names = ("sent", "back", "arrived", "left", "epoch", "came", "wall")
    return {n: np.array(getattr(probes, n), dtype=np.int64) for n in names}


def _of_transfer(found: Transfer) -> dict[str, Any]:
    sender = found.sender
    return {
        "cc": found.cc, "from": found.origin, "to": found.target, "connect_ns": found.connect_ns,
        "first_ns": found.receiver.first_ns, "done_ns": found.receiver.done_ns, "why": found.receiver.why,
        "sender_zero_ns": found.sender_zero_ns, "sender_done_ns": None if sender is None else sender.done_ns,
        "buffer": found.buffer, "remarks": found.remarks,
    }  # fmt: skip


def _columns(found: Transfer) -> dict[str, npt.NDArray[np.int64]]:
    import numpy as np

    columns = {"r_t": np.array(found.receiver.t_ns, np.int64), "r_total": np.array(found.receiver.total, np.int64)}
    if found.sender is not None:
        columns["s_t"] = np.array(found.sender.t_ns, np.int64)
        columns["s_total"] = np.array(found.sender.total, np.int64)
        if found.sender.info and len(found.sender.info) == len(found.sender.t_ns):
            # In TCP_INFO, all bits set means no limit.
            columns["s_info"] = np.array([[min(v, MOST) for v in row] for row in found.sender.info], np.int64)
    return columns
