# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee orbcc`: OrbCC in the TCP of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common import names, quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say

command = typer.Typer(name="orbcc", help="Attach OrbCC to this machine's TCP.", no_args_is_help=True)
CARRIERS = ["auto", "ip6", "tcp", "ioam"]
FALLBACKS = ["cubic", "bbr", "leocc"]


def _one_of(option: str, word: str, words: list[str]) -> None:
    if word not in words:
        stop(f"{option} {word!r} is unknown: give one of {', '.join(words)}")


ProgramArg = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="Only its connections, until it ends.")
]
DevOption = Annotated[
    list[str] | None, typer.Option("--dev", metavar="DEV", help="Carry telemetry at a device; repeatable.")
]
CgroupOption = Annotated[
    Path | None, typer.Option("--cgroup", metavar="PATH", help="New connections of a control group (version 2).")
]
CarrierOption = Annotated[
    str,
    typer.Option(
        "--carrier",
        help="ip6: extension headers; tcp: a TCP option; auto: by address family; ioam: traces of stock routers.",
    ),
]
FallbackOption = Annotated[
    str, typer.Option("--fallback", help="Fallback scheme without telemetry: cubic, bbr or leocc.")
]
TrustPathOption = Annotated[
    bool, typer.Option("--trust-path", help="The path has a single administration: raise the rate immediately.")
]
ReceiverOption = Annotated[bool, typer.Option("--receiver", help="Only echo telemetry of other senders.")]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="With a command: write counters and connections as JSON."),
]


def _check(
    program: list[str] | None, dev: list[str] | None, cgroup: Path | None, pid: int | None, report: Path | None
) -> None:
    """Ends the command for options that exclude each other, or that lack another."""
    from perigee_lab.orbcc import programs

    for name in dev or []:
        programs.check_device(name)
    if program:
        if cgroup or pid:
            stop("a command excludes --cgroup and --pid: it runs in a separate control group")
        return
    if report:
        stop("--report needs a command; use `perigee orbcc status` otherwise")
    if cgroup and pid:
        stop("--cgroup and --pid exclude each other: give one")
    if not dev and not cgroup and not pid:
        stop("nothing to attach to: give --dev, --cgroup, --pid or -- COMMAND")


@command.command()
def attach(
    program: ProgramArg = None,
    dev: DevOption = None,
    cgroup: CgroupOption = None,
    pid: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="New connections of a running process, and of its children.")
    ] = None,
    carrier: CarrierOption = "auto",
    fallback: FallbackOption = "cubic",
    trust_path: TrustPathOption = False,
    receiver: ReceiverOption = False,
    report: ReportOption = None,
) -> int:
    """Attach OrbCC to a command, a process, a control group or devices.

    perigee orbcc attach --dev eth0 -- curl -O https://example.org/file
    """
    from perigee_lab.orbcc import groups, programs

    _one_of("--carrier", carrier, CARRIERS)
    _one_of("--fallback", fallback, FALLBACKS)
    _check(program, dev, cgroup, pid, report)
    words = ["--object", str(programs.folder() / programs.HOST_PROGRAMS)]
    words += ["--carrier", carrier, "--fallback", fallback]
    words += ["--trust-path"] if trust_path else []
    words += ["--receiver"] if receiver else []
    words += [word for name in dev or [] for word in ("--dev", name)]
    if program:
        words += ["--report", str(report)] if report else []
        return programs.run(["run", *words, "--", *program])
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
    say(table(found["flows"]))
    say("  ".join(f"{name} {n}" for name, n in found["counters"].items() if n))


def table(flows: list[dict[str, Any]]) -> str:
    """Connections as text."""
    headings = ["remote", "window kB", "sRTT ms", "U", "bottleneck Mbit/s", "flows", "path changes", "scheme"]
    rows = [headings]
    for f in flows:
        numbers = [f["window_bytes"] / 1e3, f["srtt_us"] / 1e3, f["utilisation"] / 1e3, f["bottleneck_kbit"] / 1e3]
        shown = [f"{numbers[0]:.1f}", f"{numbers[1]:.1f}", f"{numbers[2]:.3f}", f"{numbers[3]:g}"]
        scheme = "fallback" if f["fallback"] else "orbcc"
        rows.append([f["remote"], *shown, str(f["bottleneck_flows"]), str(f["path_changes"]), scheme])
    widths = [max(len(row[i]) for row in rows) for i in range(len(headings))]
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
{service}

[Install]
WantedBy=multi-user.target
"""
UNTIL_STOPPED = (
    "Type=oneshot\nRemainAfterExit=yes\nExecStart={perigee} orbcc attach {words}\nExecStop={perigee} orbcc detach"
)
WITH_COMMAND = "Type=exec\nExecStart={perigee} orbcc attach {words}"
"""Service of a command: OrbCC is attached until it ends."""


@command.command()
def unit(
    program: ProgramArg = None,
    dev: DevOption = None,
    cgroup: CgroupOption = None,
    pid: Annotated[str | None, typer.Option(hidden=True)] = None,
    carrier: CarrierOption = "auto",
    fallback: FallbackOption = "cubic",
    trust_path: TrustPathOption = False,
    receiver: ReceiverOption = False,
    report: ReportOption = None,
) -> None:
    """Print a unit of systemd that attaches OrbCC with the given options at start-up.

    perigee orbcc unit --dev eth0 --cgroup /sys/fs/cgroup/system.slice > /etc/systemd/system/orbcc.service
    """
    if pid is not None:
        stop("--pid is not for units, as a process does not outlive a boot: give the --cgroup of its service")
    _one_of("--carrier", carrier, CARRIERS)
    _one_of("--fallback", fallback, FALLBACKS)
    _check(program, dev, cgroup, None, report)
    words = [word for name in dev or [] for word in ("--dev", name)]
    # The folder in which systemd starts a service is the root.
    words += ["--cgroup", str(cgroup.absolute())] if cgroup else []
    words += ["--carrier", carrier] if carrier != "auto" else []
    words += ["--fallback", fallback] if fallback != "cubic" else []
    words += ["--trust-path"] if trust_path else []
    words += ["--receiver"] if receiver else []
    words += ["--report", str(report.absolute())] if report else []
    words += ["--", *program] if program else []
    for word in words:
        if names.visible(word) != word:
            stop(f"{word!r} has a control character, which a unit cannot hold: leave it out")
    service = WITH_COMMAND if program else UNTIL_STOPPED
    line = " ".join(quoting.systemd(word) for word in words)
    print(UNIT.format(service=service.format(perigee=_perigee(), words=line)), end="")


def _perigee() -> str:
    """The start of a line of systemd that calls this program."""
    import shutil
    import sys

    beside = Path(sys.executable).with_name("perigee")
    found = str(beside) if beside.exists() else shutil.which("perigee")
    return quoting.systemd(found) if found else f"{quoting.systemd(sys.executable)} -m perigee_lab"
