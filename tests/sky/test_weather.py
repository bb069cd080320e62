# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rain: statistics of the series, steps of the modem, and a scenario with the file."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.sky.weather import STEPS, Climate, climate, modem, series

SKY = """
[run]
duration = "6 s"
[source.constellation]
preset = "starlink-shell1"
ground_ports = "per-link"
[port.ground]
rate = "10 Mbit"
[node.london]
place = "London"
kind = "station"
{weather}
[node.new-york]
place = "New York"
kind = "station"
[[flow]]
from = "london"
to = "new-york"
cc = "cubic"
"""


# Information bits of a normal frame (BCH input) by code rate: ETSI EN 302 307-1, table 5a.
BCH_BITS = {
    "1/4": 16008,
    "1/3": 21408,
    "2/5": 25728,
    "1/2": 32208,
    "3/5": 38688,
    "2/3": 43040,
    "3/4": 48408,
    "4/5": 51648,
    "5/6": 53840,
    "8/9": 57472,
    "9/10": 58192,
}
# C/N in dB, rounded to a tenth, as satbroadcasts.com quotes it from the standard (2013), in the
# order of STEPS.
QUOTED_DB = (-2.4, -1.2, 0, 1, 2.2, 3.1, 4, 4.6, 5.2, 5.5, 6.6, 7.9, 9, 10.2, 11, 11.6, 12.6, 13.6, 14.3, 15.7, 16.1)


def test_the_steps_are_those_of_dvb_s2() -> None:
    bits = {"QPSK": 2, "8PSK": 3, "16APSK": 4, "32APSK": 5}
    for (name, db, efficiency), quoted in zip(STEPS, QUOTED_DB, strict=True):
        modulation, rate = name.split()
        # A frame has 64800 coded bits in slots of 90 symbols, and a header of one slot; 80 bits are
        # the baseband header.
        symbols = 90 * (64800 / bits[modulation] / 90 + 1)
        assert efficiency == pytest.approx((BCH_BITS[rate] - 80) / symbols, abs=1e-6), name
        # The list rounds -0.30 to 0; elsewhere, it is within a sixth of a decibel.
        assert abs(db - quoted) <= (0.3 if name == "QPSK 2/5" else 0.14), name
        # No code is better than Shannon's limit, and none of these is 3 dB worse.
        shannon_db = 10 * np.log10(2**efficiency - 1)
        assert 0.5 < db - shannon_db < 3, name


def test_a_series_exceeds_what_its_climate_says_as_often_as_it_says() -> None:
    c = Climate(m=-2.0, sigma=1.5, rain_share=0.07)
    # The correlation time is 5000 s, so that steps of 20000 s yield nearly independent values.
    a = series(c, 100_000, step_s=20_000.0, seed=1)
    for share in (0.05, 0.01, 0.001):
        found = (a > c.exceeded(share)).mean()
        # Four standard deviations of a fraction of independent values.
        assert abs(found - share) < 4 * np.sqrt(share / len(a)), share
    assert abs((a > 0).mean() - 0.07) < 0.004
    assert (series(c, 500, step_s=1.0, seed=3) == series(c, 500, step_s=1.0, seed=3)).all()


def test_a_series_forgets_as_slowly_as_its_correlation() -> None:
    c = Climate(m=0.0, sigma=0.1, rain_share=0.999999)
    a = np.log(series(c, 200_000, step_s=100.0, seed=2) + np.exp(-0.1 * 4.7534))
    a -= a.mean()
    lag = 50  # 5000 s: 1/e
    assert abs((a[lag:] * a[:-lag]).mean() / a.var() - np.exp(-1)) < 0.05


def test_the_modem_steps_down_with_the_rain_and_loses_what_comes_too_fast() -> None:
    slow = np.linspace(0, 20, 2001)
    link = modem(slow, clear_sky_db=14.0, step_s=1.0)
    assert link.rate_share[0] == 1
    assert (np.diff(link.rate_share) <= 0).all()
    assert link.step[0] == "32APSK 3/4"
    assert link.loss.max() == 1 and link.rate_share[-1] == 0 and link.step[-1] == "none"  # noqa: PT018
    assert (link.loss[link.rate_share > 0] == 0).all(), "a margin of 1 dB covers 0.01 dB a second"
    cliff = modem(np.array([0.0, 6.0, 6.0, 6.0]), clear_sky_db=14.0)
    assert cliff.loss.tolist() == [0, 1, 0, 0], "for one lag the step is too high"
    assert all(a[1] < b[1] and a[2] < b[2] for a, b in itertools.pairwise(STEPS))


def test_a_scenario_slows_down_in_the_rain(tmp_path: Path) -> None:
    (tmp_path / "rain.csv").write_text("# half\nt_s,rate_share,loss\n0,0.5,0\n", encoding="utf-8")
    run = {}
    for name, weather in (("dry", ""), ("wet", 'weather = "rain.csv"')):
        path = tmp_path / f"{name}.toml"
        path.write_text(SKY.format(weather=weather), encoding="utf-8")
        run[name] = perigee.load(path).run().summary["goodput_mbps"]
    assert run["wet"] / run["dry"] == pytest.approx(0.5, rel=0.06)


def test_statistics_are_those_of_the_recommendations(cli: Cli, tmp_path: Path) -> None:
    itur = pytest.importorskip("itur", reason="the extra `weather` is not installed")
    c = climate(51.5, -0.14, frequency_ghz=14.25, elevation_deg=31.077)
    # itur divides by zero at the zenith, where a satellite in use may be.
    zenith = climate(51.5, -0.14, frequency_ghz=28, elevation_deg=90)
    assert zenith.exceeded(0.001) == pytest.approx(
        climate(51.5, -0.14, frequency_ghz=28, elevation_deg=88).exceeded(0.001), rel=0.02
    )
    for percent in (0.01, 0.1, 1.0):
        asked = itur.models.itu618.rain_attenuation(51.5, -0.14, 14.25, 31.077, p=percent).value
        # A log-normal distribution is slightly less curved than that of the recommendation.
        assert c.exceeded(percent / 100) == pytest.approx(float(asked), rel=0.25)
    path = tmp_path / "sky.toml"
    path.write_text(SKY.format(weather=""), encoding="utf-8")
    done = cli("weather", path, "--node", "london", "--out", "rain.csv", "--start", "0.01", "--plot", "rain.png")
    assert done.returncode == 0, done.stderr
    path.write_text(SKY.format(weather='weather = "rain.csv"'), encoding="utf-8")
    assert cli("run", path, "--out", "out").returncode == 0
    done = cli("weather", path, "--node", "paris", "--out", "rain.csv")
    assert done.returncode == 2
    assert "none of london, new-york" in done.stderr
