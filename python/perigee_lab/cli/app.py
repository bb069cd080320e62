# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Root of the command line, and the entry point.

Exit codes: 0, or one of `perigee_lab.common.exit_codes`.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from perigee_lab.cli.arguments import refuse_odd_results, without_programs
from perigee_lab.cli.ending import reported
from perigee_lab.cli.groups import Grouped
from perigee_lab.common.exit_codes import FAILED, INTERRUPTED
from perigee_lab.common.interrupt import announce

app = typer.Typer(
    name="perigee",
    cls=Grouped,
    epilog="perigee COMMAND --help explains a command. To start: perigee init mine.toml, then perigee run mine.toml",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Plain help takes a third of the time.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point: turns user errors into messages and exit codes."""
    try:
        arguments = without_programs(sys.argv[1:])
        refuse_odd_results(arguments)
        app(args=arguments)
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as end:
        _ends_with(end.code if isinstance(end.code, int) else 0 if end.code is None else FAILED)
        # Typer's silent result of an interrupt.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            _interrupted()
        raise
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        code = reported(error)
        if code is None:
            raise
        _ends_with(code)
        sys.exit(code)


def _interrupted() -> NoReturn:
    _ends_with(INTERRUPTED)
    announce()
    raise SystemExit(INTERRUPTED)


def _ends_with(code: int) -> None:
    """Passes the exit code of the process to the core, if loaded: see `close_plugins`."""
    core = sys.modules.get("perigee_lab._core")
    if core is not None:
        core.ends_with(code)


def _show_version(value: bool) -> None:
    if value:
        from perigee_lab import _core

        print(_core.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A laboratory for transport protocols over satellite networks."""
