# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Hostile names in every key of a scenario, every command and every output.

Keys are taken from the schema and commands from the command line, so that new ones are either
covered or listed here.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import perigee_lab as perigee
from conftest import SMALL, Cli
from perigee_lab import _core
from perigee_lab.cli.app import app
from perigee_lab.common import names, quoting
from perigee_lab.common.files import RecordError, fresh_folder
from perigee_lab.extensions import trust
from perigee_lab.measure.net import protocol
from perigee_lab.results import cells
from perigee_lab.results.record import run_folder
from perigee_lab.results.summary import as_csv
from perigee_lab.runs import job
from perigee_lab.runs.runner import Plan
from perigee_lab.runs.scenario import _toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONTROLS = ("a\nb", "\x1b[2J", "a\u202eb", "\x9bb", "a\u2028b")
EVIL = """
open({marker!r}, "w").close()
from perigee_lab import CongestionControl
class X(CongestionControl):
    pass
def choose(view):
    return None
"""
SKY = """
[run]
duration = "1 s"
[source.constellation]
preset = "starlink-shell1"
[port.ground]
rate = "5 Mbit"
[node.london]
place = "London"
[node.new-york]
place = "New York"
[[flow]]
from = "london"
to = "new-york"
cc = "cubic"
"""
# Text that programs read or run is content: perigee-scenario/src/file/printable.rs.
CONTENT = {"program.0.command", "program.0.input", "program.0.environment"}


def keys(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Dotted keys of the schema with their schemas.

    Of named sections, the one called `x` is used; of lists, the first entry.
    """
    own = schema.get("properties", {})
    others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
    for part in schema.get("anyOf", []) + schema.get("oneOf", []) + schema.get("allOf", []):
        yield from keys(part, path)
    for name, inner in [*own.items(), *(("x", o) for o in others if isinstance(o, dict))]:
        here = f"{path}.{name}" if path else name
        yield here, inner
        yield from keys(inner, here)
    if isinstance(schema.get("items"), dict) and "properties" in schema["items"]:
        yield from keys(schema["items"], f"{path}.0")


SCHEMA = json.loads(_core.json_schema())
KEYS = dict(keys(SCHEMA))


def admits_code(schema: dict[str, Any]) -> bool:
    """Whether the schema of a value admits FILE.py:NAME."""
    texts = [schema, *schema.get("anyOf", []), schema.get("items") or {}]
    return any(str(s.get("pattern", "")).startswith("^.+:") for s in texts) or any(
        admits_code(s) for s in schema.get("anyOf", []) if s is not schema
    )


def test_the_schema_has_been_walked() -> None:
    assert len(KEYS) > 300
    for key in ("title", "flow.0.cc", "port.x.rate", "node.x.place", "source.constellation.attach", "run.cc"):
        assert key in KEYS, sorted(KEYS)
    code = {k for k, s in KEYS.items() if admits_code(s)}
    assert code >= {"flow.0.cc", "source.constellation.attach", "source.constellation.route"}, code


def test_no_key_takes_a_control_character() -> None:
    text = SMALL.replace('cc = "*"', 'cc = "cubic"').replace('cc = ["cubic", "newreno"]\n', "")
    for key, bad in itertools.product(sorted(set(KEYS) - CONTENT - {"extends"}), CONTROLS):
        with pytest.raises(perigee.ScenarioError) as refused:
            _core.Scenario.parse(text, "t", ".", [f"{key}={quoting.toml(bad)}"])
        message = str(refused.value.args[0])
        assert "control character U+" in message, (key, bad, message)
        assert names.problem(message) is None, message


def test_no_key_is_called_so_either() -> None:
    for key, bad in itertools.product(sorted({k.rpartition(".")[0] for k in KEYS}), CONTROLS):
        with pytest.raises(perigee.ScenarioError) as refused:
            _core.Scenario.parse(SMALL, "t", ".", [f'{key}."{bad}"=1' if key else f'"{bad}"=1'])
        assert names.problem(str(refused.value.args[0])) is None


def test_python_and_the_core_refuse_the_same_characters() -> None:
    at_edges = {
        c + d
        for c in range(0x110000)
        if (names.problem(chr(c)) is None) != (names.problem(chr(c - 1 if c else 0)) is None)
        for d in (-1, 0)
    }
    for c in sorted(at_edges | set(range(0x20)) | {0x20, 0x41, 0x200D, 0x2026, 0xFFFD}):
        if 0xD800 <= c < 0xE000:
            continue
        text = SMALL.replace('title = "small"', f'title = "a\\U{c:08x}b"')
        try:
            _core.Scenario.parse(text, "t", ".", [])
        except perigee.ScenarioError:
            assert names.problem(chr(c)) is not None, hex(c)
        else:
            assert names.problem(chr(c)) is None, hex(c)


# ---- code ----------------------------------------------------------------------------------------


def put(tree: Any, key: str, value: Any) -> None:
    """Sets a dotted key of a tree."""
    *way, last = key.split(".")
    for at, word in enumerate(way):
        if isinstance(tree, list):
            tree = tree[int(word)]
            continue
        following = [*way, last][at + 1]
        if not isinstance(tree.get(word), (dict, list)):
            tree[word] = [{}] if following == "0" else {}
        tree = tree[word]
    if isinstance(tree, list):
        tree[int(last)] = value
    else:
        tree[last] = value


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code that leaves a mark when it runs, as a file and as an importable module."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("evil.py", "evilmod.py"):
        (tmp_path / name).write_text(EVIL.format(marker=str(tmp_path / "ran")), encoding="utf-8")
    return tmp_path


SPLIT = SMALL.replace('cc = "*"', 'cc = "*"\nfrom = "s1"\nto = "d1"\nvia = ["r1", "r2"]')
PROBLEMS = (perigee.ScenarioError, perigee.PluginError, perigee.RunError, RecordError)


def test_no_key_runs_code_of_its_scenario(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets each key to names of code, in small and large networks.

    Each scenario is parsed and, if it is valid, loaded and planned.
    """
    monkeypatch.syspath_prepend(str(theirs))
    stopped: set[str] = set()
    bases = [tomllib.loads(t) for t in (SMALL, SKY, SPLIT)]
    values = ("evil.py:X", "evil.py:choose", "evilmod:X", ["cubic", "evil.py:X"], ["*", "evil.py:X", "cubic"])
    for key, base, value in itertools.product(sorted(KEYS), bases, values):
        if key.startswith("source.") and key.split(".")[1] not in base["source"]:
            continue
        tree = json.loads(json.dumps(base))
        try:
            put(tree, key, value)
        except (KeyError, ValueError, IndexError, TypeError):
            continue
        text = "".join(f"{quoting.toml(k)} = {_toml(v)}\n" for k, v in tree.items())
        try:
            _core.Scenario.parse(text, "t", theirs, [])
            scenario = perigee.loads(text, folder=theirs)
            Plan.of(scenario, scenario.core.schemes([]))
        except PROBLEMS as error:
            if "has not been run" in str(error):
                stopped.add(key)
        assert not (theirs / "ran").exists(), (key, value)
    by_schema = {k for k, s in KEYS.items() if admits_code(s)}
    assert by_schema <= stopped, f"these may name code, and no base here has come so far: {by_schema - stopped}"


def test_nor_do_swept_values(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perigee_lab.runs.sweep import plan_of

    monkeypatch.chdir(theirs)

    path = theirs / "s.toml"
    for base, key in (
        (SMALL, "flow.0.cc"),
        (SMALL, "run.cc"),
        (SKY, "source.constellation.attach"),
        (SKY, "flow.0.cc"),
    ):
        value = "evil.py:choose" if "attach" in key else "evil.py:X"
        text = base if key != "flow.0.cc" else base.replace('cc = ["cubic", "newreno"]\n', "")
        path.write_text(
            f'{text}\n[sweep]\n"{key}" = ["cubic", "{value}"]\n'.replace(
                '"cubic", "evil.py:choose"', '"evil.py:choose"'
            ),
            encoding="utf-8",
        )
        with pytest.raises(PROBLEMS, match="has not been run"):
            plan_of(path, [], [])
        assert not (theirs / "ran").exists(), key


def commands() -> Iterator[tuple[str, ...]]:
    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        if hasattr(command, "commands"):
            for name, inner in command.commands.items():
                yield from walk(inner, (*path, name))
        else:
            yield path, command

    for path, command in walk(typer.main.get_command(app), ()):
        takes = {p.name for p in command.params if p.param_type_name == "argument"}
        if takes & {"scenario", "scenarios", "source", "recipe"}:
            yield path


# Commands that need only the network.
NEED_NO_SCHEMES = {"paths", "timeline", "export"}
# Additional arguments of commands; the others take only a scenario.
ASKED: dict[str, list[tuple[str, ...]]] = {
    "run": [
        ("S", "--no-report"),
        ("S", "--dry"),
        ("S", "--dry", "--save-job", "j.json"),
        ("S", "--dry", "--save-job", "j.perigee"),
    ],
    "check": [("S",), ("S", "--json")],
    "sweep": [("S", "--set", "run.seed=1,2", "--out", "o"), ("S", "--set", "run.seed=1,2", "--dry", "--out", "o")],
    "export": [(what, "S", f"o-{what}") for what in ("timeline", "hypatia", "tc")],
    "weather": [("S", "--node", "london", "--out", "w.csv")],
    "validate": [("S", "--against", "linux")],
    "exec": [("S", "--at", "london", "--", "true")],
    "shell": [("S", "--at", "london")],
    "emulate": [("S", "--at", "london", "--", "true")],
    "import hypatia": [("S", "o")],
    "import leoem": [("S", "o")],
    "train": [("S",), ("R",)],
}


def test_no_command_runs_code_of_a_scenario(theirs: Path, cli: Cli) -> None:
    """Runs all commands that take a scenario, with code named in every key that permits it."""
    sky = SKY.replace(
        "preset =", 'attach = "evil.py:choose"\nroute = "evil.py:choose"\nisls = "evil.py:choose"\npreset ='
    )
    (theirs / "sky.toml").write_text(sky.replace('"cubic"', '"evil.py:X"'), encoding="utf-8")
    (theirs / "small.toml").write_text(SMALL.replace('"newreno"', '"evil.py:X", "evilmod:X"'), encoding="utf-8")
    (theirs / "recipe.toml").write_text('[[paths]]\nscenario = "sky.toml"\n', encoding="utf-8")
    found = [" ".join(c) for c in commands()]
    assert {"run", "check", "sweep", "paths", "sky", "export", "timeline", "emulate", "exec", "train"} <= set(found)
    assert set(ASKED) <= set(found), "a command that is gone"
    for command in found:
        for words, file in itertools.product(ASKED.get(command, [("S",)]), ("sky.toml", "small.toml")):
            if (command, file) == ("train", "small.toml"):
                # This command would train for the scenario, without the schemes that it names.
                continue
            given = [{"S": file, "R": "recipe.toml"}.get(w, w) for w in words]
            done = cli(*command.split(), *given, timeout=60)
            assert not (theirs / "ran").exists(), (command, given)
            assert done.returncode != 0 or (file == "small.toml" and command in NEED_NO_SCHEMES), (command, given)
            assert "Traceback" not in done.stderr, done.stderr


# ---- names ---------------------------------------------------------------------------------------

HOSTILE = (
    "$(touch ran)",
    "`touch ran`",
    "a'; touch ran; '",
    'b"; touch ran; "',
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "-2+3+cmd",
    "[red]x[/] [/]",
    r"$\frac{1$ $x$",
    r"a\nb\x1b[2J",
    "..",
    "../../up",
    ".hidden",
    "%TITLE%",
)


def test_hostile_names_stay_names_in_every_output(tmp_path: Path, cli: Cli) -> None:
    """A scenario that has only hostile names is run, compared, plotted and exported."""
    shown = [n for n in HOSTILE if "," not in n]
    flows = "".join(
        f"[[flow]]\nname = {quoting.toml(n)}\nfrom = {quoting.toml('A ' + n)}\nto = {quoting.toml('B ' + n)}\n"
        f'cc = "cubic"\n'
        for n in shown
    )
    links = "".join(
        f"[[source.network.link]]\nfrom = {quoting.toml('A ' + n)}\nto = {quoting.toml('B ' + n)}\n"
        'rate = "5 Mbit"\ndelay = "5 ms"\n'
        for n in shown
    )
    text = f'title = {quoting.toml(" ".join(HOSTILE))}\n[run]\nduration = "1 s"\n[source.network]\n{links}{flows}'
    path = tmp_path / "s.toml"
    path.write_text(text, encoding="utf-8")
    done = cli("run", path, "--out", "out")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    rows = list(csv.reader(io.StringIO((tmp_path / "out/summary.csv").read_text(encoding="utf-8"))))
    for cell in itertools.chain(*rows):
        assert not cell.startswith(("=", "@", "+")), cell
        assert not cell.startswith("-") or quoting._NUMBER.fullmatch(cell), cell
    for words in (
        ("timeline", path, "--plot", "p.png"),
        ("compare", "out", "out"),
        ("view", "out", "--html", "v.html"),
        ("pack", "out", "-o", "p.perigee", "--records"),
        ("verify", "p.perigee"),
        ("run", "p.perigee", "--out", "unpacked", "--no-report"),
    ):
        done = cli(*words)
        assert "Traceback" not in done.stderr, (words, done.stderr)
    if (tmp_path / "v.html").exists():
        assert "<script>alert" not in (tmp_path / "v.html").read_text(encoding="utf-8")
    for scripts, n in enumerate(shown):
        done = cli("export", "tc", path, f"tc-{scripts}", "--from", f"A {n}", "--to", f"B {n}")
        assert done.returncode == 0, done.stderr
        script = tmp_path / f"tc-{scripts}" / "path.sh"
        assert run_as_root(script, tmp_path) == 0, script.read_text()
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "hidden").exists()


def run_as_root(script: Path, folder: Path) -> int:
    """Runs a script for tc, with stubs for the programs."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("tc", "sleep"):
        (programs / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    path = f"{programs}:/usr/bin:/bin"
    return subprocess.run(["sh", script, "a", "b"], cwd=folder, env={"PATH": path}, check=False).returncode


def test_a_line_break_in_a_title_is_no_line_of_a_script() -> None:
    """Whatever the title contains, the comment in the script is one line."""
    import numpy as np

    from perigee_lab.sky.traces import Way, script

    way = Way(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    for bad in (*CONTROLS, "x\rtouch ran", "x\x85touch ran"):
        lines = script(way, way, 0.1, f"{bad}touch ran").splitlines()
        assert [line for line in lines if "touch ran" in line] == [lines[1]]
        assert lines[1].startswith("# ")


def test_quoting_of_each_output(tmp_path: Path) -> None:
    for text in (*HOSTILE, *CONTROLS, "plain", "-1.5", "+3e-4", "", "'quoted'", "\x7f", "😀"):
        echoed = subprocess.run(["sh", "-c", f"printf %s {quoting.shell(text)}"], capture_output=True, check=True)
        assert echoed.stdout.decode() == text
        assert tomllib.loads(f"v = {quoting.toml(text)}") == {"v": text}
        assert not {"<", ">", '"', "'"} & set(quoting.html(text)), text
        assert json.loads(quoting.script({"v": text})) == {"v": text}
        assert not set("<>&\u2028\u2029") & set(quoting.script({"v": text}))
        assert "<" not in json.loads(quoting.geojson({"v": text}))["v"]
        assert names.problem(quoting.terminal(text).replace("\n", "").replace("\t", "")) is None
        assert quoting.from_csv(quoting.csv(text)) == names.visible(text)
        from rich.text import Text

        assert Text.from_markup(quoting.cell(text)).plain == names.visible(text)
    assert quoting.csv("-1.5") == "-1.5"
    assert quoting.csv("=1") == "'=1"
    assert quoting.csv(-1.5) == -1.5
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.use("Agg")
    figure = Figure()
    figure.suptitle(quoting.plot(r"$\frac{1$ $x$"))
    figure.savefig(tmp_path / "p.png")


def test_a_fitted_scenario_has_no_lines_of_a_folders_name(tmp_path: Path) -> None:
    from perigee_lab.measure.fit import files
    from perigee_lab.measure.fit.model import Path as Fitted

    bad = 'x\n[[program]]\ncommand = "touch ran" #\x1b[2J"'
    path = Fitted(10.0, [(0.0, 20.0)], [], rates=[(0.0, 1e7)], queue_bytes=1e5, unknown=[bad])
    written = files.write_scenario(path, tmp_path / "fit", title=bad, command=f"perigee fit {bad}")
    found = tomllib.loads(written.read_text(encoding="utf-8"))
    assert "program" not in found
    assert found["title"] == names.visible(bad)
    assert perigee.load(written).title == names.visible(bad)


def test_a_table_reads_back_what_it_was_made_of(tmp_path: Path) -> None:
    text = as_csv([{"cc": n, "goodput_mbps": -1.5} for n in HOSTILE], ["cc", "goodput_mbps"])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [quoting.from_csv(r["cc"]) for r in rows] == list(HOSTILE)
    assert all(r["goodput_mbps"] == "-1.5" for r in rows)
    index = cells.Index(cells.FORMAT, "s", (cells.Axis("port.x.y", ('"=1+cmd"', '"b"')),), ())
    sweep = cells.Sweep(tmp_path, index, [{"port.x.y": "=1+cmd", "cc": "-x", "seed": 1}])
    cells.write_index(tmp_path, index)
    cells.write_table(sweep)
    assert cells.open_sweep(tmp_path).rows[0]["port.x.y"] == "=1+cmd"
    assert cells.open_sweep(tmp_path).rows[0]["cc"] == "-x"


GRAPH = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key attr.name="label" for="node" id="l"/><graph>'
    '<node id="a"><data key="l">A\u202eB</data></node><node id="b"/><edge source="a" target="b"/></graph></graphml>'
)
ELEMENTS = [
    "STARLINK-24\x1b[2J",
    "1 44238U 19029D   22257.46293981  .00053894  00000+0  35067-2 0  9991",
    "2 44238  53.0008 329.4230 0007663  40.5862 102.8500 15.07213546183158",
]
TIMELINE = (
    '{"title":"a\\u001bb","duration":1000000000,"routing":"per-path","nodes":[],"ports":[],"links":[],"pairs":[]}\n'
)
FILES = [
    ("x.csv", "from,to,delay_ms,rate_mbps\nA\x1b[2J,B,5,5\n", '[source.network]\nlinks = "x.csv"\n', "line 2"),
    ("x.graphml", GRAPH, '[source.network]\nlinks = "x.graphml"\ndelay = "5 ms"\n', "line 1"),
    ("x.tle", "\n".join(ELEMENTS) + "\n", "ELEMENTS", "line 1"),
    ("x.csv", "name,lat,lon\nA\x9bB,1,2\nB,2,3\n", "NODES", "line 2"),
    ("m.csv", "from,to,rate_mbps\nlon\u2028don,new-york,1\n", "MATRIX", "line 2"),
    ("x.jsonl", TIMELINE, '[source.timeline]\nfile = "x.jsonl"\n', "title"),
]


@pytest.mark.parametrize(("file", "content", "source", "where"), FILES, ids=lambda w: str(w)[:8])
def test_names_of_other_files_are_held_to_the_same(
    tmp_path: Path, file: str, content: str, source: str, where: str
) -> None:
    (tmp_path / file).write_text(content, encoding="utf-8")
    flow = '[[flow]]\nfrom = "A"\nto = "B"\ncc = "cubic"\n'
    text = f'[run]\nduration = "1 s"\n{source}{flow}'
    if source == "NODES":
        text = SKY.replace("[[flow]]", '[[nodes]]\nfile = "x.csv"\n[[flow]]')
    elif source == "ELEMENTS":
        text = SKY.replace('preset = "starlink-shell1"', 'tle = "x.tle"')
    elif source == "MATRIX":
        text = SKY[: SKY.index("[[flow]]")] + '[[flow]]\nmatrix = "m.csv"\n'
    with pytest.raises(perigee.ScenarioError) as refused:
        perigee.loads(text, folder=tmp_path).core.world(1)
    message = str(refused.value.args[0])
    assert "control character U+" in message, message
    assert file in message, message
    assert where in message, message
    assert names.problem(message.replace("\n", "")) is None, message


# ---- folders -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["..", ".", "", "../..", "...", "/etc", "a/../../b", ".perigee.lock", "a\nb"])
def test_no_name_chooses_its_folder(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    folder = run_folder(out, name, 0)
    assert folder.parent.parent == out
    assert not folder.parent.name.startswith(".")
    assert folder.resolve().is_relative_to(out)
    made = fresh_folder(name, out)
    assert made.parent == out
    assert made.resolve().is_relative_to(out)
    assert made.resolve() != out


def test_a_scheme_of_a_log_stays_in_its_folder(tmp_path: Path, cli: Cli) -> None:
    """Files next to the folder are not replaced, even with --force."""
    precious = tmp_path / "seed0"
    precious.mkdir()
    (precious / "kept").write_text("mine", encoding="utf-8")
    times = "".join(f"{t},{20 + t % 3},..\n" for t in range(20))
    (tmp_path / "log.csv").write_text(f"t,rtt,cc\n{times}", encoding="utf-8")
    words = ("import", "log", "log.csv", "--columns", "t=time,rtt=rtt,cc=cc", "--units", "t=s,rtt=ms")
    for more in (("--cc", ".."), ()):
        cli(*words, *more, "--out", "out", "--force")
        assert (precious / "kept").read_text(encoding="utf-8") == "mine"
        assert not (tmp_path / "seed0/manifest.json").exists()


def test_a_job_does_not_choose_its_folder(tmp_path: Path, small: Path, cli: Cli) -> None:
    assert cli("run", small, "--dry", "--save-job", "j.json").returncode == 0
    saved = json.loads((tmp_path / "j.json").read_text(encoding="utf-8"))
    for bad in ("../../up", "..", "/etc/x", "a\nb"):
        for one in saved["jobs"]:
            one["scenario"] = bad
        (tmp_path / "bad.json").write_text(json.dumps(saved), encoding="utf-8")
        with pytest.raises(job.JobError):
            job.read(tmp_path / "bad.json")


# ---- logs, servers ----------------------------------------------------------------------


def test_a_message_of_a_server_with_control_characters_is_no_message() -> None:
    import zlib

    def sent(data: Any, *, ascii_only: bool = True) -> bytes:
        return zlib.compress(json.dumps(data, ensure_ascii=ascii_only).encode())

    for bad, plain in itertools.product(CONTROLS, (True, False)):
        for data in ({"error": bad}, {bad: 1}, {"a": [{"b": [bad]}]}):
            with pytest.raises(protocol.StrangerError) as refused:
                protocol._parsed(sent(data, ascii_only=plain), protocol.REQUEST)
            assert names.problem(str(refused.value)) is None
    assert protocol._parsed(sent({"a": "São Paulo", "b": [1, "x\\n"]}), protocol.REQUEST) == {
        "a": "São Paulo",
        "b": [1, "x\\n"],
    }


def test_messages_are_lines_without_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    from perigee_lab.common.messages import complain

    complain("a\x1b[2Jb\rc\nsecond\u202e")
    assert capsys.readouterr().err == "perigee: a\\x1b[2Jb\\rc\nperigee: second\\u202e\n"


def test_a_name_of_a_scenario_file_is_one(tmp_path: Path, cli: Cli) -> None:
    for odd in ("a\nb.toml", "a\x1b[2J.toml"):
        shutil.copy(Path(__file__), tmp_path / odd)
        (tmp_path / odd).write_text(SMALL, encoding="utf-8")
        done = cli("run", odd, "--no-report")
        assert done.returncode == 2
        assert "control character" in done.stderr
        assert "\x1b" not in done.stderr
    with pytest.raises(perigee.ScenarioError, match="control character"):
        perigee.loads(SMALL, name="a\nb")


def test_a_name_of_a_log_is_one(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a\x1bb.csv").write_text("time_s,rtt_ms\n1,20\n2,20\n", encoding="utf-8")
    for kind in ("log", "capture"):
        done = cli("import", kind, "a\x1bb.csv", "--out", "in")
        assert done.returncode == 2
        assert "a\\x1bb.csv: the file's name contains the control character U+001B" in done.stderr
        assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("words", [("--out", "o\x1b[31mut"), ("--out=o\x1b[31mut",), ("-o", "o\x1b[31mut")])
def test_a_name_of_results_is_one(small: Path, cli: Cli, words: tuple[str, ...]) -> None:
    done = cli("pack" if words[0] == "-o" else "run", small, *words)
    assert done.returncode == 2
    assert "--out o\\x1b[31mut contains the control character U+001B" in done.stderr
    assert not (small.parent / "o\x1b[31mut").exists()


def test_colons_in_a_name_are_no_emoji(small: Path, cli: Cli) -> None:
    for out in (":smile:", ":cat:"):
        assert cli("run", str(small), "--out", out).returncode == 0
    assert ":smile:" in cli("results", ":smile:", ":cat:").stdout


def test_trust_is_not_given_by_texts_that_are_made() -> None:
    assert not isinstance(quoting.terminal(trust.Said("a.py:X")), trust.Said)
