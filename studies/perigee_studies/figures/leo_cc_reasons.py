# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Explanations of figures over LeoEM's paths that are not reproduced, from their own tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perigee_studies import style

if TYPE_CHECKING:
    import pandas as pd

    from perigee_studies.model import Tables

NOISY, STABLE = "SD-NY BP", "SD-SHA ISL"


def explain_single(t: Tables, _: Tables) -> dict[str, str]:
    """Compares the effect of a queue that is always full with the results of Cubic and SaTCP."""
    on_leoem, physical = _networks(t["runs"])
    full = on_leoem.groupby("path")["full_inflation"].mean()
    sky = physical.groupby(["path", "cc"])["inflation"].mean().unstack()
    beyond = (
        " On the physical rows, whose RTTs are below the study's ping means, Cubic has up to "
        f"{sky['cubic'].max():.2f} and SaTCP up to {sky['satcp'].max():.2f}."
        if {"cubic", "satcp"} <= set(sky)
        else ""
    )
    inflation = (
        "Queues of one BDP of the path's mean RTT cannot do it. One that is never less than full inflates LeoEM's paths"
        f" by {full.max():.2f} at most (column full_inflation: the queue's time over the base RTT of each second, "
        f"averaged: {full.idxmax()}), and Cubic empties it by a part of the window at each loss. The published delays "
        f"need a queue that is always full, or longer than one BDP.{beyond}"
    )
    return {"L2-cubic": inflation, "L2-satcp": inflation}


def explain_fairness(t: Tables, _: Tables) -> dict[str, str]:
    """Ratios by second and of means, and schemes that are below Astraea, by path."""
    runs, _ = _networks(t["runs"])
    total = runs.groupby(["path", "cc"])["sum_mbps"].mean().unstack()
    less = {path: row.drop("astraea", errors="ignore") for path, row in total.iterrows()}
    below = [f"{path} ({style.label(str(row.idxmin()))} {row.min():.1f}, Astraea {total.loc[path, 'astraea']:.1f})"
             for path, row in less.items()
             if "astraea" in total and row.min() < total.loc[path, "astraea"]]  # fmt: skip
    return {
        "L8-cubic": _seconds_and_means(runs, "cubic", NOISY),
        "L8-vivace": _seconds_and_means(runs, "vivace", STABLE),
        "unused-astraea": "Where the path stays near its shortest, Astraea's window carries the link, and another "
        f"scheme has least: {', '.join(below)} Mbit/s.",
    }


def _seconds_and_means(runs: pd.DataFrame, cc: str, path: str) -> str:
    here = runs[(runs["path"] == path) & (runs["cc"] == cc)]
    others = runs[(runs["path"] == path) & (runs["cc"] != cc)].groupby("cc")["ratio"].mean()
    best = f"{style.label(str(others.idxmax()))} has {others.max():.2f}" if len(others) else "no other was run"
    return (
        f"The flows take turns: the ratio of the two means is {here['ratio_of_means'].mean():.2f}, of single seconds "
        f"{here['ratio'].mean():.2f}; a flow's goodput has a standard deviation of "
        f"{here['goodput_sd_mbps'].mean():.1f} Mbit/s over the seconds. Seconds punish whatever varies (the most here, "
        f"{best}); the study's plot is of seconds, too, so that its flows varied less."
    )


def _networks(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Runs over LeoEM's paths, and over the physical constellation."""
    sky = runs["network"] == "constellation"
    return runs[~sky], runs[sky]
