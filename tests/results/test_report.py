# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report page in a real browser: complete, at two widths, without a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

import perigee_lab as perigee
from conftest import ROOT, Cli
from perigee_lab.results import columns, webpage
from perigee_lab.results.report import write_report
from perigee_lab.results.report.data import payload
from perigee_lab.results.run import Run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the page was not looked at")

# Script appended to a copy of the page, which reports the page's drawings, errors and fetches.
PROBE = """
<script>
const count = (s) => document.querySelectorAll(s).length;
const panels = {};
for (const id of ["goodput", "rtt", "queue", "cdf"])
  panels[id] = [...document.querySelectorAll(`#${id} path.curve`)].filter((p) => p.getTotalLength() > 20).length;
const found = {
  drawn: document.documentElement.dataset.drawn,
  panels,
  rows: count("#summary > .scroll tbody tr"),
  columns: count("#summary > .scroll thead th"),
  map: count("#map svg .path"),
  ends: count("#map svg .end"),
  handovers: count("#goodput .handover"),
  manifests: count("#manifest details"),
  strips: count("#limits .plot rect"),
  limits: [...document.querySelectorAll("#limits .limits span")].map((e) => e.textContent),
  wider: document.documentElement.scrollWidth > window.innerWidth,
  width: window.innerWidth,
  fetched: performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith("data:")),
  errors: window.failures,
  owned: document.documentElement.dataset.owned ?? null,
};
const before = document.querySelector("#map svg").outerHTML;
const slider = document.querySelector("#time");
slider.value = slider.max / 2;
slider.dispatchEvent(new Event("input"));
found.moved = document.querySelector("#map svg").outerHTML !== before;
document.querySelector("#curves .legend button").click();
found.hidden = count("#goodput path.curve");
const flow = document.querySelector("#flow");
found.flows = [...flow.options].map((o) => {
  flow.value = o.value;
  flow.dispatchEvent(new Event("change"));
  const path = document.querySelector("#map svg .path").getAttribute("d");
  const said = [...document.querySelectorAll(".of")].map((e) => e.textContent);
  return [o.textContent, document.querySelector("#map-note").textContent, said, path];
});
found.beside = [...document.querySelectorAll("#summary .beside li")].map((e) => e.textContent);
found.tooltips = [...document.querySelectorAll("#summary thead th[title]")].map((e) => e.title);
const out = document.createElement("pre");
out.id = "probe";
out.textContent = JSON.stringify(found);
document.body.append(out);
</script>
"""
CATCH = '<script>window.failures = []; addEventListener("error", (e) => failures.push(e.message));</script>'


def look(page: Path, width: int, tmp_path: Path, *, quiet: bool = True) -> dict[str, object]:
    """Opens a page without a network and returns the probe's report."""
    text = page.read_text(encoding="utf-8")
    # The page's policy is extended to the two scripts of the test.
    ours = [webpage.hash_of(s.strip().removeprefix("<script>").removesuffix("</script>")) for s in (CATCH, PROBE)]
    text = text.replace("script-src ", f"script-src {' '.join(ours)} ", 1)
    text = text.replace("<title>", f"{CATCH}<title>", 1).replace("</body>", f"{PROBE}</body>")
    probed = tmp_path / f"probed-{width}.html"
    probed.write_text(text, encoding="utf-8")
    assert CHROMIUM is not None
    words = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
        "--disable-background-networking", "--proxy-server=127.0.0.1:9", f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr", "--v=0", f"--window-size={width},900", "--virtual-time-budget=5000", "--dump-dom",
        probed.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not (quiet and complaints), complaints
    match = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
    assert match, done.stdout[-2000:]
    found: dict[str, object] = json.loads(match[1].replace("&amp;", "&").replace("&gt;", ">").replace("&lt;", "<"))
    return found


@pytest.fixture(scope="module")
def sky_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a short run over satellites."""
    scenario = perigee.load(ROOT / "scenarios/leo/london-new-york.toml", {"run.duration": "40 s"})
    page = tmp_path_factory.mktemp("report") / "report.html"
    write_report(scenario.run_all(), page)
    return page


@pytest.mark.slow
@browser
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 500])
def test_every_panel_of_a_sky_is_drawn(sky_report: Path, width: int, tmp_path: Path) -> None:
    found = look(sky_report, width, tmp_path)
    assert found["drawn"] == "yes"
    assert found["errors"] == []
    assert found["fetched"] == []
    assert found["panels"] == {"goodput": 4, "rtt": 6, "queue": 3, "cdf": 3}
    assert (found["rows"], found["map"], found["manifests"]) == (3, 1, 3)
    assert int(str(found["ends"])) >= 2
    assert int(str(found["columns"])) <= 8
    assert int(str(found["handovers"])) >= 1
    assert int(str(found["strips"])) >= 3 * 160, "a bin at least per scheme and 0.25 s"
    assert {"handshake", "congestion window, steady"} <= set(cast("list[str]", found["limits"]))
    assert found["moved"], "the path follows the slider"
    assert found["hidden"] == 3, "the legend hides a scheme; the capacity stays"
    assert not found["wider"], "nothing is wider than the window"


@browser
@pytest.mark.browser
def test_a_network_without_places_is_drawn_too(cli: Cli, small: Path, tmp_path: Path) -> None:
    text = small.read_text(encoding="utf-8") + '[[flow]]\napp = "cbr"\nrate = "1 Mbit"\n'
    small.write_text(text, encoding="utf-8")
    done = cli("run", small, "--out", "out")
    assert done.returncode == 0
    found = look(tmp_path / "out/report.html", 800, tmp_path)
    assert (found["errors"], found["fetched"], found["map"]) == ([], [], 1)
    lines: Any = found["beside"]
    assert [line.split(":")[0] for line in lines] == [f"constant rate beside {c}, 1 flow" for c in ("newreno", "cubic")]
    assert all(line in done.stdout for line in lines)
    assert found["panels"] == {"goodput": 3, "rtt": 4, "queue": 2, "cdf": 2}


TWO_PAIRS = """
[run]
duration = "5 s"
cc = "cubic"
[source.constellation]
preset = "starlink-shell1"
[node]
london = { kind = "terminal", place = "London" }
paris = { kind = "terminal", place = "Paris" }
sydney = { kind = "terminal", place = "Sydney" }
[port.ground]
rate = "5 Mbit"
[[flow]]
from = "london"
to = "sydney"
cc = "*"
[[flow]]
from = "london"
to = "paris"
cc = "*"
"""
LIGHT_KM_PER_MS = 299.792458


@pytest.fixture(scope="module")
def pairs() -> Run:
    """A flow to the other side of the world, and a flow to a neighbour."""
    return perigee.loads(TWO_PAIRS).run(cc="cubic")


def test_every_curve_is_that_of_one_named_flow(pairs: Run) -> None:
    page = payload([pairs])
    assert [f["name"] for f in page["flows"]] == ["london to sydney", "london to paris"]
    frame = pairs.to_pandas("flows")
    for flow in page["flows"]:
        own, curves = frame[frame["flow"] == flow["flow"]], page["schemes"][0]["curves"][str(flow["flow"])]
        for name, column in (("goodput", "goodput_bps"), ("rtt", "rtt_ns"), ("base", "base_rtt_ns")):
            known = [v for v in curves[name] if v is not None]
            assert known == pytest.approx(list(own[column].dropna() / 1e6), rel=1e-5), (flow["name"], name)
        ends = page["map"]["routes"][str(flow["pair"])][0][1]
        assert f"{page['map']['names'][str(ends[0])]} to {page['map']['names'][str(ends[-1])]}" == flow["name"]
    # London and Sydney are 16,990 km apart: no round trip is shorter than light's.
    assert min(page["schemes"][0]["curves"]["0"]["base"]) > 2 * 16_990 / LIGHT_KM_PER_MS


def test_a_plot_is_of_one_flow(pairs: Run) -> None:
    frame = pairs.to_pandas("flows")
    first, second = pairs.plot(), pairs.plot("london->paris")
    for figure, name, flow in ((first, "london to sydney", 0), (second, "london to paris", 1)):
        assert figure.axes[0].get_title(loc="left").endswith(name)
        [base] = [line for line in figure.axes[1].lines if line.get_label() == "base RTT"]
        own = frame[frame["flow"] == flow]["base_rtt_ns"].iloc[-1]
        assert base.get_ydata()[-1] == pytest.approx(own / 1e6, rel=1e-5)
    with pytest.raises(KeyError, match="no flow 'x' among those shown: london->sydney, london->paris"):
        pairs.plot("x")


@pytest.mark.slow
@browser
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 500])
def test_a_flow_is_chosen_and_everything_follows(pairs: Run, width: int, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report([pairs], page)
    found = look(page, width, tmp_path)
    assert (found["errors"], found["wider"]) == ([], False)
    flows: Any = found["flows"]
    assert [f[0] for f in flows] == ["london to sydney", "london to paris"]
    for name, note, said, _ in flows:
        assert f"base RTT of {name} " in note
        assert set(said) == {f"· {name}"}
    assert flows[0][3] != flows[1][3], "two maps"
    assert found["beside"] == []
    assert sorted(cast("list[str]", found["tooltips"])) == sorted(c.meaning for c in columns.TABLE)


def test_the_page_names_no_other_file(sky_report: Path) -> None:
    text = sky_report.read_text(encoding="utf-8")
    outside = re.findall(r'(?:src|href)="(?!data:)[^"]*"|url\((?!data:)[^)]*\)|@import|\bfetch\(|XMLHttpRequest', text)
    assert outside == []
    assert len(text) < 3_000_000
    assert "%" + "DATA%" not in text


ATTACKS = {
    "title": "%DATA%",
    "flow": "<svg onload=document.documentElement.dataset.owned=1>",
    "comment": "<!--<script>",
    "end": "</script><script>document.documentElement.dataset.owned=1</script>",
}


def attacked(cli: Cli, small: Path, tmp_path: Path) -> Path:
    """The report of a scenario with texts that contain markup."""
    names = "".join(f'[[flow]]\nname = {json.dumps(t)}\ncc = "cubic"\n' for t in list(ATTACKS.values())[1:])
    small.write_text(small.read_text(encoding="utf-8") + names, encoding="utf-8")
    done = cli("run", small, "--out", "out", "--set", f"title={json.dumps(ATTACKS['title'])}")
    assert done.returncode == 0, done.stderr
    return tmp_path / "out/report.html"


def test_words_of_a_scenario_stay_words(cli: Cli, small: Path, tmp_path: Path) -> None:
    text = attacked(cli, small, tmp_path).read_text(encoding="utf-8")
    assert text.count("<script") == 3, "the page's own"
    assert "<!--<script>" not in text
    assert "<svg onload" not in text
    assert "<title>%DATA%</title>" in text, "what is put in is not filled in again"
    [data] = re.findall(r'id="data">(.*?)</script>', text, re.S)
    assert not set("<>&\u2028\u2029") & set(data)
    assert json.loads(data)["title"] == "%DATA%"


@pytest.mark.slow
@browser
@pytest.mark.browser
def test_words_of_a_scenario_stay_words_in_a_browser(cli: Cli, small: Path, tmp_path: Path) -> None:
    found = look(attacked(cli, small, tmp_path), 800, tmp_path)
    assert (found["drawn"], found["errors"], found["owned"]) == ("yes", [], None)


@pytest.mark.slow
@browser
@pytest.mark.browser
def test_what_is_injected_all_the_same_is_refused_by_the_policy(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--out", "out").returncode == 0
    page = tmp_path / "out/report.html"
    inject = f"<img src=x onerror=document.documentElement.dataset.owned=1>{ATTACKS['end'][9:]}"
    page.write_text(page.read_text(encoding="utf-8").replace("<main>", f"<main>{inject}"), encoding="utf-8")
    found = look(page, 800, tmp_path, quiet=False)
    assert (found["drawn"], found["owned"]) == ("yes", None)


def test_text_of_a_scenario_cannot_break_out_of_the_page(cli: Cli, small: Path, tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    assert cli("run", small, "--out", "out", "--cc", "cubic", "--set", f"title={json.dumps(evil)}").returncode == 0
    assert evil not in (tmp_path / "out/report.html").read_text(encoding="utf-8")
