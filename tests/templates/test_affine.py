"""Programs in blocks, and the same with the blocks along the diagonal of one matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import cgm_cli
from cgm_cli.numerics.blockwise import Blocks, diagonal_blocks
from cgm_cli.readers.programs import read_program
from cgm_cli.reports.arrays import write_solution
from cgm_cli.runs.load import load_run
from cgm_cli.templates import affine
from cgm_cli.templates.affine import along_diagonal, is_for_factors, parts_of_program
from cgm_cli.templates.standard_sdp import StandardSDP
from cgm_cli.templates.trace_bounds import trace_limit
from cgm_cli.verify.check import verify

SIZES = [(3, -2, 2), (-1, 4), (2, 2, -3, 1)]


@pytest.mark.parametrize("sizes", SIZES)
def test_places_along_the_diagonal(sizes):
    """Flat entries written one after the other into one matrix, by hand."""
    blocks = Blocks(sizes)
    flat = np.arange(1.0, blocks.entries + 1.0)
    whole, first, start = np.zeros((blocks.order, blocks.order)), 0, 0
    for size in sizes:
        n = abs(size)
        part = flat[start : start + (n * n if size > 0 else n)]
        whole[first : first + n, first : first + n] = part.reshape(n, n) if size > 0 else np.diag(part)
        first, start = first + n, start + part.size
    found = np.zeros(blocks.order**2)
    found[blocks.along_diagonal(np.arange(blocks.entries))] = flat
    np.testing.assert_array_equal(found.reshape(whole.shape), whole)
    for matrix in (whole, sp.csr_array(whole)):
        parts = [part.reshape(-1) for part in diagonal_blocks(matrix, sizes)]
        np.testing.assert_array_equal(np.concatenate(parts), flat)


def test_where_discs_tell_that_a_matrix_is_definite_they_bound_its_eigenvalues():
    rng, blocks = np.random.default_rng(0), Blocks((3, 3, -2, 5))
    for spread in (0.1, 0.3, 3.0):
        flat = blocks.symmetric(blocks.identity() + spread * rng.standard_normal(blocks.entries) / 5.0)
        least = blocks.bottom(flat).value
        assert least - 2.0 * spread <= blocks.lower_bound(flat) <= least


def two_graphs(nodes: int, seed: int) -> str:
    """maximise <L_1, X> + <L_2, Y> + 0.9 sum z over X_ii + Y_ii + z_i = 1, in the format of SDPA."""
    rng = np.random.default_rng(seed)
    lines = [f"{nodes}", "3", f"{nodes} {nodes} -{nodes}", " ".join(["1"] * nodes)]
    for block in (1, 2):
        edges = np.triu(rng.random((nodes, nodes)) < 4.0 / nodes, 1)
        degrees = edges.sum(0) + edges.sum(1)
        lines += [f"0 {block} {i + 1} {i + 1} {0.25 * degrees[i]}" for i in range(nodes)]
        lines += [f"0 {block} {i + 1} {j + 1} -0.25" for i, j in zip(*np.nonzero(edges), strict=True)]
    lines += [f"0 3 {i + 1} {i + 1} 0.9" for i in range(nodes)]
    lines += [f"{i + 1} {block} {i + 1} {i + 1} 1" for i in range(nodes) for block in (1, 2, 3)]
    return "\n".join(lines) + "\n"


def test_blocks_along_the_diagonal_have_the_same_optimum(tmp_path):
    (tmp_path / "p.dat-s").write_text(two_graphs(20, 0))
    parts = parts_of_program(read_program(tmp_path / "p.dat-s", "p.dat-s"))
    limit = trace_limit(Blocks(parts.sizes), parts.affine.rows, parts.affine.lower, parts.affine.upper)
    assert limit.exact and limit.radius == 20.0
    found = {}
    for name, form, correction in (
        ("blocks", parts, "interior-point"),
        ("one", along_diagonal(parts), "local-descent"),
    ):
        problem = StandardSDP(form, limit, maximise=True).problem
        solver = {"method": "cgal", "correction": correction, "iterations": 300}
        found[name] = cgm_cli.solve(problem, method=solver, stop={"gap": 1e-6, "infeasibility": 1e-6})
        assert found[name].status.value == "converged", name
    assert found["one"].objective == pytest.approx(found["blocks"].objective, rel=1e-5)
    assert found["one"].bound >= found["blocks"].objective * (1.0 - 1e-6)


def test_only_large_programs_in_several_blocks_are_for_factors(tmp_path):
    for nodes, several in ((20, False), (1500, True)):
        (tmp_path / "p.dat-s").write_text(two_graphs(nodes, 0))
        assert is_for_factors(parts_of_program(read_program(tmp_path / "p.dat-s", "p.dat-s"))) == several


def test_such_a_run_is_verified_and_its_blocks_are_exported(tmp_path, monkeypatch):
    monkeypatch.setattr(affine, "LARGE", 10)
    monkeypatch.setattr(affine, "ENTRIES", 100)
    (tmp_path / "p.dat-s").write_text(two_graphs(30, 1))
    problem = {"template": "standard-sdp", "program": {"file": str(tmp_path / "p.dat-s")}}
    solver = {"method": "cgal", "correction": "local-descent", "iterations": 200}
    stop = {"gap": 1e-5, "infeasibility": 1e-5}
    spec = {"problem": problem, "solver": solver, "stop": stop}
    result = cgm_cli.solve(spec, out=tmp_path / "run")
    assert result.status.value == "converged"
    assert verify(tmp_path / "run").holds
    write_solution(tmp_path / "x.sol", load_run(tmp_path / "run"), False)
    y, *lines = (tmp_path / "x.sol").read_text().splitlines()
    entries = np.array([line.split() for line in lines], dtype=float)
    # X_ii + Y_ii + z_i = 1 again, and <C, X> = b^T y at the optimum, from what the file has.
    x = entries[entries[:, 0] == 2.0]
    diagonal = x[x[:, 2] == x[:, 3]]
    sums = np.bincount(diagonal[:, 2].astype(int) - 1, weights=diagonal[:, 4], minlength=30)
    np.testing.assert_allclose(sums, 1.0, atol=1e-3)
    assert set(entries[:, 1]) == {1.0, 2.0, 3.0}
    # b^T y and the trace times the smallest eigenvalue of the slack are the bound, in the sense of a minimisation.
    least = []
    for block in (1, 2, 3):
        matrix = np.zeros((30, 30))
        for _, _, i, j, entry in entries[(entries[:, 0] == 1.0) & (entries[:, 1] == block)]:
            matrix[int(i) - 1, int(j) - 1] = matrix[int(j) - 1, int(i) - 1] = entry
        least.append(np.diagonal(matrix).min() if block == 3 else np.linalg.eigvalsh(matrix)[0])
    bound = -sum(map(float, y.split())) + 30.0 * min(least)
    assert -bound == pytest.approx(result.bound, rel=1e-6)
