# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Two steps: from digests to tables, and from tables to verdicts and figures.

`OUT/study/experiment/`: `data/NAME.csv` (the input of figures and verdicts), `about.json` (size,
runs, checksums of the tables), `verdicts.json`, `NAME.svg`, `.pdf`, `.png`. The second step needs
only the files of the first.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from perigee_lab.common import quoting
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import PARTIAL, fresh, inner, naming, removed, write_text, written
from perigee_lab.common.reading import MOST_DATA, read_bytes, read_text
from perigee_studies import beside
from perigee_studies.model import Size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from perigee_studies.exchanged import Power
    from perigee_studies.model import Ask, Experiment, Outcome, Tables
    from perigee_studies.verdicts import Verdict

DATA, ABOUT, VERDICTS = "data", "about.json", "verdicts.json"
SIZES = {size.value for size in Size}


class ConcludeError(PerigeeError):
    """Tables are missing or cannot be read."""


def tabulate(experiment: Experiment, found: Sequence[Outcome], ask: Ask, out: Path, planned: int) -> None:
    """Computes and writes the tables of an experiment."""
    tables = beside.tables(experiment, found)
    folder = out / experiment.name
    for place in (folder.parent, folder):
        inner(place)
    partial = fresh(folder / f"{DATA}{PARTIAL}")
    try:
        for name, frame in tables.items():
            with naming(folder / DATA / f"{name}.csv"):
                write_csv(frame, partial / f"{name}.csv")
        removed(folder / DATA)
        partial.rename(folder / DATA)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    about = {
        "size": ask.size.value,
        "schemes": list(dict.fromkeys(o.case.cc for o in found)),
        "runs": len(found),
        "planned": planned,
        "simulated_s": sum(o.digest.info["duration_ns"] for o in found) / 1e9,
        "packet_hops": sum(o.digest.info["packet_hops"] for o in found),
        "conserved": all(o.digest.info["conserved"] for o in found),
        "tables": {f.name: checksum(f) for f in sorted((folder / DATA).glob("*.csv"))},
    }
    write_text(folder / ABOUT, json.dumps(about, indent=1) + "\n")


def add_variants(experiment: Experiment, found: Sequence[Outcome], out: Path) -> None:
    """Adds the results of variants to existing tables of the figure.

    Earlier rows of the same variants are replaced.

    Raises:
        ConcludeError: the figure's tables are missing or damaged.
    """
    import pandas as pd

    folder = out / experiment.name
    about = read_about(folder)
    names = {o.case.labels["variant"] for o in found}
    for name, frame in beside.tables_of_variants(experiment, found).items():
        file = inner(folder / DATA) / f"{name}.csv"
        rows = [frame]
        if file.exists():
            before = read_csv(file)
            rows = [before[~before["variant"].isin(names)], frame]
        after = pd.concat([r for r in rows if len(r)], ignore_index=True)
        if name == f"{beside.VARIANTS}-runs":
            about["runs"] += len(after) - (len(before) if len(rows) == 2 else 0)
            about["planned"] = max(about["planned"], about["runs"])
        write_csv(after, file)
    about["tables"] = {f.name: checksum(f) for f in sorted((folder / DATA).glob("*.csv"))}
    write_text(folder / ABOUT, json.dumps(about, indent=1) + "\n")


def write_csv(frame: pd.DataFrame, file: Path) -> None:
    """Writes a table, with nine significant digits."""
    with written(file) as partial:
        partial.write_text(quoting.csv_frame(frame, "%.9g"), encoding="utf-8", newline="\n")


def checksum(file: Path) -> str:
    """Checksum of a table, by which damage is detected."""
    return hashlib.sha256(read_bytes(file, MOST_DATA)).hexdigest()


def read_about(folder: Path) -> dict[str, Any]:
    """Reads the notes of `tabulate` on an experiment, and checks its tables against them.

    Raises:
        ConcludeError: a file is missing or damaged; the message starts with its name.
    """
    path = folder / ABOUT
    try:
        about: dict[str, Any] = json.loads(read_text(path))
    except FileNotFoundError as error:
        raise ConcludeError(f"{path} is missing") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConcludeError(f"{path} is damaged") from error
    # The results of earlier versions have no checksums.
    sums = about.get("tables", {}) if isinstance(about, dict) else None
    if not isinstance(sums, dict) or not is_complete(about):
        raise ConcludeError(f"{path} is damaged")
    for name, expected in sums.items():
        file = folder / DATA / name
        if not file.is_file():
            raise ConcludeError(f"{file} is missing")
        if checksum(file) != expected:
            raise ConcludeError(f"{file} is damaged")
    return about


def is_complete(about: Mapping[str, Any]) -> bool:
    """Whether notes on an experiment have what every reader of them needs."""
    return {"size", "runs", "planned"} <= set(about) and str(about["size"]) in SIZES


def read_tables(folder: Path) -> Tables:
    """Reads the saved tables."""
    found = read_csvs(folder / DATA)
    if not found:
        raise ConcludeError(f"{folder / DATA} holds no tables")
    return found


def read_csvs(folder: Path) -> Tables:
    """Reads all tables of a folder, by name; empty without any."""
    return {f.stem: read_csv(f) for f in sorted(folder.glob("*.csv"))}


def read_csv(file: Path) -> pd.DataFrame:
    """Reads a saved table; a table without columns is empty."""
    import pandas as pd

    try:
        found = pd.read_csv(io.BytesIO(read_bytes(file)))
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except ValueError as error:
        raise ConcludeError(f"{file} is damaged") from error
    return quoting.frame_from_csv(found)


def finish(experiment: Experiment, out: Path) -> list[Verdict]:
    """Computes verdicts and figures from the saved tables.

    Raises ConcludeError if the tables have changed.
    """
    from perigee_studies import causes, kinds, style
    from perigee_studies.exchanged import power, weighed
    from perigee_studies.kinds import PUBLISHED
    from perigee_studies.registry import experiments

    folder = out / experiment.name
    about = read_about(folder)
    saved = read_tables(folder)
    tables = beside.headline(saved)
    plain = causes.named(experiment.name, experiment.verdicts(tables))
    explained = beside.explained(experiment, saved)
    of = kinds.of(experiment.name, plain, experiments(), tables)
    found = power(experiment, tables)
    verdicts = weighed(plain, found)
    rows = [
        {
            **asdict(v),
            "why": why(explained, v),
            "kind": kind.value,
            "read": v.read.value,
            "exchanged": f"{found[v.key].passed} of {found[v.key].tried}" if v.key in found else "",
        }
        for v, kind in zip(verdicts, of, strict=True)
    ]
    counted = [found[v.key] for v, k in zip(verdicts, of, strict=True) if k in PUBLISHED and _telling(v, found)]
    passed, tried = sum(p.passed for p in counted), sum(p.tried for p in counted)
    about["exchanged"] = {"passed": passed, "tried": tried} if counted else None
    about["theirs"] = beside.compared(experiment, saved, plain)
    about["own"] = beside.has_theirs(saved)
    about["decided"] = [asdict(d) for d in beside.decided(experiment, saved)]
    if experiment.note is not None:
        about["note"] = experiment.note(tables)
    if experiment.finding is not None:
        about["finding"] = experiment.finding(tables)
    if experiment.summary is not None:
        about["summary"] = experiment.summary({**saved, **tables})
    write_text(folder / ABOUT, json.dumps(about, indent=1) + "\n")
    write_text(folder / VERDICTS, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    for name, figure in experiment.draw(tables).items():
        style.save(figure, folder, name)
    return verdicts


def _telling(verdict: Verdict, found: Mapping[str, Power]) -> bool:
    return verdict.key in found and found[verdict.key].telling


def why(explained: Mapping[str, str], verdict: Verdict) -> str:
    """The explanation of a claim that is not reproduced."""
    from perigee_studies.verdicts import DIFFERS

    return explained.get(verdict.key, "open") if verdict.verdict == DIFFERS else ""
