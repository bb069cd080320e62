# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Studies on Linux hosts: cases with companions, what is refused, the page, and a run on a kernel."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conftest import Cli
from perigee_lab.runs import backends
from perigee_lab.runs.machines import Machines
from perigee_lab.runs.scenario import load
from perigee_studies import commands, linux, linux_page, linux_part, published
from perigee_studies.cache import Cache, key_of
from perigee_studies.conclude import ABOUT, checksum, read_csv
from perigee_studies.execute import Plan, Runner, outcomes
from perigee_studies.linux import LinuxError
from perigee_studies.model import SCENARIOS, Ask, Case, Keep, Size
from perigee_studies.registry import experiments
from perigee_studies.verdicts import ANY, DIFFERS, MODES, REPRODUCED, TIE
from real_hosts import real

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).resolve().parents[2] / "docs/studies"
QUICK = Ask(Size.QUICK)


def of(name: str, cc: str) -> Case:
    return next(c for c in linux.cases(experiments()[f"leo-cc/{name}"], QUICK) if c.cc == cc)


def kernel(*, patches: tuple[str, ...] = (), modules: tuple[str, ...] = ()) -> backends.Linux:
    made = SimpleNamespace(
        key="k",
        extra_patches=[SimpleNamespace(name=n) for n in patches],
        modules=[SimpleNamespace(name=n) for n in modules],
    )
    return backends.Linux(cast("Any", SimpleNamespace(manifest=made, key="k")))


def test_every_case_is_sound_and_has_a_scheme_of_the_kernel() -> None:
    plan = Plan.of([experiments()[name] for name in linux.NAMES], QUICK, linux.cases, "kernel")
    assert plan.failures == []
    rows = [p for of_one in plan.planned.values() for p in of_one]
    cases = [p.case for p in rows if p.kernel == "kernel"]
    assert {c.cc: c.scheme for c in cases} == {"cubic": "cubic", "satcp": "satcp", "bbr3": "bbr", "leocc": "leocc"}
    assert not any(c.labels.get("network") == "constellation" for c in cases)
    simulated = [p.case for p in rows if p.kernel is None]
    assert {c.cc: c.scheme for c in simulated} == dict(zip(linux.SCHEMES, linux.SCHEMES, strict=True))
    assert len(simulated) == 2 * len(cases)
    assert not any("program" in c.sets for c in simulated)


def test_cases_are_chosen_by_label() -> None:
    ask = Ask(Size.DEFAULT, ("cubic",), where={"run": ["1"], "rtt_ms": ["20", "100"]})
    rows = Plan.of([experiments()["leo-cc/intra-rtt"]], ask, linux.cases, "kernel").planned["leo-cc/intra-rtt"]
    assert [p.case.labels["rtt_ms"] for p in rows if p.kernel] == [20, 100]
    assert {p.case.labels["run"] for p in rows} == {1}


@pytest.mark.parametrize("name", ["responsiveness", "inter-rtt", "parking-lot", "efficiency", "single-flow"])
def test_the_network_is_that_of_the_simulated_case(name: str) -> None:
    case = of(name, "cubic")
    before = next(c for c in experiments()[f"leo-cc/{name}"].cases(QUICK) if c.cc == "cubic")
    there, here = (tomllib.loads(load(SCENARIOS / c.scenario, dict(c.sets)).core.toml) for c in (before, case))
    for section in ("run", "source", "port", "schedule", "handover", "flow"):
        assert here.get(section) == there.get(section), section


def test_companions_come_with_flows_that_are_not_counted() -> None:
    satcp, leocc = of("inter-rtt", "satcp"), of("inter-rtt", "leocc")
    assert satcp.keep.flows == leocc.keep.flows == 2
    flows: Any = leocc.sets["flow"]
    programs: Any = leocc.sets["program"]
    assert [f.get("app") for f in flows] == [None, None, "programs", "programs"]
    assert [p["start"] for p in programs] == ["0 s", "0 s", "50 s", "50 s"]
    assert programs[3]["command"] == ["./monitor_ping", "d2", "45"]
    assert "/tmp/pings-d2" in programs[2]["command"]
    relay: Any = satcp.sets["program"]
    assert [(p["node"], p["namespace"]) for p in relay] == [("s1", "first")]
    assert satcp.sets["notices.lead"] == "0.5 s"
    assert "program" not in of("inter-rtt", "cubic").sets


def test_results_of_a_kernel_have_keys_of_their_own() -> None:
    case = of("intra-rtt", "cubic")
    scenario = load(SCENARIOS / case.scenario, dict(case.sets))
    assert len({key_of(case, scenario), key_of(case, scenario, "a"), key_of(case, scenario, "b")}) == 3


def test_what_a_kernel_lacks_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(linux, "COMPANIONS", tmp_path)
    name = ["leo-cc/intra-rtt"]
    with pytest.raises(LinuxError, match="kernel k has no satcp, leocc, bbr3: build one"):
        linux.check(name, Ask(), kernel())
    with pytest.raises(LinuxError, match="no bbr3"):
        linux.check(name, Ask(cc=("cubic", "bbr3")), kernel())
    with pytest.raises(LinuxError, match=r"leo-cc/probes cannot run on Linux hosts; there are leo-cc/single-flow"):
        linux.check(["leo-cc/probes"], Ask(), kernel())
    with pytest.raises(LinuxError, match="vivace is not in a kernel"):
        linux.check(name, Ask(cc=("vivace",)), kernel())
    whole = kernel(patches=("bbr3.patch",), modules=("tcp_satcp.c", "leocc.c"))
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    with pytest.raises(LinuxError, match="monitor_ping is missing"):
        linux.check(name, Ask(), whole)
    (tmp_path / "monitor_ping").touch()
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(LinuxError, match="needs ping"):
        linux.check(name, Ask(), whole)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    linux.check(name, Ask(), whole)
    linux.check(name, Ask(cc=("cubic",)), kernel())


def pages(docs: Path, change: Mapping[str, float], rtts_ms: Sequence[int] = ()) -> linux_page.Side:
    """Tables in which Linux has the simulated results of the experiment's page, times a factor by scheme.

    With `rtts_ms`, only those RTTs.
    """
    there = docs / "linux/leo-cc-intra-rtt"
    there.mkdir(parents=True)
    runs = read_csv(published.tables_of(experiments()["leo-cc/intra-rtt"], DOCS) / "runs.csv")
    runs = runs[(runs["run"] <= 3) & runs["cc"].isin(linux.SCHEMES)]
    runs = runs[runs["rtt_ms"].isin(rtts_ms)] if rtts_ms else runs
    for name in ("study-runs.csv", "simulated-runs.csv"):
        runs.to_csv(there / name, index=False)
    runs["ratio"] *= runs["cc"].map(change).fillna(1)
    runs.to_csv(there / "runs.csv", index=False)
    about = {"runs": len(runs), "simulated_s": 100.0, "full_runs": 20, "full_s": 1000.0, "made": {"runs_s": 360}}
    about["tables"] = {p.name: checksum(p) for p in there.glob("*.csv")}
    (there / ABOUT).write_text(json.dumps(about))
    [side] = linux_page.sides(docs)
    return side


def test_claims_have_the_results_of_all_three(tmp_path: Path) -> None:
    side = pages(tmp_path, {})
    assert [len(t["runs"]) for t in (side.study, side.simulated, side.real)] == [10 * 3 * 4] * 3
    assert set(side.study["runs"]["cc"]) == set(linux.SCHEMES)
    claims = side.claims()
    assert [real.key for *_, real in claims] == ["satcp", "leocc", "bbr3"]
    assert all(len({(v.verdict, v.ours) for v in claim}) == 1 for claim in claims)


def test_the_page_says_what_differs_and_what_the_full_size_costs(tmp_path: Path) -> None:
    side = pages(tmp_path, {"leocc": 0.5})
    changed = {b.key: b.verdict for a, _, b in side.claims() if a.verdict != b.verdict}
    assert "leocc" in changed
    assert changed["leocc"] != REPRODUCED
    paragraph = linux_page.write([side], tmp_path)
    page = (tmp_path / linux_page.PAGE).read_text()
    words = page.split("# The emulation study on Linux's stack\n")[1].split("\n\n")[0].strip()
    assert words.startswith("On Linux's stack ")
    assert "of 3 published claims" in words
    assert "all runs of these at the full size would take 1 h" in " ".join(page.split())
    row = next(line for line in page.splitlines() if line.startswith("| LeoCC: smallest ratio"))
    assert row.endswith(f": {changed['leocc']} |")
    held = sum(real.verdict == REPRODUCED for *_, real in side.claims())
    assert f"On Linux's stack {held} of 3" in words
    number = len(changed)
    assert f"Linux and its model differ in {number} verdict{'s' * (number > 1)}." in " ".join(words.split())
    assert (tmp_path / linux_page.PICTURE).stat().st_size > 10_000
    assert paragraph.startswith("\n\n[The emulation study on Linux's stack](leo-cc-linux.md) is counted separately")


def test_claims_on_all_rtts_have_no_verdict_where_two_were_run(tmp_path: Path) -> None:
    whole = pages(tmp_path / "whole", {})
    assert whole.decided() == whole.claims()
    side = pages(tmp_path, {}, rtts_ms=(20, 100))
    assert [real.key for *_, real in side.claims()] == ["satcp", "leocc", "bbr3"]
    assert [side.lacks(claim) for claim in side.claims()] == ["", "2 of 10 RTTs run", ""]
    assert [real.key for *_, real in side.decided()] == ["satcp", "bbr3"]
    linux_page.write([side], tmp_path)
    page = (tmp_path / linux_page.PAGE).read_text()
    assert "of 2 published claims" in page
    assert "have no verdict: 1 with 2 of 10 RTTs run" in " ".join(page.split())
    row = next(line for line in page.splitlines() if line.startswith("| LeoCC: smallest ratio"))
    assert "2 of 10 RTTs run: no verdict" in row
    assert REPRODUCED not in row


def page_claims(docs: Path, **verdicts: str) -> None:
    """Claims of the simulated page, with these verdicts."""
    folder = published.tables_of(experiments()["leo-cc/intra-rtt"], docs)
    folder.mkdir(parents=True)
    rows = [
        {"key": key, "kind": "published order or statement", "read": "words", "verdict": verdict, "cause": ""}
        for key, verdict in verdicts.items()
    ]
    (folder / "claims.json").write_text(json.dumps(rows))


@pytest.mark.parametrize("word", [TIE, MODES])
def test_what_the_simulated_page_leaves_undecided_has_no_verdict_without_an_interval(tmp_path: Path, word: str) -> None:
    side = pages(tmp_path, {}, rtts_ms=(20, 100))
    assert {real.key for *_, real in side.decided()} == {"satcp", "bbr3"}
    once = {name: frame[frame["run"] == 1] for name, frame in side.real.items()}
    page_claims(tmp_path, satcp=ANY, bbr3=word, leocc=word)
    one = replace(side, study=once, simulated=once, real=once)
    linux_page.write([one], tmp_path)
    page = " ".join((tmp_path / linux_page.PAGE).read_text().split())
    assert "of 1 published claims" in page
    assert "Without a verdict is 1 that the simulated pages leave undecided" in page
    # A claim on more than was run remains one.
    assert "have no verdict: 1 with 2 of 10 RTTs run" in page
    row = page[page.index("| BBRv3: mean ratio") :].split("##")[0]
    assert "undecided on the simulated page: no verdict" in row
    assert REPRODUCED not in row
    satcp = next(real for *_, real in one.claims() if real.key == "satcp")
    assert ("1 would hold for any scheme" in page) == (satcp.verdict == REPRODUCED)


@pytest.mark.parametrize("word", [TIE, MODES])
def test_three_runs_on_hosts_decide_by_themselves(tmp_path: Path, word: str) -> None:
    """As on simulated pages, whose verdicts have an interval from three runs on."""
    runs = pages(tmp_path, {}).real["runs"]
    assert linux_part.open_on_page(word, runs[runs["run"] == 1]) == linux_part.OPEN
    assert linux_part.open_on_page(word, runs[runs["run"] <= 2]) == linux_part.OPEN
    assert linux_part.open_on_page(word, runs) == ""
    for decided in (REPRODUCED, DIFFERS, ANY, ""):
        assert linux_part.open_on_page(decided, runs[runs["run"] == 1]) == ""


@pytest.mark.slow
def test_no_claim_of_the_page_is_decided_that_its_simulated_page_leaves_undecided() -> None:
    """On the published tables: the delays of Cubic and LeoCC with five flows are among them."""
    open_, page = set(), (DOCS / linux_page.PAGE).read_text()
    for side in linux_page.sides(DOCS):
        rows = {row["key"]: row["verdict"] for row in published.claims(side.experiment, DOCS)}
        here = replace(side, page=rows)
        assert side.real["runs"]["run"].nunique() == 1
        assert not [c for c in here.decided() if rows[c[2].key] in {TIE, MODES}]
        open_ |= {c[2].claim for c in here.claims() if here.lacks(c) == linux_part.OPEN}
    assert {"Cubic, 5 flows: delay", "LeoCC, 5 flows: delay"} <= open_
    for claim in open_:
        row = next(line for line in page.splitlines() if line.startswith(f"| {claim} ("))
        assert linux_part.OPEN in row
        assert "reproduced" not in row


def test_commands_are_quoted_for_a_shell() -> None:
    ask = Ask(Size.FULL, ("cubic", "bbr3"), where={"run": ["1"], "path": ["SD-NY BP", "SD-SEA BP"]})
    command = commands._command("leo-cc/fairness", ask, kernel())
    assert "--where 'path=SD-NY BP,SD-SEA BP'" in command
    words = shlex.split(command)
    assert words[:5] == ["perigee", "study", "run", "leo-cc/fairness", "--full"]
    assert words[5:] == [
        "--where", "run=1", "--where", "path=SD-NY BP,SD-SEA BP", "--cc", "cubic,bbr3", "--backend", "linux",
    ]  # fmt: skip
    assert commands._command("leo-cc/fairness", Ask(), None) == "perigee study run leo-cc/fairness"


def test_the_commands_of_the_page_select_the_runs_of_its_tables() -> None:
    """Each command, split as by a shell, has the labels and schemes of the stored runs."""
    page = (DOCS / linux_page.PAGE).read_text()
    lines = [line for line in page.splitlines() if line.startswith("perigee study run leo-cc/")]
    assert len(lines) == len(linux.NAMES)
    for line, side in zip(lines, linux_page.sides(DOCS), strict=True):
        words = shlex.split(line)
        options = list(zip(words[5::2], words[6::2], strict=True))
        assert words[3] == side.experiment.name
        assert {name for name, _ in options} <= {"--where", "--cc", "--backend", "--kernel"}
        where = dict(value.split("=", 1) for name, value in options if name == "--where")
        cc = tuple(dict(options).get("--cc", ",".join(linux.SCHEMES)).split(","))
        ask = Ask(Size.FULL, cc, where={label: values.split(",") for label, values in where.items()})
        chosen = [c for c in linux.figure_cases(side.experiment, ask) if ask.chosen(c)]
        assert len(chosen) == side.about.runs == len(side.real["runs"])


def script_of(name: str) -> Any:
    """A script of bench/ as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS.parents[1] / f"bench/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    return script


def test_the_script_that_renews_tables_simulates_each_run_on_hosts_twice() -> None:
    script = script_of("linux_tables")
    for side in linux_page.sides(DOCS):
        runs = side.real["runs"]
        recorded = "network" in runs and (runs["network"] == "recorded").any()
        cases = script.simulated(side.experiment, runs)
        assert len(cases) == (0 if recorded else 2 * len(runs))
        of_one = [c for c in cases if c.labels["beside"] == "simulated"]
        assert sorted(c.cc for c in of_one) == sorted(runs["cc"] if of_one else [])
        assert all(linux.KERNEL.items() <= c.sets.items() for c in of_one)


def test_runs_on_hosts_of_other_schemes_are_added_once() -> None:
    script = script_of("linux_tables")
    runs = next(s for s in linux_page.sides(DOCS) if s.experiment.name == "leo-cc/intra-rtt").real["runs"]
    some, others = runs[runs["cc"].isin(["cubic", "bbr3"])], runs[runs["cc"].isin(["satcp", "leocc"])]
    assert script.joined(some, others).equals(runs)
    assert script.joined(others, some).equals(runs)
    with pytest.raises(script.RepeatedError, match="cubic"):
        script.joined(runs, some)
    command = "perigee study run leo-cc/fairness --full --where 'path=SD-NY BP' --cc {} --backend linux"
    one, other = ({"version": "1", "commit": c, "runs_s": 10, "command": command.format(cc)}
                  for c, cc in (("a", "cubic,bbr3"), ("b", "satcp,leocc")))  # fmt: skip
    both = script.both_made(one, other)
    assert both["command"] == command.format("").replace(" --cc ", "")
    assert both["runs_s"] == 20
    assert [p["commit"] for p in both["parts"]] == ["a", "b"]
    third = script.both_made(one, {**other, "command": command.format("leocc")})
    assert "--cc cubic,bbr3,leocc " in third["command"]


def test_the_script_of_the_five_runs_has_the_cases_of_the_tables() -> None:
    script = script_of("linux_spread")
    sides = {side.experiment.name: side for side in linux_page.sides(DOCS)}
    for part in script.PARTS.values():
        runs = sides[part.experiment].real["runs"]
        assert part.column in runs
        assert set(part.schemes) == set(runs["cc"])
        first = [p.case for p in script.planned(part, 1).planned[part.experiment]]
        assert {(c.cc, c.seed) for c in first} == set(zip(runs["cc"], runs["seed"], strict=True))
        for label in part.labels:
            assert {c.labels[label] for c in first} == set(runs[label])
        assert all(linux.KERNEL.items() <= c.sets.items() for c in first)
        assert len(script.planned(part, 5).planned[part.experiment]) == 5 * len(first)


def simulated_runs(name: str) -> Any:
    """The table of an experiment's page, with the schemes and networks that run on hosts."""
    runs = read_csv(published.tables_of(experiments()[name], DOCS) / "runs.csv")
    runs = runs[runs["cc"].isin(linux.SCHEMES)]
    return runs[runs["network"] != "constellation"] if "network" in runs else runs


SHORT: Mapping[str, dict[str, dict[str, object]]] = {
    "leo-cc/single-flow": {"L2-cubic": {"path": "SEA-NY BP"}},
    "leo-cc/fairness": {"L8-leocc": {"path": "SEA-NY BP"}},
    "leo-cc/inter-rtt": {
        "cubic": {"rtt_ms": 60, "queue_bdp": 1.0, "cuts": 0},
        "bbr3": {"rtt_ms": 40, "queue_bdp": 1.0, "cuts": 0},
        "bbr3-winner": {"rtt_ms": 80, "queue_bdp": 1.0, "cuts": 0},
        "bbr3-shallow": {"rtt_ms": 80, "queue_bdp": 0.2, "cuts": 0},
        "leocc": {"rtt_ms": 20, "queue_bdp": 4.0, "cuts": 0},
    },
    "leo-cc/intra-rtt": {"leocc": {"rtt_ms": 20}},
    "leo-cc/parking-lot": {
        "cubic-3": {"rtt_ms": 20, "queue_bdp": 1.0, "bottlenecks": 3},
        "leocc-6": {"rtt_ms": 200, "queue_bdp": 1.0, "bottlenecks": 6},
    },
    "leo-cc/efficiency": {"full": {"flows": 20}},
}
"""A point of each span without which its claim has no verdict."""


def full_runs(name: str) -> Any:
    """A table with all cases of the full size: their labels, schemes and seeds."""
    import pandas as pd

    cases = linux.figure_cases(experiments()[name], Ask(Size.FULL))
    return pd.DataFrame([{**c.labels, "cc": c.cc, "seed": c.seed} for c in cases])


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, each in SHORT.items() for key in each])
def test_a_claim_has_a_verdict_only_if_all_that_it_is_about_was_run(name: str, key: str) -> None:
    every = full_runs(name)
    assert linux_part.lacking(name, key, every) == ""
    gone = every["cc"] == "bbr3"
    for label, value in SHORT[name][key].items():
        gone &= every[label] == value
    assert gone.any()
    assert linux_part.lacking(name, key, every[~gone]).endswith(" run")


def test_runs_that_a_claim_is_not_about_are_not_needed() -> None:
    every = full_runs("leo-cc/inter-rtt")
    part = every[(every["queue_bdp"] == 1.0) & (every["cuts"] == 0) & (every["rtt_ms"] >= 60)]
    lacks = {key: linux_part.lacking("leo-cc/inter-rtt", key, part) for key in SHORT["leo-cc/inter-rtt"]}
    assert lacks["cubic"] == lacks["bbr3-winner"] == ""
    assert lacks["bbr3"] == "8 of 9 RTTs from 40 ms run"
    assert lacks["leocc"] == "8 of 30 RTTs and queues run"
    six = full_runs("leo-cc/parking-lot").query("bottlenecks == 6")
    assert linux_part.lacking("leo-cc/parking-lot", "cubic-6", six) == ""
    assert linux_part.lacking("leo-cc/parking-lot", "cubic-3", six) == "0 of 10 RTTs run"


@pytest.mark.parametrize("name", sorted(linux_part.WITHOUT))
def test_claims_that_also_compare_with_schemes_without_a_kernel_have_no_verdict(name: str) -> None:
    """Each exists, and its verdict would rest on fewer schemes than the claim is about."""
    runs = simulated_runs(name)
    keys = {v.key for v in experiments()[name].verdicts({"runs": runs})}
    assert set(linux_part.WITHOUT[name]) <= keys
    for key in linux_part.WITHOUT[name]:
        assert linux_part.lacking(name, key, full_runs(name)).endswith("not run")


@pytest.mark.parametrize("name", sorted(linux_part.SPANS))
def test_the_claims_of_spans_exist(name: str) -> None:
    keys = {v.key for v in experiments()[name].verdicts({"runs": simulated_runs(name)})}
    assert {key for span in linux_part.SPANS[name] for key in span.keys} <= keys


def test_pages_without_such_results_have_no_paragraph(tmp_path: Path) -> None:
    assert linux_page.write(linux_page.sides(tmp_path), tmp_path) == ""
    assert not (tmp_path / linux_page.PAGE).exists()


@pytest.mark.slow
@real
def test_a_case_runs_on_a_kernel_and_is_stored(tmp_path: Path) -> None:
    """A companion's flow, here of a program that does nothing, is not among the results."""
    [first, *_] = linux.cases(experiments()["leo-cc/intra-rtt"], Ask(Size.QUICK, ("cubic",)))
    flows = [{"from": f"s{k}", "to": f"d{k}", "cc": "*"} for k in (1, 2)]
    idle = {"from": "s1", "to": "d1", "app": "programs", "cc": "cubic"}
    sets = {**first.sets, "run.duration": "3 s", "schedule.first": "2 s", "flow": [*flows, idle]}
    sets["program"] = [{"node": "s1", "namespace": "first", "command": ["true"]}]
    case = replace(first, sets=sets, keep=Keep(("goodput_bps", "srtt_ns"), flows=2))
    backend = backends.linux()
    e = experiments()["leo-cc/intra-rtt"]
    plan = Plan.of([e], QUICK, lambda _e, _ask: [case], backend.key)
    cache = Cache(tmp_path)
    assert Runner(plan, cache, Machines(jobs=1)).run() == []
    [found] = outcomes(plan, cache, e.name)
    assert found.digest.mbps().shape == (2, 3)
    assert found.digest.mbps()[:, -1].sum() > 50
    assert len(found.digest.flows) == 2
    assert linux.drop_broken(plan, cache) == []
    # The second call has nothing left to run.
    assert Runner(Plan.of([e], QUICK, lambda _e, _ask: [case], backend.key), cache, Machines(jobs=1)).run() == []


@real
def test_a_run_without_its_companion_is_not_kept(tmp_path: Path) -> None:
    [first, *_] = linux.cases(experiments()["leo-cc/intra-rtt"], Ask(Size.QUICK, ("cubic",)))
    flow = {"from": "s1", "to": "d1", "cc": "*"}
    sets = {**first.sets, "run.duration": "1 s", "flow": [flow, {**flow, "app": "programs", "cc": "cubic"}]}
    sets["program"] = [{"node": "s1", "command": "exec /nowhere"}]
    case = replace(first, sets=sets, keep=Keep(flows=1))
    e = experiments()["leo-cc/intra-rtt"]
    plan, cache = Plan.of([e], QUICK, lambda _e, _ask: [case], backends.linux().key), Cache(tmp_path)
    assert Runner(plan, cache, Machines(jobs=1)).run() == []
    [failure] = linux.drop_broken(plan, cache)
    assert "/nowhere" in failure.error
    assert outcomes(plan, cache, e.name) == []


def test_options_are_checked_before_the_first_run(cli: Cli) -> None:
    done = cli("study", "run", "leo-cc/intra-rtt", "--where", "run")
    assert done.returncode == 2
    assert "--where 'run': say LABEL=VALUE, as run=1,2" in done.stderr
    done = cli("study", "run", "leo-cc/intra-rtt", "--where", "rtt=20")
    assert done.returncode == 2
    assert "--where rtt: no case has this label; there are rtt_ms, queue_bdp, cuts, run" in done.stderr
    done = cli("study", "run", "leo-cc/intra-rtt", "--backend", "emulation")
    assert done.returncode == 2
    assert "studies run with simulator or linux" in done.stderr
    done = cli("study", "run", "leo-cc/intra-rtt", "--kernel", "mine")
    assert done.returncode == 2
    assert "--kernel names the kernel of --backend linux" in done.stderr
