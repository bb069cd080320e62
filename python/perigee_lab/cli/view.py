# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee view`: the globe of a record."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import TrustOption
from perigee_lab.common.errors import stop
from perigee_lab.common.interrupt import on_termination
from perigee_lab.common.messages import say

RunArg = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a record, or of one run (OUT/SCHEME/seedN).")]


def command(
    run: RunArg,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one file that needs no network, and end.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    trust: TrustOption = False,
) -> None:
    """Show satellites, paths and flows over time, in the browser.

    The constellation with a record's flows.

    Paths, handovers, outages and link loads, with goodput, RTT and queue on one time axis. Served to this machine
    only, until Ctrl-C; --html writes one file instead.
    """
    from perigee_lab.common.files import write_text, writing

    text = _page(run, trust=trust)
    if html is not None:
        with writing(html):
            html.parent.mkdir(parents=True, exist_ok=True)
            write_text(html, text)
        say(f"wrote {html} ({len(text) / 1e6:.1f} MB)")
        return
    _serve(text, port, browser=browser)


def _page(run: Path, *, trust: bool) -> str:
    from perigee_lab import _core
    from perigee_lab.extensions.trust import PluginError
    from perigee_lab.results.run import find_records
    from perigee_lab.view import page

    runs = find_records(run)
    shown = -1

    def progress(share: float) -> None:
        nonlocal shown
        if sys.stderr.isatty() and (percent := int(100 * share)) != shown:
            shown = percent
            print(f"\rsatellites: {percent:3d} %", end="\n" if percent == 100 else "", file=sys.stderr, flush=True)

    try:
        return page(runs, trust=trust, progress=progress)
    except (_core.ScenarioError, _core.RunError, PluginError) as error:
        stop(f"{run}: its scenario cannot be rebuilt: {error}")


def _serve(text: str, port: int, *, browser: bool) -> None:
    from perigee_lab.view.server import doorway, serve

    try:
        server, address = serve(text, port)
    except OSError as error:
        stop(f"port {port} cannot be used ({error.strerror}); --port 0 takes any free one")
    say(f"{address}  (Ctrl-C ends)", flush=True)
    try:
        with on_termination(), doorway(address) as door:
            if browser:
                webbrowser.open(door)
            server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()
