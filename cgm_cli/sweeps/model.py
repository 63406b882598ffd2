"""The sweep file as pydantic models: a base spec, what is varied, and how it is run. Imports no numerics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from cgm_cli.spec.fields import SLUG, ByKeys, Count, FromFloat, Size, StrictModel
from cgm_cli.spec.model import Duration

MOST = 100_000
"""The largest number of points of one sweep."""

Number = int | float


def _range(value: list[Number]) -> list[Number]:
    if len(value) not in (2, 3) or (len(value) == 3 and value[2] == 0):
        raise ValueError("expected [start, stop] or [start, stop, step], with a step that is not zero")
    start, stop, step = (*value, 1)[:3]
    if (stop - start) / step < 0:
        raise ValueError("the steps lead away from `stop`, so that there is no value")
    if (stop - start) / step >= MOST:
        raise ValueError(f"more than {MOST} values")
    return value


def _spaced(value: list[Number]) -> list[Number]:
    if len(value) != 3 or not isinstance(value[2], int) or not 1 <= value[2] <= MOST:
        raise ValueError(f"expected [start, stop, count], with a count of 1 to {MOST}")
    return value


def _positive(value: list[Number]) -> list[Number]:
    if min(value[:2]) <= 0:
        raise ValueError("both ends must be more than 0, and are the values themselves, not exponents")
    return value


def _interval(value: list[Number]) -> list[Number]:
    if len(value) != 2 or value[0] > value[1]:
        raise ValueError("expected [low, high] with low <= high")
    return value


class ListValues(StrictModel):
    """The values themselves."""

    list: Annotated[list[Any], Field(min_length=1)]


class RangeValues(StrictModel):
    """start + i * step for i = 0, 1, ..., as far as `stop`, which is included where a step falls on it."""

    range: Annotated[list[Number], AfterValidator(_range)]


class LinspaceValues(StrictModel):
    """So many values from start to stop, equally far apart."""

    linspace: Annotated[list[Number], AfterValidator(_spaced)]


class LogspaceValues(StrictModel):
    """So many values from start to stop, each the same multiple of the one before."""

    logspace: Annotated[list[Number], AfterValidator(_spaced), AfterValidator(_positive)]


Values = Annotated[list[Any] | ListValues | RangeValues | LinspaceValues | LogspaceValues, ByKeys()]


class Uniform(StrictModel):
    """Equally likely between low and high."""

    uniform: Annotated[list[Number], AfterValidator(_interval)]


class LogUniform(StrictModel):
    """Its logarithm is equally likely between those of low and high."""

    log_uniform: Annotated[list[Number], AfterValidator(_interval), AfterValidator(_positive)] = Field(
        alias="log-uniform"
    )


class WholeNumber(StrictModel):
    """A whole number from low to high, both included."""

    integer: Annotated[list[int], AfterValidator(_interval)]


class Choice(StrictModel):
    """One of the values."""

    choice: Annotated[list[Any], Field(min_length=1)]


Distribution = Annotated[list[Any] | Uniform | LogUniform | WholeNumber | Choice, ByKeys()]


class RandomSpec(StrictModel):
    """Points drawn at random, the same for the same seed; a larger n adds points and keeps the former ones."""

    n: Annotated[int, Field(ge=1, le=MOST), FromFloat] = Field(description="how many points")
    seed: Count = Field(0, description="seed of the draws; not that of the runs")
    draw: Annotated[dict[str, Distribution], Field(min_length=1)] = Field(
        description="key of the spec -> its distribution"
    )


class AxesSpec(StrictModel):
    """What is varied. Every entry of `grid`, `zip`, `random` and `repeat` meets every entry of the others."""

    grid: dict[str, Values] = Field(default_factory=dict, description="every combination of the values")
    zip: dict[str, Values] = Field(default_factory=dict, description="first with first, second with second ...")
    random: RandomSpec | None = Field(None, description="points drawn at random")
    exclude: list[Annotated[dict[str, Any], Field(min_length=1)]] = Field(
        default_factory=list, description="points left out: those where every key has the value, or one of the values"
    )
    repeat: Annotated[int, Field(ge=1, le=MOST), FromFloat] | list[Count] | None = Field(
        None, description="how many seeds, counted up from that of the base, or a list of them"
    )

    @model_validator(mode="after")
    def _something(self):
        if not self.grid and not self.zip and self.random is None and self.repeat is None:
            raise ValueError("nothing is varied: give `grid`, `zip`, `random` or `repeat`")
        return self


class BestSpec(StrictModel):
    """What makes a run the best one so far: a figure of the summary, or a metric."""

    smallest: str | None = Field(default=None, description="name of a figure, for instance gap")
    largest: str | None = Field(default=None, description="name of a figure, for instance psnr")

    @model_validator(mode="after")
    def _one(self):
        if (self.smallest is None) == (self.largest is None):
            raise ValueError("give one of `smallest` and `largest`")
        return self


class SlurmSpec(StrictModel):
    """How jobs are submitted to Slurm."""

    per_task: Size = Field(
        default=1, alias="per-task", description="points that one task of the array computes in turn"
    )
    at_once: Size | None = Field(default=None, alias="at-once", description="tasks that may run at the same time")
    requeue: bool = Field(
        default=True, description="go back to the queue when the job is preempted or its time is nearly over"
    )
    warning: Annotated[int, Field(ge=1, le=3600), FromFloat] = Field(
        default=120, description="seconds before the end of its time"
    )
    setup: list[str] = Field(default_factory=list, description="lines of shell before the first run, e.g. module load")
    options: dict[str, str | int | bool] = Field(
        default_factory=dict, description="options of sbatch, e.g. partition: gpu, time: '1:00:00', mem: 4G"
    )


class DaskSpec(StrictModel):
    """Where dask finds its workers: the given scheduler, a queue, else this machine."""

    scheduler: str | None = Field(default=None, description="address of a scheduler, e.g. tcp://node1:8786")
    queue: Literal["slurm", "pbs", "lsf", "sge", "htcondor", "oar", "moab"] | None = Field(
        default=None, description="start workers as jobs of this queueing system, through dask-jobqueue"
    )
    jobs: Size = Field(default=1, description="jobs to start in the queue")
    options: dict[str, Any] = Field(
        default_factory=dict, description="arguments of the dask-jobqueue cluster, e.g. cores, memory, walltime"
    )


class SweepSpec(StrictModel):
    """The whole sweep file."""

    name: str = Field(pattern=SLUG, description="names the folder below runs/; default: the name of the file")
    base: str | dict[str, Any] = Field(description="path of a spec, from the folder of this file; or the spec itself")
    set: dict[str, Any] = Field(default_factory=dict, description="key of the base spec -> value, for every point")
    sweep: AxesSpec
    executor: Literal["local", "dask", "slurm"] = Field(default="local", description="where the points are computed")
    workers: Size | None = Field(
        default=None, description="runs at the same time; default: the cores, shared by their threads"
    )
    timeout: Duration | None = Field(default=None, description="wall time of one run, after which it has failed")
    retries: Count = Field(default=0, description="further attempts at a run that failed")
    best: BestSpec = Field(
        default_factory=lambda: BestSpec(smallest="accuracy"),
        description="accuracy: the larger of gap and infeasibility",
    )
    slurm: SlurmSpec = Field(default_factory=SlurmSpec)
    dask: DaskSpec = Field(default_factory=DaskSpec)
