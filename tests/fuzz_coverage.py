# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Coverage-guided fuzzing of the targets of perigee-fuzz, with libFuzzer (`make coverage`).

python tests/fuzz_coverage.py 120 [TARGET …]      # this many seconds of CPU time for each target

It builds crates/perigee-fuzz/coverage with the stable toolchain (and a C++ compiler). Inputs that
reach something new go into the corpus, at most 32 KiB per target, which a Rust test replays. Failing
inputs are kept in crates/perigee-fuzz/found, and the exit code is 1.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
CRATE = ROOT / "crates/perigee-fuzz"
BUILD = ROOT / "target/coverage"
FLAGS = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg fuzzing",
)
LONGEST, SLOW_S, MOST_MB = 16_384, 10, 1024
MOST_CORPUS, MOST_INPUTS = 32 << 10, 200
"""Limits of a corpus file: its bytes, and its inputs."""
MOST_FOUND = 5
"""Findings after which a target is given up."""
EDGES = re.compile(r"^#\d+\s.*cov: (\d+)", re.MULTILINE)
INPUTS = re.compile(r"^(?:#|stat::number_of_executed_units: +)(\d+)", re.MULTILINE)


@dataclass
class Tally:
    """Totals of a target over its processes."""

    inputs: int = 0
    edges: int = 0
    cpu_s: float = 0.0
    found: list[str] = field(default_factory=list)


def build() -> Path:
    """Compiles the fuzzer for this machine; returns its path."""
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    target = host.partition("host: ")[2].split()[0]
    # With --target, the flags apply neither to build scripts nor to procedural macros.
    words = ["cargo", "build", "--quiet", "--release", "--target", target, "--target-dir", str(BUILD)]
    manifest = ["--manifest-path", str(CRATE / "coverage/Cargo.toml")]
    subprocess.run([*words, *manifest], check=True, env=os.environ | {"RUSTFLAGS": " ".join(FLAGS)})
    return BUILD / target / "release/perigee-fuzz-coverage"


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far; 0 once it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def feed(program: Path, name: str, cpu_s: float, inputs: Path, seed: int) -> Tally:
    """Fuzzes a target, and continues after findings."""
    tally = Tally()
    while tally.cpu_s < cpu_s and len(tally.found) < MOST_FOUND:
        left = cpu_s - tally.cpu_s
        with tempfile.TemporaryDirectory() as place:
            words = [program, f"-seed={seed + len(tally.found)}", f"-max_len={LONGEST}", f"-timeout={SLOW_S}"]
            words += [f"-rss_limit_mb={MOST_MB}", f"-artifact_prefix={place}/", "-print_final_stats=1", inputs]
            log = Path(place) / "log"
            with log.open("w", encoding="utf-8") as out:
                process = subprocess.Popen(
                    [str(w) for w in words], stdout=out, stderr=out, cwd=place, env=_environment(name)
                )
                used = 0.0
                while process.poll() is None and used < left:
                    time.sleep(0.5)
                    used = max(used, cpu_of(process.pid))
                # It ends with its last status line.
                process.send_signal(signal.SIGUSR1)
                process.wait()
            text = log.read_text(encoding="utf-8", errors="replace")
            tally.inputs += max(map(int, INPUTS.findall(text)), default=0)
            tally.edges = max(tally.edges, *map(int, EDGES.findall(text)), 0)
            tally.cpu_s += max(used, 0.5)
            artifacts = [p for p in Path(place).iterdir() if p != log]
            for path in artifacts:
                to = CRATE / "found" / f"{name}-{path.name}"
                to.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, to)
                why = re.search(r"panicked at (.*\n.*)|SUMMARY: (.*)", text)
                tally.found.append(f"{to}: {why[0] if why else 'see the log'}")
            if process.returncode not in (0, -signal.SIGUSR1) and not artifacts:
                raise SystemExit(f"{name} ended with {process.returncode}:\n{text[-2000:]}")
    return tally


def _environment(name: str) -> dict[str, str]:
    return os.environ | {"PERIGEE_FUZZ_TARGET": name}


def keep(program: Path, name: str, inputs: Path) -> None:
    """Writes the corpus: inputs of a smallest set with the coverage of all, within its limits."""
    with tempfile.TemporaryDirectory() as place:
        words = [str(program), "-merge=1", f"-max_len={LONGEST}", place, str(inputs)]
        done = subprocess.run(words, capture_output=True, text=True, env=_environment(name), check=False, cwd=place)
        if done.returncode != 0:
            raise SystemExit(f"{name} cannot be merged:\n{done.stderr[-2000:]}")
        content = sorted((p.read_bytes() for p in Path(place).iterdir() if p.is_file()), key=lambda b: (len(b), b))
    # Short inputs and long ones, evenly, as few as fit.
    step = max(1, -(-len(content) // MOST_INPUTS))
    while sum(len(data) + 4 for data in content[::step]) > MOST_CORPUS:
        step += 1
    parts = [struct.pack("<I", len(data)) + data for data in content[::step]]
    file = CRATE / "corpus" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"".join(parts))


def main(cpu_s: float, names: list[str]) -> int:
    """Fuzzes the named targets, or all. Returns the exit code."""
    program = build()
    known = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    if wrong := sorted(set(names) - set(known)):
        raise SystemExit(f"{', '.join(wrong)}: no target; there are {', '.join(known)}")
    print(f"{'target':<12}{'inputs':>12}{'CPU min':>9}{'edges':>8}{'corpus':>8}{'found':>7}", flush=True)
    bad = 0
    for name in names or known:
        inputs = BUILD / "inputs" / name
        inputs.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "--seeds", inputs], check=True, capture_output=True, env=_environment(name))
        tally = feed(program, name, cpu_s, inputs, 1 + time.time_ns() % 1_000_000)
        keep(program, name, inputs)
        size = (CRATE / "corpus" / name).stat().st_size
        cpu = f"{tally.cpu_s / 60:.1f}"
        print(f"{name:<12}{tally.inputs:>12}{cpu:>9}{tally.edges:>8}{size:>8}{len(tally.found):>7}", flush=True)
        for line in tally.found:
            print(f"  {line}", flush=True)
        bad += len(tally.found)
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main(float((sys.argv[1:] or ["120"])[0]), sys.argv[2:]))
