# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Authentication of a cluster, and results in a store checked against their keys."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusters import Cluster, certificates, cluster, in_the_open, needs_dask, swept, table
from conftest import Cli
from perigee_lab.common.files import RecordError
from perigee_lab.runs import transfer

__all__ = ["certificates", "cluster", "in_the_open"]

PROBED = """
import json, socket, sys
from perigee_lab.runs import connect
from perigee_lab.runs.machines import Machines
if __name__ == "__main__":
    with connect.connected(Machines(jobs=1, cluster="local")) as made:
        print(json.dumps([made.address, *made.workers()]), flush=True)
        sys.stdin.read()
"""


@needs_dask
def test_strangers_on_this_machine_run_nothing_in_a_local_cluster(tmp_path: Path) -> None:
    from distributed import Client
    from distributed.security import Security

    (tmp_path / "probed.py").write_text(PROBED, encoding="utf-8")
    words = [sys.executable, "probed.py"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=tmp_path, **pipes) as process:  # type: ignore[call-overload]
        try:
            addresses = json.loads(process.stdout.readline())
            assert len(addresses) >= 2
            assert [a.partition("://")[0] for a in addresses] == ["tls"] * len(addresses)
            for address in addresses:
                # Others connect neither without a certificate nor with their own.
                for other in (address.replace("tls://", "tcp://"), address):
                    with pytest.raises((OSError, TimeoutError, TypeError, ValueError)):
                        Client(other, security=Security.temporary() if other == address else None, timeout=3)
        finally:
            process.communicate(timeout=60)


@needs_dask
def test_a_scheduler_without_tls_is_used_only_where_dasks_configuration_says_so(
    cli: Cli, small: Path, in_the_open: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    made = Cluster(scheme="tcp")
    try:
        made.worker()
        for address in (made.address, made.address.removeprefix("tcp://")):
            done = cli("run", small, "--out", f"o{len(address)}", "--cluster", address)
            assert done.returncode == 0, done.stderr
        monkeypatch.delenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION")
        refused = cli("run", small, "--out", "p", "--cluster", made.address)
        assert refused.returncode == 2
        assert "without TLS whoever reaches the scheduler runs code as you" in refused.stderr.replace("\n", " ")
        certified = request.getfixturevalue("certificates")
        assert certified.is_dir()
        plain = cli("run", small, "--out", "p", "--cluster", made.address.replace("tcp", "tls"))
        assert (plain.returncode, "has no TLS" in plain.stderr) == (2, True), plain.stderr
        assert not (small.parent / "p").exists()
    finally:
        made.end()


@needs_dask
def test_missing_and_other_certificates_are_refused_in_a_line(
    cluster: Cluster, cli: Cli, small: Path, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed.security import Security

    cluster.worker()
    done = cli("run", small, "--out", "o", "--cluster", cluster.address)
    assert done.returncode == 0, done.stderr
    other = Security.temporary()
    for name, text in {"ca.pem": other.tls_ca_file, "cert.pem": other.tls_client_cert}.items():
        (certificates / name).write_text(text, encoding="ascii")
    (certificates / "key.pem").write_text(other.tls_client_key, encoding="ascii")
    stranger = cli("run", small, "--out", "p", "--cluster", cluster.address)
    assert stranger.returncode == 2, stranger.stderr
    assert f"--cluster {cluster.address}: what answers there has no TLS, or one of the two" in stranger.stderr
    assert "Traceback" not in stranger.stderr
    for name in [n for n in os.environ if n.startswith("DASK_DISTRIBUTED__COMM__TLS")]:
        monkeypatch.delenv(name)
    without = cli("run", small, "--out", "q", "--cluster", cluster.address)
    assert without.returncode == 2, without.stderr
    assert "certificates" in without.stderr
    assert "Traceback" not in without.stderr


@needs_dask
def test_workers_of_a_queue_get_certificates(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask_jobqueue")
    import dask
    from dask_jobqueue import SLURMCluster

    from perigee_lab.runs.connect import _secured

    monkeypatch.chdir(tmp_path)
    asked = _secured()
    assert (asked["security"], asked["protocol"]) == (True, "tls://")
    with SLURMCluster(cores=1, memory="1GB", **asked) as made:
        assert made.scheduler_address.startswith("tls://")
        script = made.job_script()
        assert "tls://" in script
        (key,) = [w for w in script.split() if ".dask-jobqueue.worker.key." in w]
        assert os.stat(key).st_mode & 0o77 == 0
    with dask.config.set({"distributed.comm.require-encryption": False}):
        assert _secured() == {}


@needs_dask
def test_exchanged_objects_of_a_store_are_refused(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    words, store = swept(tmp_path), tmp_path / "store"
    made = ("--cluster", "local", "--store", f"file://{store}")
    assert cli(*words, "--out", "one", *made).returncode == 0
    objects = sorted(store.iterdir())
    first, second = objects[0].read_bytes(), objects[1].read_bytes()
    objects[0].write_bytes(second)
    objects[1].write_bytes(first)
    done = cli(*words, "--out", "two", *made)
    assert done.returncode == 1, done.stderr
    errors = done.stderr.replace("\n", " ")
    for exchanged in objects[:2]:
        assert f"the object {exchanged.name} of the store is not the result for" in errors
        exchanged.unlink()
    assert "Traceback" not in errors
    again = cli(*words, "--out", "two", *made)
    assert again.returncode == 0, again.stderr
    assert table(tmp_path / "one") == table(tmp_path / "two")


def test_an_archive_is_checked_against_the_result_that_is_expected(tmp_path: Path) -> None:
    digest = tmp_path / "made" / "k.digest"
    digest.parent.mkdir()
    digest.write_bytes(b"digest")
    name, other = "a" * 64, "b" * 64
    target = tmp_path / "out" / "k.digest"
    for given, expected in ((None, name), (other, name)):
        with pytest.raises(RecordError, match=f"the object {name}.tar of the store is not the result"):
            transfer.unpack(
                transfer.pack(digest, given), target, force=False, expected=transfer.Expected(expected, "key")
            )
        assert not target.exists()
    assert transfer.unpack(transfer.pack(digest, name), target, force=False, expected=transfer.Expected(name, "key"))
    assert target.read_bytes() == b"digest"


@pytest.mark.parametrize(
    "url", ["sftp://me:hidden@host/x", "s3://bucket/x?sig=hidden", "abfs://x@y/z?sas_token=hidden"]
)
def test_a_store_whose_url_has_credentials_is_refused_without_them(cli: Cli, small: Path, url: str) -> None:
    done = cli("run", small, "--out", "o", "--cluster", "local", "--store", url)
    assert done.returncode == 2
    assert "hidden" not in done.stderr + done.stdout
    assert "a URL with a password or key is seen by others" in done.stderr.replace("\n", " ")
    assert not (small.parent / "o").exists()


def test_a_client_that_cannot_connect_is_dropped_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    from perigee_lab.runs.connect import _made

    class Client:
        def __init__(self, address: str, **_: object) -> None:
            raise TypeError(address)

        def __del__(self) -> None:
            raise TimeoutError("close")

    printed: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", printed.append)
    with pytest.raises(TypeError, match="here"):
        _made(Client, "here", 1.0)
    gc.collect()
    assert not printed
