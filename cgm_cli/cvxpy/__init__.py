"""cgm as a solver of CVXPY's: `problem.solve(solver=cgm_cli.cvxpy.CGM())`."""

from __future__ import annotations

try:
    from cgm_cli.cvxpy.solver import CGM
except ImportError as error:
    if (error.name or "").partition(".")[0] != "cvxpy":
        raise
    raise ImportError("cgm_cli.cvxpy needs CVXPY 1.9 or later: pip install 'cgm[cvxpy]'", name="cvxpy") from error

__all__ = ["CGM"]
