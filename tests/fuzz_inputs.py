# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Targets of the fuzzer of Python readers: what scenarios, imports, fits, trainings and studies read."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import perigee_lab as perigee
from fuzz_damage import Damage, Target, json_file, json_lines, table_file, text_file, toml_file
from perigee_lab import _core
from perigee_lab.common.errors import PerigeeError
from perigee_lab.common.files import sha256_of
from perigee_lab.demand import background, maps, paired, report
from perigee_lab.demand import record as records
from perigee_lab.extensions import trust
from perigee_lab.measure import campaign
from perigee_lab.measure.capture import Reading, import_capture
from perigee_lab.measure.fit.given import runs_of
from perigee_lab.measure.fit.recording import Given
from perigee_lab.measure.fit.recording import read as read_recording
from perigee_lab.measure.logs.model import Asked, LogError
from perigee_lab.measure.logs.reader import read_log
from perigee_lab.results.checked import consistent
from perigee_lab.runs import job
from perigee_lab.runs.runner import Plan
from perigee_lab.runs.scenario import open_file
from perigee_lab.runs.sweep import plan_of
from perigee_studies import causes, published
from perigee_studies.cache import Cache
from perigee_studies.digest import Digest
from perigee_studies.registry import experiments

# Samples of logs that the tests of `perigee import log` have.
sys.path.insert(0, str(Path(__file__).parent / "measure"))

from fuzz_logs import SEEDS

SCENARIOS = Path(__file__).parent.parent / "scenarios"
RUN = '[run]\nduration = "1 s"\n'
ENDS = '[[flow]]\nfrom = "a"\nto = "b"\ncc = "cubic"\n'
SKY = f"""{RUN}[source.constellation]
SATELLITES
[port.ground]
rate = "5 Mbit"
[node.london]
place = "London"
[node.paris]
place = "Paris"
"""
SHELL = 'shell = { altitude = "550 km", inclination = "53 deg", planes = 24, per_plane = 22 }'
PAIR = '[[flow]]\nfrom = "london"\nto = "paris"\ncc = "cubic"\n'
DUMBBELL = f'{RUN}[source.dumbbell]\nrtt = "30 ms"\n[port.bottleneck]\nrate = "5 Mbit"\nqueue = "1 bdp"\n[[flow]]\n'
SWEPT = f"""{DUMBBELL}
[sweep]
"port.bottleneck.rate" = ["2 Mbit", "4 Mbit"]
"run.cc" = ["cubic", "bbr"]
[[expect]]
metric = "goodput"
at_least = "1 Mbit"
[[expect]]
metric = "rtt"
quantile = 0.9
at_most = "100 ms"
"""
TLE = """STARLINK-24
1 44238U 19029D   22257.46316094  .00217935  00000+0  35067-2 0  9992
2 44238  53.0028  47.8601 0007663 290.4472  69.5712 15.51686006181960
STARLINK-71
1 44252U 19029T   22257.66652686  .00210967  00000+0  31977-2 0  9994
2 44252  52.9931  41.1318 0006495 306.7007  53.3405 15.53381077183735
"""
OMM = {
    "OBJECT_NAME": "STARLINK-24", "OBJECT_ID": "2019-029D", "EPOCH": "2022-09-14T11:06:57.105216",
    "MEAN_MOTION": 15.51686006, "ECCENTRICITY": 0.0007663, "INCLINATION": 53.0028, "RA_OF_ASC_NODE": 47.8601,
    "ARG_OF_PERICENTER": 290.4472, "MEAN_ANOMALY": 69.5712, "NORAD_CAT_ID": 44238, "BSTAR": "0.0035067",
}  # fmt: skip
GRAPH = """<graphml><key attr.name="Latitude" for="node" id="a"/><key attr.name="LinkSpeedRaw" for="edge" id="s"/>
<key attr.name="delay_ms" for="edge" id="d"><default>3</default></key><graph edgedefault="undirected">
<node id="a"><data key="a">51.5</data></node><node id="b"/><node id="c"/>
<edge source="a" target="b"><data key="s">1e9</data></edge>
<edge source="b" target="c"><data key="s">1e7</data></edge></graph></graphml>
"""
LINKS = "from,to,rate_mbps,delay_ms,t_s\na,m,20,5,\nm,a,5,5,\nm,b,100,15,\nb,m,100,15,\na,b,1,50,\nm,b,100,30,0.5\n"
PATH_LOG = "1$[-1, 7, 8, -2]$4$[0.001, 0.002, 0.003]$0.006\n2$NULL\n3$[-1, 9, -2]$3$[0.001, 0.004]$0.005\n"
GEOJSON = {
    "type": "FeatureCollection",
    "features": [
        {"geometry": {"type": "Point", "coordinates": [12.5, 41.9]}, "properties": {"name": "a", "terminals": 3}},
        {
            "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 4], [0, 0]]]},
            "properties": {"terminals": 7},
        },
    ],
}
CELLS = "name,lat,lon,population,terminals\nRome,41.9,12.5,2800000,900\nMadrid,40.4,-3.7,3200000,700\n"
GATEWAYS = "name,lat,lon,dishes\nRaisting,47.9,11.1,8\nFucino,42.0,13.6,8\n"
DEMAND = f"""[run]
duration = "5 min"
[source.constellation]
{SHELL}
[[nodes]]
file = "gateways.csv"
[demand]
CELLS
step = "60 s"
active = 0.1
[demand.down]
gateway = "3 Gbit"
[[demand.plan]]
down = "50 Mbit"
"""
CAMPAIGN = """[campaign]
title = "a line"
cycles = 2
[[step]]
do = "pings"
duration = "300 ms"
interval = "10 ms"
[[step]]
do = "download"
bytes = "1 MB"
"""


def scenario_with(name: str, file: str, content: str, text: str, damage: Damage = text_file) -> Target:
    """A file that a scenario names, read as its network is built."""

    def make(folder: Path) -> None:
        (folder / file).write_text(content, encoding="utf-8")
        (folder / "gateways.csv").write_text(GATEWAYS, encoding="utf-8")
        (folder / "plain.csv").write_text(LINKS, encoding="utf-8")
        (folder / "cells.csv").write_text(CELLS, encoding="utf-8")
        read(folder)

    def read(folder: Path) -> None:
        core = perigee.loads(text, folder=folder).core
        if "[demand]" in text:
            _core.Demand(core).describe()
        else:
            core.world(1).describe()

    return Target(name, make, lambda draw, folder: damage(draw, folder / file), read)


def make_scenarios(folder: Path) -> None:
    """Bundled scenarios that are built in a moment."""
    shutil.copytree(SCENARIOS / "micro/data", folder / "data")
    for path in sorted((SCENARIOS / "micro").glob("*.toml")):
        shutil.copy(path, folder)
    (folder / "sky.toml").write_text(SKY.replace("SATELLITES", SHELL) + PAIR, encoding="utf-8")
    (folder / "swept.toml").write_text(SWEPT, encoding="utf-8")


def scenario_file(draw: random.Random, folder: Path) -> None:
    """Damages one of the scenarios, and leaves it alone."""
    path = draw.choice(sorted(folder.glob("*.toml")))
    toml_file(draw, path)
    path.rename(folder / "s.toml")


def read_scenario(folder: Path) -> None:
    """Loads a scenario and builds its network."""
    scenario = perigee.load(folder / "s.toml")
    scenario.core.world(scenario.core.seed).describe()


def read_sweep(folder: Path) -> None:
    """Plans a sweep and reads what it expects."""
    plan_of(folder / "s.toml", [], [], [])
    perigee.load(folder / "s.toml").core.expectations()


def make_timeline(folder: Path) -> None:
    """A saved timeline."""
    perigee.loads(DUMBBELL, folder=folder).timeline().save(folder / "t.timeline")


def read_timeline(folder: Path) -> None:
    """Loads a timeline, by itself and for a run."""
    _core.Timeline.load(folder / "t.timeline").describe()
    text = f'{RUN}[source.timeline]\nfile = "t.timeline"\n[[flow]]\n'
    perigee.loads(text, folder=folder).core.world(1).describe()


def log(name: str) -> Target:
    """A log of a kind."""
    structured = name in ("iperf3", "irtt", "mtr", "speedtest", "qlog")

    def make(folder: Path) -> None:
        for n, text in enumerate(SEEDS[name]):
            (folder / f"{n}.log").write_text(text, encoding="utf-8")

    def damage(draw: random.Random, folder: Path) -> None:
        path = draw.choice(sorted(folder.glob("*.log")))
        (json_file if structured and draw.random() < 0.7 else text_file)(draw, path)
        path.rename(folder / "log")

    def read(folder: Path) -> None:
        try:
            read_log(folder / "log", Asked())
        except LogError:
            read_log(folder / "log", Asked(interval_ns=10**9))

    return Target(f"log-{name}", make, damage, read)


def make_capture(folder: Path) -> None:
    """A capture of a run."""
    out = folder / "run"
    perigee.loads(DUMBBELL, folder=folder).run_all(["cubic"], seeds=[1], out=out, pcap=True)
    shutil.copy(next(out.rglob("*.pcapng")), folder / "c.pcapng")
    shutil.rmtree(out)


def capture_file(draw: random.Random, folder: Path) -> None:
    """Damages a capture: bytes, or fields of blocks and headers."""
    path = folder / "c.pcapng"
    data = bytearray(path.read_bytes()[: draw.choice((4_000, 40_000))])
    for _ in range(draw.randint(1, 6)):
        at = 4 * draw.randrange(max(1, len(data) // 4))
        kind = draw.randrange(4)
        if kind == 0:
            data[at : at + 4] = draw.choice((0, 1, 2**31, 2**32 - 1, 65_535)).to_bytes(4, "little")
        elif kind == 1:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 2:
            del data[at : at + 4 * draw.randint(1, 20)]
        else:
            data[at:at] = data[at : at + 4 * draw.randint(1, 20)]
    path.write_bytes(data)


def read_capture(folder: Path) -> None:
    """Imports a capture."""
    import_capture(folder / "c.pcapng", Reading(None, "x", 10**8, 0), folder / "out")


def make_jobs(folder: Path) -> None:
    """Jobs of two seeds."""
    (folder / "s.toml").write_text(DUMBBELL, encoding="utf-8")
    job.save(Plan.of(perigee.load(folder / "s.toml"), ["cubic"], seeds=[1, 2]).jobs, folder / "job.json")


def read_jobs(folder: Path) -> None:
    """Reads jobs, and checks their files."""
    for one in job.read(folder / "job.json"):
        job.problems(one)


def make_digest(folder: Path) -> None:
    """A digest of a study."""
    columns = {"rtt_ns": np.arange(50.0)[None, :], "goodput_bps": np.ones((1, 50))}
    digest = Digest([{"name": "a", "goodput_mbps": 1.0}], np.arange(50.0), columns, np.ones((1, 201)))
    Cache(folder).write("ab12", digest)


def digest_file(draw: random.Random, folder: Path) -> None:
    """Damages a digest: bytes, its description or its arrays."""
    import io
    import zipfile

    from fuzz_damage import bytes_of, damage_json

    path = Cache(folder).path("ab12")
    if draw.random() < 0.3:
        path.write_bytes(bytes_of(draw, path.read_bytes()))
        return
    with zipfile.ZipFile(path) as file:
        parts = {n: file.read(n) for n in file.namelist()}
    name = draw.choice(sorted(parts))
    if name.endswith(".json"):
        parts[name] = json.dumps(damage_json(draw, json.loads(parts[name]))).encode()
    elif draw.random() < 0.5:
        parts[name] = bytes_of(draw, parts[name])
    else:
        array: Any = draw.choice(
            (np.zeros(0), np.zeros((2, 3, 4)), np.array(["x"]), np.float64("nan"), np.ones(3, bool))
        )
        buffer = io.BytesIO()
        np.save(buffer, array)
        parts[name] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as file:
        for n, data in parts.items():
            file.writestr(n, data)


def read_digest(folder: Path) -> None:
    """Reads a digest; a damaged one is none."""
    cache = Cache(folder)
    assert cache.has("ab12") == (cache.read("ab12") is not None)


STUDY = "leo-cc/attach"
TABLES = Path(__file__).parent.parent / "docs/studies/data/leo-cc-attach"


def make_study(folder: Path) -> None:
    """Notes and claims of a study's page."""
    (folder / "data/leo-cc-attach").mkdir(parents=True)
    for name in ("about.json", "claims.json"):
        shutil.copy(TABLES / name, folder / "data/leo-cc-attach")
    (folder / "leo-cc-attach.md").write_text("", encoding="utf-8")


def read_study(folder: Path) -> None:
    """Reads notes and claims of a study's page."""
    study = experiments()[STUDY]
    published.size_of(STUDY, folder)
    causes.found({STUDY: published.claims(study, folder)})


def make_recipe(folder: Path) -> None:
    """The recipe of the smoke test."""
    (folder / "r.toml").write_text(dict(_core.recipes())["smoke"], encoding="utf-8")


def read_recipe(folder: Path) -> None:
    """Starts a training; a ValueError names what is wrong."""
    try:
        _core.Training((folder / "r.toml").read_text(encoding="utf-8"), folder, 1)
    except ValueError:
        return


def make_fit(folder: Path) -> None:
    """A log of pings, and recordings of a link."""
    (folder / "ping.log").write_text(SEEDS["ping"][0], encoding="utf-8")
    (folder / "rates").write_text("".join(f"{n}\n" for n in range(0, 12_000, 7)), encoding="utf-8")
    (folder / "delays").write_text("".join(f"{20 + n % 7}\n" for n in range(1200)), encoding="utf-8")


def fit_file(draw: random.Random, folder: Path) -> None:
    """Damages one of the inputs of a fit."""
    text_file(draw, folder / draw.choice(("ping.log", "rates", "delays")))


def read_fit(folder: Path) -> None:
    """Reads the inputs of a fit."""
    scratch = folder / "scratch"
    scratch.mkdir()
    for use in (
        lambda: runs_of([folder / "ping.log"], scratch),
        lambda: read_recording(Given(rates=folder / "rates", delays=folder / "delays"), scratch),
    ):
        try:
            use()
        except PerigeeError:
            continue


def make_trusted(folder: Path) -> None:
    """The list of trusted files, with one entry."""
    (folder / "mine.py").write_text("import os\n", encoding="utf-8")
    _with_state(folder, lambda: trust.remember(folder / "mine.py"))


def read_trusted(folder: Path) -> None:
    """Reads the list of trusted files."""

    def use() -> None:
        trust.remembered()
        trust.archives()
        trust.is_remembered(folder / "mine.py")

    _with_state(folder, use)


def _with_state(folder: Path, use: Callable[[], object]) -> None:
    import os

    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    try:
        use()
    finally:
        os.environ.pop("XDG_STATE_HOME")
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before


def network_of(keys: str) -> str:
    """A scenario over a network of one's own."""
    return f"{RUN}[source.network]\n{keys}\n{ENDS}"


def mahimahi_of(keys: str) -> str:
    """A scenario over recorded delivery opportunities."""
    return f"{RUN}[source.trace]\n{keys}\n[[flow]]\n"


def elements_of(name: str) -> str:
    """A scenario with satellites of a file."""
    return SKY.replace("SATELLITES", f'{SHELL}\nmin_altitude = "160 km"\nalso_tle = "{name}"') + PAIR


def make_demand(folder: Path) -> None:
    """A record of a demand of four cells."""
    (folder / "cells.csv").write_text(CELLS, encoding="utf-8")
    (folder / "gateways.csv").write_text(GATEWAYS, encoding="utf-8")
    text = DEMAND.replace("CELLS", 'file = "cells.csv"\nrecord_links = "60 s"')
    (folder / "s.toml").write_text(text, encoding="utf-8")
    records.compute(open_file(folder / "s.toml", []), folder / "out")


def demand_file(draw: random.Random, folder: Path) -> None:
    """Damages a table, often with the hash in the chunk's facts adapted to it, or another file."""
    out = folder / "out"
    path = draw.choice([p for p in sorted(out.rglob("*")) if p.suffix in (".json", ".csv", ".parquet")])
    if path.suffix == ".json":
        json_file(draw, path)
    elif path.suffix == ".csv":
        text_file(draw, path)
    else:
        table_file(draw, path)
        facts = out / "chunks/00000.json"
        if path.parent != out and draw.random() < 0.7:
            found = json.loads(facts.read_text(encoding="utf-8"))
            found["parts"][path.parent.name] = sha256_of(path)
            facts.write_text(json.dumps(found), encoding="utf-8")


def read_demand(folder: Path) -> None:
    """Sentences, paired differences, loads and places of a demand."""
    out = folder / "out"

    def record() -> records.Record:
        return records.Record(out)

    for use in (
        lambda: report.lines(record(), record()),
        lambda: paired.compare(record(), record()).as_data(),
        lambda: background.loads(record(), None, 60.0),
        lambda: maps.cells(record(), "rate", 0, None),
        lambda: maps.links_at(record(), 0, maps.busiest(record(), 0)),
    ):
        try:
            with consistent(out):
                use()
        except PerigeeError:
            continue


TARGETS = (
    Target("demand", make_demand, demand_file, read_demand),
    scenario_with(
        "exchanges",
        "x.csv",
        "name,lat,lon\nA,51,0\nB,48.5,2\n",
        DEMAND.replace("CELLS", 'exchanges = "x.csv"\nfile = "cells.csv"'),
    ),
    Target("scenario", make_scenarios, scenario_file, read_scenario),
    Target(
        "sweep-plan",
        lambda f: _written(f / "s.toml", SWEPT),
        lambda draw, f: toml_file(draw, f / "s.toml"),
        read_sweep,
    ),
    Target("timeline", make_timeline, lambda draw, f: json_lines(draw, f / "t.timeline"), read_timeline),
    scenario_with("tle", "x.tle", TLE, elements_of("x.tle")),
    scenario_with("omm-json", "x.json", json.dumps([OMM]), elements_of("x.json"), json_file),
    scenario_with(
        "omm-csv", "x.csv", ",".join(OMM) + "\n" + ",".join(map(str, OMM.values())) + "\n", elements_of("x.csv")
    ),
    scenario_with(
        "geojson", "x.geojson", json.dumps(GEOJSON), DEMAND.replace("CELLS", 'file = "x.geojson"'), json_file
    ),
    scenario_with(
        "cells",
        "x.csv",
        CELLS,
        DEMAND.replace("CELLS", 'file = "x.csv"'),
    ),
    scenario_with(
        "activity",
        "x.csv",
        "hour,share\n0,0.5\n6.5,0.25\n20,1\n",
        DEMAND.replace("CELLS", 'activity = "x.csv"\nfile = "cells.csv"'),
    ),
    scenario_with(
        "nodes",
        "x.csv",
        "name,lat,lon,height_m,mask_deg\nA,51,0,10,25\nB,48,2,0,\n".replace(",\n", ",10\n"),
        SKY.replace("SATELLITES", SHELL).replace("[node.london]", '[[nodes]]\nfile = "x.csv"\n[node.london]') + PAIR,
    ),
    scenario_with(
        "matrix",
        "x.csv",
        "from,to,rate_mbps\nlondon,paris,1\nparis,london,2.5\n",
        SKY.replace("SATELLITES", SHELL) + '[[flow]]\nmatrix = "x.csv"\n',
    ),
    scenario_with("graphml", "x.graphml", GRAPH, network_of('links = "x.graphml"')),
    scenario_with("links", "x.csv", LINKS, network_of('links = "x.csv"')),
    scenario_with("routes", "x.csv", "a,m,b\n", network_of('links = "plain.csv"\nroutes = "x.csv"')),
    scenario_with("mahimahi", "x.up", "1\n2\n2\n5\n9\n12\n", mahimahi_of('rate_file = "x.up"\nrtt = "30 ms"')),
    scenario_with("path-log", "x.log", PATH_LOG, f'{RUN}[source.path_log]\nfile = "x.log"\n[[flow]]\n'),
    scenario_with(
        "schedule",
        "x.csv",
        "t_s,rate_mbps,rtt_ms,outage_ms,loss_pct\n0,50,40,0,0.5\n0.5,80.5,35,120,0\n",
        f'{DUMBBELL}[schedule]\nfile = "x.csv"\n',
    ),
    scenario_with(
        "background",
        "x.csv",
        "t_s,rate_mbps,flows\n0,1,3\n0.5,0,0\n",
        f'{DUMBBELL}[[background]]\nfile = "x.csv"\n',
    ),
    *(log(name) for name in SEEDS),
    Target("capture", make_capture, capture_file, read_capture),
    Target(
        "campaign",
        lambda f: _written(f / "c.toml", CAMPAIGN),
        lambda draw, f: toml_file(draw, f / "c.toml"),
        lambda f: campaign.read_campaign(f / "c.toml"),
    ),
    Target("jobs", make_jobs, lambda draw, f: json_file(draw, f / "job.json"), read_jobs),
    Target("digest", make_digest, digest_file, read_digest),
    Target(
        "study",
        make_study,
        lambda draw, f: json_file(draw, draw.choice(sorted((f / "data/leo-cc-attach").glob("*.json")))),
        read_study,
    ),
    Target("recipe", make_recipe, lambda draw, f: toml_file(draw, f / "r.toml"), read_recipe),
    Target("fit", make_fit, fit_file, read_fit),
    Target("trusted", make_trusted, lambda draw, f: json_file(draw, f / "state/perigee/trusted.json"), read_trusted),
)


def _written(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
