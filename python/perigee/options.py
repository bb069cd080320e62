# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ScenarioArg = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. port.bottleneck.rate=50Mbit; repeatable."),
]
CcOption = Annotated[str | None, typer.Option("--cc", metavar="A,B,C", help="Congestion controls to compare.")]
TleOption = Annotated[
    Path | None, typer.Option("--tle", metavar="FILE", help="Satellites from a TLE file instead of the scenario's.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
