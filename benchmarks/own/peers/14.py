import cvxpy as cp
import pandas as pd

V = pd.read_csv("clf.csv").drop(columns="target").to_numpy()
w = cp.Variable(len(V), nonneg=True)
problem = cp.Problem(cp.Minimize(-cp.log_det(V.T @ cp.diag(w) @ V)), [cp.sum(w) == 1])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
