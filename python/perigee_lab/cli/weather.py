# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee weather`: rain at a node of a scenario, as a file that the scenario can name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli.options import ScenarioArg, SetOption, TrustOption
from perigee_lab.cli.output import save
from perigee_lab.common.errors import stop
from perigee_lab.common.files import writing
from perigee_lab.common.messages import say


def command(
    scenario: ScenarioArg,
    node: Annotated[str, typer.Option(help="Node with rain on its links.")],
    out: Annotated[Path, typer.Option(help="File to write (CSV).")],
    frequency: Annotated[float, typer.Option(help="Frequency in GHz.")] = 28.0,
    elevation: Annotated[
        str,
        typer.Option(metavar="DEGREES|follow", help="Elevation of the satellite; follow: of the one in use."),
    ] = "40",
    clear_sky: Annotated[float, typer.Option(help="Es/N0 without rain, dB.")] = 14.0,
    step: Annotated[float, typer.Option(help="Seconds between values.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of the series.")] = 1,
    start: Annotated[
        float | None, typer.Option(help="Start with the rain that is exceeded this percentage of the time.")
    ] = None,
    picture: Annotated[Path | None, typer.Option("--plot", help="Plot to write (.png or .svg).")] = None,
    sets: SetOption = None,
    trust: TrustOption = False,
) -> None:
    """Write a time series of rain for a place.

    ITU-R models at a node: rate in steps of coding and modulation, and loss.
    """
    from perigee_lab import _core
    from perigee_lab.runs.scenario import open_file
    from perigee_lab.sky import weather as rain
    from perigee_lab.sky.skymap import elevations
    from perigee_lab.sky.skymap import picture as sky_at

    fixed = _degrees(elevation)
    if not 0 < frequency <= 350 or not 0.01 <= step <= 3600:
        stop("--frequency must be in 0 to 350 GHz, --step in 0.01 to 3600 s")
    if start is not None and not 0 < start < 100:
        stop("--start must be between 0 and 100 percent")
    try:
        loaded = open_file(scenario, list(sets or []), trust=trust)
        ground = {g["name"]: g["place"] for g in sky_at(loaded, 0.0)["ground"]}
        if node not in ground:
            stop(f"--node: {node!r} is none of {', '.join(ground)}")
        lat, lon = ground[node]
        steps = max(2, int(loaded.core.duration_ns / 1e9 / step) + 1)
        x = rain.process(steps, step_s=step, seed=seed, start_share=None if start is None else start / 100)
        if fixed is not None:
            c = rain.climate(lat, lon, frequency_ghz=frequency, elevation_deg=fixed)
            db = c.attenuation(x)
        else:
            seen = elevations(loaded, node, steps, step)
            by = rain.climates_over(lat, lon, seen, frequency_ghz=frequency)
            c = by[min(by, key=lambda e: abs(e - float(seen.mean())))]
            db = rain.following(by, x, seen)
            elevation = f"{seen.min():.0f} to {seen.max():.0f}"
        link = rain.modem(db, clear_sky_db=clear_sky, step_s=step)
    except (_core.RunError, KeyError) as error:
        stop(str(error.args[0]))
    where = f"{node} ({lat:.2f} N {lon:.2f} E), {frequency:g} GHz, {elevation} degrees"
    about = f"perigee weather: {where}, seed {seed}, start {start}, Es/N0 {clear_sky:g} dB; Maseng-Bakken, P.618"
    with writing(out):
        rows = rain.write_csv(out, link, step_s=step, about=about)
    say(f"{where}: it rains {c.rain_share:.1%} of the time; exceeded 1 %: {c.exceeded(0.01):.1f} dB, ", end="")
    say(f"0.1 %: {c.exceeded(0.001):.1f} dB, 0.01 %: {c.exceeded(0.0001):.1f} dB")
    lost = (link.loss == 1).mean()
    say(f"{out}: {rows} changes, mean rate {link.rate_share.mean():.1%}, no link {lost:.1%} of the time")
    if picture is not None:
        save(rain.plot(db, link, step_s=step, title=where), picture)
        say(f"plot: {picture}")


def _degrees(given: str) -> float | None:
    """An elevation; None if it follows the satellite."""
    if given == "follow":
        return None
    try:
        found = float(given)
    except ValueError:
        found = 0.0
    if not 5 <= found <= 90:
        stop(f"--elevation {given!r}: degrees from 5 to 90, or follow")
    return found
