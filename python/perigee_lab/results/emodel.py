# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Mean opinion score (MOS) of a call by the E-model of ITU-T G.107 (06/2015), from delay and loss.

R = 93.2 - Idd - Ie,eff, with defaults for all other terms: Idd is the impairment by delay without
echo (section 7.4), Ie,eff the impairment by random losses (section 7.5 with BurstR = 1). Ie and Bpl
of the codecs are from ITU-T G.113 (11/2007), appendix I.
"""

from __future__ import annotations

import math

DEFAULT_R = 93.2
"""Rating R of a call without delay and loss (G.107, table 3)."""
CODECS = {"g711": (0.0, 25.1), "g729": (11.0, 19.0)}
"""Equipment impairment Ie, and packet-loss robustness Bpl in %, by codec: G.711 with packet-loss
concealment, G.729 Annex A with voice activity detection."""


def delay_impairment(mouth_ear_ms: float) -> float:
    """Idd for an absolute one-way delay in ms; zero up to 100 ms."""
    if mouth_ear_ms <= 100:
        return 0.0
    x = math.log2(mouth_ear_ms / 100)
    return float(25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2))


def loss_impairment(codec: str, loss_pct: float) -> float:
    """Ie,eff for a percentage of packets that are not played.

    Raises:
        KeyError: the codec is not in `CODECS`.
    """
    ie, bpl = CODECS[codec]
    return ie + (95 - ie) * loss_pct / (loss_pct + bpl)


def opinion(r: float) -> float:
    """MOS, from 1 to 4.5, for a rating R (G.107, annex B)."""
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6


def mean_opinion_score(codec: str, mouth_ear_ms: float, loss_pct: float) -> float:
    """MOS, from 1 to 4.5, for a one-way delay in ms and a percentage of packets that are not played.

    NaN if one of the two is NaN, as without played packets.
    """
    if math.isnan(mouth_ear_ms) or math.isnan(loss_pct):
        return math.nan
    return opinion(DEFAULT_R - delay_impairment(mouth_ear_ms) - loss_impairment(codec, loss_pct))
