"""The sketched iterate against a dense array that makes the same steps."""

import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom, LowRankAtom, SparseAtom
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.sketch import SketchedIterate
from cgm_cli.errors import ProblemError

N = 30


def extreme(rng, domain):
    """A random extreme point of a domain."""
    vectors = np.linalg.qr(rng.standard_normal((domain.shape[0], domain.count)))[0]
    return LowRankAtom.symmetric(vectors, np.full(domain.count, domain.weight))


def begun(domain, rank, seed=0):
    return SketchedIterate(domain.start(), rank, domain, np.random.default_rng(seed))


DOMAINS = [PSDTrace(N, 7.0, True), PSDTrace(N, 7.0, False), Fantope(N, 3)]
IDS = ["fixed trace", "bounded trace", "fantope"]


@pytest.mark.parametrize("domain", DOMAINS, ids=IDS)
def test_the_sketch_is_that_of_x_at_every_step(domain):
    rng, iterate, x = np.random.default_rng(0), begun(domain, 8), domain.start().dense()
    basis = iterate.pack()["basis"]
    np.testing.assert_allclose(basis.T @ basis, np.eye(8), atol=1e-14)
    for k in range(1, 60):
        idle = k % 9 == 0 and not getattr(domain, "fixed_trace", True)
        atom, eta = SparseAtom.zero((N, N)) if idle else extreme(rng, domain), 2.0 / (k + 2)
        iterate.blend(atom, eta)
        x = (1.0 - eta) * x + eta * atom.dense()
        tree = iterate.pack()
        np.testing.assert_allclose(tree["sketch"], x @ basis, atol=1e-13 * domain.radius)
        assert tree["trace"] == pytest.approx(np.trace(x), rel=1e-13)
        if k % 10 == 0:
            recovered = iterate.atom()
            assert domain.contains(recovered.dense())
            assert np.linalg.norm(recovered.dense() - x, "nuc") <= iterate.truncation
            # With a fixed trace, what is missing is put back, once more: twice is all that can be wrong.
            assert iterate.truncation <= 2.001 * np.trace(x)
    assert iterate.truncation > 0.1


@pytest.mark.parametrize("domain", DOMAINS, ids=IDS)
def test_a_rank_that_fits_is_recovered(domain):
    rng, iterate, x = np.random.default_rng(1), begun(domain, 16), domain.start().dense()
    for _ in range(4):
        atom = extreme(rng, domain)
        iterate.blend(atom, 0.4)
        x = 0.6 * x + 0.4 * atom.dense()
    np.testing.assert_allclose(iterate.atom().dense(), x, atol=1e-11)
    assert np.linalg.norm(iterate.atom().dense() - x, "nuc") <= iterate.truncation <= 1e-10


def test_the_missing_trace_is_spread_evenly():
    domain = PSDTrace(N, 7.0, True)
    rng, rank = np.random.default_rng(2), 5
    iterate = begun(domain, rank)
    for k in range(1, 30):
        iterate.blend(extreme(rng, domain), 2.0 / (k + 2))
    tree = iterate.pack()
    sketch, basis = tree["sketch"], tree["basis"]
    core = basis.T @ sketch
    plain = np.linalg.eigvalsh(sketch @ np.linalg.solve(0.5 * (core + core.T), sketch.T))[::-1][:rank]
    np.testing.assert_allclose(iterate.arrays()["weights"], plain + (7.0 - plain.sum()) / rank, rtol=1e-10)
    assert iterate.truncation == pytest.approx(2.0 * (7.0 - plain.sum()), rel=1e-9)


def test_zero_and_a_full_step():
    domain = PSDTrace(N, 7.0, False)
    iterate = begun(domain, 4)
    assert iterate.truncation == 0.0 and not iterate.atom().dense().any()
    atom = extreme(np.random.default_rng(3), domain)
    iterate.blend(atom, 0.5)
    iterate.blend(atom, 1.0)
    np.testing.assert_allclose(iterate.atom().dense(), atom.dense(), atol=1e-12)


def test_what_is_packed_is_all():
    domain = PSDTrace(N, 7.0, True)
    rng = np.random.default_rng(4)
    atoms = [extreme(rng, domain) for _ in range(20)]
    one, other = begun(domain, 6), begun(domain, 6, seed=1)
    for atom in atoms[:10]:
        one.blend(atom, 0.3)
    other.atom()
    other.unpack(one.pack())
    for atom in atoms[10:]:
        one.blend(atom, 0.2)
        other.blend(atom, 0.2)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, other.arrays()[name])


def test_atoms_without_factors_are_refused():
    iterate = begun(PSDTrace(3, 1.0, True), 2)
    for atom in (DenseAtom(np.eye(3)), SparseAtom.one_hot((3, 3), 0, 1.0)):
        with pytest.raises(ProblemError, match="dense"):
            iterate.blend(atom, 0.5)
