# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reference pages of scenario files: complete, current, and with examples that load."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import perigee_lab as perigee
from conftest import ROOT
from perigee_lab import _core

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Last, since both folders have modules of the same name.
sys.path.append(str(ROOT / "docs/make"))
import scenario_pages

SKY = {"node", "handover", "demand"}


def test_the_pages_are_those_of_this_version() -> None:
    words = [sys.executable, str(ROOT / "docs/make/scenario_pages.py"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_section_is_on_one_page() -> None:
    headings = [heading for heading, _ in scenario_pages.sections(_core.reference()) if heading]
    pages = scenario_pages.pages(_core.reference())
    assert len(headings) > 60
    for heading in headings:
        assert sum(f"\n## {heading}\n" in text for text in pages.values()) == 1, heading
    on_front = [heading for heading in headings if scenario_pages.page_of(heading) == "README"]
    assert on_front == ["Top level"]


@pytest.mark.parametrize("name", scenario_pages.EXAMPLES)
def test_the_example_of_a_page_loads(name: str) -> None:
    base = tomllib.loads(scenario_pages.EXAMPLES["README"])
    example = tomllib.loads(scenario_pages.EXAMPLES[name])
    if name in SKY:
        base = {
            "title": "sky",
            "run": {"duration": "1 s"},
            "source": {"constellation": {"preset": "starlink-shell1"}},
            "node": {n: {"kind": "terminal", "place": n.title()} for n in ("london", "paris")},
            "port": {"ground": {"rate": "10 Mbit", "queue": "1 bdp"}},
            "flow": [{"from": "london", "to": "paris", "cc": "cubic"}],
        }
    if name == "demand":
        base["run"]["duration"] = "24 h"
        base["node"] = {n: {**node, "kind": "station"} for n, node in base["node"].items()}
    merged: dict[str, Any] = {**base, **example}
    if name == "node":
        merged["node"] = {**base["node"], **example["node"]}
    perigee.loads(_toml(merged)).core.world(1)


def _toml(table: dict[str, Any], prefix: str = "") -> str:
    """Formats nested tables as TOML, as far as the examples need it."""
    plain, nested = [], []
    for key, value in table.items():
        if isinstance(value, dict):
            nested.append(f"[{prefix}{key}]\n{_toml(value, f'{prefix}{key}.')}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            nested += [f"[[{prefix}{key}]]\n{_toml(v, f'{prefix}{key}.')}" for v in value]
        else:
            plain.append(f"{key} = {_value(value)}")
    return "\n".join([*plain, *nested]) + "\n"


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
