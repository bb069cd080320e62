# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee gateway`: a router that splits TCP connections at a satellite link."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED

PROGRAM = "perigee-gateway"


def program() -> str | None:
    """Path of the program: of this environment, or else of PATH."""
    own = Path(sys.prefix) / "bin" / PROGRAM
    return str(own) if own.exists() else shutil.which(PROGRAM)


def command(words: Annotated[str | None, typer.Option(hidden=True)] = None) -> None:
    """Split TCP connections at a router, transparently.

    perigee gateway --inside eth1 --outside eth0 --cc bbr

    Subcommands are status, metrics, drain and clean. The command passes its options to the program perigee-gateway,
    which make gateway builds in a clone; once it is built, --help lists them. Until then, docs/how-to/gateway.md has
    the usual ones. Needs root (or CAP_NET_ADMIN and CAP_NET_RAW).
    """
    found = program()
    if found is None:
        stop(f"no {PROGRAM} in {Path(sys.prefix) / 'bin'} or on PATH; build it in a clone with: make gateway", FAILED)
    # The program receives the signals of this process.
    os.execv(found, [PROGRAM, *(json.loads(words) if words is not None else [])])
