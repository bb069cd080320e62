# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Other machines.

A Dask cluster yields the same results, despite worker deaths, full disks and unshared folders.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from clusters import (
    Cluster,
    certificates,
    cluster,
    free_port,
    in_the_open,
    leftovers,
    listens,
    needs_dask,
    swept,
    table,
)
from conftest import Begin, Cli, little_room, wait_for
from perigee_lab.common.files import RecordError
from perigee_lab.runs import transfer
from perigee_lab.runs.machines import Machines

__all__ = ["certificates", "cluster", "in_the_open"]


@needs_dask
def test_a_local_cluster_leaves_what_this_machine_leaves_and_a_second_call_makes_nothing(
    cli: Cli, tmp_path: Path
) -> None:
    words = swept(tmp_path)
    assert cli(*words, "--out", "here").returncode == 0
    done = cli(*words, "--out", "there", "--cluster", "local")
    assert done.returncode == 0, done.stderr
    assert table(tmp_path / "there") == table(tmp_path / "here")
    assert leftovers(tmp_path / "there") == []
    made = {p: p.stat().st_mtime_ns for p in (tmp_path / "there").glob("cells/*/*/seed?/manifest.json")}
    assert len(made) == 16
    assert cli(*words, "--out", "there", "--cluster", "local").returncode == 0
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "there").glob("cells/*/*/seed?/manifest.json")} == made


@needs_dask
def test_runs_of_a_comparison_and_digests_of_a_study_go_over_a_cluster_too(cli: Cli, small: Path) -> None:
    here, there = (
        cli("run", small, "--out", "a", "--runs", 2),
        cli("run", small, "--out", "b", "--runs", 2, "--cluster", "local"),
    )
    assert here.returncode == there.returncode == 0, there.stderr
    folder = small.parent
    assert (folder / "a/summary.csv").read_bytes() == (folder / "b/summary.csv").read_bytes()
    study = ["study", "run", "leotcp/initial-phase", "--quick", "--json"]
    one, other = cli(*study, "--out", "c"), cli(*study, "--out", "d", "--cluster", "local")
    assert one.returncode == other.returncode == 0, other.stderr
    names = [sorted(p.name for p in (folder / x / "cache").rglob("*.digest")) for x in "cd"]
    assert names[0] == names[1] != []


@needs_dask
def test_a_worker_that_is_killed_costs_no_run(cluster: Cluster, cli: Cli, begin: Begin, tmp_path: Path) -> None:
    words = swept(tmp_path, "20 s")
    assert cli(*words, "--out", "here").returncode == 0
    cluster.worker()
    process = begin(*words, "--out", "there", "--cluster", cluster.address)
    for _ in range(3):
        before = len(list((tmp_path / "there").glob("cells/*/*/seed?/manifest.json")))
        wait_for(
            lambda before=before: len(list((tmp_path / "there").glob("cells/*/*/seed?/manifest.json"))) > before,
            process,
        )
        victim, _ = cluster.processes[-1], cluster.worker()
        victim.kill()
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert table(tmp_path / "there") == table(tmp_path / "here")
    assert leftovers(tmp_path / "there") == []


@needs_dask
@pytest.mark.alone
def test_a_worker_without_room_leaves_its_runs_to_the_others(cluster: Cluster, cli: Cli, tmp_path: Path) -> None:
    words = swept(tmp_path)
    assert cli(*words, "--out", "here").returncode == 0
    cluster.worker(little_room)
    alone = cli(*words, "--out", "there", "--cluster", cluster.address)
    assert alone.returncode != 0
    assert "File too large" in alone.stderr
    assert ".partial" not in alone.stderr
    cluster.worker()
    done = cli(*words, "--out", "there", "--cluster", cluster.address)
    assert done.returncode == 0, done.stderr
    assert table(tmp_path / "there") == table(tmp_path / "here")


ELSEWHERE = """
import sys
import perigee_lab as perigee
from perigee_lab.runs import cluster
if __name__ == "__main__":
    cluster.ClusterExecutor._sign = lambda self, task: "/nowhere"
    perigee.sweep("s.toml", {"source.dumbbell.rtt": ["10ms", "20ms"], "port.bottleneck.queue": ["1bdp", "2bdp"]},
                  ["cubic", "newreno"], seeds=[1, 2], out="there", cluster="local")
"""


@needs_dask
def test_results_come_back_from_workers_that_do_not_share_the_folder(cli: Cli, tmp_path: Path) -> None:
    assert cli(*swept(tmp_path), "--out", "here").returncode == 0
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE, encoding="utf-8")
    done = subprocess.run([sys.executable, "elsewhere.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert table(tmp_path / "there") == table(tmp_path / "here")
    assert leftovers(tmp_path / "there") == []


@needs_dask
def test_results_wait_in_a_store_for_whoever_asks(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    words, store = swept(tmp_path), f"file://{tmp_path}/store"
    first = cli(*words, "--out", "one", "--cluster", "local", "--store", store)
    assert first.returncode == 0, first.stderr
    objects = sorted((tmp_path / "store").iterdir())
    assert len(objects) == 16
    # In another folder and without a cluster that answers, all results are fetched from the store.
    second = cli(*words, "--out", "two", "--cluster", "tls://127.0.0.1:9", "--store", store)
    assert second.returncode == 0, second.stderr
    assert table(tmp_path / "one") == table(tmp_path / "two")
    objects[0].write_bytes(b"damaged")
    third = cli(*words, "--out", "three", "--cluster", "tls://127.0.0.1:9", "--store", store)
    assert third.returncode == 1
    assert "is damaged" in third.stderr


@needs_dask
def test_an_object_store_that_speaks_s3(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for name, value in {"ENDPOINT_URL": url, "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        wait_for(lambda: listens(port))
        make = "import s3fs; s3fs.S3FileSystem().mkdir('results')"
        subprocess.run([sys.executable, "-c", make], check=True)
        words = swept(tmp_path)
        assert cli(*words, "--out", "here").returncode == 0
        done = cli(*words, "--out", "there", "--cluster", "local", "--store", "s3://results/sweep")
        assert done.returncode == 0, done.stderr
        assert table(tmp_path / "there") == table(tmp_path / "here")
        again = cli(*words, "--out", "again", "--cluster", "tls://127.0.0.1:9", "--store", "s3://results/sweep")
        assert again.returncode == 0, again.stderr
        absent = cli(*words, "--out", "no", "--cluster", "local", "--store", "s3://nobody/sweep")
        assert absent.returncode != 0
        assert "Traceback" not in absent.stderr
    finally:
        server.kill()
        server.wait()


@needs_dask
def test_a_cluster_that_cannot_be_had_is_said_in_a_line(cli: Cli, small: Path) -> None:
    for words, said in (
        (["--cluster", "nowhere"], "local, slurm, kubernetes"),
        (["--cluster", "tls://127.0.0.1:9"], "start one there with `dask scheduler`"),
        (["--cluster", "127.0.0.1:9"], "no scheduler answers there"),
        (["--cluster", "tls://127.0.0.1"], "give host and port"),
        (["--cluster", "tcp://127.0.0.1:99999"], "give host and port"),
        (["--cluster", "udp://127.0.0.1:9"], "udp:// is not known"),
        (["--cluster", "tls://nobody.invalid:9"], "there is no host 'nobody.invalid'"),
        (["--cluster", "tcp://nobody.invalid:9"], "give tls://nobody.invalid:9"),
        # If it is installed, it would contact the cluster of the current user.
        *([] if find_spec("dask_kubernetes") else [(["--cluster", "kubernetes"], "pip install dask-kubernetes")]),
        (["--store", "s3://x/y"], "say --cluster, too"),
        (["--cluster", "local", "--store", "nix://x"], "--store nix://x"),
    ):
        done = cli("run", small, "--out", "o", *words)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


@needs_dask
@pytest.mark.parametrize("address", ["foo", "tls://nobody.invalid:9"])
def test_a_refused_cluster_leaves_no_folder(address: str, cli: Cli, small: Path, tmp_path: Path) -> None:
    study = ["study", "run", "geo/ping", "--quick", "--cc", "cubic"]
    docs = Path(__file__).parents[2] / "docs/studies"
    variant = ["study", "explain", "hypatia/rtts", "--variant", "samples", "--from", str(docs)]
    words = swept(tmp_path)
    for command in (words, ["run", small], study, variant):
        before = sorted(tmp_path.rglob("*"))
        done = cli(*command, "--out", "r/new", "--cluster", address)
        assert done.returncode == 2, done.stderr
        assert f"--cluster {address}: there is no host" in done.stderr or "--cluster 'foo': give local" in done.stderr
        assert sorted(tmp_path.rglob("*")) == before
    # Complete results need no cluster.
    assert cli(*words, "--out", "here").returncode == 0
    again = cli(*words, "--out", "here", "--cluster", address)
    assert again.returncode == 0, again.stderr


def test_what_is_missing_for_a_cluster_is_installed_by_pip_or_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RecordError, match=r"perigee-lab\[cluster\]' \(in a clone: make cluster\)"):
        Machines(cluster="local").check()


@needs_dask
def test_who_waits_for_a_scheduler_is_told_at_once(begin: Begin, small: Path, cluster: Cluster) -> None:
    port = free_port()
    process = begin("run", small, "--out", "o", "--cluster", f"tls://127.0.0.1:{port}")
    assert process.stderr is not None
    line = process.stderr.readline()
    line = line if isinstance(line, str) else line.decode()
    assert f"no scheduler answers at tls://127.0.0.1:{port} yet; waiting 15 s" in line
    # The scheduler comes back in time.
    cluster.end()
    late = Cluster(port)
    try:
        late.worker()
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
    finally:
        late.end()


@needs_dask
@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-OpenSSH_9.9\r\n", b"\0" * 400])
def test_another_program_at_the_address_is_no_scheduler(
    cli: Cli, small: Path, greeting: bytes, in_the_open: None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.sendall(greeting)
                    # The server sends nothing more, as if it waited for a request; if it has sent a
                    # greeting, it closes.
                    kept.append(connection) if not greeting else connection.close()

        kept: list[socket.socket] = []
        threading.Thread(target=listen, daemon=True).start()
        done = cli("run", small, "--out", "o", "--cluster", f"tcp://127.0.0.1:{server.getsockname()[1]}")
    assert done.returncode == 2, done.stderr
    assert "is not a scheduler of Dask" in done.stderr
    assert "Traceback" not in done.stderr


@needs_dask
def test_a_worker_with_another_build_is_refused_with_both_versions(cluster: Cluster, cli: Cli, tmp_path: Path) -> None:
    # The same package with another version, as if a later release were installed on the workers.
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "sitecustomize.py").write_text(
        "import perigee_lab._core as c, perigee_lab.runs.job as j\n"
        "c.__version__, j.core_version = '9.9.9', lambda: 'f' * 64\n",
        encoding="utf-8",
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path / "later"), *sys.path]))
    cluster.worker(env=environment)
    done = cli(*swept(tmp_path), "--out", "there", "--cluster", cluster.address)
    assert done.returncode != 0
    assert "Perigee 9.9.9 (build ffffffff), here is " in done.stderr, done.stderr
    assert "install the same wheel there" in done.stderr
    assert list((tmp_path / "there").rglob("manifest.json")) == []


@needs_dask
def test_when_the_last_worker_with_room_dies_its_runs_wait_for_the_next(
    cluster: Cluster, begin: Begin, cli: Cli, tmp_path: Path
) -> None:
    words = swept(tmp_path, "20 s")
    assert cli(*words, "--out", "here").returncode == 0
    cluster.worker(little_room)
    roomy = cluster.worker()
    process = begin(*words, "--out", "there", "--cluster", cluster.address)
    assert process.stderr is not None
    told = ""
    # One worker's disk is full, and the rest is given to the other worker, which dies; then, only
    # the full one is left.
    while "has no room" not in told:
        told = str(process.stderr.readline())
        assert told, "ended before a worker was full"
    roomy.kill()
    while "no worker with room is left" not in told:
        told = str(process.stderr.readline())
        assert told, "ended without room"
    cluster.worker()
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 0, rest
    assert table(tmp_path / "there") == table(tmp_path / "here")
    assert leftovers(tmp_path / "there") == []


@needs_dask
def test_pods_need_an_image_with_perigee_and_a_cluster_that_answers(
    cli: Cli, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_kubernetes")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    without = cli("run", small, "--out", "o", "--cluster", "kubernetes")
    assert without.returncode == 2, without.stderr
    assert "has no Perigee: name one that has it under kubernetes.image" in without.stderr.replace("\n", " ")
    monkeypatch.setenv("DASK_KUBERNETES__IMAGE", "registry.example/perigee:0.2")
    apart = cli("run", small, "--out", "o", "--cluster", "kubernetes")
    assert apart.returncode == 2, apart.stderr
    assert "the operator starts pods without TLS" in apart.stderr.replace("\n", " ")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "False")
    alone = cli("run", small, "--out", "o", "--cluster", "kubernetes")
    assert alone.returncode == 2, alone.stderr
    assert "`kubectl get pods` must work here" in alone.stderr.replace("\n", " ")
    assert "Traceback" not in alone.stderr


@needs_dask
def test_what_kubernetes_is_asked_for_keeps_to_the_operators_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = pytest.importorskip("dask_kubernetes.operator")
    jsonschema, yaml = pytest.importorskip("jsonschema"), pytest.importorskip("yaml")
    import dask

    from perigee_lab.runs.connect import kubernetes_arguments

    with dask.config.set({"kubernetes.image": "registry.example/perigee:0.2"}):
        asked = [kubernetes_arguments() for _ in range(2)]
    assert asked[0]["name"] != asked[1]["name"]
    resource = operator.make_cluster_spec(**asked[0])
    # The resource as installed by its Helm chart.
    chart = Path(operator.__file__).parent / "deployment" / "helm" / "dask-kubernetes-operator"
    definition = yaml.safe_load((chart / "crds" / "daskcluster.yaml").read_text(encoding="utf-8"))
    (version,) = [v for v in definition["spec"]["versions"] if v["name"] == "v1"]
    checker = jsonschema.Draft202012Validator(version["schema"]["openAPIV3Schema"])

    def pruned(value: Any) -> Any:
        """Removes nulls, as the server does before it validates."""
        if isinstance(value, dict):
            return {k: pruned(v) for k, v in value.items() if v is not None}
        return [pruned(v) for v in value] if isinstance(value, list) else value

    resource = pruned(resource)
    assert [e.message for e in checker.iter_errors(resource)] == []
    images = {c["image"] for part in ("worker", "scheduler") for c in resource["spec"][part]["spec"]["containers"]}
    assert images == {"registry.example/perigee:0.2"}
    # The schema rejects invalid values.
    resource["spec"]["worker"]["replicas"] = "many"
    assert [*checker.iter_errors(resource)] != []


@needs_dask
def test_ctrl_c_ends_a_sweep_on_a_cluster_and_the_same_call_goes_on(begin: Begin, cli: Cli, tmp_path: Path) -> None:
    words = swept(tmp_path, "60 s")
    process = begin(*words, "--out", "there", "--cluster", "local", "--jobs", "1")
    wait_for(lambda: any((tmp_path / "there").glob("cells/*/*/seed?/manifest.json")), process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "the same call resumes" in told
    done = cli(*words, "--out", "there")
    assert done.returncode == 0, done.stderr
    assert leftovers(tmp_path / "there") == []


# ---- without Dask --------------------------------------------------------------------------------


def test_of_two_attempts_one_result_stays(tmp_path: Path) -> None:
    target = tmp_path / "cubic" / "seed1"
    barrier = threading.Barrier(8)
    first: list[bool] = []

    def attempt(n: int) -> None:
        with transfer.scratch(target) as folder:
            made = folder / "seed1"
            made.mkdir()
            (made / "manifest.json").write_text(str(n), encoding="utf-8")
            barrier.wait()
            first.append(transfer.place(made, target, force=False))

    threads = [threading.Thread(target=attempt, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(first) == [False] * 7 + [True]
    assert [p.name for p in target.parent.iterdir()] == ["seed1"]
    with transfer.scratch(target) as folder:
        (folder / "seed1").mkdir()
        (folder / "seed1" / "manifest.json").write_text("new", encoding="utf-8")
        assert transfer.place(folder / "seed1", target, force=True)
    assert (target / "manifest.json").read_text(encoding="utf-8") == "new"


def test_a_network_folder_may_be_stale_for_a_moment_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    left = [3]

    def act() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(errno.ESTALE, "Stale file handle")
        return "done"

    assert transfer.retried(act) == "done"
    left[0] = 100
    with pytest.raises(OSError, match="Stale"):
        transfer.retried(act)
    left[0] = 100

    def forbidden() -> None:
        left[0] -= 1
        raise OSError(errno.EACCES, "no")

    with pytest.raises(OSError, match="no"):
        transfer.retried(forbidden)
    assert left[0] == 99


def test_what_comes_back_is_what_was_packed_or_refused(tmp_path: Path) -> None:
    made = tmp_path / "made" / "seed1"
    (made / "programs").mkdir(parents=True)
    (made / "manifest.json").write_text("{}", encoding="utf-8")
    (made / "programs" / "out").write_bytes(b"\0\1")
    data = transfer.pack(made)
    target = tmp_path / "out" / "cubic" / "seed1"
    assert transfer.unpack(data, target, force=False)
    assert (target / "programs" / "out").read_bytes() == b"\0\1"
    assert not transfer.unpack(data, target, force=False)
    for damaged in (b"", b"x" * 600, data[:700]):
        with pytest.raises((RecordError, OSError)):
            transfer.unpack(damaged, tmp_path / "other" / "seed1", force=False)
    assert not (tmp_path / "other").exists()


def test_a_store_without_a_cluster_has_no_effect_and_is_refused() -> None:
    with pytest.raises(RecordError, match="say --cluster, too"):
        Machines(store="s3://bucket/x")
