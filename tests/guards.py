# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Comparison of table hashes with `tests/guards.json`: shipped scenarios, three schemes, two seeds.

    python tests/guards.py            # compare; exit code 1 and a line per difference
    python tests/guards.py --threads 2  # the same, each run on two threads
    python tests/guards.py --bless    # write the file, in the commit that states why results move

A refactoring keeps all hashes. `tests/guards.txt` has totals of the same runs (goodput, RTT,
retransmissions, losses); a hash that differs is printed with the totals before and after. Scenarios
whose cost exceeds the limit are shortened, so that all take a few minutes on two cores; scenarios
that need recorded paths or real hosts are listed as skipped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import perigee_lab as perigee
from perigee_lab.common.files import RecordError

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_suffix(".json")
TOTALS = FILE.with_suffix(".txt")
TOTALS_HEAD = "# scenario | scheme and seed | flows | Mbit/s | mean RTT, ms | retransmissions | packets lost"
SCHEMES = ("cubic", "bbr", "orbcc")
SEEDS = (1, 2)
# Tables that are younger than the hashes; tests/results/test_why.py, tests/runs/test_port_laws.py, tests/hosts and
# tests/runs/test_beam.py test them.
LATER = ("limits", "meters", "delays", "carriers")
# CPU seconds of a run beyond which its duration is shortened in proportion.
LIMIT_S = 4.0


def scenarios() -> list[Path]:
    """All shipped scenarios, in a stable order."""
    found = [*(ROOT / "scenarios").glob("*/*.toml"), *(ROOT / "studies/perigee_studies/scenarios").rglob("*.toml")]
    return sorted({p.resolve() for p in found if not _has_demand_only(p)})


def _has_demand_only(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return "\n[demand]" in text and "[[flow]]" not in text


def duration_of(path: Path) -> str | None:
    """The duration to which a scenario is shortened; `None` = its own."""
    core = perigee.load(path).core
    _, cpu_s = core.world(core.seed).estimate(None)
    seconds = core.duration_ns / 1e9
    return None if cpu_s <= LIMIT_S else f"{max(2.0, round(seconds * LIMIT_S / cpu_s, 1))} s"


def has_transport(loaded: perigee.Scenario) -> bool:
    """Whether a flow of the scenario has a congestion control."""
    try:
        return bool(loaded.core.schemes([SCHEMES[0]], None))
    except perigee.ScenarioError as error:
        if "no flow of this scenario uses TCP" in str(error):
            return False
        raise


def totals_of(run: perigee.Run) -> str:
    """Totals over the flows of a run."""
    rows = run.table("flow_totals").to_pylist()
    samples = sum(row["rtt_samples"] or 0 for row in rows)
    mbit = sum(8e-6 * row["goodput_bytes"] / (run.manifest.duration_ns * 1e-9) for row in rows)
    rtt = f"{sum(row['rtt_sum_ns'] or 0 for row in rows) / samples * 1e-6:.2f}" if samples else "none"
    lost = sum(value or 0 for row in rows for name, value in row.items() if name.startswith("drops_"))
    return f"{len(rows)} | {mbit:.3f} | {rtt} | {sum(row['retransmits'] or 0 for row in rows)} | {lost}"


def hashes_of(path: Path, threads: int) -> tuple[str, dict[str, str] | str, dict[str, str]]:
    """Hash of all tables of each run of a scenario, or the reason why there is none; and totals."""
    name = str(path.relative_to(ROOT))
    try:
        cut = duration_of(path)
        loaded = perigee.load(path, sets={} if cut is None else {"run.duration": cut})
        found, totals = {}, {}
        for cc in SCHEMES if has_transport(loaded) else ("ping",):
            for seed in SEEDS:
                run = loaded.run(None if cc == "ping" else cc, seed, threads=threads)
                hashes = {table: value for table, value in run.hashes().items() if table not in LATER}
                text = json.dumps(hashes, sort_keys=True)
                found[f"{cc} {seed}"] = hashlib.sha256(text.encode()).hexdigest()[:16]
                totals[f"{name} | {cc} {seed}"] = totals_of(run)
        return name, {"duration": cut or "own", **found}, totals
    except (perigee.ScenarioError, perigee.RunError, RecordError) as error:
        return name, f"skipped: {str(error).splitlines()[0].replace(str(ROOT), '.')}", {}


def read_totals() -> dict[str, str]:
    """Totals by scenario, scheme and seed."""
    lines = TOTALS.read_text(encoding="utf-8").splitlines()[1:] if TOTALS.exists() else []
    cells = [line.split(" | ") for line in lines]
    return {" | ".join(c[:2]): " | ".join(c[2:]) for c in cells}


def main() -> int:
    """Compares the hashes, or writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bless", action="store_true", help="write the file")
    parser.add_argument("--only", default="", help="scenarios whose path contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--threads", type=int, default=1, help="threads of one run")
    options = parser.parse_args()
    found: dict[str, dict[str, str] | str] = {}
    totals: dict[str, str] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        paths = [p for p in scenarios() if options.only in str(p)]
        for at, (name, hashes, rows) in enumerate(pool.map(hashes_of, paths, [options.threads] * len(paths)), 1):
            found[name] = hashes
            totals |= rows
            print(f"\r{at} of {len(paths)} scenarios", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    expected = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if options.bless:
        found = dict(sorted({**(expected if options.only else {}), **found}.items()))
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        totals = {**(read_totals() if options.only else {}), **totals}
        lines = [f"{name} | {row}" for name, row in sorted(totals.items()) if name.split(" | ")[0] in found]
        TOTALS.write_text("\n".join([TOTALS_HEAD, *lines]) + "\n", encoding="utf-8")
        return 0
    asked = {name for name in expected if options.only in name}
    differences = [name for name in sorted({*asked, *found}) if expected.get(name) != found.get(name)]
    known = read_totals()
    for name in differences:
        print(f"{name}: {expected.get(name)} is now {found.get(name)}")
        for run, row in totals.items():
            if run.startswith(f"{name} | ") and known.get(run) != row:
                print(f"  {run}: {known.get(run)} is now {row}")
    print(f"{len(found)} scenarios, {len(differences)} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
