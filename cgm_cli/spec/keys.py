"""The dotted keys of a spec, such as `solver.beta0`: for whoever names only the end of one, or completes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cgm_cli.spec import registry
from cgm_cli.spec.fields import StrictModel, mappings
from cgm_cli.spec.model import ComposedProblem, SolverSpec, Spec


def sections() -> list[str]:
    """The keys at the top level."""
    return list(Spec.model_fields)


def section_keys() -> Iterator[str]:
    """The keys of every section but `problem` and `source`, which have other ones in every spec."""
    for name, field in Spec.model_fields.items():
        yield name
        if field.annotation is not None and name not in ("problem", "source"):
            for model in mappings(field.annotation):
                yield from _below(name, model)


def dotted_keys(problem: Any) -> Iterator[str]:
    """The keys of the sections, of the policies, and of a `problem`: of the template, if it names one.

    Loads the modules of all policies, and that of the template.
    """
    yield from section_keys()
    for family in SolverSpec.model_fields.keys() & registry.FAMILIES.keys():
        for name in registry.FAMILIES[family]:
            yield from _below(f"solver.{family}", registry.lookup(family, name).Spec)
    template = problem.get("template") if isinstance(problem, dict) else None
    known = isinstance(template, str) and template in registry.FAMILIES["template"]
    yield from _below("problem", registry.lookup("template", template).Spec if known else ComposedProblem)


def _below(prefix: str, model: type[StrictModel]) -> Iterator[str]:
    return (f"{prefix}.{field.alias or name}" for name, field in model.model_fields.items())
