# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Speed of one run by its number of threads (`perigee bench --threads 1,2,4`)."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from perigee_lab import _core
from perigee_lab.common import interpreter
from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import FAILED
from perigee_lab.common.messages import say

MOST = 1024
"""Most threads of a run."""

_CASE = "perigee_lab.benchmarks.case"


def numbers(text: str) -> list[int]:
    """Numbers of threads, one thread first: the speed-ups are over it."""
    try:
        found = {int(part) for part in text.split(",")}
    except ValueError:
        stop(f"--threads {text}: needs numbers of threads, e.g. 1,2,4")
    if not all(1 <= n <= MOST for n in found):
        stop(f"--threads {text}: a number of threads is from 1 to {MOST}")
    return sorted({1, *found})


def threads_command(cases: list[str], threads: list[int], *, repeat: int, as_json: bool) -> None:
    """Measures the cases, each in its own process, and prints the curves."""
    known: list[str] = json.loads(_core.bench_threads("", [], 0))
    found = []
    for i, name in enumerate(cases or known):
        words = interpreter.command(_CASE, name, ",".join(map(str, threads)), str(repeat))
        child = subprocess.run(words, capture_output=True, text=True, check=False)
        if child.returncode != 0:
            reason = child.stderr.strip().rpartition("\n")[2].removeprefix("perigee_lab.RunError: ")
            stop(f"{name}: {reason}; --threads measures {', '.join(known)}", FAILED)
        found.append(json.loads(child.stdout))
        if not as_json:
            _print(found[-1], first=i == 0)
    if as_json:
        print(json.dumps({"cores": os.cpu_count(), "cases": found}, indent=1))


def _print(case: dict[str, Any], *, first: bool) -> None:
    if first:
        say(f"{os.cpu_count()} cores; speed-up over one thread, and what the division of events allows\n")
        say(f"{'case':<20}{'threads':>8}{'wall s':>9}{'speed-up':>10}{'bound':>7}{'windows':>9}{'exchanged':>11}")
    for row in case["threads"]:
        bound = "-" if row["bound"] is None else f"{row['bound']:.2f}"
        say(
            f"{case['name']:<20}{row['threads']:>8}{row['wall_s']:>9.2f}{row['speed_up']:>10.2f}{bound:>7}"
            f"{row['windows']:>9}{row['exchanged']:>11}" + (f"  {row['limit']}" if row["limit"] else "")
        )
