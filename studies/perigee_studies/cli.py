# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee study list|run|explain|report`: the figures and tables of five studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from perigee_lab.cli.backend import KernelOption
from perigee_lab.cli.options import (
    CcOption,
    ClusterOption,
    JobsOption,
    JsonOption,
    StoreOption,
    machines_of,
    schemes_of,
)
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say
from perigee_studies import RESULTS

if TYPE_CHECKING:
    from perigee_lab.runs.backends import Linux
    from perigee_studies.model import Ask

ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Also print why claims are not reproduced, from the runs beside the figure.")
]

FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="Folder of pages, as docs/studies: their tables are taken where nothing was run.",
        exists=True,
        file_okay=False,
    ),
]
DataOption = Annotated[
    Path | None, typer.Option(help="Folder with recorded paths (leoem/paths/*.log).", exists=True, file_okay=False)
]
SizeOption = Annotated[
    str | None,
    typer.Option(help="quick, default or full. Default: what the pages' tables have, with --from, else default."),
]
BackendOption = Annotated[
    str, typer.Option(help="linux: the study's schemes are Linux's, with their companions (leo-cc only).")
]
ResultsOption = Annotated[Path, typer.Option(help="Folder of results; digests of runs are shared in OUT/cache.")]

study = typer.Typer(help="Reproduce published studies.", no_args_is_help=True)


@study.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the experiments."""
    from perigee_studies.registry import experiments, published_as

    rows = [{"name": e.name, "title": e.title, "figure": published_as(e)} for e in experiments().values()]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for r in rows:
        say(f"{r['name']:<30} {r['title']:<58} {r['figure']}")


@study.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="STUDY/EXPERIMENT, a study, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Shortened or fewer runs: a smoke check.")] = False,
    full: Annotated[bool, typer.Option("--full", help="All published runs.")] = False,
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Of the names, only experiments that contain this; repeatable.")
    ] = None,
    cc: CcOption = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=VALUE,...",
            help="Only cases with these values, as run=1,2 or rtt_ms=100; repeatable, values of one label are joined.",
        ),
    ] = None,
    backend: BackendOption = "simulator",
    kernel: KernelOption = None,
    data: DataOption = None,
    out: ResultsOption = RESULTS,
    force: Annotated[bool, typer.Option("--force", help="Run again what has been run.")] = False,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
) -> int:
    """Run experiments and compare them with publications.

    Figures are drawn, and each published claim is checked.
    """
    from perigee_studies import linux
    from perigee_studies.commands import check_labels, run_command
    from perigee_studies.model import Ask, Size

    if quick and full:
        stop("--quick and --full exclude each other")
    size = Size.QUICK if quick else Size.FULL if full else Size.DEFAULT
    wanted = tuple(schemes_of(cc))
    if only and "" in only:
        stop("--only '' is empty and would keep everything: give a part of a name, or leave --only out")
    ask = Ask(size, _known(wanted), data, _labels(where or []))
    machines = machines_of(jobs, cluster, store)
    on_linux = _is_linux(backend)
    chosen = _chosen(names, only) if not on_linux else _on_linux(names, only)
    check_labels(chosen, ask, linux.figure_cases if on_linux else lambda e, a: e.cases(a))
    hosts = _hosts(backend, kernel, clustered=machines.cluster is not None)
    if hosts is not None:
        _check_hosts(chosen, ask, hosts)
    return run_command(chosen, ask, out, machines=machines, force=force, explain=explain, as_json=as_json, hosts=hosts)


@study.command()
def explain(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="STUDY/EXPERIMENT, a study, or all.")],
    variant: Annotated[list[str] | None, typer.Option(help="Only this one of the variants; repeatable.")] = None,
    size: SizeOption = None,
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    data: DataOption = None,
    tables: FromOption = None,
    out: ResultsOption = RESULTS,
) -> int:
    """Run variants, and print the explanations.

    The variants that explanations rest on, without the figures' own runs.
    """
    from perigee_studies.commands import explain_command
    from perigee_studies.model import Ask, Size

    machines = machines_of(jobs, cluster, store)
    code = 0
    for each, chosen in _by_size(_chosen(names, None), size, out, tables).items():
        ask = Ask(Size(each), (), data)
        code = explain_command(chosen, ask, out, machines=machines, tables=tables, variants=variant or ()) or code
    return code


@study.command()
def report(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Default: all that was run.")] = None,
    size: SizeOption = None,
    out: Annotated[Path, typer.Option(help="Folder of results.")] = RESULTS,
    docs: Annotated[Path | None, typer.Option(help="Also write a page per experiment into this folder.")] = None,
    tables: FromOption = None,
    backend: BackendOption = "simulator",
    explain: ExplainOption = False,
    as_json: JsonOption = False,
) -> int:
    """Redraw figures and verdicts from saved tables.

    And the gallery, without running anything.
    """
    from perigee_studies.commands import report_command, report_linux_command

    if _is_linux(backend):
        given = {"--size": size is not None, "--from": tables is not None, "--explain": explain, "--json": as_json}
        if unused := [option for option, is_given in given.items() if is_given]:
            stop(
                f"{', '.join(unused)}: a report on Linux hosts covers all sizes, from the results in --out and the "
                f"tables in --docs; leave {' and '.join(unused)} out"
            )
        return report_linux_command(_chosen(names or ["leo-cc"], None), out, docs)
    code, groups = 0, _by_size(_chosen(names or ["all"], None), size, out, tables)
    if as_json and len(groups) > 1:
        stop(f"--json is one document, and the tables are of several sizes ({', '.join(groups)}): choose by --size")
    for each, chosen in groups.items():
        found = report_command(chosen, out / each, docs=docs, tables=tables, explain=explain, as_json=as_json)
        code = found or code
    return code


def _labels(where: list[str]) -> dict[str, list[str]]:
    """Values by label; those of a label that is given several times are joined."""
    pairs = [text.partition("=") for text in where]
    for text, (name, _, values) in zip(where, pairs, strict=True):
        if not name or not values:
            stop(f"--where {text!r}: say LABEL=VALUE, as run=1,2")
    labels: dict[str, list[str]] = {}
    for name, _, values in pairs:
        known = labels.setdefault(name, [])
        known += [value for value in values.split(",") if value not in known]
    return labels


def _is_linux(backend: str) -> bool:
    """Whether experiments run on Linux hosts; ends the command if there is no such backend."""
    if backend not in {"simulator", "linux"}:
        stop(f"--backend {backend!r}: studies run with simulator or linux")
    return backend == "linux"


def _hosts(backend: str, kernel: str | None, *, clustered: bool) -> Linux | None:
    """The Linux hosts on which experiments run; None = the simulator. Raises KernelError."""
    from perigee_lab.cli.backend import chosen

    found = chosen(backend, kernel)
    if backend == "simulator":
        return None
    if clustered:
        stop("--cluster: real hosts run on this machine only; leave --cluster or --backend out")
    return cast("Linux", found)


def _on_linux(names: list[str], only: list[str] | None) -> list[str]:
    """The experiments that these names stand for on Linux hosts."""
    from perigee_studies import linux

    named = _chosen(names, only)
    # A study stands for those of its experiments that run there.
    return [n for n in named if n in linux.NAMES] if linux.STUDY in names else named


def _check_hosts(names: list[str], ask: Ask, hosts: Linux) -> None:
    """Ends the command if an experiment cannot run on Linux hosts."""
    from perigee_studies import linux

    try:
        linux.check(names, ask, hosts)
    except linux.LinuxError as error:
        stop(str(error))


def _by_size(names: list[str], size: str | None, out: Path, tables: Path | None) -> dict[str, list[str]]:
    """Names by the size of their runs: that of published tables, unless one is given."""
    from perigee_studies import conclude, published

    if size not in {None, "quick", "default", "full"}:
        stop(f"--size {size!r}: one of quick, default, full")
    if size is None:
        return {s.value: chosen for s, chosen in published.by_size(names, tables).items()}
    if tables is not None:
        for name in (n for n in names if not (out / size / n / conclude.ABOUT).exists()):
            other = published.size_of(name, tables)
            if other is not None and other.value != size:
                stop(f"--size {size}: the tables of {name} in {tables} are of the size {other.value}; leave --size out")
    return {size: names}


def _chosen(names: list[str], only: list[str] | None) -> list[str]:
    from perigee_studies.registry import choose

    chosen = [e.name for e in choose(names)]
    if only:
        chosen = [c for c in chosen if any(part in c for part in only)]
        if not chosen:
            stop(f"--only {', '.join(only)} leaves no experiment")
    return chosen


def _known(wanted: tuple[str, ...]) -> tuple[str, ...]:
    from perigee_lab.runs.scenario import schemes

    names = {s["id"] for s in schemes()} | {"all"}
    for name in wanted:
        if ":" in name:
            stop(f"--cc {name!r}: studies take the names of `perigee schemes` only; a class runs with `perigee run`")
        if name not in names:
            stop(f"--cc {name!r} is no congestion control; see `perigee schemes`")
    return wanted
