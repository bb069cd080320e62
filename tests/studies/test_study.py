# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Studies: statistics, the cache of the runner, and the command line end to end."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import Begin, Cli
from perigee_lab.common import statistics as stats
from perigee_lab.runs.machines import Machines
from perigee_lab.runs.scenario import load, schemes
from perigee_studies import beside, kinds, pages
from perigee_studies.cache import Cache
from perigee_studies.commands import Screen
from perigee_studies.conclude import read_csv, why
from perigee_studies.digest import Digest
from perigee_studies.exchanged import Power, power, weighed
from perigee_studies.execute import Plan, Progress, Runner, outcomes
from perigee_studies.gallery import heads_for
from perigee_studies.kinds import PUBLISHED, Kind, split
from perigee_studies.made import MADE
from perigee_studies.model import SCENARIOS, Ask, Size
from perigee_studies.registry import PAPERS, UnknownError, choose, experiments
from perigee_studies.verdicts import (
    ANY,
    DIFFERS,
    MISSING,
    REPRODUCED,
    TIE,
    Verdict,
    bound,
    near,
    order,
    telling,
    value,
)


def test_the_tests_of_the_geostationary_study_come_out_as_published() -> None:
    steady = stats.t_test_from_moments(112.9, 12.2, 80, 123.3, 17.0, 80)
    assert (round(steady.t, 2), steady.freedom, round(steady.d, 3)) == (4.45, 158, 0.703)
    assert steady.p < 0.0001
    start = stats.t_test_from_moments(23.1, 1.8, 80, 16.6, 0.3, 80)
    assert (round(start.t, 2), round(start.d, 2)) == (31.86, 5.04)


def test_welch_and_student_agree_with_equal_spread_and_differ_otherwise() -> None:
    assert stats.t_test([1, 2, 3], [2, 3, 4]).p == pytest.approx(stats.t_test([1, 2, 3], [2, 3, 4], welch=True).p)
    a, b = [1.0, 2, 3, 4], [0.0, 10, 20, 5, 5]
    assert stats.t_test(a, b, welch=True).freedom < stats.t_test(a, b).freedom


def test_a_ratio_per_second_punishes_flows_that_take_turns() -> None:
    a, b = [60.0, 40.0] * 10, [40.0, 60.0] * 10
    assert stats.ratios(a, b).mean() == pytest.approx(2 / 3)
    assert stats.ratio_of_means(a, b) == pytest.approx(1)
    assert len(stats.ratios([0, 1], [0, 2])) == 1


def test_intervals_cover_and_single_values_have_none() -> None:
    m = stats.mean([1, 2, 3, 4, 5])
    assert (m.value, round(m.high - m.low, 3)) == (3, 3.926)
    assert np.isnan(stats.mean([1]).low)
    e = stats.median(list(range(50)))
    assert e.low < e.value < e.high


def test_verdicts_follow_the_numbers() -> None:
    assert near("k", "", "", 10, value(10.9), 1).verdict == REPRODUCED
    assert near("k", "", "", 10, value(11.1), 1).verdict == DIFFERS
    assert order("k", "", "", [("a", 2), ("b", 1)]).verdict == REPRODUCED
    assert order("k", "", "", [("a", 1), ("b", 2)]).verdict == DIFFERS
    assert order("k", "", "", [("a", 1), ("b", float("nan"))]).verdict == MISSING


def test_published_numbers_are_judged_by_the_interval() -> None:
    def verdict(*runs: float) -> str:
        return near("k", "", "", 10, stats.mean(runs), 1).verdict

    assert verdict(9.9, 10.0, 10.1) == REPRODUCED
    assert verdict(12.9, 13.0, 13.1) == DIFFERS
    # Means of 10.5 and 11.5 with intervals across the tolerance at 11.
    assert verdict(9.5, 10.5, 11.5) == TIE
    assert verdict(10.5, 11.5, 12.5) == TIE
    assert verdict(10.0, 11.8) == REPRODUCED, "two runs have no meaningful interval"


def test_bounds_that_nobody_published_are_tested_by_the_interval() -> None:
    def verdict(*runs: float, low: float = 0.8) -> str:
        return bound("a", "claim", "expected, not measured", "fair", stats.mean(runs), low).verdict

    assert verdict(0.90, 0.91, 0.92) == REPRODUCED
    assert verdict(0.50, 0.51, 0.52) == DIFFERS
    assert verdict(0.5, 1.0, 1.0) == TIE  # the mean is above the bound, with runs on both sides
    assert verdict(0.81, 0.99) == REPRODUCED  # two runs: compared directly
    assert bound("a", "", "", "", stats.mean([]), 0.8).verdict == MISSING
    shown = bound("a", "", "", "", stats.mean([-3e-5, -2e-5, -4e-5]), -1, 1, "%", places=3)
    assert (shown.ours, shown.interval, shown.verdict) == ("0 %", "0 to 0", REPRODUCED)


def test_orders_of_several_runs_are_tested_run_by_run() -> None:
    """Components common to all runs are not noise; a difference within the noise is a tie."""
    shared = np.array([10.0, 50.0, 20.0, 90.0, 40.0])
    slightly = shared + np.array([0.9, 1.0, 1.1, 1.0, 1.0])
    noise = shared + np.array([-9.0, 12.0, -8.0, 11.0, 1.0])
    value = {name: stats.mean(x).value for name, x in (("low", shared), ("high", slightly), ("noisy", noise))}

    def verdict(*names: str, **more: float) -> str:
        return order("k", "", "", [(n, value[n]) for n in names], **more).verdict

    assert verdict("high", "low") == REPRODUCED
    assert verdict("low", "high") == DIFFERS
    assert verdict("noisy", "low") == TIE
    assert verdict("low", "noisy") == TIE
    assert verdict("high", "low", "noisy") == TIE, "the worst of the neighbours"
    assert verdict("low", "high", slack=2) == REPRODUCED
    value["median"] = stats.median(slightly).value
    assert verdict("median", "low") == REPRODUCED
    value["few"] = stats.mean(shared[:2] - 99).value
    assert verdict("low", "few") == REPRODUCED, "of two runs nothing can be tested"
    found = order("k", "", "", [("high", value["high"]), ("low", value["low"])])
    assert found.interval == "smallest difference 1 (0.9122 to 1.088)"
    # Different numbers of runs cannot be paired: the common component hides the difference.
    value["four"] = stats.mean(slightly[:4]).value
    assert verdict("four", "low") == TIE


@pytest.mark.parametrize(("study", "low", "period", "n"), [("orbcc", 1, 5, 61), ("leotcp", 5, 15, 21)])
def test_schedules_are_those_of_the_studies(study: str, low: int, period: int, n: int) -> None:
    """The studies draw them with CPython's generator, and so does this test."""
    draw = random.Random(7)
    expected = []
    for _ in range(n):
        rate, rtt = draw.randint(50, 100), draw.randint(low, 100)
        draw.uniform(0, 1)
        if study == "orbcc":
            draw.randint(45, 120)
        expected.append((rate, rtt))
    run = load(SCENARIOS / study / "responsiveness.toml", {"run.duration": "31 s"}).run(cc="newreno", seed=7)
    flows = run.to_pandas("flows")
    for k, (rate, rtt) in enumerate(expected[: 30 // period + 1]):
        # One second after a change, the new values apply, whatever the outage.
        row = flows[flows["t_ns"] == (k * period + 1) * 1_000_000_000].iloc[0]
        assert row["path_rate_bps"] == rate * 1_000_000
        assert row["base_rtt_ns"] == pytest.approx(rtt * 1e6, abs=0.5e6)


def test_every_experiment_has_cases_of_every_size_and_sound_scenarios() -> None:
    everything = list(experiments().values())
    counts = {}
    for size in Size:
        ask = Ask(size)
        counts[size] = sum(len(e.cases(ask)) for e in everything)
    assert counts[Size.QUICK] < counts[Size.DEFAULT] <= counts[Size.FULL]
    plan = Plan.of(everything, Ask(Size.QUICK))
    assert plan.failures == []


def test_an_installed_package_needs_no_other_file(tmp_path: Path) -> None:
    """Without recorded logs, LeoEM's paths are from the package.

    One of them is bundled; the others are generated by rules.
    """
    import perigee_lab as perigee

    package = tmp_path / "lib" / "perigee_lab"
    shutil.copytree(Path(perigee.__file__).parent, package)
    for case in {c.scenario: c for e in experiments().values() for c in e.cases(Ask(Size.QUICK))}.values():
        for file in load(SCENARIOS / case.scenario, dict(case.sets)).core.files:
            assert Path(file).resolve().is_relative_to(SCENARIOS.resolve()), (case.scenario, file)
    run = "from perigee_lab.cli.app import main; main()"
    asked = ["study", "run", "leo-cc/single-flow", "--quick", "--cc", "cubic", "--out", "out"]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", run, *asked], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    about = json.loads((tmp_path / "out/quick/leo-cc/single-flow/about.json").read_text(encoding="utf-8"))
    assert "SD-NY ISL was replayed" in about["note"]
    assert "SD-NY BP was made by the rules" in about["note"]


def test_all_schemes_are_the_whole_list() -> None:
    every = {s["id"] for s in schemes()}
    assert set(Ask(cc=("all",)).schemes(("cubic", "bbr"))) == every - {"policy", "leotcp"}
    assert Ask(cc=("all",)).schemes(("bbr", "cubic"))[:2] == ["bbr", "cubic"]
    assert Ask(cc=("vegas",)).schemes(("cubic",)) == ["vegas"]


def test_names_are_refused_with_a_hint() -> None:
    with pytest.raises(UnknownError, match="did you mean orbcc/responsiveness"):
        choose(["orbcc/responsivenes"])
    with pytest.raises(UnknownError, match="did you mean orbcc/hpcc"):
        choose(["ORBCC/HPCC"])


def test_a_digest_survives_the_disk() -> None:
    d = Digest([{"name": "a", "goodput": 1.5}], np.array([1.0, 2.0]), {"rtt_ns": np.array([[1.0, np.nan]])})
    d.rtt_ms = np.zeros((1, 201))
    back = Digest.from_bytes(d.to_bytes())
    assert back.flows == d.flows
    assert np.isnan(back.columns["rtt_ns"][0, 1])
    assert back.to_bytes() == d.to_bytes()
    with pytest.raises(ValueError, match="damaged"):
        Digest.from_bytes(d.to_bytes()[:-30])


ONE = ("study", "run", "leotcp/responsiveness", "--quick", "--cc", "newreno,orbcc-repro", "--jobs", "2", "--out", "o")


def results(folder: Path) -> dict[str, bytes]:
    """All files without the duration of the runs, which always differs."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != MADE)
    took = re.compile(rb" in \d+ (s|min) of run time")
    return {str(p.relative_to(folder)): took.sub(b"", p.read_bytes()) for p in files}


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_results(begin: Begin, cli: Cli, tmp_path: Path) -> None:
    done = cli(*ONE)
    assert done.returncode == 0, done.stderr
    whole = results(tmp_path / "o" / "quick")
    assert {"index.html", "failures.json"} <= set(whole)
    page = whole["index.html"].decode()
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("data:image/png;base64,") == 2
    assert "goodput-bbr" not in page
    assert {
        f"leotcp/responsiveness/{n}" for n in ("verdicts.json", "about.json", "distributions.svg", "run.pdf")
    } <= set(whole)
    (tmp_path / "o").rename(tmp_path / "first")
    cache = tmp_path / "o" / "cache"
    runs = len(list((tmp_path / "first" / "cache").rglob("*.digest")))
    for kept in sorted(random.sample(range(runs - 1), 3)):
        process = begin(*ONE)
        while process.poll() is None and len(list(cache.rglob("*.digest"))) < kept:
            time.sleep(0.002)
        time.sleep(random.uniform(0, 0.05))
        assert process.poll() is None, "killed while it works"
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = cli(*ONE)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "o" / "quick") == whole
    # Cached cases are not run again, and a report needs no runs.
    before = sorted(p.stat().st_mtime_ns for p in (tmp_path / "o" / "cache").rglob("*.digest"))
    assert cli(*ONE).returncode == 0
    assert sorted(p.stat().st_mtime_ns for p in (tmp_path / "o" / "cache").rglob("*.digest")) == before
    assert cli("study", "report", "--size", "quick", "--out", "o", "--docs", "pages").returncode == 0
    assert results(tmp_path / "o" / "quick") == whole
    page_text = (tmp_path / "pages" / "leotcp-responsiveness.md").read_text(encoding="utf-8")
    assert "| claim | kind | published | ours |" in page_text
    assert (tmp_path / "pages" / "leotcp-responsiveness-run.png").exists()


def test_a_failing_run_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    good = experiments()["leotcp/responsiveness"].cases(Ask(Size.QUICK, ("newreno",)))[0]
    good = replace(good, sets={"run.duration": "2 s"})
    bad = replace(good, sets={"source.dumbbell.rtt": "20 parsecs"}, seed=3)
    ill = replace(good, cc="no-such-scheme", seed=4)
    one = replace(experiments()["leotcp/responsiveness"], cases=lambda _: [bad, ill, good])
    plan, cache = Plan.of([one], Ask(Size.QUICK)), Cache(tmp_path / "cache")
    failures = Runner(plan, cache, Machines(2)).run()
    assert [(f.case.scenario, f.case.seed) for f in failures] == [(good.scenario, 3), (good.scenario, 4)]
    assert "20 parsecs" in failures[0].error
    assert [o.case for o in outcomes(plan, cache, one.name)] == [good]


def test_the_list_names_the_papers(cli: Cli) -> None:
    rows = json.loads(cli("study", "list", "--json").stdout)
    papers = {row["name"].split("/")[0]: row["figure"] for row in rows}
    assert papers.keys() == set(PAPERS)
    assert all(figure.startswith(PAPERS[study]) for study, figure in papers.items())
    assert "leo-cc/inter-rtt" in (text := cli("study", "list").stdout)
    assert "Mazilu et al.: Fig. 4" in text


def test_a_report_names_the_sizes_that_have_results(cli: Cli, tmp_path: Path) -> None:
    assert cli("study", "report", "--out", "o").stderr.endswith("`perigee study run` first\n")
    (tmp_path / "o/quick/geo/ping").mkdir(parents=True)
    (tmp_path / "o/quick/geo/ping/about.json").touch()
    done = cli("study", "report", "--out", "o")
    assert done.returncode == 2
    assert done.stderr.endswith("there are some of another size, say --size quick\n")


def test_the_first_line_of_progress_says_what_begins(capsys: pytest.CaptureFixture[str], cli: Cli) -> None:
    Screen().show(Progress(total=16, cached=1, now="geo/ping"))
    assert capsys.readouterr().err == "0 of 15 runs (1 more from earlier): geo/ping begins\n"
    done = cli("study", "run", "leotcp/responsiveness", "--quick", "--cc", "newreno", "--out", "o")
    assert re.match(r"\d of \d runs(, .*)?: leotcp/responsiveness( begins)?\n", done.stderr)


@pytest.mark.parametrize("words", [("run", "small.toml", "--cc", ""), ("run", "small.toml", "--cc", "cubic,"),
    ("check", "small.toml", "--cc", " "), ("validate", "--cc", ""), ("study", "run", "geo", "--cc", ""),
    ("study", "run", "geo", "--only", ""), ("study", "run", ""), ("study", "report", ""),
    ("paths", "small.toml", "--attach", "")], ids=" ".join)  # fmt: skip
def test_empty_names_are_never_the_default(words: tuple[str, ...], cli: Cli, small: Path, tmp_path: Path) -> None:
    done = cli(*words)
    assert done.returncode == 2
    assert "empty" in done.stderr or "is called ''" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [small.name]


def test_usage_says_once_that_names_repeat(cli: Cli) -> None:
    for command in ("run", "report"):
        assert cli("study", command, "--help").stdout.splitlines()[0].count("...") == 1


def test_bad_names_end_with_a_message(cli: Cli) -> None:
    done = cli("study", "list", "--json")
    assert "orbcc/responsiveness" in {e["name"] for e in json.loads(done.stdout)}
    done = cli("study", "run", "nonsense")
    assert done.returncode == 2
    assert "no experiment is called 'nonsense'" in done.stderr
    assert cli("study", "run", "orbcc/responsiveness", "--cc", "nonsense").returncode == 2
    assert cli("study", "report", "--out", "nowhere").returncode == 2


def test_pages_of_other_experiments_stay_and_are_counted(tmp_path: Path) -> None:
    rows = "".join(
        f"| {claim} | {kind.value} | | | | | {verdict} |\n"
        for claim, kind, verdict in (
            ("a", Kind.NUMBER, REPRODUCED),
            ("b", Kind.STATEMENT, DIFFERS),
            ("c", Kind.NUMBER, REPRODUCED),
            ("d", Kind.MODEL, REPRODUCED),
        )
    )
    old = f"# Title\n\nOrbCC: Fig. 5. `perigee study run orbcc/inter-rtt` (full size: 7 runs)\n\n{rows}"
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/orbcc-inter-rtt.md").write_text(old, encoding="utf-8")
    pages.write(tmp_path / "nothing", tmp_path / "pages")
    assert (tmp_path / "pages/orbcc-inter-rtt.md").read_text(encoding="utf-8") == old
    front = (tmp_path / "pages/README.md").read_text(encoding="utf-8")
    assert "| OrbCC, Fig. 5 | 2 | 1 | 0 | 0 | 1 | 0 | 0 | 0 |  | 7 | full |" in front
    assert "| **published number** | 2 | 0 | 0 | 0 | 0 |" in front
    assert "| **published order or statement** | 0 | 1 | 0 | 0 | 0 |" in front


UNPUBLISHED_SOURCES = ("not published", "not measured", "by construction", "suggested in")


@pytest.mark.parametrize("name", sorted(p.name for p in (Path(__file__).parents[2] / "docs/studies/data").iterdir()))
def test_a_claim_that_no_paper_makes_does_not_count_as_published(name: str) -> None:
    """The kind is stated with each claim, and the column of sources must agree with it."""
    docs = Path(__file__).parents[2] / "docs/studies"
    experiment = next(e for e in experiments().values() if e.name.replace("/", "-") == name)
    tables = beside.of_figure({p.stem: read_csv(p) for p in (docs / "data" / name).glob("*.csv")})
    for v in experiment.verdicts(tables):
        if any(words in v.source for words in UNPUBLISHED_SOURCES):
            assert v.kind is Kind.UNPUBLISHED, v
        if v.source.startswith(("independent", "calculation", "derived from")):
            assert v.kind is Kind.MODEL, v
        if v.kind is Kind.NUMBER:
            assert any(c.isdigit() for c in v.published), v


def test_a_claim_of_both_papers_counts_once() -> None:
    def kind(study: str, published: str) -> Kind:
        v = Verdict("a", "claim", "Fig. 7", published, "1", "", "", REPRODUCED, Kind.NUMBER)
        twin = dataclasses.replace(experiments()["orbcc/intermittent"], verdicts=lambda _: [earlier])
        return kinds.of(f"{study}/intermittent", [v], {"orbcc/intermittent": twin}, {})[0]

    earlier = Verdict("a", "claim", "Fig. 7", "63.45 ms", "1", "", "", REPRODUCED, Kind.NUMBER)
    assert kind("leotcp", "63.45 ms") is Kind.SAME
    assert kind("leotcp", "63.94 ms") is Kind.NUMBER
    assert kind("orbcc", "63.45 ms") is Kind.NUMBER


def test_the_front_page_says_what_the_pages_count() -> None:
    docs = Path(__file__).parents[2] / "docs/studies"
    rows = [row for page in docs.glob("*-*.md") for row in pages.ROW.findall(page.read_text(encoding="utf-8"))]
    counts = split({"kind": kind, "verdict": verdict} for kind, verdict in rows)
    front = (docs.parents[1] / "README.md").read_text(encoding="utf-8")
    good, bad, ties, loose = (
        sum(counts[kind].get(v, 0) for kind in PUBLISHED) for v in (REPRODUCED, DIFFERS, TIE, ANY)
    )
    words = f"{good} are reproduced, {bad} are not, {ties} are ties. ({loose} claims that any scheme"
    assert words in " ".join(front.split())


@pytest.mark.parametrize("name", sorted(p.name for p in (Path(__file__).parents[2] / "docs/studies/data").iterdir()))
def test_pages_say_what_their_tables_say(name: str) -> None:
    """Verdicts, values and explanations are computed again: typed or stale text differs."""
    docs = Path(__file__).parents[2] / "docs/studies"
    experiment = next(e for e in experiments().values() if e.name.replace("/", "-") == name)
    page = (docs / f"{name}.md").read_text(encoding="utf-8")
    saved = {p.stem: read_csv(p) for p in sorted((docs / "data" / name).glob("*.csv"))}
    tables = beside.of_figure(saved)
    verdicts = weighed(experiment.verdicts(tables), power(experiment, tables))
    assert len(verdicts) > 0
    for v in verdicts:
        assert f" | {v.ours} | {v.interval} | {v.tolerance} | ".replace("  ", " ") in page.replace("  ", " "), v.claim
        assert re.search(rf"^\| {re.escape(v.claim)} \(.* \| {v.verdict} \|$", page, re.MULTILINE), v.claim
    explained = beside.explained(experiment, saved)
    words = "".join(page.split())
    for v in verdicts:
        assert "".join(why(explained, v).split()) in words, v.claim


def test_pages_are_written_from_the_tables_beside_them(cli: Cli, tmp_path: Path) -> None:
    """The page and its tables are reproduced unchanged without any run."""
    docs, name = Path(__file__).parents[2] / "docs/studies", "hypatia-rtts"
    shutil.copytree(docs / "data" / name, tmp_path / "pages/data" / name)
    for file in docs.glob(f"{name}*.*"):
        shutil.copyfile(file, tmp_path / "pages" / file.name)
    done = cli("study", "report", "--from", "pages", "--docs", "pages", "--out", "o")
    assert done.returncode == 0, done.stderr
    for file in (f"{name}.md", *(f"data/{name}/{p.name}" for p in (docs / "data" / name).iterdir())):
        assert (tmp_path / "pages" / file).read_bytes() == (docs / file).read_bytes(), file
    assert (tmp_path / "o/full/index.html").exists()


def test_a_report_says_how_far_it_is_and_what_is_only_expected(cli: Cli) -> None:
    docs = Path(__file__).parents[2] / "docs/studies"
    done = cli("study", "report", "leo-cc/responsiveness", "--from", str(docs), "--out", "o")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "0 of 1 experiments: leo-cc/responsiveness begins\n"
    assert "LeoCC: share of the capacity, no loss: expected best, ours" in done.stdout
    assert "SaTCP above Cubic: published SaTCP ≥ Cubic, ours" in done.stdout


def test_an_explanation_is_made_again_by_one_command(cli: Cli, tmp_path: Path) -> None:
    """The row of the variant in the published table is reproduced to the last digit."""
    docs = Path(__file__).parents[2] / "docs/studies"
    done = cli("study", "explain", "hypatia/rtts", "--variant", "smoothed", "--from", str(docs), "--out", "o")
    assert done.returncode == 0, done.stderr
    assert "where it is told the smoothed RTT" in " ".join(done.stdout.split())
    ours, theirs = (
        {line for line in (folder / "variants-runs.csv").read_text(encoding="utf-8").splitlines() if "smoothed" in line}
        for folder in (tmp_path / "o/full/hypatia/rtts/data", docs / "data/hypatia-rtts")
    )
    assert ours == theirs
    assert len(ours) == 1


def test_pages_tables_are_used_at_their_own_size(cli: Cli, tmp_path: Path) -> None:
    """Variants at another size than the figure would differ in more than the varied setting."""
    docs = Path(__file__).parents[2] / "docs/studies"
    for name, size in (("hypatia-rtts", "full"), ("hypatia-vegas", "default")):
        shutil.copytree(docs / "data" / name, tmp_path / "pages/data" / name)
        about = tmp_path / "pages/data" / name / "about.json"
        about.write_text(json.dumps(json.loads(about.read_text()) | {"size": size}), encoding="utf-8")
    both = ("hypatia/rtts", "hypatia/vegas", "--from", "pages", "--out", "o")
    assert cli("study", "report", *both).returncode == 0
    found = sorted(p.relative_to(tmp_path / "o").as_posix() for p in (tmp_path / "o").glob("*/hypatia/*"))
    assert found == ["default/hypatia/vegas", "full/hypatia/rtts"]
    refused = cli("study", "report", *both[:-1], "p", "--size", "default")
    assert refused.returncode == 2
    assert (
        "--size default: the tables of hypatia/rtts in pages are of the size full; leave --size out" in refused.stderr
    )
    assert "(full, default)" in cli("study", "report", *both, "--json").stderr.replace(
        "(default, full)", "(full, default)"
    )


def test_damaged_tables_of_pages_are_named(cli: Cli, tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs/studies"
    folder = tmp_path / "pages/data/hypatia-rtts"
    for file, text, says in (
        ("about.json", "{", "about.json is damaged"),
        ("runs.csv", (docs / "data/hypatia-rtts/runs.csv").read_text()[:300], "runs.csv is not as it was saved"),
    ):
        shutil.rmtree(tmp_path / "pages", ignore_errors=True)
        shutil.copytree(docs / "data/hypatia-rtts", folder)
        (folder / file).write_text(text)
        done = cli("study", "report", "hypatia/rtts", "--from", "pages", "--out", "o")
        assert done.returncode == 2
        assert f"perigee: pages/data/hypatia-rtts/{says}: bring it back" in done.stderr
        assert not list((tmp_path / "o").rglob("*.csv"))
        explained = cli("study", "explain", "hypatia/rtts", "--from", "pages", "--out", "e")
        assert (explained.returncode, explained.stderr) == (2, done.stderr)
        assert not (tmp_path / "e").exists()


def test_explanations_say_what_they_lack(cli: Cli, tmp_path: Path) -> None:
    assert "no explanation of geo/ping rests on variants" in cli("study", "explain", "geo/ping").stderr
    docs = Path(__file__).parents[2] / "docs/studies"
    words = ["orbcc/responsiveness", "--variant", "nonsense", "--from", str(docs), "--out", "o"]
    for more in ([], ["--variant", "F-RTO"]):
        done = cli("study", "explain", *words, *more)
        assert done.returncode == 2
        assert "no variant is called 'nonsense'; there are 'F-RTO" in done.stderr
        assert not (tmp_path / "o").exists()


def test_nothing_is_run_where_variants_have_no_tables_to_stand_beside(cli: Cli, tmp_path: Path) -> None:
    """The tables are checked before the first run, and no files are left behind."""
    (tmp_path / "wrong").mkdir()
    words = ("study", "explain", "hypatia/rtts", "--variant", "smoothed", "--out", "o")
    for more, said in (
        (("--from", "wrong"), "--from wrong has no tables of hypatia/rtts (wrong/data/hypatia-rtts/about.json"),
        ((), "o/default/hypatia/rtts/about.json is missing: run `perigee study run hypatia/rtts` again"),
    ):
        done = cli(*words, *more)
        assert done.returncode == 2
        assert said in done.stderr
        assert "runs" not in done.stderr.replace("run `", "")
        assert [p.name for p in tmp_path.iterdir()] == ["wrong"]


def test_claims_that_any_scheme_would_meet_are_found_out() -> None:
    """With schemes exchanged, a claim on a number fails; a claim that all schemes meet holds."""
    import pandas as pd

    def verdicts(t: dict[str, pd.DataFrame]) -> list[Verdict]:
        of = t["runs"].set_index("cc")["mbps"]
        tight = [
            near(f"tight-{cc}", cc, "Table I", v, value(of[cc]), 1.0) for cc, v in (("cubic", 90.0), ("bbr", 50.0))
        ]
        loose = near("loose", "any", "Table I", 70, value(of["cubic"]), 50.0)
        return [*tight, loose, near("still", "no scheme's", "Table I", 1, value(1), 0.1)]

    e = dataclasses.replace(experiments()["orbcc/inter-rtt"], verdicts=verdicts)
    runs = pd.DataFrame({"cc": ["cubic", "bbr", "vegas"], "mbps": [90.0, 50.0, 30.0]})
    found = power(e, {"runs": runs})
    assert found == {"tight-cubic": Power(0, 2), "tight-bbr": Power(0, 2), "loose": Power(2, 2)}, (
        "under both other names"
    )
    apart = {v.key: v.verdict for v in weighed(e.verdicts({"runs": runs}), found)}
    assert apart == {"tight-cubic": REPRODUCED, "tight-bbr": REPRODUCED, "loose": ANY, "still": REPRODUCED}
    assert Power(1, 2).telling is False
    assert Power(2, 5).telling is True
    alone = dataclasses.replace(e, verdicts=lambda t: [near("one", "cubic", "Table I", 90, value(90), 1)])
    assert power(alone, {"runs": runs[:1]}) == {}, "a single scheme has nothing to be exchanged with"


def test_tolerances_tell_schemes_apart_where_the_study_does() -> None:
    assert telling(100, [100, 90, 60], 20, 1) == 5, "half the distance to the nearest"
    assert telling(100, [100, 99, 30], 20, 1) == 20, "99 is as good as the same"
    assert telling(100, [97], 20, 1) == 1.5


@pytest.mark.parametrize("study", ["hypatia/tables", "orbcc/intermittent"])
def test_each_claim_has_a_key_of_its_own(study: str) -> None:
    page = Path(__file__).parents[2] / "docs/studies" / f"{study.replace('/', '-')}.md"
    claims = re.findall(
        r"^\| (.*?) \| (?:published|in both|never|indep)", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(claims) == len(set(claims)) > 20


def test_a_corrected_value_stands_beside_the_printed_one() -> None:
    page = (Path(__file__).parents[2] / "docs/studies/orbcc-intermittent.md").read_text(encoding="utf-8")
    assert "2.01 (corrected; printed 1.38)" in page


def test_the_cost_of_telemetry_needs_no_rival() -> None:
    """With `--cc orbcc` alone, the cost of the bytes is known, but not the benefit."""
    import pandas as pd

    whats = ("no bytes", "bytes, full echo", "bytes, bottleneck echo")
    rows = [
        {"path": p, "hops": 12, "what": w, "run": 1, "net_mbps": 90.0}
        for p in ("row", "New York - London")
        for w in whats
    ]
    verdicts = {v.key: v.verdict for v in experiments()["orbcc/overhead"].verdicts({"runs": pd.DataFrame(rows)})}
    assert verdicts.pop("cost") == REPRODUCED
    assert set(verdicts.values()) == {MISSING}


@pytest.mark.parametrize("name", ["leo-cc/single-flow", "leo-cc/fairness", "orbcc/many-flow-handover"])
def test_verdicts_need_no_scheme_in_particular(name: str) -> None:
    """`--cc vegas` omits the published schemes, so that claims about them have no data."""
    import pandas as pd

    numbers = ("norm", "inflation", "retransmit_pct", "ratio", "goodput_sd_mbps", "goodput", "delay", "sum_mbps")
    row = {"path": "SD-NY BP", "network": "recorded", "cc": "vegas", "flows": 5, **dict.fromkeys(numbers, 1.0)}
    verdicts = experiments()[name].verdicts({"runs": pd.DataFrame([row])})
    assert verdicts
    assert {v.verdict for v in verdicts} == {MISSING}


def test_explanations_are_printed_on_request(cli: Cli, tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs/studies/data/orbcc-responsiveness"
    folder = tmp_path / "default/orbcc/responsiveness"
    (folder / "data").mkdir(parents=True)
    for table in docs.glob("*.csv"):
        (folder / "data" / table.name).write_bytes(table.read_bytes())
    (folder / "about.json").write_text('{"size": "default", "runs": 1, "planned": 1}', encoding="utf-8")
    command = ("study", "report", "orbcc/responsiveness", "--out", str(tmp_path))
    plain, explained = cli(*command), cli(*command, "--explain")
    assert plain.returncode == explained.returncode == 0
    assert "why: Cubic: mean goodput" in explained.stdout
    assert "with tail loss probes" in " ".join(explained.stdout.split())
    assert "why:" not in plain.stdout


def test_the_column_of_what_nobody_published_says_expected() -> None:
    never, number = {"kind": "never published"}, {"kind": "published number"}
    assert "expected" in heads_for([never, never])
    assert "published" in heads_for([never, number])
    assert "published" in heads_for([])
