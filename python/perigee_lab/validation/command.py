# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee validate`: the simulator against measured curves of real Linux, of ns-3 and of INET.

A *cell* is a path and its schemes; a reference cell may have been measured with several seeds.
Cells with random draws (random loss, or randomised schemes) also run with several seeds here, and
the means are compared.

Tolerances, Linux: goodput 2 % on static paths and 4 % elsewhere, mean queueing delay 10 % or 1.5
ms, whichever is larger; retransmissions of single flows during and after start-up, and loss events
after start-up, 10 % or 5; the order of schemes on a path must not change if the gap in the
reference exceeds 2 %. ns-3: goodput after 10 s 4 %, queue 15 % or 2 ms, retransmissions 10 % or 5.
INET: goodput and RTT of each flow 5 %. If the means vary by chance by more than a tolerance, their
joint 95 % interval is used instead and the comparison is marked ("chance"), but only after up to
four times as many seeds have been run.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perigee_lab.common.errors import stop
from perigee_lab.common.exit_codes import OUTSIDE_TOLERANCE
from perigee_lab.common.files import make_ready, writing
from perigee_lab.common.messages import say
from perigee_lab.runs.backends import SIMULATOR, schemes_of_modules
from perigee_lab.runs.scenario import schemes
from perigee_lab.validation import goals, inet, kernel, ns3, verdicts

if TYPE_CHECKING:
    from perigee_lab.hosts.kernels import Kernel
    from perigee_lab.runs.backends import Linux
    from perigee_lab.validation.curves import Curves, Pair
    from perigee_lab.validation.verdicts import Explained, Verdict

Cell = kernel.Cell | ns3.Cell | inet.Cell
SIMULATORS = {ns3.Cell: "ns-3 ", inet.Cell: "INET "}
"""References other than Linux, by their names in the output."""
MORE_SEEDS = 4
"""Maximum multiple of the number of seeds, used while an interval exceeds its tolerance."""


@dataclass(frozen=True)
class Asked:
    """Options of the command line."""

    groups: list[str]
    schemes: list[str]
    cells: list[str]
    jobs: int = 2
    seeds: int = 5
    out: Path | None = None
    data: Path | None = None
    plots: Path | None = None
    as_json: bool = False
    linux: Linux | None = None
    """Real hosts, instead of the simulator's hosts."""


def validate_command(asked: Asked) -> int:
    """Runs the cells and prints one line per quantity.

    Returns 0 if all quantities are good or explained, 3 if any is outside its tolerance.
    """
    unknown = _unknown_schemes(asked.schemes)
    if unknown:
        stop(unknown)
    everything = _everything(asked)
    chosen = _select(everything, asked)
    if not chosen:
        known = sorted({c.group for c in everything})
        stop(f"no such cell; groups: {', '.join(known)}")
    if asked.out is not None and not asked.out.exists():
        # Created before hours are spent on runs; their results are written there.
        make_ready(asked.out.parent)
    curves = _curves(asked)
    found, pairs = _run_all(chosen, asked, curves)
    if asked.plots is not None and pairs:
        _draw(pairs, asked.plots)
    known_outside = _explained(asked)
    by_path = verdicts.order(found)
    if not asked.as_json:
        for v in by_path:
            say(verdicts.line(v, known_outside, "reference"))
    found += by_path
    summary, unexplained = verdicts.summary(found, known_outside, len(chosen))
    if asked.as_json:
        rows = [asdict(v) | {"good": v.good, "explained": verdicts.heading_of(v, known_outside)} for v in found]
        aims = [asdict(g) | {"reached": g.reached} for g in goals.goals(found)]
        print(json.dumps({"summary": summary, "goals": aims, "verdicts": rows}, indent=1, allow_nan=False))
    else:
        if pairs:
            _print_distances(pairs)
        say("\n".join(goals.lines(found)))
        say(summary)
    if asked.out is not None:
        with writing(asked.out):
            verdicts.write(asked.out, found, known_outside)
    return OUTSIDE_TOLERANCE if unexplained else 0


def _unknown_schemes(wanted: list[str]) -> str:
    """The error message about unknown names of schemes; empty if all are known."""
    names = [s["id"] for s in schemes()]
    for name in wanted:
        if name not in names:
            close = get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
            return f"no congestion control is called {name!r}; {hint}"
    return ""


def _select(found: list[Cell], asked: Asked) -> list[Cell]:
    def wanted(c: Cell) -> bool:
        return (
            (not asked.groups or c.group in asked.groups)
            and (not asked.schemes or c.schemes <= set(asked.schemes))
            and (not asked.cells or c.name in asked.cells)
        )

    return [c for c in found if wanted(c)]


def _curves(asked: Asked) -> Curves | None:
    if asked.data is None:
        return None
    from perigee_lab.validation.curves import Curves

    return Curves(asked.data)


def _run_all(chosen: list[Cell], asked: Asked, curves: Curves | None) -> tuple[list[Verdict], list[Pair]]:
    known_outside = _explained(asked)
    found: list[Verdict] = []
    pairs: list[Pair] = []
    pool = ThreadPoolExecutor(asked.jobs)
    try:
        futures = [pool.submit(_judged, c, asked, curves) for c in chosen]
        for n, (cell, future) in enumerate(zip(chosen, futures, strict=True), start=1):
            new, pair = future.result()
            found += new
            pairs += [pair] if pair is not None else []
            if not asked.as_json:
                against = SIMULATORS.get(type(cell), "Linux")
                for v in new:
                    say(verdicts.line(v, known_outside, against), flush=True)
            if sys.stderr.isatty():
                say(f"{n} of {len(chosen)} cells", end="\r", file=sys.stderr, flush=True)
    finally:
        # Running cells cannot be stopped, so they are not awaited after Ctrl-C.
        pool.shutdown(wait=False, cancel_futures=True)
    return found, pairs


def _everything(asked: Asked) -> list[Cell]:
    """All cells that can be run.

    With real hosts, those of Linux's curves that their kernel can run.
    """
    if asked.linux is None:
        return [*kernel.read(), *ns3.read(), *inet.read()]
    return list(kernel.on_hosts(kernel.read(), _names(asked.linux.kernel), schemes_of_modules(asked.linux.kernel)))


def _names(on: Kernel) -> dict[str, str]:
    """Other names of schemes in a kernel.

    In a kernel with the patch of BBRv3, `bbr` is version 3 (docs/how-to/hosts-kernel.md).
    """
    patched = any("bbr3" in p.name for p in on.manifest.extra_patches)
    return {"bbr3": "bbr", "bbr": "(version 1)"} if patched else {}


def _explained(asked: Asked) -> list[Explained]:
    """Known deviations of the simulator do not apply to a kernel."""
    return verdicts.explained() if asked.linux is None else []


def _judged(cell: Cell, asked: Asked, curves: Curves | None) -> tuple[list[Verdict], Pair | None]:
    pair = None
    ours: list[Any] = []
    judged: list[Verdict] = []
    for seed in range(1, MORE_SEEDS * asked.seeds + 1 if cell.is_random else 2):
        if seed > asked.seeds and not verdicts.needs_more(judged, seed - 1, MORE_SEEDS * asked.seeds):
            break
        if isinstance(cell, ns3.Cell):
            found = kernel.tables(ns3.scenario(cell), cell.name, cell.cc, seed)
            ours.append(ns3.measured(found))
        elif isinstance(cell, inet.Cell):
            ours.append(inet.run(cell, seed))
            judged = inet.judge(cell, ours)
            continue
        else:
            names = None if asked.linux is None else _names(asked.linux.kernel)
            cc = cell.flows[0].cc
            text, cc = kernel.scenario(cell, names), cc if names is None else names.get(cc, cc)
            found = kernel.tables(text, cell.name, cc, seed, asked.linux or SIMULATOR)
            ours.append(kernel.measured(cell, found))
        if curves is not None and seed == 1:
            pair = curves.pair(cell, found)
        judged = ns3.judge(cell, ours) if isinstance(cell, ns3.Cell) else kernel.judge(cell, ours)
    return judged, pair


def _print_distances(pairs: list[Pair]) -> None:
    print("full curves, means of a second: mean distance of goodput in % of the rate, of the queue in ms")
    for pair in pairs:
        goodput, queue = pair.distance()
        say(f"{pair.cell:40s} {goodput:6.2f} % {queue:8.2f} ms")


def _draw(pairs: list[Pair], folder: Path) -> None:
    from perigee_lab.validation.curves import draw

    n = sum(1 for _ in draw(pairs, folder))
    say(f"{n} pictures of both curves are in {folder}", file=sys.stderr)
