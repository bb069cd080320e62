# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee port`: ports of this machine that stamp telemetry."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from perigee_lab.common.errors import stop

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
    print(f"{dev} stamps records at {kbit / 1000:g} Mbit/s")


@command.command()
def detach(dev: DevArg) -> None:
    """Remove the port's program."""
    from perigee_lab.orbcc import programs

    print(json.dumps(programs.call(["detach", "--pin", str(programs.port_pin(dev))])))
