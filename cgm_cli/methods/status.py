"""How a run ended: one sentence and one exit code per way. Only the loop sets it."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """`Status.X.value` is the name that stands in status.json and in the JSON output."""

    sentence: str
    exit_code: int

    @property
    def resumable(self) -> bool:
        """Whether a run that ended like this may go on: it was stopped, or its budget may be raised."""
        return self not in (
            Status.CONVERGED,
            Status.TARGET_REACHED,
            Status.STAGNATED,
            Status.INFEASIBLE,
            Status.UNBOUNDED,
        )

    def __new__(cls, name: str, sentence: str, exit_code: int):
        member = object.__new__(cls)
        member._value_ = name
        member.sentence = sentence
        member.exit_code = exit_code
        return member

    RUNNING = ("running", "The run is still going, or its process died and `cgm resume` goes on with it.", 75)
    CONVERGED = ("converged", "Solved to the accuracy that was asked for.", 0)
    ITERATION_LIMIT = ("iteration-limit", "The iteration budget was spent.", 0)
    TIME_LIMIT = ("time-limit", "The time budget was spent.", 0)
    TARGET_REACHED = ("target-reached", "The target was reached.", 0)
    STAGNATED = ("stagnated", "Neither gap nor infeasibility falls any more (`stop.stagnation`).", 0)
    STOPPED = ("stopped", "A callback asked to stop.", 0)
    INFEASIBLE = (
        "infeasible",
        "The constraints cannot hold together on the domain: the lower bound exceeds every objective.",
        4,
    )
    UNBOUNDED = (
        "unbounded",
        "The objective has no end: along a ray it gets better for ever, whatever feasible X that begins at.",
        4,
    )
    FAILED = ("failed", "The run ended with an error.", 4)
    PREEMPTED = ("preempted", "The run was told to leave (SIGTERM or SIGUSR); `cgm resume` goes on from here.", 75)
    INTERRUPTED = ("interrupted", "The run was interrupted from the keyboard; `cgm resume` goes on from here.", 130)


class Leave(BaseException):
    """Raised in work that has no place to ask whether it should stop: it is left at once, to end under `status`.

    No Exception, because libraries catch those.
    """

    def __init__(self, status: Status):
        super().__init__(status.value)
        self.status = status
