"""One solve from spec to run folder: what `cgm solve` and the Python function `solve` have in common."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import threadpoolctl

from cgm_cli.errors import CgmError, DataError, NumericalError, wrapped
from cgm_cli.methods.recorder import Observer
from cgm_cli.methods.status import Leave, Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.numerics import compiled
from cgm_cli.numerics.threads import threads
from cgm_cli.readers.kinds import MadeSpec
from cgm_cli.runs import provenance
from cgm_cli.runs.checkpoint import Checkpointer
from cgm_cli.runs.directory import RunDirectory
from cgm_cli.runs.files import utc_now
from cgm_cli.runs.load import load_run
from cgm_cli.runs.log import Late, RunLog
from cgm_cli.runs.mapping import Handed, hand_over
from cgm_cli.runs.resume import check_same_data, check_unchanged, checkpoint_of, former_run, rows_before, spec_of
from cgm_cli.runs.signals import stop_on_signals
from cgm_cli.runs.summary import summarise, unbegun
from cgm_cli.solving.solve import Pack
from cgm_cli.spec.load import load, loads, settle_place, written
from cgm_cli.spec.load import resolved as resolve
from cgm_cli.templates.build import build

if TYPE_CHECKING:
    from cgm_cli.runs.load import Run
    from cgm_cli.solving.result import Result
    from cgm_cli.spec.model import Spec

logger = logging.getLogger(__name__)

_WHEN = {True: "before the next step, once the bound is certified", False: "once the bound is certified"}
"""When a run is left: in the loop, or behind it."""

GRACE = 1.0
"""Seconds past its limit of time that a run may take to come to its first step."""

LEFT = "It was left at once, without a result."


@dataclass(frozen=True)
class Execution:
    """status: how the run ended. run: the folder. summary: the object that `--json` prints. fault: why the folder is
    incomplete, or None. result: None where there was nothing left to do for a run that had ended, or where it was left
    before its first step. legend: what the metrics are, by their names.
    """

    status: Status
    result: Result | None
    run: Path
    summary: dict[str, Any]
    fault: CgmError | None = None
    legend: Mapping[str, str] = field(default_factory=dict)


def execute(
    source: str | Path | MadeSpec | Mapping[str, Any] | None,
    overrides: Sequence[str] = (),
    out: Path | None = None,
    observers: Callable[[str, StopRules], Sequence[Observer]] = lambda sense, rules: (),
    should_stop: Callable[[], Status | None] | None = None,
    resume: Path | None = None,
) -> Execution:
    """Solve the spec in the file `source`, one that was made of a data file, or a mapping that may hold arrays, with
    `--set`-like `overrides`, into a run folder.

    out: the folder, else runs/<name>/<id> below the current one. resume: instead, the folder of a run to go on with; it
    is begun if it is not there yet, and `source` None stands for the spec it holds. observers: given the sense
    ("minimise" or "maximise") and when the run ends, who shall be told of each record. should_stop: the request of a
    caller who listens to signals already; without it, they are listened to from here to the end. Raises CgmError, in
    words that point into the spec, and KeyboardInterrupt on a second Ctrl-C; status.json tells of both. A disk that
    fails during the solve raises nothing: see `Execution.fault`.
    """
    began = time.perf_counter()
    former = None if resume is None else former_run(resume)
    handed: Handed | MadeSpec | None = None
    if isinstance(source, Mapping):
        handed = hand_over(source)
        with handed.in_words():
            spec, file = loads(handed.text, overrides), None
    elif isinstance(source, MadeSpec):
        handed = source
        spec, file = loads(source.text, overrides), None
    elif source is not None:
        spec = load(Path(source), overrides)
        file = None if spec.document is None else spec.document.path
    elif former is None:
        raise DataError(f"{resume} is not a run: there is nothing in it to go on with.")
    else:
        spec, file = spec_of(former, overrides), former.spec_file
    if former is not None:
        check_unchanged(former, spec)
        if former.is_final:
            _ = former.trace  # DataError where the log is lost or damaged: then there is no result to show
            return Execution(former.status, None, former.path, former.summary or {})
    with ExitStack() as stack:
        if should_stop is None:
            should_stop = stack.enter_context(stop_on_signals())
        if former is None:
            folder = stack.enter_context(RunDirectory.create(spec.name, resume or out, again=resume is not None))
        else:
            folder = stack.enter_context(RunDirectory.reopen(former.path))
            # Again, now that nobody else writes it: another process may have brought it to its end meanwhile.
            former = load_run(former.path)
            if former.is_final:
                return Execution(former.status, None, former.path, former.summary or {})
            folder.started = former.state.get("started", folder.started)
        return _solve(spec, file, handed, folder, former, observers, should_stop, stack, began)


def _solve(
    spec: Spec,
    file: Path | None,
    handed: Handed | MadeSpec | None,
    folder: RunDirectory,
    former: Run | None,
    observers: Callable[[str, StopRules], Sequence[Observer]],
    should_stop: Callable[[], Status | None],
    stack: ExitStack,
    began: float,
) -> Execution:
    # Read before anything is written, so that a checkpoint of no use leaves the run as it was.
    checkpoint = None if former is None else checkpoint_of(former)
    at = 0 if checkpoint is None else checkpoint["state"]["k"]
    rows = {} if checkpoint is None or former is None else rows_before(former, at)
    text = written(spec) if former is None else former.spec_text
    resolved = resolve(spec)
    if isinstance(handed, Handed):
        folder.keep(handed.arrays)
    if former is None:
        folder.begin(text, resolved, file)
    stack.enter_context(folder.logging())
    stack.enter_context(_ending_recorded(folder, spec))
    # The libraries are loaded by now, and a limit holds for loaded libraries only. BLAS gets one thread: the kernels
    # share their work among the threads themselves, and those of BLAS would wait for them, at full speed.
    stack.enter_context(threadpoolctl.threadpool_limits(1))
    stack.enter_context(threads(spec.threads))
    expect = getattr(should_stop, "expect", lambda when: None)
    expect("before the first step")

    def raising() -> AbstractContextManager[Any]:
        """What reads and prepares may take as long as the run may, and a little more: a first step is worth it."""
        rest = math.inf if spec.stop.time is None else began + spec.stop.time + GRACE - time.perf_counter()
        return getattr(should_stop, "raising", nullcontext)(rest)

    def left(request: Leave) -> Execution:
        """Nothing has been changed: whoever goes on begins where this process did."""
        fault = _end(folder, request.status, "It was left before its first step.")
        return Execution(request.status, None, folder.path, unbegun(request.status, folder.path), fault)

    try:
        in_words = nullcontext if handed is None else handed.in_words
        with in_words(), raising():
            # Of a spec without a file, the folder has the arrays.
            beside = file or folder.path / "spec.yaml"
            instance = build(spec, beside, None if checkpoint is None or former is None else former.form.get("kind"))
    except Leave as request:
        return left(request)
    digests = instance.context.digests()
    form = {"kind": instance.form.kind, "columns": instance.form.columns, "because": instance.form.reason}
    origin = {**provenance.collect(resolved, spec.seed, folder.started, digests), "iterate": form}
    if instance.context.code:
        origin["python"] = instance.context.code
    if checkpoint is not None and former is not None:
        check_same_data(former, digests)
        origin = provenance.continued(former.provenance, origin, at, utc_now())

    def take_up() -> RunLog:
        if not folder.has_begun:
            folder.begin(text, resolved, file)
        return stack.enter_context(RunLog(folder.path / "run.h5", origin, rows))

    # Of a run that was there before, nothing is written over until the loop has taken it up.
    log = Late(take_up)
    if former is None:
        log.make()
    every = None if spec.checkpoint.every == "never" else spec.checkpoint.every
    checkpointer = Checkpointer(folder.path / "checkpoint.h5", every, before=lambda: log.made.synchronise())
    for family, choice in instance.choice.policies.items():
        logger.info("%s: %s, %s", family, choice.policy.name, choice.why)
    if not compiled.available():
        logger.warning("%s", compiled.MISSING)
    logger.info("x is kept as %s: %s", instance.form.kind, instance.form.reason)
    logger.info("%s in %s", "started" if checkpoint is None else f"goes on from iteration {at}", folder.path)

    def wanted(status: Status) -> bool:
        return status.resumable and (status.exit_code != 0 or spec.checkpoint.final)

    def keep(pack: Pack, status: Status | None) -> None:
        log.make()
        expect(_WHEN[status is None])
        if status is None:
            checkpointer(pack)
        elif wanted(status):
            # Before certificates and rounding, which may take long: a process that is killed in them has lost nothing.
            checkpointer.write_once()

    @contextmanager
    def beginning() -> Iterator[None]:
        expect("before the first step")
        with raising():
            yield
        expect(_WHEN[True])

    @contextmanager
    def rounding() -> Iterator[None]:
        expect("without the rounding")
        with getattr(should_stop, "raising", nullcontext)():
            yield

    try:
        result = instance.solve(
            observers=[folder, log, *observers(instance.sense, instance.rules)],
            should_stop=should_stop,
            resume=checkpoint,
            on_checkpoint=keep,
            rounding=rounding,
            began=began,
            beginning=beginning,
        )
    except Leave as request:
        return left(request)
    except NumericalError:
        # What the oracle was not asked about is the last good state.
        checkpointer.write()
        raise
    expect("once the result is saved")
    if wanted(result.status):
        checkpointer.write_once()
    ending = {"ended": utc_now(), "status": result.status.value}
    log.made.finish(result.solution, result.duals, ending, result.loss_image)
    log.made.close()
    summary = summarise(result, folder.path, instance.choice)
    logger.info("%s after %d iterations. %s", result.status.value, result.record.k, result.status.sentence)
    logger.info("%.3f of %.3f seconds went into checkpoints", checkpointer.seconds, result.record.seconds)
    fault = log.made.fault or checkpointer.fault
    if fault is None:
        fault = _end(folder, result.status, result.message, summary)
    else:
        # The result was computed, and is told; what is on disk is not the whole of it.
        _end(folder, Status.FAILED, fault.message, code=fault.exit_code)
    if fault is None and not wanted(result.status):
        # Not before the end is on the disk: whatever happens before goes on from the last checkpoint.
        checkpointer.discard()
    legend = {each.name: each.description for each in instance.template.measures}
    return Execution(result.status, result, folder.path, summary, fault, legend)


@contextmanager
def _ending_recorded(folder: RunDirectory, spec: Spec) -> Iterator[None]:
    """Let status.json tell of whatever ends the run other than a result; of one that was not taken up again, it tells
    what it told before.
    """
    try:
        yield
    except KeyboardInterrupt:
        _end(folder, Status.INTERRUPTED, LEFT)
        raise
    except CgmError as error:
        # From here on nobody knows the spec any more, so the place in it goes into the message.
        settle_place(error, spec)
        logger.error("%s", error.message)
        _end(folder, Status.FAILED, error.message, code=error.exit_code)
        raise
    except Exception as error:
        if wrapped(error, KeyboardInterrupt) is not None:
            _end(folder, Status.INTERRUPTED, LEFT)
            raise KeyboardInterrupt from None
        logger.exception("unexpected error")
        _end(folder, Status.FAILED, f"{type(error).__name__}: {error}")
        raise


def _end(
    folder: RunDirectory,
    status: Status,
    message: str,
    summary: Mapping[str, Any] | None = None,
    code: int | None = None,
) -> CgmError | None:
    """Write the last status, of a run that has begun. The fault is returned, because by now there is something more
    important to tell.
    """
    if not folder.has_begun:
        return None
    try:
        folder.set_status(status, message, summary, code)
    except CgmError as fault:
        return fault
    return None
