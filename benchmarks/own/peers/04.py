import cvxpy as cp
import numpy as np

cov = np.loadtxt("cov.csv", delimiter=",")
x = cp.Variable(20, nonneg=True)
cost = cp.quad_form(x, cov) / 2 + 0.002 * cp.norm1(x - 0.05)
problem = cp.Problem(cp.Minimize(cost), [cp.sum(x) == 1, x <= 0.2])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
