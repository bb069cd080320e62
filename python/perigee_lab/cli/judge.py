# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee judge`: catalogues of test cases for a congestion control."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.cli.backend import BackendOption, KernelOption, chosen, name_of, not_in_real_time
from perigee_lab.cli.expectations import Outlets, exit_code, tally
from perigee_lab.cli.options import ForceOption, JobsOption, JsonOption, SetOption, TrustOption, machines_of, schemes_of
from perigee_lab.common import quoting
from perigee_lab.common.credentials import recorded
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED, INTERRUPTED, UNDECIDED, UNMET
from perigee_lab.common.files import claimed, fresh_folder, refuse_file, write_text, writing
from perigee_lab.common.terminal import empty_table, table_console

if TYPE_CHECKING:
    from perigee_lab.judge.catalogue import Judgement, Outcome

RUNS = Path("runs")


def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="Schemes: names, or mine.py:Scheme; several: A,B,C.")],
    catalogue: Annotated[
        list[str] | None,
        typer.Option(
            "--catalogue", metavar="bbr|rfc9743|satellite|starts|FOLDER", help="Cases to run; default: all four."
        ),
    ] = None,
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
    """Check a congestion control against test cases.

    A page with verdicts, and a line for CI. Exit code 0: cases passed, and others are not observable;
    4: one has failed; 5: one is undecided, or none is observable. Completed runs in --out are reused.
    """
    from perigee_lab.common import names
    from perigee_lab.common.interrupt import announce
    from perigee_lab.judge import catalogue as catalogues
    from perigee_lab.judge.formats import write
    from perigee_lab.judge.page import write_page
    from perigee_lab.runs.archive import in_place_of_a_scenario, is_archive
    from perigee_lab.runs.runner import Interrupted

    for word in [*what.split(","), *(catalogue or [])]:
        if is_archive(Path(word)):
            stop(in_place_of_a_scenario(Path(word)))
    on = chosen(name_of(backend, None, None), kernel)
    not_in_real_time(on, "and the cases of a catalogue side by side")
    Outlets(junit, tap).check()
    if out is not None:
        refuse_file(out)
    schemes, given = schemes_of(what), list(sets or [])
    chosen_ones = list(dict.fromkeys(catalogue or catalogues.names()))
    loaded = {name: catalogues.load(name, given, quick=quick, trust=trust) for name in chosen_ones}
    with writing(out or RUNS):
        folder = out or fresh_folder(f"judge-{names.as_folder(what)}", RUNS)
    done: list[Judgement] = []
    try:
        with writing(folder), claimed(folder, fresh=out is None):
            for name, cases in loaded.items():
                keys: dict[str, Any] = {"machines": machines_of(jobs, None, None), "backend": on, "force": force}
                keys["command"] = recorded(sys.argv)
                make = partial(catalogues.run, name, cases, schemes, folder / names.as_folder(name), **keys)
                done += _with_bar(make, name, quiet=as_json)
            write_page(done, folder / "judge.html", given)
            write_text(folder / "judge.json", json.dumps(_as_data(done, given), indent=1) + "\n")
    except Interrupted:
        announce(f"complete runs are in {folder}; the same call with --out {folder} resumes")
        return INTERRUPTED
    for file in (junit, tap):
        if file is not None:
            with writing(file):
                write(catalogues.groups(done), *((file, None) if file is junit else (None, file)))
    if as_json:
        print(json.dumps({"out": str(folder), **_as_data(done, given)}, indent=1))
    else:
        _print(done, folder)
    if any(o.problem for j in done for o in j.outcomes):
        return FAILED
    return _code(done)


def _code(done: Sequence[Judgement]) -> int:
    from perigee_lab.judge.verdicts import Verdict

    outcomes = [o for j in done for o in j.outcomes]
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
        console.print(table)
    for j in done:
        print(j.line())
    print(f"page: {folder / 'judge.html'}")


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

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        return make(progress=None)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        return make(progress=lambda share: bar.update(task, completed=share))
