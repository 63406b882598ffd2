import cvxpy as cp
import pandas as pd

table = pd.read_csv("clf.csv")
w = cp.Variable(20)
cost = cp.sum(cp.huber(table.drop(columns="f0").to_numpy() @ w - table["f0"].to_numpy())) / 2
problem = cp.Problem(cp.Minimize(cost), [cp.norm(w) <= 10])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
