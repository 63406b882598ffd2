"""One solve from spec to run folder: what `cgm solve` and the Python function `solve` have in common."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import threadpoolctl

from cgm_cli.errors import CgmError
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status
from cgm_cli.runs import provenance
from cgm_cli.runs.directory import RunDirectory
from cgm_cli.runs.files import utc_now
from cgm_cli.runs.log import RunLog
from cgm_cli.runs.signals import stop_on_signals
from cgm_cli.runs.summary import summarise
from cgm_cli.spec.load import describe_error, dump, load, loads
from cgm_cli.spec.load import resolved as resolve
from cgm_cli.templates.build import build

if TYPE_CHECKING:
    from cgm_cli.spec.model import Spec
    from cgm_cli.templates.build import Result

logger = logging.getLogger(__name__)


class Observer(Protocol):
    """Anything that is told of each record as it comes."""

    def on_record(self, record: IterationRecord) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """run: the folder. summary: the object that `--json` prints. fault: why the folder is incomplete, or None."""

    result: Result
    run: Path
    summary: dict[str, Any]
    fault: CgmError | None


def execute(
    source: str | Path | Mapping[str, Any],
    overrides: Sequence[str] = (),
    out: Path | None = None,
    observers: Callable[[str], Sequence[Observer]] = lambda sense: (),
    should_stop: Callable[[], Status | None] | None = None,
) -> Outcome:
    """Solve the spec in the file (or mapping) `source`, with `--set`-like `overrides`, into a run folder.

    out: the folder, else runs/<name>/<id> below the current one. observers: given the sense ("minimise" or "maximise"),
    who shall be told of each record. should_stop: the request of a caller who listens to signals already; without it,
    they are listened to from here to the end. Raises CgmError, in words that point into the spec, and
    KeyboardInterrupt on a second Ctrl-C; status.json tells of both. A disk that fails during the solve raises nothing:
    see `Outcome.fault`.
    """
    spec = loads(dump(dict(source)), overrides) if isinstance(source, Mapping) else load(Path(source), overrides)
    with ExitStack() as stack:
        if should_stop is None:
            should_stop = stack.enter_context(stop_on_signals())
        folder = stack.enter_context(RunDirectory.create(spec.name, out))
        folder.begin(spec.document.text, resolve(spec))
        stack.enter_context(folder.logging())
        stack.enter_context(_ending_recorded(folder, spec))
        # The libraries are loaded by now, and a limit holds for loaded libraries only.
        stack.enter_context(threadpoolctl.threadpool_limits(spec.threads))
        instance = build(spec)
        log = stack.enter_context(
            RunLog(folder.path / "run.h5", provenance.collect(resolve(spec), spec.seed, folder.started, _place(spec)))
        )
        logger.info("started in %s", folder.path)
        result = instance.solve(observers=[log, *observers(instance.sense)], should_stop=should_stop)
        ending = {"ended": utc_now(), "status": result.status.value}
        log.finish(result.solution, result.duals, ending, result.loss_image)
        log.close()
        summary = summarise(result, folder.path)
        logger.info("%s after %d iterations. %s", result.status.value, result.record.k, result.status.sentence)
        return Outcome(result, folder.path, summary, log.fault or _end(folder, result.status, result.message, summary))


def _place(spec: Spec) -> str | None:
    """The absolute path of the spec's file, beside which relative data files lie; None for a spec without one."""
    path = spec.document.path
    return None if path is None else str(path.absolute())


@contextmanager
def _ending_recorded(folder: RunDirectory, spec: Spec) -> Iterator[None]:
    """Let status.json tell of whatever ends the run other than a result."""
    try:
        yield
    except KeyboardInterrupt:
        _end(folder, Status.INTERRUPTED, "It was left at once, without a result.")
        raise
    except CgmError as error:
        # From here on nobody knows the spec any more, so the place in it goes into the message.
        error.message = describe_error(error, spec)
        error.path = ()
        logger.error("%s", error.message)
        _end(folder, Status.FAILED, error.message)
        raise
    except Exception as error:
        logger.exception("unexpected error")
        _end(folder, Status.FAILED, f"{type(error).__name__}: {error}")
        raise


def _end(
    folder: RunDirectory, status: Status, message: str, summary: Mapping[str, Any] | None = None
) -> CgmError | None:
    """Write the last status. The fault is returned, because by now there is something more important to tell."""
    try:
        folder.set_status(status, message, summary)
    except CgmError as fault:
        return fault
    return None
