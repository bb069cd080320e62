# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Routes and network events, each event with the pairs of nodes that have an affected path."""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING, Any

from perigee_lab.common.reading import parsed_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perigee_lab.results.run import Run

KINDS = (
    "handover",
    "path-change",
    "outage-begin",
    "outage-end",
    "unreachable",
    "reachable",
    "reconfiguration",
)
# Events of a schedule on named ports.
SCHEDULED = ("outage-begin", "outage-end", "reconfiguration")
MAX_MARKS = 2000

Routes = dict[str, list[tuple[float, list[str]]]]


def routes_of(run: Run, wanted: set[Any]) -> dict[str, list[list[Any]]]:
    """Routes of these pairs: for each change its time (s) and the numbers of the nodes, empty = none."""
    routes: dict[str, list[list[Any]]] = {}
    table = run.table("routes")
    columns = [table.column(c).to_pylist() for c in ("t_ns", "pair", "hop", "node")]
    for t, pair, hop, node in zip(*columns, strict=True):
        if pair not in wanted:
            continue
        steps = routes.setdefault(str(pair), [])
        if hop == 0 or not steps:
            steps.append([t / 1e9, []])
        if node is not None:
            steps[-1][1].append(node)
    return routes


def marks(run: Run, flows: Sequence[dict[str, Any]], where: Mapping[str, Any]) -> list[list[Any]]:
    """Events as time (s), kind, value, text, node and pairs, for all that affect a shown flow.

    Pairs are None if all are affected, or if they are unknown.

    Events are the same for every scheme. An event of a node affects the pairs with a path over the
    node at that time; an event of a schedule on a single port affects the pairs with a path over it
    at any time.
    """
    frame = run.to_pandas("events")
    frame = frame[frame["kind"].isin(KINDS)]
    names = {int(n): name for n, name in where["names"].items()}
    routes: Routes = {
        pair: [(t, [names.get(n, "") for n in nodes]) for t, nodes in steps] for pair, steps in where["routes"].items()
    }
    if routes:
        along = {end for f in flows for end in f["ends"]} | set(names.values())
        frame = frame[(frame["node"] == "") | frame["node"].isin(along)]
    over_port = _over(routes, _scheduled_port(run.manifest.scenario_toml))
    begun: dict[str, list[int] | None] = {}
    found: list[list[Any]] = []
    columns = (frame["t_ns"] / 1e9, frame["kind"], frame["value"], frame["node"], frame["text"])
    for t, kind, value, node, text in zip(*columns, strict=True):
        if node:
            pairs = begun.pop(node) if kind == "outage-end" and node in begun else _at(routes, node, t)
        else:
            pairs = over_port if kind in SCHEDULED else None
        if kind == "outage-begin" and node:
            begun[node] = pairs
        if pairs == []:
            continue
        found.append([round(t, 6), kind, value, " ".join(x for x in (node, text) if x), node, pairs])
        if len(found) == MAX_MARKS:
            break
    return found


def _at(routes: Routes, node: str, t: float) -> list[int] | None:
    """Pairs with a path over a node at or until this time; None if no routes are known."""
    if not routes:
        return None
    found = []
    for pair, steps in routes.items():
        k = bisect.bisect_right([at for at, _ in steps], t + 1e-9)
        # At the time of a change, both the path before and the path after it count.
        begins = k > 0 and abs(steps[k - 1][0] - t) < 1e-6
        if any(node in nodes for _, nodes in steps[max(0, k - (2 if begins else 1)) : k]):
            found.append(int(pair))
    return found


def _over(routes: Routes, port: tuple[str, str] | None) -> list[int] | None:
    """Pairs with paths across a port in either direction; None = all."""
    if port is None or not routes:
        return None
    return [int(pair) for pair, steps in routes.items() if any(_cross(nodes, frozenset(port)) for _, nodes in steps)]


def _cross(nodes: Iterable[str], port: frozenset[str]) -> bool:
    return any(frozenset(hop) == port for hop in itertools.pairwise(nodes))


def _scheduled_port(scenario_toml: str) -> tuple[str, str] | None:
    """The port that a scenario's schedule changes, if it is a single named port."""
    try:
        schedule = parsed_toml(scenario_toml).get("schedule")
    except ValueError:
        return None
    on = schedule.get("on", "") if isinstance(schedule, dict) else ""
    origin, arrow, target = str(on).partition("->")
    return (origin, target) if arrow else None
