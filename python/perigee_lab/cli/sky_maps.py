# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee sky --over`: maps over hours instead of an instant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.cli.output import progress
from perigee_lab.cli.places import in_options
from perigee_lab.common.errors import stop
from perigee_lab.common.files import make_ready, writing
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from perigee_lab.results.run import Run
    from perigee_lab.runs.scenario import Scenario
    from perigee_lab.sky.over_time import Floats, OverTime

# Limit of frames: a day at one frame per second would never finish.
MOST_INSTANTS = 20_000


def draw_over(
    scenario: Scenario,
    what: str,
    over_s: float,
    step_s: float | None,
    origin: str | None,
    record: Run | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Computes a map over time and writes it in the format of the file name."""
    from perigee_lab.sky import over_time, over_time_maps

    _check(what, origin, record)
    if record is not None and over_s > (end_s := record.manifest.duration_ns / 1e9):
        stop(f"--over: the record ends at {end_s:g} s")
    file = out or Path(f"{scenario.name}-{what}.png")
    forms = (*over_time_maps.PICTURES, *over_time_maps.FILMS, *over_time_maps.TABLES)
    if file.suffix not in forms:
        stop(f"--out {file}: the name must end in one of {', '.join(forms)}")
    moving = file.suffix in (*over_time_maps.FILMS, ".czml")
    t_s = over_time.instants(over_s, step_s, what, moving=moving)
    if not 1 < len(t_s) <= MOST_INSTANTS:
        stop(f"--over and --step make {len(t_s)} instants; 2 to {MOST_INSTANTS:,} are allowed")
    make_ready(file.parent)
    with in_options(origin, None), progress(f"{what} at {len(t_s)} instants", len(t_s)) as tick:
        found = _found(scenario, what, t_s, origin, record, tick)
    with writing(file):
        _write(found, file, over_s)
    if as_json:
        print(json.dumps({"map": str(file), "ground": over_time_maps.rows(found)}, allow_nan=False))
        return
    _summarise(found)
    say(f"map: {file}")


def _check(what: str, origin: str | None, record: Run | None) -> None:
    from perigee_lab.sky.over_time import MAPS

    if what not in MAPS:
        stop(f"--map: {what!r} is none of {', '.join(MAPS)}")
    if what == "latency" and origin is None:
        stop('--map latency needs --from, such as --from London or --from "51.5, -0.1"')
    if what != "latency" and origin is not None:
        stop(f"--from has no effect on a map of {what}")
    if what == "load" and record is None:
        stop("--map load needs a record: give --utilisation OUT/SCHEME/seedN")
    if what != "load" and record is not None:
        stop(f"--utilisation has no effect on a map of {what}")


def _found(
    scenario: Scenario, what: str, t_s: Floats, origin: str | None, record: Run | None, tick: Callable[[], None]
) -> OverTime:
    from perigee_lab.sky import over_time

    if what == "latency":
        assert origin is not None
        return over_time.latency(scenario, origin, t_s, tick)
    if what == "load":
        assert record is not None
        return over_time.load(scenario, record, tick, t_s)
    return (over_time.coverage if what == "coverage" else over_time.handovers)(scenario, t_s, tick)


def _write(found: OverTime, file: Path, over_s: float) -> None:
    from perigee_lab.cli.output import save
    from perigee_lab.sky import over_time_maps

    if file.suffix in over_time_maps.PICTURES:
        save(over_time_maps.draw(found, over_s), file)
    elif file.suffix in over_time_maps.FILMS:
        frames = min(len(found.frames), over_time_maps.MOST_FRAMES)
        with progress("frames", frames) as tick:
            over_time_maps.film(found, file, tick)
    else:
        over_time_maps.write_table(found, file)


def _summarise(found: OverTime) -> None:
    """Prints the distribution over the ground points, or the map if they have no numbers."""
    import numpy as np

    say(f"{found.title}: {len(found.t_s)} instants, {len(found.ground)} ground points; {found.note}")
    for panel in found.panels:
        places, values = "ground points", panel.places[np.isfinite(panel.places)]
        if not len(values):
            places, values = "cells", panel.cells[np.isfinite(panel.cells)]
        if len(values):
            low, middle, high = np.percentile(values, [0, 50, 100])
            unit = f" {panel.unit}" if panel.unit else ""
            say(f"  {panel.title}, {len(values)} {places}: {low:.4g} to {high:.4g}{unit}, median {middle:.4g}")
