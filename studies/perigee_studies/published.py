# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Published tables next to the pages, from which these are updated without runs.

`docs/studies/data/STUDY-EXPERIMENT/` has the tables and `about.json`. Figures that need data which
is not published (time series over recorded paths) are not redrawn; the existing figures are kept.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from perigee_lab.common.files import copied, fresh, inner, write_text
from perigee_lab.common.reading import read_text
from perigee_lab.common.structures import Reader, json_problem
from perigee_studies import made
from perigee_studies.conclude import ABOUT, DATA, VERDICTS, ConcludeError, checksum, is_complete
from perigee_studies.kinds import Kind, Read
from perigee_studies.model import Size
from perigee_studies.registry import experiments
from perigee_studies.verdicts import VERDICT_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from perigee_studies.model import Experiment

TABLES = "data"
"""Folder with the tables of the pages."""
CLAIMS = "claims.json"
"""The claims of a page next to its tables, from which the front page counts."""
REMEDY = "bring it back, as by git checkout"
# Values that are computed from the tables are not stored.
_KEPT = ("size", "schemes", "runs", "planned", "simulated_s", "packet_hops", "conserved")


@dataclass(frozen=True)
class Claim:
    """A claim of a page: the keys of a saved verdict from which the front page counts."""

    key: str
    kind: str
    read: str
    verdict: str
    cause: str
    """Name of the cause of a miss; empty for others, and without a known cause."""


_ALLOWED = {
    "kind": tuple(kind.value for kind in Kind),
    "read": tuple(read.value for read in Read),
    "verdict": VERDICT_WORDS,
}
"""The words of the fields that have a fixed set."""


def word_of(experiment: Experiment) -> str:
    """Prefix of an experiment's page, figures and folder of tables."""
    return experiment.name.replace("/", "-")


def page_of(experiment: Experiment, docs: Path) -> Path:
    """The page of an experiment."""
    return docs / f"{word_of(experiment)}.md"


def tables_of(experiment: Experiment, docs: Path) -> Path:
    """Folder of the tables of an experiment's page."""
    return docs / TABLES / word_of(experiment)


def by_size(names: Sequence[str], docs: Path | None) -> dict[Size, list[str]]:
    """Names by the size of their published tables.

    Experiments without published tables are in every size, or in the default size.

    Variants at another size than the figure would differ from it in more than the varied setting.
    """
    have = {name: size_of(name, docs) for name in names} if docs is not None else {}
    sizes = [size for size in Size if size in have.values()] or [Size.DEFAULT]
    return {size: [name for name in names if have.get(name) in (size, None)] for size in sizes}


def size_of(name: str, docs: Path) -> Size | None:
    """Size of an experiment's published tables.

    None if there are no tables, or their size is unknown.
    """
    try:
        about = json.loads(read_text(tables_of(experiments()[name], docs) / ABOUT))
        return Size(about["size"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def save(
    experiment: Experiment,
    results: Path,
    docs: Path,
    about: Mapping[str, Any],
    verdicts: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """Copies the tables for claims and explanations, and returns their paths relative to the pages.

    Time series over recorded paths are not copied, since they contain other people's recordings.
    """
    source, folder = results / experiment.name, tables_of(experiment, docs)
    fresh(folder)
    found = sorted((source / DATA).glob("*.csv"))
    chosen = [p for p in found if experiment.study != "leo-cc" or not p.stem.endswith("series")]
    for path in chosen:
        copied(path, folder / path.name)
    kept = {name: about[name] for name in _KEPT if name in about}
    sums = {path.name: checksum(folder / path.name) for path in chosen}
    write_text(folder / ABOUT, json.dumps(kept | {"tables": sums, "made": made.read(source)}, indent=1) + "\n")
    rows = [{field.name: row.get(field.name, "") for field in fields(Claim)} for row in verdicts]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_text(folder / CLAIMS, f"[\n{lines}\n]\n" if rows else "[]\n")
    return [f"{TABLES}/{folder.name}/{path.name}" for path in chosen]


def claims(experiment: Experiment, docs: Path) -> list[dict[str, Any]]:
    """The claims of a page as they were saved with its tables; empty if there is no page yet.

    Raises:
        ConcludeError: the file is damaged, or missing although the page exists.
    """
    path = tables_of(experiment, docs) / CLAIMS
    try:
        return [asdict(claim) for claim in _read_claims(path)]
    except FileNotFoundError as error:
        if not page_of(experiment, docs).exists():
            return []
        raise ConcludeError(f"{path} is missing: {REMEDY}") from error
    except OSError as error:
        raise ConcludeError(f"{path} cannot be read ({error.strerror or error}): {REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise ConcludeError(f"{path} is damaged ({json_problem(error)}): {REMEDY}") from error


def reader_of(path: Path) -> Reader:
    """A reader of a file next to the pages, with errors that name the remedy."""
    return Reader(path, lambda text: ConcludeError(f"{text}: it is damaged, {REMEDY}"))


def ignored(experiments: Sequence[Experiment], docs: Path) -> list[str]:
    """Warnings of saved claims that are damaged or missing, where claims are computed from tables."""
    found = []
    for e in experiments:
        try:
            claims(e, docs)
        except ConcludeError as error:
            found.append(f"warning: {error}; it is not used here, since the claims are computed from the tables")
    return found


def _read_claims(path: Path) -> tuple[Claim, ...]:
    reader = reader_of(path)
    found: tuple[Claim, ...] = reader.value(tuple[Claim, ...], json.loads(read_text(path)), "claims")
    for i, claim in enumerate(found):
        for name, words in _ALLOWED.items():
            if (word := getattr(claim, name)) not in words:
                raise reader.wrong(f"claims.{i}.{name}", word, f"one of {', '.join(words)}")
    return found


def noted(experiments: Sequence[Experiment], docs: Path, results: Path) -> dict[str, dict[str, Any]]:
    """Reads the notes of published tables of experiments without results, by name.

    Raises:
        ConcludeError: notes or tables are missing or damaged, or have changed since they were saved.
    """
    wanted = (e for e in experiments if not (results / e.name / ABOUT).exists() and tables_of(e, docs).exists())
    return {e.name: _complete(tables_of(e, docs)) for e in wanted}


def _complete(folder: Path) -> dict[str, Any]:
    about = checked(folder)
    if not is_complete(about) or not made.is_sound(about.get("made", {})):
        raise ConcludeError(f"{folder / ABOUT} is damaged: {REMEDY}")
    return about


def restore(experiments: Sequence[Experiment], docs: Path, results: Path) -> None:
    """Copies published tables and figures to results that lack them.

    All tables are checked first (`noted`).
    """
    words = {word_of(e) for e in experiments}
    abouts = noted(experiments, docs, results)
    for e in (e for e in experiments if e.name in abouts):
        source, folder, about = tables_of(e, docs), results / e.name, abouts[e.name]
        inner(folder / DATA)
        for path in source.glob("*.csv"):
            copied(path, folder / DATA / path.name)
        for name, picture in _pictures(word_of(e), words, docs).items():
            copied(picture, folder / f"{name}.png")
        what = about.pop("made", {})
        about["tables"] = {p.name: checksum(p) for p in sorted((folder / DATA).glob("*.csv"))}
        write_text(folder / made.MADE, json.dumps(what, indent=1) + "\n")
        (folder / VERDICTS).unlink(missing_ok=True)
        write_text(folder / ABOUT, json.dumps(about, indent=1) + "\n")


def checked(folder: Path) -> dict[str, Any]:
    """Reads the notes that were saved with tables of pages, and checks the tables against them.

    Raises:
        ConcludeError: a file is missing, or not as it was saved; the message starts with its name.
    """
    path = folder / ABOUT
    try:
        about: dict[str, Any] = json.loads(read_text(path))
    except FileNotFoundError as error:
        raise ConcludeError(f"{path} is missing: {REMEDY}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConcludeError(f"{path} is damaged: {REMEDY}") from error
    sums = about.get("tables") if isinstance(about, dict) else None
    if not isinstance(sums, dict):
        raise ConcludeError(f"{path} is damaged: {REMEDY}")
    for name, expected in sums.items():
        if not (folder / name).is_file():
            raise ConcludeError(f"{folder / name} is missing: {REMEDY}")
        if checksum(folder / name) != expected:
            raise ConcludeError(f"{folder / name} is not as it was saved: {REMEDY}")
    return about


def _pictures(word: str, words: set[str], docs: Path) -> dict[str, Path]:
    """The figures of a page by name.

    Figures of `responsiveness-loss` do not count as figures of `responsiveness`.
    """
    longer = tuple(f"{other}-" for other in words if other.startswith(f"{word}-"))
    mine = (p for p in sorted(docs.glob(f"{word}-*.png")) if not p.stem.startswith(longer or ("/",)))
    return {p.stem.removeprefix(f"{word}-"): p for p in mine}
