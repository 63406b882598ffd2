"""cgm as a solver of CVXPY's: `problem.solve(solver=cgm_cli.cvxpy.CGM())`."""

from __future__ import annotations

try:
    from cgm_cli.cvxpy.solver import CGM
except ModuleNotFoundError as error:
    if error.name != "cvxpy":
        raise
    raise ModuleNotFoundError(
        "cgm_cli.cvxpy needs CVXPY 1.9 or later: pip install 'cgm[cvxpy]'", name="cvxpy"
    ) from None

__all__ = ["CGM"]
