# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The contract of the compiled module."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, final

import numpy as np
import numpy.typing as npt

from perigee_lab.common.columns import Column

__all__ = [
    "Ack",
    "AttachView",
    "Cx",
    "Demand",
    "Hop",
    "HostsError",
    "IslView",
    "Policy",
    "RouteView",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SeenSatellite",
    "Sky",
    "TableHasher",
    "Timeline",
    "Training",
    "VecEnv",
    "Window",
    "World",
    "__version__",
    "allocate",
    "backends",
    "bench",
    "bench_cases",
    "bench_decisions",
    "bench_run",
    "bench_threads",
    "diff_timelines",
    "ends_with",
    "export",
    "hash_table",
    "import_capture",
    "import_state",
    "json_schema",
    "network_paths",
    "plugin_threads",
    "policies",
    "policy_row",
    "policy_rows",
    "quantity",
    "recipes",
    "record_tables",
    "reference",
    "schemes",
    "starts",
    "states",
]

__version__: str

class _OneProgram(TypedDict):
    """A program on a host; its standard input is a file, bytes, a terminal, or empty."""

    node: str
    start_ns: int
    folder: str | Path
    environment: list[str]
    words: list[str]
    file: Path | None
    data: bytes | None
    terminal: bool
    awaited: bool

class _Programs(TypedDict):
    """Programs in addition to those of the scenario, folders that they may change, and who hears of them."""

    programs: list[_OneProgram]
    writable: list[Path]
    listener: Callable[[str, int, int, bytes, int], None]
    keyboard: Callable[[float], bytes | None] | None

# A backend's name under "backend", and its options; None = the simulator.
_Backend = Mapping[str, object] | None

def backends() -> list[tuple[str, str]]: ...

class ScenarioError(ValueError):
    """A scenario is wrong. args: the message, and the problems as JSON."""

class RunError(RuntimeError):
    """A run failed."""

class HostsError(RunError):
    """Real hosts of a run did not come up, or ended."""

@final
class Scenario:
    """A checked scenario."""

    @staticmethod
    def load(path: str | Path, sets: list[str], functions: dict[str, Callable[..., Any]] | None = None) -> Scenario: ...
    @staticmethod
    def parse(
        text: str,
        name: str,
        folder: str | Path,
        sets: list[str],
        functions: dict[str, Callable[..., Any]] | None = None,
    ) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def duration_ns(self) -> int: ...
    @property
    def sample_ns(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def toml(self) -> str: ...
    @property
    def files(self) -> list[Path]: ...
    @property
    def programs(
        self,
    ) -> list[_OneProgram]: ...
    def plugins(self) -> list[str]: ...
    @property
    def has_sky(self) -> bool: ...
    @property
    def has_flows(self) -> bool: ...
    @property
    def warnings(self) -> list[str]: ...
    def sweep(self) -> list[tuple[str, list[str], str]]: ...
    def sweep_zip(self) -> bool: ...
    def expectations(self) -> str: ...
    def case(self) -> tuple[str | None, str | None, bool, list[str]]: ...
    def class_params(self) -> list[tuple[str, str, str, str]]: ...
    def schemes(self, asked: list[str], backend: _Backend = None) -> list[str]: ...
    def world(self, seed: int) -> World: ...

def network_paths(
    scenario: Scenario, ends: list[tuple[str, str]], seed: int | None = None
) -> tuple[str, list[tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]]]: ...

@final
class Sky:
    """Satellites and ground points of a scenario, and the pairs that were asked for."""

    def __new__(
        cls, scenario: Scenario, ends: list[tuple[str, str]], seed: int | None = None, alone: bool = False
    ) -> Sky: ...
    def shared_choices(self) -> list[str]: ...
    def paths(self) -> tuple[str, list[tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]]]: ...
    def reach(
        self,
        t_ns: int,
        places: npt.NDArray[np.float64],
        mask_deg: float,
        origin: int | None = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def picture(self, t_ns: int) -> str: ...

def allocate(
    capacity: list[float], demands: list[tuple[float, float, list[tuple[int, float]]]], alpha: float | None = None
) -> tuple[npt.NDArray[np.float64], float]: ...

@final
class Demand:
    """Users of a constellation as a fluid."""

    def __new__(cls, scenario: Scenario) -> Demand: ...
    def describe(self) -> str: ...
    def shadows(self, t_ns: int) -> npt.NDArray[np.float64]: ...
    def chunk(self, number: int, threads: int | None = None) -> tuple[dict[str, dict[str, npt.NDArray[Any]]], str]: ...

@final
class World:
    """A scenario with one seed."""

    def check(
        self,
        cc: str,
        plugins: dict[str, type] | None = None,
        backend: _Backend = None,
    ) -> None: ...
    def expect_one_run(self) -> None: ...
    def estimate(self, backend: _Backend = None) -> tuple[float, float]: ...
    def real_flows(self, cc: str, backend: _Backend) -> list[str]: ...
    def describe(self) -> str: ...
    def run(
        self,
        cc: str,
        pcap: str | Path | None = None,
        progress: Callable[[int], bool] | None = None,
        plugins: dict[str, type] | None = None,
        batches: Callable[[str, list[Column]], None] | None = None,
        backend: _Backend = None,
        programs: _Programs | None = None,
    ) -> tuple[str, dict[str, list[Column]], bool]: ...
    def trace(
        self,
        cc: str,
        flow: int,
        from_ns: int,
        to_ns: int,
        plugins: dict[str, type] | None = None,
    ) -> dict[str, list[Column]]: ...

@final
class TableHasher:
    """The hash of a table's content, format 2, whose rows come in pieces."""

    def __new__(cls) -> TableHasher: ...
    @property
    def rows(self) -> int: ...
    def update(self, columns: list[Column]) -> None: ...
    def hexdigest(self) -> str: ...

@final
class Cx:
    """What the host knows at the time of a call. Sizes in bytes, times in nanoseconds."""

    now_ns: int
    mss: int
    in_flight: int
    delivered: int
    lost: int
    srtt_ns: int | None
    min_rtt_ns: int | None
    snd_una: int
    snd_nxt: int
    state: str
    cwnd_limited: bool
    app_limited: bool

@final
class Window:
    """What a congestion control decides. Sizes in bytes."""

    cwnd: float
    ssthresh: float | None
    pacing_bps: float | None
    next_timer_ns: int | None

@final
class Hop:
    """What one switch says."""

    rate_bps: int
    queue: int
    tx_bytes: int
    time_ns: int
    flows: int

@final
class Ack:
    """One ACK. Sizes in bytes, times in nanoseconds."""

    newly_acked: int
    newly_lost: int
    rtt_ns: int | None
    delivery_rate_bps: int | None
    app_limited: bool
    may_grow: bool
    ece: int
    sent_ns: int | None
    received_ns: int | None
    one_way_ns: int | None
    hops: list[Hop]

@final
class Timeline:
    """A network over time."""

    @staticmethod
    def of(world: World) -> Timeline: ...
    @staticmethod
    def load(path: str | Path) -> Timeline: ...
    @staticmethod
    def pass_by(
        scenario: Scenario, seed: int, path: str | Path | None, watched: int, step_ns: int
    ) -> tuple[str, list[str]]: ...
    def save(self, path: str | Path) -> None: ...
    def describe(self) -> str: ...
    def follow(self, forward: int, reverse: int, step_ns: int) -> str: ...

@final
class SeenSatellite:
    """A satellite in view of a ground point."""

    number: int
    name: str
    shell: int | None
    plane: int | None
    slot: int | None
    range_km: float
    elevation_deg: float
    ascending: bool
    visible_for_s: float

@final
class AttachView:
    """Arguments of an attachment policy."""

    t_s: float
    node: str
    peers: list[str]
    holding: int | None
    satellites: list[SeenSatellite]

@final
class RouteView:
    """Arguments of a routing function."""

    @property
    def t_s(self) -> float: ...
    @property
    def origin(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def first(self) -> list[int]: ...
    @property
    def last(self) -> list[int]: ...
    @property
    def shortest(self) -> list[int] | None: ...
    @property
    def satellites(self) -> int: ...
    def disjoint(self, k: int) -> list[list[int]]: ...
    def neighbours(self, number: int) -> list[tuple[int, float]]: ...
    def position_km(self, number: int) -> list[float]: ...
    def place(self, number: int) -> tuple[int, int, int] | None: ...

@final
class IslView:
    """Arguments of a function that selects ISLs."""

    t_s: float
    @property
    def satellites(self) -> int: ...
    def position_km(self, number: int) -> list[float]: ...
    def place(self, number: int) -> tuple[int, int, int] | None: ...

def json_schema() -> str: ...
def reference() -> str: ...
def states() -> list[str]: ...
def schemes() -> str: ...
def starts() -> str: ...
def hash_table(columns: list[Column], record_format: int) -> str: ...
def record_tables() -> str: ...
def ends_with(code: int) -> None: ...
def plugin_threads() -> list[int]: ...
def bench_cases() -> list[str]: ...
def bench(name: str) -> str: ...
def bench_threads(name: str, threads: list[int], rounds: int) -> str: ...
def export(
    scenario: Scenario, what: str, out: str | Path, ends: list[tuple[str, str]], seed: int | None = None
) -> list[str]: ...
def import_capture(
    path: str | Path,
    batches: Callable[[str, list[Column]], None],
    cc: str,
    sample_ns: int,
    warmup_ns: int = 0,
    place: str | None = None,
    progress: Callable[[int], bool] | None = None,
) -> str | None: ...
def import_state(
    what: str, source: str | Path, out: str | Path, ends: list[tuple[str, str]], dynamic: str | None = None
) -> None: ...
def diff_timelines(
    a: str | Path,
    b: str | Path,
    step_ns: int,
    tolerance_ns: int,
    renamed: dict[str, str],
    shell: tuple[int, int] | None = None,
) -> str: ...

@final
class VecEnv:
    """Scenarios side by side, stepped from decision to decision (`perigee_lab.learn.vector` is the front)."""

    def __new__(cls, recipe: str, folder: str | Path, count: int, flows: int, seed: int) -> VecEnv: ...
    def step(
        self,
        actions: npt.NDArray[np.float32],
        rates: npt.NDArray[np.float32] | None,
        observations: npt.NDArray[np.float32],
        active: npt.NDArray[np.bool_],
        whole: npt.NDArray[np.float32],
        rewards: npt.NDArray[np.float32],
        metrics: npt.NDArray[np.float32],
        ended: npt.NDArray[np.bool_],
    ) -> None: ...

@final
class Training:
    """A training, round by round."""

    def __new__(cls, recipe: str, folder: str | Path, seed: int, checkpoint: str | Path | None = None) -> Training: ...
    def round(self) -> str: ...
    def scores(self) -> str: ...
    def without_tables(self) -> None: ...
    def over(self) -> bool: ...
    def save(self, checkpoint: str | Path) -> None: ...
    def policy(self) -> str: ...
    def best(self) -> str: ...

@final
class Policy:
    """A policy, checked."""

    def __new__(cls, text: str) -> Policy: ...
    @property
    def widths(self) -> list[int]: ...
    @property
    def logs(self) -> bool: ...
    @property
    def count(self) -> int: ...
    def evaluate(self, inputs: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]: ...

def recipes() -> list[tuple[str, str]]: ...
def bench_run(mbps: float, seconds: float, agent: str) -> int: ...
def policies() -> list[tuple[str, str]]: ...
def policy_rows(table: str) -> list[str]: ...
def quantity(text: str) -> tuple[str, str, int | float] | None: ...
def policy_row(scheme: str, policy: str | None, params: dict[str, str], row: str) -> str: ...
def bench_decisions(what: str, count: int) -> None: ...
