# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables of docs/studies/linux: their simulated cases again with the present code, and further runs on hosts.

    python bench/linux_tables.py [--add OUT/linux/full] [--data FOLDER] [EXPERIMENT …]

Runs on hosts take hours and are kept, with the commit that made them; the simulated cases of the same labels take
minutes. Both models are simulated again for every row of `runs.csv`; --data has the recorded paths, if rows are of
them. With --add, rows of a folder of results (`perigee study run EXPERIMENT --backend linux --out OUT`) are added
first; a row with the labels, scheme and seed of an existing one is an error. EXPERIMENT is one such as
leo-cc/fairness; by default all that have tables. Then write the page: `perigee study report --backend linux --docs
docs/studies`.
"""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from perigee_lab import _core
from perigee_lab.common.files import write_text
from perigee_lab.runs.machines import Machines
from perigee_studies import beside, linux, linux_page, made
from perigee_studies.cache import Cache
from perigee_studies.conclude import ABOUT, DATA, checksum, read_about, read_csv, write_csv
from perigee_studies.execute import Plan, Runner, outcomes, took
from perigee_studies.model import Ask, Size
from perigee_studies.published import word_of
from perigee_studies.registry import experiments

if TYPE_CHECKING:
    from perigee_studies.model import Case, Experiment

TABLES = Path(__file__).resolve().parents[1] / "docs/studies" / linux.FOLDER
WAYS: dict[str, dict[str, object]] = {beside.STUDY: {}, beside.SIMULATED: linux.KERNEL}
"""The two models, with their settings."""


class RepeatedError(ValueError):
    """A run on hosts is in both tables."""


def joined(before: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Rows of both tables of runs on hosts, schemes in their usual order within the same labels.

    Raises:
        RepeatedError: both have a row with the same labels, scheme and seed.
    """
    keys = linux_page.keys_of(before)
    if len(both := before.merge(more[keys], on=keys)):
        raise RepeatedError(f"in both tables: {both[keys].to_dict('records')}")
    rows = pd.concat([before, more], ignore_index=True)
    labels = [name for name in keys if name not in {"cc", "seed"}]
    place = {cc: i for i, cc in enumerate(linux.SCHEMES)}
    order = rows.assign(at=rows.groupby(labels, sort=False).ngroup(), cc=rows["cc"].map(place))
    return rows.loc[order.sort_values(["at", "cc"], kind="stable").index].reset_index(drop=True)


def simulated(experiment: Experiment, runs: pd.DataFrame, data: Path | None = None) -> list[Case]:
    """The cases of a table of runs on hosts, simulated with both models."""
    wanted = {tuple(map(str, row)) for row in runs[linux_page.keys_of(runs)].itertuples(index=False)}
    labels = [name for name in linux_page.keys_of(runs) if name not in {"cc", "seed"}]

    def key(c: Case) -> tuple[str, ...]:
        return *(_number(c.labels[name]) for name in labels), c.cc, str(c.seed)

    # With recorded paths, the paths after LeoEM's rules are not among the cases, and the reverse.
    every = [c for d in dict.fromkeys((data, None)) for c in linux.figure_cases(experiment, Ask(Size.FULL, data=d))]
    found = list({key(c): c for c in every if key(c) in wanted}.values())
    return [beside.marked(replace(c, sets={**c.sets, **sets}), way) for way, sets in WAYS.items() for c in found]


def _number(value: object) -> str:
    """A label as it is read from a table."""
    return f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)


def added(about: dict[str, Any], source: Path, new: pd.DataFrame) -> dict[str, Any]:
    """The notes on tables with the further runs on hosts of a folder of results."""
    more = read_about(source)
    s = about["simulated_s"] + more["simulated_s"] * len(new) / more["runs"]
    whole = {"simulated_s": s, "conserved": about["conserved"] and more["conserved"]}
    return about | whole | {"made": both_made(about["made"], made.read(source))}


def both_made(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The provenance of two parts; the command is the first one's, with the schemes of both."""
    words, ccs = shlex.split(one["command"]), []
    for part in (one, other):
        its = shlex.split(part["command"])
        ccs += its[its.index("--cc") + 1].split(",") if "--cc" in its else list(linux.SCHEMES)
    if "--cc" in words:
        at = words.index("--cc")
        words[at : at + 2] = [] if set(ccs) == set(linux.SCHEMES) else ["--cc", ",".join(ccs)]
    parts = [{k: v for k, v in p.items() if k != "parts"} for p in [*one.get("parts", [one]), other]]
    total = sum(p["runs_s"] for p in parts)
    return {"version": other["version"], "runs_s": total, "command": shlex.join(words), "parts": parts}


def renew(experiment: Experiment, cache: Cache, results: Path | None, data: Path | None) -> list[str]:
    """Adds runs on hosts, if given, and writes the simulated tables again. Returns failures."""
    folder = TABLES / word_of(experiment)
    about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    runs = read_csv(folder / "runs.csv")
    if results is not None and (source := results / experiment.name).exists():
        new = read_csv(source / DATA / "runs.csv")
        runs, about = joined(runs, new), added(about, source, new)
    cases = simulated(experiment, runs, data)
    plan = Plan.of([experiment], Ask(Size.FULL), lambda _e, _a: cases)
    failures = [f"{experiment.name}: {f.case.cc}: {f.error}" for f in Runner(plan, cache, Machines(jobs=1)).run()]
    if failures or len(cases) != 2 * len(runs):
        return failures or [f"{experiment.name}: {len(cases)} simulated cases of {len(runs)} runs (--data?)"]
    write_csv(runs, folder / "runs.csv")
    for name, frame in beside.tables(experiment, outcomes(plan, cache, experiment.name)).items():
        if name.split("-")[0] in WAYS and not name.endswith("series"):
            write_csv(frame, folder / f"{name}.csv")
    cost = took(plan, cache, experiment.name)
    about["runs"] = len(runs)
    about["simulated"] = {"version": _core.__version__, "commit": made.commit(), "runs_s": cost and round(cost)}
    about["tables"] = {p.name: checksum(p) for p in sorted(folder.glob("*.csv"))}
    about.pop("packet_hops", None)
    write_text(folder / ABOUT, json.dumps(about, indent=1) + "\n")
    return []


def main() -> int:
    """Renews the tables and prints failures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    there = [name for name in linux.NAMES if (TABLES / word_of(experiments()[name])).exists()]
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=", ".join(there))
    parser.add_argument("--add", type=Path, help="results of runs on hosts to add")
    parser.add_argument("--data", type=Path, help="recorded paths, as of `perigee study run --data`")
    parser.add_argument("--keep", type=Path, default=Path("runs/linux-tables"))
    args = parser.parse_args()
    if unknown := [name for name in args.experiments if name not in there]:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(there)}")
    names = args.experiments or there
    made.commit()  # is kept, before tables change
    failures = [f for name in names for f in renew(experiments()[name], Cache(args.keep), args.add, args.data)]
    print("\n".join(failures or [f"{len(names)} tables renewed"]))
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
