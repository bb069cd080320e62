# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The globe: its data, its page, its server."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib.image
import numpy as np
import pytest

import perigee_lab as perigee
from conftest import Begin, Cli, wait_for
from perigee_lab.cli import view
from perigee_lab.results.run import find_records
from perigee_lab.sky.skymap import picture
from perigee_lab.view import data, page
from perigee_lab.view import server as servers
from perigee_lab.view.network import diagram
from perigee_lab.view.server import serve

ROOT = Path(__file__).parents[2]
SKY = (
    'title = "two </script> cities"\n[run]\nduration = "50 s"\n[source.constellation]\npreset = "starlink-shell1"\n'
    '[node.london]\nplace = "London"\n[node.new-york]\nplace = "New York"\n'
    '[[flow]]\nfrom = "london"\nto = "new-york"\ncc = "*"\n'
)


@pytest.fixture
def folder(cli: Cli, tmp_path: Path) -> Path:
    (tmp_path / "sky.toml").write_text(SKY, encoding="utf-8")
    done = cli("run", "sky.toml", "--cc", "cubic", "--out", "out")
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


@pytest.fixture
def flat(cli: Cli, tmp_path: Path) -> Path:
    text = (
        '[run]\nduration = "3 s"\n[source.dumbbell]\n[schedule]\nevery = "10 s"\nfirst = "1 s"\noutage = "100 ms"\n'
        '[[flow]]\ncc = "cubic"\n'
    )
    (tmp_path / "flat.toml").write_text(text, encoding="utf-8")
    done = cli("run", "flat.toml", "--out", "flat")
    assert done.returncode == 0, done.stderr
    return tmp_path / "flat"


def interpolated(frames: np.ndarray, u: float) -> np.ndarray:
    """Interpolates between inner frames, as the page does."""
    k, s = int(u), u - int(u)
    w = (
        (-s + 2 * s**2 - s**3) / 2,
        (2 - 5 * s**2 + 3 * s**3) / 2,
        (s + 4 * s**2 - 3 * s**3) / 2,
        (s**3 - s**2) / 2,
    )
    return sum(w[i] * frames[k - 1 + i] for i in range(4)) / data.SCALE


@pytest.mark.slow
def test_positions_between_frames_are_where_the_satellites_are(folder: Path) -> None:
    found = data.payload(find_records(folder))
    sky = found["sky"]
    frames = np.frombuffer(base64.b64decode(sky["frames"]), dtype="<i2").reshape(-1, len(sky["names"]), 3)
    assert frames.shape == (4, 1584, 3), "0, 20, 40 s, and one beyond the end"
    assert sky["step_s"] == 20
    true = data.positions(picture(perigee.loads(SKY), 31.0)["satellites"]) / data.SCALE
    off_km = np.linalg.norm(interpolated(frames.astype(float), 31.0 / 20) - true, axis=1) * data.EARTH_RADIUS_KM
    assert off_km.max() < 3.5, "what 16 bits resolve"
    radius = np.linalg.norm(true, axis=1)
    assert np.allclose((radius - 1) * data.EARTH_RADIUS_KM, 550, atol=25)


def test_routes_and_loads_name_what_they_go_over(folder: Path) -> None:
    run = find_records(folder)[0]
    found = data.payload([run])
    names = found["sky"]["names"]
    ground = [g["name"] for g in found["sky"]["ground"]]
    name = [(ground[-1 - v] if v < 0 else names[v]) for v in found["routes"]["0"][0][1]]
    first = run.to_pandas("routes").query("t_ns == 0 and pair == 0").sort_values("hop")["node"]
    assert name == [run.manifest.nodes[int(n)] for n in first]
    assert (name[0], name[-1]) == ("london", "new-york")
    busiest = found["loads"][0][0]
    assert np.mean(busiest["used_pct"]) > 50
    assert len(busiest["used_pct"]) == data.LINK_POINTS
    totals = run.to_pandas("link_totals")
    top = totals.loc[totals["tx_bytes"].idxmax()]
    assert top["from"] == (ground[-1 - busiest["from"]] if busiest["from"] < 0 else names[busiest["from"]])


@pytest.mark.slow
def test_samples_that_are_rare_leave_no_gaps(cli: Cli, folder: Path) -> None:
    assert cli("run", "sky.toml", "--cc", "cubic", "--set", "run.sample=1 s", "--out", "rare").returncode == 0
    loads = data.payload(find_records(folder.parent / "rare"))["loads"][0]
    assert len(loads[0]["used_pct"]) == 50
    in_use = np.flatnonzero(loads[0]["used_pct"])
    assert len(in_use) == in_use[-1] - in_use[0] + 1 > 30


def test_a_day_of_many_satellites_has_longer_steps() -> None:
    assert data.step(300, 1584) == 20
    assert data.step(6 * 3600, 1584) == 35
    assert data.step(86_400, 7000) == 120


@pytest.mark.slow
def test_the_page_stands_alone(folder: Path) -> None:
    text = page(find_records(folder))
    assert "default-src 'none'" in html.unescape(text)
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", own)
    assert "two </script> cities" not in text


SOFTWARE = "--use-angle=swiftshader --enable-unsafe-swiftshader"
NO_WEBGL = "--disable-gpu --disable-3d-apis"


def looked_at(text: str, tmp_path: Path, graphics: str = SOFTWARE, *more: str) -> str:
    """The DOM of a page in a browser, without console errors."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    (tmp_path / "globe.html").write_text(text, encoding="utf-8")
    options = f"--headless=new --no-sandbox {graphics} --virtual-time-budget=4000"
    options += f" --user-data-dir={tmp_path}/profile --enable-logging=stderr --dump-dom"
    done = subprocess.run(
        [browser, *options.split(), *more, f"file://{tmp_path}/globe.html"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "<html" not in done.stdout:
        pytest.skip("Chromium does not start here")
    # The console shows errors of scripts and violations of the page's policy.
    console = [line for line in done.stderr.splitlines() if not re.search(r"CONSOLE.*(creating|create) WebGL", line)]
    assert not re.search(r"CONSOLE.*(Uncaught|Error|Content Security Policy)", "\n".join(console))
    return done.stdout


@pytest.mark.slow
def test_a_browser_draws_it_and_says_no_error(folder: Path, tmp_path: Path) -> None:
    drawn = looked_at(page(find_records(folder)), tmp_path)
    assert re.search(r'id="route"[^>]*>\d hops: london → sat-', drawn)
    assert "0:00.0 of 0:50" in drawn


@pytest.mark.slow
def test_without_webgl_a_flat_map_is_drawn_and_the_page_says_why(folder: Path, tmp_path: Path) -> None:
    text = page(find_records(folder))
    picture = tmp_path / "map.png"
    drawn = looked_at(text, tmp_path, NO_WEBGL, f"--screenshot={picture}", "--window-size=1400,900")
    assert re.search(
        r'<p id="no-webgl">This browser has no WebGL, which the globe needs .*: a flat map instead\.</p>', drawn
    )
    assert re.search(r'id="route"[^>]*>\d hops: london → sat-', drawn)
    with_globe = looked_at(text, tmp_path)
    assert '<p id="no-webgl" hidden="">' in with_globe
    pixels = (matplotlib.image.imread(picture)[:, :700, :3] * 255).round().astype(int)
    for colour, least in (((0x12, 0x26, 0x3A), 20_000), ((0x3D, 0x52, 0x47), 5_000), ((0xFB, 0x92, 0x3C), 100)):
        assert (pixels == colour).all(axis=2).sum() > least, "sea, land, path"


def test_the_server_answers_only_to_its_secret_and_its_name() -> None:
    server, address = serve("<p>globe</p>")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        where = urlsplit(address)
        assert where.hostname == "127.0.0.1"
        assert len(where.path) > 20

        def ask(path: str, host: str) -> int:
            connection = HTTPConnection("127.0.0.1", where.port, timeout=10)
            connection.request("GET", path, headers={"Host": host})
            return connection.getresponse().status

        own = f"127.0.0.1:{where.port}"
        assert ask(where.path, own) == 200
        assert ask("/", own) == 404
        assert ask(where.path[:-2] + "/", own) == 404
        assert ask(where.path, f"evil.example:{where.port}") == 404
    finally:
        server.shutdown()
        server.server_close()


def test_the_server_closes_idle_connections_and_keeps_out_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "IDLE_S", 0.2)
    server, address = serve("<p>globe</p>")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        where = urlsplit(address)
        idle = [socket.create_connection(("127.0.0.1", where.port), timeout=20) for _ in range(40)]
        assert [sock.recv(1) for sock in idle] == [b""] * 40
        connection = HTTPConnection("127.0.0.1", where.port, timeout=20)
        connection.request("GET", where.path, headers={"Host": f"127.0.0.1:{where.port}"})
        answer = connection.getresponse()
        assert answer.status == 200
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        for sock in idle:
            sock.close()
    finally:
        server.shutdown()
        server.server_close()


def test_connections_with_bytes_that_trickle_in_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer takes the place of the oldest without a request, and a complete request has a time limit."""
    monkeypatch.setattr(servers, "IDLE_S", 2.0)
    server, address = serve("<p>globe</p>")
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    where = urlsplit(address)
    slow = [socket.create_connection(("127.0.0.1", where.port), timeout=20) for _ in range(servers.MOST_CONNECTIONS)]
    over = threading.Event()

    def trickle() -> None:
        while not over.wait(0.2):
            for sock in slow:
                with contextlib.suppress(OSError):
                    sock.send(b"G")

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        while len(server.newcomers) < servers.MOST_CONNECTIONS:  # type: ignore[attr-defined]
            time.sleep(0.01)
        begin = time.monotonic()
        connection = HTTPConnection("127.0.0.1", where.port, timeout=20)
        connection.request("GET", where.path, headers={"Host": f"127.0.0.1:{where.port}"})
        assert connection.getresponse().status == 200
        assert time.monotonic() - begin < 1.5, "it waits for no other connection"
        while server.newcomers:  # type: ignore[attr-defined]
            time.sleep(0.05)
            assert time.monotonic() - begin < 10
    finally:
        over.set()
        thread.join()
        server.shutdown()
        server.server_close()
        for sock in slow:
            sock.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_file_of_the_browser_goes_however_the_command_ends(
    flat: Path, tmp_path: Path, begin: Begin, number: signal.Signals
) -> None:
    (tmp_path / "tmp").mkdir()
    process = begin("view", flat, "--no-browser", env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    wait_for(lambda: bool(list((tmp_path / "tmp").glob("perigee-view-*/view.html"))), process)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert list((tmp_path / "tmp").glob("perigee-view-*")) == []


def test_the_browser_gets_no_secret_in_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_browser(url: str) -> None:
        opened.append(url)
        file = Path(urlsplit(url).path)
        assert (file.stat().st_mode & 0o077, file.parent.stat().st_mode & 0o077) == (0, 0)
        [target] = re.findall(r'url=([^"]+)"', file.read_text(encoding="utf-8"))
        opened.append(target)
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", open_browser)
    view._serve("<p>globe</p>", 0, browser=True)
    url, address = opened
    assert urlsplit(address).path not in url
    assert len(urlsplit(address).path) > 20
    assert not Path(urlsplit(url).path).exists()


def test_nodes_stand_in_the_order_of_the_routes_and_both_directions_are_one_link() -> None:
    found = diagram([["s1", "r1", "r2", "d1"], ["d2", "r2", "r1", "s2"], ["s3", "r2", "d3"]])
    at = {n["name"]: round(3 * n["x"]) for n in found["nodes"]}
    assert at == {"s1": 0, "s2": 0, "r1": 1, "s3": 1, "r2": 2, "d1": 3, "d2": 3, "d3": 3}
    assert len({(n["x"], n["y"]) for n in found["nodes"]}) == len(found["nodes"])
    assert len(found["links"]) == 7
    assert diagram([]) == {"nodes": [], "links": []}


@pytest.mark.slow
def test_a_network_without_satellites_is_drawn_with_loads_curves_and_outages(
    cli: Cli, tmp_path: Path, flat: Path
) -> None:
    found = data.payload(find_records(flat))
    assert found["sky"] is None
    names = [n["name"] for n in found["network"]["nodes"]]
    assert [names[v] for v in found["routes"]["0"][0][1]] == ["s1", "r1", "r2", "d1"]
    (bottleneck,) = [x for x in found["loads"][0] if (names[x["from"]], names[x["to"]]) == ("r1", "r2")]
    assert max(bottleneck["used_pct"]) > 80
    assert [m[1] for m in found["marks"]] == ["outage-begin", "outage-end"]
    drawn = looked_at(page(find_records(flat)), tmp_path)
    assert "3 hops: s1 → r1 → r2 → d1" in drawn
    assert re.search(r'<g class="route">(<line [^>]*></line>){3}</g>', drawn)
    done = cli("view", "flat", "--html", "x.html")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_records_of_measurements_show_their_curves(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("time_s,rtt_ms\n1,20\n2,21\n3,22\n", encoding="utf-8")
    assert cli("import", "log", "p.csv", "--out", "log").returncode == 0
    assert "does not say which way" in looked_at(page(find_records(tmp_path / "log")), tmp_path)


def test_what_is_no_record_is_told(cli: Cli, tmp_path: Path) -> None:
    done = cli("view", "nothing", "--html", "x.html")
    assert done.returncode == 2
    assert "nothing: there is no such folder" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "empty holds no complete record" in cli("view", "empty", "--html", "x.html").stderr
    assert not (tmp_path / "x.html").exists()


def test_the_bundle_is_of_the_pinned_versions() -> None:
    pinned = json.loads((ROOT / "web/package.json").read_text(encoding="utf-8"))["dependencies"]
    head = (ROOT / "python/perigee_lab/view/vendor.js").read_text(encoding="utf-8")[:300]
    for name, version in pinned.items():
        assert re.search(rf"{name}(\.js)? {re.escape(version)}", head, re.IGNORECASE), name
