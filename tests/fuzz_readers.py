# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Structured fuzzer of the Python readers (part of `make fuzz`).

Its targets are results (records, manifests, sweeps, measurements, archives) and, in fuzz_inputs.py,
inputs (scenarios and the files that they name, logs, captures, jobs, recipes, studies).

python tests/fuzz_readers.py 10000 [SEED [TARGET]]      # this many inputs for each target
python tests/fuzz_readers.py 60s [SEED [TARGET]]        # as many as fit into this CPU time

A result or a PerigeeError, never another exception, no input above five seconds of CPU time or one
gigabyte. Failing inputs are kept in crates/perigee-fuzz/found, and the exit code is 1.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import fuzz_inputs
import perigee_lab as perigee
from fuzz_damage import ODD, Target, bytes_of, damage_json, json_file, npz_file, table_file
from perigee_lab import _core
from perigee_lab.common.errors import PerigeeError
from perigee_lab.learn import policy
from perigee_lab.measure import journal, measured
from perigee_lab.results import cells, dataset, summary_cache
from perigee_lab.results.metrics import flow_rows
from perigee_lab.results.report.data import payload
from perigee_lab.results.run import open_record
from perigee_lab.runs import packing, transfer
from perigee_lab.runs.archive import INDEX, open_archive
from perigee_lab.runs.verify import verify_command

SLOW_S, MOST_BYTES = 5.0, 1 << 30
HANG_S, MOST_ADDRESSES = 120, 16 << 30
"""Limits at which an input is stopped: wall time, and address space."""
FOUND = Path(__file__).parent.parent / "crates/perigee-fuzz/found"
SCENARIO = """
[run]
duration = "1 s"
sample = "50 ms"
[source.dumbbell]
rtt = "30 ms"
[port.bottleneck]
rate = "5 Mbit"
queue = "1 bdp"
[[flow]]
[[flow]]
app = "ping"
"""
ENTRY_NAMES = (
    "../x", "/x", "files/../x", "files/a/../../../x", "x", "files/x", "records/x", "files/" + "a/" * 50 + "x",
    "files/a\nb", "FILES/0", "jobs.json/x", "files\\x", "records/cubic/seed1/manifest.json", "files/\ud7ff", "C:x",
)  # fmt: skip


def table_of_record(draw: random.Random, folder: Path) -> None:
    """Damages a table, often with the manifest adapted to it."""
    from perigee_lab.common.columns import from_arrow

    record = folder / "out/cubic/seed1"
    path = draw.choice(sorted(record.glob("*.parquet")))
    table_file(draw, path)
    if draw.random() < 0.7:
        manifest = json.loads((record / "manifest.json").read_text(encoding="utf-8"))
        try:
            table = pq.read_table(path)
            rows = {"rows": table.num_rows}
            hasher = _core.TableHasher()
            hasher.update(from_arrow(table))
            rows["sha256"] = hasher.hexdigest()
        except Exception:
            rows = {}
        manifest["tables"][path.stem] |= rows
        (record / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (record / "summary.json").unlink(missing_ok=True)


# ---- targets -------------------------------------------------------------------------------------


def make_record(folder: Path) -> None:
    """A record of two flows, with its summary."""
    (folder / "s.toml").write_text(SCENARIO, encoding="utf-8")
    perigee.load(folder / "s.toml").run_all(["cubic"], seeds=[1], out=folder / "out")
    summary_cache.store(open_record(folder / "out/cubic/seed1"), folder / "out/cubic/seed1")


def read_record(folder: Path) -> None:
    """Summary, rows of flows, the report's data, and verification."""
    run = open_record(folder / "out/cubic/seed1")
    for use in (lambda: run.summary, lambda: flow_rows(run), lambda: json.dumps(payload([run]), allow_nan=False)):
        try:
            use()
        except PerigeeError:
            continue
    verify_command(folder / "out", rerun=False, as_json=False)


def make_sweep(folder: Path) -> None:
    """A sweep of two cells."""
    from perigee_lab.results.cells import Axis

    (folder / "s.toml").write_text(SCENARIO, encoding="utf-8")
    perigee.load(folder / "s.toml")
    from perigee_lab.runs.machines import Machines
    from perigee_lab.runs.sweep import execute_sweep, plan_of

    axes = [Axis("port.bottleneck.rate", ("2 Mbit", "4 Mbit"))]
    plan = plan_of(folder / "s.toml", [], axes, ["cubic"]).into(folder / "out", force=True)
    execute_sweep(plan, folder / "out", machines=Machines(1))


def sweep_file(draw: random.Random, folder: Path) -> None:
    """Damages index, table, dataset or a summary of a sweep."""
    out = folder / "out"
    path = draw.choice([out / "sweep.json", out / "sweep.csv", *out.glob("results/**/*.parquet")])
    if path.suffix == ".json":
        json_file(draw, path)
    elif path.suffix == ".parquet":
        table_file(draw, path)
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
        at = draw.randrange(len(lines))
        cells_ = lines[at].split(",")
        cells_[draw.randrange(len(cells_))] = str(draw.choice(ODD)).encode("utf-8", "replace").decode()
        lines[at] = ",".join(cells_)
        path.write_bytes(bytes_of(draw, path.read_bytes()) if draw.random() < 0.3 else "\n".join(lines).encode())


def read_sweep(folder: Path) -> None:
    """Rows, means and queries of a sweep."""
    out = folder / "out"
    uses: tuple[Callable[[], object], ...] = (
        lambda: cells.open_sweep(out).means(["goodput_mbps", "jain"]),
        lambda: cells.open_sweep(out).frame(),
        lambda: dataset.query(out, ["goodput_mbps>0"], ["cc", "seed", "goodput_mbps"]),
        lambda: _ordered(dataset.query(out)),
        lambda: dataset.unmet(out, ["rate=2Mbit", "goodput_mbps<0"]),
        lambda: dataset.joined([out, out.parent / "copy"], [dataset.query(out), dataset.query(out.parent / "copy")]),
    )
    for use in uses:
        try:
            use()
        except PerigeeError:
            continue


def _ordered(table: pa.Table) -> pa.Table:
    return dataset.ordered(table, dataset.resolved("rate", table.column_names))


def summary_file(draw: random.Random, folder: Path) -> None:
    """Damages the cached summary of a record."""
    json_file(draw, folder / "out/cubic/seed1/summary.json")


def read_summary(folder: Path) -> None:
    """Reads all cached summaries, as sweeps do."""
    found = summary_cache.read_all(folder / "out")
    summary_cache.summary_csv([k for _, k in found])
    dataset.query(folder / "out")


def make_measured(folder: Path) -> None:
    """Probes, trains and transfers over the loopback interface."""
    import threading

    from perigee_lab.measure import campaign
    from perigee_lab.measure.net.server import Server
    from perigee_lab.measure.runner import Runner

    key = b"0123456789abcdef0123"
    server = Server(key, "127.0.0.1", 0)
    server.start()
    text = '[campaign]\n[[step]]\ndo = "pings"\nduration = "300 ms"\ninterval = "10 ms"\n'
    text += '[[step]]\ndo = "trains"\nduration = "300 ms"\ninterval = "50 ms"\n'
    text += '[[step]]\ndo = "download"\nbytes = "1 MB"\n[[step]]\ndo = "upload"\nbytes = "1 MB"\n'
    book = journal.Journal(folder / "out", text)
    Runner(campaign.parsed(text, "t"), book, key, f"127.0.0.1:{server.port}", lambda _: None, threading.Event()).run()
    server.stop()


def measured_file(draw: random.Random, folder: Path) -> None:
    """Damages a measurement, the journal or the campaign."""
    where = folder / "out/measurements"
    path = draw.choice([*sorted(where.glob("*.npz")) * 3, *where.glob("*.jsonl"), *where.glob("*.toml")])
    if path.suffix == ".npz":
        npz_file(draw, path)
    else:
        path.write_bytes(bytes_of(draw, path.read_bytes()))


def read_measured(folder: Path) -> None:
    """Records and sections of a campaign, and what a resumed one reads."""
    text = (folder / "out/measurements/campaign.toml").read_text(encoding="utf-8", errors="replace")
    try:
        book = journal.Journal(folder / "out", text)
        book.done(1, 0)
        book.began_ns()
        book.kept(1, 0, 0)
    except PerigeeError:
        pass
    measured.write_records(folder / "out")


def make_parcel(folder: Path) -> None:
    """An archive of a record, as workers send it."""
    make_record(folder)
    (folder / "parcel.tar").write_bytes(transfer.pack(folder / "out/cubic/seed1", "name"))


def parcel_file(draw: random.Random, folder: Path) -> None:
    """Damages an archive, most often its headers, or compresses it."""
    path = folder / "parcel.tar"
    data = path.read_bytes()
    at = 512 * draw.randrange(max(1, len(data) // 512))
    head = bytearray(data[at : at + 512])
    for _ in range(draw.randint(1, 4)):
        head[draw.randrange(max(1, len(head)))] = draw.choice((0, 47, 46, 48, 55, 128, 255))
    changed = data[:at] + bytes(head) + data[at + 512 :]
    path.write_bytes(draw.choice((changed, changed, bytes_of(draw, data), gzip.compress(changed[:20_000]))))


def read_parcel(folder: Path) -> None:
    """Unpacks an archive."""
    transfer.unpack((folder / "parcel.tar").read_bytes(), folder / "in/seed1", force=True)
    open_record(folder / "in/seed1")


def make_archive(folder: Path) -> None:
    """An archive of a record with its tables."""
    make_record(folder)
    packing.pack(folder / "out", folder / "x.perigee", tables=True)


def archive_file(draw: random.Random, folder: Path) -> None:
    """Damages an archive: its bytes, its entries and their properties, its index or its JSON.

    Most often the index is adapted, so that the damage gets past it.
    """
    path = folder / "x.perigee"
    if draw.random() < 0.3:
        path.write_bytes(bytes_of(draw, path.read_bytes()))
        return
    with zipfile.ZipFile(path) as file:
        content = {n: file.read(n) for n in file.namelist()}
    index = json.loads(content.pop(INDEX))
    name = draw.choice(sorted(content))
    kind = draw.randrange(6)
    if kind == 0:
        content[draw.choice(ENTRY_NAMES)] = content.pop(name)
    elif kind == 1:
        del content[name]
    elif kind == 2:
        content[name] = draw.choice((b"", bytes(4 << 20), bytes_of(draw, content[name])))
    elif kind <= 4:
        name = draw.choice([n for n in sorted(content) if n.endswith(".json")])
        content[name] = json.dumps(damage_json(draw, json.loads(content[name]))).encode()
    if draw.random() < 0.8:
        index["entries"] = [{"name": n, "size": len(d), "sha256": sha256(d).hexdigest()} for n, d in content.items()]
    if kind == 5:
        index = damage_json(draw, index)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as file:
        warnings.simplefilter("ignore")
        for n, data in [*content.items(), (INDEX, json.dumps(index).encode())]:
            info = zipfile.ZipInfo(n or "x", (1980, 1, 1, 0, 0, 0))
            info.compress_type = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            info.external_attr = 0o100600 << 16
            if draw.random() < 0.01:
                info.compress_type = zipfile.ZIP_BZIP2
                info.external_attr = draw.choice((0o120777, 0o040755, 0o010600, 0o60600)) << 16
            file.writestr(info, data)
            if draw.random() < 0.005:
                file.writestr(info, data)


def read_archive(folder: Path) -> None:
    """Opens, unpacks and verifies an archive, which must write nothing outside of its folder."""
    place = folder / "in/archive"
    place.parent.mkdir()
    before = sorted(folder.rglob("*"))
    found = open_archive(folder / "x.perigee")
    try:
        found.unpack(place)
        found.jobs(place)
        verify_command(folder / "x.perigee", rerun=False, as_json=True)
    finally:
        after = sorted(p for p in folder.rglob("*") if place not in (p, *p.parents))
        assert after == before


def make_policy(folder: Path) -> None:
    """A bundled policy as a file."""
    (folder / "own.policy").write_text(dict(_core.policies())["astraea"], encoding="utf-8")


def policy_file(draw: random.Random, folder: Path) -> None:
    """Damages a policy, by bytes or by numbers."""
    path = folder / "own.policy"
    if draw.random() < 0.5:
        path.write_bytes(bytes_of(draw, path.read_bytes()))
        return
    words = path.read_text(encoding="utf-8").split(" ")
    for _ in range(draw.randint(1, 3)):
        words[draw.randrange(len(words))] = str(draw.choice(ODD)).encode("utf-8", "replace").decode()
    path.write_text(" ".join(words), encoding="utf-8")


def read_policy(folder: Path) -> None:
    """Loads a policy; a ValueError names what is wrong."""
    try:
        policy.load(folder / "own.policy")
    except ValueError as error:
        assert str(folder) in str(error)  # noqa: PT017 - no test


TARGETS = (
    Target("tables", make_record, table_of_record, read_record),
    Target("manifest", make_record, lambda d, f: json_file(d, f / "out/cubic/seed1/manifest.json"), read_record),
    Target("summary", make_record, summary_file, read_summary),
    Target("sweep", make_sweep, sweep_file, read_sweep),
    Target("measured", make_measured, measured_file, read_measured),
    Target("parcel", make_parcel, parcel_file, read_parcel),
    Target("archive", make_archive, archive_file, read_archive),
    Target("policy", make_policy, policy_file, read_policy),
    *fuzz_inputs.TARGETS,
)
ACCEPTED = (PerigeeError, _core.ScenarioError, _core.RunError)


def main(most: int | str, seed: int, only: str | None) -> int:
    """Feeds all targets. Returns the exit code."""
    memory = Path("/dev/shm")
    warnings.simplefilter("ignore")
    bad = 0
    print(f"{'target':<14}{'inputs':>10}{'accepted':>10}{'found':>8}{'slowest':>10}{'inputs/s':>10}")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as base:
        for target in [t for t in TARGETS if only in (None, t.name)]:
            whole, here = Path(base) / f"{target.name}-whole", Path(base) / target.name
            whole.mkdir()
            target.make(whole)
            if (whole / "out/sweep.json").exists():
                shutil.copytree(whole / "out", whole / "copy")
            bad += _feed(target, whole, here, most, seed)
    return int(bad > 0)


def _numbers(most: int | str) -> Iterator[int]:
    """Numbers of inputs, up to a count or as long as CPU time remains ("60s")."""
    begin = time.process_time()
    for n in itertools.count():
        if n >= most if isinstance(most, int) else time.process_time() - begin > float(most.rstrip("s")):
            return
        yield n


def _hangs(*_: object) -> None:
    raise TimeoutError


def _feed(target: Target, whole: Path, here: Path, most: int | str, seed: int) -> int:
    draw, accepted, slowest = random.Random(seed), 0, 0.0
    reasons: dict[str, int] = {}
    said: dict[str, str] = {}
    began = time.perf_counter()
    count = 0
    for n in _numbers(most):
        count += 1
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(whole, here)
        target.damage(draw, here)
        since = time.process_time()
        why = ""
        if signal.getsignal(signal.SIGALRM) is _hangs:
            signal.alarm(HANG_S)
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                target.read(here)
            accepted += 1
        except ACCEPTED:
            pass
        except OSError as error:
            why = "" if error.filename else f"OSError: {str(error)[:20]}"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            import traceback

            last = traceback.extract_tb(error.__traceback__)[-1]
            why = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            said.setdefault(why, str(error)[:200])
        signal.alarm(0)
        took = time.process_time() - since
        slowest = max(slowest, took)
        if took > SLOW_S:
            why = why or f"took {took:.0f} s"
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MOST_BYTES:
            why = why or "took too much memory"
        if why:
            reasons[why] = reasons.get(why, 0) + 1
            if reasons[why] == 1:
                kept_at = FOUND / f"{target.name}-{seed}-{n}"
                shutil.copytree(here, kept_at, dirs_exist_ok=True)
                print(f"{target.name}: {why}: {said.get(why, '')}: {kept_at}", flush=True)
    rate = count / max(1e-9, time.perf_counter() - began)
    found = sum(reasons.values())
    print(f"{target.name:<14}{count:>10}{accepted:>10}{found:>8}{slowest:>9.2f}s{rate:>10.0f}", flush=True)
    return found


if __name__ == "__main__":
    words = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    signal.signal(signal.SIGALRM, _hangs)
    most = (words or ["1000"])[0]
    raise SystemExit(
        main(most if most.endswith("s") else int(most), int((words[1:] or ["1"])[0]), (words[2:] or [None])[0])
    )
