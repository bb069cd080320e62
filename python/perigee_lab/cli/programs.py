# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee exec`: programs of this machine over a satellite network."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from perigee_lab import _core
from perigee_lab.cli.arguments import AT
from perigee_lab.common.credentials import recorded
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import INTERRUPTED, OURS
from perigee_lab.common.files import cannot_write, forget_empty, fresh_folder, writing
from perigee_lab.common.interrupt import announce, on_termination
from perigee_lab.common.messages import complain
from perigee_lab.results.conclusion import conclude
from perigee_lab.results.delays import Distribution, distributions
from perigee_lab.results.flow_file import where
from perigee_lab.results.program_goodput import Goodput, goodputs
from perigee_lab.results.record import run_folder
from perigee_lab.results.summary import SUMMARY
from perigee_lab.runs.programs import SCHEME, STAGGER_NS, run
from perigee_lab.runs.stories import Program, of_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perigee_lab.runs.backends import Backend
    from perigee_lab.runs.scenario import Scenario
    from perigee_lab.runs.stories import Story

RUNS = Path("runs")
REPORT = "report.html"
# Quantiles of packets, and their keys in the manifest.
LATENESS = {"50 %": "p50_us", "90 %": "p90_us", "99 %": "p99_us", "99.9 %": "p999_us", "at most": "max_us"}
# First word of warnings about programs. Their endings are listed anyway.
PROGRAM = "program "


def groups_of(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Parses nodes and commands from `--at NODE [--] WORD... [--at NODE ...]`."""
    groups: list[list[str]] = []
    for word in words:
        if word == AT:
            groups.append([])
        else:
            groups[-1].append(word)
    found = []
    for group in groups:
        node, *command = group or [""]
        found.append((node, command[1:] if command[:1] == ["--"] else command))
    return found


def words_of(command: list[str]) -> tuple[str, ...]:
    """A program and its arguments; a single argument with spaces is a shell command line."""
    shell = len(command) == 1 and any(c.isspace() for c in command[0])
    return ("/bin/sh", "-c", command[0]) if shell else tuple(command)


def parsed(words: Sequence[str], environment: Sequence[str], stdin: Path | bytes | None = None) -> list[Program]:
    """Programs of `perigee exec`; the run waits for the last, which gets standard input."""
    groups = groups_of(words)
    programs = []
    for i, (node, command) in enumerate(groups):
        if not node or not command:
            stop(f"{AT} needs a node and a command, such as {AT} london -- iperf3 -c new-york")
        last, start_ns = i == len(groups) - 1, i * STAGGER_NS
        given = stdin if last else None
        programs.append(Program(node, words_of(command), last, tuple(environment), start_ns, stdin=given))
    return programs


def nodes_of(scenario: Scenario) -> list[str]:
    """Nodes that can run programs, which are the ends of flows."""
    flows = json.loads(scenario.core.world(scenario.core.seed).describe())["flows"]
    return list(dict.fromkeys(end for f in flows for end in (f["from"], f["to"])))


def check_nodes(scenario: Scenario, programs: Sequence[Program]) -> None:
    """Ends the command if a program is on a node without flows."""
    nodes = nodes_of(scenario)
    unknown = [p.node for p in programs if p.node.lower() not in {n.lower() for n in nodes}]
    if unknown:
        stop(f"no flow of the scenario starts or ends at {unknown[0]!r}: programs can be at {', '.join(nodes)}")


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    out: Path | None
    writable: Sequence[Path]
    force: bool
    as_json: bool
    pcap: bool
    name: str = "exec"
    """Name of the command."""
    report: bool = True
    """Whether to write report.html."""


def exec_command(scenario: Scenario, programs: list[Program], backend: Backend, options: Options) -> int:
    """Runs programs, prints their output, and returns the exit code of the last."""
    out, as_json = options.out, options.as_json
    check_nodes(scenario, programs)
    if out is not None and (out / SUMMARY).exists() and not options.force:
        stop(f"{out} has the results of another run; pass --force to replace its summary")
    base = out if out is not None else fresh_folder(f"{scenario.name}-{options.name}", RUNS)
    folder = run_folder(base, SCHEME, scenario.core.seed)
    all_programs = [*of_scenario(scenario.core), *programs]
    last = len(all_programs) - 1
    at_line_start = dict.fromkeys(range(len(all_programs)), True)

    def on_output(program: int, kind: str, data: bytes) -> None:
        if as_json:
            return
        if program == last:
            _put(sys.stdout if kind == "output" else sys.stderr, data)
            return
        for line in data.decode("utf-8", "replace").splitlines(keepends=True):
            mark = f"[{all_programs[program].node}] " if at_line_start[program] else ""
            at_line_start[program] = line.endswith("\n")
            _put(sys.stderr, f"{mark}{line}".encode())

    try:
        with writing(folder), _nothing_left(folder.parent, base), on_termination():
            done, stories = run(
                scenario,
                programs,
                backend,
                folder,
                on_output=on_output,
                writable=options.writable,
                force=options.force,
                command=recorded(sys.argv),
                pcap=options.pcap,
            )
            conclude(base, done, report=options.report)
    except _core.RunError as error:
        # 1 to 124 are exit codes of programs.
        stop(str(error), OURS)
    except KeyboardInterrupt:
        announce()
        return INTERRUPTED
    for warning in done.manifest.warnings:
        if not warning.startswith(PROGRAM):
            complain(warning)
    if not as_json:
        for line in where(base):
            complain(line)
    report = base / REPORT if options.report else None
    shown = Shown(folder, report, done.manifest.get("real_time"), distributions(done), goodputs(done))
    _print(stories, shown, as_json=as_json)
    return stories[-1].exit_code


@contextmanager
def _nothing_left(*folders: Path) -> Iterator[None]:
    """Removes empty folders if the block fails."""
    try:
        yield
    except BaseException:
        for folder in folders:
            forget_empty(folder)
        raise


def _put(stream: TextIO, data: bytes) -> None:
    """Writes output at once. Ends the command if it cannot, unless the reader has closed its pipe."""
    try:
        stream.buffer.write(data)
        stream.buffer.flush()
    except OSError as error:
        # The buffer would fail again at the exit of the interpreter.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            name = "standard output" if stream is sys.stdout else "standard error"
            stop(cannot_write(Path(name), error), OURS)


@dataclass(frozen=True)
class Shown:
    """Results of a run other than those of its programs."""

    folder: Path
    report: Path | None
    lateness: Any
    delays: list[Distribution]
    goodputs: list[Goodput]


def _print(stories: list[Story], shown: Shown, *, as_json: bool) -> None:
    folder, report, lateness = shown.folder, shown.report, shown.lateness
    if as_json:
        printed: list[dict[str, Any]] = [
            {**s.as_json(), **{kind: data.decode("utf-8", "replace") for kind, data in s.written.items()}}
            for s in stories
        ]
        clock = {} if lateness is None else {"real_time": lateness}
        written = {} if report is None else {"report": str(report)}
        delays = [d.as_json() for d in shown.delays]
        flows = [g.as_json() for g in shown.goodputs]
        facts = {"record": str(folder), **written, "programs": printed, "flows": flows, "delays": delays, **clock}
        print(json.dumps(facts, indent=1))
        return
    for story in stories:
        for line in (story.ending, *story.excess):
            complain(f"{story.program.node}: {story.program.line}: {line}")
    for goodput in shown.goodputs:
        complain(goodput.line)
    for distribution in shown.delays:
        complain(distribution.line)
    if lateness is not None:
        late = lateness["delivered"]
        shares = ", ".join(f"{name} {late[key] / 1e3:.3f} ms" for name, key in LATENESS.items())
        complain(f"{late['packets']} packets, late by {shares}")
    complain(f"record {folder}" + ("" if report is None else f", report {report}"))
