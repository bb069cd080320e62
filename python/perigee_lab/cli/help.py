# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee help`: the help of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from perigee_lab.common.errors import stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def command(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command, with its subcommand.")
    ] = None,
) -> None:
    """Show the help of a command."""
    root = context.find_root()
    *_, (found, ctx) = _descend(root.command, root, words or [])
    print(found.get_help(ctx))


def _descend(command: Any, ctx: Any, words: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Each command along the words, with its context."""
    yield command, ctx
    for n, word in enumerate(words):
        inner = command.get_command(ctx, word) if hasattr(command, "get_command") else None
        if inner is None:
            from perigee_lab.common.messages import nearest

            there = command.list_commands(ctx) if hasattr(command, "list_commands") else []
            near = nearest(word, {name: name for name in there})
            stop(f"no command {' '.join(words[: n + 1])!r}{near}; perigee help lists the commands")
        command = inner
        ctx = type(ctx)(command, info_name=word, parent=ctx)
        yield command, ctx
