# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Documentation pages of experiments: published values, our results, and causes of differences."""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import copied, write_text
from perigee_lab.common.reading import read_bytes, read_text
from perigee_lab.results.webpage import filled
from perigee_studies import causes, linux_page, made, misses, published
from perigee_studies.conclude import DATA, VERDICTS, ConcludeError, read_about, read_csvs
from perigee_studies.decided import RULE
from perigee_studies.gallery import TITLES, heads_for
from perigee_studies.kinds import PUBLISHED, Read, kind_of, split
from perigee_studies.model import OF_EVERY_RUN, Size
from perigee_studies.origins import Origin
from perigee_studies.registry import STUDIES, experiments
from perigee_studies.verdicts import ANY, DIFFERS, MODES, REPRODUCED, TIE, VERDICT_WORDS

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path

    from perigee_studies.model import Experiment

WIDTH = 116
# Maximum number of claims named in the finding at the top of a page.
SHOWN = 4
HEAD = (
    "| experiment | published as | published: reproduced | not | undecided | any scheme | other: reproduced | not "
    "| undecided | any scheme | exchanged | runs | size |"
)
# Text below the table of verdicts; the front page extracts the two numbers.
EXCHANGED = (
    "With the schemes' results exchanged (each under the name of the next, of the one after that, …) the reproduced "
    "published claims still hold in {passed} of {tried} cases; those that do in half of theirs or more count as *any "
    "scheme*."
)
# Text about the study's simulator; the front page sums its numbers over all pages.
THEIRS = (
    "Of the {bearing} claims on which that has a bearing {both} come out with either, {linux} with Linux's schemes "
    "only, {theirs} with the simulator's only, {neither} with neither."
)
LINUX_ONLY = (
    "Cubic, BBRv1 and BBRv3 are Linux's on this page: those of the study's simulator have not been run since their "
    "model follows the authors' code packet for packet."
)
LEOTCP = (
    "LeoTCP's paper is an earlier version of OrbCC's with the same runs: findings that both have are OrbCC's, and "
    "counted once."
)
FINDING = (
    "A finding is the reason why one or more published claims are not reproduced; claims that fail for the same reason "
    "are one finding."
)
# Pages of the documentation that texts name, relative to the repository or to the pages of studies.
NAMED = re.compile(r"\((?P<page>(?:docs|design)/[\w/-]+\.md|[\w-]+\.md)\)")
# The finding at the top of a page, below its title.
FIRST_WORDS = re.compile(r"^# [^\n]+\n\n\*\*(?P<words>.+?)\*\*", re.MULTILINE | re.DOTALL)
THEIRS_PATTERN = re.compile(re.sub(r"\\{\w+\\}", r"(\\d+)", re.escape(THEIRS)).replace(r"\ ", r"\s+"))


def write(results: Path | None, docs: Path, damaged: Container[str] = ()) -> list[Path]:
    """Writes STUDY-EXPERIMENT.md and figures for experiments with results, and README.md.

    Without `results`, only pages that cover several experiments are written.

    The pages of experiments without results, or with damaged results, are kept; README.md includes
    them.

    Raises:
        ConcludeError: the saved claims or tables of a page that is kept, or tables of Linux hosts,
            are damaged or missing.
    """
    saved = {name: None if results is None or name in damaged else _saved(results / name) for name in experiments()}
    # Before the first page is written, since claims of pages that are kept may be damaged.
    claims = {
        name: published.claims(e, docs)
        for name, e in experiments().items()
        if saved[name] is None and published.page_of(e, docs).exists()
    }
    # The page on misses is computed from the tables of pages.
    for name in (n for n in misses.names() if saved[n] is None):
        if any((folder := published.tables_of(experiments()[name], docs)).glob("*.csv")):
            published.checked(folder)
    hosts = linux_page.sides(docs)
    docs.mkdir(parents=True, exist_ok=True)
    written, lines, theirs = [], [], []
    for study in STUDIES:
        rows = []
        for e in (e for e in experiments().values() if e.study == study):
            page = published.page_of(e, docs)
            if (ours := saved[e.name]) is not None and results is not None:
                verdicts, about = ours
                tables = published.save(e, results, docs, about, verdicts)
                about["made"] = made.read(results / e.name)
                more = _seconds(e, results, docs)
                write_text(page, _page(e, verdicts, about, _pictures(e, results, docs), tables, more))
                written.append(page)
                claims[e.name] = published.claims(e, docs)
            if page.exists():
                text = read_text(page)
                mine = claims[e.name]
                theirs += [tuple(map(int, found)) for found in THEIRS_PATTERN.findall(text)]
                counts = " | ".join(map(str, (*_counts(mine, published=True), *_counts(mine, published=False))))
                rows.append(f"| [{e.title}]({page.name}) | {e.figure} | {counts} | {_size(text)} |")
        if rows:
            lines += [f"\n## {TITLES[study]}\n", HEAD, "|---" * (HEAD.count("|") - 1) + "|", *rows]
    every = causes.found(claims)
    if decided := misses.findings(lambda name: docs / published.TABLES / name.replace("/", "-")):
        write_text(docs / misses.PAGE, misses.page(decided))
        written.append(docs / misses.PAGE)
    parts = {
        "OPEN": "\n".join(_open_questions(docs)),
        "FINDINGS": "\n".join(_findings_in_all(every, claims)),
        "SPLIT": "\n".join(_split([row for rows in claims.values() for row in rows])),
        "THEIRS": _theirs_in_all(theirs),
        "LINUX": linux_page.write(hosts, docs),
    }
    text = filled(_reading(), parts)
    write_text(docs / "README.md", text + "\n".join(lines) + "\n")
    return [*written, docs / "README.md"]


def _reading() -> str:
    """How to read the pages: verdicts, intervals, metrics."""
    from importlib.resources import files

    return (files("perigee_studies") / "reading.md").read_text(encoding="utf-8")


def _open_questions(docs: Path) -> list[str]:
    """The first, bold sentences of the pages on questions that no paper answers, with links."""
    found = []
    for e in (e for e in experiments().values() if e.finding is not None):
        page = published.page_of(e, docs)
        if page.exists() and (first := FIRST_WORDS.search(read_text(page))):
            found.append(_item(f"[{e.title}]({page.name}): {' '.join(first['words'].split())}"))
    return found or ["* (no page yet)"]


def _findings_in_all(every: Sequence[causes.Found], claims: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Findings of each study: the number of each origin, and a table of all."""
    missed = sum(len(f.consequences) for f in every)
    unnamed = causes.without(claims)
    words = f"{missed} published claims are not reproduced, because of {len(every)} causes"
    if unnamed:
        words += f"; {len(unnamed)} more have no known cause"
    lines = [
        *textwrap.wrap(f"{words}. {FINDING}", WIDTH),
        "",
        f"| study | findings | {' | '.join(o.value for o in Origin)} | claims |",
        "|---" * (len(Origin) + 3) + "|",
    ]
    for study in STUDIES:
        mine = causes.of_study(every, study)
        counts = " | ".join(str(sum(f.cause.origin is o for f in mine)) for o in Origin)
        where = f"[{TITLES[study]}](#{_anchor(TITLES[study])})"
        lines.append(f"| {where} | {len(mine)} | {counts} | {sum(len(f.consequences) for f in mine)} |")
    lines += ["", *textwrap.wrap(LEOTCP, WIDTH), "", *(_item(f"**{o.value}**: {o.meaning}") for o in Origin)]
    lines += ["", "| finding | study | which | claims | why |", "|---|---|---|---|---|"]
    for study in STUDIES:
        for f in causes.of_study(every, study):
            pages = ", ".join(f"[{name}]({name.replace('/', '-')}.md)" for name in f.cause.pages)
            lines.append(
                f"| {f.cause.title} | {TITLES[study].split(' (')[0]} | {f.cause.origin.value} | "
                f"{len(f.consequences)} | {_linked(f.cause.support)} {pages} |"
            )
    return lines


def _linked(text: str) -> str:
    """The text with named pages, such as (docs/explanation/limits.md), as links from a page of studies."""

    def link(found: re.Match[str]) -> str:
        page = found["page"]
        target = (
            page.replace("docs/", "../", 1) if page.startswith("docs/") else page.replace("design/", "../../design/")
        )
        return f"([{page.rsplit('/', 1)[-1].removesuffix('.md')}]({target}))"

    return NAMED.sub(link, text)


def _anchor(title: str) -> str:
    """The anchor of a heading, as forges and the site have it."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def _saved(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]] | None:
    """Verdicts of an experiment, and notes on its runs; None if they are missing or unreadable."""
    try:
        return json.loads(read_text(folder / VERDICTS)), read_about(folder)
    except (OSError, ValueError, RecursionError, ConcludeError):
        return None


def _split(claims: list[dict[str, str]]) -> list[str]:
    """Claims by kind; published and reproduced ones come first."""
    rows = [
        "| kind of claim | reproduced | not reproduced | tie | two modes | any scheme | no data | compared with |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, n in split(claims).items():
        counts = " | ".join(str(n.get(verdict, 0)) for verdict in VERDICT_WORDS)
        name = f"**{kind.value}**" if kind in PUBLISHED else kind.value
        rows.append(f"| {name} | {counts} | {kind.meaning} |")
    return rows


def _counts(claims: list[dict[str, str]], *, published: bool) -> list[int]:
    """Numbers of claims that are reproduced, not reproduced, undecided, or true of any scheme.

    Undecided are ties, and means of runs with two modes.

    Counts either published claims or the others.
    """
    mine = [c["verdict"] for c in claims if (kind_of(c) in PUBLISHED) == published]
    undecided = mine.count(TIE) + mine.count(MODES)
    return [mine.count(REPRODUCED), mine.count(DIFFERS), undecided, mine.count(ANY)]


def _size(page: str) -> str:
    """Text from a page about the claims that hold with schemes exchanged, the runs and the size."""
    size = re.search(r"\((\w+)\s+size:\s+(\d+)\s+runs\)", page)
    exchanged = re.search(r"still\s+hold\s+in\s+(\d+)\s+of\s+(\d+)\s+cases", page)
    share = f"{int(exchanged[1]) / int(exchanged[2]):.0%}" if exchanged else ""
    return f"{share} | {size[2]} | {size[1]}" if size else f"{share} | | "


def _pictures(e: Experiment, results: Path, docs: Path) -> dict[str, str]:
    """Copies the figures of an experiment; returns files by name.

    Existing figures are referenced in place.
    """
    files = {}
    for picture in sorted((results / e.name).glob("*.png")):
        own = docs / f"{e.name.replace('/', '-')}-{picture.name}"
        others = (p for p in sorted(docs.glob("*.png")) if p != own and p.stat().st_size == picture.stat().st_size)
        twin = next((p for p in others if read_bytes(p) == read_bytes(picture)), None)
        if twin is None:
            copied(picture, own)
        else:
            own.unlink(missing_ok=True)
        files[picture.stem] = (twin or own).name
    return files


def _page(
    e: Experiment,
    verdicts: list[dict[str, Any]],
    about: dict[str, Any],
    pictures: dict[str, str],
    tables: Sequence[str] = (),
    seconds: Sequence[str] = (),
) -> str:
    parts = ["<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->", f"# {e.title}", ""]
    where = e.figure if e.figure.startswith(TITLES[e.study]) else f"{TITLES[e.study]}: {e.figure}"
    size = Size(about["size"])
    command = f"`perigee study run {e.name}{size.option}`"
    parts += [*_answer(about), *_prose(f"{where}. {command} ({size.value} size: {about['runs']} runs)"), ""]
    parts += [*findings(e.name, verdicts), *textwrap.wrap(finding(verdicts), WIDTH), ""]
    parts += [*about["summary"], ""] if about.get("summary") else []
    for name, file in pictures.items():
        parts += [f"![{e.title}]({file})", ""]
        caption = e.captions.get(name, "")
        parts += [*textwrap.wrap(f"*{caption}*", WIDTH), ""] if caption else []
    words = made.in_words(about.get("made", {}))
    parts += [words, ""] if words else []
    # The table is folded on forges and on the site, and plain in text.
    parts += ['<details markdown="1">', f"<summary>{len(verdicts)} claims, value by value</summary>", ""]
    parts += _claims(verdicts)
    if about.get("exchanged"):
        parts += ["", *textwrap.wrap(EXCHANGED.format(**about["exchanged"]), WIDTH)]
    parts += ["", "</details>"]
    parts += seconds
    differing = [v for v in verdicts if v["verdict"] == DIFFERS]
    if differing:
        parts += ["", "## What is not reproduced, and why", ""]
        by_reason: dict[str, list[str]] = {}
        for v in differing:
            by_reason.setdefault(v["why"], []).append(v["claim"])
        for why, claims in by_reason.items():
            parts.append(_item(f"{'; '.join(f'**{claim}**' for claim in claims)}: {why}"))
    if about.get("decided"):
        parts += ["", *_decided(about["decided"])]
    if e.theirs is not None and about.get("theirs"):
        parts += ["", *_theirs(e.theirs.what, about["theirs"])]
    if e.theirs is not None and not about.get("own"):
        parts += ["", *textwrap.wrap(LINUX_ONLY, WIDTH)]
    parts += ["", "## Method", "", *textwrap.wrap(" ".join(f"{e.method} {about.get('note', '')}".split()), WIDTH)]
    if e.metrics:
        parts += ["", "## Metrics", "", *textwrap.wrap(" ".join(e.metrics.split()), WIDTH)]
    if e.changes:
        parts += ["", "## What would change it", "", *(_item(change) for change in e.changes)]
    if e.deviations or e.missing:
        parts += ["", "## Deviations", ""]
        parts += [_item(d) for d in (*e.deviations, *e.missing)]
    parts += _data(e, tables)
    return "\n".join(parts) + "\n"


def _seconds(e: Experiment, results: Path, docs: Path) -> list[str]:
    """Sections with the results of other experiments as a further column, where they were run."""
    parts: list[str] = []
    for other in experiments().values():
        if other.second is None or other.second.page != e.name:
            continue
        folders = (results / other.name / DATA, published.tables_of(other, docs))
        theirs = next((found for f in folders if (found := read_csvs(f))), {})
        if theirs:
            text = other.second.write(read_csvs(results / e.name / DATA), theirs)
            blocks = ([block] if block.startswith("|") else _prose(block) for block in text.split("\n\n"))
            parts += ["", f"## {other.second.heading}"]
            for block in blocks:
                parts += ["", *block]
    return parts


def _data(e: Experiment, tables: Sequence[str]) -> list[str]:
    """Links to the tables, and their columns."""
    if not tables:
        return []
    names = ", ".join(f"[{path.rsplit('/', 1)[1]}]({path})" for path in tables)
    parts = ["", "## Data", "", *_prose(f"Tables behind claims and explanations, mostly a row per run: {names}.")]
    if e.columns:
        rows = [f"| `{name}` | {text} |" for name, text in {**e.columns, **OF_EVERY_RUN}.items()]
        parts += ["", "| column | |", "|---|---|", *rows]
    return parts


def _prose(text: str) -> list[str]:
    """Wrapped lines; code and links stay in one piece."""
    kept = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(kept, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def _answer(about: Mapping[str, Any]) -> list[str]:
    """The computed answer to a question that no paper answers; empty for reproductions."""
    return [*_prose(about["finding"]), ""] if about.get("finding") else []


def findings(name: str, verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The findings of a page: each cause with its origin, the claims that hang on it, and the reason."""
    words = {row["key"]: row["claim"] for row in verdicts}
    lines = []
    for f in causes.found({name: verdicts}):
        claims = list(dict.fromkeys(words[key] for _, key in f.consequences))
        number = f"{len(f.consequences)} claim{'s' * (len(f.consequences) > 1)}"
        said = "; ".join(claims[:SHOWN]) + (f"; and {len(claims) - SHOWN} more" if len(claims) > SHOWN else "")
        lines.append(
            _item(f"**{f.cause.title}** ({f.cause.origin.value}; {number}). {_linked(f.cause.support)} ({said}.)")
        )
    return [*lines, ""] if lines else []


def finding(verdicts: list[dict[str, Any]]) -> str:
    """The result of an experiment in one or two sentences.

    They name published claims that hold, and those that do not.
    """
    published = [v for v in verdicts if kind_of(v) in PUBLISHED]
    counted = published or verdicts
    holds = sum(v["verdict"] == REPRODUCED for v in counted)
    what = "published claims are reproduced" if published else "expectations that no paper measured are met"
    text = f"**{holds} of {len(counted)} {what}.**"
    unnamed = [
        v["claim"] for v in counted if v["verdict"] == DIFFERS and not (kind_of(v) in PUBLISHED and v.get("cause"))
    ]
    ties = [v["claim"] for v in counted if v["verdict"] == TIE]
    split = [v["claim"] for v in counted if v["verdict"] == MODES]
    missed = "Not reproduced" if published else "Not met"
    said = ((missed, unnamed), ("Undecided", ties), ("Without a verdict, as the runs have two modes", split))
    for words, every in said:
        claims = list(dict.fromkeys(every))
        if claims:
            more = f"; and {len(claims) - SHOWN} more" if len(claims) > SHOWN else ""
            text += f" {words}: {'; '.join(claims[:SHOWN])}{more}."
    loose = sum(v["verdict"] == ANY for v in counted)
    return text + (f" {loose} would hold for any scheme." if loose else "")


def _claims(verdicts: list[dict[str, Any]]) -> list[str]:
    """The table of claims; for narrow screens, without the column of exchanges if it is empty."""
    heads = heads_for(verdicts)
    rows = [
        (
            f"{v['claim']} ({v['source']})",
            _kind(v),
            v["published"],
            v["ours"],
            v["interval"],
            v["tolerance"],
            v.get("exchanged", ""),
            v["verdict"],
        )
        for v in verdicts
    ]
    tried = any(v.get("exchanged") for v in verdicts)
    shown = [i for i, head in enumerate(heads) if tried or head != "exchanged"]
    lines = [[row[i].replace("|", "\\|") for i in shown] for row in rows]
    return [
        "| " + " | ".join(heads[i] for i in shown) + " |",
        "|---" * len(shown) + "|",
        *("| " + " | ".join(line) + " |" for line in lines),
    ]


def _kind(row: Mapping[str, Any]) -> str:
    """The kind of a claim; of a number, also where it is from."""
    kind = str(row.get("kind", ""))
    return f"{kind}, {row['read']}" if kind_of(row) in PUBLISHED and row.get("read", "") != Read.WORDS.value else kind


def _decided(rows: list[dict[str, str]]) -> list[str]:
    """Hypotheses on causes, with the verdicts from their runs."""
    parts = [
        "## What causes it",
        "",
        *textwrap.wrap(" ".join(RULE.split()), WIDTH),
        "",
        "| hypothesis | verdict |",
        "|---|---|",
    ]
    parts += [f"| {row['hypothesis']} | {row['verdict']} |" for row in rows]
    return [*parts, "", *(_item(f"*{row['hypothesis']}*: **{row['verdict']}**. {row['words']}") for row in rows)]


def _theirs(what: str, rows: list[dict[str, str]]) -> list[str]:
    """Claims with the schemes of the study's simulator, and with Linux's."""
    heads = ("claim", "published", "the simulator's", "verdict", "Linux's", "verdict")
    columns = ("claim", "published", "theirs", "theirs_verdict", "linux", "linux_verdict")
    lines = [" | ".join(row[c].replace("|", "\\|") for c in columns) for row in rows]
    both = [(row["linux_verdict"] == REPRODUCED, row["theirs_verdict"] == REPRODUCED) for row in rows]
    counts = {
        "bearing": len(rows),
        "both": both.count((True, True)),
        "linux": both.count((True, False)),
        "theirs": both.count((False, True)),
        "neither": both.count((False, False)),
    }
    words = f"{what} {THEIRS.format(**counts)}"
    return [
        "## With Linux's schemes",
        "",
        *textwrap.wrap(words, WIDTH),
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
        *(f"| {line} |" for line in lines),
    ]


def _theirs_in_all(counts: list[tuple[int, ...]]) -> str:
    """Sums over the pages that have such a section."""
    bearing, both, linux, theirs, neither = (sum(column) for column in zip(*counts, strict=True)) if counts else [0] * 5
    words = THEIRS.format(bearing=bearing, both=both, linux=linux, theirs=theirs, neither=neither)
    what = f"{len(counts)} pages of the OrbCC and LeoTCP studies have Cubic, BBRv1 and BBRv3 of the study's simulator."
    return "\n".join(textwrap.wrap(f"{what} {words}", WIDTH))


def _item(text: str) -> str:
    return "\n".join(textwrap.wrap(f"* {text}", WIDTH, subsequent_indent="  "))
