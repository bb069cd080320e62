# SPDX-License-Identifier: Apache-2.0 OR MIT
"""House rules: allowed dependencies, a licence line in each file, limits on file length."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LOW = {"units"}
TRANSPORT = LOW | {"cc"}
MAY_KNOW = {
    "units": set(),
    "cc": LOW,
    "queue": LOW,
    "capi": TRANSPORT,
    "timeline": LOW,
    "sources": LOW | {"timeline"},
    "record": LOW,
    "capture": LOW | {"record"},
    "telemetry": TRANSPORT,
    "tcp": TRANSPORT,
    "orbit": LOW | {"timeline", "sources"},
    "fluid": LOW,
    "sim": TRANSPORT | {"queue", "tcp", "telemetry", "timeline", "record"},
    "backend": TRANSPORT | {"tcp", "timeline", "sim", "record"},
    "scenario": TRANSPORT | {"queue", "tcp", "timeline", "sources", "orbit", "fluid"},
    "guest": LOW,
    # A program of its own, with tokio: no other crate depends on it.
    "gateway": set(),
    "linux": TRANSPORT | {"tcp", "telemetry", "timeline", "sim", "record", "backend", "scenario", "guest", "capture"},
    "run": TRANSPORT | {"telemetry", "timeline", "orbit", "sim", "record", "backend", "scenario", "linux", "capture"},
    "learn": TRANSPORT | {"timeline", "sim", "scenario", "run"},
    "py": {"units", "scenario", "run", "record", "guest", "linux", "learn", "capture"},
    "orbcc": TRANSPORT | {"telemetry"},
    "fuzz": TRANSPORT
    | {"telemetry", "timeline", "sources", "orbit", "scenario", "guest", "linux", "learn", "capture", "record"},
}
SOURCE = {".rs", ".py", ".pyi", ".toml", ".js", ".css", ".html"}
MAX_LINES = 600


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).exists()]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo on this machine")
def test_no_crate_knows_one_that_it_should_not() -> None:
    words = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline", "--locked"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    for package in json.loads(done.stdout)["packages"]:
        name = package["name"].removeprefix("perigee-")
        assert name in MAY_KNOW, f"add {name!r} to MAY_KNOW with the crates it may depend on"
        deps = [d for d in package["dependencies"] if d["name"].startswith("perigee-") and d["kind"] is None]
        known = {d["name"].removeprefix("perigee-") for d in deps}
        assert known <= MAY_KNOW[name], f"{name} depends on {known - MAY_KNOW[name]}"


# Crates with modules in folders, lower ones first: a folder uses itself and those before it.
ROOMS = {
    "scenario": ["file", "world"],
    "orbit": ["time", "frames", "motion", "links", "paths", "sky", "stream", "interop"],
}


def uses(source: str, rooms: list[str]) -> set[str]:
    """The modules, as ROOM/MODULE, that a Rust file names outside of its tests."""
    source = re.split(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod tests", source)[0]
    some = "|".join(rooms)
    found = {f"{room}/{module}" for room, module in re.findall(rf"crate::({some})::(\w+)", source)}
    for room, group in re.findall(rf"crate::({some})::\{{([^}}]*)\}}", source):
        found |= {f"{room}/{module}" for module in re.findall(r"[a-z_]\w*", group)}
    return found


def circle(graph: dict[str, set[str]]) -> tuple[str, ...]:
    """Modules that depend on each other in a circle, if there are any."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return tuple(error.args[1])
    return ()


@pytest.mark.parametrize("crate", ROOMS)
def test_rooms_import_one_way_and_no_modules_in_a_circle(crate: str) -> None:
    rooms, root = ROOMS[crate], ROOT / f"crates/perigee-{crate}/src"
    files = [f for room in rooms for f in [root / f"{room}.rs", *(root / room).rglob("*.rs")] if f.exists()]
    graph: dict[str, set[str]] = {}
    for f in files:
        # A folder within a room is one module.
        module = "/".join(f.relative_to(root).with_suffix("").parts[:2])
        graph.setdefault(module, set()).update(uses(f.read_text(encoding="utf-8"), rooms) - {module})
    assert sum(len(used) for used in graph.values()) > len(graph), "imports are recognised"
    for module, used in graph.items():
        above = rooms[rooms.index(module.split("/")[0]) + 1 :]
        assert not [u for u in used if u.split("/")[0] in above], module
    assert circle(graph) == ()
    outside = {f.stem for f in root.glob("*.rs")} - {"lib", "testdata", *rooms}
    assert outside == set(), "every module has a room"


def test_every_source_file_names_its_licence_at_the_top() -> None:
    def top(path: Path) -> str:
        return "\n".join(path.read_text(encoding="utf-8").splitlines()[:3])

    sources = [p for p in tracked() if p.suffix in SOURCE]
    missing = [str(p.relative_to(ROOT)) for p in sources if "SPDX-License-Identifier" not in top(p)]
    assert missing == []


def test_only_tests_import_all_that_is_above_them() -> None:
    """Elsewhere a reader has to see where a name comes from."""
    rust = [p for p in tracked() if p.suffix == ".rs" and "tests" not in p.stem and "tests" not in p.parts]
    hidden = [str(p.relative_to(ROOT)) for p in rust if re.search(r"^use super::\*;", p.read_text(), re.MULTILINE)]
    assert not hidden


def test_files_fit_in_a_head() -> None:
    long = [
        f"{p.relative_to(ROOT)}: {n}"
        for p in tracked()
        # Bundled libraries are not for reading.
        if p.suffix in {".rs", ".py", ".js"}
        and p.name != "vendor.js"
        and (n := len(p.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    ]
    assert long == []


# Crates with results that must not depend on the order of a hash map. clippy.toml bans its
# iteration everywhere, but `into_iter` by value is a method of a trait, which clippy cannot ban for
# one type.
DETERMINISTIC = ("units", "cc", "queue", "tcp", "telemetry", "timeline", "sources", "orbit", "fluid", "sim")


@pytest.mark.parametrize("crate", DETERMINISTIC)
def test_deterministic_crates_have_no_hash_maps(crate: str) -> None:
    sources = sorted((ROOT / f"crates/perigee-{crate}/src").rglob("*.rs"))
    assert sources
    assert [str(p.relative_to(ROOT)) for p in sources if re.search(r"\bHash(Map|Set)\b", p.read_text("utf-8"))] == []


# Packages of the Python front, from the bottom up: each may import earlier ones, and itself.
LEVELS = [
    {"common"},
    {"extensions", "orbcc"},
    {"results"},
    {"sky"},
    {"hosts"},
    {"runs"},
    {"learn", "view", "demand"},
    {"validation", "benchmarks"},
    {"measure"},
    {"judge"},
    {"cli"},
]
# Entry points: modules imported first, names offered by the package, and those requested by the
# core.
DOOR = {"__init__", "__main__", "entry"}


def imported(tree: ast.AST) -> set[str]:
    """Packages that a module imports, at its top or in functions, except for types only."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("perigee_lab."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "perigee_lab":
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("perigee_lab.")}
        found |= imported(node)
    return found


def test_rooms_of_python_know_only_those_below() -> None:
    height = {room: i for i, level in enumerate(LEVELS) for room in level}
    package = ROOT / "python/perigee_lab"
    wrong = []
    for path in sorted(package.rglob("*.py")):
        room, *inner = path.relative_to(package).parts
        if not inner:
            assert path.stem in DOOR, f"{path.name} stands in no room"
            continue
        for other in imported(ast.parse(path.read_text(encoding="utf-8"))) - {"_core"}:
            if other not in height or height[other] > height[room]:
                wrong.append(f"{path.relative_to(package)} imports {other}")
    assert wrong == []


def modules_imported(tree: ast.AST, known: set[str]) -> set[str]:
    """Modules of `known` that a module imports anywhere, except for types only."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{a.name}" for a in node.names} & known
            found |= inner or {str(node.module)} & known
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names} & known
        found |= modules_imported(node, known)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "package", "at_least"), [("python", "perigee_lab", 200), ("studies", "perigee_studies", 60)]
)
def test_no_module_of_python_imports_itself_through_others(folder: str, package: str, at_least: int) -> None:
    files = {
        ".".join(p.with_suffix("").relative_to(ROOT / folder).parts).removesuffix(".__init__"): p
        for p in (ROOT / folder).glob(f"{package}/**/*.py")
    }
    # A package's front offers names of its modules, which may import each other.
    imports = {
        name: modules_imported(ast.parse(path.read_text(encoding="utf-8")), set(files)) - {name, package}
        for name, path in files.items()
    }
    assert len(imports) > at_least
    graphlib.TopologicalSorter(imports).prepare()


def test_the_library_does_not_import_the_studies() -> None:
    """They are a user of the library, in a distribution of its own."""
    users = [p for p in (ROOT / "python").rglob("*.py") if "perigee_studies" in p.read_text(encoding="utf-8")]
    assert users == []
    assert any("perigee_lab" in p.read_text("utf-8") for p in (ROOT / "studies/perigee_studies").rglob("*.py"))


def test_every_room_of_python_says_what_it_is() -> None:
    for room in {r for level in LEVELS for r in level}:
        text = (ROOT / "python/perigee_lab" / room / "__init__.py").read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), room


def test_all_versions_agree() -> None:
    """Each place with a version, as listed in CONTRIBUTING."""

    def text(name: str) -> str:
        return (ROOT / name).read_text(encoding="utf-8")

    workspace = tomllib.loads(text("Cargo.toml"))["workspace"]
    crates = {name: c for name, c in workspace["dependencies"].items() if name.startswith("perigee-")}
    published = {p.parent.name for p in ROOT.glob("crates/*/Cargo.toml") if "\npublish = true\n" in text(str(p))}
    assert {name for name, c in crates.items() if "version" in c} == published
    studies = tomllib.loads(text("studies/pyproject.toml"))["project"]
    wheels = re.findall(r"(perigee_lab\w*)-(\d[\d.]*\d)-\*\.whl", text("README.md"))
    found = {
        **{name: c["version"] for name, c in crates.items() if "version" in c},
        **dict(re.findall(r"^(version): (\S+)$", text("CITATION.cff"), re.MULTILINE)),
        "studies": studies["version"],
        **dict(d.split("==") for d in studies["dependencies"]),
        **dict(wheels),
    }
    assert len(found) == len(published) + 5
    assert {name: v for name, v in found.items() if v != workspace["package"]["version"]} == {}
