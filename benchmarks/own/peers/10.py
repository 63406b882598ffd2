import cvxpy as cp
import numpy as np

cov = np.loadtxt("cov.csv", delimiter=",")
X = cp.Variable((20, 20), PSD=True)
value = cp.trace(cov @ X) - 0.05 * cp.sum(cp.abs(X))
problem = cp.Problem(cp.Maximize(value), [cp.trace(X) == 3, np.eye(20) - X >> 0])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
