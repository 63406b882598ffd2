import cvxpy as cp
import numpy as np

noisy = np.loadtxt("noisycorr.csv", delimiter=",")
X = cp.Variable((20, 20), PSD=True)
problem = cp.Problem(cp.Minimize(cp.sum_squares(X - noisy) / 2), [cp.diag(X) == 1])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
