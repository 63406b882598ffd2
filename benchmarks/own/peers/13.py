import cvxpy as cp
import numpy as np

X, Y = cp.Variable((2, 2), PSD=True), cp.Variable((3, 3), PSD=True)
A = np.array([[5, 2, 0], [2, 6, 0], [0, 0, 1]])
value = cp.trace(np.diag([1, 2]) @ X) + cp.trace(np.diag([3, 4, 0]) @ Y)
problem = cp.Problem(cp.Maximize(value), [cp.trace(X) == 10, X[1, 1] + cp.trace(A @ Y) == 20])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
