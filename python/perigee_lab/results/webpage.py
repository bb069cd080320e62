# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Self-contained pages, in which no text from a scenario or a record becomes markup or script.

Texts are escaped by `common.quoting`. The policy of a page (Content Security Policy, W3C) permits
only the scripts and styles with which it was written, by their hashes, and no fetches.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Replaces the placeholders `%NAME%` of a template in one pass.

    Inserted text is not scanned again.
    """
    return re.sub(r"%([A-Z]+)%", lambda found: parts[found[1]], template)


def drawing() -> str:
    """Functions that precede the scripts of pages with curves: elements, styles of schemes, ticks."""
    return (files("perigee_lab.results") / "drawing.js").read_text(encoding="utf-8")


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The policy of a page with these scripts and styles."""
    allowed = {"script-src": scripts, "style-src": styles}
    rules = [" ".join([name, *(map(hash_of, texts) if texts else ["'none'"])]) for name, texts in allowed.items()]
    return "; ".join(["default-src 'none'", *rules, "img-src data:", "base-uri 'none'", "form-action 'none'"])


def hash_of(text: str) -> str:
    """The source expression of a script or style in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def figure(width: float, height: float) -> Any:
    """An empty figure of Matplotlib, in inches, without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def image(drawn: Any, dpi: int, alt: str = "") -> str:
    """A figure as an element of a page, which contains its pixels; `alt` describes it."""
    data = io.BytesIO()
    drawn.savefig(data, format="png", dpi=dpi, metadata={"Software": None})
    return f'<img alt="{quoting.html(alt)}" src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">'


def vector(drawn: Any, alt: str = "") -> str:
    """A figure as an element of a page, which contains it as SVG; equal figures give equal texts."""
    import matplotlib as mpl

    data = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "perigee"}):
        drawn.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    coded = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="{quoting.html(alt)}" src="data:image/svg+xml;base64,{coded}">'
