"""What `solve` is given in Python beside a problem: mappings as in a spec, which are validated, and told, like one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from pydantic import ValidationError

from cgm_cli.errors import ProblemError, told
from cgm_cli.methods.method import Method
from cgm_cli.methods.stopping import StopRules
from cgm_cli.spec.explain import Complaint, explain
from cgm_cli.spec.fields import StrictModel
from cgm_cli.spec.model import SolverSpec, StopSpec
from cgm_cli.text import quoted

M = TypeVar("M", bound=StrictModel)

_DEPTH = 20
"""Of mappings in mappings: deeper ones are nested in themselves."""


def solver_of(method: Any) -> SolverSpec:
    """The solver section that `method`, a name, a mapping or a Method, stands for; of that of a Method, only how x is
    kept counts.

    Raises TypeError for another type, ProblemError for what no solver section holds.
    """
    if isinstance(method, Method):
        return SolverSpec()
    if isinstance(method, str):
        return _validated(SolverSpec, {"method": method}, "method", inside=False)
    if isinstance(method, Mapping):
        return _validated(SolverSpec, _plain(method, "method"), "method")
    raise TypeError(
        f"method: expected the name of a method, a mapping of what stands under `solver` in a spec, or a Method, not a "
        f"value of type {type(method).__name__}"
    )


def stop_of(stop: Any) -> StopSpec | StopRules | None:
    """The stop section that `stop` stands for, where it is a mapping. Raises as `solver_of` does."""
    if stop is None or isinstance(stop, StopRules):
        return stop
    if isinstance(stop, Mapping):
        return _validated(StopSpec, _plain(stop, "stop"), "stop")
    raise TypeError(
        "stop: expected a mapping of what stands under `stop` in a spec, such as {'gap': 1e-3}, or StopRules, not a "
        f"value of type {type(stop).__name__}"
    )


def seed_of(seed: Any) -> int:
    """The seed. Raises TypeError unless it is a whole number, ProblemError if it is negative."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed: expected a whole number, not a value of type {type(seed).__name__}")
    if seed < 0:
        raise ProblemError(f"seed: expected at least 0, got {seed}")
    return int(cast(Any, seed))


def _validated(model: type[M], tree: dict[str, Any], argument: str, inside: bool = True) -> M:
    """inside: keys of the tree are named behind the argument, which is else the one value of the tree."""
    schemas: dict[int, type] = {}
    try:
        return model.model_validate(tree, context=schemas)
    except ValidationError as error:
        complaints, more = explain(error, tree, schemas, lambda path: (0, 0))
    said = [_in_words(complaint, argument, inside) for complaint in complaints]
    raise ProblemError(told(said, more))


def _in_words(complaint: Complaint, argument: str, inside: bool) -> str:
    place = ".".join(map(str, (argument, *(complaint.path if inside else ()))))
    hint = f"; {complaint.hint}" if complaint.hint else ""
    return f"{quoted(place, 200)}: {complaint.message}{hint}"


def _plain(value: Any, place: str, depth: int = 0) -> Any:
    """Mappings, lists, and numbers of NumPy, as a spec would have them; anything else as it is."""
    if depth > _DEPTH:
        raise TypeError(f"{place}: nested deeper than {_DEPTH} levels")
    if isinstance(value, Mapping):
        given = cast(Mapping[Any, Any], value)
        for key in given:
            if not isinstance(key, str):
                raise TypeError(f"{place}: keys are text, and `{quoted(str(key))}` is of type {type(key).__name__}")
        return {str(key): _plain(item, place, depth + 1) for key, item in given.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, place, depth + 1) for item in cast(Sequence[Any], value)]
    return cast(Any, value).tolist() if isinstance(value, np.generic | np.ndarray) else value
