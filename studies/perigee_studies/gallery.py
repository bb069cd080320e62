# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Gallery: an offline page with all figures and verdicts of a folder."""

from __future__ import annotations

import base64
import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text
from perigee_lab.common.reading import read_bytes, read_text
from perigee_lab.results.webpage import policy
from perigee_studies import causes, made, misses
from perigee_studies.conclude import ABOUT, DATA, VERDICTS
from perigee_studies.kinds import PUBLISHED, Kind, kind_of, split
from perigee_studies.registry import STUDIES, experiments
from perigee_studies.verdicts import ANY, DIFFERS, MISSING, MODES, REPRODUCED, TIE, reproduced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from perigee_studies.model import Experiment

PAGE = "index.html"
TITLES = {
    "orbcc": "OrbCC",
    "leotcp": "LeoTCP",
    "leo-cc": "Congestion control in LEO networks (Mazilu et al.)",
    "hypatia": "TCP over Starlink's lasers (Barbosa et al.)",
    "geo": "Cubic and BBR over a geostationary service (Claypool et al.)",
}
HEADS = ("claim", "kind", "published", "ours", "95 % interval", "tolerance", "exchanged", "verdict")
COMPARED = HEADS.index("published")
NUMBERS = ("No", "One", "Two", "Three", "Four", "Five")
SHOWN = (REPRODUCED, DIFFERS, TIE, MODES, ANY, MISSING)
ASIDE = {"kind", "compared with", "95 % interval", "tolerance", "exchanged"}
WIDE = {*ASIDE, "published as", "no data", "title", "runs", "size"}
"""Columns that are hidden on narrow screens, where interval and tolerance are shown below our
value."""
NARROW = 0.52
"""Scale of figures on narrow screens. Wide figures are shown in part, so that letters stay
legible."""
MARKS = {REPRODUCED: "yes", DIFFERS: "no"}


def write(folder: Path, damaged: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Writes the gallery of all experiments with results in `folder`.

    Those in `damaged` are replaced by an error message.
    """
    saved = [e for e in experiments().values() if (folder / e.name / VERDICTS).exists() or e.name in damaged]
    found = [(e, folder / e.name) for e in saved]
    parts = ["<!doctype html><html lang=en><head><meta charset=utf-8>"]
    style = (
        _css()
        + _filters()
        + "".join(f"#{_figure(e, p)} {{ --narrow: {NARROW * _width_px(p):.0f}px; }}\n" for e, p in _all(found))
    )
    parts.append(f'<meta http-equiv="Content-Security-Policy" content="{quoting.html(policy([], [style]))}">')
    parts.append("<meta name=viewport content='width=device-width'>")
    parts.append(f"<title>Perigee: {_title(found)}</title><style>{style}</style></head><body><main>")
    parts.append(f"<h1>{_title(found)}</h1>")
    parts.append(
        "<p class=soft>Each figure comes from runs of the same simulator with only the published set-up varied. "
        "Verdicts are computed from the tables beside the figures (folder <code>data</code> of each experiment).</p>"
    )
    parts.append(_split([(e, f) for e, f in found if e.name not in damaged]))
    parts.append(_overview(found, damaged))
    good = {e.name for e, _ in found if e.name not in damaged}
    parts.append(_findings({e.name: _json(f / VERDICTS, []) for e, f in found if e.name in good}))
    parts.append(misses.section(misses.findings(lambda name: folder / name / DATA if name in good else folder / "-")))
    for study in STUDIES:
        mine = [(e, f) for e, f in found if e.study == study]
        if mine:
            parts.append(f"<h2 id='{study}'>{quoting.html(TITLES[study])}</h2>")
            parts += [_broken(e, damaged[e.name]) if e.name in damaged else _section(e, f) for e, f in mine]
    parts.append("</main></body></html>\n")
    path = folder / PAGE
    write_text(path, "\n".join(parts))
    return path


def _findings(rows: Mapping[str, list[dict[str, Any]]]) -> str:
    """Causes of misses with the number of claims that hang on each."""
    found = causes.found(rows)
    if not found:
        return ""
    body = "".join(
        f"<tr><td class=w>{quoting.html(f.cause.title)}<br><span class=soft>{quoting.html(f.cause.support)}</span></td>"
        f"<td>{f.cause.origin.value}</td><td>{len(f.consequences)}</td></tr>"
        for f in found
    )
    heads = "<tr><th>finding</th><th>which</th><th>claims</th></tr>"
    return f"<h2 id='findings'>Findings</h2><div class=scroll><table>{heads}{body}</table></div>"


def _title(found: list[tuple[Experiment, Path]]) -> str:
    """The title, with the number of studies on the page."""
    n = len({e.study for e, _ in found})
    return f"{NUMBERS[n]} {'study' if n == 1 else 'studies'}, made again"


def _all(found: Iterable[tuple[Experiment, Path]]) -> Iterator[tuple[Experiment, Path]]:
    """Every image with its experiment."""
    return ((e, p) for e, folder in found for p in sorted(folder.glob("*.png")))


def _figure(e: Experiment, picture: Path) -> str:
    """Class of an image in style rules."""
    return re.sub(r"[^a-z0-9]+", "-", f"figure {e.name} {picture.stem}".lower())


def _overview(found: list[tuple[Experiment, Path]], damaged: Mapping[str, str]) -> str:
    rows = []
    for e, f in found:
        if e.name in damaged:
            rows.append(
                f"<tr><td><a href='#{e.name}'>{e.name}</a></td><td class=wide>{quoting.html(e.title)}</td>"
                f"<td class=wide>{quoting.html(e.figure)}</td><td>damaged</td><td></td><td></td><td></td><td></td>"
                "<td class=wide></td>"
                "<td class=wide></td><td class=wide></td></tr>"
            )
            continue
        every = _json(f / VERDICTS, [])
        verdicts = [v for v in every if kind_of(v) in PUBLISHED]
        words = ((REPRODUCED,), (DIFFERS,), (TIE, MODES), (ANY,))
        counts = [sum(v["verdict"] in each for v in verdicts) for each in words]
        # Zeros would suggest failed claims although there are no claims.
        cells = [str(n) if verdicts else "-" for n in (*counts, len(verdicts) - sum(counts))]
        about = _json(f / ABOUT, {})
        done, planned = about.get("runs", 0), about.get("planned", 0)
        runs = f"{done}" if done == planned else f"{done} of {planned}"
        rows.append(
            f"<tr><td><a href='#{e.name}'>{e.name}</a></td><td class=wide>{quoting.html(e.title)}</td>"
            f"<td class=wide>{quoting.html(e.figure)}</td>"
            f"<td>{reproduced(every)}</td>"
            + "".join(f"<td>{c}</td>" for c in cells[:-1])
            + f"<td class=wide>{cells[-1]}</td>"
            f"<td class=wide>{quoting.html(runs)}</td>"
            f"<td class=wide>{quoting.html(str(about.get('size', '')))}</td></tr>"
        )
    kinds = ("published: reproduced", "not", "undecided", "any scheme", "no data")
    heads = ("experiment", "title", "published as", "claims reproduced", *kinds, "runs", "size")
    return f"<div class=scroll><table class=sum>{_head(heads)}{''.join(rows)}</table></div>"


def _head(names: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<th{' class=wide' if h in WIDE else ''}>{h}</th>" for h in names) + "</tr>"


def _broken(e: Experiment, what: str) -> str:
    return f"<h3 id='{e.name}'>{quoting.html(e.title)} <span class=soft>{e.name}</span></h3><p>{quoting.html(what)}</p>"


def _section(e: Experiment, folder: Path) -> str:
    pictures = "".join(
        f"<figure id='{_figure(e, p)}'><img alt='{quoting.html(f'{e.title}: {p.stem}')}' "
        f"src='data:image/png;base64,{_base64(p)}'></figure>{_soft(e.captions.get(p.stem, ''))}"
        for p in sorted(folder.glob("*.png"))
    )
    notes = "".join(f"<li>{quoting.html(d)}</li>" for d in [*e.deviations, *(f"Missing: {m}" for m in e.missing)])
    notes = f"<ul class=soft>{notes}</ul>" if notes else ""
    note = _soft(str(_json(folder / ABOUT, {}).get("note", "")))
    method = f"<details><summary>method and metrics</summary>{_soft(e.method)}{_soft(e.metrics)}{notes}</details>"
    links = " ".join(_link(f"{e.name}/{DATA}", p) for p in sorted((folder / DATA).glob("*.csv")))
    links += " " + " ".join(_link(e.name, p) for p in sorted(folder.glob("*.svg")))
    return (
        f"<h3 id='{e.name}'>{quoting.html(e.title)} <span class=soft>{e.name} · {quoting.html(e.figure)}</span></h3>"
        f"{pictures}{note}{_table(_json(folder / VERDICTS, []))}{method}<p class=soft>data: {links}</p>"
        f"{_soft(_made(e, made.read(folder)))}"
    )


def _made(e: Experiment, what: Mapping[str, Any]) -> str:
    """The command, and the provenance of the results if it is known."""
    command = what.get("command") or f"perigee study run {e.name}"
    return f"{command}. {made.in_words(what)}".strip()


def _link(folder: str, path: Path) -> str:
    return f"<a href='{folder}/{quote(path.name)}'>{quoting.html(path.name)}</a>"


def _soft(text: str) -> str:
    """A paragraph in small print, if there is text."""
    return f"<p class=soft>{quoting.html(text)}</p>" if text else ""


def heads_for(verdicts: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Headings of a table of claims; values that were not published are called expected."""
    found = {v.get("kind", "") for v in verdicts}
    word = "expected" if found == {Kind.UNPUBLISHED.value} else HEADS[COMPARED]
    return (*HEADS[:COMPARED], word, *HEADS[COMPARED + 1 :])


def _table(verdicts: list[dict[str, Any]]) -> str:
    if not verdicts:
        return ""
    rows = []
    explained: dict[str, str] = {}
    for v in verdicts:
        mark = MARKS.get(v["verdict"], "")
        claim = f"{quoting.html(v['claim'])}<br><span class=soft>{quoting.html(v['source'])}</span>"
        cells = [quoting.html(v[k]) for k in ("published", "ours", "interval", "tolerance")]
        small = "; ".join(f"{h} {c}" for h, c in zip(HEADS[4:6], cells[2:], strict=True) if c)
        mine = f"{cells[1]}<div class='soft narrow'>{small}</div>"
        ours = f"<td>{cells[0]}</td><td>{mine}</td><td class=wide>{cells[2]}</td><td class=wide>{cells[3]}</td>"
        ours += f"<td class=wide>{quoting.html(v.get('exchanged', ''))}</td>"
        kind = f"<td class=wide>{quoting.html(v.get('kind', ''))}</td>"
        verdict = f"<td class='v {mark}'>{quoting.html(v['verdict'])}</td>"
        rows.append(f"<tr class='{_class(v)}'><td class=w>{claim}</td>{kind}{ours}{verdict}</tr>")
        if v["why"]:
            first = explained.setdefault(v["why"], v["claim"])
            why = v["why"] if first == v["claim"] else f"As for: {first}."
            rows.append(f"<tr class='why {_class(v)}'><td colspan={len(HEADS)}>{quoting.html(why)}</td></tr>")
    return f"<div class=scroll><table>{_head(heads_for(verdicts))}{''.join(rows)}</table></div>"


def _class(v: Mapping[str, Any]) -> str:
    """Classes of a row for filters: kind and verdict."""
    return f"{_word(v.get('kind', ''))} {_word(v['verdict'])}"


def _word(text: str) -> str:
    return re.sub(r"[^a-z]+", "-", text.lower())


def _split(found: list[tuple[Experiment, Path]]) -> str:
    """Claims by kind, with checkboxes that hide kinds and verdicts."""
    counts = split(v for _, f in found for v in _json(f / VERDICTS, []))
    rows = [
        f"<tr><td>{_box(kind.value)}</td>"
        + "".join(f"<td{' class=wide' if v in WIDE else ''}>{n.get(v, 0)}</td>" for v in SHOWN)
        + f"<td class=wide>{quoting.html(kind.meaning)}</td></tr>"
        for kind, n in counts.items()
    ]
    table = f"<table class=sum>{_head(('kind of claim', *SHOWN, 'compared with'))}{''.join(rows)}</table>"
    return f"<div class=scroll>{table}</div><p class=boxes>Show: {' '.join(map(_box, SHOWN))}</p>"


def _box(text: str) -> str:
    return f"<label><input type=checkbox id='show-{_word(text)}' checked> {quoting.html(text)}</label>"


def _filters() -> str:
    """Style rules by which an unchecked box hides rows of its kind or verdict, without a script."""
    words = [_word(w) for w in (*(k.value for k in Kind), *SHOWN)]
    return "".join(f"body:has(#show-{w}:not(:checked)) tr.{w} {{ display: none; }}\n" for w in words)


def _css() -> str:
    from importlib.resources import files

    return (files("perigee_studies") / "gallery.css").read_text(encoding="utf-8")


def _width_px(png: Path) -> int:
    """The width, from the header of a PNG file."""
    return int.from_bytes(read_bytes(png)[16:20], "big")


def _base64(path: Path) -> str:
    return base64.b64encode(read_bytes(path)).decode()


def _json(path: Path, otherwise: Any) -> Any:
    """JSON of a file, or `otherwise` if it is unreadable or of another type."""
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return otherwise
    return found if isinstance(found, type(otherwise)) else otherwise
