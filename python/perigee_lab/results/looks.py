# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Styles of schemes: colour, dashes and marker, the same in reports, plots and figures of studies.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color), which colour-blind readers can
distinguish, and a few others; related schemes share a colour, but for OrbCC next, which figures
compare with OrbCC. Schemes of the same colour
or of similar brightness differ in their dashes, and no two have the same marker, so that a
greyscale copy is readable. Bars of related schemes differ in their hatches (`style.bar` of the
studies).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SOLID: tuple[float, ...] = ()
DASHED, DASH_DOT, DOTTED = (3.7, 1.6), (6.4, 1.6, 1.0, 1.6), (1.0, 1.65)
LONG, DASH_DOT_DOT = (8.0, 2.0), (6.0, 1.5, 1.0, 1.5, 1.0, 1.5)


@dataclass(frozen=True)
class Look:
    """Colour (#rrggbb), marker of matplotlib, and dashes.

    Dashes are lengths on and off in line widths, empty if solid.
    """

    colour: str
    marker: str
    dashes: tuple[float, ...]

    def line(self) -> dict[str, Any]:
        """Arguments of `Axes.plot` without a marker."""
        return {"color": self.colour, "linestyle": (0, self.dashes) if self.dashes else "-"}

    def both(self) -> dict[str, Any]:
        """Arguments of `Axes.plot` with the marker."""
        return {**self.line(), "marker": self.marker}

    def page(self) -> dict[str, Any]:
        """Data for a page: colours for light and dark mode, and the dashes."""
        return {"light": self.colour, "dark": on_dark(self.colour), "dashes": list(self.dashes)}


BUILT_IN = {
    "newreno": Look("#6B6B6B", "<", LONG),
    "cubic": Look("#0072B2", "o", SOLID),
    "vegas": Look("#8A5A44", ">", (2.0, 1.2)),
    "copa": Look("#000000", "p", DASH_DOT),
    "hybla": Look("#999933", "8", (1.0, 1.0, 4.0, 1.0)),
    "bbr": Look("#009E73", "s", DASHED),
    "bbr3": Look("#D55E00", "^", DASH_DOT),
    "bbr3_hint": Look("#D55E00", "2", (2.0, 3.0)),
    "prague": Look("#000000", "_", (3.0, 1.5)),
    "ledbatpp": Look("#6B6B6B", "$L$", (1.0, 2.0, 4.0, 2.0)),
    "c4": Look("#8A5A44", "$C$", (3.0, 1.0, 1.0, 2.0)),
    "leocc": Look("#56B4E9", "D", (3.0, 1.0, 1.0, 1.0)),
    "leocc_omnet": Look("#56B4E9", "d", LONG),
    "satcp": Look("#CC79A7", "v", (5.0, 1.0)),
    "leo-cubic": Look("#0072B2", "$P$", (2.0, 1.0, 2.0, 3.0)),
    "leo-bbr": Look("#009E73", "$Q$", (1.0, 1.0, 3.0, 3.0)),
    "satpipe": Look("#009E73", "$S$", (6.0, 1.5)),
    "ppb": Look("#117733", "$B$", (2.0, 1.0, 1.0, 1.0)),
    "starquic_cubic": Look("#0072B2", "|", (5.0, 1.0, 2.0, 1.0)),
    "starquic_bbr3": Look("#D55E00", "H", (4.0, 4.0)),
    "hpcc": Look("#009E73", "+", (1.0, 3.0)),
    "hpcc_tcp": Look("#009E73", "x", DASH_DOT_DOT),
    "xcp": Look("#882255", "$X$", (7.0, 2.0)),
    "rcp": Look("#882255", "$R$", (2.0, 1.5)),
    "vivace": Look("#6D4BC3", "X", (1.0, 1.0)),
    "astraea": Look("#999999", "h", (4.0, 2.0, 1.0, 2.0)),
    "astraea_leo": Look("#999999", "$A$", (6.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
    "policy": Look("#999999", ".", (1.0, 5.0)),
    "orbcc": Look("#E69F00", "P", (8.0, 1.0, 1.0, 1.0)),
    "orbcc-repro": Look("#E69F00", "*", SOLID),
    "orbcc-head": Look("#E69F00", "1", DASHED),
    "orbcc-pint": Look("#E69F00", "3", (2.0, 1.2)),
    "orbcc-next": Look("#661100", "$N$", (6.0, 2.0, 2.0, 2.0)),
    "leotcp": Look("#E69F00", "4", DOTTED),
}
# Colours of schemes that are not built in, in order; no built-in scheme has one of these colours.
SPARE_COLOURS = ("#B5179E", "#4B7F00", "#004488", "#BB3E5B", "#2A9D8F", "#7F7F00")
SPARE_DASHES = (SOLID, (2.0, 2.0), (7.0, 1.0, 2.0, 1.0), (4.0, 1.0, 1.0, 1.0, 1.0, 1.0))
SPARE_MARKERS = "osD^vX"
DARKEST_ON_DARK = 0.45


def of(schemes: Sequence[str]) -> dict[str, Look]:
    """The styles of the schemes of one plot.

    Those of built-in schemes are fixed, also where a label precedes the scheme (`folder: cubic`); the other
    schemes get the remaining styles in order. A scheme under a further label has its colour with other dashes.
    """
    left = (
        Look(colour, marker, SPARE_DASHES[(place + turn) % len(SPARE_DASHES)])
        for turn in range(len(SPARE_DASHES))
        for place, (colour, marker) in enumerate(zip(SPARE_COLOURS, SPARE_MARKERS, strict=True))
    )
    last = Look(SPARE_COLOURS[0], SPARE_MARKERS[0], SOLID)
    found: dict[str, Look] = {}
    for cc in schemes:
        if cc not in found:
            known = BUILT_IN.get(cc) or BUILT_IN.get(cc.rpartition(": ")[2])
            found[cc] = next(left, last) if known is None else _unused(known, list(found.values()))
    return found


def _unused(look: Look, taken: Sequence[Look]) -> Look:
    """The style, with other dashes if one of its colour and dashes is taken; itself if all are."""
    lines = {(t.colour, t.dashes) for t in taken}
    dashes = (look.dashes, *SPARE_DASHES)
    return next((replace(look, dashes=d) for d in dashes if (look.colour, d) not in lines), look)


def on_dark(colour: str) -> str:
    """The colour for dark mode, which is mixed with white."""
    rgb = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    brightness = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]
    white = max(0.0, (DARKEST_ON_DARK - brightness) / (1 - brightness)) if brightness < 1 else 0.0
    return "#" + "".join(f"{round(255 * (c + (1 - c) * white)):02x}" for c in rgb)
