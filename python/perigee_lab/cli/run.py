# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`perigee run`: a scenario, run and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perigee_lab.cli import given
from perigee_lab.cli.backend import BackendOption, ClockOption, HostsOption, KernelOption, chosen, name_of, refuse_idle
from perigee_lab.cli.expectations import JunitOption, Outlets, TapOption
from perigee_lab.cli.options import (
    CcOption,
    ClusterOption,
    JobsOption,
    JsonOption,
    SetOption,
    StoreOption,
    ThreadsOption,
    TleOption,
    TrustOption,
    check_free,
    machines_of,
    schemes_of,
)
from perigee_lab.cli.output import print_warnings
from perigee_lab.common.errors import stop


def command(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML), or an archive.")],
    cc: CcOption = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first run.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Repetitions with successive seeds.")] = None,
    jobs: JobsOption = None,
    threads: ThreadsOption = 1,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    tle: TleOption = None,
    sets: SetOption = None,
    pcap: Annotated[bool, typer.Option("--pcap", help="Also write captures (docs/reference/record.md).")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    dry: Annotated[bool, typer.Option("--dry", help="Print what would run, then exit.")] = False,
    save_job: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --dry: write jobs for run-job; FILE.perigee includes their inputs."),
    ] = None,
    backend: BackendOption = None,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    clock: ClockOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
    junit: JunitOption = None,
    tap: TapOption = None,
) -> int:
    """Run a scenario; table, record and report.

    Completed runs are skipped. Exit code 4: an expectation of the scenario has failed; 5: undecided.
    """
    from perigee_lab.cli.execution import Options, dry_command, run_archive_command, run_command
    from perigee_lab.runs.archive import is_archive

    outlets = Outlets(junit, tap)
    outlets.check()
    if is_archive(scenario):
        fixed = {"--cc": cc, "--seed": seed, "--runs": runs, "--tle": tle, "--set": sets, "--backend": backend}
        fixed |= {"--hosts": hosts, "--kernel": kernel, "--clock": clock, "--pcap": pcap or None, "--dry": dry or None}
        for option in (o for o, value in fixed.items() if value is not None):
            stop(f"{option}: {scenario} is an archive, which has its own: remove {option}")
        options = Options(machines_of(jobs, cluster, store, threads), out, force, report, as_json, outlets)
        return run_archive_command(scenario, options, trust=trust)
    if save_job is not None and not dry:
        stop("--save-job needs --dry")
    overrides = list(sets or [])
    overrides += [f"run.seed={seed}"] if seed is not None else []
    overrides += [f"run.runs={runs}"] if runs is not None else []
    schemes = schemes_of(cc)
    on = chosen(name_of(backend, hosts, clock), kernel)
    if threads > 1 and on.name != "simulator":
        stop(f"--threads divides a run of the simulator, but the backend is {on.name}: remove one of them")
    loaded = given.scenario(scenario, overrides, tle, trust=trust, as_json=as_json)
    refuse_idle(loaded, on)
    print_warnings(loaded.core.warnings)
    if dry:
        check_free(save_job, force=force)
        dry_command(loaded, schemes, save_job, pcap=pcap, backend=on, as_json=as_json)
        return 0
    options = Options(machines_of(jobs, cluster, store, threads), out, force, report, as_json, outlets)
    return run_command(loaded, schemes, options, pcap=pcap, backend=on)
