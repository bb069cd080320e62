# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee judge`: catalogues of test cases for a congestion control."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli.backend import BackendOption, KernelOption, check_hosts, chosen, name_of, not_in_real_time
from perigee_lab.cli.expectations import Outlets, exit_code, tally
from perigee_lab.cli.options import ForceOption, JobsOption, JsonOption, SetOption, TrustOption, machines_of, schemes_of
from perigee_lab.common import quoting
from perigee_lab.common.credentials import recorded
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED, INTERRUPTED, UNDECIDED, UNMET
from perigee_lab.common.files import claimed, fresh_folder, inner, refuse_file, write_text, writing
from perigee_lab.common.messages import complain, say
from perigee_lab.common.terminal import empty_table, print_table, table_console

if TYPE_CHECKING:
    from perigee_lab.judge.catalogue import Judgement, Outcome
    from perigee_lab.judge.programs import Pair
    from perigee_lab.judge.releases import Release
    from perigee_lab.runs.backends import Backend
    from perigee_lab.runs.machines import Machines

RUNS = Path("runs")
OF_SCHEMES = "starts"
"""Catalogue about parameters of Perigee's transport, which programs do not have."""


def command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT", help="Schemes: names, or mine.py:Scheme; several: A,B,C. Or a crate: quinn@0.11.9."
        ),
    ] = None,
    catalogue: Annotated[
        list[str] | None,
        typer.Option(
            "--catalogue", metavar="bbr|rfc9743|satellite|starts|FOLDER", help="Cases to run; default: all four."
        ),
    ] = None,
    program: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--program",
            metavar="SERVER CLIENT",
            help="Instead of WHAT: commands of programs at both ends, with {host}, {port}, {seconds}, {bytes}, {qlog}.",
        ),
    ] = None,
    sends: Annotated[
        str, typer.Option("--sends", metavar="client|server", help="With --program: which of them sends the data.")
    ] = "client",
    quick: Annotated[bool, typer.Option("--quick", help="Only the short cases (a minute in all).")] = False,
    sets: SetOption = None,
    jobs: JobsOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder; default: a fresh runs/judge-WHAT.")] = None,
    force: ForceOption = False,
    backend: BackendOption = None,
    kernel: KernelOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = None,
    tap: Annotated[Path | None, typer.Option("--tap", metavar="FILE", help="Write TAP.")] = None,
) -> int:
    """Check a congestion control, or programs, against test cases.

    A page with verdicts, and a line for CI. Exit code 0: cases passed, and others are not observable;
    4: one has failed, also by an error of what is judged; 5: one is undecided, or none is observable;
    1: Perigee could not run one. Completed runs in --out are reused.
    """
    from perigee_lab.common import names
    from perigee_lab.common.interrupt import announce, on_termination
    from perigee_lab.judge import catalogue as catalogues
    from perigee_lab.judge.page import write_page
    from perigee_lab.runs.runner import Interrupted

    _refuse_archives([*(what.split(",") if what else []), *(catalogue or [])])
    outlets = Outlets(junit, tap)
    outlets.check()
    if out is not None:
        refuse_file(out)
    of_programs = program is not None or "@" in (what or "")
    if of_programs and OF_SCHEMES in (catalogue or []):
        others = ", ".join(n for n in catalogues.names() if n != OF_SCHEMES)
        stop(
            f"--catalogue {OF_SCHEMES} tests parameters of Perigee's transport, which programs do not have: "
            f"give {others} or a folder"
        )
    given = list(sets or [])
    run, label = _runner(what, program, sends, backend, kernel, machines_of(jobs, None, None), trust=trust)
    known = [n for n in catalogues.names() if n != OF_SCHEMES or not of_programs]
    loaded = {n: catalogues.load(n, given, quick=quick, trust=trust) for n in dict.fromkeys(catalogue or known)}
    with writing(out or RUNS):
        folder = out or fresh_folder(f"judge-{names.as_folder(label)}", RUNS)
    done: list[Judgement] = []
    try:
        with writing(folder), claimed(folder, fresh=out is None), on_termination():
            for name, cases in loaded.items():
                keys: dict[str, Any] = {"force": force, "command": recorded(sys.argv)}
                make = partial(run, name, cases, inner(folder / names.as_folder(name)), **keys)
                done += _with_bar(make, name, quiet=as_json)
            write_page(done, folder / "judge.html", given)
            write_text(folder / "judge.json", json.dumps(_as_data(done, given), indent=1) + "\n")
    except (Interrupted, KeyboardInterrupt):
        announce(f"complete runs are in {folder}; the same call with --out {folder} resumes")
        return INTERRUPTED
    outlets.write(catalogues.groups(done), catalogues.problems(done))
    if as_json:
        print(json.dumps({"out": str(folder), **_as_data(done, given)}, indent=1))
    else:
        _print(done, folder)
    return _code(done)


def _refuse_archives(words: Sequence[str]) -> None:
    from perigee_lab.runs.archive import in_place_of_a_scenario, is_archive

    for word in words:
        if is_archive(Path(word)):
            stop(in_place_of_a_scenario(Path(word)))


def _runner(
    what: str | None,
    program: tuple[str, str] | None,
    sends: str,
    backend: str | None,
    kernel: str | None,
    machines: Machines,
    *,
    trust: bool,
) -> tuple[Callable[..., list[Judgement]], str]:
    """The function that runs a catalogue, and the name of what it judges."""
    from perigee_lab.judge import catalogue as catalogues
    from perigee_lab.judge import programs, releases

    if (what is None) == (program is None):
        stop("give what to judge: a scheme (perigee judge bbr3), or --program SERVER CLIENT, and not both")
    if program is not None:
        pair = programs.Pair(*program, sends)
        pair.check()
        on = _with_hosts(backend, kernel)
        return lambda name, cases, out, **keys: [programs.run(name, cases, pair, out, backend=on, **keys)], pair.label
    assert what is not None
    if sends != "client":
        stop("--sends belongs to --program SERVER CLIENT: leave it out, or add --program")
    if (release := releases.parsed(what)) is not None:
        built = release_pair(release, trust=trust)
        at = _with_hosts(backend, kernel)
        return lambda name, cases, out, **keys: [programs.run(name, cases, built, out, backend=at, **keys)], what
    on = chosen(name_of(backend, None, None), kernel)
    not_in_real_time(on, "and the cases of a catalogue side by side")
    schemes = schemes_of(what)
    run = catalogues.run
    return lambda name, cases, out, **keys: run(name, cases, schemes, out, machines=machines, backend=on, **keys), what


def release_pair(release: Release, *, trust: bool) -> Pair:
    """The programs of a released crate; ends the command if building them is not permitted."""
    from perigee_lab.judge import releases

    if (crates := releases.plan(release)) and not trust:
        stop(
            f"cargo would build {len(crates)} crates of crates.io for {release.label}, and run their build scripts: "
            f"{', '.join(crates)}\nadd --trust to consent"
        )
    if crates:
        complain(f"cargo builds {len(crates)} crates for {release.label}: {', '.join(crates)}")
    return releases.pair(release, releases.build(release))


def _with_hosts(name: str | None, kernel: str | None) -> Backend:
    """The backend of programs: virtual time where a kernel is built, else real time."""
    from perigee_lab.hosts import kernels
    from perigee_lab.hosts.kernels import KernelError

    if name is not None or kernel is not None:
        named = name_of(name, None, None, default="linux")
        check_hosts(named, kernel, None, None)
        return _in_part(chosen(named, kernel))
    try:
        return chosen("linux", None)
    except KernelError:
        there = "every kernel is out of date" if kernels.sound() else "no kernel is built"
        complain(f"{there} ({kernels.BUILD}): programs run in real time, one case after the other")
        return _in_part(chosen("emulation", None))


def _in_part(backend: Backend) -> Backend:
    """Emulation of the flows of programs only; others stay simulated, as in virtual time."""
    from perigee_lab.runs.backends import Emulation

    return replace(backend, all_flows=False) if isinstance(backend, Emulation) else backend


def _code(done: Sequence[Judgement]) -> int:
    from perigee_lab.judge.verdicts import Verdict

    outcomes = [o for j in done for o in j.outcomes]
    if any(o.unable for o in outcomes):
        return FAILED
    if any(o.problem for o in outcomes):
        return UNMET
    if all(f.verdict is Verdict.NOT_OBSERVABLE for o in outcomes for f in o.findings):
        return UNDECIDED
    codes = {exit_code(o.findings, strict=False) for o in outcomes}
    return UNMET if UNMET in codes else max(codes, default=0)


def _as_data(done: Sequence[Judgement], sets: Sequence[str]) -> dict[str, Any]:
    return {"sets": list(sets), "catalogues": [j.as_data() for j in done]}


def _print(done: Sequence[Judgement], folder: Path) -> None:
    console = table_console()
    for j in done:
        table = empty_table(plain=not console.is_terminal)
        for heading in ("case", "verdict", "expectations", "first that is not met"):
            table.add_column(heading, no_wrap=heading in ("case", "verdict"))
        for o in j.outcomes:
            table.add_row(*map(quoting.cell, (o.case.name, o.shown(), tally(o.findings), _first(o))))
        for name, why in j.unavailable.items():
            table.add_row(*map(quoting.cell, (name, "not available here", "", why)))
        print_table(console, table)
    for j in done:
        say(j.line())
    say(f"page: {folder / 'judge.html'}")


def _first(o: Outcome) -> str:
    """The first finding that decides against a case."""
    from perigee_lab.judge.verdicts import Verdict

    if o.problem:
        return o.problem
    bad = [f for v in (Verdict.FAILED, Verdict.UNDECIDED) for f in o.findings if f.verdict is v]
    if not bad:
        return ""
    f = bad[0]
    return f"{f.expectation.title}: {f.shown()}, expected {f.expectation.bound()}"


def _with_bar(make: Callable[..., list[Judgement]], name: str, *, quiet: bool) -> list[Judgement]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, emoji=False)
    if quiet or not console.is_terminal:
        return make(progress=None)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        return make(progress=lambda share: bar.update(task, completed=share))
