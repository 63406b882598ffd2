"""One harness for every registered penalty and constraint set, each also moved by an offset."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.optimize import linprog, minimize, minimize_scalar

from cgm_cli.blocks.describe import describe
from cgm_cli.blocks.penalties.base import ConvexSet, Penalty
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.errors import ProblemError
from tests.blocks.support import InlineContext, build_all, examples, few, few_of_many, spec

seeds = given(seed=st.integers(0, 2**32 - 1), beta=st.floats(1e-3, 1e3))

TYPICAL = [(4,), (1,), (4, 3), (5, 5), (1, 1)]
"""A block that fits nearly any shape is taken in these."""


def shifted(blocks):
    """Each block moved by an array, and by one number."""
    rng = np.random.default_rng(3)
    return [Shifted(g, rng.standard_normal(g.shape)) for g in blocks] + [Shifted(g, np.array(0.75)) for g in blocks]


def typical(blocks):
    """Those of the typical shapes, where there are several; otherwise all."""
    found = [g for g in blocks if g.shape in TYPICAL]
    return found if len(found) > 2 else blocks


def registered(family):
    out = []
    for p in examples(family):
        blocks = typical(build_all(family, p.values[0]))
        out.append(pytest.param(blocks, id=f"{family}-{p.id}"))
        out.append(pytest.param(shifted(blocks), id=f"{family}-{p.id}-shifted"))
    return out


PENALTIES, SETS = registered("penalty"), registered("set")
every = pytest.mark.parametrize("blocks", PENALTIES + SETS)
every_penalty = pytest.mark.parametrize("blocks", PENALTIES)
every_set = pytest.mark.parametrize("blocks", SETS)


def points(g, rng, count):
    """Points of the domain of g (of the set, for a set): near, far, and zero where it belongs."""
    for _ in range(count):
        q = rng.standard_normal(g.shape) * 10.0 ** rng.uniform(-2, 3)
        yield g.prox(q, 1.0) if g.is_set else q


# Margins, radii and offsets inside a block are at most of this size; they are rounded along with the arrays.
CONSTANTS = 4.0


def largest(*arrays) -> float:
    """The largest magnitude that goes into a sum of these arrays and the constants of a block."""
    return max(CONSTANTS, *(float(np.abs(a).max()) for a in arrays))


def rounding(*arrays) -> float:
    """A bound on the rounding of a few operations on pairings of these arrays."""
    return 1e-14 * max(a.size for a in arrays) * largest(*arrays) ** 2


@every
@few_of_many
@seeds
def test_prox_meets_its_variational_inequality(blocks, seed, beta):
    """p = prox_{beta g}(z) exactly when beta g(q) >= beta g(p) + <z - p, q - p> for all q, far and near."""
    rng = np.random.default_rng(seed)
    for g in blocks:
        z = 3.0 * rng.standard_normal(g.shape)
        p = g.prox(z, beta)
        assert p.shape == z.shape
        floor = g.value(p)
        others = list(points(g, rng, 5))
        near = [p + 1e-3 * (q - p) for q in others]
        for q in others + near:
            excess = beta * (g.value(q) - floor) - np.vdot(z - p, q - p)
            assert excess >= -rounding(z, p, q) * max(1.0, beta)


@every
@few_of_many
@seeds
def test_prox_is_firmly_non_expansive(blocks, seed, beta):
    rng = np.random.default_rng(seed)
    for g in blocks:
        a, b = 3.0 * rng.standard_normal((2, *g.shape))
        pa, pb = g.prox(a, beta), g.prox(b, beta)
        assert np.vdot(pa - pb, pa - pb) <= np.vdot(pa - pb, a - b) + rounding(a, b, pa, pb)


@every
@few_of_many
@seeds
def test_dual_point(blocks, seed, beta):
    """y = (z - p) / beta, and g*(y) = <y, p> - g(p) is the largest <y, q> - g(q)."""
    rng = np.random.default_rng(seed)
    for g in blocks:
        z = 3.0 * rng.standard_normal(g.shape)
        dual = g.smoothed(z, beta)
        p = g.prox(z, beta)
        allowed = rounding(z, p, dual.y)
        np.testing.assert_allclose(dual.y, (z - p) / beta, rtol=0, atol=1e-14 * largest(z, p) * (1 + 1 / beta))
        wide = allowed * (1 + 1 / beta)
        assert dual.conjugate == pytest.approx(np.vdot(dual.y, p) - g.value(p), abs=wide)
        for q in points(g, rng, 5):
            assert dual.conjugate >= np.vdot(dual.y, q) - g.value(q) - wide * max(1.0, np.abs(q).max())
        if g.is_set:
            assert dual.value == 0.0
            assert dual.distance == pytest.approx(np.linalg.norm(z - p), rel=1e-12, abs=1e-14)
            assert dual.reference == pytest.approx(np.linalg.norm(p), rel=1e-12, abs=1e-14)
        else:
            assert dual.value == g.value(z)
            assert (dual.distance, dual.reference) == (0.0, 0.0)


@every
@few_of_many
@seeds
def test_separable_functions_are_smoothed_entry_by_entry(blocks, seed, beta):
    """y is a subgradient of g at z - s y, whatever the s of every entry are."""
    rng = np.random.default_rng(seed)
    for g in (g for g in blocks if g.separable):
        z, steps = 3.0 * rng.standard_normal(g.shape), beta * 10.0 ** rng.uniform(-2, 2, g.shape)
        y = g.dual(z, steps)
        p = g.prox(z - steps * y, 1e-13) if g.is_set else z - steps * y
        np.testing.assert_allclose(p, z - steps * y, rtol=1e-12, atol=1e-12 * largest(z))
        for q in points(g, rng, 5):
            allowed = rounding(z, p, q) * max(1.0, largest(y))
            assert g.value(q) - g.value(p) - np.vdot(y, q - p) >= -allowed
        np.testing.assert_allclose(g.dual(z, np.full(g.shape, beta)), g.smoothed(z, beta).slope, rtol=1e-9, atol=1e-12)


@every
@few_of_many
@seeds
def test_what_a_conjugate_is_summed_from(blocks, seed, beta):
    """Its size is no less than the conjugate; and where any y will do, the conjugate is that of y as it was rounded."""
    rng = np.random.default_rng(seed)
    for g in blocks:
        z = 3.0 * rng.standard_normal(g.shape)
        dual = g.smoothed(z, beta)
        size = g.conjugate_size(dual.y)
        assert g.takes_rounded_duals <= (size is not None)
        if size is not None:
            assert abs(dual.conjugate) <= size * (1.0 + 1e-12) + 1e-300
        if g.takes_rounded_duals:
            for q in points(g, rng, 5):
                excess = np.vdot(dual.y, q) - g.value(q) - dual.conjugate
                assert excess <= 1e-14 * g.shape[0] ** 2 * (np.vdot(np.abs(dual.y), np.abs(q)) + size + abs(g.value(q)))


@every
@few_of_many
@seeds
def test_moreau_identity(blocks, seed, beta):
    """y = prox_{g*/beta}(z / beta): no other dual point w has a smaller g*(w) + beta |w - z/beta|^2 / 2."""
    rng = np.random.default_rng(seed)
    for g in blocks:
        z = 3.0 * rng.standard_normal(g.shape)

        def conjugate_prox_objective(dual, z=z):
            return dual.conjugate + 0.5 * beta * np.linalg.norm(dual.y - z / beta) ** 2

        dual = g.smoothed(z, beta)
        best = conjugate_prox_objective(dual)
        allowed = rounding(z) * (1 + 1 / beta) * 10 + 1e-14 * z.size * (abs(best) + abs(dual.conjugate))
        for _ in range(5):
            other = z + rng.standard_normal(g.shape) * 10.0 ** rng.uniform(-3, 1)
            trial = conjugate_prox_objective(g.smoothed(other, beta * 10.0 ** rng.uniform(-0.5, 0.5)))
            assert best <= trial + allowed


@every
@few_of_many
@seeds
def test_short_cuts_equal_the_general_formula(blocks, seed, beta):
    """An overridden `smoothed` against the one it overrides."""
    rng = np.random.default_rng(seed)
    for g in blocks:
        z = 3.0 * rng.standard_normal(g.shape)
        dual = g.smoothed(z, beta)
        plain = (ConvexSet if isinstance(g, ConvexSet) else Penalty).smoothed(g, z, beta)
        p = g.prox(z, beta)
        allowed = 1e-14 * largest(z, p) * (1 + 1 / beta)
        np.testing.assert_allclose(dual.y, plain.y, rtol=0, atol=allowed)
        assert dual.conjugate == pytest.approx(plain.conjugate, abs=rounding(z, p, dual.y) * (1 + 1 / beta))


@every
@few_of_many
@seeds
def test_uniform_keeps_symmetry(blocks, seed, beta):
    rng = np.random.default_rng(seed)
    for g in blocks:
        if g.uniform and len(g.shape) == 2 and g.shape[0] == g.shape[1]:
            z = rng.standard_normal(g.shape)
            z = z + z.T
            y = g.smoothed(z, beta).y
            np.testing.assert_array_equal(y, y.T)
            if not g.is_set:
                s = g.subgradient(z)
                np.testing.assert_array_equal(s, s.T)


@every
def test_integers_and_views(blocks):
    rng = np.random.default_rng(0)
    for g in blocks:
        z = rng.integers(-5, 6, g.shape)
        np.testing.assert_array_equal(g.prox(z, 2.0), g.prox(z.astype(float), 2.0))
        np.testing.assert_array_equal(g.smoothed(z, 2.0).y, g.smoothed(z.astype(float), 2.0).y)
        strided = np.repeat(z.astype(float), 2, axis=-1)[..., ::2]
        np.testing.assert_array_equal(g.smoothed(strided, 2.0).y, g.smoothed(z.astype(float), 2.0).y)


@every
def test_the_argument_is_left_alone(blocks):
    for g in blocks:
        z = np.random.default_rng(0).standard_normal(g.shape)
        kept = z.copy()
        p, dual = g.prox(z, 0.5), g.smoothed(z, 0.5)
        p += 1.0
        dual.y[...] = 0.0
        np.testing.assert_array_equal(z, kept)
        assert np.isfinite(g.smoothed(z, 0.5).distance)


@every
def test_nan_is_not_hidden(blocks):
    for g in blocks:
        z = np.zeros(g.shape)
        z.reshape(-1)[-1] = np.nan
        assert np.isnan(g.smoothed(z, 1.0).y).any()


@every
@pytest.mark.parametrize("beta", [1e-300, 1e300])
def test_extreme_smoothing_is_finite(blocks, beta):
    for g in blocks:
        z = np.random.default_rng(1).standard_normal(g.shape)
        dual = g.smoothed(z, beta)
        assert np.all(np.isfinite(dual.y))
        assert np.isfinite([dual.conjugate, dual.value, dual.distance, dual.reference]).all()
        if not g.is_set:
            assert np.linalg.norm(dual.y) <= g.lipschitz * (1 + 1e-14)


@every
def test_zero_is_defined(blocks):
    for g in blocks:
        zero = np.zeros(g.shape)
        assert np.all(np.isfinite(g.prox(zero, 1.0)))
        assert np.all(np.isfinite(g.smoothed(zero, 1.0).y))
        if not g.is_set:
            assert np.all(np.isfinite(g.subgradient(zero)))


@every
def test_describe(blocks):
    for g in blocks:
        assert describe(g)["shape"] == list(g.shape)


# ---- finite penalties ----


@every_penalty
@few_of_many
@seeds
def test_subgradient(blocks, seed, beta):
    rng = np.random.default_rng(seed)
    for g in blocks:
        for z in (3.0 * rng.standard_normal(g.shape), np.zeros(g.shape)):
            s = g.subgradient(z)
            dual = g.linearised(z)
            np.testing.assert_array_equal(dual.y, s)
            assert dual.value == g.value(z)
            assert dual.conjugate == pytest.approx(np.vdot(s, z) - g.value(z), abs=rounding(z, s) * 10)
            assert np.linalg.norm(s) <= g.lipschitz * (1 + 1e-14)
            for q in points(g, rng, 5):
                assert g.value(q) >= g.value(z) + np.vdot(s, q - z) - rounding(z, s) * max(10.0, np.abs(q).max())


@every_penalty
@few_of_many
@seeds
def test_lipschitz_constant_is_never_exceeded(blocks, seed, beta):
    rng = np.random.default_rng(seed)
    for g in blocks:
        a, b = 3.0 * rng.standard_normal((2, *g.shape))
        assert abs(g.value(a) - g.value(b)) <= g.lipschitz * np.linalg.norm(a - b) + rounding(a, b)
        assert np.linalg.norm(g.smoothed(a, beta).y) <= g.lipschitz * (1 + 1e-14)


@every_penalty
def test_lipschitz_constant_is_attained(blocks):
    rng = np.random.default_rng(0)
    for g in blocks:
        trials = [100.0 * rng.choice([-1.0, 1.0], g.shape) for _ in range(100)]
        trials += [np.full(g.shape, -100.0), np.full(g.shape, 100.0)]
        assert max(np.linalg.norm(g.subgradient(z)) for z in trials) == pytest.approx(g.lipschitz, rel=1e-12)


@every_penalty
@pytest.mark.parametrize("magnitude", [1e-200, 1e200])
def test_extreme_magnitudes(blocks, magnitude):
    for g in blocks:
        z = magnitude * np.random.default_rng(0).standard_normal(g.shape)
        assert np.isfinite(g.value(z))
        for y in (g.subgradient(z), g.smoothed(z, 1.0).y):
            assert np.linalg.norm(y) <= g.lipschitz * (1 + 1e-14)


def scalar_minimum(objective, low, high) -> float:
    """The minimiser of a convex function of one number."""
    return minimize_scalar(objective, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x


def penalty_twin(example, z, step):
    """prox_{step g}(z), reduced by hand to minimisations over one number that know nothing of projections."""
    kind = example["kind"]
    s = step * example.get("scale", 1.0)
    if kind == "support":  # Moreau's identity, with the twin of the projection
        return z - s * set_twin(example["set"], z / s)
    if kind == "hinge":
        labels = np.broadcast_to(example.get("labels", 1.0), z.shape)
        s = s / z.size if example.get("reduction") == "mean" else s
        return np.array(
            [
                scalar_minimum(
                    lambda p, e=e, b=b: s * max(0.0, 1 - b * p) + 0.5 * (p - e) ** 2, -abs(e) - 9, abs(e) + 9
                )
                for e, b in zip(z, labels, strict=True)
            ]
        )
    if kind == "l1":
        weights = np.broadcast_to(example.get("weights", 1.0), z.shape)
        return np.array(
            [
                scalar_minimum(lambda p, e=e, w=w: s * w * abs(p) + 0.5 * (p - e) ** 2, -abs(e) - 1, abs(e) + 1)
                for e, w in zip(z, weights, strict=True)
            ]
        )
    if kind == "quantile":
        q = example.get("q", 0.5)
        return np.array(
            [
                scalar_minimum(
                    lambda p, e=e: s * max(-q * p, (1 - q) * p) + 0.5 * (p - e) ** 2, -abs(e) - 1, abs(e) + 1
                )
                for e in z
            ]
        )
    if kind == "epsilon-insensitive":
        width = example.get("epsilon", 0.1)
        s = s / z.size if example.get("reduction") == "mean" else s
        return np.array(
            [
                scalar_minimum(
                    lambda p, e=e: s * max(0.0, p - width, -p - width) + 0.5 * (p - e) ** 2, -abs(e) - 1, abs(e) + 1
                )
                for e in z
            ]
        )
    if kind == "huber":
        d = example.get("delta", 1.0)
        return np.array(
            [
                scalar_minimum(
                    lambda p, e=e: s * (p * p / (2 * d) if abs(p) <= d else abs(p) - d / 2) + 0.5 * (p - e) ** 2,
                    -abs(e) - 1,
                    abs(e) + 1,
                )
                for e in z
            ]
        )
    if kind == "l2":
        length = np.sqrt((z**2).sum())
        return z * scalar_minimum(lambda t: s * t * length + 0.5 * (1 - t) ** 2 * length**2, 0.0, 1.0)
    if kind == "group-norm":
        out = np.zeros_like(z)
        for group in example["groups"]:
            out[group] = penalty_twin({**example, "kind": "l2"}, z[group], step)
        return out
    if kind == "linf":  # the entries are cut at +-t
        top = np.abs(z).max()
        t = scalar_minimum(lambda t: s * t + 0.5 * (np.maximum(np.abs(z) - t, 0) ** 2).sum(), 0.0, top)
        return np.clip(z, -t, t)
    assert kind == "max", f"`penalty_twin` knows no `{kind}`: add its prox by other means"
    # The entries are cut at t.
    t = scalar_minimum(lambda t: s * t + 0.5 * (np.maximum(z - t, 0) ** 2).sum(), z.min() - s, z.max())
    return np.minimum(z, t)


@pytest.mark.parametrize("example", examples("penalty"))
@few
@given(seed=st.integers(0, 2**32 - 1), step=st.floats(0.05, 5.0))
def test_prox_against_a_twin(example, seed, step):
    g = next(g for g in build_all("penalty", example) if len(g.shape) == 1)
    z = 2.0 * np.random.default_rng(seed).standard_normal(g.shape)
    np.testing.assert_allclose(g.prox(z, step), penalty_twin(example, z, step), rtol=0, atol=1e-6)


# ---- sets ----


@every_set
@few_of_many
@seeds
def test_projection_is_idempotent_and_inside(blocks, seed, beta):
    rng = np.random.default_rng(seed)
    for g in blocks:
        z = rng.standard_normal(g.shape) * 10.0 ** rng.uniform(-3, 6)
        p = g.prox(z, beta)
        np.testing.assert_array_equal(p, g.prox(z, 2 * beta))
        np.testing.assert_allclose(g.prox(p, beta), p, rtol=1e-14, atol=1e-14 * max(1.0, np.abs(p).max()))
        assert g.value(p) == 0.0
        if np.linalg.norm(z - p) > 1e-9 * np.linalg.norm(z):
            assert g.value(z) == np.inf
            assert g.value(p + 1e-6 * max(1.0, np.linalg.norm(p)) * (z - p) / np.linalg.norm(z - p)) == np.inf


@every_set
def test_a_set_has_no_subgradient_method(blocks):
    for g in blocks:
        with pytest.raises(ProblemError, match="hcgm"):
            g.subgradient(np.zeros(g.shape))


def set_twin(example, z):
    """The nearest point of the set of an example, by a general solver of constrained least squares."""
    kind, n = example["kind"], z.size
    radius = example.get("radius", 1.0)
    bounds, constraints = None, []
    if kind == "equals":
        return np.broadcast_to(np.asarray(example["value"], dtype=float), z.shape)
    if kind in ("box", "nonnegative"):
        lower = np.broadcast_to(example.get("lower", 0.0 if kind == "nonnegative" else -np.inf), n)
        upper = np.broadcast_to(example.get("upper", np.inf), n)
        bounds = list(zip(lower, upper, strict=True))
    elif kind == "simplex" and "length" in example:
        whole = {key: value for key, value in example.items() if key != "length"}
        return np.concatenate([set_twin(whole, run) for run in z.reshape(-1, example["length"])])
    elif kind == "simplex":
        bounds = [(0, None)] * n
        form = "ineq" if example.get("sum") == "at-most" else "eq"
        constraints = [{"type": form, "fun": lambda p: radius - p.sum()}]
    elif kind == "l2-ball":
        constraints = [{"type": "ineq", "fun": lambda p: radius**2 - p @ p}]
    else:
        assert kind == "l1-ball", f"`set_twin` knows no `{kind}`: add its projection by other means"
        tries = [
            minimize(  # p = a - b with a, b >= 0
                lambda ab: 0.5 * ((ab[:n] - ab[n:] - z) ** 2).sum(),
                np.full(2 * n, share * radius / n),
                jac=lambda ab: np.r_[ab[:n] - ab[n:] - z, z - ab[:n] + ab[n:]],
                bounds=[(0, None)] * (2 * n),
                constraints=[{"type": "ineq", "fun": lambda ab: radius - ab.sum()}],
                method="SLSQP",
                options={"ftol": 1e-15, "maxiter": 500},
            )
            for share in (0.0, 0.2, 0.4)
        ]
        # Now and then the solver loses its way.
        halves = min((found for found in tries if np.abs(found.x).sum() <= radius + 1e-9), key=lambda t: t.fun).x
        return halves[:n] - halves[n:]
    return minimize(
        lambda p: 0.5 * ((p - z) ** 2).sum(),
        np.full(n, 0.1),
        jac=lambda p: p - z,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    ).x


@pytest.mark.parametrize("example", examples("set"))
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_projection_against_a_twin(example, seed):
    g = next(g for g in build_all("set", example) if len(g.shape) == 1)
    z = 2.0 * np.random.default_rng(seed).standard_normal(g.shape)
    ours, twin = g.prox(z, 1.0), set_twin(example, z)
    excess = 0.5 * np.sum((twin - z) ** 2) - 0.5 * np.sum((ours - z) ** 2)
    # What is farther from z than the projection p by an excess may differ from it: |q - p|^2 <= 2 excess for q in K.
    assert np.sum((ours - twin) ** 2) <= 2.0 * max(excess, 0.0) + 1e-12
    assert excess <= 1e-5


# ---- what is refused ----


@pytest.mark.parametrize(
    ("family", "example", "words"),
    [
        ("penalty", {"kind": "l1", "scale": 0.0}, "greater than 0"),
        ("penalty", {"kind": "max", "scale": -1.0}, "greater than 0"),
        ("penalty", {"kind": "group-norm", "groups": [[0], [2]]}, "entry 1 is in no group"),
        ("penalty", {"kind": "group-norm", "groups": [[0, 0]]}, "entry 0 is in more than one group"),
        ("penalty", {"kind": "hinge", "reduction": "max"}, "sum"),
        ("penalty", {"kind": "huber", "delta": 0.0}, "greater than 0"),
        ("penalty", {"kind": "quantile", "q": 1.0}, "less than 1"),
        ("penalty", {"kind": "epsilon-insensitive", "epsilon": 0.0}, "greater than 0"),
        ("set", {"kind": "box"}, "constrains nothing"),
        ("set", {"kind": "box", "lower": 2.0, "upper": [3.0, 1.0]}, "lower bound 2 exceeds the upper bound 1"),
        ("set", {"kind": "l1-ball", "radius": 0.0}, "greater than 0"),
        ("set", {"kind": "simplex", "radius": -1.0}, "greater than 0"),
        ("set", {"kind": "equals"}, "required"),
    ],
)
def test_refused_when_the_spec_is_read(family, example, words):
    with pytest.raises(ValidationError, match=words):
        spec(family, example)


@pytest.mark.parametrize(
    ("family", "example", "words"),
    [
        ("penalty", {"kind": "group-norm", "groups": [[0, 1], [2]]}, "cover 3 entries, but the image is a vector of 4"),
        (
            "penalty",
            {"kind": "hinge", "labels": [1, -1]},
            "a vector of 2, but the image they belong to is a vector of 4",
        ),
        ("penalty", {"kind": "hinge", "labels": [1, 0, 1, 0]}, r"\+1 or -1"),
        ("penalty", {"kind": "support", "set": {"kind": "nonnegative"}}, "unbounded set"),
        ("penalty", {"kind": "support", "set": {"kind": "box", "upper": 1.0}}, "unbounded set"),
        ("set", {"kind": "simplex", "length": 3}, "runs of 3 are no division of 4 entries"),
        ("set", {"kind": "equals", "value": [1.0, 2.0]}, "the value is a vector of 2, but the image is a vector of 4"),
        ("set", {"kind": "box", "upper": [[1.0, 2.0]]}, "the upper bound is 1 x 2, but the image is a vector of 4"),
    ],
)
def test_refused_when_built(family, example, words):
    with pytest.raises(ProblemError, match=words):
        spec(family, example).build(InlineContext(), (4,))


def test_bounds_from_a_file_are_checked_when_built():
    with pytest.raises(ProblemError, match="exceeds"):
        BoxSet((2,), np.array([0.0, 2.0]), np.array(1.0))


def test_an_offset_that_does_not_fit():
    g = spec("penalty", {"kind": "l1"}).build(InlineContext(), (4,))
    with pytest.raises(ProblemError, match="the offset is a vector of 3, but the image is a vector of 4"):
        Shifted(g, np.zeros(3))


def test_the_huber_penalty_is_the_envelope_of_the_absolute_value():
    """So its dual keeps all digits however small beta is, and in the limit of a small delta it is the l1-norm."""
    z = np.array([3.0, -0.4, 0.05, 0.0])
    l1 = spec("penalty", {"kind": "l1", "scale": 2.5}).build(InlineContext(), (4,))
    for delta in (0.1, 1.0):
        g = spec("penalty", {"kind": "huber", "scale": 2.5, "delta": delta}).build(InlineContext(), (4,))
        assert g.value(z) == pytest.approx(l1.envelope(z, delta / 2.5), rel=1e-14)
        for beta in (1e-300, 1e-17, 1e-9):
            dual, limit = g.smoothed(z, beta), g.linearised(z)
            np.testing.assert_allclose(dual.y, limit.y, rtol=3 * beta / delta + 1e-15)
            assert dual.conjugate == pytest.approx(limit.conjugate, rel=6 * beta / delta + 1e-15)
    with np.errstate(all="raise", under="ignore"):
        for delta in (1e-300, 1e300):
            g = spec("penalty", {"kind": "huber", "scale": 2.5, "delta": delta}).build(InlineContext(), (4,))
            assert np.isfinite([g.smoothed(z, 0.1).conjugate, g.linearised(z).conjugate, g.value(z)]).all()
            assert np.isfinite(g.prox(z, 0.1)).all()


def test_support_functions_that_have_a_name_of_their_own():
    """Of the simplex, the l1- and the l2-ball: the maximum, the linf- and the l2-norm."""
    z = np.random.default_rng(0).standard_normal(4)
    for inner, other in (("simplex", "max"), ("l1-ball", "linf"), ("l2-ball", "l2")):
        support = spec("penalty", {"kind": "support", "set": {"kind": inner}, "scale": 2.0}).build(
            InlineContext(), (4,)
        )
        named = spec("penalty", {"kind": other, "scale": 2.0}).build(InlineContext(), (4,))
        assert support.lipschitz == named.lipschitz
        assert support.value(z) == pytest.approx(named.value(z))
        np.testing.assert_allclose(support.smoothed(z, 0.3).y, named.smoothed(z, 0.3).y, atol=1e-14)
        np.testing.assert_allclose(support.subgradient(z), named.subgradient(z), atol=1e-15)


@every_set
def test_the_farthest_point_of_a_bounded_set(blocks):
    """It lies in the set, no other point is farther in that direction, and none is farther from zero than `reach`."""
    rng = np.random.default_rng(1)
    for g in blocks:
        if isinstance(g, Shifted):
            continue
        z = rng.standard_normal(g.shape)
        if not np.isfinite(g.reach):
            with pytest.raises(ProblemError, match="unbounded"):
                g.farthest(z)
            continue
        far = g.farthest(z)
        assert g.value(far) == 0.0
        for q in points(g, rng, 20):
            assert np.vdot(z, q) <= np.vdot(z, far) + 1e-12
            assert np.linalg.norm(q) <= g.reach * (1 + 1e-12)


@every
def test_the_slope_along_a_segment_is_that_of_the_envelope(blocks):
    """What a line search goes by; the envelope is convex, so chords on either side enclose its derivative."""
    rng = np.random.default_rng(5)
    for g in blocks:
        z, dz, h = rng.standard_normal(g.shape), rng.standard_normal(g.shape), 1e-6
        for t in (0.0, 0.4, 1.0):
            before, here, after = (g.envelope(z + (t + step) * dz, 0.3) for step in (-h, 0.0, h))
            slack = 1e-8 * largest(z, dz) ** 2
            assert (here - before) / h - slack <= g.slope(z, dz, t, 0.3) <= (after - here) / h + slack


@pytest.mark.parametrize(
    ("weights", "words"),
    [([1.0, -2.0, 0.0, 1.0], "zero or positive, but one is -2"), ([1.0, 2.0], "the array of weights is a vector of 2")],
)
def test_weights_of_l1_that_are_none(weights, words):
    with pytest.raises(ProblemError, match=words):
        spec("penalty", {"kind": "l1", "weights": weights}).build(InlineContext(), (4,))


def test_what_linear_programs_know_of_it_has_its_values():
    """The least <price, t> that brings z between the ends, by linprog, against g(z) itself."""
    rng = np.random.default_rng(5)
    known = [g for family in ("penalty", "set") for p in examples(family) for g in build_all(family, p.values[0])]
    known = [g for g in known if g.epigraph is not None]
    assert len({describe(g)["kind"] for g in known if not g.is_set}) >= 5
    for g in known + shifted(known[::4]):
        told = g.epigraph
        z = g.prox(3.0 * rng.standard_normal(g.shape), 0.3)
        if not told.price.size:
            assert (told.lower <= z.reshape(-1) + 1e-12).all() and (z.reshape(-1) <= told.upper + 1e-12).all()
            continue
        below, above = np.isfinite(told.lower), np.isfinite(told.upper)
        columns, flat = told.columns.toarray(), z.reshape(-1)
        found = linprog(
            told.price,
            A_ub=np.vstack([columns[below], -columns[above]]),
            b_ub=np.concatenate([(flat - told.lower)[below], (told.upper - flat)[above]]),
            bounds=(None if told.is_free else 0.0, None),
        )
        assert found.fun == pytest.approx(g.value(z), rel=1e-9, abs=1e-9)
