# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line. Heavy modules are imported by the command that needs them.

Exit codes: 0, or one of `perigee_lab.common.exit_codes`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from perigee_lab.cli import at_hosts
from perigee_lab.cli import doctor as doctor_cli
from perigee_lab.cli import emulate as emulate_cli
from perigee_lab.cli import fit as fit_cli
from perigee_lab.cli import kernel as kernel_cli
from perigee_lab.cli import learn as learn_cli
from perigee_lab.cli import measure as measure_cli
from perigee_lab.cli import measuring as measuring_cli
from perigee_lab.cli import results as results_cli
from perigee_lab.cli import sky as sky_cli
from perigee_lab.cli import sweep as sweep_cli
from perigee_lab.cli import timeline as timeline_cli
from perigee_lab.cli import view as view_cli
from perigee_lab.cli.arguments import without_programs
from perigee_lab.cli.groups import Grouped
from perigee_lab.cli.options import (
    CcOption,
    ClockOption,
    ClusterOption,
    ForceOption,
    HostsOption,
    JobsOption,
    JsonOption,
    KernelOption,
    ScenarioArg,
    SetOption,
    StoreOption,
    TleOption,
    TrustOption,
    check_free,
    count,
    machines_of,
    schemes_of,
)
from perigee_lab.common import quoting
from perigee_lab.common.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from perigee_lab.common.files import cannot_write, has_no_room, write_text
from perigee_lab.common.interrupt import announce
from perigee_lab.common.messages import complain
from perigee_lab.common.reading import UnreadableError

if TYPE_CHECKING:
    from perigee_lab.hosts.kernels import Kernel
    from perigee_lab.runs.scenario import Scenario
    from perigee_lab.runs.work import Hosts

app = typer.Typer(
    name="perigee",
    cls=Grouped,
    epilog="perigee COMMAND --help explains a command. To begin: perigee init mine.toml, then perigee run mine.toml",
    no_args_is_help=True,
    add_completion=False,
    # Plain help answers in a third of the time.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point: turns the errors that users cause into messages and exit codes."""
    try:
        app(args=without_programs(sys.argv[1:]))
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as end:
        _ends_with(end.code if isinstance(end.code, int) else 0 if end.code is None else FAILED)
        # Typer makes this of an interrupt, without a word.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            _interrupted()
        raise
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        sys.stderr.close()
        sys.exit(0)
    except UnicodeEncodeError:
        from perigee_lab.common.quantities import encodable

        odd = next((word for word in sys.argv[1:] if not encodable(word)), None)
        if odd is None:
            raise
        fail(f"{odd!r} is not UTF-8: what is written into a result has to be", BAD_INPUT)
    except OSError as error:
        if not (has_no_room(error) or isinstance(error, UnreadableError)):
            raise
        fail(cannot_write(Path("the result"), error), BAD_INPUT)


def _interrupted() -> NoReturn:
    _ends_with(INTERRUPTED)
    announce()
    raise SystemExit(INTERRUPTED)


def _ends_with(code: int) -> None:
    """Tells the core, if it was needed, what the process ends with: see `close_plugins`."""
    core = sys.modules.get("perigee_lab._core")
    if core is not None:
        core.ends_with(code)


def fail(message: str, code: int = FAILED) -> NoReturn:
    """Prints a message and ends."""
    complain(message)
    raise SystemExit(code)


def _scenario(
    path: Path, sets: list[str] | None, tle: Path | None = None, *, trust: bool, as_json: bool = False
) -> Scenario:
    """Loads a scenario or ends with every problem it has."""
    from perigee_lab import _core
    from perigee_lab.runs.scenario import open_file

    tle_set = [] if tle is None else [f"source.constellation.tle={quoting.toml(str(tle))}"]
    try:
        return open_file(path, [*(sets or []), *tle_set], trust=trust)
    except _core.ScenarioError as error:
        _bad_scenario(error, as_json=as_json)


def one_problem(key: str, message: str) -> str:
    """A problem that Python found, as the core lists its own."""
    return json.dumps([{"key": key, "message": message}])


def _bad_scenario(error: Exception, *, as_json: bool) -> NoReturn:
    message, problems = error.args
    if as_json:
        print(json.dumps({"ok": False, "problems": json.loads(problems)}, indent=1))
        raise SystemExit(BAD_INPUT)
    complain(message)
    raise SystemExit(BAD_INPUT)


@app.command()
def run(
    scenario: ScenarioArg,
    cc: CcOption = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first run.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Repetitions with successive seeds.")] = None,
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    tle: TleOption = None,
    sets: SetOption = None,
    pcap: Annotated[bool, typer.Option("--pcap", help="Also write captures (docs/record.md).")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier results.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    dry: Annotated[bool, typer.Option("--dry", help="Only say what would be run.")] = False,
    save_job: Annotated[Path | None, typer.Option(help="With --dry: write it as jobs, for run-job.")] = None,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    clock: ClockOption = "virtual",
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario and print a table per scheme. What is complete in the folder already is not run again."""
    from perigee_lab.cli.commands import Asked, dry_command, run_command

    if save_job is not None and not dry:
        fail("--save-job writes what would be run: say --dry, too", BAD_INPUT)
    given = list(sets or [])
    given += [f"run.seed={seed}"] if seed is not None else []
    given += [f"run.runs={runs}"] if runs is not None else []
    schemes = schemes_of(cc)
    on = _hosts(hosts, kernel, clock)
    loaded = _scenario(scenario, given, tle, trust=trust, as_json=as_json)
    at_hosts.refuse_idle(loaded, clock)
    if loaded.core.sweep() and not as_json:
        print(f"{scenario}: [sweep] is for `perigee sweep`; this runs the scenario without it", file=sys.stderr)
    if dry:
        check_free(save_job, force=force)
        raise SystemExit(dry_command(loaded, schemes, save_job, pcap=pcap, kernel=on, as_json=as_json))
    raise SystemExit(
        run_command(
            loaded, schemes, Asked(machines_of(jobs, cluster, store), out, force, report, as_json), pcap=pcap, kernel=on
        )
    )


def _kernel(hosts: str | None, name: str | None) -> Kernel | None:
    """The kernel of the real hosts that were asked for; ends where that cannot be."""
    if hosts in (None, "simulated"):
        if name is not None:
            fail("--kernel names the kernel of real hosts: say --hosts linux, too", BAD_INPUT)
        return None
    if hosts != "linux":
        fail(f"--hosts {hosts!r} is neither simulated nor linux", BAD_INPUT)
    from perigee_lab.hosts import kernels

    try:
        return kernels.find(name)
    except kernels.KernelError as error:
        fail(str(error), error.code)


def _hosts(hosts: str | None, name: str | None, clock: str) -> Hosts | None:
    """The real hosts that were asked for, by either clock; ends where they cannot be."""
    if clock == "virtual":
        return _kernel(hosts, name)
    if clock != "real":
        fail(f"--clock {clock!r} is neither virtual nor real", BAD_INPUT)
    if hosts != "linux" or name is not None:
        fail("--clock real needs --hosts linux without --kernel: hosts have this machine's kernel", BAD_INPUT)
    from perigee_lab.hosts.real_time import Machine, why_not

    if (missing := why_not()) is not None:
        fail(missing, BAD_INPUT)
    return Machine()


at_hosts.register(app, _scenario, _kernel)
sweep_cli.register(app, _kernel)
results_cli.register(app)
doctor_cli.register(app)


@app.command("run-job")
def run_job(
    file: Annotated[Path, typer.Argument(help="Jobs that `perigee run --dry --save-job` has written.")],
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the record; default: a fresh runs/NAME.")] = None,
    force: ForceOption = False,
    report: Annotated[bool, typer.Option(help="Write report.html.")] = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run saved jobs, here or on another machine: the tables are the same."""
    from perigee_lab.cli.commands import Asked, run_job_command

    raise SystemExit(
        run_job_command(file, Asked(machines_of(jobs, cluster, store), out, force, report, as_json), trust=trust)
    )


@app.command()
def check(
    scenario: ScenarioArg,
    cc: CcOption = None,
    tle: TleOption = None,
    sets: SetOption = None,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    clock: ClockOption = "virtual",
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check a scenario without running it; with --hosts linux, also what real hosts can carry of it."""
    from perigee_lab import _core
    from perigee_lab.extensions.congestion import named, with_params
    from perigee_lab.extensions.trust import PluginError
    from perigee_lab.runs.cost import hops_in_words
    from perigee_lab.runs.work import as_core

    asked = schemes_of(cc)
    on = as_core(_hosts(hosts, kernel, clock))
    loaded = _scenario(scenario, sets, tle, trust=trust, as_json=as_json)
    at_hosts.refuse_idle(loaded, clock)
    try:
        given, classes = named(asked)
        classes = with_params({**loaded.classes(), **classes}, loaded.core)
        names = loaded.core.schemes(given, on)
        world = loaded.core.world(loaded.core.seed)
        for name in names:
            world.check(name, classes, on)
        real = [] if on is None else world.real_flows(names[0], on)
    except _core.ScenarioError as error:
        _bad_scenario(error, as_json=as_json)
    except _core.RunError as error:
        # What the simulator cannot run.
        _bad_scenario(_core.ScenarioError(f"perigee: {error}", one_problem("run", str(error))), as_json=as_json)
    except PluginError as error:
        _bad_scenario(_core.ScenarioError(f"perigee: {error}", one_problem("cc", str(error))), as_json=as_json)
    found: dict[str, Any] = json.loads(world.describe())
    hops, cpu_s = world.estimate(on)
    runs = len(names) * loaded.core.runs
    shared = sky_cli.shared_choices(loaded)
    if as_json:
        told = {**found, "warnings": [*found["warnings"], *shared]} | ({} if on is None else {"real_flows": real})
        print(json.dumps({"ok": True, "cc": names, "estimate_cpu_s": cpu_s * runs, **told}, indent=1))
        return
    doubtful = found["warnings"] or shared
    print(f"{scenario}: " + ("can be run, but look before you trust it" if doubtful else "fine"))
    flows, seconds = count(len(found["flows"]), "flow"), loaded.core.duration_ns / 1e9
    print(f"  {flows}, {found['nodes']} nodes at the start, {seconds:g} s")
    if on is not None:
        more = f" and {len(real) - 8} more" if real[8:] else ""
        print(f"  on real hosts: {', '.join(real[:8]) or 'no flow'}{more}")
    for line in found["report"]:
        print(f"  {line}")
    sky_cli.print_remarks([*found["warnings"], *shared])
    for p in found["ports"][:8]:
        queue = f"{p['queue_bytes']} B" if p["queue_bytes"] is not None else f"{p['queue_packets']} packets"
        print(f"  port {p['name']} ({p['class']}): {p['rate_bps'] / 1e6:g} Mbit/s, queue {queue}")
    cost = f"{hops_in_words(hops * runs)}, {cpu_s * runs:.2g} s of one core"
    print(f"  {', '.join(names)}: {count(runs, 'run')}, about {cost}")


@app.command()
def schema(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
) -> None:
    """Print the JSON Schema of scenario files."""
    from perigee_lab import _core

    if markdown:
        print(_core.reference(), end="")
    else:
        print(json.dumps(json.loads(_core.json_schema()), indent=1))


@app.command()
def dissector() -> None:
    """Print the path of the dissector of telemetry: wireshark -X lua_script:$(perigee dissector)."""
    from importlib.resources import files

    print(files("perigee_lab") / "wireshark" / "orbcc.lua")


@app.command()
def schemes(
    file: Annotated[Path | None, typer.Argument(help="Python file: list its classes, without running it.")] = None,
    params: Annotated[bool, typer.Option("--params", help="List the parameters too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the congestion controls."""
    from perigee_lab import _core

    if file is not None:
        _list_classes(file, params=params, as_json=as_json)
        return
    found = json.loads(_core.schemes())
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for s in found:
        print(f"{s['id']:<14} {s['label']:<16} {s['summary']}")
        for p in s["params"] if params else []:
            unit = f" [{p['unit']}]" if p["unit"] else ""
            print(f"    {p['name']} = {json.dumps(p['default'])}{unit}: {p['help']} ({p['allowed']})")


def _list_classes(file: Path, *, params: bool, as_json: bool) -> None:
    from perigee_lab.extensions.congestion import described
    from perigee_lab.extensions.trust import PluginError

    try:
        found = described(file)
    except PluginError as error:
        fail(str(error), BAD_INPUT)
    if as_json:
        print(json.dumps(found, indent=1, default=str))
        return
    for c in found:
        print(f"{file}:{c['id']}  {c['summary']}")
        for name, value in c["params"].items() if params else []:
            print(f"    {name} = {value!r}")


@app.command()
def columns(
    names: Annotated[list[str] | None, typer.Argument(metavar="COLUMN", help="Columns; default: all.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what the columns of tables and summary.csv mean."""
    from perigee_lab.cli.columns import columns_command

    raise SystemExit(columns_command(names or [], markdown=markdown, as_json=as_json))


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("scenario.toml"),
    sky: Annotated[bool, typer.Option("--sky", help="Start from a constellation instead of a dumbbell.")] = False,
    force: ForceOption = False,
) -> None:
    """Write a commented scenario to start from."""
    from importlib.resources import files

    check_free(path, force=force)
    template = files("perigee_lab") / "templates" / ("sky.toml" if sky else "dumbbell.toml")
    try:
        write_text(path, template.read_text(encoding="utf-8"))
    except OSError as error:
        fail(cannot_write(path, error), BAD_INPUT)
    print(f"{path} is written; now: perigee run {path}")


@app.command("new-cc")
def new_cc(
    name: Annotated[str, typer.Argument(help="Its name, such as my_scheme.")],
    python: Annotated[bool, typer.Option("--python", help="A Python class instead of a Rust file.")] = False,
    folder: Annotated[Path, typer.Option("--in", help="Folder; for Rust, a checkout of Perigee.")] = Path(),
) -> None:
    """Write the skeleton of a congestion control, its test and its page."""
    from perigee_lab.cli.new_cc import NewSchemeError, label_of, python_files, rust_files

    try:
        written = python_files(name, folder) if python else rust_files(name, folder)
    except NewSchemeError as error:
        fail(str(error), BAD_INPUT)
    except OSError as error:
        fail(cannot_write(folder, error), BAD_INPUT)
    for path in written:
        print(path)
    if python:
        cc, test = f"{folder / name}.py:{label_of(name)}", f"; its test: pytest {folder / f'test_{name}.py'}"
        print(f"now: perigee run scenarios/micro/dumbbell.toml --cc {cc},cubic{test}")
    else:
        print(f"now: cargo test -p perigee-cc {name} && make setup; ", end="")
        print(f"perigee run scenarios/micro/dumbbell.toml --cc {name},cubic")


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="Folder of a record.")],
    b: Annotated[Path, typer.Argument(help="Folder of another.")],
    as_json: JsonOption = False,
) -> None:
    """Put two records side by side."""
    from perigee_lab.cli.commands import compare_command

    raise SystemExit(compare_command(a, b, as_json=as_json))


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a record.")],
    out: Annotated[Path | None, typer.Option(help="File to write; default: FOLDER/report.html.")] = None,
) -> None:
    """Write the report page of a record again."""
    from perigee_lab.cli.commands import report_command

    raise SystemExit(report_command(folder, out))


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a record.")],
    rerun: Annotated[bool, typer.Option(help="Run everything again, or only check the files.")] = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a record again and compare the hashes of all tables, and its summary with what follows from them."""
    from perigee_lab.runs.verify import verify_command

    raise SystemExit(verify_command(folder, rerun=rerun, trust=trust, as_json=as_json))


@app.command()
def bench(
    cases: Annotated[list[str] | None, typer.Argument(help="Cases; default: all.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each case; the fastest counts.")] = 5,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Count instructions too (slow; needs valgrind).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure the simulator's speed."""
    from perigee_lab.benchmarks.bench import bench_command

    raise SystemExit(bench_command(cases or [], repeat=repeat, instructions=instructions, as_json=as_json))


@app.command()
def validate(
    scenarios: Annotated[
        list[Path] | None, typer.Argument(metavar="SCENARIO", help="With --against linux: instead of the table.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="linux", help="Real hosts over the same network (docs/kernel.md).")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Only this group of cells (single, loss, step, …, ns3, inet).")
    ] = None,
    cc: CcOption = None,
    cell: Annotated[list[str] | None, typer.Option(help="Only this cell.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Cells at once; default: 2.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of each cell with random draws; default: 5.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV file for the verdicts; with --against linux a folder, also for records.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the full curves, to be compared as well.")] = None,
    plots: Annotated[Path | None, typer.Option(help="With --data: folder for pictures of both curves.")] = None,
    hosts: HostsOption = None,
    kernel: KernelOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the simulator with measured curves of Linux and of ns-3, or with real Linux hosts side by side.

    With --hosts linux, real hosts are compared with the curves of Linux.
    """
    from perigee_lab.validation.command import Asked, validate_command

    if against is not None:
        if against != "linux":
            fail(f"--against {against!r}: real hosts are linux", BAD_INPUT)
        if group or data or plots:
            fail("--group, --data and --plots belong to the measured curves, not to --against linux", BAD_INPUT)
        loaded = [_scenario(s, None, trust=trust, as_json=as_json) for s in scenarios or []]
        if loaded and cell:
            fail("--cell names cells of the table: leave it out, or the scenarios", BAD_INPUT)
        raise SystemExit(_against_linux(loaded, schemes_of(cc), cell, jobs, seeds, out, kernel, as_json=as_json))
    if scenarios:
        fail("scenarios are compared with --against linux", BAD_INPUT)
    on = _kernel(hosts, kernel)
    if seeds == 1:
        fail("--seeds 1: chance shows from two on", BAD_INPUT)
    if plots is not None and data is None:
        fail("--plots draws the full curves: say where they are with --data", BAD_INPUT)
    schemes = schemes_of(cc)
    asked = Asked(group or [], schemes, cell or [], jobs or 2, seeds or 5, out, data, plots, as_json, on)
    raise SystemExit(validate_command(asked))


def _against_linux(
    scenarios: list[Scenario],
    schemes: list[str],
    cells: list[str] | None,
    jobs: int | None,
    seeds: int | None,
    out: Path | None,
    kernel: str | None,
    *,
    as_json: bool,
) -> int:
    from perigee_lab.validation.against_linux import Asked, compare_command

    on = _kernel("linux", kernel)
    assert on is not None, "without one the command has ended"
    return compare_command(Asked(scenarios, schemes, cells or [], jobs, seeds, out, as_json), on)


@app.command()
def trace(
    folder: Annotated[
        Path, typer.Argument(help="Folder of the record of one run (RECORD/SCHEME/seedN), or of several.")
    ],
    flow: Annotated[str, typer.Option(help="Number of the flow, from 1, or its name.")] = "1",
    begin: Annotated[str, typer.Option("--from", help="Begin, such as 14.9s.")] = "0s",
    end: Annotated[str | None, typer.Option("--to", help="End; default: a second later.")] = None,
    cc: Annotated[str | None, typer.Option(help="Scheme, where the record has several.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed, where the record has several.")] = None,
    at: Annotated[str, typer.Option(help="Where to look: sender, receiver or both.")] = "sender",
    csv: Annotated[bool, typer.Option("--csv", help="CSV instead of text.")] = False,
    qlog: Annotated[Path | None, typer.Option(help="Write a qlog file instead.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write text or CSV to this file.")] = None,
    trust: TrustOption = False,
) -> None:
    """Print the packets of a flow, from a run that is made again."""
    from perigee_lab.runs.trace import Wanted, trace_command

    wanted = Wanted(flow, begin, end, cc, seed, at, trust)
    raise SystemExit(trace_command(folder, wanted, as_csv=csv, qlog=qlog, out=out))


@app.command()
def trust(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Python files; default: list them.")
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Take the answer back.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let scenarios and records run a Python file as it is now; one that changes is asked for again."""
    from perigee_lab.cli.trust import trust_command

    raise SystemExit(trust_command(files or [], forget=forget, as_json=as_json))


def _show_version(value: bool) -> None:
    if value:
        from perigee_lab import _core

        print(_core.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A laboratory for transport protocols over satellite networks."""


measure_cli.register(app)
measuring_cli.register(app)
fit_cli.register(app)
sky_cli.register(app, _scenario)
view_cli.register(app)
timeline_cli.register(app, _scenario)
emulate_cli.register(app, _scenario)
kernel_cli.register(app)
learn_cli.register(app)
