# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Placement of tasks on cores of this machine or on a cluster, for all commands with runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from perigee_lab.common.credentials import hidden
from perigee_lab.common.files import RecordError
from perigee_lab.runs.executor import Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perigee_lab.extensions.trust import Permission
    from perigee_lab.runs.executor import Outcome, Task


class Pool(Protocol):
    """Runs tasks."""

    def run(self, tasks: Sequence[Task]) -> None:
        """Runs all tasks and reports the outcome of each."""

    def stop(self) -> None:
        """Makes `run` return before all tasks are done."""


@dataclass(frozen=True)
class Machines:
    """Machines that a call may use."""

    jobs: int | None = None
    """Concurrent runs; None = the number of cores of this machine, or of the cluster."""
    cluster: str | None = None
    """Address of a Dask scheduler, or local, slurm, kubernetes; None = this machine's cores."""
    store: str | None = None
    """URL of an object store in which a cluster's workers leave results."""
    threads: int = 1
    """Threads of one run of the simulator on this machine; no result depends on them."""

    def __post_init__(self) -> None:
        """Rejects options without effect."""
        if self.store is not None and self.cluster is None:
            raise RecordError("--store is where the workers of a cluster leave results: say --cluster, too")
        for option, url in (("--store", self.store), ("--cluster", self.cluster)):
            if url is not None and hidden(url) != url:
                remedy = "its client reads credentials from its own configuration (docs/how-to/cluster.md)"
                raise RecordError(f"{option} {hidden(url)}: a URL with a password or key is seen by others; {remedy}")

    @property
    def cores(self) -> int:
        """Concurrent runs on this machine."""
        return max(1, self.jobs or (os.cpu_count() or 1) // self.threads)

    def check(self) -> None:
        """Raises RecordError if the cluster is already known to be unavailable."""
        if self.cluster is not None:
            from perigee_lab.runs.connect import check

            check(self.cluster, reach=self.store is None)

    def pool(
        self,
        permission: Permission,
        on_outcome: Callable[[Outcome], None],
        on_progress: Callable[[float], None] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Pool:
        """The executor for these machines; takes the arguments of `Executor`."""
        if self.cluster is None:
            return Executor(self.cores, permission, on_outcome, on_progress, about, self.threads)
        from perigee_lab.runs.cluster import ClusterExecutor

        return ClusterExecutor(self, permission, on_outcome, on_progress, about)


HERE = Machines()
