# SPDX-License-Identifier: Apache-2.0 OR MIT
"""User-defined congestion controls: Python classes, and skeletons by `perigee new-cc`."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import perigee_lab as perigee
from perigee_lab.cli import new_cc
from perigee_lab.results.metrics import flow_rows

ROOT = Path(__file__).parents[2]
SCENARIO = """
[run]
duration = "5 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"""


COMPARED = ["t_ns", "cwnd_bytes", "delivered_bytes"]


class Fixed(perigee.CongestionControl):
    """A window of 40 packets."""

    kind = "model"

    def on_start(self, cx, window):
        """Sets the window."""
        window.cwnd = 40 * cx.mss
        window.pacing_bps = 10e6


class Reno(perigee.CongestionControl):
    """Reno of Linux, in Python."""

    count = 0

    def on_ack(self, cx, window, ack):
        """Slow start, then one packet per window; counts packets, as Linux does."""
        if not (ack.may_grow and cx.cwnd_limited):
            return
        cwnd, acked = window.cwnd // cx.mss, ack.newly_acked // cx.mss
        threshold = 1 << 30 if window.ssthresh is None else window.ssthresh // cx.mss
        if cwnd < threshold:
            grown = min(cwnd + acked, threshold)
            acked -= grown - cwnd
            cwnd = grown
        if acked:
            if self.count >= cwnd:
                self.count = 0
                cwnd += 1
            self.count += acked
            if self.count >= cwnd:
                steps = self.count // cwnd
                self.count -= steps * cwnd
                cwnd += steps
        window.cwnd = cwnd * cx.mss

    def ssthresh(self, cx, window):
        """Half of the window."""
        return max(window.cwnd // cx.mss // 2, 2) * cx.mss

    def on_transition(self, cx, window, what):
        """Starts a new count after a reduction."""
        if what in {"enter recovery", "enter cwr", "enter rto"}:
            self.count = 0


def test_a_class_sees_what_the_built_in_scheme_sees():
    """The same rules in Python and in Rust yield the same flow, to the packet."""
    ours, theirs = (perigee.loads(SCENARIO).run(cc) for cc in (Reno, "newreno"))
    a, b = (r.table("flows").select(COMPARED) for r in (ours, theirs))
    assert a.equals(b)


def test_a_model_sets_window_and_rate():
    run = perigee.loads(SCENARIO).run(Fixed)
    assert run.cc == "python:Fixed"
    assert flow_rows(run)[0]["goodput_mbps"] == pytest.approx(10, rel=0.02)


class Raises(perigee.CongestionControl):
    """Raises an error after a second."""

    def on_ack(self, cx, window, ack):
        """Raises an error once a second has passed."""
        if cx.now_ns > 1_000_000_000:
            raise KeyError("too late")


class NotANumber(perigee.CongestionControl):
    """Sets a window that is not a number."""

    value = float("nan")

    def on_ack(self, cx, window, ack):
        """Sets the window."""
        window.cwnd = self.value


class Negative(NotANumber):
    """Sets a negative window."""

    value = -1


class Zero(NotANumber):
    """Sets a window of zero."""

    value = 0


class Wordy(NotANumber):
    """Sets a text."""

    value = "ten"


class Hasty(perigee.CongestionControl):
    """Sets a timer to the present again and again, without end."""

    def on_ack(self, cx, window, ack):
        """Sets the timer to the present."""
        window.next_timer_ns = cx.now_ns

    def on_timer(self, cx, window):
        """Sets the timer to the present again."""
        window.next_timer_ns = cx.now_ns


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        (Raises, "too late"),
        (NotANumber, "cwnd must be from 1"),
        (Negative, "not -1"),
        (Zero, "not 0"),
        (Wordy, "must be a number, not 'ten'"),
        (Hasty, "next_timer_ns must lie after now"),
    ],
)
def test_an_exception_ends_the_run_with_its_time(cls, told):
    with pytest.raises(
        perigee.RunError, match=rf"python:{cls.__name__} failed at \d+\.\d+ s of simulated time"
    ) as error:
        perigee.loads(SCENARIO).run(cls)
    assert told in str(error.value)
    assert error.value.__cause__ is not None
    assert error.value.__cause__.__traceback__ is not None or cls is not Raises


def test_a_class_that_is_none_is_refused():
    with pytest.raises(perigee.PluginError, match=r"derived from perigee\.CongestionControl"):
        perigee.loads(SCENARIO).run(int)


@pytest.mark.slow
def test_the_command_line_takes_a_file_and_shows_the_traceback(tmp_path, cli):
    (tmp_path / "mine.py").write_text(
        "import perigee_lab as perigee\n"
        "class Mine(perigee.CongestionControl):\n"
        "    def on_ack(self, cx, window, ack):\n"
        "        return 1 / (0 if cx.now_ns > 2e9 else 1)\n"
    )
    (tmp_path / "s.toml").write_text(SCENARIO.replace('cc = "*"', 'cc = "mine.py:Mine"'))
    short = cli("run", tmp_path / "s.toml", "--trust", "--out", tmp_path / "a", "--set", "run.duration=1s")
    assert short.returncode == 0, short.stderr
    failed = cli("run", tmp_path / "s.toml", "--trust", "--out", tmp_path / "b")
    assert failed.returncode == 1
    assert "ZeroDivisionError" in failed.stderr
    assert "return 1 / (0 if" in failed.stderr
    assert "of simulated time" in failed.stderr
    assert not list(tmp_path.glob("b/**/manifest.json"))
    for name, told in [
        ("mine.py:Other", "congestion controls in it: Mine"),
        ("gone.py:X", "there is no file"),
        ("json:loads", "derived from"),
    ]:
        wrong = cli("run", tmp_path / "s.toml", "--set", f'flow.0.cc="{name}"', "--out", tmp_path / "c")
        assert wrong.returncode == 2
        assert told in wrong.stderr


def test_check_takes_the_classes_that_run_takes(tmp_path, cli):
    """The class is named in the scenario or on the command line.

    Both reject a file without the class.
    """
    text = "import perigee_lab\nclass Mine(perigee_lab.CongestionControl):\n    pass\n"
    (tmp_path / "mine.py").write_text(text)
    scenario = tmp_path / "s.toml"
    scenario.write_text(SCENARIO.replace('cc = "*"', 'cc = "mine.py:Mine"'))
    done = cli("check", scenario, "--trust")
    assert done.returncode == 0, done.stderr
    assert "mine.py:Mine" in done.stdout
    scenario.write_text(SCENARIO)
    assert cli("check", scenario, "--cc", f"{tmp_path / 'mine.py'}:Mine").returncode == 0
    for command in "check", "run":
        done = cli(command, scenario, "--cc", f"{tmp_path / 'mine.py'}:Yours")
        assert done.returncode == 2
        assert "Yours" in done.stderr


def test_the_worked_example_of_the_guide_runs(cli, tmp_path):
    source = (ROOT / "examples/target_delay.py").read_text()
    assert len(source.splitlines()) < 60
    done = cli(
        *("run", ROOT / "scenarios/micro/dumbbell.toml", "--cc", f"{ROOT}/examples/target_delay.py:TargetDelay,cubic"),
        *("--set", "run.duration=10s", "--out", tmp_path / "out"),
    )
    assert done.returncode == 0, done.stderr
    assert "python:TargetDelay" in done.stdout


@pytest.mark.slow
def test_a_new_python_scheme_passes_its_own_test(tmp_path, cli):
    made = cli("new-cc", "my_scheme", "--python", "--in", tmp_path)
    assert made.returncode == 0, made.stderr
    assert {p.name for p in tmp_path.iterdir()} == {
        f"{stem}my_scheme{end}" for stem, end in (("", ".py"), ("test_", ".py"), ("", ".md"), ("", ".toml"))
    }
    words = [sys.executable, "-m", "pytest", "-q", "test_my_scheme.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert cli("new-cc", "my_scheme", "--python", "--in", tmp_path).returncode == 2, "nothing is overwritten"
    assert cli("new-cc", "My-Scheme", "--python", "--in", tmp_path).returncode == 2
    assert cli("new-cc", "mine", "--in", tmp_path).returncode == 2, "not a checkout"


def test_the_guide_names_every_list_that_a_rust_scheme_enters():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Add a congestion control\n")[1]
    guide = guide.split("\n## ")[0]
    assert new_cc.SECTION == "Add a congestion control"
    lists = {
        "crates/perigee-cc/src/schemes.rs": "`crates/perigee-cc/src/schemes.rs`",
        "crates/perigee-cc/src/states.rs": "`STATES`",
        "crates/perigee-cc/src/start.rs": "`Family::of`",
        "python/perigee_lab/results/why/amounts.py": "`OWN_RATE`",
        "docs/make/schemes.py": "`REACTS`",
        "python/perigee_lab/results/looks.py": "`python/perigee_lab/results/looks.py`",
        "crates/perigee-sim/tests/fingerprints.rs": "PERIGEE_BLESS=1 cargo test -p perigee-sim",
        "Makefile": "make setup docs",
    }
    assert [part for part, name in lists.items() if not (ROOT / part).is_file() or name not in guide] == []


@pytest.mark.slow
def test_a_new_rust_scheme_passes_its_own_test_and_the_battery(tmp_path, cli):
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    files = ["Cargo.toml", "Cargo.lock", "clippy.toml", "rust-toolchain.toml", "rustfmt.toml"]
    for part in ["crates", *files, "python/perigee_lab/results/looks.py"]:
        source = ROOT / part
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, tmp_path / part)
        elif source.exists():
            shutil.copy(source, tmp_path / part)
    assert cli("new-cc", "cubic", "--in", tmp_path).returncode == 2, "the name is taken"
    made = cli("new-cc", "my_scheme", "--in", tmp_path)
    assert made.returncode == 0, made.stderr
    looks = runpy.run_path(str(tmp_path / "python/perigee_lab/results/looks.py"))["BUILT_IN"]
    mine = looks.pop("my_scheme")
    assert mine.marker not in {look.marker for look in looks.values()}
    assert mine.dashes not in {look.dashes for look in looks.values()}
    env = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")}

    def cargo(*words: str, **more: str) -> None:
        command = ["cargo", "test", "--locked", "--quiet", *words]
        done = subprocess.run(command, cwd=tmp_path, env=env | more, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout

    cargo("-p", "perigee-cc", "--lib", "--", "my_scheme", "battery")
    table = tmp_path / "crates/perigee-sim/tests/fingerprints.txt"
    before = table.read_text().splitlines()
    cargo("-p", "perigee-sim", "--test", "fingerprints", PERIGEE_BLESS="1")
    cases = [line.rpartition(" ")[0] for line in table.read_text().splitlines() if line not in before]
    assert cases == ["my_scheme changing", "my_scheme lossy"]
    assert set(before) < set(table.read_text().splitlines()), "the results of other schemes are unchanged"
    format_ = subprocess.run(["cargo", "fmt", "--check", "-p", "perigee-cc"], cwd=tmp_path, check=False)
    assert format_.returncode == 0


# ---- one-way delays ------------------------------------------------------------------------------

ONE_WAY = """
[run]
duration = "4 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "2 bdp"
[[flow]]
cc = "*"
"""


def arrivals(**keys: object) -> list[tuple[int, int | None, int | None, int | None, int | None]]:
    """Time, departure, arrival, one-way delay and RTT of every ACK of a run, in ns."""
    seen: list[tuple[int, int | None, int | None, int | None, int | None]] = []

    class Watching(perigee.CongestionControl):
        def on_ack(self, cx: perigee.Cx, window: perigee.Window, ack: perigee.Ack) -> None:
            window.cwnd = min(window.cwnd + ack.newly_acked, 100_000)
            seen.append((cx.now_ns, ack.sent_ns, ack.received_ns, ack.one_way_ns, ack.rtt_ns))

    perigee.loads(ONE_WAY, None, **keys).run(cc=Watching)  # type: ignore[arg-type]
    assert len(seen) > 100
    return seen


def test_an_ack_has_the_one_way_delay_of_the_newest_packet() -> None:
    found = arrivals()
    for now, sent, received, one_way, rtt in found:
        assert sent is not None
        assert received is not None
        assert one_way == received - sent
        assert sent < received < now
        # The return path has no queue: half of the base RTT, and a few transmissions of ACKs.
        if rtt is not None:
            assert 0 < one_way < rtt
    least = min(one_way for *_, one_way, _ in found if one_way is not None)
    assert 20_000_000 <= least < 23_000_000
    assert max(one_way for *_, one_way, _ in found if one_way is not None) > least + 30_000_000, "the queue is seen"


def test_clocks_have_an_offset_and_a_drift() -> None:
    plain = arrivals()
    other = arrivals(tcp__clock_offset=-7.5, tcp__clock_drift=100.0)
    assert [a[1] for a in plain] == [a[1] for a in other]
    for (*_, a, _), (*_, b, _) in zip(plain, other, strict=True):
        assert a is not None
        assert b is not None
        assert 0 <= b - a + 7_500_000_000 <= 400_000
    assert other[-1][3] - plain[-1][3] + 7_500_000_000 > 300_000  # type: ignore[operator]


def test_timestamps_have_ticks_and_may_be_off() -> None:
    for tick_ms in (1, 10):
        for _, sent, received, one_way, _ in arrivals(
            tcp__arrival_clock="timestamps", tcp__timestamp_tick=f"{tick_ms} ms"
        ):
            assert sent is not None
            assert received is not None
            assert (sent % (tick_ms * 1_000_000), received % (tick_ms * 1_000_000)) == (0, 0)
            assert one_way is not None
            assert one_way >= 20_000_000 - tick_ms * 1_000_000
    for keys in ({"tcp__arrival_clock": "off"}, {"tcp__arrival_clock": "timestamps", "tcp__timestamps": False}):
        assert {a[1:4] for a in arrivals(**keys)} == {(None, None, None)}


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"tcp.clock_offset": 1e5, "tcp.clock_drift": -50.0},
        {"tcp.arrival_clock": "timestamps"},
        {"tcp.arrival_clock": "off"},
    ],
    ids=["exact", "offset", "timestamps", "rtt"],
)
def test_ledbatpp_fills_the_path_alone_and_yields_to_others(keys: dict[str, object]) -> None:
    text = ONE_WAY.replace('"4 s"', '"60 s"').replace('"2 bdp"', '"250 kB"').replace('cc = "*"', 'cc = "ledbatpp"')
    alone = perigee.loads(text, keys).run_all()[0]
    assert alone.summary["share"] > 0.75
    queue_ms = alone.summary["rtt_median_ms"] - 40
    assert 20 < queue_ms < 75, "about the target of 60 ms"
    both = perigee.loads(f'{text}[[flow]]\ncc = "newreno"\n', keys).run_all()[0]
    background, other = (row["goodput_mbps"] for row in flow_rows(both))
    assert other > 5 * background
