# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Recordings of a link: rates and delays.

Rates are in the format of mahimahi (mm-link(1)), delays in that of LeoReplayer; both may be
gzipped. The core reads them as `[source.trace]`. They replace the probes and flows of a
measurement; an exact replay is the reference for the fit.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perigee_lab.common import quoting
from perigee_lab.common.files import write_text
from perigee_lab.measure.fit.observed import Load, Probes, loads_of, probes_of
from perigee_lab.measure.net.protocol import MeasureError
from perigee_lab.sky.traces import opportunities

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

GZIP = b"\x1f\x8b"
MAX_BYTES = 1 << 28
LEAST_S = 5.0
LONGEST_S = 21_601.0
"""Maximum length of a trace; the core rejects longer ones and reports the line."""
PROBE_BYTES = 28
"""Size of the shortest ping: a recorded delay includes no serialisation."""
CHECKED_ON = ("cubic", "bbr")
"""Schemes that are run both over the recording and over the fit."""


@dataclass(frozen=True)
class Given:
    """The files given by the user, and their parameters."""

    rates: Path | None = None
    back: Path | None = None
    delays: Path | None = None
    rate_step_s: float = 0.1
    delay_step_s: float = 0.01
    rtt_ms: float | None = None
    """Constant RTT, instead of recorded delays."""
    rate_bps: float | None = None
    """Constant rate, instead of recorded rates."""

    @property
    def any(self) -> bool:
        """Whether any recording is given."""
        return not (self.rates is None and self.delays is None)


@dataclass(frozen=True)
class Recording:
    """Contents of the recordings."""

    rates: list[tuple[float, float]]
    """Start in s and rate in bit/s of each level; zero blocks the link."""
    back_bps: float | None
    """Median rate of the return path."""
    probes: Probes | None
    """Probes with the sum of both one-way delays as RTT; None: not recorded."""
    source: str
    """The scenario section that replays the recording exactly."""
    remarks: list[str]


def read(given: Given, scratch: Path) -> Recording:
    """Reads the files; uncompressed copies are written into `scratch`.

    Raises MeasureError if a file is not a recording or is missing; ScenarioError with file and
    line.
    """
    plain = {k: None if f is None else _plain(f, scratch) for k, f in _files(given).items()}
    spans = {k: _span(f, k, given) for k, f in plain.items() if f is not None}
    length = min(spans.values())
    # The core checks first: a damaged file has no meaningful length.
    if given.rates is None and given.rate_bps is None:
        raise MeasureError("delays alone do not tell the capacity: --rates FILE, or one value: --rate 100Mbit")
    source = _source(given, plain, scratch, length)
    network = _scenario(source, {"run.duration": f"{length:.6f} s", "run.sample": "1 ms"}).timeline()
    if length < LEAST_S:
        told = ", ".join(f"{k}: {s:g} s" for k, s in spans.items())
        raise MeasureError(
            f"{told}: what all files of a recording have is too short for a fit; {LEAST_S:g} s are needed"
        )
    over = network.pair(step_s=given.rate_step_s)
    rates = _blocked(over.t_s, np.nan_to_num(over.rate_mbps) * 1e6, over.outages_s)
    back = None
    if given.back is not None:
        way = network.pair(step_s=given.rate_step_s, turned=True)
        values = _blocked(way.t_s, np.nan_to_num(way.rate_mbps) * 1e6, way.outages_s)
        back = float(np.median(values[values > 0]))
    probes = None
    if given.delays is not None:
        fine = network.pair(step_s=given.delay_step_s)
        probes = Probes(fine.t_s, fine.base_rtt_ms, given.delay_step_s, PROBE_BYTES, source="delays")
    elif given.rtt_ms is not None:
        at = np.arange(0, length, given.delay_step_s)
        probes = Probes(at, np.full(len(at), given.rtt_ms), given.delay_step_s, PROBE_BYTES, source="given")
    return Recording(_changes(over.t_s, rates), back, probes, source, _remarks(given, spans, length, rates))


def _files(given: Given) -> dict[str, Path | None]:
    return {"rates": given.rates, "rates of the way back": given.back, "delays": given.delays}


def _plain(file: Path, scratch: Path) -> Path:
    """The file itself, or an uncompressed copy."""
    if not file.is_file():
        raise MeasureError(f"{file}: " + ("it is no plain file" if file.exists() else "there is no such file"))
    with file.open("rb") as opened:
        if opened.read(2) != GZIP:
            return file.absolute()
    try:
        with gzip.open(file) as packed:
            data = packed.read(MAX_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MeasureError(
            f"{file}: its compression is damaged ({error}); unpack what can be saved: gzip -dc FILE > PLAIN"
        ) from None
    if len(data) > MAX_BYTES:
        raise MeasureError(f"{file}: it is longer than {MAX_BYTES >> 20} MB; take a part of it")
    # The name is kept, since errors contain it.
    target = scratch / file.name
    target.write_bytes(data)
    return target


def _span(file: Path, kind: str, given: Given) -> float:
    """Time that a file covers, in s.

    Errors of the file are left to the core, which reads it next.
    """
    if file.stat().st_size > MAX_BYTES:
        raise MeasureError(f"{file}: it is longer than {MAX_BYTES >> 20} MB; take a part of it")
    words = file.read_text(encoding="utf-8", errors="replace").split()
    try:
        first, last = float(words[0]), float(words[-1])
    except (IndexError, ValueError):
        return 1.0
    if kind == "delays":
        if len(words) > 100 and last > first + 100 and words == sorted(words, key=_or_zero):
            raise MeasureError(
                f"{file}: its {len(words)} values never fall: these are times of rates (--rates), no delays"
            )
        return max(0.001, len(words) * given.delay_step_s)
    return min(max(0.001, last / 1e3), LONGEST_S)


def _or_zero(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _source(given: Given, plain: dict[str, Path | None], scratch: Path, length_s: float) -> str:
    rates = plain["rates"]
    if rates is None:
        assert given.rate_bps is not None
        rates = scratch / "constant.trace"
        steps = np.full(max(1, round(length_s / 0.01)), given.rate_bps / 1e6)
        write_text(rates, "".join(f"{ms}\n" for ms in opportunities(steps, 0.01)))
    lines = [
        "[source.trace]",
        f"rate_file = {quoting.toml(str(rates))}",
        f'rate_step = "{given.rate_step_s * 1e3:.6g} ms"',
    ]
    back, delays = plain["rates of the way back"], plain["delays"]
    if back is not None:
        lines.append(f"reverse_rate_file = {quoting.toml(str(back))}")
    if delays is not None:
        lines += [f"delay_file = {quoting.toml(str(delays))}", f'delay_step = "{given.delay_step_s * 1e3:.6g} ms"']
    elif given.rtt_ms is not None:
        lines.append(f'rtt = "{given.rtt_ms:.6g} ms"')
    return "\n".join(lines)


def _scenario(source: str, keys: dict[str, object], ports: str = "", flow: str = 'cc = "cubic"') -> Any:
    from perigee_lab.runs.scenario import loads

    text = f'[run]\nduration = "1 s"\n{source}\n[port.all]\nmetered = false\n{ports}\n[[flow]]\n{flow}\n'
    return loads(text, keys, name="recording")


def _blocked(t_s: Floats, bps: Floats, outages: Sequence[tuple[float, float]]) -> Floats:
    for begin, end in outages:
        bps[(t_s >= begin - 1e-9) & (t_s < end - 1e-9)] = 0.0
    return bps


def _changes(t_s: Floats, bps: Floats) -> list[tuple[float, float]]:
    """Rows with a different rate than the previous row."""
    new = np.concatenate(([True], np.diff(bps) != 0))
    return [(float(t), float(v)) for t, v in zip(t_s[new], bps[new], strict=True)]


def _remarks(given: Given, spans: dict[str, float], length_s: float, rates: Floats) -> list[str]:
    found = []
    if max(spans.values()) > length_s + max(given.rate_step_s, given.delay_step_s):
        told = ", ".join(f"{k} {s:.1f} s" for k, s in spans.items())
        found.append(f"how what only one file has goes with the others: {told}; the first {length_s:.1f} s are fitted")
    if given.rates is not None and (rates == 0).any():
        found.append(
            f"whether packets were lost while nothing got through ({100 * (rates == 0).mean():.1f} % of the steps of "
            f"{given.rate_step_s * 1e3:.0f} ms): they wait"
        )
    return found


def exactly(recording: Recording, queue_bytes: float, reverse_bps: float, until_s: float) -> tuple[Probes, list[Load]]:
    """Simulates probes and flows over the exact recording."""
    assert recording.probes is not None
    ports = [f'queue = "{queue_bytes:.0f} B"']
    if recording.back_bps is None:
        ports += ["[port.reverse]", f'rate = "{reverse_bps / 1e6:.6g} Mbit"']
    keys: dict[str, object] = {"run.duration": f"{until_s:.6f} s"}
    ms = recording.probes.interval_s * 1e3
    pings = f'app = "ping"\ninterval = "{ms:.6g} ms"\nsize = {PROBE_BYTES}'
    source, text = recording.source, "\n".join(ports)
    quiet = _scenario(source, keys | {"run.sample": f"{max(1.0, ms):.6g} ms"}, text, pings).run()
    flows = [_scenario(source, keys, text, f'cc = "{cc}"').run(cc) for cc in CHECKED_ON]
    return probes_of([quiet]), loads_of(flows)
