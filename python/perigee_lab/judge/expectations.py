# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Expectations of a scenario, its `[[expect]]` tables."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perigee_lab.common.errors import PerigeeError
from perigee_lab.judge.states import OF_WINDOWS, VARIABLES
from perigee_lab.results.columns import BY_NAME
from perigee_lab.results.paired import WORDS
from perigee_lab.results.record import scheme_order

if TYPE_CHECKING:
    from collections.abc import Collection

    from perigee_lab import _core

BOUNDS = ("at_least", "at_most", "near")
# Factor, unit and decimals for display, by the dimension of a metric.
TIME, RATE, SHARE, NUMBER = (1e3, " ms"), (1e-6, " Mbit/s"), (100.0, " %"), (1.0, "")
DIMENSIONS = {
    "goodput": RATE,
    **dict.fromkeys(("share", "loss"), SHARE),
    **dict.fromkeys(("rtt", "queue", "completion", "convergence", "rise", "reached", "stay"), TIME),
}
WHITE_BOX = ("visits", "reached", "stay", "stay_rounds", "variable")
"""Metrics of a scheme's own states and variables, which not every scheme exposes."""


class ExpectationError(PerigeeError):
    """An expectation that cannot be evaluated; the message has its place, value and remedy."""


@dataclass(frozen=True)
class Expectation:
    """A bound on a metric. Values are in SI units: times in s, rates in bit/s."""

    metric: str
    keys: Mapping[str, Any]
    place: str
    number: int = 0
    """Position among the expectations of the scenario, from 0."""

    def wrong(self, key: str, why: str, hint: str) -> ExpectationError:
        """The error for the value of a key, in the form of other errors of scenarios."""
        return ExpectationError(f"{self.place}: expect.{self.number}.{key}: {why}; {hint}")

    @property
    def title(self) -> str:
        """One line for tables."""
        return str(self.keys.get("title") or self.described())

    @property
    def source(self) -> str:
        """Origin of the bound; empty if it is not given."""
        return str(self.keys.get("source", ""))

    @property
    def is_white_box(self) -> bool:
        """Whether it is about what only some schemes expose."""
        return self.metric in WHITE_BOX and not str(self.keys.get("variable", "")).startswith(
            ("cwnd_", "pacing_bps", "in_flight_", "delivery_", "srtt_", "rtt_", "ssthresh_")
        )

    def holds_for(self, cc: str) -> bool:
        """Whether it applies to a scheme; `python:NAME` may be written as NAME."""
        chosen = self.keys.get("cc")
        return not chosen or cc in chosen or cc.removeprefix("python:") in chosen

    @property
    def low(self) -> float:
        """Lower bound; minus infinity if there is none."""
        if "near" in self.keys:
            return float(self.keys["near"]) - self._deviation()
        return float(self.keys.get("at_least", -math.inf))

    @property
    def high(self) -> float:
        """Upper bound; infinity if there is none."""
        if "near" in self.keys:
            return float(self.keys["near"]) + self._deviation()
        return float(self.keys.get("at_most", math.inf))

    def _deviation(self) -> float:
        return abs(float(self.keys["near"])) * float(self.keys["within"])

    def described(self) -> str:
        """Metric, its keys and window."""
        k = self.keys
        words = [k.get("column") or k.get("variable") or self.metric.replace("_", " ")]
        if "quantile" in k and self.metric not in ("stay", "stay_rounds"):
            words.append({0.0: "smallest", 1.0: "largest"}.get(k["quantile"], f"{100 * k['quantile']:g} %"))
        if "state" in k:
            words.append(f"{'of' if self.metric in ('visits', 'stay', 'stay_rounds') else 'in'} {k['state']}")
        if "previous" in k:
            words.append(f"from {k['previous']}")
        for name in ("flow", "group"):
            if k.get(name):
                words.append(f"({', '.join(k[name])})")
        if "from" in k:
            words.append(f"after {k['from']:g} s")
        if "until" in k:
            words.append(f"until {k['until']:g} s")
        return " ".join(map(str, words))

    def bound(self) -> str:
        """The bounds as text."""
        k = self.keys
        parts = [" ≥ ".join(k["order"])] if k.get("order") else []
        if "near" in k:
            parts.append(f"{self.shown(k['near'])} ± {100 * k['within']:g} %")
        parts += [f"{sign} {self.shown(k[name])}" for name, sign in (("at_least", "≥"), ("at_most", "≤")) if name in k]
        return ", ".join(parts)

    def shown(self, value: float) -> str:
        """A value with its unit."""
        factor, unit = DIMENSIONS.get(self.metric, NUMBER)
        if not math.isfinite(value):
            return "never" if value > 0 else "-"
        value *= factor
        if unit == " ms" and abs(value) >= 1e3:
            value, unit = value / 1e3, " s"
        return f"{value:.4g}{unit}" if abs(value) < 1e5 else f"{value:.6g}{unit}"


def of(core: _core.Scenario) -> list[Expectation]:
    """The expectations of a scenario. Raises ExpectationError for unknown columns."""
    found = [Expectation(k["metric"], k, k["place"], i) for i, k in enumerate(json.loads(core.expectations()))]
    for e in found:
        _check_column(e)
        _check_bounds(e)
    return found


def check_all(
    expectations: Collection[Expectation], world: _core.World, compared: Collection[str], *, of_file: bool = True
) -> None:
    """Raises ExpectationError for flows, schemes, states and variables that a run with these schemes cannot have.

    `of_file`: the scenario itself names the compared schemes, so it has none to spare.
    """
    check_flows(expectations, world)
    check_schemes(expectations, compared)
    if of_file:
        _refuse_uncompared(expectations, compared)
    check_states(expectations, compared)
    check_variables(expectations, compared)


def uncompared(e: Expectation, compared: Collection[str]) -> list[str]:
    """Schemes of an expectation that are not compared."""
    names = {cc.removeprefix("python:") for cc in compared} | set(compared)
    return [cc for cc in e.keys.get("cc", ()) if cc not in names]


def _refuse_uncompared(expectations: Collection[Expectation], compared: Collection[str]) -> None:
    for e in expectations:
        if missing := uncompared(e, compared):
            hint = f"compared: {', '.join(compared)}; add it to run.cc, or correct it"
            raise e.wrong("cc", f"not compared; found {_text(missing[0])}", hint)


def check_flows(expectations: Collection[Expectation], world: _core.World) -> None:
    """Raises ExpectationError for flows that the network does not have."""
    if not any(e.keys.get("flow") for e in expectations):
        return
    names = [f["name"] for f in json.loads(world.describe())["flows"]]
    for e in expectations:
        missing = [name for name in e.keys.get("flow", ()) if name not in names]
        if missing:
            some = ", ".join(names[:10]) + (" and others" if len(names) > 10 else "")
            raise e.wrong("flow", f"no such flow; found {_text(missing[0])}", f"allowed: {some}")


def check_schemes(expectations: Collection[Expectation], compared: Collection[str]) -> None:
    """Raises ExpectationError for unknown schemes, and for an order over schemes that are not compared."""
    names = {cc.removeprefix("python:") for cc in compared} | set(compared)
    for e in expectations:
        unknown = [cc for cc in e.keys.get("cc", ()) if cc not in names and cc not in scheme_order() and ":" not in cc]
        if unknown:
            hint = "`perigee schemes` lists them"
            raise e.wrong("cc", f"no such congestion control; found {_text(unknown[0])}", hint)
        missing = [cc for cc in e.keys.get("order", ()) if cc not in names]
        if missing:
            hint = f"compared: {', '.join(compared)}; add it to run.cc or --cc, or remove it"
            raise e.wrong("order", f"not compared; found {_text(missing[0])}", hint)


def check_states(expectations: Collection[Expectation], compared: Collection[str]) -> None:
    """Raises ExpectationError for states that no built-in scheme has, where only those are compared."""
    from perigee_lab import _core

    known = {*_core.states(), *OF_WINDOWS}
    if any(cc not in scheme_order() for cc in compared):
        return
    for e in expectations:
        for key in ("state", "previous"):
            state = e.keys.get(key)
            if state is not None and state not in known:
                near = difflib.get_close_matches(state.lower(), known, 1)
                hint = f"did you mean {_text(near[0])}?" if near else f"allowed: {', '.join(sorted(known))}"
                raise e.wrong(key, f"no state of a scheme; found {_text(state)}", hint)


def check_variables(expectations: Collection[Expectation], compared: Collection[str]) -> None:
    """Raises ExpectationError for variables of no built-in scheme, where only those are compared.

    Columns of other backends have a dot in their names and are not checked.
    """
    from perigee_lab import _core

    if any(cc not in scheme_order() for cc in compared):
        return
    flows = next(t for t in json.loads(_core.record_tables()) if t["name"] == "flows")
    numbers = {c["name"] for c in flows["columns"] if c["type"][0] in "uif"} - {"t_ns", "flow"}
    known = numbers | VARIABLES
    for e in expectations:
        name = str(e.keys.get("variable", ""))
        if name and "." not in name and name.removeprefix("cc_") not in known:
            near = difflib.get_close_matches(name, sorted(known), 1)
            hint = f"did you mean {_text(near[0])}?" if near else f"allowed: {', '.join(sorted(known))}"
            raise e.wrong("variable", f"no variable of a scheme; found {_text(name)}", hint)


def _check_bounds(e: Expectation) -> None:
    idle = [name for name in ("at_least", "at_most") if name in e.keys]
    if "near" in e.keys and idle:
        raise e.wrong(idle[0], "no effect together with near", "give near and within, or bounds")


def _check_column(e: Expectation) -> None:
    name = e.keys.get("column")
    if name is None:
        return
    if name not in BY_NAME or "run" not in BY_NAME[name].rows or name in WORDS:
        near = difflib.get_close_matches(name, [n for n, c in BY_NAME.items() if "run" in c.rows and n not in WORDS], 1)
        hint = f"did you mean {_text(near[0])}?" if near else "`perigee columns` lists them"
        raise e.wrong("column", f"no column of numbers in rows of runs; found {_text(name)}", hint)


def _text(word: str) -> str:
    """A value as written in a file."""
    return json.dumps(word, ensure_ascii=False)
