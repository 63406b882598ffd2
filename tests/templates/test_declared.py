"""What a template declares of itself is what it does: its metrics are those that its examples give."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec import registry
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import Instance, build


@cache
def instances(name: str) -> list[Instance]:
    """Every example of the template, but for those whose data file is not there."""
    built = []
    for example in registry.lookup("template", name).Spec.examples:
        try:
            built.append(build(loads(dump({"problem": example}))))
        except DataError as error:
            assert "no data file" in error.message.lower()
    assert built
    return built


def given(instance: Instance, bound: float | None) -> tuple[dict[str, float], Rounding]:
    """What is measured of the first iterate, and what it is rounded to."""
    iterate, template = instance.form.begin(instance.problem, 0), instance.template
    rounding = template.round(iterate, bound, np.random.default_rng(0))
    return {**template.metrics(iterate), **rounding.metrics}, rounding


@pytest.mark.parametrize("name", registry.TEMPLATES)
def test_the_metrics_declared_are_those_that_there_are(name):
    measures = registry.lookup("template", name).measures
    found = {metric for instance in instances(name) for metric in given(instance, 1.0)[0]}
    declared = [metric.name for metric in measures]
    assert len(declared) == len(set(declared)) and set(declared) == found
    for metric in measures:
        assert metric.description and metric.description[0] != " " and metric.description[-1] not in ". "
