# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figure and table of docs/how-to/rain.md: `python docs/make/rain.py`, with the extra `weather`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import perigee_lab as perigee
from perigee_lab.results import looks
from perigee_lab.sky import weather
from perigee_lab.sky.skymap import elevations

SECONDS = 300
GHZ, CLEAR_SKY_DB, SEED, START = 28.0, 14.0, 1, 0.001
SCENARIO = (Path(__file__).parents[2] / "scenarios/leo/rain.toml").read_text(encoding="utf-8")
HOME = 'place = "London"'
SCHEMES = ("cubic", "bbr")


def main() -> None:
    """Draws docs/how-to/rain.png and prints the table."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dry = perigee.loads(SCENARIO)
        seen = elevations(dry, "home", SECONDS + 1, 1.0)
        x = weather.process(SECONDS + 1, step_s=1.0, seed=SEED, start_share=START)
        by = weather.climates_over(51.51, -0.13, seen, frequency_ghz=GHZ)
        fixed = weather.climate(51.51, -0.13, frequency_ghz=GHZ, elevation_deg=40.0)
        db = {"the satellite in use": weather.following(by, x, seen), "a satellite at 40 degrees": fixed.attenuation(x)}
        links = {kind: weather.modem(d, clear_sky_db=CLEAR_SKY_DB) for kind, d in db.items()}
        skies = {"dry": dry}
        for kind, link in links.items():
            file = folder / f"{len(skies)}.csv"
            weather.write_csv(file, link, step_s=1.0, about=kind)
            skies[kind] = perigee.loads(SCENARIO.replace(HOME, f'{HOME}\nweather = "{file}"'))
        runs = {(kind, cc): s.run(cc=cc) for kind, s in skies.items() for cc in SCHEMES}

    figure, axes = plt.subplots(3, 1, figsize=(8, 7), sharex=True, constrained_layout=True)
    t_s = np.arange(SECONDS + 1)
    axes[0].step(t_s, seen, where="post", color="0.3")
    axes[0].set_ylabel("elevation,\ndegrees")
    for (kind, link), colour in zip(links.items(), ("C0", "C1"), strict=True):
        axes[1].step(t_s, 100 * link.rate_share, where="post", color=colour, label=f"rain at the elevation of: {kind}")
    axes[1].set_ylabel("rate left, Mbit/s")
    axes[1].set_ylim(0, 105)
    axes[1].legend(loc="lower right", fontsize=8)
    for cc in SCHEMES:
        flows = runs["the satellite in use", cc].to_pandas("flows")
        mean = flows.groupby((flows["t_ns"] - 1) // 1_000_000_000)["goodput_bps"].mean() / 1e6
        axes[2].plot(mean.index + 0.5, mean, label=cc, color=looks.of(SCHEMES)[cc].colour)
    axes[2].set_ylabel("goodput, Mbit/s")
    axes[2].set_ylim(0, 105)
    axes[2].set_xlabel("time, s")
    axes[2].legend(loc="lower right", fontsize=8)
    figure.savefig(Path(__file__).parents[1] / "how-to/rain.png", dpi=110)
    print("| rain | scheme | goodput, Mbit/s | of achievable | mean RTT, ms | retransmissions |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (kind, cc), run in runs.items():
        s = run.summary
        cells = f"{s['goodput_mbps']:.1f} | {s['share']:.1%} | {s['rtt_mean_ms']:.1f} | {s['retransmits']:,.0f}"
        print(f"| {kind} | {cc} | {cells} |")


if __name__ == "__main__":
    main()
