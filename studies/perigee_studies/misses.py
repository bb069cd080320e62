# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Largest misses with their deciding experiments: a page and a section of the gallery."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from perigee_lab.common import quoting
from perigee_studies.conclude import read_csv
from perigee_studies.decided import OPEN, Finding, Miss

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from perigee_studies.model import Tables

PAGE = "misses.md"
WIDTH = 116
INTRODUCTION = """Hypothesis, deciding runs and verdict for each of the ten largest misses. All numbers are computed
from the tables stored with the pages. The commands run only the variants, at the size of the stored tables; without
`--from docs/studies` they use the tables of your own runs."""


def commands(miss: Miss) -> list[str]:
    """Commands that rebuild the tables of the deciding experiments."""
    from perigee_studies.registry import experiments

    varied = [name for name in miss.experiments if experiments()[name].evidence is not None]
    plain = [name for name in miss.experiments if name not in varied]
    found = [f"perigee study explain {' '.join(varied)} --from docs/studies"] if varied else []
    return found + ([f"perigee study run {' '.join(plain)}"] if plain else [])


def saved_in(folder_of: Callable[[str], Path], names: Sequence[str]) -> dict[str, Tables]:
    """The tables of experiments by name, without missing ones."""
    found = {}
    for name in names:
        files = sorted(folder_of(name).glob("*.csv"))
        if files:
            found[name] = {f.stem: read_csv(f) for f in files}
    return found


def findings(folder_of: Callable[[str], Path]) -> list[tuple[Miss, Finding]]:
    """Each miss with existing tables, and its finding."""
    from perigee_studies.figures.misses import MISSES

    out = []
    for miss in MISSES:
        tables = saved_in(folder_of, miss.experiments)
        if set(miss.experiments) <= set(tables):
            out.append((miss, _decided(miss, tables)))
    return out


def names() -> list[str]:
    """The experiments from whose tables the findings are computed."""
    from perigee_studies.figures.misses import MISSES

    return list(dict.fromkeys(name for miss in MISSES for name in miss.experiments))


def _decided(miss: Miss, tables: Mapping[str, Tables]) -> Finding:
    not_yet = Finding(OPEN, "The deciding variants have not been run.")
    try:
        found = miss.decide(tables)
    except KeyError:  # no variants at all
        return not_yet
    return not_yet if re.search(r"\bnan\b", found.words) else found


def page(found: Sequence[tuple[Miss, Finding]]) -> str:
    """The page as Markdown."""
    parts = ["<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->", "# Ten misses", ""]
    parts += [
        *textwrap.wrap(" ".join(INTRODUCTION.split()), WIDTH),
        "",
        "| | miss | hypothesis | verdict |",
        "|---|---|---|---|",
    ]
    parts += [f"| {m.number} | {m.title} | {m.hypothesis} | {f.verdict} |" for m, f in found]
    for miss, finding in found:
        parts += ["", f"## {miss.number}. {miss.title}", ""]
        parts += textwrap.wrap(f"*{miss.hypothesis}* **{finding.verdict.capitalize()}.** {finding.words}", WIDTH)
        if finding.rows:
            parts += ["", *_table(finding.rows)]
        links = ", ".join(f"[{name}]({name.replace('/', '-')}.md)" for name in miss.experiments)
        pages = textwrap.wrap(f"Pages: {links}", WIDTH, break_long_words=False, break_on_hyphens=False)
        parts += ["", *(f"`{command}`  " for command in commands(miss)), *pages]
    return "\n".join(parts) + "\n"


def _table(rows: tuple[tuple[str, ...], ...]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def section(found: Sequence[tuple[Miss, Finding]]) -> str:
    """A section of the gallery."""
    if not found:
        return ""
    rows = "".join(
        f"<tr><td>{m.number}</td><td class=w>{quoting.html(m.title)}<br><span class=soft>{quoting.html(m.hypothesis)}"
        f"</span></td><td class=w>{quoting.html(f.words)}<br><code>{quoting.html('; '.join(commands(m)))}</code></td>"
        f"<td>{quoting.html(f.verdict)}</td></tr>"
        for m, f in found
    )
    heads = "<tr><th></th><th>miss, hypothesis</th><th>deciding experiment</th><th>verdict</th></tr>"
    return f"<h2 id='misses'>Ten misses</h2><div class=scroll><table>{heads}{rows}</table></div>"
