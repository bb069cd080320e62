# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee orbcc`: OrbCC in the TCP of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop

command = typer.Typer(name="orbcc", help="Attach OrbCC to this machine's TCP.", no_args_is_help=True)
CARRIERS = ["auto", "ip6", "tcp"]
FALLBACKS = ["cubic", "bbr", "leocc"]


def _one_of(option: str, word: str, words: list[str]) -> str:
    if word not in words:
        stop(f"{option} {word!r} is unknown: give one of {', '.join(words)}")
    return word


@command.command()
def attach(
    program: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="Only its connections, until it ends.")
    ] = None,
    dev: Annotated[
        list[str] | None, typer.Option(metavar="DEV", help="Carry telemetry at a device; repeatable.")
    ] = None,
    cgroup: Annotated[
        Path | None, typer.Option(metavar="PATH", help="New connections of a control group (version 2).")
    ] = None,
    pid: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="New connections of a running process, and of its children.")
    ] = None,
    carrier: Annotated[
        str, typer.Option(help="ip6: extension headers; tcp: a TCP option; auto: by address family.")
    ] = "auto",
    fallback: Annotated[str, typer.Option(help="Fallback scheme without telemetry: cubic, bbr or leocc.")] = "cubic",
    trust_path: Annotated[
        bool, typer.Option("--trust-path", help="The path has a single administration: raise the rate immediately.")
    ] = False,
    receiver: Annotated[bool, typer.Option("--receiver", help="Only echo telemetry of other senders.")] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With a command: write counters and connections as JSON.")
    ] = None,
) -> int:
    """Attach OrbCC to a command, a process, a control group or devices.

    perigee orbcc attach --dev eth0 -- curl -O https://example.org/file
    """
    from perigee_lab.orbcc import groups, programs

    words = ["--object", str(programs.folder() / programs.HOST_PROGRAMS)]
    words += ["--carrier", _one_of("--carrier", carrier, CARRIERS)]
    words += ["--fallback", _one_of("--fallback", fallback, FALLBACKS)]
    words += ["--trust-path"] if trust_path else []
    words += ["--receiver"] if receiver else []
    words += [word for name in dev or [] for word in ("--dev", name)]
    if program:
        if cgroup or pid:
            stop("a command excludes --cgroup and --pid: it runs in a separate control group")
        words += ["--report", str(report)] if report else []
        return programs.run(["run", *words, "--", *program])
    if report:
        stop("--report needs a command; use `perigee orbcc status` otherwise")
    if cgroup and pid:
        stop("--cgroup and --pid exclude each other: give one")
    if not dev and not cgroup and not pid:
        stop("nothing to attach to: give --dev, --cgroup, --pid or -- COMMAND")
    programs.require()
    if pid:
        cgroup = groups.enclose(pid)
    words += ["--cgroup", str(cgroup)] if cgroup else []
    try:
        programs.call(["attach", "--pin", str(programs.HOST_PIN), *words])
    except programs.OrbccError:
        if pid:
            groups.release()
        raise
    print("attached; `perigee orbcc status` lists connections, `perigee orbcc detach` removes it")
    return 0


@command.command()
def status(as_json: JsonOption = False) -> None:
    """List OrbCC's connections and counters."""
    from perigee_lab.orbcc import programs

    found = programs.call(["status", "--pin", str(programs.HOST_PIN)])
    if as_json:
        print(json.dumps(found, indent=1))
        return
    print(table(found["flows"]))
    print("  ".join(f"{name} {n}" for name, n in found["counters"].items() if n))


def table(flows: list[dict[str, Any]]) -> str:
    """Connections as text."""
    names = ["remote", "window kB", "sRTT ms", "U", "bottleneck Mbit/s", "flows", "path changes", "scheme"]
    rows = [names]
    for f in flows:
        numbers = [f["window_bytes"] / 1e3, f["srtt_us"] / 1e3, f["utilisation"] / 1e3, f["bottleneck_kbit"] / 1e3]
        shown = [f"{numbers[0]:.1f}", f"{numbers[1]:.1f}", f"{numbers[2]:.3f}", f"{numbers[3]:g}"]
        scheme = "fallback" if f["fallback"] else "orbcc"
        rows.append([f["remote"], *shown, str(f["bottleneck_flows"]), str(f["path_changes"]), scheme])
    widths = [max(len(row[i]) for row in rows) for i in range(len(names))]
    return "\n".join("  ".join(word.ljust(w) for word, w in zip(row, widths, strict=True)).rstrip() for row in rows)


@command.command()
def detach() -> None:
    """Detach OrbCC."""
    from perigee_lab.orbcc import groups, programs

    programs.call(["detach", "--pin", str(programs.HOST_PIN)])
    groups.release()
    print("detached; connections that used OrbCC keep it until they end")


UNIT = """\
[Unit]
Description=OrbCC in TCP
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={attach}
ExecStop={perigee} orbcc detach

[Install]
WantedBy=multi-user.target
"""


@command.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def unit(context: typer.Context) -> None:
    """Print a unit of systemd that attaches OrbCC with the given options at start-up.

    perigee orbcc unit --dev eth0 --cgroup /sys/fs/cgroup/system.slice > /etc/systemd/system/orbcc.service
    """
    import shutil
    import sys

    if not context.args:
        stop("a unit needs the options of `perigee orbcc attach`, such as --dev eth0")
    beside = Path(sys.executable).with_name("perigee")
    found = str(beside) if beside.exists() else shutil.which("perigee")
    perigee = _for_systemd(found) if found else f"{_for_systemd(sys.executable)} -m perigee_lab"
    words = [_for_systemd(word) for word in context.args]
    print(UNIT.format(attach=" ".join([perigee, "orbcc", "attach", *words]), perigee=perigee), end="")


def _for_systemd(word: str) -> str:
    escaped = word.replace("%", "%%").replace("$", "$$")
    return escaped if not set(escaped) & set(" \"'\\") else json.dumps(escaped)
