"""One harness for every registered domain, vector or spectral; twins and edge cases of the vector domains below it.

Oracles in closed form are held to rounding; an iterative one (`answer.exact` false) to the tolerance it was asked for,
relative to the size of the direction and of the domain.
"""

from itertools import permutations, product

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.optimize import linprog, minimize

from cgm_cli.blocks.atoms import BlocksAtom, DenseAtom, SparseAtom
from cgm_cli.blocks.describe import describe
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.birkhoff import Birkhoff, _potentials
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.group_ball import GroupL1Ball
from cgm_cli.blocks.domains.latent_group_ball import LatentGroupBall
from cgm_cli.blocks.domains.norm_balls import L1Ball, L2Ball, LinfBall
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.domains.spectral import EigenDomain, SpectralDomain
from cgm_cli.errors import ProblemError
from tests.blocks.support import (
    InlineContext,
    domain,
    examples,
    few,
    random_direction,
    random_point,
    random_vertex,
    spec,
)

TOLERANCE = 1e-9
REQUEST = OracleRequest(tolerance=TOLERANCE)
every_example = pytest.mark.parametrize("example", examples("domain"))
seeds = given(seed=st.integers(0, 2**32 - 1))


def several(x, rng):
    """Random vertices, and the start. What holds for these holds for every combination of them, if it is linear."""
    yield x.start().dense()
    for _ in range(5 if np.prod(x.shape) < 1000 else 2):
        yield random_vertex(x, rng)


def slack(x, direction, answer) -> float:
    """How far a value may be from the truth: rounding for a closed form, the tolerance asked for otherwise."""
    relative = 4e-16 * np.prod(x.shape) if answer.exact else 10 * TOLERANCE
    return relative * x.radius * np.linalg.norm(direction.dense())


@every_example
@few
@seeds
def test_no_feasible_point_beats_the_oracle(example, seed):
    x, rng = domain(**example), np.random.default_rng(seed)
    direction = random_direction(x, rng)
    answer = x.lmo(direction, REQUEST)
    allowed = slack(x, direction, answer)
    assert direction.inner(answer.atom) == pytest.approx(answer.value, abs=allowed)
    assert answer.lower <= answer.value + allowed
    if answer.exact:
        assert answer.value - allowed <= answer.lower <= answer.value
    for point in several(x, rng):
        assert answer.lower <= np.vdot(direction.dense(), point) + allowed


@every_example
@few
@seeds
def test_the_atom_lies_in_the_domain_and_on_its_boundary(example, seed):
    """<v, atom - t v/|v|> is below the minimum, so that point is outside, by at least t less the oracle's error."""
    x, rng = domain(**example), np.random.default_rng(seed)
    direction = random_direction(x, rng)
    answer = x.lmo(direction, REQUEST)
    point = answer.atom.dense()
    assert answer.atom.shape == point.shape == x.shape
    assert x.contains(point)
    assert x.contains(random_point(x, rng))
    outward = direction.dense() / np.linalg.norm(direction.dense())
    assert not x.contains(point - 1e-6 * max(1.0, x.radius) * outward)
    assert x.contains(point - 1e-11 * max(1.0, x.radius) * outward)
    assert not x.contains(np.full(x.shape, np.nan))


@every_example
@few
@seeds
def test_support_function(example, seed):
    """max <v, x> = -min <-v, x>."""
    x, rng = domain(**example), np.random.default_rng(seed)
    direction = random_direction(x, rng)
    answer = x.lmo(direction.scaled(-1.0), REQUEST)
    allowed = slack(x, direction, answer)
    assert -answer.value == pytest.approx(direction.inner(answer.atom), abs=allowed)
    for point in several(x, rng):
        assert np.vdot(direction.dense(), point) <= -answer.lower + allowed


@every_example
@pytest.mark.parametrize("factor", [1e200, 1e-200])
@few
@seeds
def test_the_value_scales_with_the_direction(example, factor, seed):
    x, rng = domain(**example), np.random.default_rng(seed)
    direction = random_direction(x, rng)
    plain, scaled = x.lmo(direction, REQUEST), x.lmo(direction.scaled(factor), REQUEST)
    allowed = slack(x, direction, plain)
    assert scaled.value / factor == pytest.approx(plain.value, abs=allowed)
    assert direction.inner(scaled.atom) == pytest.approx(plain.value, abs=allowed)
    assert x.contains(scaled.atom.dense())


@every_example
def test_zero_direction(example):
    x = domain(**example)
    zero = DenseDirection(np.zeros(x.shape), symmetric=x.symmetric)
    first, second = x.lmo(zero, OracleRequest()), x.lmo(zero, OracleRequest())
    assert first.value == first.lower == 0.0
    assert x.contains(first.atom.dense())
    np.testing.assert_array_equal(first.atom.dense(), second.atom.dense())


@every_example
@few
@seeds
def test_equal_arguments_give_equal_answers(example, seed):
    x = domain(**example)
    direction = random_direction(x, np.random.default_rng(seed))
    first, second = x.lmo(direction, OracleRequest()), x.lmo(direction, OracleRequest())
    assert first.value == second.value
    np.testing.assert_array_equal(first.atom.dense(), second.atom.dense())


@every_example
@few
@seeds
def test_certified_minimum_is_below_and_close(example, seed):
    x, rng = domain(**example), np.random.default_rng(seed)
    direction = random_direction(x, rng)
    certified = x.certified_minimum(direction)
    if certified is None:
        pytest.skip("this oracle certifies nothing")
    answer = x.lmo(direction, REQUEST)
    size = x.radius * np.linalg.norm(direction.dense())
    assert certified <= answer.value
    assert certified >= answer.value - 1e-7 * size
    for point in several(x, rng):
        assert certified <= np.vdot(direction.dense(), point) + 1e-15 * size


@every_example
def test_radius_and_diameter_bound_and_are_attained(example):
    x, rng = domain(**example), np.random.default_rng(0)
    lengths, distances = [], []
    # Of large matrices every atom is as long as any, and opposite directions have atoms that share nothing.
    for _ in range(50 if np.prod(x.shape) < 1000 else 10):
        direction = random_direction(x, rng)
        low, high = (x.lmo(d, REQUEST).atom.dense() for d in (direction, direction.scaled(-1.0)))
        lengths += [np.linalg.norm(low), np.linalg.norm(high)]
        distances += [np.linalg.norm(low - high), np.linalg.norm(low - random_vertex(x, rng))]
    assert max(lengths) == pytest.approx(x.radius, rel=1e-7)
    assert max(distances) == pytest.approx(x.diameter, rel=1e-7)
    assert type(x.radius) is type(x.diameter) is float
    assert x.diameter <= 2 * x.radius


@every_example
def test_start(example):
    x = domain(**example)
    start, zero = x.start().dense(), np.zeros(x.shape)
    assert start.shape == x.shape
    assert x.contains(start)
    if x.contains(zero):
        np.testing.assert_array_equal(start, zero)


@every_example
@few
@seeds
def test_atoms_blend_and_pair_like_arrays(example, seed):
    x, rng = domain(**example), np.random.default_rng(seed)
    for atom in (x.lmo(random_direction(x, rng), REQUEST).atom, x.start()):
        point, array = random_direction(x, rng).dense(), rng.standard_normal(x.shape)
        blended = point.copy()
        atom.blend_into(blended, 0.3)
        np.testing.assert_allclose(blended, 0.7 * point + 0.3 * atom.dense(), atol=1e-14 * max(1.0, x.radius))
        scale = x.radius * np.linalg.norm(array)
        assert atom.inner(array) == pytest.approx(np.vdot(array, atom.dense()), abs=1e-13 * scale)


@every_example
def test_describe_and_memory(example):
    x = domain(**example)
    assert describe(x)["shape"] == list(x.shape)
    assert x.memory == 8 * np.prod(x.shape)


# ---- values against an independent twin ----


def polytope_twin(example, g):
    """min <g, x> by linear programming."""
    kind, n = example["kind"], g.size
    radius = example.get("radius", 1.0)
    if kind == "simplex":
        row = {"A_eq": np.ones((1, n)), "b_eq": [radius]}
        if example.get("sum") == "at-most":
            row = {"A_ub": np.ones((1, n)), "b_ub": [radius]}
        return linprog(g, bounds=(0, None), **row).fun
    if kind == "l1-ball":  # x = p - q
        return linprog(np.r_[g, -g], A_ub=np.ones((1, 2 * n)), b_ub=[radius], bounds=(0, None)).fun
    if kind == "linf-ball":
        return linprog(g, bounds=(-radius, radius)).fun
    if kind == "polytope":
        bounds = [(example.get("lower"), example.get("upper"))] * n
        equations = {"A_eq": example["equations"], "b_eq": np.zeros(1)} if "equations" in example else {}
        rows = np.array(example["matrix"], dtype=float)
        right = np.broadcast_to(example["at_most"], len(rows))
        return linprog(g, A_ub=rows, b_ub=right, bounds=bounds, **equations).fun
    if kind == "birkhoff":
        eye, ones = np.eye(example["size"]), np.ones(example["size"])
        return linprog(g, A_eq=np.vstack([np.kron(eye, ones), np.kron(ones, eye)]), b_eq=[1.0] * (2 * len(eye))).fun
    shape = np.broadcast_shapes(np.shape(example["lower"]), np.shape(example["upper"]), domain(**example).shape)
    sides = [np.broadcast_to(example[side], shape).reshape(-1) for side in ("lower", "upper")]
    return linprog(g, bounds=np.stack(sides, axis=1)).fun


def blocks_twin(sizes, g):
    """The smallest eigenvalue of the whole matrix, written out with its zeros."""
    blocks, start = [], 0
    for size in sizes:
        n = abs(size)
        part = g[start : start + (n if size < 0 else n * n)]
        start += part.size
        blocks.append(np.diag(part) if size < 0 else 0.5 * (part.reshape(n, n) + part.reshape(n, n).T))
    return float(np.linalg.eigvalsh(scipy.linalg.block_diag(*blocks))[0])


def value_twin(example, g):
    """min <g, x> over the domain of an example, g flat; None for a kind that is tested elsewhere."""
    kind = example["kind"]
    if kind in ("simplex", "l1-ball", "linf-ball", "box", "birkhoff", "polytope"):
        return polytope_twin(example, g)
    radius = example.get("radius", 1.0)
    if kind == "l2-ball":
        return -radius * sum(entry**2 for entry in g) ** 0.5
    if kind in ("group-l1-ball", "latent-group-ball"):
        return -radius * max(sum(g[i] ** 2 for i in group) ** 0.5 for group in example["groups"])
    if kind == "psd-blocks":
        return radius * min(blocks_twin(example["sizes"], g), np.inf if example.get("trace") == "equal" else 0.0)
    if kind == "chain-marginals":
        x, labels = domain(**example), range(example["labels"])
        return min(float(g @ x.vertex(np.array(y)).dense()) for y in product(labels, repeat=example["length"]))
    if kind == "product":
        total, start = 0.0, 0
        for block in example["blocks"]:
            stop = start + int(np.prod(domain(**block).shape))
            total += value_twin(block, g[start:stop])
            start = stop
        return total
    return None


@every_example
@few
@seeds
def test_value_against_a_twin(example, seed):
    x, rng = domain(**example), np.random.default_rng(seed)
    direction = random_direction(x, rng)
    twin = value_twin(example, direction.dense().reshape(-1))
    if twin is None:
        assert x.spectral, f"`value_twin` knows no `{example['kind']}`: add its minimum by other means"
        pytest.skip("spectral domains have twins of their own")
    assert x.lmo(direction, REQUEST).value == pytest.approx(twin, rel=1e-9, abs=1e-9)


# ---- spectral domains: what the corrective steps take from them ----


projecting_example = pytest.mark.parametrize(
    "example", [each for each in examples("domain") if domain(**each.values[0]).projects]
)
spectral_example = pytest.mark.parametrize(
    "example", [example for example in examples("domain") if domain(**example.values[0]).spectral]
)


def test_spectral_domains_are_those_that_say_so():
    for example in examples("domain"):
        built = domain(**example.values[0])
        assert built.spectral == isinstance(built, SpectralDomain) == (built.factors is not None), example.id
        # The face is no set of eigenvalues: its points have the eigenvector 1.
        assert (built.eigenvalues is not None) == isinstance(built, EigenDomain), example.id


@pytest.mark.parametrize("example", examples("domain"))
@few
@seeds
def test_a_point_outside_is_projected_onto_one_of_the_domain(example, seed):
    """However far it is; and one that is in it stays where it is."""
    x, rng = domain(**example), np.random.default_rng(seed)
    for away in (1e-7, 3.0, 1e6):
        far = random_point(x, rng) + away * x.radius * random_direction(x, rng).dense()
        assert x.contains(x.project(far), 1e-9 * max(1.0, 1e-6 * away))
    inside = random_point(x, rng)
    np.testing.assert_allclose(x.project(inside), inside, atol=1e-9 * x.radius)


@projecting_example
@few
@seeds
def test_the_projection_is_the_nearest_point(example, seed):
    """p is nearest to y if and only if <y - p, x - p> <= 0 for every x in X."""
    x, rng = domain(**example), np.random.default_rng(seed)
    for away in (1e-3, 3.0, 1e3):
        far = random_point(x, rng) + away * x.radius * random_direction(x, rng).dense()
        nearest = x.project(far)
        assert x.contains(nearest, 1e-9 * max(1.0, away))
        normal = DenseDirection(nearest - far, symmetric=x.symmetric)
        least = x.lmo(normal, REQUEST)
        size = np.linalg.norm(far) * (np.linalg.norm(far) + x.radius)
        assert np.vdot(nearest - far, nearest) <= least.value + slack(x, normal, least) + 1e-12 * size
    inside = random_point(x, rng)
    np.testing.assert_allclose(x.project(inside), inside, atol=1e-6 * x.radius)


@every_example
@few
@seeds
def test_what_is_not_parallel_is_the_same_everywhere(example, seed):
    """And moves no projection; what is parallel stays as it is."""
    x, rng = domain(**example), np.random.default_rng(seed)
    direction = random_direction(x, rng).dense()
    along = x.parallel(direction)
    across = direction - along
    np.testing.assert_allclose(x.parallel(along), along, atol=1e-12 * np.linalg.norm(direction))
    values = [np.vdot(across, point) for point in several(x, rng)]
    assert np.ptp(values) <= 1e-12 * np.linalg.norm(direction) * max(1.0, x.radius) * np.prod(x.shape)
    if x.projects:
        point = random_point(x, rng) + x.radius * random_direction(x, rng).dense()
        np.testing.assert_allclose(x.project(point + 3.0 * across), x.project(point), atol=1e-8 * max(1.0, x.radius))


@every_example
@few
@seeds
def test_entries_that_share_no_unit_are_projected_in_any(example, seed):
    """<D (y - p), x - p> <= 0 for every x in X, with D positive, and constant where `units` are."""
    x, rng = domain(**example), np.random.default_rng(seed)
    if x.units is None:
        return
    weights = 10.0 ** rng.uniform(-3, 3, 1 + int(x.units.max()))[x.units]
    far = random_point(x, rng) + 3.0 * x.radius * random_direction(x, rng).dense()
    nearest = x.project(far)
    for point in several(x, rng):
        off = weights * (far - nearest) * (point - nearest)
        assert off.sum() <= 1e-9 * np.abs(off).sum()


@every_example
@few
@seeds
def test_no_entry_passes_its_limit(example, seed):
    x, rng = domain(**example), np.random.default_rng(seed)
    if x.entry_limits is not None:
        for point in several(x, rng):
            assert (np.abs(point) <= x.entry_limits * (1.0 + 1e-12)).all()


def orthonormal(rng, rows, columns, known=None):
    """Random orthonormal columns whose span contains those that are `known`."""
    parts = [] if known is None else [known]
    parts.append(rng.standard_normal((rows, columns - sum(part.shape[1] for part in parts))))
    turn = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    return np.linalg.qr(np.hstack(parts))[0] @ turn


@spectral_example
@few
@seeds
def test_a_restricted_domain_lifts_into_the_domain(example, seed):
    x, rng = domain(**example), np.random.default_rng(seed)
    columns = min(3, *x.shape)
    left = orthonormal(rng, x.shape[0], columns, x.known)
    right = left if x.symmetric else orthonormal(rng, x.shape[1], columns)
    small = x.restricted(left, right)
    if small is None:
        assert columns < x.rank
        return
    assert small.shape == (columns, columns)
    vertices = [random_vertex(small, rng) for _ in range(3)]
    points = [*vertices, sum(w * vertex for w, vertex in zip(rng.dirichlet(np.ones(3)), vertices, strict=True))]
    points.append(small.project(3.0 * x.radius * random_direction(small, rng).dense()))
    if x.known is None:
        points += [small.start().dense(), random_point(small, rng)]
    for point in points:
        assert small.contains(point)
        assert x.contains(left @ point @ right.T)
    # And it is all of that: a point of X between these columns has its S there.
    direction = random_direction(x, rng)
    inner = DenseDirection(left.T @ direction.matmat(right), symmetric=x.symmetric)
    least = x.lmo(direction, REQUEST)
    assert small.lmo(inner, REQUEST).value >= least.lower - slack(x, direction, least)
    whole = orthonormal(rng, x.shape[0], x.shape[0])
    everywhere = x.restricted(whole, whole if x.symmetric else orthonormal(rng, x.shape[1], x.shape[1]))
    assert everywhere.shape == x.shape


@spectral_example
def test_columns_that_miss_what_is_known_restrict_to_nothing(example):
    x, rng = domain(**example), np.random.default_rng(0)
    if x.known is None:
        return
    np.testing.assert_allclose(x.known.T @ x.known, np.eye(x.known.shape[1]), atol=1e-14)
    np.testing.assert_allclose(random_point(x, rng) @ x.known, x.known, atol=1e-9)
    columns = x.shape[0] - 1
    missing = orthonormal(rng, x.shape[0], columns)
    assert x.restricted(missing, missing) is None
    # Nearly is not enough: rows of S would not sum to what they have to.
    frame = orthonormal(rng, x.shape[0], x.shape[0])
    known, away, rest = np.split(np.linalg.qr(np.hstack([x.known, frame[:, 1:]]))[0], [1, 2], axis=1)
    tilted = np.hstack([np.cos(1e-3) * known + np.sin(1e-3) * away, rest])
    assert x.restricted(tilted, tilted) is None


# ---- edge cases of the vector domains ----


def atom_of(x, g):
    return x.lmo(DenseDirection(np.array(g, dtype=float)), OracleRequest()).atom.dense()


@pytest.mark.parametrize(
    ("g", "expected"),
    [([1, 2, 3], [2, 0, 0]), ([-1, -3, -3], [0, 2, 0]), ([0, 0, 0], [2, 0, 0]), ([5, 1, 1], [0, 2, 0])],
)
def test_simplex_always_answers_a_vertex(g, expected):
    np.testing.assert_array_equal(atom_of(domain(kind="simplex", size=3, radius=2.0), g), expected)


@pytest.mark.parametrize(("g", "expected"), [([1, 2, 3], [0, 0, 0]), ([0, 0, 1], [0, 0, 0]), ([1, -1, -1], [0, 2, 0])])
def test_simplex_with_a_smaller_sum_allowed(g, expected):
    x = domain(kind="simplex", size=3, radius=2.0, sum="at-most")
    np.testing.assert_array_equal(atom_of(x, g), expected)


@pytest.mark.parametrize(
    ("g", "expected"),
    [
        ([0, 0, 0], [-2, 0, 0]),
        ([1, -3, 3], [0, 2, 0]),
        ([1, 3, -3], [0, -2, 0]),
        ([-1, 0, 0], [2, 0, 0]),
    ],
)
def test_l1_ball_ties_go_to_the_lowest_index(g, expected):
    np.testing.assert_array_equal(atom_of(domain(kind="l1-ball", size=3, radius=2.0), g), expected)


def test_box_is_finite_where_the_direction_is_zero():
    np.testing.assert_array_equal(atom_of(domain(kind="box", lower=-1.0, upper=2.0, size=3), [1, 0, -1]), [-1, 2, 2])


@pytest.mark.parametrize("magnitude", [1e200, 1e-200])
def test_balls_at_extreme_magnitudes(magnitude):
    g = magnitude * np.array([3.0, -4.0])
    np.testing.assert_allclose(atom_of(domain(kind="l2-ball", size=2), g), [-0.6, 0.8], rtol=1e-15)
    group = domain(kind="group-l1-ball", groups=[[0, 1]])
    np.testing.assert_allclose(atom_of(group, g), [-0.6, 0.8], rtol=1e-15)


def test_group_ball_with_groups_of_very_different_size():
    """The group of the smallest entries is still normalised, though its squares would underflow beside the others."""
    x = domain(kind="group-l1-ball", groups=[[0, 2], [1]])
    np.testing.assert_allclose(atom_of(x, [3e-180, 0.0, 4e-180]), [-0.6, 0.0, -0.8], rtol=1e-15)


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ({"kind": "simplex", "size": 0}, "greater than 0"),
        ({"kind": "simplex", "size": 3, "radius": 0.0}, "greater than 0"),
        ({"kind": "l1-ball", "size": 3, "radius": -1.0}, "greater than 0"),
        ({"kind": "l2-ball", "size": 3, "radius": float("inf")}, "finite"),
        ({"kind": "linf-ball", "size": [2, 0]}, "greater than 0"),
        ({"kind": "l1-ball", "size": []}, "at least 1 item"),
        ({"kind": "box", "lower": 1.0, "upper": 0.0, "size": 2}, "lower bound 1 exceeds the upper bound 0"),
        ({"kind": "box", "lower": [0.0, 2.0], "upper": [1.0, 1.5]}, "lower bound 2 exceeds the upper bound 1.5"),
        ({"kind": "box", "lower": 0.5, "upper": [[1.0, 0.25]]}, "lower bound 0.5 exceeds the upper bound 0.25"),
        ({"kind": "box", "lower": None, "upper": 1.0, "size": 2}, "not compact"),
        ({"kind": "box", "lower": 0.0, "upper": float("inf"), "size": 2}, "finite"),
        ({"kind": "box", "lower": 0.0, "upper": 1.0}, "needs a `size`"),
        ({"kind": "group-l1-ball", "groups": []}, "no groups"),
        ({"kind": "group-l1-ball", "groups": [[0], []]}, "group 1 is empty"),
        ({"kind": "group-l1-ball", "groups": [[0, 1], [1, 2]]}, "entry 1 is in more than one group"),
        ({"kind": "group-l1-ball", "groups": [[0, 3], [1]]}, "entry 2 is in no group"),
        ({"kind": "latent-group-ball", "groups": [[0, 1], [1, 1]]}, "entry 1 is in more than one group, or twice in"),
        ({"kind": "latent-group-ball", "groups": [[0, 3], [1, 0]]}, "entry 2 is in no group"),
        ({"kind": "birkhoff", "size": 0}, "greater than 0"),
        ({"kind": "product", "blocks": []}, "at least 1 item"),
    ],
)
def test_refused_when_the_spec_is_read(example, words):
    with pytest.raises(ValidationError, match=words):
        spec("domain", example)


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ({"kind": "box", "lower": [0.0, 1.0], "upper": [1.0, 1.0, 1.0]}, "a vector of 3, but the box is a vector of 2"),
        ({"kind": "box", "lower": [0.0, 1.0], "upper": 1.0, "size": 3}, "a vector of 2, but the box is a vector of 3"),
    ],
)
def test_bounds_that_do_not_fit(example, words):
    with pytest.raises(ProblemError, match=words):
        spec("domain", example).build(InlineContext())


def test_a_fault_inside_a_product_says_where():
    blocks = [{"kind": "l1-ball", "size": 2}, {"kind": "box", "lower": [0.0], "upper": 1.0, "size": 2}]
    with pytest.raises(ProblemError) as caught:
        domain(kind="product", blocks=blocks)
    assert caught.value.path == ("blocks", 1)


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, 1.0), (0.0, np.nan), (2.0, 1.0)])
def test_bounds_from_a_file_are_checked_when_built(lower, upper):
    with pytest.raises(ProblemError):
        Box(np.full(2, lower), np.full(2, upper))


# ---- latent groups: the gauge ----


def latent_norm(groups, x):
    """min sum_G |v_G| with sum_G v_G = x: SLSQP on epigraph variables, from an even split."""
    sizes = [len(group) for group in groups]
    ends = np.cumsum(sizes)
    split = np.zeros((x.size, ends[-1]))
    split[np.concatenate(groups), np.arange(ends[-1])] = 1.0
    even = x[np.concatenate(groups)] / split.sum(axis=1)[np.concatenate(groups)]
    found = minimize(
        lambda v: sum(np.linalg.norm(part) for part in np.split(v, ends[:-1])),
        even,
        constraints={"type": "eq", "fun": lambda v: split @ v - x, "jac": lambda v: split},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.fun


@pytest.mark.parametrize("seed", range(10))
def test_latent_gauge_against_another_solver(seed):
    rng = np.random.default_rng(seed)
    groups = [[0, 1, 2], [2, 3, 4], [4, 5, 0], [1, 3, 5], [6]]
    x = LatentGroupBall(groups)
    point = rng.standard_normal(7)
    gauge = x.gauge(point)
    assert gauge == pytest.approx(latent_norm(groups, point), rel=1e-5)
    assert x.gauge(1e150 * point) == pytest.approx(1e150 * gauge, rel=1e-11)
    assert LatentGroupBall(groups, gauge * (1 + 1e-8)).contains(point, 0.0)
    assert not LatentGroupBall(groups, gauge * (1 - 1e-8)).contains(point, 0.0)


def test_latent_gauge_in_closed_form():
    """Without overlap: the group norm. With singletons: the l1-norm. One group: the l2-norm. Nested: the largest."""
    point = np.array([3.0, -4.0, 1.0, 0.0])
    assert LatentGroupBall([[0, 1], [2, 3]]).gauge(point) == pytest.approx(6.0, rel=1e-11)
    assert LatentGroupBall([[3], [2], [1], [0]]).gauge(point) == pytest.approx(8.0, rel=1e-11)
    for groups in ([[0, 1, 2, 3]], [[0, 1, 2, 3], [0, 1], [2]]):
        assert LatentGroupBall(groups).gauge(point) == pytest.approx(np.linalg.norm(point), rel=1e-11)
    assert LatentGroupBall([[0, 1], [2, 3]]).gauge(np.zeros(4)) == 0.0


# ---- the Birkhoff polytope ----


@pytest.mark.parametrize("size", range(1, 7))
def test_an_assignment_is_no_dearer_than_any_permutation(size):
    rng, rows = np.random.default_rng(size), np.arange(size)
    for g in (rng.standard_normal((size, size)), rng.integers(0, 3, (size, size)).astype(float)):
        cheapest = min(g[rows, list(columns)].sum() for columns in permutations(range(size)))
        answer = Birkhoff(size).lmo(DenseDirection(g), OracleRequest())
        assert answer.value == pytest.approx(cheapest, abs=1e-13)
        assert answer.lower == pytest.approx(cheapest, abs=1e-13)
        assert sorted(answer.atom.indices % size) == list(rows)
        assert isinstance(answer.atom, SparseAtom)


def test_potentials_of_a_dearer_permutation_prove_no_more_than_the_minimum():
    """Any u gives a lower bound, so an oracle that erred would not make a bound that is wrong."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        g = rng.standard_normal((6, 6))
        least = Birkhoff(6).lmo(DenseDirection(g), OracleRequest()).value
        columns = rng.permutation(6)
        dearer = g[np.arange(6), columns].sum()
        proven = sum(part.sum() for part in _potentials(g, columns))
        assert proven <= least + 1e-13
        assert least < dearer - 1e-3


@pytest.mark.parametrize("size", [1, 2, 5, 30])
@pytest.mark.parametrize("away", [1e-9, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("at_vertex", [False, True])
def test_the_nearest_doubly_stochastic_matrix(size, away, at_vertex):
    """p is nearest to y if and only if <y - p, x - p> <= 0 for every x in X; its rounding is relative to y."""
    x, rng = Birkhoff(size), np.random.default_rng(size)
    point = random_vertex(x, rng) if at_vertex else random_point(x, rng)
    far = point + away * rng.standard_normal(x.shape)
    nearest = x.project(far)
    assert nearest.min() >= 0.0
    for axis in (0, 1):
        np.testing.assert_allclose(nearest.sum(axis=axis), 1.0, atol=1e-12)
    least = x.lmo(DenseDirection(nearest - far), REQUEST).value
    allowed = 1e-14 * size * max(1.0, away) * np.linalg.norm(nearest - far) + 1e-15 * size
    assert np.vdot(nearest - far, nearest) <= least + allowed


# ---- product: what passes between it and its blocks ----


class Recorder(Domain):
    """A domain of symmetric 2 x 2 matrices that records what it is asked and answers with a given warm start."""

    shape = (2, 2)
    radius = diameter = 1.0
    symmetric = True

    def __init__(self, warm, products=0, exact=True):
        self.answer = OracleAnswer(
            SparseAtom.zero(self.shape), 0.0, -0.5, exact, products, residual=0.25, converged=exact, warm=warm
        )
        self.calls = []

    def lmo(self, direction, request):
        self.calls.append((direction, request))
        return self.answer

    def contains(self, x, tolerance=1e-9):
        return True

    def project(self, x):
        return x

    def start(self):
        return SparseAtom.zero(self.shape)


@pytest.mark.parametrize(
    "warms",
    [
        [None, None],
        [np.arange(6.0).reshape(3, 2), None],
        [None, np.arange(2.0)],
        [np.array(7.0), np.empty((2, 0))],
        [(np.arange(3.0), None), np.arange(2.0)],
    ],
)
def test_warm_starts_go_back_to_their_blocks(warms):
    blocks = tuple(Recorder(warm) for warm in warms)
    x = Product(blocks)
    direction = DenseDirection(np.arange(8.0))
    answer = x.lmo(direction, OracleRequest())
    assert (answer.warm is None) == all(warm is None for warm in warms)
    x.lmo(direction, OracleRequest(warm=answer.warm))
    for block, warm in zip(blocks, warms, strict=True):
        assert block.calls[0][1].warm is None
        if warm is None:
            assert block.calls[1][1].warm is None
        else:
            assert block.calls[1][1].warm is warm


def test_product_combines_the_answers_and_symmetrises():
    first, second = Recorder(None, products=3), Recorder(None, products=4, exact=False)
    answer = Product((first, second)).lmo(DenseDirection(np.arange(8.0)), OracleRequest(max_products=5))
    assert (answer.value, answer.lower, answer.products) == (0.0, -1.0, 7)
    assert not answer.exact
    assert not answer.converged
    assert answer.residual == 0.25
    direction, request = second.calls[0]
    assert direction.symmetric
    np.testing.assert_array_equal(direction.dense(), [[4.0, 5.5], [5.5, 7.0]])
    assert request.max_products == 5  # what one vector may cost, whatever the other blocks have spent


def test_product_certifies_only_if_every_block_does():
    ball = domain(kind="l2-ball", size=2)
    direction = DenseDirection(np.arange(6.0))
    assert Product((ball, Recorder(None, exact=False))).certified_minimum(direction) is None
    assert Product((ball, domain(kind="l2-ball", size=4))).certified_minimum(direction) < 0.0


def test_product_of_products():
    inner = domain(kind="product", blocks=[{"kind": "simplex", "size": 2}, {"kind": "l1-ball", "size": 2}])
    outer = Product((inner, domain(kind="l2-ball", size=1)))
    answer = outer.lmo(DenseDirection(np.array([1.0, 0.0, 3.0, 0.0, 2.0])), OracleRequest())
    assert isinstance(answer.atom, BlocksAtom)
    np.testing.assert_array_equal(answer.atom.dense(), [0.0, 1.0, -1.0, 0.0, -1.0])
    assert answer.value == -5.0
    assert isinstance(outer.blocks[1].lmo(DenseDirection(np.ones(1)), OracleRequest()).atom, DenseAtom)


@pytest.mark.parametrize("kind", ["group-l1-ball", "latent-group-ball"])
def test_groups_with_a_huge_index_are_refused_at_once(kind):
    with pytest.raises(ValidationError, match="entry 1 is in no group"):
        spec("domain", {"kind": kind, "groups": [[2**53, 0]]})


@pytest.mark.parametrize("radius", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(
    "make",
    [
        lambda r: Simplex(2, r),
        lambda r: Simplex(2, r, at_most=True),
        lambda r: L1Ball((2,), r),
        lambda r: L2Ball((2,), r),
        lambda r: LinfBall((2,), r),
        lambda r: GroupL1Ball([[0], [1]], r),
        lambda r: LatentGroupBall([[0, 1], [1]], r),
        lambda r: NuclearBall((2, 2), r),
        lambda r: PSDTrace(2, r, True),
        lambda r: PSDTrace(2, r, False),
        lambda r: Product((Simplex(2, r),)),
    ],
)
def test_membership_is_relative_to_the_radius(make, radius):
    x = make(radius)
    point = np.zeros(x.shape)
    point.flat[0] = radius
    assert x.contains(point * (1.0 + 1e-12))
    assert not x.contains(point * (1.0 + 1e-6))
