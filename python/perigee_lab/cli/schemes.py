# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee schemes`: the list of congestion controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say


def command(
    what: Annotated[
        str | None,
        typer.Argument(metavar="SCHEME|FILE", help="A scheme, or a Python file: its classes, without running it."),
    ] = None,
    params: Annotated[bool, typer.Option("--params", help="Also list the parameters.")] = False,
    starts: Annotated[
        bool, typer.Option("--starts", help="List the starts (slow_start) instead, all or those of a scheme.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the congestion controls and their parameters."""
    from perigee_lab import _core

    if what is not None and (what.endswith(".py") or "/" in what):
        _list_classes(Path(what), params=params, as_json=as_json)
        return
    every = json.loads(_core.schemes())
    found = json.loads(_core.starts()) if starts else every
    if starts and what is not None and (schemes := [s for s in every if s["id"] == what]):
        found = [s for s in found if s["id"] in schemes[0]["starts"]]
    elif what is not None:
        found = [s for s in found if s["id"] == what] or _missing(what, found)
        params = True
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for s in found:
        say(f"{s['id']:<14} {s['summary']}" if starts else f"{s['id']:<14} {s['label']:<16} {s['summary']}")
        for p in s["params"] if params else []:
            unit = f" [{p['unit']}]" if p["unit"] else ""
            say(f"    {p['name']} = {json.dumps(p['default'])}{unit}: {p['help']} ({p['allowed']})")
        if starts:
            say(f"    of {', '.join(scheme['id'] for scheme in every if s['id'] in scheme['starts'])}")


def _missing(name: str, found: list[dict[str, Any]]) -> NoReturn:
    from perigee_lab.common.messages import nearest

    near = nearest(name, {word: s["id"] for s in found for word in (s["id"], s.get("label", s["id"]))})
    stop(f"no scheme {name!r}{near}; perigee schemes lists them, and perigee schemes FILE.py the classes of a file")


def _list_classes(file: Path, *, params: bool, as_json: bool) -> None:
    from perigee_lab.extensions.congestion import described

    found = described(file)
    if as_json:
        print(json.dumps(found, indent=1, default=str))
        return
    for c in found:
        say(f"{file}:{c['id']}  {c['summary']}")
        for name, value in c["params"].items() if params else []:
            say(f"    {name} = {value!r}")
