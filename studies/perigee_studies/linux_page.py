# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Page of the emulation study on Linux hosts, and the sentence on it for the front page.

It is computed from the tables in `docs/studies/linux`: on Linux hosts, and simulated with two models.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import copied, fresh, inner, write_text
from perigee_lab.results.webpage import filled
from perigee_studies import beside, linux, linux_part, made, style
from perigee_studies.conclude import ABOUT, DATA, ConcludeError, checksum, read_about, read_csv
from perigee_studies.execute import Plan
from perigee_studies.kinds import PUBLISHED
from perigee_studies.model import Ask, Size
from perigee_studies.published import REMEDY, checked, reader_of, word_of
from perigee_studies.published import claims as claims_of_page
from perigee_studies.registry import experiments
from perigee_studies.verdicts import ANY, MISSING, REPRODUCED

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from perigee_studies.model import Experiment, Tables
    from perigee_studies.verdicts import Verdict

PAGE, PICTURE = "leo-cc-linux.md", "leo-cc-linux.png"
WIDTH = 116
METRICS = {
    "leo-cc/single-flow": {
        "norm": "goodput / 100 Mbit/s", "inflation": "delay inflation", "retransmit_pct": "retransmitted, %"
    },
    "leo-cc/fairness": {"ratio": "goodput ratio"},
    "leo-cc/responsiveness": {"goodput_mbps": "goodput, Mbit/s"},
    "leo-cc/inter-rtt": {"ratio": "goodput ratio"},
    "leo-cc/intra-rtt": {"ratio": "goodput ratio"},
    "leo-cc/parking-lot": {"ratio": "goodput ratio"},
    "leo-cc/efficiency": {"utilisation": "goodput / 100 Mbit/s", "inflation": "delay inflation"},
}  # fmt: skip
"""Columns of the table `runs` that are compared, with their names."""
KEPT = ("size", "runs", "simulated_s", "conserved", "full_runs", "full_s")


@dataclass(frozen=True)
class Origin:
    """Provenance of runs."""

    runs_s: float | None = None
    command: str = ""
    commit: str = ""


@dataclass(frozen=True)
class Notes:
    """Notes on the runs on Linux hosts."""

    runs: int
    simulated_s: float
    full_runs: int
    """Number and simulated time of all runs of the full size."""
    full_s: float
    tables: Mapping[str, str]
    """Checksums of the tables by file."""
    made: Origin
    simulated: Origin = Origin()
    """That of the simulated cases, if they were run apart (`bench/linux_tables.py`)."""


@dataclass(frozen=True)
class Side:
    """An experiment over the same cases in three ways."""

    experiment: Experiment
    about: Notes
    study: Tables
    """Simulated, with the model of the study's Linux, as on the experiment's own page."""
    simulated: Tables
    """Simulated, with the model of the hosts' Linux."""
    real: Tables
    """On Linux hosts."""
    page: Mapping[str, str] = field(default_factory=dict)
    """Verdicts of the experiment's own page, which has more runs, by claim."""

    def claims(self) -> list[tuple[Verdict, Verdict, Verdict]]:
        """The published claims on schemes that run on hosts, in the order of the tables."""
        ways = [{v.key: v for v in self.experiment.verdicts(t)} for t in (self.study, self.simulated, self.real)]
        keys = [key for key, v in ways[2].items() if v.kind in PUBLISHED and all(key in w for w in ways)]
        found = [(ways[0][key], ways[1][key], ways[2][key]) for key in keys]
        return [v for v in found if all(each.verdict != MISSING for each in v)]

    def lacks(self, claim: tuple[Verdict, ...]) -> str:
        """What a claim lacks for a verdict; empty if nothing (`linux_part.lacking`, `linux_part.open_on_page`)."""
        key, runs = claim[2].key, self.real["runs"]
        part = linux_part.lacking(self.experiment.name, key, runs)
        return part or linux_part.open_on_page(self.page.get(key, ""), runs)

    def decided(self) -> list[tuple[Verdict, Verdict, Verdict]]:
        """The claims with a verdict: without those of which too little was run."""
        return [claim for claim in self.claims() if not self.lacks(claim)]


def save(names: Sequence[str], results: Path, docs: Path) -> None:
    """Copies tables of Linux hosts from results to those of the pages, without recorded paths.

    Raises ConcludeError if they are damaged.
    """
    for e in (experiments()[name] for name in names if (results / name / ABOUT).exists()):
        source, folder = results / e.name, _folder(e, docs)
        about = read_about(source) | _full(e)
        if any(name not in about for name in KEPT) or not about["runs"]:
            raise ConcludeError(f"{source / ABOUT} is damaged")
        fresh(inner(folder.parent) / folder.name)
        for path in (p for p in sorted((source / DATA).glob("*.csv")) if not p.stem.endswith("series")):
            copied(path, folder / path.name)
        # Every case on hosts also has two simulated ones, whose time is not part of the cost.
        runs = len(read_csv(folder / "runs.csv"))
        about |= {"simulated_s": about["simulated_s"] * runs / about["runs"], "runs": runs}
        sums = {path.name: checksum(path) for path in sorted(folder.glob("*.csv"))}
        kept = {name: about[name] for name in KEPT} | {"tables": sums, "made": made.read(source)}
        write_text(folder / ABOUT, json.dumps(kept, indent=1) + "\n")


def _full(experiment: Experiment) -> dict[str, Any]:
    """Number and simulated time of the runs of the full size on hosts."""
    planned = Plan.of([experiment], Ask(Size.FULL), linux.cases).planned[experiment.name]
    real = [p.simulated_s for p in planned if p.case.run_as]
    return {"full_runs": len(real), "full_s": sum(real)}


def _folder(experiment: Experiment, docs: Path) -> Path:
    return docs / linux.FOLDER / word_of(experiment)


def sides(docs: Path) -> list[Side]:
    """The experiments with tables of Linux hosts.

    Raises:
        ConcludeError: a file is missing, or not as it was saved; the message starts with its name.
    """
    every = (experiments()[name] for name in linux.NAMES)
    return [_side(e, folder) for e in every if (folder := _folder(e, docs)).exists()]


def _side(experiment: Experiment, folder: Path) -> Side:
    notes = _notes(folder)
    every = {Path(name).stem: read_csv(folder / name) for name in sorted(notes.tables)}
    every = {name: frame for name, frame in every.items() if len(frame)}
    study, simulated = beside.of(every, beside.STUDY), beside.of(every, beside.SIMULATED)
    side = Side(experiment, notes, study, simulated, beside.of_figure(every))
    wanted = ["cc", "seed", *METRICS[experiment.name]]
    for way, tables in (("", side.real), (f"{beside.STUDY}-", study), (f"{beside.SIMULATED}-", simulated)):
        path = folder / f"{way}runs.csv"
        if "runs" not in tables:
            raise ConcludeError(f"{path} has no runs: {REMEDY}")
        if lacking := [name for name in wanted if name not in tables["runs"]]:
            raise ConcludeError(f"{path} has no column {', '.join(lacking)}: {REMEDY}")
        wanted = [*keys_of(side.real["runs"]), *METRICS[experiment.name]]
    try:
        side.decided()
        _means([side])
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        what = f"{folder} has tables that cannot be compared ({type(error).__name__}: {error})"
        raise ConcludeError(f"{what}: {REMEDY}") from error
    return side


def _notes(folder: Path) -> Notes:
    about, reader = checked(folder), reader_of(folder / ABOUT)
    notes = reader.structure(Notes, about)
    for name in ("runs", "simulated_s", "full_runs", "full_s"):
        if not 0 < getattr(notes, name) < math.inf:
            raise reader.wrong(name, getattr(notes, name), "positive")
    return notes


def keys_of(frame: pd.DataFrame) -> list[str]:
    """The columns that identify a case: labels, scheme and seed, which precede all values."""
    return list(frame.columns[: list(frame.columns).index("seed") + 1])


def write(found: Sequence[Side], docs: Path) -> str:
    """Writes the page and its figure if there are tables; returns the paragraph of the front page."""
    if not found:
        return ""
    draw(found, docs / PICTURE)
    # Read only here, since the pages' claims may just have been written.
    found = [replace(s, page={row["key"]: row["verdict"] for row in claims_of_page(s.experiment, docs)}) for s in found]
    every = [claim for side in found for claim in side.decided()]
    study, simulated, real = _held(every)
    differ = sum(ours.verdict != theirs.verdict for _, ours, theirs in every)
    finding = (
        f"On Linux's stack {real} of {len(every)} published claims on Cubic, SaTCP, BBRv3 and LeoCC hold, in "
        f"{sum(side.about.runs for side in found)} runs{_repeats(found)}; simulated over the same networks "
        f"{simulated} hold with the model of that Linux, 6.12, and {study} with that of the study's, 6.4, which was "
        f"not run itself. Linux and its model differ in {differ or 'no'} verdict{'s' * (differ > 1)}. "
        f"{_any_scheme(found)} {_undecided(found)} {_partial(found)}"
    )
    template = (files("perigee_studies") / "linux.md").read_text(encoding="utf-8")
    parts = {
        "FINDING": _prose(finding),
        "SUMMARY": _summary(found),
        "MEANS": _means(found),
        "CLAIMS": [line for side in found for line in (f"### {side.experiment.title}", "", *_claims(side), "")][:-1],
    }
    write_text(docs / PAGE, filled(template, {name: "\n".join(lines) for name, lines in parts.items()}))
    count = (
        f"[The emulation study on Linux's stack]({PAGE}) is counted separately: {real} of {len(every)} published "
        f"claims hold with Linux's own Cubic, BBRv3, SaTCP and LeoCC, {simulated} with the simulator's models of them."
    )
    return "\n".join(["\n", *_prose(count)])


def _repeats(found: Sequence[Side]) -> str:
    """Adds that each case was run once, if so."""
    once = all((side.real["runs"]["run"] == 1).all() for side in found)
    return " in all, one of each case" if once else ""


def _any_scheme(found: Sequence[Side]) -> str:
    """The number of claims that hold, but on their pages with the results of other schemes too."""
    held = [side.page.get(c[2].key) for side in found for c in side.decided() if c[2].verdict == REPRODUCED]
    n = held.count(ANY)
    return f"Of those that hold on Linux, {n} would hold for any scheme, as on the simulated pages." if n else ""


def _undecided(found: Sequence[Side]) -> str:
    """The claims that also the simulated pages leave undecided."""
    open_ = [claim for side in found for claim in side.claims() if side.lacks(claim) == linux_part.OPEN]
    return (
        f"Without a verdict {'are' if len(open_) > 1 else 'is'} {len(open_)} that the simulated pages leave undecided "
        f"over more runs, as Linux's are too few for an interval; they meet the bounds of {_held(open_)[-1]}."
        if open_
        else ""
    )


def _partial(found: Sequence[Side]) -> str:
    """The claims on more than was run, and what was run for them."""
    every = [(side.lacks(claim), claim) for side in found for claim in side.claims()]
    open_ = [(lacks, claim) for lacks, claim in every if lacks not in {"", linux_part.OPEN}]
    words = ", ".join(f"{n} with {lacks}" for lacks, n in Counter(lacks for lacks, _ in open_).items())
    inside = f"{_held([claim for _, claim in open_])[-1]} of {len(open_)}"
    part = f"{words}; on this part Linux meets the bounds of {inside}"
    return f"Claims on more than was run have no verdict: {part}." if words else ""


def _held(claims: Sequence[tuple[Verdict, ...]]) -> list[int]:
    """Numbers of claims that are reproduced: study's, simulated, real."""
    return [sum(claim[way].verdict == REPRODUCED for claim in claims) for way in range(3)]


def _summary(found: Sequence[Side]) -> list[str]:
    lines = [
        "| experiment | figure | claims | hold: as 6.4 | as 6.12 | Linux | runs on Linux | their time, min "
        "| runs at full size | their time, h |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    hours = 0.0
    for side in found:
        about, claims = side.about, side.decided()
        counts = " | ".join(map(str, _held(claims)))
        runs_s = about.made.runs_s or 0.0
        full_h = runs_s / about.simulated_s * about.full_s / 3600
        hours += full_h
        page = f"[{side.experiment.title}]({word_of(side.experiment)}.md)"
        lines.append(
            f"| {page} | {side.experiment.figure} | {len(claims)} | {counts} | {about.runs} | {runs_s / 60:.0f} "
            f"| {about.full_runs} | {full_h:.1f} |"
        )
    text = (
        f"Times are of one core of a busy machine; all runs of these at the full size would take {hours:.0f} h. "
        "Every run is stored when it ends: the same command continues, and one with other labels adds runs."
    )
    if apart := dict.fromkeys(side.about.simulated.commit for side in found if side.about.simulated.commit):
        text += f" The simulated cases are of commit {' and '.join(apart)}."
    commands = "\n".join(f"{side.about.made.command} --kernel NAME" for side in found)
    return [*lines, "", *_prose(text), "", "```text", commands, "```"]


def _means(found: Sequence[Side]) -> list[str]:
    heads = " | ".join(style.label(cc) for cc in linux.SCHEMES)
    lines = [f"| experiment | mean of | {heads} |", "|---|---|" + "---:|" * len(linux.SCHEMES)]
    for side in found:
        runs = (side.study["runs"], side.simulated["runs"], side.real["runs"])
        for column, name in METRICS[side.experiment.name].items():
            digits = 1 if "Mbit/s" in name and "/ 100" not in name else 2
            cells = []
            for cc in linux.SCHEMES:
                means = [t.loc[t["cc"] == cc, column].mean() for t in runs]
                run = len(side.real["runs"].query("cc == @cc"))
                cells.append(" \\| ".join(f"{x:.{digits}f}" for x in means) if run else "not run")
            lines.append(f"| {side.experiment.title} | {name} | {' | '.join(cells)} |")
    return [*lines, "", *_prose("Simulated as 6.4 | simulated as 6.12 | Linux 6.12: means over the same cases.")]


def _claims(side: Side) -> list[str]:
    lines = ["| claim | published | simulated as 6.4 | simulated as 6.12 | Linux 6.12 |", "|---|---|---|---|---|"]
    for claim in side.claims():
        lacks, real = side.lacks(claim), claim[2]
        ways = [f"{v.ours}{'' if lacks else f': {v.verdict}'}" for v in claim]
        tolerance = f"{lacks}: no verdict; {real.tolerance}" if lacks else real.tolerance
        row = (f"{real.claim} ({tolerance})", real.published, *ways)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return lines


def draw(found: Sequence[Side], file: Path) -> None:
    """Plots Linux's results over the simulated ones: a panel for each metric, two points for each run.

    Hollow points are simulated with the model of the study's Linux.
    """
    panels = [(side, column, name) for side in found for column, name in METRICS[side.experiment.name].items()]
    figure, axes = style.panels(min(5, len(panels)), -(-len(panels) // 5), width=2.1, height=2.0)
    for a in axes.flat[len(panels) :]:
        a.axis("off")
    for a, (side, column, name) in zip(axes.flat, panels, strict=False):
        for way, filled_in in ((side.study, False), (side.simulated, True)):
            _scatter(a, side.real["runs"], way["runs"], column, filled_in=filled_in)
        low, high = min(a.get_xlim()[0], a.get_ylim()[0]), max(a.get_xlim()[1], a.get_ylim()[1])
        low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
        a.plot([low, high], [low, high], color="black", linewidth=0.6, zorder=0)
        a.set_xlim(low, high)
        a.set_ylim(low, high)
        a.set_title(f"{side.experiment.figure}: {name}", loc="left", fontsize=6.5)
        a.set_xlabel("simulated")
    for a in axes[:, 0]:
        a.set_ylabel("Linux")
    style.shared_legend(figure, list(axes.flat[: len(panels)]))
    inner(file.parent)
    figure.savefig(file, dpi=130, bbox_inches="tight", metadata={"Software": None})


def _scatter(a: Any, real: pd.DataFrame, ours: pd.DataFrame, column: str, *, filled_in: bool) -> None:
    keys = keys_of(real)
    both = real[[*keys, column]].merge(ours[[*keys, column]], on=keys, suffixes=("", "_ours"))
    for cc in (cc for cc in linux.SCHEMES if cc in set(both["cc"])):
        one, look = both[both["cc"] == cc], style.look(cc)
        a.plot(
            one[f"{column}_ours"], one[column], linestyle="none", marker=look["marker"], color=look["color"],
            markersize=4, fillstyle="full" if filled_in else "none", label=style.label(cc) if filled_in else None,
        )  # fmt: skip


def _prose(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
