# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Notebook representations of runs, results, scenarios and networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.results.columns import TABLE, one_line
from perigee_lab.results.summary import about_seeds, by_scheme, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perigee_lab.results.run import Run

# Maximum number of pairs of a network that are listed.
MAX_PAIRS = 12


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str, notes: Sequence[str] = ()) -> str:
    """An HTML table with a caption; everything is escaped."""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    below = "".join(f"<p><small>{quoting.html(note)}</small></p>" for note in notes)
    return (
        f"<div><p><strong>{quoting.html(caption)}</strong></p><div style='overflow-x:auto'><table>"
        f"<thead><tr>{_cells('th', head)}</tr></thead><tbody>{body}</tbody></table></div>{below}</div>"
    )


def _cells(tag: str, row: Sequence[object]) -> str:
    return "".join(f"<{tag}>{quoting.html(str(c))}</{tag}>" for c in row)


def of_runs(runs: Sequence[Run], where: object = None) -> str:
    """The table of `perigee run`: one row of means per scheme, without empty columns."""
    schemes = by_scheme(runs)
    known = [c for c in TABLE if any(shown(rows, c.name, c.form) != "-" for rows in schemes.values())]
    rows = [[cc, *(shown(own, c.name, c.form) for c in known)] for cc, own in schemes.items()]
    manifest = runs[0].manifest
    caption = f"{manifest.title}: {manifest.duration_ns / 1e9:g} s"
    caption += f", seed {runs[0].seed}" if len(runs) == 1 else ""
    notes = [*about_seeds(runs), *([f"in {where}"] if where is not None else [])]
    return table(["scheme", *(one_line(c.heading) for c in known)], rows, caption, notes)


def facts(caption: str, rows: Sequence[tuple[str, object]]) -> str:
    """A table of properties."""
    return table(("", ""), rows, caption)


def of_pairs(title: str, duration_s: float, pairs: Sequence[tuple[str, str]]) -> str:
    """The pairs of a network."""
    some = [(a, b) for a, b in pairs[:MAX_PAIRS]]
    more = [f"{len(pairs) - len(some)} more pairs"] if len(pairs) > len(some) else []
    return table(("from", "to"), some, f"{title}: {duration_s:g} s, {len(pairs)} pairs", more)


def once(figure: Any) -> Any:
    """Closes a figure, since inline backends of notebooks would otherwise display it twice."""
    import matplotlib

    if "inline" in matplotlib.get_backend():
        import matplotlib.pyplot as plt

        plt.close(figure)
    return figure
