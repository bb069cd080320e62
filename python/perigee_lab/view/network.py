# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Diagram of a network without satellites, with a layout derived from the routes of the flows."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def diagram(routes: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Nodes (name, and x and y from 0 to 1) and links (the numbers of two nodes) of all routes.

    Packets go from left to right: the column of a node is its hop count on the first route that
    contains it.
    """
    columns: dict[str, int] = {}
    hops: dict[frozenset[str], tuple[str, str]] = {}
    for route in routes:
        # The route of a flow in the opposite direction.
        known = [columns[n] for n in route if n in columns]
        nodes = route[::-1] if len(known) > 1 and known[0] > known[-1] else route
        first = next((k for k, n in enumerate(nodes) if n in columns), None)
        offset = 0 if first is None else columns[nodes[first]] - first
        for k, node in enumerate(nodes):
            columns.setdefault(node, offset + k)
        for a, b in itertools.pairwise(nodes):
            hops.setdefault(frozenset((a, b)), (a, b))
    stacks: dict[int, list[str]] = defaultdict(list)
    for node, column in columns.items():
        stacks[column].append(node)
    left, right = min(stacks, default=0), max(stacks, default=0)
    number = {node: i for i, node in enumerate(columns)}
    return {
        "nodes": [
            {
                "name": node,
                "x": (column - left) / (right - left) if right > left else 0.5,
                "y": (stacks[column].index(node) + 0.5) / len(stacks[column]),
            }
            for node, column in columns.items()
        ],
        "links": [[number[a], number[b]] for a, b in hops.values()],
    }
