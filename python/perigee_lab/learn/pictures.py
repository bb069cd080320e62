# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of episodes and trainings."""

from __future__ import annotations

from typing import Any

import numpy as np


def episode_image(told: list[dict[str, float]]) -> Any:
    """Goodput, RTT and window over decisions, as an image of height x width x 3 bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    rows: Any = figure.subplots(3, 1, sharex=True)
    for axes, name, scale, label in zip(
        rows,
        ("goodput_bytes_per_s", "rtt_us", "cwnd_packets"),
        (8e-6, 1e-3, 1.0),
        ("goodput (Mbit/s)", "RTT (ms)", "window (packets)"),
        strict=True,
    ):
        axes.plot([m[name] * scale for m in told])
        axes.set_ylabel(label)
    rows[-1].set_xlabel("decision")
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
