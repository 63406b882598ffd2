"""dask.distributed as the engine: workers on this machine, of a scheduler that runs already, or in jobs of a queue.

A task on a worker only looks after its run, which is a process of its own; what it needs is on the shared disk. When a
worker dies, dask gives its task to another one, which waits for the run if that is still alive, or goes on with it.
"""

from __future__ import annotations

import logging
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cgm_cli.errors import ProblemError, part
from cgm_cli.sweeps.executors.local import QueuedPoint, SweepObserver, order_of
from cgm_cli.sweeps.manifest import Manifest, ManifestRow
from cgm_cli.sweeps.model import DaskSpec
from cgm_cli.sweeps.task import GRACE, AttemptEnding, Kind, Order, run

if TYPE_CHECKING:
    from distributed import Client

_TURN = 0.05
_COUNT_AGAIN = 1.0
_CLUSTERS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
}


def run_dask(
    manifest: Manifest,
    rows: Iterable[ManifestRow],
    spec: DaskSpec,
    workers: int,
    retries: int,
    observer: SweepObserver,
    should_stop: Callable[[], bool],
    stop_file: Path,
) -> None:
    """Compute the points on dask workers, as many at a time as these have threads, until all have ended or
    `should_stop` says so.

    stop_file: made when it is time to stop; the tasks look for it. workers: how many to start on this machine, where
    `spec` names neither a scheduler nor a queue. Raises ProblemError if there is no dask, or it cannot be reached.
    """
    with client_of(spec, workers) as client:
        _run(client, manifest, rows, retries, observer, should_stop, stop_file)


def _run(
    client: Client,
    manifest: Manifest,
    rows: Iterable[ManifestRow],
    retries: int,
    observer: SweepObserver,
    should_stop: Callable[[], bool],
    stop_file: Path,
) -> None:
    queue = deque(QueuedPoint(row) for row in rows)
    pending: dict[Any, QueuedPoint] = {}
    threads, count_again = 0, 0.0
    stopping, give_up = False, float("inf")
    try:
        while (queue or pending) and time.monotonic() < give_up:
            if not stopping and should_stop():
                # Workers that are lost meanwhile never answer.
                stopping, give_up = True, time.monotonic() + 1.5 * GRACE
                stop_file.touch()
                queue.clear()
            now = time.monotonic()
            if now >= count_again:
                count_again = now + _COUNT_AGAIN
                threads = sum(cast(dict[str, int], client.nthreads()).values())
            # No more than can run: what waits here, and not there, need not be called back.
            while queue and len(pending) < threads:
                turn = queue.popleft()
                order = order_of(manifest, turn.row)
                future = client.submit(look_after, order, str(stop_file.absolute()), pure=False)
                pending[future] = turn
                observer.started(turn.row)
            for future in [future for future in pending if future.done()]:
                turn = pending.pop(future)
                ending = _ending(future)
                again = turn.again(ending, retries) and not stopping
                if again:
                    queue.append(turn)
                observer.ended(turn.row, ending, final=not again)
            observer.tick()
            if pending or queue:
                time.sleep(_TURN)
    except BaseException:
        with suppress(OSError):
            stop_file.touch()
        raise


def look_after(order: Order, stop_file: str) -> AttemptEnding:
    """What a worker does: run the task to its end, or until the file appears."""
    return run(order, _Looking(stop_file), patience=float("inf"))


class _Looking:
    """Whether a file is there, looked up twice a second."""

    def __init__(self, path: str):
        self._exists = partial(Path(path).exists)
        self._next = 0.0
        self._found = False

    def __call__(self) -> bool:
        now = time.monotonic()
        if not self._found and now >= self._next:
            self._next = now + 0.5
            self._found = self._exists()
        return self._found


def _ending(future: Any) -> AttemptEnding:
    error = future.exception()
    if error is None:
        return future.result()
    if type(error).__name__ == "KilledWorker":
        return AttemptEnding(Kind.FAILED, message="every worker that was given it died")
    return AttemptEnding(Kind.FAILED, message=f"dask: {type(error).__name__}: {error}")


@contextmanager
def client_of(spec: DaskSpec, workers: int) -> Iterator[Client]:
    """A client of the scheduler that `spec` names, or of a cluster that lives as long as the `with`."""
    with part("cluster", "the executor `dask`"):
        import distributed
    logging.getLogger("distributed").setLevel(logging.ERROR)
    with ExitStack() as stack:
        try:
            if spec.scheduler is not None:
                address: Any = spec.scheduler
            elif spec.queue is not None:
                address = stack.enter_context(_queue(spec))
            else:
                # The memory of a run is not that of its worker. The dashboard would take a port.
                no_port: Any = None
                with _without_ctrl_c():
                    cluster = distributed.LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        memory_limit=0,
                        dashboard_address=no_port,
                        silence_logs=logging.CRITICAL,
                        preload=["cgm_cli.sweeps.executors.dask_worker"],
                    )
                address = stack.enter_context(cluster)
            client = stack.enter_context(distributed.Client(address, timeout=30))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise ProblemError(f"dask: no cluster can be reached: {error}. Nothing was started.") from error
        yield client


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Threads and processes that are started here never get the Ctrl-C that a terminal sends to all; we get it after.

    A worker ignores it by itself, but not before Python has started there.
    """
    # It lets the signal through again where it is started, which would be here, just before the first worker.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _queue(spec: DaskSpec) -> Any:
    ctrl_c = signal.getsignal(signal.SIGINT)
    try:
        with part("cluster", "`dask.queue`"):
            import dask_jobqueue
    finally:
        # Its import lets Ctrl-C end the process at once.
        signal.signal(signal.SIGINT, ctrl_c)
    assert spec.queue is not None
    try:
        cluster = getattr(dask_jobqueue, _CLUSTERS[spec.queue])(**spec.options)
        cluster.scale(jobs=spec.jobs)
    except Exception as error:
        raise ProblemError(f"`dask.options` are not what dask-jobqueue needs for {spec.queue}: {error}") from error
    return cluster
