"""What `method: auto` comes to, and why."""

import numpy as np
import pytest

from tests.methods.test_variants import FACE, FANTOPE, PENALISED, SPECTRAL, instance

SMOOTH = {"domain": {"kind": "simplex", "size": 3}, "objective": {"kind": "least-squares", "target": [1, 0, 2]}}
GROUPS = {
    "domain": {"kind": "latent-group-ball", "groups": [[0, 1], [1, 2, 3]], "radius": 1.0},
    "penalties": [{"kind": "l1", "offset": [1.0, -1.0, 2.0, 0.5]}],
}


def large(n, dense):
    """Over matrices whose projection is dear; dense: a term looks at every entry."""
    cost = np.diag(np.arange(float(n)))
    sets = [{"kind": "nonnegative"}] if dense else [{"kind": "equals", "map": {"kind": "diagonal"}, "value": 1.0}]
    domain = {"kind": "psd", "size": n, "radius": float(n)}
    return {"domain": domain, "objective": {"kind": "linear", "cost": cost.tolist()}, "constraints": sets}


def kinds(problem, **solver):
    """The policies that a spec comes to."""
    choice = instance(problem, **solver).choice
    return {family: each.policy.name for family, each in choice.policies.items()} | {"method": choice.name}


@pytest.mark.parametrize(
    ("problem", "method", "correction", "duals", "smoothing"),
    [
        # Projections are cheap: of vectors, and of small matrices.
        (PENALISED, "cgal", "primal-dual", "adopted", "constant"),
        (SMOOTH, "hcgm", "accelerated", "none", "homotopy"),
        (SPECTRAL, "cgal", "primal-dual", "adopted", "constant"),
        (FACE, "cgal", "primal-dual", "adopted", "constant"),
        (FANTOPE, "cgal", "primal-dual", "adopted", "constant"),
        (large(100, dense=True), "cgal", "primal-dual", "adopted", "constant"),
        # Matrices of low rank: no step of dual ascent is taken before the descent has given way.
        (large(100, dense=False), "cgal", "local-descent", "multipliers", "constant"),
        # Neither.
        (GROUPS, "cgal", "fully-corrective", "ascent", "homotopy"),
    ],
)
def test_auto_names_what_suits(problem, method, correction, duals, smoothing):
    expected = {"method": method, "correction": correction, "duals": duals, "smoothing": smoothing}
    assert kinds(problem, method="auto") | expected == kinds(problem, method="auto")


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"step": "line-search"}, {"correction": "none", "step": "line-search"}),
        ({"correction": "fully-corrective"}, {"correction": "fully-corrective", "duals": "ascent"}),
        ({"duals": "ascent"}, {"duals": "ascent", "correction": "fully-corrective"}),
    ],
)
def test_what_a_spec_asks_for_itself_stays(asked, kept):
    found = kinds(PENALISED, method="auto", **asked)
    assert found | kept == found


def test_a_correction_that_solves_its_problems_is_not_held_against_the_plain_step():
    method = instance(large(100, dense=False), method="auto").method
    assert method.duals.init(None).is_decisive and not method.correction.guarded
