# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables 1 to 4 of the Hypatia study again, over imperfect links (part of `hypatia/imperfect`).

Set-up, added after the other runs of `hypatia/imperfect` and fixed before its own: the cells of
Tables 1 to 4 (four towns, 11,000 and 5,500 km, shortest path or nearest satellite), 200 s from the
start of the shell's orbits, one run each, with the transport of `hypatia/tables` (an ACK for every
second segment, BBRv1 of ns-3 3.34 to 3.40), under the study's four schemes, BBRv3 and OrbCC, which
has telemetry on all ports. Settings: perfect links, handovers, lasers 0.01 %, radios 0.1 %,
pointing 3 min, failed 5 %; all in the full size. No bound: a cell has one run.

The shell is that of the other runs: under the study's own all handovers are soft, so that outages
would have no effect. Both strategies are policies of attachment, which exist over either shell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perigee_studies import frames, style
from perigee_studies.figures.hypatia_cases import ASSUMED, BBR_OF, PAIR, PER_ACK, STRATEGIES, TOWNS
from perigee_studies.figures.hypatia_published import NUMBER, TABLES, WIRED_TABLE
from perigee_studies.figures.hypatia_published import SCHEMES as PUBLISHED
from perigee_studies.model import Ask, Case, Keep, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from perigee_studies.model import Tables

TABLE = "received"
SCHEMES = (*PUBLISHED, "bbr3", "orbcc")
PERFECT, HANDOVERS, LASERS, POINTING = "perfect", "handovers", "lasers 0.01 %", "pointing 3 min"
SETTINGS = (PERFECT, HANDOVERS, LASERS, "radios 0.1 %", POINTING, "failed 5 %")
CELL = ["km", "strategy", "town"]
KEEP = Keep(("goodput_bps",))


def cases(ask: Ask, shell: Mapping[str, object], settings: Mapping[str, Mapping[str, object]]) -> list[Case]:
    """Cells x settings x schemes. `shell` and `settings` are overrides of the scenario."""
    towns, cells = ask.pick(("Sao Paulo",), tuple(WIRED_TABLE), tuple(WIRED_TABLE)), list(NUMBER)
    length = {"run.duration": f"{ask.count(20, 200, 200)} s"}
    out = []
    for town in towns:
        for km, strategy in ask.pick(cells[:1], cells, cells):
            ends = {"flow.0.from": TOWNS[town], "flow.0.to": f"{TOWNS[town]}-{km}"}
            attach = {"source.constellation.attach": STRATEGIES[strategy]}
            for name in ask.pick((PERFECT, LASERS), SETTINGS, tuple(settings)):
                labels = {"town": town, "km": km, "strategy": strategy, "setting": name, "run": 1}
                sets = {**length, **ends, **attach, **shell, **settings[name]}
                out += [Case(PAIR, cc, labels, 1, sets | _transport(cc), KEEP) for cc in ask.schemes(SCHEMES)]
    return out


def _transport(cc: str) -> dict[str, object]:
    """Settings of `hypatia/tables`, and telemetry for OrbCC."""
    more: dict[str, Mapping[str, object]] = {"bbr": BBR_OF[ASSUMED], "orbcc": {"port.all.metered": True}}
    return {"tcp.delayed_ack": PER_ACK, **more.get(cc, {})}


def is_here(o: Outcome) -> bool:
    """Whether an outcome is of this part: the other runs have no strategy."""
    return "strategy" in o.case.labels


def table(found: Sequence[Outcome]) -> pd.DataFrame:
    """One row per cell, setting and scheme.

    The scheme is `what`: these are not the schemes of the claims on `runs`, which the permutation
    test exchanges (`perigee_studies.exchanged`).
    """
    return frames.table(found, _row).rename(columns={"cc": "what"})


def _row(o: Outcome) -> dict[str, Any]:
    flow = o.digest.flows[0]
    return {
        "mbit": flow["goodput_bytes"] * 8 / 1e6,
        "rtt_mean_ms": frames.number(flow["rtt_mean_ms"]),
        "lost_pct": lost_pct(flow),
        "timeouts": flow["timeouts"],
    }


def lost_pct(flow: Mapping[str, Any]) -> float:
    """Packets lost on links, at random and in outages, in % of those sent."""
    lost = sum(flow[f"drops_{why}"] or 0 for why in ("random", "outage"))
    return 100 * lost / max(1, int(flow["sent_packets"]))


def shares(received: pd.DataFrame) -> pd.DataFrame:
    """Payload over that received over perfect links, by scheme and cell (rows) and setting (columns)."""
    wide = _wide(received)
    return wide.drop(columns=PERFECT).div(wide[PERFECT], axis=0) if PERFECT in wide else wide.iloc[:, :0]


def _wide(received: pd.DataFrame) -> pd.DataFrame:
    """Payload in Mbit, by scheme and cell (rows) and setting (columns), in the order of the runs."""
    wide = received.pivot_table(index=["what", *CELL], columns="setting", values="mbit", sort=False)
    return wide[list(dict.fromkeys(received["setting"]))]


def _cells(received: pd.DataFrame) -> list[tuple[int, str, str]]:
    """The cells, in the order of the study's tables."""
    there = set(received[CELL].itertuples(index=False, name=None))
    return [(*at, town) for at in NUMBER for town in WIRED_TABLE if (*at, town) in there]


def _schemes(received: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(received["what"]))


def draw(t: Tables) -> dict[str, Any]:
    """Plots heat maps of the shares that are left, one per scheme; nothing without runs."""
    if TABLE not in t or shares(t[TABLE]).empty:
        return {}
    received = t[TABLE]
    left, cells, ccs = shares(received), _cells(received), _schemes(received)
    names = [f"{NUMBER[km, strategy]}: {town}, {km:,} km, {strategy}" for km, strategy, town in cells]
    columns = min(3, len(ccs))
    height = 0.19 * len(cells) + 0.7
    figure, axes = style.panels(columns, -(-len(ccs) // columns), width=2.7, height=height, sharey=True)
    settings = [name.replace(" ", "\n", 1).replace("handovers", "hand-\novers") for name in left]
    for a, cc in zip(axes.flat, ccs, strict=False):
        grid = left.reindex([(cc, *cell) for cell in cells]).to_numpy()
        style.heat(a, names, settings, grid, vmin=0.0, vmax=1.0)
        for number in range(len(cells) // len(WIRED_TABLE) - 1):
            a.axhline((number + 1) * len(WIRED_TABLE) - 0.5, color="white", linewidth=2)
        a.set_title(style.label(cc), loc="left")
    for a in axes.flat[len(ccs) :]:
        a.set_visible(False)
    return {"again": figure}


def summary(t: Tables) -> list[str]:
    """The study's tables with a column per setting, folded; nothing without runs."""
    if TABLE not in t:
        return []
    received = t[TABLE]
    wide = _wide(received)
    heads = ["table", "town", "km", "strategy", "scheme", "published", *wide]
    lines = [f"| {' | '.join(heads)} |", "|---|---|---:|---|---|" + "---:|" * (len(heads) - 5)]
    rows = [(cc, *cell) for cell in _cells(received) for cc in _schemes(received)]
    for (cc, km, strategy, town), row in zip(rows, wide.reindex(rows).to_numpy(), strict=True):
        cells = " | ".join("" if math.isnan(mbit) else f"{mbit:.0f}" for mbit in row)
        first = f"| {NUMBER[km, strategy]} | {town} | {km:,} | {strategy} | {style.label(cc)}"
        lines.append(f"{first} | {_published(km, strategy, town, cc)} | {cells} |")
    return [
        '<details markdown="1">',
        "<summary>Tables 1 to 4 again: payload received, Mbit, by setting</summary>",
        "",
        *lines,
        "",
        "</details>",
    ]


def _published(km: int, strategy: str, town: str, cc: str) -> str:
    """The published payload in Mbit; empty for schemes that the study does not have."""
    return f"{TABLES[km, strategy][town][PUBLISHED.index(cc)]:.0f}" if cc in PUBLISHED else ""


def finding(t: Tables) -> str:
    """What is left over the cells, in one sentence; empty without the runs it needs."""
    if TABLE not in t:
        return ""
    left = shares(t[TABLE])
    if not {HANDOVERS, LASERS, POINTING} <= set(left):
        return ""
    by = left.groupby("what", sort=False).mean()
    number = len(_cells(t[TABLE]))
    lasers = ", ".join(f"{_name(str(cc))} {100 * share:.0f} %" for cc, share in by[LASERS].items())
    cc, km, strategy, town = left[LASERS].idxmin()
    return (
        f" In Tables 1 to 4 again ({number} cells, one run each), 0.01 % per laser leaves, in the mean over cells, "
        f"{lasers}, and least {100 * left[LASERS].min():.0f} % ({style.label(cc)}, {town}, {km:,} km, {strategy}); "
        f"outages leave {_range(by[HANDOVERS])}, losses of pointing once in 3 minutes {_range(by[POINTING])}."
    )


def _name(cc: str) -> str:
    return style.label(cc) + (" with telemetry on all ports" if cc == "orbcc" else "")


def _range(by_scheme: pd.Series) -> str:
    """The least and the largest mean of the schemes."""
    return f"{100 * by_scheme.min():.0f} to {100 * by_scheme.max():.0f} %"


METHOD = """Tables 1 to 4 again: added later, with its settings fixed before its runs. The cells of the study's tables
(11,000 and 5,500 km, shortest path or nearest satellite), 200 s from the start of the shell's orbits (20 s at the quick
size), one run each, with the transport of `hypatia/tables`: an ACK for every second segment, where the runs above have
one for each, and BBRv1 as in ns-3 3.34 to 3.40. OrbCC has telemetry on all ports. Both strategies are policies of
attachment (`attach`), as over the study's own shell; that one differs in ranges from a cone over a flat Earth in place
of an elevation of 25 degrees, in orbits by SGP4, and in stations with soft handovers, under which outages have no
effect. Cells with perfect links are therefore not those of `hypatia/tables`."""
METRICS = """Payload received: in order, by the end of the run, Mbit; the share that is left is that over perfect links
of the same cell and scheme."""
CAPTION = """Tables 1 to 4 again: share of the payload over perfect links that is left, one run per number; rows begin
with the number of the study's table."""
COLUMNS = {
    "km": "distance of the ends (`received`)",
    "strategy": "selection of satellites: shortest path, or nearest to each end (`received`)",
    "what": "scheme (`received`)",
    "mbit": "payload received by the end of the run, Mbit (`received`)",
    "rtt_mean_ms": "mean RTT of the transport's samples, ms (`received`)",
}
