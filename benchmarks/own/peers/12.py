import cvxpy as cp
import numpy as np

place = np.arange(30)
here, there = np.exp(-((place - 8) ** 2) / 20), np.exp(-((place - 19) ** 2) / 40)
here, there = here / here.sum(), there / there.sum()
cost = np.abs(place[:, None] - place) / 29
X = cp.Variable((30, 30), nonneg=True)
problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, X))), [cp.sum(X, axis=1) == here, cp.sum(X, axis=0) == there])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
