# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Connection to a cluster: to an existing scheduler, or to one that is started for the call."""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import socket
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from perigee_lab.common import interpreter
from perigee_lab.common.files import RecordError
from perigee_lab.common.messages import complain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perigee_lab.runs.machines import Machines

CONNECT_S, ANSWER_S = 15.0, 1.0
SCHEMES = ("tcp", "tls")
# Key of Dask's configuration. Without encryption there is no authentication, and any peer of a
# scheduler or worker can run code as its user; only an explicit false permits this.
ENCRYPTED = "distributed.comm.require-encryption"
# Dask's message for a failed TLS handshake.
REFUSED = "FatalCommClosedError"
# Dask's listening side sends its protocols first, and this word is among them. Other servers do not
# send it.
GREETING = b"compression"
# Dask's default image.
DASKS_IMAGE = "ghcr.io/dask/dask"
LOCAL, SLURM, KUBERNETES = "local", "slurm", "kubernetes"


class Connection:
    """A connection to a scheduler."""

    def __init__(self, address: str, owned: Any = None) -> None:
        """Connects; `owned` is the cluster that was started for this call.

        Raises RecordError without an answer.
        """
        self.address, self.owned = address, owned
        if owned is None:
            _reach(address, CONNECT_S)
        self.client = self._connect(CONNECT_S)
        self.alone_since: float | None = None

    def _connect(self, patience_s: float) -> Any:
        try:
            return _made(module("distributed").Client, self.owned or self.address, patience_s)
        except TypeError:
            remedy = "Dask wants the certificates for it under distributed.comm.tls of its configuration"
            raise RecordError(f"--cluster {self.address}: {remedy}") from None
        except (OSError, TimeoutError, ValueError) as error:
            # If a peer without TLS sends before the handshake, the stream cannot be upgraded.
            if type(error).__name__ == REFUSED or "cannot convert to SSL" in str(error):
                raise RecordError(
                    f"--cluster {self.address}: what answers there has no TLS, or one of the two refuses the "
                    "other's certificate: both need the same authority (docs/how-to/cluster.md)"
                ) from None
            raise RecordError(f"--cluster {self.address}: no scheduler answers there: {_first_line(error)}") from None

    def is_there(self) -> bool:
        """Whether the scheduler is connected."""
        return bool(self.client.status == "running")

    def come_back(self, patience_s: float) -> None:
        """Waits for the scheduler. Raises RecordError if it does not return."""
        end_s = time.monotonic() + patience_s
        while True:
            with suppress(Exception):
                self.client.close(timeout=1)
            try:
                self.client = self._connect(min(CONNECT_S, patience_s))
                return
            except RecordError:
                if time.monotonic() > end_s:
                    raise RecordError(
                        f"the scheduler at {self.address} has been gone for {patience_s:.0f} s; what is complete is "
                        "kept, the same call resumes"
                    ) from None
                time.sleep(1.0)

    def workers(self) -> list[str]:
        """Addresses of the workers."""
        return list(self._info()["workers"])

    def threads(self) -> int:
        """Number of concurrent runs."""
        return sum(w["nthreads"] for w in self._info()["workers"].values())

    def lonely_s(self) -> float:
        """Time in s without any worker."""
        if self._info()["workers"]:
            self.alone_since = None
            return 0.0
        self.alone_since = self.alone_since or time.monotonic()
        return time.monotonic() - self.alone_since

    def refuse_without_jobs(self) -> None:
        """Raises RecordError if the batch queue has accepted no job that starts workers."""
        jobs = getattr(self.owned, "workers", {}).values()
        if jobs and all(j.status.name == "created" for j in jobs):
            raise RecordError("the queue refused every job that was to become a worker; what it says is above")

    def _info(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)
        return found

    def close(self) -> None:
        """Closes the client, and the cluster that was started for this call."""
        with suppress(Exception):
            self.client.close(timeout=2)
        if self.owned is not None:
            with suppress(Exception):
                self.owned.close(timeout=5)


def _made(client: Callable[..., Any], address: Any, patience_s: float) -> Any:
    """A client; one that cannot connect is dropped here, since its finalizer may print a traceback."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        try:
            # Messages are a few lines of JSON; heartbeats determine whether a peer is alive.
            return client(address, timeout=patience_s, set_as_default=False)
        except BaseException as error:
            failed = error
            link: BaseException | None = error
            while link is not None:
                # The frames of the traceback refer to the client.
                link.__traceback__ = None
                link = link.__cause__ or link.__context__
        raise failed
    finally:
        sys.unraisablehook = hook


def module(name: str) -> Any:
    """A module of Dask. Raises RecordError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        package = name.partition(".")[0].replace("_", "-")
        extra = "pip install 'perigee-lab[cluster]' (in a clone: make cluster)"
        remedy = extra if "kubernetes" not in name else f"pip install {package}"
        raise RecordError(f"--cluster needs {package}: {remedy}") from None


def _reach(address: str, patience_s: float) -> None:
    """Waits until a scheduler accepts connections, and reports the wait immediately.

    Dask's client would wait silently, and forever if another program listens on the port. Raises
    RecordError.
    """
    host, port = _host_and_port(address)
    end_s = time.monotonic() + patience_s
    said = False
    while True:
        try:
            with socket.create_connection((host, port), timeout=ANSWER_S) as connection:
                if not address.startswith("tls:"):
                    connection.settimeout(patience_s)
                    _expect_greeting(connection, address)
                return
        except socket.gaierror as error:
            raise RecordError(f"--cluster {address}: there is no host {host!r}: {error.strerror}") from None
        except OSError as error:
            last = error
        if not said:
            said = True
            complain(f"no scheduler answers at {address} yet; waiting {patience_s:.0f} s for it")
        if time.monotonic() > end_s:
            remedy = "start one there with `dask scheduler`, or check host, port (8786 as a rule) and firewall"
            raise RecordError(f"--cluster {address}: no scheduler answers there ({_first_line(last)}): {remedy}")
        time.sleep(ANSWER_S / 2)


def _expect_greeting(connection: socket.socket, address: str) -> None:
    """Raises RecordError if another program listens on the port.

    A busy scheduler may answer late.
    """
    heard = b""
    with suppress(TimeoutError):
        while len(heard) < 256 and GREETING not in heard:
            more = connection.recv(256)
            if not more:
                break
            heard += more
    if GREETING not in heard:
        raise RecordError(
            f"--cluster {address}: what listens there is not a scheduler of Dask: give the address that `dask "
            "scheduler` prints (its dashboard, 8787 as a rule, is another port)"
        )


def in_the_open() -> bool:
    """Whether the user's configuration of Dask allows connections without TLS."""
    return module("dask").config.get(ENCRYPTED, None) is False


def address_of(which: str) -> str:
    """An address with its scheme: TLS, unless Dask's configuration permits plain TCP.

    Raises RecordError for a rejected tcp://.
    """
    if "://" not in which:
        return f"{'tcp' if in_the_open() else 'tls'}://{which}"
    if which.startswith("tcp://") and not in_the_open():
        _host_and_port(which)
        secure = which.replace("tcp://", "tls://")
        raise RecordError(
            f"--cluster {which}: without TLS whoever reaches the scheduler runs code as you: start it and its "
            f"workers with certificates and give {secure}, or allow it with {ENCRYPTED}: false in Dask's configuration "
            "(docs/how-to/cluster.md)"
        )
    return which


def _host_and_port(address: str) -> tuple[str, int]:
    scheme, _, rest = address.rpartition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in SCHEMES:
        raise RecordError(
            f"--cluster {address}: {scheme}:// is not known; there are {', '.join(filter(None, SCHEMES))}"
        )
    if not (host and port.isdigit() and 0 < int(port) < 65536):
        raise RecordError(f"--cluster {address}: give host and port, as in tls://HOST:8786")
    return host.strip("[]"), int(port)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def check(which: str, *, reach: bool) -> None:
    """Raises RecordError if a cluster is unknown or does not answer, or its packages are missing.

    Without `reach`, the scheduler is not contacted: results that are in a store do not need it.
    """
    module("distributed")
    if which in (LOCAL, SLURM) and not in_the_open():
        # Needed to create certificates.
        module("cryptography")
    if which == SLURM:
        module("dask_jobqueue")
    elif which == KUBERNETES:
        module("dask_kubernetes.operator")
        kubernetes_arguments()
        _refuse_open_pods()
    elif which != LOCAL:
        _refuse_unknown(which)
        address = address_of(which)
        _host_and_port(address)
        if reach:
            _reach(address, CONNECT_S)


def _refuse_open_pods() -> None:
    if not in_the_open():
        raise RecordError(
            "--cluster kubernetes: the operator starts pods without TLS, so that every pod that reaches the scheduler "
            f"runs code as yours: where that is prevented (a network policy), set {ENCRYPTED}: false in Dask's "
            "configuration (docs/how-to/cluster.md)"
        )


def _refuse_unknown(which: str) -> None:
    if "://" not in which and ":" not in which:
        known = f"{LOCAL}, {SLURM}, {KUBERNETES}, or the address of a scheduler (tls://HOST:8786)"
        raise RecordError(f"--cluster {which!r}: give {known}")


@contextmanager
def connected(machines: Machines) -> Iterator[Connection]:
    """The requested cluster. Raises RecordError if it is unavailable."""
    module("distributed")
    for name in ("distributed", "distributed.nanny", "distributed.worker", "distributed.client", "bokeh"):
        # This module reports the relevant messages itself.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    assert machines.cluster is not None
    # Workers on this machine are interpreters that Dask starts now and later.
    with interpreter.spawning():
        owned = _started(machines.cluster, machines.jobs)
        connection = Connection(address_of(machines.cluster) if owned is None else owned.scheduler_address, owned)
        try:
            yield connection
        finally:
            connection.close()


def _started(which: str, jobs: int | None) -> Any:
    """Starts a cluster for this call; None if `which` is the address of an existing one."""
    if which == LOCAL:
        return module("distributed").LocalCluster(
            n_workers=jobs or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            # Other users of this machine can reach its ports, but not the certificates, which stay
            # in these processes.
            security=None if in_the_open() else True,
        )
    if which == SLURM:
        return _queued(jobs)
    if which == KUBERNETES:
        return _in_kubernetes(jobs)
    _refuse_unknown(which)
    return None


def _queued(jobs: int | None) -> Any:
    queued = module("dask_jobqueue")
    try:
        cluster = queued.SLURMCluster(**_secured())
    except (ValueError, TypeError) as error:
        remedy = "say cores, memory, queue and so on in ~/.config/dask/jobqueue.yaml (docs/how-to/cluster.md)"
        raise RecordError(f"--cluster slurm: {error}: {remedy}") from None
    if jobs is None:
        cluster.adapt(minimum=1, maximum=64)
    else:
        cluster.scale(n=jobs)
    return cluster


def _secured() -> dict[str, Any]:
    """TLS for workers of a batch queue, with the user's certificates or new ones for this call.

    New certificates are in files that only the user can read, in the shared folder of the queue or
    in the working folder of its jobs.
    """
    if in_the_open():
        return {}
    own = module("distributed.security").Security()
    has_some = own.get_connection_args("worker").get("ssl_context") is not None
    if has_some:
        return {"security": own, "protocol": "tls://"}
    shared = module("dask").config.get("jobqueue.slurm.shared-temp-directory", None)
    return {"security": True, "protocol": "tls://", "shared_temp_directory": shared or os.getcwd()}


def _in_kubernetes(jobs: int | None) -> Any:
    operator = module("dask_kubernetes.operator")
    asked = kubernetes_arguments()
    _refuse_open_pods()
    try:
        cluster = operator.KubeCluster(**asked)
    except Exception as error:  # from any of its libraries: kr8s, httpx, asyncio
        # At exit, the package would look for clusters to remove, and fail again.
        atexit.unregister(module("dask_kubernetes.operator.kubecluster.kubecluster").reap_clusters)
        remedy = (
            "`kubectl get pods` must work here, and the operator of dask-kubernetes run there (docs/how-to/cluster.md)"
        )
        raise RecordError(f"--cluster kubernetes: {_first_line(error)}: {remedy}") from None
    if jobs is None:
        cluster.adapt(minimum=1, maximum=64)
    else:
        cluster.scale(jobs)
    return cluster


def kubernetes_arguments() -> dict[str, Any]:
    """Arguments of a Kubernetes cluster; the others are in Dask's configuration.

    Raises RecordError without an image. Each call has its own cluster, with a unique name: if two
    calls shared a name, the first to end would also end the cluster of the other.
    """
    image = module("dask").config.get("kubernetes.image", None)
    if not image or image.startswith(DASKS_IMAGE):
        remedy = (
            "name one that has it under kubernetes.image in ~/.config/dask/kubernetes.yaml (docs/how-to/cluster.md)"
        )
        raise RecordError(f"--cluster kubernetes: the image {image} has no Perigee: {remedy}")
    return {"name": f"perigee-{uuid.uuid4().hex[:8]}", "image": image, "n_workers": 1}
