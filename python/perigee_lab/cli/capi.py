# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee capi`: where the controllers for C are, and the words of a compiler for them."""

from __future__ import annotations

from typing import Annotated

import typer

from perigee_lab.common import quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED
from perigee_lab.common.messages import say


def command(
    cflags: Annotated[bool, typer.Option("--cflags", help="Print the compiler's options.")] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Print the linker's options.")] = False,
    pkgconfig: Annotated[bool, typer.Option("--pkgconfig", help="Print the folder for PKG_CONFIG_PATH.")] = False,
) -> None:
    """Locate the C library of congestion controls in this installation.

    cc stack.c $(perigee capi --cflags --libs) -o stack

    Without options: header, library and version. Programs find the library where it is, without LD_LIBRARY_PATH.
    Calls and structures: docs/how-to/quic-stack.md.
    """
    from importlib.resources import files
    from pathlib import Path

    from perigee_lab import _core

    folder = Path(str(files("perigee_lab"))) / "capi"
    found = sorted((folder / "lib").glob("libperigee_cc.*"))
    if not found:
        why = "this installation has no C library, which wheels of releases (make dist) carry"
        stop(f"{why}; in a clone, make install PREFIX=DIR installs it", FAILED)
    (library,) = found
    if pkgconfig:
        if cflags or libs:
            stop("--pkgconfig excludes --cflags and --libs: give only one of them", 2)
        say(folder / "lib/pkgconfig")
    elif cflags or libs:
        words = [f"-I{folder / 'include'}"] if cflags else []
        words += [str(library), f"-Wl,-rpath,{library.parent}"] if libs else []
        say(quoting.shell_words(words))
    else:
        say(f"libperigee_cc {_core.__version__}\nheader: {folder / 'include/perigee_cc.h'}\nlibrary: {library}")
        print("next: cc FILE.c $(perigee capi --cflags --libs) -o PROGRAM")
