# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tables on narrow terminals: no cell is cut, a block per row takes the place of a table that does not fit."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from perigee_lab.common import quoting
from perigee_lab.common.terminal import empty_table, print_table

ROWS = [("goodput Mbit/s", "cubic", "95.63 ± 0.02"), ("", "bbr", ""), ("delay", "[b]mine[/b]", "1")]
CUT = "\N{HORIZONTAL ELLIPSIS}"


def printed(width: int) -> str:
    """The table above at a width."""
    out = io.StringIO()
    table = empty_table(plain=False)
    for heading in ("metric", "scheme", "differ-\nence"):
        table.add_column(heading, no_wrap=True)
    for row in ROWS:
        table.add_row(*map(quoting.cell, row))
    print_table(Console(file=out, width=width, force_terminal=False), table)
    return out.getvalue()


def test_a_table_that_fits_is_one() -> None:
    text = printed(60)
    assert len(text.splitlines()) == 8
    assert CUT not in text


@pytest.mark.parametrize("width", [40, 20, 8])
def test_a_table_that_does_not_fit_is_a_block_per_row_with_every_cell(width: int) -> None:
    assert printed(width) == (
        "metric: goodput Mbit/s\nscheme: cubic\ndifference: 95.63 ± 0.02\n\n"
        "metric: goodput Mbit/s\nscheme: bbr\n\n"
        "metric: delay\nscheme: [b]mine[/b]\ndifference: 1\n\n"
    )


def test_columns_that_may_wrap_are_wrapped_as_long_as_their_words_fit() -> None:
    found = []
    for width in (40, 14):
        out = io.StringIO()
        table = empty_table(plain=True)
        table.add_column("expected", no_wrap=False)
        table.add_column("verdict", no_wrap=True)
        table.add_row("the mean RTT is at most twice the base RTT of the path", "passed")
        print_table(Console(file=out, width=width), table)
        found.append(out.getvalue())
    assert "expected:" not in found[0]
    assert CUT not in found[0]
    assert found[1].startswith("expected: the mean RTT is at most twice the base RTT of the path\nverdict: passed\n")


def test_an_ellipsis_of_a_cell_is_no_cut() -> None:
    out = io.StringIO()
    table = empty_table("title", plain=True)
    table.add_row(f"a long title that wraps at spaces {CUT}")
    print_table(Console(file=out, width=20), table)
    assert "title:" not in out.getvalue()


def test_the_runs_of_a_folder_have_all_columns_at_sixty(cli_at_sixty: str) -> None:
    assert CUT not in cli_at_sixty
    for line in ("cc: cubic", "seed: 1", "retransmits: 41", "rtt_mean_ms: 110.6"):
        assert line in cli_at_sixty.splitlines()


@pytest.fixture
def cli_at_sixty(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What `perigee results` prints of a wide table, on a terminal of 60 columns."""
    import pyarrow as pa

    from perigee_lab.cli import results

    console = Console(width=60, force_terminal=True, no_color=True, highlight=False)
    monkeypatch.setattr(results, "table_console", lambda _width: console)
    names = ("goodput_mbps", "share", "rtt_mean_ms", "inflation", "jain")
    row = {"cc": "cubic", "seed": 1, **dict.fromkeys(names, 110.6), "retransmits": 41.0}
    results._print(pa.Table.from_pylist([row]))
    return capsys.readouterr().out
