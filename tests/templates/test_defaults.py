"""What a user gets without asking: every example of a template, and every spec that `cgm init` writes, converges under
the defaults, with a certified bound. Iterations and status, not seconds.
"""

import pytest

from cgm_cli.errors import DataError
from cgm_cli.methods.status import Status
from cgm_cli.runs.execute import execute
from cgm_cli.spec import registry
from cgm_cli.spec.load import dump, loads
from cgm_cli.spec.skeleton import skeleton
from cgm_cli.templates.build import build

EXAMPLES = [
    pytest.param(example, id=f"{name}-{number}")
    for name in registry.TEMPLATES
    for number, example in enumerate(registry.lookup("template", name).Spec.examples)
]
MOST = 2000
"""Turns; most of these take ten."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_converges(example):
    try:
        instance = build(loads(dump({"problem": example})))
    except DataError as missing:
        if "no data file" not in str(missing):
            raise
        pytest.skip(str(missing))
    result = instance.solve()
    assert result.status is Status.CONVERGED
    assert result.bound_is == "certified"
    multiples, record = instance.template.multiples, result.record
    proven = multiples is not None and result.metrics[multiples.metric] == multiples.rounded(record.bound)
    assert proven or (record.gap <= 1e-4 and record.infeasibility <= 1e-4)
    assert result.record.k <= MOST


@pytest.mark.parametrize("name", registry.TEMPLATES)
def test_every_spec_of_init_converges(name, tmp_path):
    (tmp_path / "spec.yaml").write_text(skeleton(name), encoding="utf-8")
    outcome = execute(tmp_path / "spec.yaml", [], tmp_path / "run")
    assert outcome.status is Status.CONVERGED
    assert outcome.result.bound_is == "certified" and outcome.result.record.k <= MOST
