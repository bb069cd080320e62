# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Distributions of one-way delays and RTTs of hosts."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import perigee_lab as perigee
from conftest import SMALL
from perigee_lab.results.beside import beside
from perigee_lab.results.delays import distributions
from perigee_lab.results.manifest import Table
from perigee_lab.results.run import Run


@pytest.fixture(scope="module")
def simulated() -> Run:
    """A run without hosts."""
    return perigee.loads(SMALL).run(cc="cubic")


def with_delays(run: Run) -> Run:
    """The run with a hundred packets forward (1 to 100 ms), and one back, of a flow of programs."""
    rows = [{"flow": 0, "direction": "forward", "delay_us": 1000 * k, "count": 1} for k in range(1, 101)]
    rows.append({"flow": 0, "direction": "return", "delay_us": 7, "count": 3})
    totals = [{**t, "cc": "programs"} for t in run.table("flow_totals").to_pylist()]
    tables = {name: run.table(name) for name in run.manifest.tables}
    tables |= {
        "delays": pa.Table.from_pylist(rows),
        "flow_totals": pa.Table.from_pylist(totals, schema=tables["flow_totals"].schema),
    }
    about = {**run.manifest.tables, "delays": Table(len(rows), "")}
    return Run(replace(run.manifest, tables=about), None, tables)


def test_quantiles_are_exact(simulated: Run) -> None:
    forward, back, rtt = distributions(with_delays(simulated))
    assert forward.as_json() == {
        **{"flow": "s1->d1", "of": "forward", "count": 100},
        **{"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0, "max_ms": 100.0},
    }
    assert back.line == "s1->d1: 3 packets, one-way delay (return): " + ", ".join(
        f"{share} 0.007 ms" for share in ("50 %", "90 %", "99 %", "at most")
    )
    assert rtt.count == simulated.table("rtt").to_pandas()["count"].sum()


def test_only_packets_of_hosts_have_delays(simulated: Run) -> None:
    assert distributions(simulated) == []
    assert not [line for line in beside([simulated]) if "one-way" in line]
    assert len([line for line in beside([with_delays(simulated)]) if "one-way" in line]) == 2
