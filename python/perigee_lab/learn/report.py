# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Report page of a training: curves, a grid of paths, maps of the policy's behaviour."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text
from perigee_lab.common.reading import MOST_TEXT, opened, read_text
from perigee_lab.learn import policy as policies
from perigee_lab.learn.training import CURVES, POLICY, RECIPE
from perigee_lab.results import webpage

DPI = 90
PAGE = "report.html"
RTTS_MS = (10, 30, 60, 100, 140)
"""Base RTTs of the behaviour maps."""
MAP_RATIOS = np.linspace(1.0, 2.0, 41)
MAP_RATES_MBPS = np.geomspace(5, 400, 40)


def write(folder: Path, *, grid: bool = True) -> Path:
    """Writes the page of a training's folder.

    Args:
        folder: with the best policy and the table of evaluations.
        grid: also run single flows over a grid of paths (some seconds).

    Raises:
        ValueError: there is no policy in the folder.
    """
    name = folder / POLICY
    network, head = policies.load(name)
    parts = [
        f"<h1>{quoting.html(head[0] if head else name.name)}</h1>",
        f"<pre>{quoting.html(policies.describe(name))}</pre>",
    ]
    scores = _scores(folder / CURVES)
    if scores:
        parts += ["<h2>Curves</h2>", webpage.image(_curves(scores), DPI)]
    if network.widths[0] == policies.INPUTS:
        parts += ["<h2>Behaviour</h2>", f"<p>{BEHAVIOUR}</p>", webpage.image(_maps(network), DPI)]
        if grid:
            parts += ["<h2>One flow over a grid of paths</h2>", _grid(name)]
    recipe = folder / RECIPE
    if recipe.exists():
        parts += ["<h2>Recipe</h2>", f"<pre>{quoting.html(read_text(recipe))}</pre>"]
    page = folder / PAGE
    policy = quoting.html(webpage.policy([], [STYLE]))
    meta = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    meta += f"<title>Training</title><style>{STYLE}</style>"
    body = "".join(parts)
    write_text(page, f'<!DOCTYPE html><html lang="en"><head>{meta}</head><body>{body}</body></html>\n')
    return page


STYLE = """body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}img{max-width:100%}
td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}
pre{background:#f6f6f6;padding:1em;overflow:auto}"""
BEHAVIOUR = (
    "The action in the steady state over RTT / lowest RTT and the highest throughput: blue grows, red shrinks, "
    "on the line the window stays."
)


def _scores(file: Path) -> list[dict[str, float]]:
    if not file.exists():
        return []
    with io.TextIOWrapper(opened(file, MOST_TEXT), encoding="utf-8", newline="") as f:
        return [{k: float(v) for k, v in row.items() if v != ""} for row in csv.DictReader(f)]


def _curves(scores: list[dict[str, float]]) -> Any:
    figure = webpage.figure(9, 4.5)
    axes = figure.subplots(2, 2, sharex=True)
    done = [s["transitions"] / 1e3 for s in scores]
    for ax, name in zip(axes.flat, ("reward", "utilisation", "inflation", "fairness"), strict=True):
        ax.plot(done, [s[name] for s in scores], marker=".")
        ax.set_ylabel({"inflation": "RTT / base RTT", "fairness": "Jain's index"}.get(name, name))
    for ax in axes[1]:
        ax.set_xlabel("transitions, thousands")
    return figure


def _maps(network: Any) -> Any:
    figure = webpage.figure(12, 3)
    axes = figure.subplots(1, len(RTTS_MS), sharey=True)
    for ax, rtt_ms in zip(axes, RTTS_MS, strict=True):
        rows = [policies.steady(ratio, rate, rtt_ms) for rate in MAP_RATES_MBPS for ratio in MAP_RATIOS]
        action = network.evaluate(np.asarray(rows)).reshape(len(MAP_RATES_MBPS), len(MAP_RATIOS))
        drawn = ax.pcolormesh(MAP_RATIOS, MAP_RATES_MBPS, action, cmap="RdBu", vmin=-1, vmax=1, shading="nearest")
        if action.min() < 0 < action.max():
            ax.contour(MAP_RATIOS, MAP_RATES_MBPS, action, levels=[0.0], colors="black", linewidths=1)
        ax.set_yscale("log")
        ax.set_title(f"{rtt_ms} ms", fontsize=10)
        ax.set_xlabel("RTT / lowest RTT")
    axes[0].set_ylabel("highest throughput, Mbit/s")
    figure.colorbar(drawn, ax=axes, label="action")
    return figure


def _grid(name: Path) -> str:
    values = policies.Facts.of(name).row("A1").values
    cells: dict[str, dict[str, float]] = {}
    for key, value in values.items():
        where, _, what = key.partition(": ")
        cells.setdefault(where, {})[what] = value
    head = "<table><tr><th>path</th><th>utilisation</th><th>RTT / base RTT</th><th>drops</th></tr>"
    rows = (
        f"<tr><th>{where}</th><td>{c['utilisation']:.3f}</td><td>{c['RTT/base']:.2f}</td><td>{c['drops']:.4f}</td></tr>"
        for where, c in cells.items()
    )
    return f"{head}{''.join(rows)}</table>"
