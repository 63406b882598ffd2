import cvxpy as cp
import pandas as pd
from sklearn.preprocessing import StandardScaler

table = StandardScaler().fit_transform(pd.read_csv("clf.csv"))
w = cp.Variable(20, nonneg=True)
cost = cp.sum_squares(table[:, :20] @ w - table[:, 20]) / (2 * len(table))
problem = cp.Problem(cp.Minimize(cost), [cp.sum(w) == 1])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
