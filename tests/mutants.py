# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Mutation tests of the Rust core, with a table of results: `make mutants`.

cargo-mutants lists small faults ("replace + with -", "return 0"). Nearly all of these are compiled
into one copy of the workspace, as alternative bodies of their functions that an environment
variable selects; tests then run until one fails. A mutant that no test detects is *missed*: either
a test is missing, or the change makes no difference. The reasons for missed mutants are in
mutants.toml in this folder; the table is design/mutants.md.

    python tests/mutants.py                run what is missing, then write the table
    python tests/mutants.py --again        run the missed ones once more (after tests were added)
    python tests/mutants.py --only prr     these groups, in this order; --limit N: at most N mutants
    python tests/mutants.py --table        write the table only
    python tests/mutants.py --list         list the mutants with their groups

All state is under target/mutants: a killed run resumes, and a result is valid until the function
changes (`--fresh` starts from scratch). cargo-mutants itself, in the version below, is taken from
PATH or installed in that folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tomllib

from mutants_table import HEAD, item, row

VERSION = "27.1.0"
SEED = 12
DRAWN = 300
ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / "target" / "mutants"
COPY = STATE / "copy"
RESULTS = STATE / "results.jsonl"
REASONS = ROOT / "tests" / "mutants.toml"
TABLE = ROOT / "design" / "mutants.md"
CRATES = ["perigee-sim", "perigee-tcp", "perigee-cc", "perigee-queue"]

# Group: description, files, functions (all if empty). A mutant belongs to the first group that
# fits; of the mutants in sim/net, tcp and cc that fit no group, a sample is run.
GROUPS = {
    "fast-path": ("the simulator's fast path over ports in order", r"perigee-sim/src/net/fast_path\.rs", ""),
    "aqm": ("queue disciplines", r"perigee-queue/src/", ""),
    "rtt": ("RTT and retransmission timeout", r"perigee-tcp/src/rtt\.rs", ""),
    "prr": (
        "proportional rate reduction",
        r"perigee-tcp/src/linux/",
        r"::(begin_reduction|leave_if_complete|finish_recovery|enter_recovery|is_safe_ack|delivered_like_ns3|reduce|end_reduction|in_reduction)$",
    ),
    "undo": ("undo of reductions", r"perigee-tcp/src/", r"(undo|Undo::|restore|is_before)"),
}
POOL = r"perigee-(sim/src/net|tcp/src|cc/src)/"

# Tests in the order in which they run until one fails, cheapest first: package and its test
# programs ("" = unit tests, None = all).
QUICK = ("perigee-sim", ["", "network", "options", "fingerprints", "outside", "relay", "stepping"])
LONG = ("perigee-sim", ["tcp", "l4s"])
STAGES = {
    "perigee-queue": [("perigee-queue", None), ("perigee-sim", ["l4s"])],
    "perigee-tcp": [
        ("perigee-tcp", ["", "golden"]),
        ("perigee-sim", ["fingerprints"]),
        ("perigee-tcp", ["oracles"]),
        QUICK,
        LONG,
    ],
    "perigee-cc": [
        ("perigee-cc", [""]),
        ("perigee-sim", ["fingerprints"]),
        ("perigee-cc", ["conformance"]),
        ("perigee-sim", ["tcp"]),
    ],
    "perigee-sim": [QUICK, LONG],
}
# Modules with tests of complete flows in other test programs.
FLOWS = {r"/(orbcc|hpcc|utilisation)": "orbcc", r"/prague": "l4s"}
# Unit tests of congestion controls that a change of a scheme, or of code that only these schemes
# use, can make fail; all unit tests for modules that are not named here.
OWN = {
    "bbr": ["bbr", "bbr3", "leocc"],
    "bbr3": ["bbr3", "starquic"],
    "cubic": ["cubic", "satcp", "starquic"],
    **{
        m: [m]
        for m in [
            "astraea",
            "copa",
            "hpcc",
            "hybla",
            "leocc",
            "newreno",
            "orbcc",
            "prague",
            "satcp",
            "starquic",
            "vegas",
            "vivace",
        ]
    },
}
# Settings for short builds, fast tests, and the same cases of property tests for each mutant.
ENV = {
    "CARGO_TARGET_DIR": str(STATE / "build"),
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_DEV_LTO": "off",
    "CARGO_INCREMENTAL": "1",
    "RUSTFLAGS": "--cap-lints=allow",
    "PROPTEST_RNG_SEED": str(SEED),
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "RUST_BACKTRACE": "0",
    "RUST_TEST_THREADS": "1",
}
MEMORY = 6 << 30


# The mutants --------------------------------------------------------------------------------------


class Mutant:
    """A change: `old` becomes `new` in `file`.

    `key` identifies the change while its function is unchanged.
    """

    def __init__(self, entry: dict, source: str):
        """Parses an entry of cargo-mutants' list, given the text of the file."""
        self.file: str = entry["file"]
        self.package: str = entry["package"]
        self.function: str = (entry.get("function") or {}).get("function_name", "")
        self.what: str = re.sub(r"^\S+?:\d+:\d+: ", "", entry["name"])
        span = entry["span"]
        self.line: int = span["start"]["line"]
        self.begin = _offset(source, span["start"])
        self.end = _offset(source, span["end"])
        self.new: str = entry["replacement"]
        self.text = source.splitlines()[self.line - 1].strip()
        whole = (entry.get("function") or entry)["span"]
        self.body = source[_offset(source, whole["start"]) : _offset(source, whole["end"])]
        self.opening = _opening(self.body, _offset(source, whole["start"])) if self.function else None
        self.closing = _offset(source, whole["end"])
        self.ordinal = 0

    @property
    def stable(self) -> str:
        """The name of the mutant without line numbers."""
        again = f" ({self.ordinal + 1})" if self.ordinal else ""
        return f"{self.file}: {self.what}: {self.text}{again}"

    @property
    def key(self) -> str:
        """Identifies the mutant while its function is unchanged."""
        return _hash(self.stable + self.body)

    def group(self) -> str | None:
        """The first group to which the mutant belongs, if any."""
        for name, (_, files, functions) in GROUPS.items():
            if re.search(files, self.file) and re.search(functions, self.function):
                return name
        return None

    def apply(self, source: str) -> str:
        """The entire file with the change."""
        return source[: self.begin] + self.new + " /* mutated */" + source[self.end :]

    def variant(self, source: str) -> str:
        """The body of the changed function, with braces."""
        return source[self.opening : self.begin] + self.new + " /* mutated */" + source[self.end : self.closing]


def _offset(source: str, place: dict) -> int:
    at = 0
    for _ in range(place["line"] - 1):
        at = source.index("\n", at) + 1
    return at + place["column"] - 1


def _opening(function: str, begin: int) -> int | None:
    """The start of a function's body, if the body can be selected at run time."""
    head = re.search(r"^[^/\n]*\bfn [^{]*", function, re.MULTILINE)
    if head is None or "const fn" in head[0] or re.search(r"->\s*impl\b", head[0]):
        return None
    return begin + head.end()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def mutants() -> dict[str, list[Mutant]]:
    """All mutants that are to be run, by group."""
    packages = [word for crate in CRATES for word in ("-p", crate)]
    out = subprocess.run(
        [tool(), "mutants", "--list", "--json", *packages], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    sources: dict[str, str] = {}
    found, seen = [], Counter()
    for entry in json.loads(out):
        file = entry["file"]
        sources.setdefault(file, (ROOT / file).read_text())
        mutant = Mutant(entry, sources[file])
        mutant.ordinal = seen[mutant.stable]
        seen[f"{mutant.file}: {mutant.what}: {mutant.text}"] += 1
        found.append(mutant)
    groups: dict[str, list[Mutant]] = {name: [] for name in GROUPS}
    pool = []
    for mutant in found:
        group = mutant.group()
        if group:
            groups[group].append(mutant)
        elif re.search(POOL, mutant.file):
            pool.append(mutant)
    # The sample is drawn by a hash, so that a change of one function does not affect the rest of
    # the sample.
    pool.sort(key=lambda m: _hash(f"{SEED} {m.stable}"))
    groups["drawn"] = sorted(pool[:DRAWN], key=lambda m: (m.file, m.line))
    return groups


def tool() -> str:
    """The program cargo-mutants in the required version."""
    for path in (shutil.which("cargo-mutants"), str(STATE / "tool/bin/cargo-mutants")):
        if path and Path(path).exists():
            said = subprocess.run([path, "mutants", "--version"], check=False, capture_output=True, text=True).stdout
            if said.split()[-1:] == [VERSION]:
                return path
    print(f"installing cargo-mutants {VERSION} under {STATE / 'tool'}", flush=True)
    wanted = ["cargo", "install", "--locked", "cargo-mutants", "--version", VERSION, "--root", str(STATE / "tool")]
    subprocess.run(wanted, check=True)
    return str(STATE / "tool/bin/cargo-mutants")


# Building them ------------------------------------------------------------------------------------

# Code that selects the mutant in a test program: none (0), or the number in the environment.
SWITCH = """
#[doc(hidden)]
#[inline]
pub fn mutant() -> u32 {
    static CHOSEN: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("PERIGEE_MUTANT").map_or(0, |n| n.parse().expect("a number")));
    *CHOSEN
}
"""


def sync(changed: dict[str, str]) -> None:
    """Brings the copy of the workspace up to date, with `changed` in place of some files.

    Equal files are not touched, so that builds stay incremental.
    """
    wanted = ["crates", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml"]
    args = ["git", "ls-files", "-co", "--exclude-standard", "-z", *wanted]
    listed = subprocess.run(args, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = {f for f in listed.split("\0") if f and (ROOT / f).is_file()}
    for old in COPY.rglob("*"):
        if old.is_file() and str(old.relative_to(COPY)) not in files:
            old.unlink()
    for file in files:
        there = COPY / file
        content = changed[file].encode() if file in changed else (ROOT / file).read_bytes()
        if not there.exists() or there.read_bytes() != content:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(content)


def switched(numbered: dict[int, Mutant]) -> tuple[dict[str, str], dict[str, list[tuple[int, int, int]]]]:
    """Files with all mutants as alternative bodies, and the places of the mutants.

    A place is first line, last line and number.
    """
    changed, places = {}, {}
    for file in {m.file for m in numbered.values()}:
        source = (ROOT / file).read_text()
        functions: dict[int, list[int]] = {}
        for number, mutant in numbered.items():
            if mutant.file == file:
                functions.setdefault(mutant.opening, []).append(number)
        out, at, spots = "", 0, []
        for opening, numbers in sorted(functions.items()):
            out += source[at : opening + 1] + "\nif crate::mutant() != 0 { match crate::mutant() {\n"
            for number in numbers:
                variant = f"{number} => return {numbered[number].variant(source)},\n"
                first = out.count("\n") + 1
                spots.append((first, first + variant.count("\n") - 1, number))
                out += variant
            out += "_ => {} } }\n"
            at = opening + 1
        changed[file], places[file] = out + source[at:], spots
    for crate in CRATES:
        root = f"crates/{crate}/src/lib.rs"
        changed[root] = changed.get(root, (ROOT / root).read_text()) + SWITCH
    return changed, places


# Process groups that were started.
RUNNING: set[int] = set()


def limited() -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def command(args: list[str], seconds: float, cwd: Path = COPY, mutant: int = 0) -> tuple[int | None, str]:
    """Runs a command; returns its exit code (None: it took too long) and standard output."""
    quiet, env = subprocess.DEVNULL, os.environ | ENV | {"PERIGEE_MUTANT": str(mutant)}
    process = subprocess.Popen(
        args,
        cwd=cwd,
        env=env,
        stdin=quiet,
        stdout=subprocess.PIPE,
        stderr=quiet,
        text=True,
        preexec_fn=limited,  # noqa: PLW1509
    )
    RUNNING.add(process.pid)
    try:
        out, _ = process.communicate(timeout=seconds)
        return process.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    finally:
        RUNNING.discard(process.pid)


def stop(*_: object) -> None:
    """Ends immediately, with all processes that were started; the results so far are on disk."""
    for group in list(RUNNING):
        os.killpg(group, signal.SIGKILL)
    os._exit(130)


def build(packages: list[str]) -> tuple[dict[str, dict[str, str]], list[tuple[str, int]]]:
    """Builds packages.

    Returns test programs by package and name, and the places of compiler errors.
    """
    which = [word for p in packages for word in ("-p", p)]
    args = [
        "cargo",
        "test",
        "--offline",
        "--locked",
        "--quiet",
        "--no-run",
        "--message-format=json",
        "--lib",
        "--tests",
    ]
    code, out = command([*args, *which], 3600)
    programs: dict[str, dict[str, str]] = {p: {} for p in packages}
    errors = []
    for line in out.splitlines():
        said = json.loads(line)
        if said.get("executable") and said["profile"]["test"]:
            target = said["target"]
            package = Path(said["manifest_path"]).parent.name
            programs[package]["" if "lib" in target["kind"] else target["name"]] = said["executable"]
        elif said["reason"] == "compiler-message" and said["message"]["level"] == "error":
            errors += [(s["file_name"], s["line_start"]) for s in said["message"]["spans"] if s["is_primary"]]
    if code != 0 and not errors:
        sys.exit("the copy of the workspace does not compile")
    return programs, errors


def build_together(numbered: dict[int, Mutant]) -> tuple[dict[str, dict[str, str]], set[int]]:
    """Builds all mutants at once.

    Returns the test programs, and the mutants that do not compile.
    """
    unviable: set[int] = set()
    while True:
        left = {n: m for n, m in numbered.items() if n not in unviable}
        changed, places = switched(left)
        sync(changed)
        programs, errors = build(CRATES)
        if not errors:
            return programs, unviable
        bad = {n for file, line in errors for first, last, n in places.get(file, []) if first <= line <= last}
        if not bad:
            sys.exit(f"the workspace does not compile with its mutants: {errors[:3]}")
        unviable |= bad


# Running them -------------------------------------------------------------------------------------


def calls(mutant: Mutant | None, program: str) -> list[list[str]]:
    """Arguments for calls of a test program, starting with unit tests of the mutant's module."""
    if mutant is None or program:
        return [[]]
    module = re.sub(r"(/mod)?\.rs$", "", mutant.file.split("/src/")[1]).split("/")[0]
    if mutant.package == "perigee-cc" and module in OWN:
        return [[f"{m}::" for m in OWN[module]]]
    return [[]] if module == "lib" else [[f"{module}::"], ["--skip", f"{module}::"]]


class Tests:
    """Test programs of a build, and their durations without a mutant."""

    def __init__(self, programs: dict[str, dict[str, str]]):
        """Stores these programs, by package and name."""
        self.programs = programs
        self.seconds: dict[str, float] = {}

    def stages(self, package: str, file: str = ""):
        """The test programs that a mutant of `file` runs, cheapest first."""
        flows = [("perigee-sim", [name]) for about, name in FLOWS.items() if not file or re.search(about, file)]
        for stage, wanted in STAGES[package] + (flows if package == "perigee-cc" else []):
            names = sorted(self.programs[stage]) if wanted is None else wanted
            for name in names:
                yield stage, name, f"{stage} {name or 'units'}"

    def measure(self, packages: set[str]) -> None:
        """Measures the durations of the programs without a mutant; they must pass."""
        for package in sorted(packages):
            for stage, name, label in self.stages(package):
                if label in self.seconds:
                    continue
                begin = time.monotonic()
                code, _ = command([self.programs[stage][name], "--quiet"], 900, COPY / "crates" / stage)
                if code != 0:
                    sys.exit(f"{label} fails without a mutant: its tests must pass before mutants mean anything")
                self.seconds[label] = time.monotonic() - begin

    def judge(self, mutant: Mutant, number: int) -> tuple[str, str]:
        """Runs the tests of a mutant; returns the outcome and the test program that decided it."""
        for stage, name, label in self.stages(mutant.package, mutant.file):
            limit = 10 + 3 * self.seconds[label]
            for more in calls(mutant, name):
                program = self.programs[stage][name]
                code, _ = command([program, "--quiet", *more], limit, COPY / "crates" / stage, number)
                if code is None:
                    return "timeout", label
                if code != 0:
                    return "caught", label
        return "missed", ""


def results() -> dict[str, dict]:
    known = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was killed
            known[entry["key"]] = entry
    return known


class Log:
    """Log that stores each result immediately."""

    def __init__(self, count: int):
        """Starts a log of `count` mutants."""
        self.count, self.number = count, 0
        self.lock = threading.Lock()

    def add(self, mutant: Mutant, outcome: str, where: str, begin: float) -> None:
        """Stores the outcome of a mutant, and the test program that decided it."""
        took = round(time.monotonic() - begin, 1)
        entry = {"key": mutant.key, "name": mutant.stable, "outcome": outcome, "by": where, "seconds": took}
        with self.lock:
            self.number += 1
            with RESULTS.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            place = f"{mutant.file}:{mutant.line}"
            print(f"{self.number}/{self.count} {outcome} ({took:.0f} s) {place}: {mutant.what}", flush=True)


def run(groups: dict[str, list[Mutant]], args: argparse.Namespace) -> None:
    known = results()
    wanted = [m for g in args.only or groups for m in groups[g]]
    todo = [m for m in wanted if m.key not in known or (args.again and known[m.key]["outcome"] == "missed")]
    print(f"{len(wanted)} mutants, {len(wanted) - len(todo)} known, {len(todo[: args.limit])} to run", flush=True)
    todo = todo[: args.limit]
    log = Log(len(todo))
    together = {n: m for n, m in enumerate(todo, 1) if m.opening is not None}
    if together:
        programs, unviable = build_together(together)
        tests = Tests(programs)
        tests.measure({m.package for m in together.values()})
        print("unchanged:", ", ".join(f"{k} {v:.1f} s" for k, v in tests.seconds.items()), flush=True)

        def one(number: int) -> None:
            begin = time.monotonic()
            mutant = together[number]
            outcome, where = ("unviable", "") if number in unviable else tests.judge(mutant, number)
            log.add(mutant, outcome, where, begin)

        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(one, together))
    run_alone([m for m in todo if m.opening is None], log)


def run_alone(todo: list[Mutant], log: Log) -> None:
    """Runs mutants outside functions, or in compile-time functions, in separate builds."""
    if not todo:
        return
    sync({})
    tests = Tests(build(CRATES)[0])
    tests.measure({m.package for m in todo})
    for mutant in todo:
        begin = time.monotonic()
        sync({mutant.file: mutant.apply((ROOT / mutant.file).read_text())})
        tests.programs, errors = build(CRATES)
        outcome, where = ("unviable", "") if errors else tests.judge(mutant, 0)
        log.add(mutant, outcome, where, begin)


# The table ----------------------------------------------------------------------------------------


def reason(mutant: Mutant, rules: list[dict]) -> str | None:
    for rule in rules:
        if rule["file"] in mutant.file and rule["line"] in mutant.text and re.search(rule["what"], mutant.what):
            return rule["why"]
    return None


def write_table(groups: dict[str, list[Mutant]]) -> int:
    """Writes the page.

    Returns the number of mutants without a result, or missed without a reason.
    """
    known, open_ends = results(), 0
    rules = tomllib.loads(REASONS.read_text())["missed"] if REASONS.exists() else []
    rows, lists, total = [], [], Counter()
    for group, members in groups.items():
        count = Counter(known[m.key]["outcome"] if m.key in known else "not run" for m in members)
        rows.append(row(GROUPS[group][0] if group in GROUPS else "drawn from the rest", count))
        total += count
        open_ends += count["not run"]
        missed = [m for m in members if m.key in known and known[m.key]["outcome"] == "missed"]
        if missed:
            lists.append(f"\n## Missed: {GROUPS[group][0] if group in GROUPS else 'drawn'}\n")
        for mutant in missed:
            why = reason(mutant, rules)
            open_ends += why is None
            what = re.sub(r" in .*$", "", mutant.what) if mutant.function else mutant.what
            place = f"{mutant.file.removeprefix('crates/')}, `{mutant.function}`"
            lists.append(
                item(f"- {place}: {what.replace('|', chr(92) + '|')} in `{mutant.text}`: {why or '(no reason yet)'}")
            )
    rows.append(row("all", total))
    head = HEAD.format(version=VERSION, pool="some 5,000", drawn=DRAWN)
    TABLE.write_text(head + "\n".join(rows) + "\n" + "\n".join(lists) + "\n")
    print("\n".join(rows))
    return open_ends


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true", help="run the missed ones once more")
    parser.add_argument("--only", choices=[*GROUPS, "drawn"], nargs="+", help="these groups, in this order")
    parser.add_argument("--jobs", type=int, default=2, help="test programs at a time (2)")
    parser.add_argument("--limit", type=int, help="so many mutants at most")
    parser.add_argument("--table", action="store_true", help="write the table from what is known")
    parser.add_argument("--list", action="store_true", help="list the mutants")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    args = parser.parse_args()
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, stop)
    STATE.mkdir(parents=True, exist_ok=True)
    if args.fresh:
        RESULTS.unlink(missing_ok=True)
    groups = mutants()
    if args.list:
        known = results()
        for group, members in groups.items():
            for m in members:
                print(f"{group:<9}{known.get(m.key, {}).get('outcome', '-'):<9}{m.file}:{m.line}: {m.what}: {m.text}")
        return
    if not args.table:
        run(groups, args)
    if write_table(groups):
        sys.exit("some mutants were not run, or are missed without a reason in tests/mutants.toml")


if __name__ == "__main__":
    main()
