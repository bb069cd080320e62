# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee demand background`: loads of a record as background of packets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from test_demand import scenario

from conftest import Cli
from perigee_lab.demand.background import loads
from perigee_lab.demand.record import DemandError, Record

FRONT = """
title = "a download among all"
[run]
duration = "2 s"
cc = ["cubic"]
[source.constellation]
preset = "starlink-shell1"
[node.rome]
place = "Rome"
[node.raisting]
kind = "station"
lat = 47.9
lon = 11.1
[port.satellite]
rate = "20 Gbit"
[[flow]]
from = "raisting"
to = "rome"
cc = "*"
"""


@pytest.mark.slow
def test_loads_of_links_become_those_of_ports(cli: Cli, tmp_path: Path) -> None:
    cli("demand", "run", str(scenario(tmp_path, 2)), "--out", str(tmp_path / "out"))
    record = Record(tmp_path / "out")
    found = loads(record, 60.0, 60.0)
    links = record.table("links")
    links = links[(links["t_s"] == 60.0) & (links["kind"] == 0) & (links["direction"] == 0)]
    total = (found.ports["rate_mbps"] * 1e6 + found.ports["flows"] * found.flow_bps).groupby(found.ports["port"]).sum()
    radios = total[total.index.str.endswith(" radio")]
    assert len(radios) == len(links) > 0
    # A flow more or less, by rounding.
    assert radios.sum() == pytest.approx(links["mean_bps"].sum(), abs=found.flow_bps * len(radios))
    assert found.ports["t_s"].eq(0.0).all()
    assert found.ports["rate_mbps"].gt(0.0).any(), "calls are inelastic"
    with pytest.raises(DemandError, match="nothing at 120 s"):
        loads(record, 120.0, 60.0)


@pytest.mark.slow
def test_packets_share_ports_with_the_users_of_a_demand(cli: Cli, tmp_path: Path) -> None:
    cli("demand", "run", str(scenario(tmp_path, 2)), "--out", str(tmp_path / "out"))
    shown = cli("demand", "background", str(tmp_path / "out"), "--out", str(tmp_path / "users.csv")).stdout
    section = shown[: shown.index("#")]
    for name, more in (("alone", ""), ("among", section)):
        (tmp_path / f"{name}.toml").write_text(FRONT + more)
        cli("run", str(tmp_path / f"{name}.toml"), "--out", str(tmp_path / name), "--no-report")
    used = {}
    for name in ("alone", "among"):
        links = pd.read_parquet(tmp_path / name / "cubic/seed1/links.parquet")
        used[name] = links[links["rate_bps"] == 20e9]["utilisation"].max()
    assert used["among"] > 0.02 > used["alone"], used
