# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures, files and warnings that several commands write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perigee_lab.common.errors import stop
from perigee_lab.common.files import filled, writing, written
from perigee_lab.common.messages import complain, plain_progress


def print_warnings(warnings: Sequence[str]) -> None:
    """Prints warnings about the output, each once, on the error stream."""
    for warning in dict.fromkeys(warnings):
        complain(f"warning: {warning}")


@contextmanager
def output(out: Path, *, folder: bool = False) -> Iterator[Path]:
    """A path for the core's output until complete; errors end with exit code 2 and name `out`."""
    from perigee_lab import _core

    name = str(out)
    try:
        with writing(out), filled(out) if folder else written(out) as partial:
            name = str(partial)
            yield partial
    except (_core.ScenarioError, _core.RunError) as error:
        stop(error.args[0].replace(name, str(out)))


def save(figure: Any, file: Path) -> None:
    """Writes a figure and closes it; ends with exit code 2 on failure."""
    import matplotlib.pyplot as plt

    try:
        # Fonts that journals require: TrueType, not Type 3.
        with writing(file), written(file, folders=True) as partial, plt.rc_context({"pdf.fonttype": 42}):
            figure.savefig(partial, dpi=160, format=file.suffix[1:] or "png")
    except ValueError as error:
        stop(f"cannot write {file}: {error}")
    finally:
        plt.close(figure)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on the error stream if that is a terminal, else a line every ten seconds."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, emoji=False)
    if not console.is_terminal:
        yield plain_progress(what, total)
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
