# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The commands `study run` and `study report`."""

from __future__ import annotations

import json
import math
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from perigee_lab.common import interrupt, quoting
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from perigee_lab.common.files import cannot_write, claimed, has_no_room, make_ready, write_text
from perigee_lab.common.messages import complain, say
from perigee_lab.common.reading import read_text
from perigee_studies import RESULTS, beside, conclude, gallery, linux, linux_page, made, pages, published
from perigee_studies.cache import Cache
from perigee_studies.execute import Failure, Plan, Progress, Runner, outcomes, took
from perigee_studies.kinds import Kind, kind_of
from perigee_studies.model import Ask, Size
from perigee_studies.registry import experiments
from perigee_studies.verdicts import REPRODUCED, reproduced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from perigee_lab.runs.backends import Linux
    from perigee_lab.runs.machines import Machines
    from perigee_studies.model import Case, Experiment
    from perigee_studies.verdicts import Verdict

FAILURES = "failures.json"
MOST_LISTED = 40
"""Number of values of a label in a message."""


def run_command(
    names: Sequence[str],
    ask: Ask,
    out: Path,
    *,
    machines: Machines,
    force: bool,
    explain: bool = False,
    as_json: bool = False,
    hosts: Linux | None = None,
) -> int:
    """Runs missing cases, then writes tables, verdicts, figures and the gallery.

    Results of Linux hosts (`hosts`) are in OUT/linux. Returns the exit code.
    """
    return _alone_in(
        out,
        folder := _folder(out, ask, hosts),
        lambda: _run(names, ask, out, folder, hosts, machines=machines, force=force, explain=explain, as_json=as_json),
    )


def check_labels(names: Sequence[str], ask: Ask, cases: Callable[[Experiment, Ask], Sequence[Case]]) -> None:
    """Ends the command if no case has the chosen labels, or one of their values."""
    if not ask.where:
        return
    every = [c for n in names for c in cases(experiments()[n], ask)]
    known: dict[str, dict[str, None]] = {}
    for label, value in (pair for c in every for pair in c.labels.items()):
        known.setdefault(label, {})[str(value)] = None
    for label, values in ask.where.items():
        if label not in known:
            stop(f"--where {label}: no case has this label; there are {', '.join(known)}")
        if absent := [value for value in values if value not in known[label]]:
            which = f"no case of the size {ask.size.value} has this value"
            verb = "is" if len(known[label]) == 1 else "are"
            stop(f"--where {label}={','.join(absent)}: {which}; there {verb} {_listed(known[label])}")
    if not any(map(ask.chosen, every)):
        there = "; ".join(f"{label}: {_listed(known[label])}" for label in ask.where)
        which = " ".join(f"{label}={','.join(v)}" for label, v in ask.where.items())
        stop(f"--where leaves no case: {which} are values of different cases; the values of all cases are {there}")


def _listed(values: Collection[str]) -> str:
    """Values for a message; of many, the first."""
    first = list(values)[:MOST_LISTED]
    return ", ".join(first) + (f", … ({len(values)} in all)" if len(values) > len(first) else "")


def _folder(out: Path, ask: Ask, hosts: Linux | None) -> Path:
    return out / ask.size.value if hosts is None else out / linux.FOLDER / ask.size.value


def _alone_in(out: Path, folder: Path, work: Callable[[], int]) -> int:
    """Calls `work` with exclusive access to a folder of results. Returns the exit code."""
    try:
        # The entire folder is claimed, because all sizes share the cache.
        with claimed(out):
            make_ready(folder)
            try:
                return work()
            finally:
                # A rejected call leaves no empty folder.
                with suppress(OSError):
                    folder.rmdir()
    except OSError as error:
        stop(f"{cannot_write(out, error)}; what is complete is kept")


def _run(
    names: Sequence[str],
    ask: Ask,
    out: Path,
    folder: Path,
    hosts: Linux | None,
    *,
    machines: Machines,
    force: bool,
    explain: bool,
    as_json: bool,
) -> int:
    begin = time.perf_counter()
    chosen = [experiments()[n] for n in names]
    plan = Plan.of(chosen, ask) if hosts is None else Plan.of(chosen, ask, linux.cases, hosts.key)
    cache = Cache(out / "cache")
    screen = Screen()
    runner = Runner(plan, cache, machines, screen.show)
    try:
        failures = runner.run(force=force)
        failures += [] if hosts is None else linux.drop_broken(plan, cache)
    except KeyboardInterrupt:
        screen.end()
        interrupt.announce("what is complete is kept, the same command goes on")
        return INTERRUPTED
    screen.end()
    verdicts: dict[str, list[Verdict]] = {}
    for experiment in chosen:
        try:
            found = outcomes(plan, cache, experiment.name)
            if found:
                conclude.tabulate(experiment, found, ask, folder, len(plan.planned[experiment.name]))
                runs_s = took(plan, cache, experiment.name)
                made.note(folder / experiment.name, _command(experiment.name, ask, hosts), runs_s)
                verdicts[experiment.name] = conclude.finish(experiment, folder)
        except Exception as error:  # one experiment that fails must not stop the others
            if interrupt.was_interrupted():
                raise KeyboardInterrupt from error
            if has_no_room(error):
                raise
            _concluding_failed(failures, experiment.name, error)
    _write_failures(folder, failures)
    gallery.write(folder)
    _tell(verdicts, failures, folder, time.perf_counter() - begin, explain=explain, as_json=as_json)
    return FAILED if failures else 0


def _command(name: str, ask: Ask, hosts: Linux | None) -> str:
    """The command that computes the results of an experiment, quoted for a shell."""
    words = ["perigee", "study", "run", name, *ask.size.option.split()]
    words += [word for label, values in ask.where.items() for word in ("--where", f"{label}={','.join(values)}")]
    if hosts is not None:
        words += [*(("--cc", ",".join(ask.cc)) if ask.cc else ()), "--backend", "linux"]
    return quoting.shell_words(words)


def explain_command(
    names: Sequence[str],
    ask: Ask,
    out: Path,
    *,
    machines: Machines,
    tables: Path | None = None,
    variants: Collection[str] = (),
) -> int:
    """Runs the variants on which explanations rest, and prints the explanations.

    Their tables are added to the existing tables of the figures.
    """
    chosen = [experiments()[n] for n in names if beside.variants(experiments()[n], ask, variants)]
    if (wrong := _nothing_beside(names, ask, variants)) is not None:
        stop(wrong)
    # This is checked before the first run, and before anything is written.
    lacking = [text for e in chosen if (text := _lacking(e, out / ask.size.value, tables)) is not None]
    if lacking:
        stop("\n".join(lacking))
    return _alone_in(
        out,
        out / ask.size.value,
        lambda: _explain_by_runs(chosen, ask, out, machines=machines, tables=tables, variants=variants),
    )


def _explain_by_runs(
    chosen: Sequence[Experiment],
    ask: Ask,
    out: Path,
    *,
    machines: Machines,
    tables: Path | None,
    variants: Collection[str],
) -> int:
    folder = out / ask.size.value
    if tables is not None:
        # This is read before the runs and before anything is written, since these tables may be
        # damaged.
        published.noted(chosen, tables, folder)
    plan = Plan.of(chosen, ask, lambda e, a: beside.variants(e, a, variants))
    cache, screen = Cache(out / "cache"), Screen()
    try:
        failures = Runner(plan, cache, machines, screen.show).run()
    except KeyboardInterrupt:
        screen.end()
        interrupt.announce("what is complete is kept, the same command goes on")
        return INTERRUPTED
    screen.end()
    if tables is not None:
        published.restore(chosen, tables, folder)
    ill = []
    for e in (e for e in chosen if plan.planned[e.name]):
        try:
            conclude.add_variants(e, outcomes(plan, cache, e.name), folder)
            made.note_variants(folder / e.name, took(plan, cache, e.name), variants)
            conclude.finish(e, folder)
        except conclude.ConcludeError as error:
            ill.append(f"{error}: {_remedy(e.name, folder)}, or take the pages' tables with --from docs/studies")
            continue
        say(e.name)
        _explain(folder / e.name)
    for message in [*ill, *(f"failed: {f.experiment}: {f.case.scenario}: {f.error}" for f in failures[:20])]:
        complain(message)
    gallery.write(folder)
    return FAILED if ill or failures else 0


def _nothing_beside(names: Sequence[str], ask: Ask, variants: Collection[str]) -> str | None:
    """The error message if there is nothing to run or no variant with a given name.

    Otherwise None.
    """
    there = sorted({str(c.labels["variant"]) for n in names for c in beside.variants(experiments()[n], ask)})
    if not there:
        return f"no explanation of {', '.join(names)} rests on variants"
    unknown = [v for v in variants if v not in there]
    if unknown:
        # Names are quoted, since they contain commas.
        return f"no variant is called {' or '.join(map(repr, unknown))}; there are {', '.join(map(repr, there))}"
    return None


def _lacking(experiment: Experiment, folder: Path, tables: Path | None) -> str | None:
    """The error message about the tables of a figure to which variants are to be added.

    None if there is no error.
    """
    name = experiment.name
    if tables is not None and not (folder / name / conclude.ABOUT).exists():
        about = published.tables_of(experiment, tables) / conclude.ABOUT
        pages = "give a folder of pages, such as docs/studies of a clone"
        return None if about.exists() else f"--from {tables} has no tables of {name} ({about} is missing): {pages}"
    try:
        conclude.read_about(folder / name)
        made.check(folder / name)
    except conclude.ConcludeError as error:
        return f"{error}: {_remedy(name, folder)}, or take the pages' tables with --from docs/studies"
    return None


def report_command(
    names: Sequence[str],
    folder: Path,
    *,
    docs: Path | None = None,
    tables: Path | None = None,
    explain: bool = False,
    as_json: bool = False,
) -> int:
    """Redraws everything from saved tables. Damaged tables are reported; the others are drawn.

    With `tables`, a folder of pages, the tables of these pages are used for experiments without
    runs.
    """

    def draw() -> int:
        if tables is not None:
            chosen = [experiments()[name] for name in names]
            published.restore(chosen, tables, folder)
            there = [e for e in chosen if _has_results(e.name, folder)]
            if chosen and not there:
                complain(_lacking(chosen[0], folder, tables) or f"{folder} holds no results")
                return BAD_INPUT
            for warning in published.ignored(there, tables):
                complain(warning)
        return _report(names, folder, docs, explain=explain, as_json=as_json)

    return _or_bad_input(draw, folder)


def report_linux_command(names: Sequence[str], out: Path, docs: Path | None) -> int:
    """Redraws the results of Linux hosts in all sizes, of which the largest is on the page."""
    return _or_bad_input(lambda: _report_linux(names, out, docs), out if docs is None else docs)


def _or_bad_input(draw: Callable[[], int], folder: Path) -> int:
    """Draws into a folder; damaged tables and a folder that cannot be written are bad input."""
    try:
        return draw()
    except conclude.ConcludeError as error:
        complain(str(error))
    except OSError as error:
        complain(cannot_write(folder, error))
    return BAD_INPUT


def _report_linux(names: Sequence[str], out: Path, docs: Path | None) -> int:
    code, any_there = 0, False
    for size in Size:
        folder = out / linux.FOLDER / size.value
        there = [n for n in names if (folder / n / conclude.ABOUT).exists()]
        if there:
            any_there = True
            code = _report(there, folder, None, explain=False, as_json=False, on_linux=True) or code
        if there and docs is not None and not code:
            code = _save_linux(there, folder, docs)
    if not any_there and docs is None:
        command = f"perigee study run leo-cc{_option(out)} --backend linux --kernel NAME"
        complain(f"{out / linux.FOLDER} holds no results: `{command}` first")
        return BAD_INPUT
    if docs is not None and not code:
        pages.write(None, docs)
    return code


def _save_linux(names: Sequence[str], folder: Path, docs: Path) -> int:
    code = 0
    for name in names:
        try:
            linux_page.save([name], folder, docs)
        except conclude.ConcludeError as error:
            complain(f"{error}: {_remedy(name, folder, on_linux=True)}")
            code = FAILED
    return code


def _report(
    names: Sequence[str], folder: Path, docs: Path | None, *, explain: bool, as_json: bool, on_linux: bool = False
) -> int:
    begin = time.perf_counter()
    verdicts: dict[str, list[Verdict]] = {}
    damaged: dict[str, str] = {}
    there = [n for n in names if _has_results(n, folder)]
    screen = Screen()
    for done, name in enumerate(there):
        left_s = (time.perf_counter() - begin) / done * (len(there) - done) if done else math.nan
        screen.show(Progress(len(there), 0, done, left_s, name, "experiments"))
        remedy = _remedy(name, folder, on_linux=on_linux)
        try:
            made.check(folder / name)
            verdicts[name] = conclude.finish(experiments()[name], folder)
        except conclude.ConcludeError as error:
            damaged[name] = f"{error}: {remedy}"
        except Exception as error:  # tables of earlier versions have no checksums
            if has_no_room(error):
                raise
            what = f"{folder / name / conclude.DATA} is damaged ({type(error).__name__}: {error})"
            damaged[name] = f"{what}: {remedy}"
    screen.end()
    ill = [*damaged.values(), *_damaged_failures(folder, on_linux=on_linux)]
    for message in ill:
        complain(message)
    if not verdicts and not damaged:
        complain(f"{folder} holds no results of these experiments: {_where(names, folder)}")
        return BAD_INPUT
    gallery.write(folder, damaged)
    if docs is not None:
        pages.write(folder, docs, damaged)
    _tell(verdicts, [], folder, time.perf_counter() - begin, explain=explain, as_json=as_json, damaged=damaged)
    return FAILED if ill else 0


def _has_results(name: str, folder: Path) -> bool:
    """Whether there are results of an experiment, damaged ones included."""
    return any((folder / name / part).exists() for part in (conclude.DATA, conclude.ABOUT))


def _where(names: Sequence[str], folder: Path) -> str:
    """A hint: the other sizes with results, or the command that computes them."""
    others = [size for size in Size if size.value != folder.name]
    have = [s.value for s in others if any((folder.parent / s.value / n / conclude.ABOUT).exists() for n in names)]
    if have:
        return "there are some of another size, say " + " or ".join(f"--size {size}" for size in have)
    return f"`perigee study run{_option(folder.parent)}` first"


def _remedy(name: str, folder: Path, *, on_linux: bool = False) -> str:
    size = f" --{folder.name}" if folder.name in {"quick", "full"} else ""
    out = folder.parents[1] if on_linux else folder.parent
    hosts = " --backend linux --kernel NAME" if on_linux else ""
    return f"run `perigee study run {name}{size}{_option(out)}{hosts}` again"


def _option(out: Path) -> str:
    """The option for a folder of results, unless it is the default."""
    return "" if out == RESULTS else f" --out {quoting.shell(str(out))}"


def _damaged_failures(folder: Path, *, on_linux: bool) -> list[str]:
    """The error message about the list of failures, if it is damaged."""
    path = folder / FAILURES
    try:
        good = not path.exists() or isinstance(json.loads(read_text(path)), list)
    except (OSError, ValueError, RecursionError):
        good = False
    return [] if good else [f"{path} is damaged: {_remedy('NAME', folder, on_linux=on_linux)}"]


def _concluding_failed(failures: list[Failure], name: str, error: Exception) -> None:
    import traceback

    from perigee_studies.model import Case

    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    failures.append(Failure(name, Case("tables and figure", "-"), text))


def _write_failures(folder: Path, failures: Sequence[Failure]) -> None:
    rows = [
        {
            "experiment": f.experiment,
            "scenario": f.case.scenario,
            "cc": f.case.cc,
            "seed": f.case.seed,
            "sets": dict(f.case.sets),
            "error": f.error,
        }
        for f in failures
    ]
    write_text(folder / FAILURES, json.dumps(rows, indent=1, default=str) + "\n")


def _tell(
    verdicts: dict[str, list[Verdict]],
    failures: Sequence[Failure],
    folder: Path,
    wall_s: float,
    *,
    explain: bool,
    as_json: bool,
    damaged: Mapping[str, str] = MappingProxyType({}),
) -> None:
    if as_json:
        rows = {name: [v.__dict__ for v in found] for name, found in verdicts.items()}
        told = {"verdicts": rows, "failures": len(failures), "damaged": dict(damaged), "wall_s": round(wall_s, 1)}
        print(json.dumps(told, indent=1))
        return
    for name in damaged:
        say(f"{name:<30} damaged")
    for name, found in verdicts.items():
        words = _words(folder / name)
        say(f"{name:<30} {reproduced([v.__dict__ for v in found])} claims reproduced")
        for v in found:
            if v.verdict != REPRODUCED:
                compared = f"{words.get(v.key, 'published')} {v.published}, ours {v.ours or 'none'}"
                say(f"    {v.verdict}: {v.claim}: {compared} ({v.tolerance})")
        if explain:
            _explain(folder / name)
    for f in failures[:20]:
        say(
            f"failed: {f.experiment}: {f.case.scenario} --cc {f.case.cc} --seed {f.case.seed}: {f.error}",
            file=sys.stderr,
        )
    if len(failures) > 20:
        say(f"failed: {len(failures) - 20} more, see {folder / FAILURES}", file=sys.stderr)
    say(f"{wall_s:.0f} s; gallery: {folder / 'index.html'}")


def _words(folder: Path) -> dict[str, str]:
    """Term for the reference value of each claim; "expected" if it was not published."""
    rows = json.loads(read_text(folder / conclude.VERDICTS))
    return {row["key"]: "expected" if kind_of(row) is Kind.UNPUBLISHED else "published" for row in rows}


def _explain(folder: Path) -> None:
    """Prints why claims are not reproduced, from the tables of additional runs."""
    rows = json.loads(read_text(folder / conclude.VERDICTS))
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row["why"]:
            by_reason.setdefault(row["why"], []).append(row["claim"])
    for reason, claims in by_reason.items():
        say(f"    why: {'; '.join(claims)}")
        say(textwrap.fill(reason, 116, initial_indent=" " * 9, subsequent_indent=" " * 9))
    for row in json.loads(read_text(folder / conclude.ABOUT)).get("decided", ()):
        say(f"    {row['verdict']}: {row['hypothesis']}")
        say(textwrap.fill(row["words"], 116, initial_indent=" " * 9, subsequent_indent=" " * 9))


class Screen:
    """Progress as a line that is updated on a terminal, or as one line per minute elsewhere."""

    def __init__(self) -> None:
        """Records the start time."""
        self.begin = time.perf_counter()
        self.last = -math.inf
        self.live = sys.stderr.isatty()
        self.shown = False

    def show(self, p: Progress) -> None:
        """Shows the progress."""
        now = time.perf_counter()
        if now - self.last < (0.5 if self.live else 60) or p.total == p.cached:
            return
        self.last, self.shown = now, True
        eta = "" if math.isnan(p.eta_s) else f", about {_time(p.eta_s)} left"
        runs = f"{p.done} of {p.total - p.cached} {p.what}"
        cached = f" ({p.cached} more from earlier)" if p.cached else ""
        so_far = f", {_time(now - self.begin)}{eta}: {p.now}" if p.done else f": {p.now} begins"
        text = f"{runs}{cached}{so_far}"
        print(f"\r{text:<100}" if self.live else text, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Ends the line."""
        if self.live and self.shown:
            print(file=sys.stderr)


def _time(seconds: float) -> str:
    minutes, s = divmod(int(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours} h {m} min" if hours else f"{m} min {s} s" if m else f"{s} s"
