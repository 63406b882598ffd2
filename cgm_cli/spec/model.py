"""The whole spec as pydantic models. Imports no numerics: a block's module is loaded when a spec names it."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from cgm_cli.spec.fields import (
    SHA256,
    SLUG,
    ArrayField,
    CorrectionField,
    Count,
    DomainField,
    DualsField,
    Finite,
    LossField,
    NonNegative,
    OracleField,
    Positive,
    Registered,
    Size,
    SmoothingField,
    StepField,
    StrictModel,
    TemplateSpec,
    policy,
)
from cgm_cli.spec.registry import MethodName
from cgm_cli.spec.terms import ConstraintField, PenaltyField
from cgm_cli.spec.yaml_reader import Document
from cgm_cli.text import quoted

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_UNITS = (86400.0, 3600.0, 60.0, 1.0)


def _seconds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.replace(" ", ""))
    if not match or not any(match.groups()):
        raise ValueError("expected seconds or a duration such as 90s, 10m or 1h30m")
    return sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS, strict=True) if part)


_DURATION_SCHEMA = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^(\d+d)? ?(\d+h)? ?(\d+m)? ?(\d+(\.\d+)?s)?$"},
    ]
}
Duration = Annotated[Positive, BeforeValidator(_seconds), WithJsonSchema(_DURATION_SCHEMA)]


class SolverSpec(StrictModel):
    """The method and its parameters."""

    method: MethodName = Field(default="auto", description="the method; `cgm list methods`")
    beta0: Positive | Literal["auto", "optimal"] = Field(
        default="auto",
        description="smoothing of the first iteration; optimal: 2 D_X |A| / L_g, for finite penalties only",
    )
    iterations: Count = Field(default=100_000, description="budget of iterations")
    smoothing: SmoothingField | None = Field(
        default=None, description="how the terms are smoothed that are not smooth; left out: as the method has it"
    )
    step: StepField = Field(default_factory=partial(policy, "step", "classic"), description="how far a step goes")
    oracle: OracleField = Field(
        default_factory=partial(policy, "oracle", "fixed"), description="how accurately the linear subproblem is solved"
    )
    correction: CorrectionField = Field(
        default_factory=partial(policy, "correction", "none"),
        description="what is done after every oracle call beyond a step towards its atom",
    )
    duals: DualsField | None = Field(
        default=None,
        description="how the multipliers move that the smoothing is centred at; left out: as the method has it",
    )
    dual_bound: Positive | None = Field(
        default=None, description="of cgal: the largest norm of the multipliers, in the units that `scaling` makes"
    )
    scaling: Literal["auto", "none"] = Field(
        default="auto", description="auto: objective, maps and domain to unit size"
    )
    iterate: Literal["auto", "dense", "factored", "sketch", "samples"] = Field(
        default="auto",
        description="how x is kept. dense: every entry; factored: exact low rank, cut where its columns run out; "
        "sketch: n x `rank` numbers, for semidefinite x, which is recovered at the end; samples: what hyperplanes need",
    )
    rank: Size | None = Field(
        default=None,
        description="columns of the sketch, if x is kept as one; left out: 50, or 2 k + 1 for a fantope of rank k",
    )
    refresh: Size = Field(default=1000, description="compute the cached images anew every so many iterations")

    @model_validator(mode="after")
    def _rank_is_of_a_sketch(self):
        if self.rank is not None and self.iterate not in ("auto", "sketch"):
            raise ValueError(f"`rank` is that of `iterate: sketch`, but x is kept as `iterate: {self.iterate}`")
        return self


TOLERANCE = 1e-4
"""Gap and infeasibility where nobody says how good a solution is to be."""


class StopSpec(StrictModel):
    """When to stop: once `gap` and `infeasibility`, where given, are met together, or any other rule holds.

    Where no tolerance and no `objective` stands there, gap and infeasibility are 1e-4; `gap: null` asks for none.
    """

    gap: Positive | None = Field(
        default=None, description="relative gap between objective and bound; 1e-4 where no tolerance is named"
    )
    gap_absolute: Positive | None = Field(
        default=None, description="the same in the units of the objective; beside `gap`, either will do"
    )
    infeasibility: Positive | None = Field(
        default=None, description="largest relative infeasibility of a term; the gap where only that is named"
    )
    time: Duration | None = Field(
        default=None,
        description="wall time of a run, the reading of its data and the saving of its result included: seconds, or "
        "90s, 10m, 1h30m; certificates and roundings go on only as far as they fit into it and a grace of a second, or "
        "a fiftieth of it",
    )
    objective: Finite | None = Field(
        default=None,
        description="an objective (with its penalties) that is good enough, at the infeasibility asked for",
    )
    stagnation: Size | None = Field(
        default=None,
        description="iterations in which the larger of gap and infeasibility has not fallen by a hundredth; left out, "
        "beside a tolerance: half of all, and 300 at the least",
    )

    @model_validator(mode="before")
    @classmethod
    def _tolerances(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict) or value.keys() & {"gap", "gap_absolute", "infeasibility", "objective"}:
            return value
        if info.context is not None:
            info.context[id(value)] = cls  # as of every schema: what is handed on is another mapping
        return {**value, "gap": TOLERANCE, "infeasibility": TOLERANCE}


class TheorySpec(StrictModel):
    """What is known of the solution, so that the paper's bounds can stand beside what is measured."""

    optimum: Finite | None = Field(default=None, description="optimal value F*, in the user's sense")
    dual_norm: NonNegative | None = Field(
        default=None,
        description="|y*| of a dual solution of the constraints, the root of the sum of |y_i*|^2 / weight_i",
    )


class LogSpec(StrictModel):
    """What is recorded how often."""

    every: Size = Field(default=1, description="a record every so many iterations")
    metrics_every: Size = Field(default=10, description="the template's metrics every so many iterations")


class CheckpointSpec(StrictModel):
    """What a run that was stopped goes on from."""

    every: Duration | Literal["never"] = Field(
        default=60.0,
        union_mode="left_to_right",
        description="wall time between checkpoints, or never; longer if they are slow",
    )
    final: bool = Field(default=True, description="keep one of a run that spent its budget, which may be raised later")


class BoundSpec(StrictModel):
    """The lower bound on the optimum."""

    every: Size = Field(default=1, description="a bound every so many iterations")
    certify: Literal["final", "always", "never"] = Field(default="final", description="when an estimate is proven")
    failure: float = Field(
        default=1e-9,
        ge=0,
        lt=1,
        allow_inf_nan=False,
        description="where a proof is out of reach: the probability that the bound is none; 0: it stays an estimate",
    )


class SourceSpec(StrictModel):
    """Where a data file comes from."""

    from_: str = Field(alias="from", min_length=1, description="where to get the file: told when it is missing")
    sha256: str | None = Field(default=None, pattern=SHA256, description="checked when the file is read")

    @property
    def advice(self) -> str:
        """What a message says that misses the file."""
        return f"Get it from {quoted(self.from_, 500)}"


class ComposedProblem(StrictModel):
    """Minimise objective(x) + sum of penalties over x in `domain`, subject to the constraints; or maximise a linear
    objective(x) less them.
    """

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["domain"]}, {"required": ["domains"]}]})

    domain: DomainField | None = Field(
        default=None, description="the compact convex set X; or give a `template` instead"
    )
    domains: Annotated[list[DomainField], Field(min_length=2)] | None = Field(
        default=None, description="in place of `domain`: X is the intersection of these, each reached on its own"
    )
    objective: LossField | None = Field(default=None, description="the smooth loss f; zero when left out")
    sense: Literal["minimise", "maximise"] = Field(
        default="minimise",
        description="maximise: a `linear` objective, from which penalties are then subtracted; bounds are upper ones",
    )
    constraints: list[ConstraintField] = Field(default_factory=list, description="sets that A x - offset must lie in")
    penalties: list[PenaltyField] = Field(default_factory=list, description="finite functions of A x - offset")
    start: ArrayField | None = Field(
        default=None,
        description="the point to start from, projected if it is outside the domain by less than 1e-6 of the radius; "
        "the domain's own when left out",
    )

    @model_validator(mode="after")
    def _one_of_both(self):
        if self.domain is None and self.domains is None:
            hint = f"{type(self).model_fields['domain'].description}; or several `domains`"
            raise PydanticCustomError("missing_key", "missing key `{key}`", {"key": "domain", "hint": hint})
        if self.domain is not None and self.domains is not None:
            raise ValueError("x lies in one `domain` or in several `domains`: give one of the two keys")
        return self

    @model_validator(mode="after")
    def _only_linear_objectives_are_maximised(self):
        if self.sense == "minimise":
            return self
        if self.objective is None:
            raise ValueError("`sense: maximise` has nothing to maximise: give an `objective` of the kind `linear`")
        if self.objective.kind != "linear":
            raise ValueError(
                "only an objective of the kind `linear` can be maximised, since no bound is known on the maximum of "
                f"another convex function, such as `{self.objective.kind}`: leave out `sense`, to minimise it"
            )
        return self


class _ProblemByForm:
    """A mapping with a `template` is one, every other one is composed by hand: faults are told for that form only."""

    template = Registered("template", tag="template")

    def validate(self, value: Any, handler: Any, info: ValidationInfo) -> StrictModel:
        if isinstance(value, StrictModel):
            return value
        if isinstance(value, dict) and "template" in value:
            return self.template.validate(value, info)
        return ComposedProblem.model_validate(value, context=info.context)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.with_info_wrap_validator_function(
            self.validate, handler(source), serialization=core_schema.plain_serializer_function_ser_schema(_dumped)
        )


def _dumped(value: StrictModel) -> dict[str, Any]:
    return value.model_dump(by_alias=True)


ProblemField = Annotated[ComposedProblem | Annotated[TemplateSpec, _ProblemByForm.template], _ProblemByForm()]


class Spec(StrictModel):
    """Everything about one run."""

    name: str = Field(pattern=SLUG, description="names the folder of the runs; default: the name of the file")
    problem: ProblemField = Field(description="a template with its parameters, or a problem composed of blocks")
    solver: SolverSpec = Field(default_factory=SolverSpec)
    stop: StopSpec = Field(default_factory=StopSpec)
    log: LogSpec = Field(default_factory=LogSpec)
    bound: BoundSpec = Field(default_factory=BoundSpec)
    checkpoint: CheckpointSpec = Field(default_factory=CheckpointSpec)
    theory: TheorySpec = Field(default_factory=TheorySpec)
    seed: Count = Field(default=0, description="seed of every random choice")
    source: dict[str, SourceSpec] = Field(default_factory=dict, description="data file -> where it comes from")
    threads: Size = Field(
        default=1, description="threads of the linear algebra; more than the free cores makes a run slower"
    )

    _document: Document | None = PrivateAttr(None)
    _overrides: tuple[Any, ...] = PrivateAttr(())

    @property
    def document(self) -> Document | None:
        """The text, its tree and the place of every node; None if the spec was not read from text."""
        return self._document

    @property
    def overrides(self) -> tuple[str, ...]:
        """The `key=value` arguments, in their order."""
        return tuple(override.text for override in self._overrides)

    def __eq__(self, other: object) -> bool:
        # The text that a spec was read from is for messages: it is no part of what the spec says.
        return isinstance(other, Spec) and self.__dict__ == other.__dict__
