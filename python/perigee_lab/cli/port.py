# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee port`: ports of this machine that stamp telemetry."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.errors import stop
from perigee_lab.common.messages import say

command = typer.Typer(name="port", help="Write OrbCC telemetry at this router's ports.", no_args_is_help=True)
DevArg = Annotated[str, typer.Argument(metavar="DEV", help="Device with the egress queue.")]


def _kbit(rate: str, device: str) -> int:
    from perigee_lab.common.quantities import quantity
    from perigee_lab.orbcc import programs

    if rate == "auto":
        return programs.rate_of_shaper(device)
    given = quantity(rate)
    if given.kind != "rate" or not isinstance(given.value, int) or given.value < 1000:
        stop(f"--rate {rate!r} is not a rate: give auto or a rate such as '100 Mbit'")
    return given.value // 1000


@command.command()
def attach(
    dev: DevArg,
    rate: Annotated[str, typer.Option(help="Rate of the link, such as 100Mbit; auto: of its token bucket.")] = "auto",
    switch: Annotated[int, typer.Option(min=1, max=65535, help="Id of this router in the path's id.")] = 1,
) -> None:
    """Write telemetry records into the packets that leave a device."""
    from perigee_lab.orbcc import programs

    kbit = _kbit(rate, dev)
    words = ["--object", str(programs.require() / programs.PORT_PROGRAMS), "--dev", dev]
    words += ["--rate", str(kbit), "--switch", str(switch)]
    programs.call(["port", "--pin", str(programs.port_pin(dev)), *words])
    say(f"{dev} stamps records at {kbit / 1000:g} Mbit/s")


@command.command()
def detach(dev: DevArg) -> None:
    """Remove the port's program."""
    from perigee_lab.orbcc import programs

    print(json.dumps(programs.call(["detach", "--pin", str(programs.port_pin(dev))])))


PortsArg = Annotated[list[str] | None, typer.Argument(metavar="[DEV...]", help="Devices; default: all that stamp.")]


@command.command()
def stats(
    devices: PortsArg = None,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Print the text format of Prometheus.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print counters and load of the ports that stamp."""
    from perigee_lab.orbcc import ports

    if as_json and prometheus:
        stop("--json and --prometheus exclude each other: give one")
    found = {device: ports.stats(device) for device in devices or ports.attached()}
    if as_json:
        print(json.dumps(found, indent=1))
    elif prometheus:
        print(ports.prometheus(found), end="")
    else:
        say(ports.table(found))


@command.command()
def top(
    devices: PortsArg = None,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between updates.")] = 1.0,
    count: Annotated[int, typer.Option(min=0, help="Number of updates; 0: until interrupted.")] = 0,
) -> None:
    """Show load and counters of the ports that stamp, again and again."""
    import itertools
    import sys
    import time

    from perigee_lab.orbcc import ports

    clear = "\x1b[H\x1b[2J" if sys.stdout.isatty() else ""
    for _ in range(count) if count else itertools.count():
        shown = ports.table({device: ports.stats(device) for device in devices or ports.attached()})
        print(clear + shown, flush=True)
        time.sleep(every)
