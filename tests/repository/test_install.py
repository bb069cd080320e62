# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Installation: the wheel in an empty environment, without a compiler, Rust or the clone."""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from perigee_lab import _core
from perigee_lab.hosts.real_time import AGENT

ROOT = Path(__file__).parents[2]
SOURCES = {".rs", ".py", ".js", ".html", ".css", ".toml"}
NOT_NEEDED = ["cargo", "rustc", "cc", "gcc", "clang", "ld", "make", "git"]


def call(*words, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
    return done.stdout


def released(dist):
    """The wheel for this machine in a folder, unless it is older than a source file."""
    found = sorted(dist.glob(f"perigee_lab-{_core.__version__}-*{platform.machine()}.whl"))
    assert found, f"no wheel for this machine in {dist}: make dist"
    sources = [p for folder in ("crates", "python") for p in (ROOT / folder).rglob("*") if p.suffix in SOURCES]
    newest = max(sources, key=lambda p: p.stat().st_mtime)
    assert found[-1].stat().st_mtime > newest.stat().st_mtime, f"{newest} is newer than {found[-1]}: make dist"
    return found[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this code: that of `make dist` if it is under test, otherwise a new build."""
    if "PERIGEE_DIST" in os.environ:
        return released(ROOT / os.environ["PERIGEE_DIST"])
    out = tmp_path_factory.mktemp("wheel")
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.is_file():
        pytest.skip("maturin is not installed")
    call(sys.executable, ROOT / ".ci/dist", "capi", cwd=ROOT)
    try:
        call(maturin, "build", "--release", "--locked", "--out", out, cwd=ROOT)
    finally:
        shutil.rmtree(ROOT / "python/perigee_lab/capi")
    (file,) = out.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A function that runs commands in an environment with only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    call(sys.executable, "-m", "venv", folder / "env")
    pip = [folder / "env/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call(*pip, "--only-binary", ":all:", "--constraint", ROOT / "requirements.lock", wheel)
    home = folder / "home"
    home.mkdir()
    environment = {"PATH": str(folder / "env/bin"), "HOME": str(home), "LANG": "C.UTF-8"}
    for tool in NOT_NEEDED:
        assert not (folder / "env/bin" / tool).exists()
    return lambda *words: call(folder / "env/bin" / words[0], *words[1:], cwd=home, env=environment), home


@pytest.mark.slow
def test_the_wheel_runs_the_demo_in_an_empty_environment(installed):
    run, home = installed
    assert run("perigee", "--version").strip() == _core.__version__
    assert "perigee works" in run("perigee", "doctor")
    table = run("perigee", "run", "scenarios/leo/london-new-york.toml", "--out", "demo")
    assert all(scheme in table for scheme in ("cubic", "bbr", "orbcc"))
    assert (home / "demo/report.html").stat().st_size > 100_000
    run("perigee", "view", "demo", "--html", "globe.html")
    assert (home / "globe.html").stat().st_size > 1_000_000


@pytest.mark.slow
@pytest.mark.skipif(not AGENT.is_file(), reason="no agent of hosts in real time: make agent")
def test_the_wheel_carries_the_agent_of_hosts_in_real_time(wheel):
    with zipfile.ZipFile(wheel) as opened:
        found = opened.getinfo("perigee_lab/hosts/perigee-hosts")
    assert found.external_attr >> 16 & 0o111


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_program_in_c_is_compiled_and_run_with_the_library_in_the_wheel(wheel, installed, tmp_path):
    assert wheel.stat().st_size < 40e6
    run, _ = installed

    def output(flags):
        program = tmp_path / "quic_stack"
        source = ROOT / "crates/perigee-capi/examples/quic_stack.c"
        call("cc", "-std=c99", "-Wall", "-Werror", source, *flags.split(), "-o", program)
        return call(program, "bbr3", env={"PATH": os.defpath})

    found = output(run("perigee", "capi", "--cflags", "--libs"))
    assert found.startswith("bbr3: 1")
    assert f"version {_core.__version__}" in found
    if shutil.which("pkg-config"):
        there = {**os.environ, "PKG_CONFIG_LIBDIR": run("perigee", "capi", "--pkgconfig").strip()}
        assert output(call("pkg-config", "--cflags", "--libs", "perigee-cc", env=there)) == found
        assert call("pkg-config", "--modversion", "perigee-cc", env=there).strip() == _core.__version__


@pytest.mark.slow
def test_what_perigee_proposes_can_be_done_without_a_clone(installed):
    run, _ = installed
    proposed = run("perigee", "init", "mine.toml").split("next: ")[1]
    run(*proposed.split(), "--set", "run.duration=2s")
    proposed = run("perigee", "new-cc", "my_scheme", "--python").split("next: ")[1].split("; ")[0]
    run(*proposed.split(), "--set", "run.duration=2s")


@pytest.mark.slow
def test_the_wheel_of_the_studies_brings_their_command_and_scenarios(installed, tmp_path):
    run, home = installed
    options = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    call(sys.executable, "-m", "pip", "wheel", *options, "--no-build-isolation", "-w", tmp_path, ROOT / "studies")
    (wheel,) = tmp_path.glob("perigee_lab_studies-*.whl")
    assert wheel.stat().st_size < 2e6
    call(home.parent / "env/bin/python", "-m", "pip", "install", *options, "--no-index", wheel)
    assert "leo-cc/fairness" in run("perigee", "study", "list")
    assert "packets" in run("perigee", "check", "scenarios/studies/orbcc/two-flows.toml", "--cc", "orbcc")


@pytest.mark.release
@pytest.mark.slow
def test_the_sdist_has_all_that_its_build_reads(tmp_path):
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.is_file():
        pytest.skip("maturin is not installed")
    call(maturin, "sdist", "--out", tmp_path, cwd=ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    (tree,) = (p for p in tmp_path.iterdir() if p.is_dir())
    # Type checking reads every file that a build reads.
    shared = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target/sdist")}
    call("cargo", "check", "--locked", "--offline", "-p", "perigee-py", cwd=tree, env=shared)
    assert (tree / "python/perigee_lab/scenarios/leo/london-new-york.toml").is_file()
    assert not list(tree.rglob("*.so"))


@pytest.mark.release
@pytest.mark.slow
def test_the_steps_of_the_container_file_work_as_a_script(tmp_path):
    if shutil.which("cargo") is None:
        pytest.skip("the first stage has Rust")
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    steps = [line.removeprefix("RUN ") for line in text.splitlines() if line.startswith("RUN ")]
    build, install = (
        next(s for s in steps if "maturin build" in s),
        next(s for s in steps if s.startswith("pip install")),
    )
    build = build.replace("/tools", f"{tmp_path}/tools").replace("/wheels", f"{tmp_path}/wheels")
    call("bash", "-euc", build, cwd=ROOT)
    call(sys.executable, "-m", "venv", tmp_path / "image")
    lock = str(ROOT / "requirements.lock")
    install = install.split(" && ")[0].replace("/wheels", f"{tmp_path}/wheels").replace("/tmp/requirements.lock", lock)
    call("bash", "-euc", f"{tmp_path}/image/bin/{install}")
    assert "Usage: perigee" in call(tmp_path / "image/bin/perigee", "--help", env={"PATH": str(tmp_path / "image/bin")})
