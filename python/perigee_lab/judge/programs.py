# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Cases of catalogues with a user's own program at both ends of the flows under test.

A flow under test (`cc = "*"`) becomes a server and a client on the nodes of its ends. All that is
known of it is what its packets, its programs' output and their qlogs show (`observed`).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab import _core
from perigee_lab.common import quoting
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import RecordError, fresh, inner, removed
from perigee_lab.judge import observed
from perigee_lab.judge.catalogue import Case, CatalogueError, Judgement, Outcome
from perigee_lab.judge.observed import Sent
from perigee_lab.judge.verdicts import evaluate
from perigee_lab.results.record import run_folder
from perigee_lab.runs import programs as hosts
from perigee_lab.runs.programs import SCHEME
from perigee_lab.runs.scenario import Scenario, loads
from perigee_lab.runs.stories import Program, Story

if TYPE_CHECKING:
    from perigee_lab.results.run import Run
    from perigee_lab.runs.backends import Backend

NS_PER_S = 1_000_000_000
FIRST_PORT = 5201
"""Port of the first flow's server; each flow has a port of its own, by which its packets are found."""
MOST_FLOWS = 64
"""Largest number of flows of programs in a case."""
GRACE_S = 2
"""Time after the end of a case, in which programs close their connections and write their logs."""
HEAD_START_NS = {False: 100_000_000, True: 1_000_000_000}
"""Time from the start of the servers to that of the first clients; True: in real time."""
PLACEHOLDERS = ("host", "port", "seconds", "bytes", "qlog")
IN_BRACES = re.compile(r"(?<![${])\{([a-z]+)\}(?!\})")
"""What looks like a placeholder; variables and lists of the shell (`${x}`, `{1..3}`) do not."""
FILLED_IN = re.compile("|".join(rf"\{{{p}\}}" for p in PLACEHOLDERS))
HOST = re.compile(r"(?!-)[A-Za-z0-9-]{1,60}(?<!-)")
"""Names of nodes that commands can have: those of hosts (RFC 1123, section 2.1), without a meaning to a shell."""
CLIENT, SERVER = "client", "server"


class ProgramError(PerigeeError):
    """A command of programs that cannot be used; the message has the remedy."""


@dataclass(frozen=True)
class Pair:
    """Commands of a server and a client, with placeholders in braces."""

    server: str
    client: str
    sends: str = CLIENT
    """The one that sends the data: client or server."""
    label: str = SCHEME
    """Name in tables and files."""

    def check(self) -> None:
        """Raises ProgramError if a command lacks a placeholder that it needs, or has an unknown one."""
        for role, command in ((SERVER, self.server), (CLIENT, self.client)):
            if not command.strip():
                raise ProgramError(f"--program: the command of the {role} is empty: give SERVER and CLIENT")
        if self.sends not in (CLIENT, SERVER):
            raise ProgramError(f"--sends {self.sends!r} is neither {CLIENT} nor {SERVER}")
        for role, command, needed in ((SERVER, self.server, ["port"]), (CLIENT, self.client, ["host", "port"])):
            unknown = [name for name in IN_BRACES.findall(command) if name not in PLACEHOLDERS]
            if unknown:
                raise ProgramError(
                    f"--program: {{{unknown[0]}}} in the command of the {role} is no placeholder: Perigee fills in "
                    f"{', '.join(f'{{{p}}}' for p in PLACEHOLDERS)}; write {{ {unknown[0]}; }} for braces of the shell"
                )
            missing = [f"{{{p}}}" for p in needed if f"{{{p}}}" not in command]
            if missing:
                raise ProgramError(
                    f"--program: the command of the {role} has no {' and no '.join(missing)}: "
                    f"Perigee fills in {', '.join(f'{{{p}}}' for p in PLACEHOLDERS)}"
                )

    def has(self, placeholder: str) -> bool:
        """Whether one of the commands has a placeholder."""
        return f"{{{placeholder}}}" in self.server + self.client


@dataclass(frozen=True)
class Task:
    """A flow of a case that programs carry."""

    number: int
    """Number of the flow in the record."""
    name: str
    origin: str
    target: str
    start_ns: int
    stop_ns: int
    bytes: int | None
    """Length of the transfer; None = without end."""

    @property
    def port(self) -> int:
        """Port of its server."""
        return FIRST_PORT + self.number


def tasks(case: Case, seed: int, backend: Backend) -> list[Task] | str:
    """The flows under test of a case, or the reason for which programs cannot carry them."""
    flows = json.loads(case.scenario.core.world(seed).describe())["flows"]
    head_ns = HEAD_START_NS[backend.in_real_time]
    found = []
    for number, flow in enumerate(flows):
        if flow["cc"] != "*":
            continue
        app, keys = next(iter(flow["app"].items())) if isinstance(flow["app"], dict) else (flow["app"], {})
        if app != "bulk":
            return f"its flow {flow['name']!r} is app = {app!r}: a program sends all the time, or a number of bytes"
        start_ns = max(flow["start_ns"], head_ns)
        ends = flow["from"], flow["to"]
        if odd := [node for node in ends if HOST.fullmatch(node) is None]:
            return (
                f"its node {odd[0]!r} has no name that a command can have: letters, digits and hyphens, at most 60; "
                f"rename it in the case"
            )
        found.append(Task(number, flow["name"], *ends, start_ns, flow["stop_ns"], keys.get("bytes")))
    if not found:
        return 'it has no flow under test (cc = "*")'
    if len(found) > MOST_FLOWS:
        return f"it has {len(found)} flows under test; at most {MOST_FLOWS} can be programs"
    return found


def why_not(case: Case, pair: Pair, backend: Backend) -> str | None:
    """The reason for which programs cannot run a case; None if they can."""
    if (why := backend.why_not(case.scenario.core.toml)) is not None:
        return why
    found = tasks(case, case.scenario.core.seed, backend)
    if isinstance(found, str):
        return found
    if any(t.bytes is not None for t in found) and not pair.has("bytes"):
        return "it transfers a number of bytes, which needs {bytes} in a command"
    return None


def filled(command: str, values: dict[str, str]) -> tuple[str, ...]:
    """The words of a command with its placeholders filled in; one with spaces is a line for the shell."""
    command = FILLED_IN.sub(lambda found: values[found[0][1:-1]], command)
    return ("/bin/sh", "-c", command) if any(c.isspace() for c in command) else (command,)


def programs_of(task: Task, pair: Pair, qlogs: Path) -> list[Program]:
    """Server and client of a flow; qlogs go into a folder for each."""
    at = {pair.sends: task.origin, CLIENT if pair.sends == SERVER else SERVER: task.target}
    values = {
        "host": quoting.shell(at[SERVER]),
        "port": str(task.port),
        # Many programs take whole seconds only, and would stop before the end.
        "seconds": str(math.ceil((task.stop_ns - task.start_ns) / NS_PER_S)),
        "bytes": str(task.bytes or 0),
    }
    made = []
    for role, command, start_ns in ((SERVER, pair.server, 0), (CLIENT, pair.client, task.start_ns)):
        own = qlogs / str(task.number) / role
        own.mkdir(parents=True)
        words = filled(command, {**values, "qlog": quoting.shell_words([str(own)])})
        made.append(Program(at[role], words, start_ns=start_ns))
    return made


def run(
    catalogue: str,
    cases: Sequence[Case],
    pair: Pair,
    out: Path,
    *,
    backend: Backend,
    force: bool = False,
    command: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> Judgement:
    """Runs what is missing of the cases into `out`, one after the other.

    Raises ProgramError and CatalogueError before anything runs; runs that fail are outcomes.
    """
    pair.check()
    judgement = Judgement(catalogue, pair.label)
    unavailable = {c.name: why for c in cases if (why := why_not(c, pair, backend)) is not None}
    judgement.unavailable.update(unavailable)
    chosen = [c for c in cases if c.name not in unavailable]
    if not chosen:
        raise CatalogueError(f"no case of {catalogue} can run here: {next(iter(unavailable.values()))}")
    total, done = sum(c.scenario.core.runs for c in chosen), 0
    for case in chosen:
        core = case.scenario.core
        runs: list[Run] = []
        problem, unable = "", False
        for seed in range(core.seed, core.seed + core.runs):
            try:
                folder = run_folder(inner(inner(out) / case.name), SCHEME, seed)
                found, problem = _one(case, seed, pair, folder, backend=backend, force=force, command=command)
            except (RecordError, _core.RunError) as error:
                found, problem, unable = None, f"seed {seed}: {error}", True
            done += 1
            if progress is not None:
                progress(done / total)
            if problem:
                break
            assert found is not None
            runs.append(found)
        findings = [] if problem else evaluate(case.expectations, runs)
        judgement.outcomes.append(Outcome(case, findings, problem, out / case.name / SCHEME, unable))
    return judgement


def _one(
    case: Case, seed: int, pair: Pair, folder: Path, *, backend: Backend, force: bool, command: Sequence[str]
) -> tuple[Run | None, str]:
    """The observed run of one seed, or the reason for which there is none. Raises RecordError, RunError."""
    key = _key(case, seed, pair, backend)
    if (kept := observed.kept(folder, key)) is not None and not force:
        return kept, ""
    found = tasks(case, seed, backend)
    assert not isinstance(found, str), "checked before"
    qlogs = folder.with_name(folder.name + ".qlog")
    inner(folder.parent)
    fresh(qlogs)
    try:
        started = [programs_of(t, pair, qlogs) for t in found]
        writable = [qlogs] if pair.has("qlog") and not backend.in_real_time else []
        record, stories = hosts.run(
            _longer(case.scenario),
            [p for both in started for p in both],
            backend,
            folder,
            on_output=_ignored,
            writable=writable,
            force=True,
            command=command,
            pcap=True,
        )
        problem = _problem(found, stories, record)
        if not problem:
            sent = [_sent(t, stories[2 * k], stories[2 * k + 1], pair, qlogs) for k, t in enumerate(found)]
            observed.keep(folder, key, sent, case.scenario.core.duration_ns)
            return observed.kept(folder, key), ""
        return None, problem
    finally:
        removed(qlogs)
        for capture in folder.glob("*.pcapng"):
            capture.unlink()


def _ignored(_program: int, _kind: str, _data: bytes) -> None:
    """Discards output, which the record has."""


def _key(case: Case, seed: int, pair: Pair, backend: Backend) -> str:
    """Hash of all that a run depends on, except for the programs' files."""
    parts = {
        "scenario": case.scenario.core.toml,
        "seed": seed,
        "backend": backend.key,
        **asdict(replace(pair, label="")),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _longer(scenario: Scenario) -> Scenario:
    """The scenario with time for programs to end."""
    core = scenario.core
    sets = {"run.duration": f"{core.duration_ns + GRACE_S * NS_PER_S} ns"}
    return loads(core.toml, sets, name=core.name, folder=scenario.folder)


def _problem(found: Sequence[Task], stories: Sequence[Story], record: Run) -> str:
    """The first program that failed or sent nothing; empty if there is none."""
    for k, task in enumerate(found):
        for role, story in zip((SERVER, CLIENT), stories[2 * k : 2 * k + 2], strict=True):
            if story.code not in (None, 0) or story.begun_ns is None:
                last = story.written["errors"].decode("utf-8", "replace").strip().splitlines()[-1:]
                said = f": {last[0]}" if last else ""
                return f"seed {record.seed}: the {role} of flow {task.name!r} ended: {story.ending}{said}"
        sent = record.table("flow_totals").slice(task.number, 1).to_pylist()[0]["sent_packets"]
        if not sent:
            return f"seed {record.seed}: the programs of flow {task.name!r} exchanged no packet"
    return ""


def _sent(task: Task, server: Story, client: Story, pair: Pair, qlogs: Path) -> Sent:
    receiver = server if pair.sends == CLIENT else client
    finished = client.ended_ns if task.bytes is not None and client.code == 0 else None
    return Sent(
        flow=task.number,
        port=task.port,
        from_server=pair.sends == SERVER,
        start_ns=task.start_ns,
        stop_ns=task.stop_ns,
        bytes=task.bytes,
        completed_ns=finished,
        received=observed.received(receiver),
        qlogs=sorted((qlogs / str(task.number) / pair.sends).glob("*")),
    )
