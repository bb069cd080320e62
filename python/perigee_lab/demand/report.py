# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Report page of a record of `perigee demand`, or of two side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.files import RecordError, write_text
from perigee_lab.demand import maps
from perigee_lab.demand.columns import DIRECTIONS
from perigee_lab.results import webpage

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from perigee_lab.demand.record import Record

MOST_ROWS = 10
# Links of a kind that are listed.
MOST_OF_KIND = 5
HALF = 0.5
DPI = 110
STYLE = """body{font:15px/1.5 sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#1b2733}img{max-width:100%}
table{border-collapse:collapse;font-size:14px}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}.two{display:grid;grid-template-columns:1fr 1fr;gap:1.5em}
.wide{overflow-x:auto}@media(max-width:800px){.two{grid-template-columns:minmax(0,1fr)}.two>div{min-width:0}}
pre{background:#f6f6f6;padding:1em;overflow:auto}.note{color:#5b6876}"""


def write(record: Record, page: Path, other: Record | None = None) -> None:
    """Writes the page; with `other`, that record on the left and `record` on the right."""
    title = quoting.html(record.start["title"])
    body = [f"<h1>{title}</h1>", f'<p class="note">{quoting.html(_about(record))}</p>']
    if other is None:
        body += [_list(lines(record)), *(heading + content for heading, content in _sections(record))]
    else:
        body += [_list(lines(record, other)), "<h2>Who loses</h2>", *_losses(record, other)]
        body += ["<h2>Gateways</h2>", _gateways(record, other)]
        pairs = zip(_sections(other), _sections(record), strict=True)
        names = [f'<p class="note">{quoting.html(r.folder.name)}</p>' for r in (other, record)]
        body += [
            f'{heading}<div class="two"><div>{names[0]}{left}</div><div>{names[1]}{right}</div></div>'
            for (heading, left), (_, right) in pairs
        ]
    scenario = quoting.html(record.start["scenario"])
    body.append(f"<details><summary>scenario</summary><pre>{scenario}</pre></details>")
    policy = quoting.html(webpage.policy([], [STYLE]))
    meta = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    meta += '<meta name="viewport" content="width=device-width">'
    meta += f"<title>{title}</title><style>{STYLE}</style>"
    head = f'<!DOCTYPE html><html lang="en"><head>{meta}</head>'
    write_text(page, f"{head}<body>{''.join(body)}</body></html>\n")


def _about(record: Record) -> str:
    start = record.start
    hours = start["duration_s"] / 3600
    return (
        f"{start['satellites']:,} satellites, {len(start['gateways'])} gateways, {start['cells']:,} cells with "
        f"{record.cells['terminals'].sum():,.0f} terminals; {hours:.4g} h from {start['start']} in steps of "
        f"{start['step_s']:g} s"
    )


def _below(record: Record, limit_mbps: float) -> list[str]:
    """How many terminals the cells below the threshold have, and how many of these reach no gateway."""
    frame = _by_cell(record, 0)
    below = frame[frame["below"] >= HALF * frame["active"].where(frame["active"] > 0)]
    if not len(below):
        return []
    apart = below[below["no_gateway_share"] >= HALF]["terminals"].sum()
    return [
        f"{below['terminals'].sum():,.0f} of {frame['terminals'].sum():,.0f} terminals are in cells below "
        f"{limit_mbps:g} Mbit/s (or their plan) half of the time or more, {apart:,.0f} of these without a path to a "
        "gateway; cells.csv has each cell"
    ]


def _list(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{quoting.html(t)}</li>" for t in texts) + "</ul>"


def lines(record: Record, other: Record | None = None) -> list[str]:
    """What the record says, a sentence a line; with `other`, also the differences from it."""
    m = record.manifest
    found = []
    if record.window_s is not None:
        found.append(f"from {maps.clock(record.window_s[0])} to {maps.clock(record.window_s[1])} of the run:")
    for direction in DIRECTIONS:
        t = record.totals[direction]
        now = _shares(t)
        text = (
            f"{direction}: {now['served_bps'] / 1e9:.1f} of {now['offered_bps'] / 1e9:.1f} Gbit/s are served "
            f"({now['served']:.1%}); no gateway {now['no_gateway']:.2%}, no capacity {now['no_capacity']:.2%}"
        )
        if other is not None:
            before = _shares(other.totals[direction])
            text += f"; {other.folder.name}: {before['served_bps'] / 1e9:.1f} Gbit/s ({before['served']:.1%})"
        found.append(text)
    down = record.totals["down"]
    if down["active"] > 0:
        share = down["below"] / down["active"]
        limit = m["threshold_bps"] / 1e6
        text = f"{share:.1%} of the active terminals have less than {limit:g} Mbit/s down (or than their plan)"
        if other is not None and other.totals["down"]["active"] > 0:
            before_down = other.totals["down"]
            text += f"; {other.folder.name}: {before_down['below'] / before_down['active']:.1%}"
        found.append(text)
        found += _below(record, limit)
    if other is not None:
        found += _hit(record, other)
    if m["failed_steps"]:
        first = m["failed"][0]
        found.append(
            f"{m['failed_steps']} steps could not be allocated, the first at {first['t_s']:g} s: {first['why']}"
        )
    if m["steps_without_a_path"]:
        found.append(f"in {m['steps_without_a_path']} steps no cell reached a gateway")
    errors = m["conservation"]
    worst = max(errors.values(), default=0.0)
    found.append(f"conservation: largest relative error {worst:.1e} (offered, carried, capacity)")
    if m["duality_gap"] > 0:
        found.append(f"largest duality gap of the rates: {m['duality_gap']:.1e}")
    return found + [f"warning: {w}" for w in record.start.get("warnings", [])]


def _shares(total: dict[str, float]) -> dict[str, float]:
    offered = total["elastic_offered_bps"] + total["inelastic_offered_bps"]
    served = total["elastic_bps"] + total["inelastic_bps"]
    of = max(offered, 1e-300)
    return {
        "offered_bps": offered,
        "served_bps": served,
        "served": served / of,
        "no_gateway": total["no_gateway_bps"] / of,
        "no_capacity": total["no_capacity_bps"] / of,
    }


def _hit(record: Record, other: Record) -> list[str]:
    """How many terminals lose how much."""
    lost = losses(record, other)
    found = []
    for share in (0.1, 0.5, 0.9):
        hit = lost[lost["lost_share"] >= share]
        cells = "cell" if len(hit) == 1 else "cells"
        found.append(
            f"{hit['terminals'].sum():,.0f} terminals in {len(hit)} {cells} lose {share:.0%} or more of their traffic"
        )
    return found


def losses(record: Record, other: Record, direction: int = 0) -> pd.DataFrame:
    """A row per cell: served traffic in `other` and in `record`, most lost bits first.

    Raises RecordError if their cells differ.
    """
    import pandas as pd

    mine, theirs = (_by_cell(r, direction) for r in (record, other))
    if list(mine["cell"]) != list(theirs["cell"]):
        raise RecordError("the two records have different cells: compare demands with the same [demand] cells")
    frame = pd.DataFrame({
        "cell": mine["cell"],
        "lat_deg": mine["lat_deg"],
        "lon_deg": mine["lon_deg"],
        "terminals": mine["terminals"],
        "before_mbps": theirs["served_bps"] / theirs["active"] / 1e6,
        "after_mbps": mine["served_bps"] / mine["active"] / 1e6,
        "below_before": theirs["below"] / theirs["active"],
        "below_after": mine["below"] / mine["active"],
        "rtt_before_ms": theirs["rtt_ms"],
        "rtt_after_ms": mine["rtt_ms"],
    })  # fmt: skip
    frame["lost_share"] = (1 - mine["served_bps"] / theirs["served_bps"]).where(theirs["served_bps"] > 0, 0.0)
    frame["lost_bps"] = theirs["served_bps"] - mine["served_bps"]
    return frame.sort_values("lost_bps", ascending=False, kind="stable").reset_index(drop=True)


def _by_cell(record: Record, direction: int) -> pd.DataFrame:
    """Cells with all plans together."""
    frame = record.by_cell
    frame = frame[frame["direction"] == DIRECTIONS[direction]].copy()
    frame["below"] = frame["below_share"].fillna(0.0) * frame["active"]
    plans = len(record.start["plans"])
    first = frame.iloc[::plans].reset_index(drop=True)
    for name in ("active", "below", "served_bps", "offered_bps"):
        first[name] = frame[name].to_numpy(np.float64).reshape(-1, plans).sum(axis=1)
    worst = frame["worst_rate_mbps"].to_numpy(np.float64).reshape(-1, plans)
    first["worst_rate_mbps"] = np.where(np.isfinite(worst), worst, np.inf).min(axis=1)
    return first


def _losses(record: Record, other: Record) -> list[str]:
    lost = losses(record, other).head(2 * MOST_ROWS)
    rows = [
        (r["cell"], f"{r['terminals']:,.0f}", f"{r['before_mbps']:.1f}", f"{r['after_mbps']:.1f}",
         f"{r['lost_share']:.1%}", f"{r['below_before']:.1%}", f"{r['below_after']:.1%}",
         f"{r['rtt_before_ms']:.0f}", f"{r['rtt_after_ms']:.0f}")
        for r in lost.to_dict("records")
    ]  # fmt: skip
    head = ("cell", "terminals", "before, Mbit/s", "after, Mbit/s", "lost", "below before", "below after",
            "RTT before, ms", "RTT after, ms")  # fmt: skip
    return [webpage.image(_map(record, "lost", other), DPI, "map: lost traffic"), _table(head, rows)]


def rehomed(record: Record, other: Record) -> pd.DataFrame:
    """A row per pair of gateways: terminals of cells that have the first in `other` and the second in `record`."""
    mine, theirs = (_by_cell(r, 0) for r in (record, other))
    import pandas as pd

    moves = pd.DataFrame({
        "from": theirs["gateway"].map(_text), "to": mine["gateway"].map(_text), "terminals": mine["terminals"],
    })  # fmt: skip
    return moves.groupby(["from", "to"], sort=True)["terminals"].sum().reset_index()


def _gateways(record: Record, other: Record) -> str:
    """Terminals of each gateway in both records, and where those of each moved."""
    moves = rehomed(record, other)
    rows = []
    names = [g["name"] for g in record.start["gateways"]]
    for name in [*names, *(n for n in ("none",) if n in {*moves["from"], *moves["to"]})]:
        before, after = (moves[moves[end] == name] for end in ("from", "to"))
        left = before[before["to"] != name].sort_values("terminals", ascending=False)
        moved = [f"{n:,.0f} to {to}" for to, n in zip(left["to"], left["terminals"], strict=True)]
        more = f", {len(moved) - 3} more" if len(moved) > 3 else ""
        totals = (f"{frame['terminals'].sum():,.0f}" for frame in (before, after))
        rows.append((name, *totals, f"{left['terminals'].sum():,.0f}", ", ".join(moved[:3]) + more))
    head = ("gateway", "terminals before", "after", "moved away", "to")
    note = "A cell counts for the gateway that carries most of its terminals, most of the time."
    return f'{_table(head, rows)}<p class="note">{note}</p>'


def _sections(record: Record) -> list[tuple[str, str]]:
    """Headings and contents."""
    limit = record.start["threshold_bps"] / 1e6
    images = {
        what: webpage.image(_map(record, what), DPI, f"map: {what}") for what in ("rate", "below", "unserved", "load")
    }
    busiest = f"At {maps.clock(maps.busiest(record, 0))}, the busiest interval of this record"
    return [
        (
            f"<h2>Users below {limit:g} Mbit/s by hour</h2>",
            webpage.image(_hours(record), DPI, "share of users by hour"),
        ),
        (f"<h2>Where users have less than {limit:g} Mbit/s</h2>", images["below"]),
        ("<h2>What an active terminal gets</h2>", images["rate"]),
        ("<h2>What is not served</h2>", images["unserved"]),
        ("<h2>Load of ISLs, feeders and gateways</h2>", f'<p class="note">{busiest}</p>{images["load"]}'),
        ("<h2>Hottest links of each kind</h2>", _links(record)),
        ("<h2>Worst cells</h2>", _worst(record)),
    ]


def _map(record: Record, what: str, other: Record | None = None) -> Any:
    figure = webpage.figure(maps.WIDE_IN, maps.HIGH_IN)
    maps.draw_on(figure, record, what, other)
    return figure


def _hours(record: Record) -> Any:
    """Shares by local and UTC hour, of each plan."""
    hours = record.hours
    figure = webpage.figure(maps.WIDE_IN, 2.6)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, clock in zip(axes, ("local", "utc"), strict=True):
        for plan in record.start["plans"]:
            of = hours[(hours["clock"] == clock) & (hours["plan"] == plan["name"])]
            for direction, style in zip(DIRECTIONS, ("-", ":"), strict=True):
                line = of[of["direction"] == direction]
                axis.plot(
                    line["hour"],
                    100 * line["below_share"],
                    style,
                    marker="o",
                    ms=3,
                    label=quoting.plot(f"{plan['name']}, {direction}"),
                )
        axis.set_xlabel({"local": "local solar time, h", "utc": "UTC, h"}[clock], fontsize=8)
        axis.set_xticks(range(0, 25, 6))
        axis.set_xlim(-0.5, 24)
        axis.set_ylim(0, 100)
        axis.grid(alpha=0.3)
        axis.tick_params(labelsize=7)
    axes[0].set_ylabel("% of active terminals", fontsize=8)
    axes[1].legend(fontsize=6)
    return figure


def _links(record: Record) -> str:
    """The hottest links of each kind that can be full: feeders, gateways, ISLs, radios, beams."""
    links = record.links.groupby("kind", sort=False).head(MOST_OF_KIND)
    since_s, until_s = record.links_s
    seconds = until_s - since_s
    rows = [
        (f"{r['kind']} {r['from']}" + (f" to {r['to']}" if r["to"] != r["from"] else ""), r["direction"],
         f"{r['full_s'] / seconds:.0%}", f"{r['mean_mbps'] / 1e3:.2f}", f"{r['peak_mbps'] / 1e3:.2f}",
         f"{r['capacity_mbps'] / 1e3:.2f}", f"{r['peak_share']:.0%}")
        for r in links.to_dict("records")
    ]  # fmt: skip
    head = (
        "link",
        "direction",
        "time at 95 % or more",
        "mean, Gbit/s",
        "peak, Gbit/s",
        "capacity, Gbit/s",
        "peak / capacity",
    )
    note = ""
    if record.window_s not in (None, record.links_s):
        note = f"Links are recorded in intervals of {record.start['record_links_s']:g} s: from "
        note += f"{maps.clock(since_s)} to {maps.clock(until_s)}."
    return _table(head, rows) + (f'<p class="note">{quoting.html(note)}</p>' if note else "")


def _worst(record: Record) -> str:
    """Cells with the lowest mean rate of an active terminal."""
    frame = _by_cell(record, 0)
    frame = frame[frame["active"] > 0].copy()
    frame["rate"] = frame["served_bps"] / frame["active"] / 1e6
    frame = frame.sort_values(["rate", "terminals"], ascending=[True, False], kind="stable").head(MOST_ROWS)
    rows = [
        (r["cell"], f"{r['terminals']:,.0f}", f"{r['rate']:.2f}", f"{r['worst_rate_mbps']:.2f}",
         f"{r['below'] / r['active']:.1%}", _known(r["rtt_ms"], ".0f"), _text(r["gateway"]))
        for r in frame.to_dict("records")
    ]  # fmt: skip
    worst = (
        "worst minute, Mbit/s" if record.start["record_s"] == 60 else f"worst {record.start['record_s']:g} s, Mbit/s"
    )
    head = ("cell", "terminals", "mean, Mbit/s", worst, "time below", "RTT, ms", "gateway")
    return _table(head, rows)


def _known(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "none"


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else "none"


def as_json(record: Record, other: Record | None) -> dict[str, Any]:
    """The report for machines."""
    found: dict[str, Any] = {"lines": lines(record, other), "totals": record.totals}
    if other is not None:
        lost = losses(record, other)
        rows = lost.astype(object).where(lost.notna(), None).to_dict("records")
        moves = rehomed(record, other).to_dict("records")
        found |= {"before": other.totals, "cells": rows, "gateways": moves}
    return found


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def row(cells: Sequence[str], mark: str) -> str:
        return "<tr>" + "".join(f"<{mark}>{quoting.html(c)}</{mark}>" for c in cells) + "</tr>"

    return f'<div class="wide"><table>{row(head, "th")}{"".join(row(r, "td") for r in rows)}</table></div>'
