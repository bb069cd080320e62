# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee kernel`: builds, lists and removes the Linux kernels of real hosts."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED
from perigee_lab.common.files import writing
from perigee_lab.common.messages import complain, say

if TYPE_CHECKING:
    from perigee_lab.hosts.kernels import Kernel
    from perigee_lab.hosts.steps import Progress

command = typer.Typer(name="kernel", help="Build and list the Linux kernels of real hosts.", no_args_is_help=True)
NameArg = Annotated[str | None, typer.Argument(metavar="NAME", help="Name or key; default: the default kernel.")]


@command.command()
def build(
    source: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Source: a folder, an archive or a deb; default: Debian's.")
    ] = None,
    patch: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Apply a patch; repeatable.")] = None,
    module: Annotated[
        list[Path] | None, typer.Option(metavar="FILE.c", help="Add a user-defined congestion control; repeatable.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name; default: from its patches and modules.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel compilers; default: one per core.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the build folder.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a kernel and store it in the cache, if missing."""
    from perigee_lab.hosts import build as building
    from perigee_lab.hosts.kernels import store

    request = building.Asked(source, tuple(patch or ()), tuple(module or ()), name, jobs, keep)
    started = time.monotonic()
    with writing(store()), _progress() as progress:
        done = building.build(request, progress)
    for warning in done.warnings:
        complain(warning)
    kernel = done.kernel
    if as_json:
        print(json.dumps({**kernel.as_json(), "fresh": done.fresh, "warnings": done.warnings}, indent=1))
        return
    how = f"built in {time.monotonic() - started:.0f} s" if done.fresh else "already in the cache"
    say(f"{kernel.manifest.name}: Linux {kernel.manifest.version}, {how}: {kernel.folder}")
    if done.tree is not None:
        say(f"built in {done.tree}")


@command.command()
def path(name: NameArg = None) -> None:
    """Print the folder of a kernel."""
    from perigee_lab.hosts.kernels import find

    say(find(name).folder)


@command.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the kernels in the cache, the default one first."""
    from perigee_lab.hosts.kernels import BUILD, Kernel, every, store

    there = every()
    kernels = [k for k in there if isinstance(k, Kernel)]
    damaged = [k for k in there if not isinstance(k, Kernel)]
    if as_json:
        rows = [{**k.as_json(), "default": _default(i, k)} for i, k in enumerate(kernels)]
        broken = [{"folder": str(d.folder), "reason": d.reason} for d in damaged]
        print(json.dumps({"store": str(store()), "kernels": rows, "damaged": broken}, indent=1))
        return
    if kernels:
        _print_table(kernels)
    for d in damaged:
        say(f"damaged: {d.reason}; perigee kernel remove {d.folder.name}")
    if not there:
        say(f"no kernel found; run {BUILD} (takes a few minutes)")


def _default(i: int, kernel: Kernel) -> bool:
    return i == 0 and kernel.foreign is None


def _print_table(kernels: list[Kernel]) -> None:
    rows = [("name", "key", "version", "patches", "modules", "MB", "built")]
    for i, k in enumerate(kernels):
        m = k.manifest
        patches = [f"{len(m.patches)} of Perigee", *(p.name for p in m.extra_patches)]
        rows.append(
            (
                m.name + (" (default)" if _default(i, k) else ""),
                m.key,
                m.version + ("" if m.source.pinned else " (other source)"),
                ", ".join(patches),
                ", ".join(f.name for f in m.modules) or "-",
                f"{k.size / 1e6:.1f}",
                m.built[:16].replace("T", " "),
            )
        )
        if k.foreign is not None:
            rows[-1] = (
                *rows[-1][:-1],
                f"{rows[-1][-1]}, {k.foreign} of another Perigee: build it again, or remove it by its key",
            )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


@command.command()
def remove(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name or key.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a kernel from the cache."""
    from perigee_lab.hosts import kernels

    if (name is None) != everything:
        stop("give the name of a kernel, or --all")
    with writing(kernels.store()):
        removed = kernels.remove_all() if name is None else [kernels.remove_one(name)]
    if as_json:
        print(json.dumps({"removed": [str(f) for f in removed]}, indent=1))
        return
    for folder in removed:
        say(f"removed {folder}")
    if not removed:
        print("no kernel to remove")


@command.command()
def doctor(name: NameArg = None, as_json: JsonOption = False) -> int:
    """Boot a kernel for a second and report what fails."""
    from perigee_lab.hosts.doctor import examine
    from perigee_lab.hosts.kernels import KernelError

    try:
        found = examine(name)
    except KernelError as error:
        if not as_json:
            raise
        print(json.dumps({"ok": False, "message": str(error)}, indent=1))
        return error.code
    if as_json:
        print(json.dumps(asdict(found), indent=1))
    elif found.ok:
        say(f"{found.kernel} {found.message}")
    else:
        complain(f"{found.kernel}: {found.message}")
        for line in found.console:
            say(f"  {line}", file=sys.stderr)
    return 0 if found.ok else FAILED


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal, elsewhere a line for the start of each step."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True, emoji=False)
    before = ""
    if not console.is_terminal:

        def show(what: str, done: int, total: int) -> None:
            nonlocal before
            if what != before:
                say(what, file=sys.stderr, flush=True)
            before = what

        yield show
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = None

        def show(what: str, done: int, total: int) -> None:
            nonlocal before, task
            if what != before:
                if task is not None:
                    bar.remove_task(task)
                # Without a total the bar is indeterminate.
                task = bar.add_task(what, total=total or None)
            before = what
            if task is not None:
                bar.update(task, completed=done)

        yield show
