# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The validation detects that a part of the transport is switched off."""

from __future__ import annotations

import pytest

from perigee_lab.validation import kernel, verdicts

CELLS = [
    "single_newreno_r10_d100_q1",
    "loss_bbr_r10_d20_q1_l1",
    "single_cubic_r10_d20_q0.2",
    "single_cubic_r100_d100_q1",
    "single_vegas_r10_d20_q0.2",
    "single_vegas_r100_d50_q1",
    "single_hybla_r100_d50_q4",
    "single_hybla_r10_d100_q1",
    "step_cubic_r100_d20-100-20_q1",
    "outage_newreno_r100_d50_q1",
    "leo_cubic_s1",
    "leo_vegas_s1",
]
"""Paths without random draws, and one with random loss."""
SEEDS = range(1, 5)
MUTATIONS = {
    "no ACK at once for the end of a burst": {"tcp": "push_acks = false"},
    "no SACK compression": {"tcp": "sack_compression = false"},
    "no gathering of bursts": {"tcp": 'tso_defer = "off"'},
    "no proportional rate reduction": {"tcp": 'reduction = "rfc6675"'},
    "no delayed ACKs": {"tcp": "delayed_ack = 1"},
    "a receive window that starts small": {"tcp": "rmem = 131072"},
    "no HyStart": {"cc.cubic": "hystart = false"},
    "full entries of the send buffer from the start": {"tcp": "wmem = 0"},
}


def changed(text: str, change: dict[str, str]) -> str:
    """The scenario, with another setting in a table."""
    for table, setting in change.items():
        head, key = f"[{table}]\n", setting.split(" = ")[0]
        text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(f"{key} = "))
        text = text.replace(head, f"{head}{setting}\n") if head in text else f"{text}{head}{setting}\n"
    return text


def outside(change: dict[str, str]) -> list[str]:
    """The comparisons that are outside with a change, including explained ones."""
    cells = {c.name: c for c in kernel.read()}
    known = verdicts.explained()
    found = []
    for name in CELLS:
        cell = cells[name]
        text, seeds = changed(kernel.scenario(cell), change), SEEDS if cell.is_random else SEEDS[:1]
        runs = [kernel.measured(cell, kernel.tables(text, name, cell.flows[0].cc, seed)) for seed in seeds]
        judged = kernel.judge(cell, runs)
        found += [f"{v.cell} {v.quantity}" for v in judged if not v.good and verdicts.heading_of(v, known) is None]
    return found


@pytest.mark.slow
def test_the_cells_of_the_mutations_are_good_as_they_are():
    assert outside({}) == []


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_falls_outside(mutation: str):
    assert outside(MUTATIONS[mutation]) != []
