# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Damaged tables, notes and claims of studies: one line names the file and the remedy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conftest import Cli
from perigee_lab.common.errors import CommandError
from perigee_studies import cli as studies_cli
from perigee_studies import commands, linux_page, misses, pages
from perigee_studies.conclude import ABOUT, ConcludeError, checksum
from perigee_studies.model import Ask, Case, Experiment
from perigee_studies.published import REMEDY

DOCS = Path(__file__).resolve().parents[2] / "docs/studies"
RTTS = "data/hypatia-rtts"
DEEP = "[" * 100_000
TABLES = ("runs.csv", "study-runs.csv", "simulated-runs.csv")


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """Pages with the tables of one experiment on Linux hosts."""
    folder = tmp_path / "pages/linux/leo-cc-intra-rtt"
    shutil.copytree(DOCS / "linux" / folder.name, folder)
    return folder


@pytest.fixture
def rtts(tmp_path: Path) -> Path:
    """Pages with the tables of one experiment, without time series."""
    shutil.copytree(DOCS / RTTS, tmp_path / "pages" / RTTS)
    return tmp_path / "pages" / RTTS


def alter(file: Path, **values: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | values), encoding="utf-8")


def save_again(folder: Path) -> None:
    """Makes the checksums those of the present tables."""
    alter(folder / ABOUT, tables={p.name: checksum(p) for p in folder.glob("*.csv")})


@pytest.mark.parametrize(
    "text", ["{}", "[", "[]", "null", DEEP, None], ids=["empty", "cut", "list", "null", "deep", "no"]
)
def test_damaged_notes_on_linux_hosts_are_named(hosts: Path, text: str | None) -> None:
    file = hosts / ABOUT
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(ConcludeError) as caught:
        linux_page.sides(hosts.parents[1])
    assert str(caught.value) == f"{file} is {'missing' if text is None else 'damaged'}: {REMEDY}"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"simulated_s": 0}, "simulated_s is 0, must be positive"),
        ({"runs": "8"}, 'runs is "8", must be an integer'),
        ({"full_s": float("nan")}, "full_s is NaN, must be positive"),
        ({"made": []}, "made is [], must be an object"),
        ({"made": {"runs_s": "long"}}, 'made.runs_s is "long", must be a number'),
    ],
)
def test_invalid_notes_on_linux_hosts_are_named_with_key_and_value(
    hosts: Path, values: dict[str, object], says: str
) -> None:
    alter(hosts / ABOUT, **values)
    with pytest.raises(ConcludeError) as caught:
        linux_page.sides(hosts.parents[1])
    assert str(caught.value) == f"{hosts / ABOUT}: {says}: it is damaged, {REMEDY}"


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", None], ids=["empty", "odd", "missing"])
def test_damaged_tables_of_linux_hosts_are_named(hosts: Path, name: str, text: str | None) -> None:
    file = hosts / name
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(ConcludeError) as caught:
        linux_page.sides(hosts.parents[1])
    assert str(caught.value) == f"{file} is {'missing' if text is None else 'not as it was saved'}: {REMEDY}"
    if text is not None:  # Tables that were odd when they were saved.
        save_again(hosts)
        with pytest.raises(ConcludeError) as caught:
            linux_page.sides(hosts.parents[1])
        assert str(caught.value).startswith(f"{file} has no ")


def test_values_that_cannot_be_compared_are_an_error(hosts: Path) -> None:
    lines = (hosts / "runs.csv").read_text(encoding="utf-8").splitlines()
    column = lines[0].split(",").index("ratio")
    cells = [line.split(",") for line in lines]
    for row in cells[1:]:
        row[column] = "high"
    (hosts / "runs.csv").write_text("\n".join(map(",".join, cells)) + "\n", encoding="utf-8")
    save_again(hosts)
    with pytest.raises(ConcludeError, match=r"leo-cc-intra-rtt has tables that cannot be compared \("):
        linux_page.sides(hosts.parents[1])


def test_altered_numbers_of_linux_hosts_are_not_published(cli: Cli, hosts: Path) -> None:
    table = hosts / "runs.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("0.", "1.", 1), encoding="utf-8")
    done = cli("study", "report", "--backend", "linux", "--docs", "pages")
    said = f"perigee: pages/linux/leo-cc-intra-rtt/runs.csv is not as it was saved: {REMEDY}\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert [p.name for p in hosts.parents[1].iterdir()] == ["linux"], "nothing is written"


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{}", "[", "null", DEEP], ids=["object", "cut", "null", "deep"])
def test_damaged_claims_that_are_not_read_are_named(cli: Cli, rtts: Path, text: str) -> None:
    kept = (rtts / "claims.json").read_text(encoding="utf-8")
    (rtts / "claims.json").write_text(text)
    done = cli("study", "report", "hypatia/rtts", "--from", "pages", "--docs", "pages", "--out", "o")
    assert done.returncode == 0, done.stderr
    [line] = [said for said in done.stderr.splitlines() if said.startswith("perigee: ")]
    assert line.startswith(f"perigee: warning: pages/{RTTS}/claims.json")
    assert line.endswith("it is not used here, since the claims are computed from the tables")
    assert (rtts / "claims.json").read_text(encoding="utf-8") == kept


def test_missing_notes_of_pages_are_named(cli: Cli, rtts: Path, tmp_path: Path) -> None:
    words = ("study", "report", "hypatia/rtts", "--out", "o", "--from")
    (rtts / ABOUT).unlink()
    done = cli(*words, "pages")
    assert (done.returncode, done.stderr) == (2, f"perigee: pages/{RTTS}/about.json is missing: {REMEDY}\n")
    (tmp_path / "wrong").mkdir()
    done = cli(*words, "wrong")
    assert done.returncode == 2
    assert f"--from wrong has no tables of hypatia/rtts (wrong/{RTTS}/about.json is missing): give a" in done.stderr


@pytest.mark.parametrize("values", [{"size": []}, {"size": "vast"}, {"made": {"variants": 3}}, {"tables": None}])
def test_invalid_notes_of_pages_are_named(cli: Cli, rtts: Path, values: dict[str, object]) -> None:
    alter(rtts / ABOUT, **values)
    done = cli("study", "report", "hypatia/rtts", "--from", "pages", "--out", "o")
    assert (done.returncode, done.stderr) == (2, f"perigee: pages/{RTTS}/about.json is damaged: {REMEDY}\n")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("made.json", DEEP, " (it is nested too deeply)"),
        ("made.json", "[", " (Expecting value: line 1 column 2 (char 1))"),
        ("made.json", '{"variants": 3}', ""),
        ("about.json", DEEP, ""),
    ],
    ids=["deep", "cut", "odd", "about"],
)
def test_damaged_notes_of_results_are_named_with_the_command_that_was_given(
    cli: Cli, tmp_path: Path, file: str, text: str, says: str
) -> None:
    folder = tmp_path / "o p/quick/hypatia/rtts"
    folder.mkdir(parents=True)
    shutil.copytree(DOCS / RTTS, folder / "data", ignore=shutil.ignore_patterns("*.json"))
    shutil.copyfile(DOCS / RTTS / ABOUT, folder / ABOUT)
    (folder / file).write_text(text)
    done = cli("study", "report", "hypatia/rtts", "--size", "quick", "--out", "o p")
    again = "run `perigee study run hypatia/rtts --quick --out 'o p'` again"
    line = f"perigee: o p/quick/hypatia/rtts/{file} is damaged{says}: {again}"
    assert [said for said in done.stderr.splitlines() if said.startswith("perigee: ")] == [line]
    assert done.returncode == 1


def test_options_that_a_report_on_linux_hosts_does_not_use_are_refused(cli: Cli, rtts: Path) -> None:
    done = cli("study", "report", "leo-cc", "--backend", "linux", "--from", rtts.parents[1], "--json")
    assert done.returncode == 2
    assert "--from, --json: a report on Linux hosts covers all sizes" in done.stderr
    assert "leave --from and --json out" in done.stderr
    done = cli("study", "report", "leo-cc", "--backend", "linx")
    assert (done.returncode, "--backend 'linx'" in done.stderr) == (2, True)


@pytest.mark.parametrize("more", [(), ("--backend", "linux", "--kernel", "absent")])
def test_values_that_no_case_has_are_refused_before_the_kernel_is_read(cli: Cli, more: tuple[str, ...]) -> None:
    done = cli("study", "run", "leo-cc/intra-rtt", "--where", "run=1,99", *more)
    said = "perigee: --where run=99: no case of the size default has this value; there are 1, 2\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_values_of_a_label_that_is_given_twice_are_joined(cli: Cli) -> None:
    done = cli("study", "run", "leo-cc/intra-rtt", "--where", "run=1", "--where", "run=99,1")
    said = "perigee: --where run=99: no case of the size default has this value; there are 1, 2\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert studies_cli._labels(["run=1", "a=x", "run=2,1"]) == {"run": ["1", "2"], "a": ["x"]}


def test_networks_that_do_not_run_on_linux_hosts_are_refused(cli: Cli) -> None:
    done = cli("study", "run", "leo-cc/single-flow", "--backend", "linux", "--where", "network=constellation")
    assert done.returncode == 2
    assert "--where network=constellation: no case of the size default has this value; there is" in done.stderr


def test_a_combination_that_no_case_has_is_refused_with_the_values() -> None:
    def cases(_: Experiment, __: Ask) -> list[Case]:
        return [Case("-", "cubic", {"run": k, "rtt_ms": 10 * k}) for k in range(100)]

    ask = Ask(where={"run": ["1"], "rtt_ms": ["10"]})
    commands.check_labels(["leo-cc/intra-rtt"], ask, cases)
    with pytest.raises(CommandError) as caught:
        commands.check_labels(["leo-cc/intra-rtt"], Ask(where={"run": ["1"], "rtt_ms": ["20"]}), cases)
    said = str(caught.value)
    assert said.startswith("--where leaves no case: run=1 rtt_ms=20 are values of different cases; ")
    assert "run: 0, 1, 2, " in said
    assert "39, … (100 in all); rtt_ms: 0, 10, " in said


def test_altered_tables_of_pages_are_not_published_with_the_misses(tmp_path: Path) -> None:
    name = misses.names()[0].replace("/", "-")
    shutil.copytree(DOCS / "data" / name, tmp_path / "data" / name)
    table = tmp_path / "data" / name / "runs.csv"
    table.write_text(table.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(ConcludeError) as caught:
        pages.write(None, tmp_path)
    assert str(caught.value) == f"{table} is not as it was saved: {REMEDY}"
    assert [p.name for p in tmp_path.iterdir()] == ["data"], "nothing is written"
