# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee doctor`: the state of the installation and its optional parts, with remedies."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.cli.options import JsonOption
from perigee_lab.common.exit_codes import FAILED
from perigee_lab.common.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDED = ("matplotlib", "numpy", "pandas", "pyarrow", "rich", "scipy", "typer")
EXTRAS = {
    "learn": ("reinforcement-learning environments", ("gymnasium", "pettingzoo")),
    "cluster": ("distributed runs", ("dask", "distributed", "dask-jobqueue", "s3fs")),
    "weather": ("rain attenuation", ("itur",)),
    "polars": ("records as Polars data frames", ("polars",)),
}
OTHER = (
    "the distribution perigee {version} is another project with a module `perigee`: pip uninstall perigee, then "
    "pip install --force-reinstall --no-deps perigee-lab"
)
"""On a distribution of PyPI that overwrites our module `perigee`."""
TOOLS = {
    "tshark": "import capture --wireshark",
    "chromium": "tests of the reports and the globe",
    "iperf3": "perigee exec with iperf3",
}
# A one-second run that must succeed.
TINY = """
[run]
duration = "1 s"
[source.dumbbell]
rtt = "20 ms"
[port.bottleneck]
rate = "10 Mbit"
queue = "1 bdp"
[[flow]]
cc = "cubic"
"""


@dataclass(frozen=True)
class Finding:
    """Result of the check of one part."""

    part: str
    ok: bool
    message: str
    """Message: versions and paths, or what is wrong with its remedy."""
    optional: bool = False


def command(as_json: JsonOption = False) -> int:
    """Check the installation and run a small test.

    Also lists the optional parts that are installed.
    """
    findings = []
    for finding in examined():
        findings.append(finding)
        if not as_json:
            mark = "ok" if finding.ok else "--" if finding.optional else "!!"
            say(f"{mark}  {finding.part:<14}{finding.message}", flush=True)
    broken = [f for f in findings if not f.ok and not f.optional]
    if as_json:
        print(json.dumps({"ok": not broken, "findings": [asdict(f) for f in findings]}, indent=1))
    elif not broken:
        print("perigee works; parts marked -- are optional and missing")
    return FAILED if broken else 0


def examined() -> Iterator[Finding]:
    """Findings of all parts, each checked when it is requested."""
    yield Finding("system", True, f"{platform.platform()}, {os.cpu_count()} cores")
    version = platform.python_version()
    yield Finding("Python", sys.version_info >= (3, 10), f"{version} ({sys.executable}); requires 3.10 or newer")
    yield _core()
    yield _packages()
    if (other := _version("perigee")) is not None:
        yield Finding("name", False, OTHER.format(version=other))
    yield _run()
    yield _folders()
    yield _kernels()
    for extra, (purpose, packages) in EXTRAS.items():
        missing = [p for p in packages if _version(p) is None]
        remedy = f"; {', '.join(missing)} missing: pip install 'perigee-lab[{extra}]'" if missing else ""
        yield Finding(extra, not missing, purpose + remedy, optional=True)
    for tool, purpose in TOOLS.items():
        where = shutil.which(tool)
        yield Finding(tool, where is not None, f"{purpose}: {where or 'not installed'}", optional=True)


def _core() -> Finding:
    try:
        from perigee_lab import _core as core
    except ImportError as error:
        return Finding("core", False, f"{error}: reinstall perigee (in a clone: make setup)")
    return Finding("core", True, f"perigee {core.__version__}, {Path(core.__file__)}")


def _version(package: str) -> str | None:
    # Imported here, since the import takes a tenth of the start-up time of other commands.
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> Finding:
    found = {p: _version(p) for p in NEEDED}
    missing = [p for p, v in found.items() if v is None]
    if missing:
        return Finding("packages", False, f"{', '.join(missing)} missing: pip install {' '.join(missing)}")
    return Finding("packages", True, ", ".join(f"{p} {v}" for p, v in found.items()))


def _run() -> Finding:
    """Runs one simulated second and writes its record to disk."""
    try:
        import perigee_lab as perigee

        with tempfile.TemporaryDirectory(prefix="perigee-doctor-") as name:
            file = Path(name) / "tiny.toml"
            file.write_text(TINY, encoding="utf-8")
            results = perigee.load(file).run_all(out=Path(name) / "out")
            goodput_mbps = results[0].summary["goodput_mbps"]
    except Exception as error:  # any failure is the finding
        return Finding("a run", False, f"{type(error).__name__}: {error}")
    return Finding("a run", goodput_mbps > 5.0, f"cubic, 1 s over 10 Mbit/s: {goodput_mbps:.2f} Mbit/s")


def _folders() -> Finding:
    """Checks the cache folder, which holds the kernels."""
    from perigee_lab.hosts import kernels

    folder = kernels.store()
    there = next(p for p in (folder, *folder.parents) if p.exists())
    ok = os.access(there, os.W_OK)
    free_gb = shutil.disk_usage(there).free / 1e9
    remedy = "" if ok else ": not writable; set XDG_CACHE_HOME to a writable folder"
    return Finding("cache", ok, f"{folder}, {free_gb:.0f} GB free{remedy}", optional=True)


def _kernels() -> Finding:
    from perigee_lab.hosts import kernels

    found = kernels.sound()
    names = list(dict.fromkeys(k.manifest.name for k in found if k.foreign is None))
    old = list(dict.fromkeys(k.manifest.name for k in found if k.foreign is not None and k.manifest.name not in names))
    remedy = f"{kernels.BUILD} rebuilds them" if names else kernels.BUILD
    parts = [f"kernels {', '.join(names)}; perigee kernel doctor boots one"] if names else []
    parts += [f"out of date: {', '.join(old)}: {remedy}"] if old else []
    return Finding("real hosts", bool(names), "; ".join(parts) or f"no kernel: {kernels.BUILD}", optional=True)
