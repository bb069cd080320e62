# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rain on a ground link: attenuation by ITU-R models, time series, and the modem's response.

Attenuation statistics are from the package `itur` (ITU-R P.618, P.837, P.838, P.839; the extra
`weather`). The series follows the synthesiser of Maseng and Bakken (IEEE Trans. Communications 29,
1981) in the form of ITU-R P.1853-1, annex 1, section 2: a stationary Gaussian process X with
correlation exp(-beta t), beta = 2e-4 1/s, and

    A(t) = max(0, exp(m + sigma X(t)) - A_offset),  A_offset = exp(m + sigma Q^-1(P_rain)),

with m and sigma fitted to the attenuations that P.618 specifies for 0.01 to 10 % of the time (up to
the fraction of time with rain), and Q the tail function of the normal distribution. If the
satellite moves, m, sigma and P_rain are those of its elevation at each step, fitted every 5 degrees
and interpolated, while X belongs to the place: the rain is the same, and the path through it
changes.

The modem is DVB-S2 with adaptive coding and modulation (ETSI EN 302 307-1, table 13: Es/N0 for a
quasi error-free channel, and efficiency). The efficiencies follow from the frames (see the tests);
the thresholds agree with those that satbroadcasts.com quotes from the standard to a tenth of a
decibel ("Minimum carrier to noise ratio values (CNR, C/N) for DVB-S2 system", 2013). The modem
selects its step from the Es/N0 `lag_s` ago minus `margin_db`, so that a fade that deepens quickly
costs frames: with a deficit of 0.3 dB, the width of the code's waterfall region, all are lost (our
assumption; the loss is linear in between). Below the lowest step, the link is down.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perigee_lab.common import quoting
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import written

Floats = npt.NDArray[np.float64]

BETA_PER_S = 2e-4
WATERFALL_DB = 0.3
# Percentages of time for which P.618 is evaluated.
EXCEEDED = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
# Pareto-optimal steps of DVB-S2: name, Es/N0 in dB, bits per symbol.
STEPS = (
    ("QPSK 1/4", -2.35, 0.490243),
    ("QPSK 1/3", -1.24, 0.656448),
    ("QPSK 2/5", -0.30, 0.789412),
    ("QPSK 1/2", 1.00, 0.988858),
    ("QPSK 3/5", 2.23, 1.188304),
    ("QPSK 2/3", 3.10, 1.322253),
    ("QPSK 3/4", 4.03, 1.487473),
    ("QPSK 4/5", 4.68, 1.587196),
    ("QPSK 5/6", 5.18, 1.654663),
    ("8PSK 3/5", 5.50, 1.779991),
    ("8PSK 2/3", 6.62, 1.980636),
    ("8PSK 3/4", 7.91, 2.228124),
    ("16APSK 2/3", 8.97, 2.637201),
    ("16APSK 3/4", 10.21, 2.966728),
    ("16APSK 4/5", 11.03, 3.165623),
    ("16APSK 5/6", 11.61, 3.300184),
    ("32APSK 3/4", 12.73, 3.703295),
    ("32APSK 4/5", 13.64, 3.951571),
    ("32APSK 5/6", 14.28, 4.119540),
    ("32APSK 8/9", 15.69, 4.397854),
    ("32APSK 9/10", 16.05, 4.453027),
)


class WeatherError(PerigeeError):
    """A requirement is missing or a value is impossible; the message states which."""


@dataclass(frozen=True)
class Climate:
    """Log-normal rain attenuation A in dB at a place.

    Ln A has mean `m` and standard deviation `sigma`.
    """

    m: float
    sigma: float
    rain_share: float
    """Fraction of time with rain on the path."""

    def exceeded(self, share: float) -> float:
        """Attenuation in dB that is exceeded for this fraction of time."""
        return float(self.attenuation(np.array([_tail(share)]))[0])

    def attenuation(self, x: Floats) -> Floats:
        """Attenuation in dB for values of the Gaussian process."""
        offset = np.exp(self.m + self.sigma * _tail(self.rain_share))
        return np.asarray(np.maximum(0.0, np.exp(self.m + self.sigma * x) - offset), dtype=np.float64)


HIGHEST_DEG = 89.0
"""Higher elevations are replaced by this one; attenuations differ by less than 0.1 %."""


def climate(lat_deg: float, lon_deg: float, *, frequency_ghz: float, elevation_deg: float) -> Climate:
    """Fits the statistics of ITU-R P.618 at a place, for circular polarisation."""
    try:
        itur: Any = import_module("itur")
    except ImportError as error:
        raise WeatherError("weather needs the package itur: pip install 'perigee-lab[weather]'") from error
    p618 = itur.models.itu618
    # At the zenith, itur divides by zero.
    elevation_deg = min(elevation_deg, HIGHEST_DEG)
    with warnings.catch_warnings():
        # Near the zenith, an integral in itur converges slowly and causes a warning.
        warnings.simplefilter("ignore")
        rain = float(p618.rain_attenuation_probability(lat_deg, lon_deg, elevation_deg).value)
    asked = [p for p in EXCEEDED if p < rain]
    if len(asked) < 2:
        raise WeatherError(f"it rains {rain:.3f} % of the time at {lat_deg} N {lon_deg} E: too rarely for a series")
    db = [float(p618.rain_attenuation(lat_deg, lon_deg, frequency_ghz, elevation_deg, p=p).value) for p in asked]
    sigma, m = np.polyfit([_tail(p / 100) for p in asked], np.log(db), 1)
    return Climate(float(m), float(sigma), rain / 100)


def _tail(share: float) -> float:
    """The value that a standard normal variable exceeds with this probability."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(1 - share)


def series(c: Climate, steps: int, *, step_s: float, seed: int, start_share: float | None = None) -> Floats:
    """Attenuation in dB at each step.

    With `start_share`, it starts at the value that is exceeded for that fraction of time.
    """
    return c.attenuation(process(steps, step_s=step_s, seed=seed, start_share=start_share))


def following(climates: dict[float, Climate], x: Floats, elevation_deg: Floats) -> Floats:
    """Attenuation in dB at each step, from the process and the elevation at that step.

    The keys of `climates` are elevations in degrees, between which m, sigma and the fraction of
    rain are interpolated.
    """
    known = sorted(climates)
    each = [climates[e] for e in known]
    m = np.interp(elevation_deg, known, [c.m for c in each])
    sigma = np.interp(elevation_deg, known, [c.sigma for c in each])
    tail = np.interp(elevation_deg, known, [_tail(c.rain_share) for c in each])
    return np.asarray(np.maximum(0.0, np.exp(m + sigma * x) - np.exp(m + sigma * tail)), dtype=np.float64)


def climates_over(
    lat_deg: float, lon_deg: float, elevation_deg: Floats, *, frequency_ghz: float
) -> dict[float, Climate]:
    """Climates for every 5 degrees of the elevations of a series."""
    low, high = 5.0 * np.floor(elevation_deg.min() / 5), min(90.0, 5.0 * np.ceil(elevation_deg.max() / 5))
    each = [float(e) for e in np.arange(max(5.0, low), high + 1, 5.0)]
    return {e: climate(lat_deg, lon_deg, frequency_ghz=frequency_ghz, elevation_deg=e) for e in each}


def process(steps: int, *, step_s: float, seed: int, start_share: float | None = None) -> Floats:
    """The Gaussian process underlying a series."""
    draw = np.random.Generator(np.random.PCG64(seed))
    noise = draw.standard_normal(steps)
    rho = np.exp(-BETA_PER_S * step_s)
    x = np.empty(steps)
    # By default, the process starts in its stationary state.
    x[0] = noise[0] if start_share is None else _tail(start_share)
    for k in range(1, steps):
        x[k] = rho * x[k - 1] + np.sqrt(1 - rho * rho) * noise[k]
    return x


@dataclass(frozen=True)
class Link:
    """Response of a modem to a series, with one value per step."""

    rate_share: Floats
    loss: Floats
    step: list[str]


def modem(
    attenuation_db: Floats, *, clear_sky_db: float, margin_db: float = 1.0, lag_s: float = 1.0, step_s: float = 1.0
) -> Link:
    """Rates in steps of coding and modulation, and losses. `clear_sky_db` is Es/N0 without rain."""
    need, bits = np.array([s[1] for s in STEPS]), np.array([s[2] for s in STEPS])
    now = clear_sky_db - attenuation_db
    behind = round(lag_s / step_s)
    known = np.concatenate([np.full(behind, now[0]), now])[: len(now)] - margin_db
    best = np.searchsorted(need, clear_sky_db - margin_db, side="right") - 1
    if best < 0:
        raise WeatherError(f"an Es/N0 of {clear_sky_db} dB carries nothing even without rain")
    chosen = np.minimum(np.searchsorted(need, known, side="right") - 1, best)
    off = chosen < 0
    deficit = need[np.maximum(chosen, 0)] - now
    loss = np.where(off, 1.0, np.clip(deficit / WATERFALL_DB, 0.0, 1.0))
    rate = np.where(off, 0.0, bits[np.maximum(chosen, 0)] / bits[best])
    return Link(rate, loss, ["none" if o else STEPS[i][0] for o, i in zip(off, chosen, strict=True)])


def write_csv(path: Path, link: Link, *, step_s: float, about: str) -> int:
    """Writes the file for a scenario, with one row per change; returns the number of rows."""
    rows = 0
    with written(path) as partial, partial.open("w", encoding="utf-8") as out:
        out.write(f"# {about}\nt_s,rate_share,loss\n")
        before = None
        for k, now in enumerate(zip(link.rate_share.round(6), link.loss.round(4), strict=True)):
            if now != before:
                out.write(f"{k * step_s:g},{now[0]:g},{now[1]:g}\n")
                rows += 1
            before = now
    return rows


def plot(attenuation_db: Floats, link: Link, *, step_s: float, title: str) -> Any:
    """Plots attenuation, rate and loss over time."""
    import matplotlib.pyplot as plt

    t = np.arange(len(attenuation_db)) * step_s
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 6), layout="constrained")
    shown = ((attenuation_db, "rain, dB"), (link.rate_share, "rate, share"), (link.loss, "loss"))
    for axis, (values, label) in zip(axes, shown, strict=True):
        axis.step(t, values, where="post", color="#2f6f9f", linewidth=1.2)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.2)
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].set_ylim(0, 1.05)
    axes[2].set_ylim(0, 1.05)
    axes[0].set_title(quoting.plot(title), loc="left")
    axes[-1].set_xlabel("time, s")
    axes[-1].set_xlim(0, float(t[-1]))
    return figure
