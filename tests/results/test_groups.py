# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Groups of flows: the numbers of a run are those of the foreground, each group has its own."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import perigee_lab as perigee
from conftest import Cli
from perigee_lab.cli.tables import print_groups
from perigee_lab.common.files import RecordError
from perigee_lab.common.terminal import table_console
from perigee_lab.results.manifest import ManifestError
from perigee_lab.results.manifest import read as read_manifest
from perigee_lab.results.metrics import flow_rows
from perigee_lab.results.report.data import payload

MIXED = """
[run]
duration = "12 s"
warmup = "1 s"
cc = "cubic"
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
name = "download"
[[flow]]
name = "web"
app = "web"
count = 2
group = "web"
background = true
[[flow]]
name = "update"
cc = "cubic"
background = true
[[flow]]
name = "late"
app = "web"
group = "web"
background = true
"""


def test_the_run_is_the_foreground_and_a_group_its_flows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = perigee.loads(MIXED).run()
    flows = {row["flow"]: row for row in flow_rows(run)}
    assert {name: row.get("group") for name, row in flows.items()} == {
        "download": None,
        "web": "web",
        "web.2": "web",
        "update": "background",
        "late": "web",
    }
    for column in ("goodput_mbps", "rtt_mean_ms", "rtt_p95_ms", "retransmits"):
        assert run.summary[column] == pytest.approx(flows["download"][column])
        assert run.group("background")[column] == pytest.approx(flows["update"][column])
    assert "pages" not in run.summary, "pages are of the background"
    web = run.group("web")
    members = [flows[name] for name in ("web", "web.2", "late")]
    assert web["retransmits"] == sum(row["retransmits"] for row in members)
    assert web["pages"] > 0
    assert math.isnan(web["share"]), "the capacity is shared"
    # The path has 20 Mbit/s for the only flow of the foreground.
    assert run.summary["capacity_mbps"] == pytest.approx(20)
    alone = perigee.loads(MIXED.replace("background = true", "")).run()
    assert alone.summary["goodput_mbps"] > 1.2 * run.summary["goodput_mbps"]
    assert alone.table("flows").equals(run.table("flows")), "the packets are the same"
    print_groups(table_console(), [run])
    printed = capsys.readouterr().out
    assert printed.count("group web (background):") == 1
    assert "cubic" in printed.partition("group web (background):")[2]
    page = payload([run])["table"]
    table = next(g for g in page["groups"] if g["group"] == "web (background)")
    assert table["heads"][:2] == ["goodput Mbit/s", "mean RTT ms"]
    assert [len(row["cells"]) for row in table["rows"]] == [len(table["heads"])]
    assert table["rows"][0]["cells"][table["heads"].index("pages")] == f"{web['pages']:.0f}"
    with pytest.raises(RecordError, match="there is no group 'games'; there are web, background"):
        run.group("games")


def test_groups_are_compared_and_are_in_the_json(tmp_path: Path, cli: Cli) -> None:
    lossy = MIXED.replace('rtt = "20 ms"', 'rtt = "20 ms"\nloss = 0.001').replace(
        'cc = "cubic"\n[s', 'cc = ["cubic", "bbr"]\n[s'
    )
    (tmp_path / "mixed.toml").write_text(lossy, encoding="utf-8")
    ended = cli("run", "mixed.toml", "--runs", "3", "--out", "out", "--json")
    assert ended.returncode == 0, ended.stderr
    groups = json.loads(ended.stdout)["groups"]
    assert [(g["cc"], g["group"], g["seed"]) for g in groups[:2]] == [("cubic", "web", 1), ("cubic", "background", 1)]
    found = perigee.compare(tmp_path / "out", group="web", metrics=["rtt_mean_ms"])
    times = {(g["cc"], g["seed"]): g["rtt_mean_ms"] for g in groups if g["group"] == "web"}
    assert found[0].differences == pytest.approx({s: times["cubic", s] - times["bbr", s] for s in (1, 2, 3)})
    told = cli("compare", "out", "--group", "games")
    assert told.returncode == 2
    assert "there is no group 'games'" in told.stderr


def test_a_group_is_on_one_side_and_something_is_in_the_foreground() -> None:
    both = MIXED.replace('group = "web"\nbackground = true\n', 'group = "web"\n', 1)
    with pytest.raises(perigee.ScenarioError, match="both foreground and background flows"):
        perigee.loads(both)
    behind = MIXED.replace('name = "download"', 'name = "download"\nbackground = true')
    with pytest.raises(perigee.ScenarioError, match="all flows are in the background"):
        perigee.loads(behind)


def test_groups_of_a_foreign_manifest_are_checked(tmp_path: Path) -> None:
    perigee.loads(MIXED).run().save(tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    made = json.loads(path.read_text("utf-8"))
    for flows in ([[0]], [[2, 1]], [[-1, 0]], [0], [[0, 1, 2]]):
        made["groups"][0]["flows"] = flows
        path.write_text(json.dumps(made), encoding="utf-8")
        with pytest.raises(ManifestError, match=r"groups\.0\.flows"):
            read_manifest(path)
    made["groups"][0]["flows"] = [[0, 2**60]]
    path.write_text(json.dumps(made), encoding="utf-8")
    assert len(flow_rows(perigee.open_record(tmp_path / "run"))) == 5


@pytest.mark.slow
def test_groups_have_rows_in_the_tables_of_a_sweep(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mixed.toml").write_text(MIXED.replace('duration = "12 s"', 'duration = "4 s"'), encoding="utf-8")
    words = ["sweep", "mixed.toml", "--set", "port.bottleneck.rate=10Mbit,20Mbit", "--no-plots", "--out", "o"]
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert "|web " in done.stdout
    rows = (tmp_path / "o/sweep-groups.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2 * 2, "two groups in two cells"
    assert rows[0].startswith("port.bottleneck.rate,cc,seed,")
    assert "group" in rows[0].split(",")
    told = json.loads(cli(*words, "--json").stdout)
    assert {row["group"] for row in told["groups"]} == {"web", "background"}
