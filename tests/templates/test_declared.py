"""What a template declares of itself is what it does: its metrics and views are those that its examples give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.cli import main
from cgm_cli.errors import DataError
from cgm_cli.reports.pictures import PictureSource, made
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec import registry
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.base import Template
from cgm_cli.templates.build import build


@dataclass(frozen=True)
class Example:
    """problem: with its defaults. iterate: the first one. metrics: all that a run would claim of it."""

    problem: dict[str, Any]
    template: Template
    iterate: Iterate
    rounding: Rounding
    metrics: Mapping[str, float]


@cache
def rounded(name: str) -> list[Example]:
    """Every example of the template, but for those whose data file is not there, at its start and with a bound."""
    found = []
    for example in registry.lookup("template", name).Spec.examples:
        spec = loads(dump({"problem": example}))
        try:
            instance = build(spec)
        except DataError as error:
            assert "no data file" in error.message.lower()
            continue
        template, iterate = instance.template, instance.form.begin(instance.problem, 0)
        rounding = template.round(iterate, 1.0, np.random.default_rng(0))
        metrics = {**template.metrics(iterate), **rounding.metrics}
        found.append(Example(spec.problem.model_dump(), template, iterate, rounding, metrics))
    assert found
    return found


@pytest.mark.parametrize("name", registry.TEMPLATES)
def test_the_metrics_declared_are_those_that_there_are(name):
    measures = registry.lookup("template", name).measures
    declared = [metric.name for metric in measures]
    assert len(declared) == len(set(declared))
    assert set(declared) == {metric for example in rounded(name) for metric in example.metrics}
    for metric in measures:
        assert metric.description and metric.description[-1] not in ". "


@pytest.mark.parametrize("name", [name for name in registry.TEMPLATES if registry.lookup("template", name).views])
def test_the_views_declared_are_drawn(name):
    """Of one of the examples at least, with what their texts promise."""
    views, drawn = registry.lookup("template", name).views, set()
    for example in rounded(name):
        trace = {"k": np.zeros(1), **{f"metric_{key}": np.full(1, value) for key, value in example.metrics.items()}}
        solution = {**example.iterate.arrays(), **example.rounding.arrays}
        pictures = made(views, PictureSource(solution, trace, example.problem))
        assert not any("{" in picture.alt or "nan" in picture.alt for picture in pictures)
        drawn |= {picture.title for picture in pictures}
    assert {view.title for view in views} <= drawn


def test_the_metrics_of_a_template_are_listed(capsys):
    with pytest.raises(SystemExit):
        main(["list", "max-cut"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[lines.index("metric cut: higher is better") + 1] == "weight of the cut, after annealing"
    with pytest.raises(SystemExit):
        main(["list", "max-affine", "--json"])
    (entry,) = json.loads(capsys.readouterr().out)
    assert [(metric["name"], metric["better"]) for metric in entry["metrics"]] == [("active", None)]
