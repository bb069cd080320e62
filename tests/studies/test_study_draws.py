# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Start times, outages and schedules that equal the published ones; metrics of synthetic runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from perigee_studies import beside, commands, frames, gallery, style
from perigee_studies.conclude import read_csv
from perigee_studies.digest import Digest
from perigee_studies.figures import (
    hypatia_published,
    hypatia_routes,
    hypatia_tables,
    leo_cc_common,
    orbcc_constellation_cases,
    orbcc_hard_handover,
    orbcc_two_flows,
)
from perigee_studies.figures import orbcc_soft_handover as soft
from perigee_studies.figures.hypatia_cases import ASSUMED, PER_ACK
from perigee_studies.kinds import Kind, Read
from perigee_studies.model import Ask, Case, Outcome, Size
from perigee_studies.registry import experiments
from perigee_studies.verdicts import DIFFERS, MISSING, REPRODUCED, Verdict, order

PAGES = Path(__file__).parents[2] / "docs" / "studies"


def test_starts_and_outages_are_those_of_the_studies() -> None:
    second = [round(orbcc_two_flows.second_start_s(run, 1000, 2000), 2) for run in range(1, 6)]
    assert second == [492.34, 498.97, 501.73, 504.55, 492.26]
    starts = [tuple(soft.starts_s(run)) for run in range(1, 6)]
    assert starts == [(7, 22, 9, 46), (28, 3, 49, 30), (37, 1, 23, 3), (46, 0, 32, 20), (7, 45, 35, 44)]
    drawn = [tuple(round(float(s.split()[0]), 3) for s in orbcc_constellation_cases.starts(run)) for run in range(1, 6)]
    assert drawn == [(0.175, 0.213), (0.673, 1.421), (0.880, 0.544), (1.091, 0.750), (0.169, 1.447)]
    outages = orbcc_hard_handover.outages_ms()
    assert [len(outages[n]) for n in (5, 10, 20)] == [16, 16, 16]
    assert outages[5][:4] == [62, 117, 53, 77]
    assert orbcc_two_flows.queue_packets(50) == 431
    assert leo_cc_common.bdp_bytes(100) == 1310720


def outcome(columns: dict[str, Any], step_s: float = 1.0, **labels: Any) -> Outcome:
    """A synthetic run: time series by column, flows x samples."""
    arrays = {k: np.array(v, dtype=float) for k, v in columns.items()}
    flows, samples = next(iter(arrays.values())).shape
    totals = [{"rtt_mean_ms": 1.0, "timeouts": 0, "retransmits": 0} for _ in range(flows)]
    d = Digest(totals, np.arange(1, samples + 1) * step_s, arrays, np.zeros((flows, 201)))
    return Outcome(Case("-", "cubic", labels), d)


def test_fairness_is_taken_over_the_final_quarter_of_the_run() -> None:
    # 2000 RTTs of 20 ms are 40 s: unfair for 30 s, then 2 to 1.
    g = [[9e6] * 30 + [2e6] * 10, [1e6] * 30 + [1e6] * 10]
    table = experiments()["orbcc/inter-rtt"].tables([outcome({"goodput_bps": g}, rtt_ms=20, length_rtts=2000)])["runs"]
    assert table["ratio"].iloc[0] == pytest.approx(0.5)
    assert table["ratio_1000"].iloc[0] == pytest.approx((10 * 0.5 + 10 / 9) / 20)


def test_a_window_holds_the_samples_that_lie_in_it_and_rtts_are_weighted() -> None:
    d = outcome({"goodput_bps": [[1e6, 3e6, 0, 5e6]], "rtt_ns": [[10e6, 20e6, np.nan, 90e6]]}).digest
    assert list(d.window(0, 2)) == [True, True, False, False]
    assert d.mean_mbps(0, 2)[0] == pytest.approx(2)
    assert d.mean_rtt_ms(0, 3)[0] == pytest.approx((10 + 3 * 20) / 4)


def test_goodput_after_an_outage_is_that_of_the_seconds_that_end_in_the_window() -> None:
    # Outages start at 5, 10, … s; with 200 ms, the seconds that end 1 and 2 s later count.
    goodput = [[100e6 if t % 5 in {1, 2} else 1e6 for t in range(1, 31)]]
    row = experiments()["leotcp/hard-handover"].tables([outcome({"goodput_bps": goodput}, outage_ms=200)])["runs"]
    assert row["goodput_mbps"].iloc[0] == pytest.approx(100)


def test_verdicts_of_tables_are_computed() -> None:
    """The published tables reproduce every claim about themselves; a wrong number does not."""
    rows = []
    for (km, strategy), table in hypatia_published.TABLES.items():
        for town, values in table.items():
            for cc, mbit in zip(hypatia_published.SCHEMES, values, strict=True):
                row = {"town": town, "km": km, "strategy": strategy, "what": cc, "received_mbit": mbit}
                rows += [row | {"per_ack": n, "ns3": ASSUMED} for n in (1, 2)]
    for town, values in hypatia_published.WIRED_TABLE.items():
        for cc, mbit in zip(hypatia_published.SCHEMES, values, strict=True):
            payload = mbit * hypatia_published.CEILING_MBIT / hypatia_published.LINE_MBIT
            row = {"town": town, "km": 11000, "strategy": "wired", "what": cc, "received_mbit": payload}
            rows.append(row | {"per_ack": PER_ACK, "ns3": ASSUMED})
    frame = pd.DataFrame(rows)
    found = hypatia_tables.check_tables({"runs": frame})
    assert differing(found) == []
    frame.loc[frame["what"] == "cubic", "received_mbit"] *= 0.9
    wrong = hypatia_tables.check_tables({"runs": frame})
    assert len(differing(wrong)) > 15


def differing(found: list[Verdict]) -> list[str]:
    assert {v.verdict for v in found} <= {REPRODUCED, DIFFERS}
    return [v.key for v in found if v.verdict == DIFFERS]


def test_every_scheme_can_stand_in_every_experiment() -> None:
    ask = Ask(Size.QUICK, ("all",))
    for name in ("orbcc/inter-rtt", "leo-cc/efficiency", "hypatia/tables", "hypatia/vegas", "geo/downloads"):
        ccs = {c.cc for c in experiments()[name].cases(ask)}
        assert {"newreno", "vegas", "copa", "hybla", "hpcc"} <= ccs
    assert replace(ask, cc=("vegas",)).schemes(("cubic",)) == ["vegas"]


def test_metrics_are_defined_and_every_picture_says_what_it_shows() -> None:
    for name, experiment in experiments().items():
        assert experiment.metrics, name
        prefix = f"{name.replace('/', '-')}-"
        others = [f"{n.replace('/', '-')}-" for n in experiments() if n.startswith(f"{name}-")]
        drawn = [p.stem for p in PAGES.glob(f"{prefix}*.png") if not p.stem.startswith(tuple(others))]
        assert {stem.removeprefix(prefix) for stem in drawn} <= set(experiment.captions), name


def test_orders_of_what_was_not_run_have_no_numbers() -> None:
    found = order("key", "claim", "source", [("Cubic", 4.66), ("Astraea", float("nan"))], unit="Mbit/s")
    assert found.verdict == MISSING
    assert found.ours == "Cubic 4.66, Astraea no data Mbit/s"


def test_the_gallery_explains_once_and_leaves_nothing_out_on_narrow_screens(tmp_path: Path) -> None:
    names = ("key", "claim", "source", "published", "ours", "interval", "tolerance", "verdict", "why", "kind")
    kind = Kind.NUMBER.value
    values = ("a", "first", "paper", "1", "3", "2 to 4", "± 1", DIFFERS, "<its cause>", kind)
    row = dict(zip(names, values, strict=True))
    rows = [row, {**row, "key": "b", "claim": "second"}, {**row, "key": "c", "verdict": REPRODUCED, "why": ""}]
    folder = tmp_path / "leotcp" / "initial-phase"
    figure, _ = style.panels(1, 1)
    style.save(figure, folder, "initial-phase")
    (folder / "verdicts.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "about.json").write_text('{"runs": 5, "planned": 6, "size": "quick"}', encoding="utf-8")
    page = gallery.write(tmp_path).read_text(encoding="utf-8")
    assert page.count("&lt;its cause&gt;") == 1
    assert "As for: first." in page
    assert f"id='show-published-number' checked> {kind}" in page
    assert "tr.not-reproduced { display: none; }" in page
    assert page.count("<tr class='published-number not-reproduced'>") == 2
    assert "<div class='soft narrow'>95 % interval 2 to 4; tolerance ± 1</div>" in page
    assert "<td class=wide>5 of 6</td>" in page
    assert experiments()["leotcp/initial-phase"].captions["initial-phase"] in page
    assert "#figure-leotcp-initial-phase-initial-phase { --narrow: 273px; }" in page
    assert "style-src &#x27;sha256-" in page
    assert "script-src &#x27;none&#x27;" in page


def saved(folder: Path, name: str, verdicts: list[tuple[str, Kind]]) -> list[Verdict]:
    """Writes results of an experiment with these claims, as a run does."""
    made = [
        Verdict(str(i), f"claim {i}", "paper", "1", "1", "", "", v, k, Read.PRINTED)
        for i, (v, k) in enumerate(verdicts)
    ]
    (folder / name).mkdir(parents=True)
    rows = [{**v.__dict__, "kind": v.kind.value, "why": ""} for v in made]
    (folder / name / "verdicts.json").write_text(json.dumps(rows), encoding="utf-8")
    return made


def test_the_gallery_counts_the_claims_that_the_terminal_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both count unpublished claims; no zeros are shown if there are no published claims."""
    name, kind = "orbcc/neighbours", Kind.UNPUBLISHED
    made = saved(tmp_path, name, [(REPRODUCED, kind)] * 3 + [(DIFFERS, kind)])
    page = gallery.write(tmp_path).read_text(encoding="utf-8")
    commands._tell({name: made}, [], tmp_path, 1, explain=False, as_json=False)
    assert "3 of 4 claims reproduced" in capsys.readouterr().out
    [row] = re.findall(rf"<tr><td><a href='#{name}'>.*?</tr>", page)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
    heads = re.findall(r"<th[^>]*>(.*?)</th>", page[: page.index(row)])[-len(cells) :]
    told = dict(zip(heads, cells, strict=True))
    assert told["claims reproduced"] == "3 of 4"
    assert (told["published: reproduced"], told["not"], told["no data"]) == ("-", "-", "-")


def test_the_gallery_says_of_how_many_studies_it_is(tmp_path: Path) -> None:
    saved(tmp_path, "orbcc/neighbours", [(REPRODUCED, Kind.NUMBER)])
    saved(tmp_path, "orbcc/inter-rtt", [(REPRODUCED, Kind.NUMBER)])
    assert "<h1>One study, made again</h1>" in gallery.write(tmp_path).read_text(encoding="utf-8")
    saved(tmp_path, "geo/downloads", [(REPRODUCED, Kind.NUMBER)])
    page = gallery.write(tmp_path).read_text(encoding="utf-8")
    assert "<h1>Two studies, made again</h1>" in page
    assert "<title>Perigee: Two studies, made again</title>" in page


def test_windows_of_schemes_that_only_pace_do_not_dwarf_the_others() -> None:
    rows = [
        {"cc": cc, "seed": 1, "t_s": t, "cwnd_segments": window, "rtt_ms": (90, None, 95)[t], "base_rtt_ms": 80.0}
        for cc, windows in {"vegas": (10, 70, 6), "vivace": (1e5, 1e5, 1e5)}.items()
        for t, window in enumerate(windows)
    ]
    routes = [{"cc": "vegas", "t_s": t, "first": f"sat-0-{t}", "last": "sat-1-1"} for t in (0, 1)]
    figure = hypatia_routes.draw_vegas({"series": pd.DataFrame(rows), "routes": pd.DataFrame(routes)})["vegas"]
    assert 70 < figure.axes[0].get_ylim()[1] < 100
    # Tenths of a second without an RTT do not interrupt its line.
    assert list(figure.axes[1].get_lines()[0].get_xdata()) == [0, 2]


def test_a_long_legend_leaves_the_panels_their_room() -> None:
    heights = []
    for entries in (3, 24):
        figure, axes = style.panels(1, 1)
        for n in range(entries):
            axes[0][0].plot([0, 1], [0, 1], label=f"curve {n}")
        style.shared_legend(figure, axes[0])
        figure.canvas.draw()
        heights.append(axes[0][0].get_window_extent().height)
    assert heights[1] > 0.85 * heights[0]


@pytest.mark.parametrize("entries", [1, 3, 7, 11])
def test_a_legend_is_read_row_by_row_and_its_rows_are_equally_long(entries: int) -> None:
    figure, axes = style.panels(3, 1)
    names = [f"curve {n}" for n in range(entries)]
    for name in names:
        axes[0][0].plot([0, 1], [0, 1], label=name)
    style.shared_legend(figure, axes[0])
    figure.canvas.draw()
    [legend] = figure.legends
    boxes = [(text.get_window_extent(), text.get_text()) for text in legend.get_texts()]
    assert [name for _, name in sorted(boxes, key=lambda b: (-round(b[0].y0), b[0].x0))] == names
    rows = {round(box.y0): sum(round(b.y0) == round(box.y0) for b, _ in boxes) for box, _ in boxes}
    assert max(rows.values()) - min(rows.values()) < max(2, len(rows))
    import matplotlib.pyplot as plt

    plt.close(figure)


def test_words_of_saved_results_do_not_become_markup(tmp_path: Path) -> None:
    evil = "<svg onload=alert(1)>"
    names = ("key", "claim", "source", "published", "ours", "interval", "tolerance", "verdict", "why", "kind")
    folder = tmp_path / "leotcp" / "initial-phase"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / f"{evil}.csv").touch()
    (folder / "verdicts.json").write_text(json.dumps([dict.fromkeys(names, evil)]), encoding="utf-8")
    about = {"runs": evil, "planned": 6, "size": evil, "note": evil}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    page = gallery.write(tmp_path).read_text(encoding="utf-8")
    assert evil not in page
    assert "&lt;svg onload" in page


def _with_published_numbers() -> list[str]:
    """Experiments with published tables and with claims that have a published number."""
    found = []
    for folder in sorted((PAGES / "data").iterdir()):
        page = (PAGES / f"{folder.name}.md").read_text(encoding="utf-8")
        numbers = re.findall(rf"\| ({Kind.NUMBER.value}|{Kind.TUNED.value})(?:, [a-z ]+)? \|", page)
        if numbers:
            found += [e for e in experiments() if e.replace("/", "-") == folder.name]
    return found


@pytest.mark.parametrize("name", _with_published_numbers())
def test_published_numbers_stand_in_the_figures(name: str) -> None:
    """They are finite markers or curves in our axes, in at least one figure."""
    import matplotlib.pyplot as plt

    experiment = experiments()[name]
    tables = {f.stem: read_csv(f) for f in sorted((PAGES / "data" / name.replace("/", "-")).glob("*.csv"))}
    pictures = experiment.draw(beside.headline(tables))
    drawn = [a for p in pictures.values() for a in p.findobj() if str(a.get_gid() or "").startswith(style.PUBLISHED)]
    names = [
        [a.get_gid() for a in p.findobj() if a.get_gid() in {d.get_gid() for d in drawn}] for p in pictures.values()
    ]
    for picture in pictures.values():
        plt.close(picture)
    assert drawn, f"{name} has published numbers, and none of its figures shows one"
    assert all(len(set(n)) == len(n) for n in names)
    assert all(np.isfinite(a.get_xydata()).all() for a in drawn if hasattr(a, "get_xydata"))


def test_a_mean_over_a_swept_parameter_has_the_interval_of_its_runs() -> None:
    """The RTT's effect on a ratio is the same in each repetition, and widens no interval."""
    rows = [(s, rtt_ms, base + s / 100) for s in (1, 2, 3) for rtt_ms, base in ((20, 0.9), (100, 0.5), (200, 0.1))]
    frame = pd.DataFrame(rows, columns=["seed", "rtt_ms", "ratio"])
    by_run, pooled = frames.average(frame, "ratio", "rtt_ms"), frames.average(frame, "ratio")
    assert by_run.value == pytest.approx(0.52) == pooled.value
    assert (by_run.n, pooled.n) == (3, 9)
    # Student's t with 2 degrees of freedom, times the deviation of 0.01 over the square root of
    # three.
    assert by_run.high - by_run.value == pytest.approx(4.302653 * 0.01 / 3**0.5)
    assert pooled.high - pooled.value > 0.2
    # Repeated runs at a single point of the sweep do not increase its weight.
    again = pd.concat([frame, frame[frame["rtt_ms"] == 200]])
    assert frames.average(again, "ratio", "rtt_ms").value == pytest.approx(0.52)
