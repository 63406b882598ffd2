import cvxpy as cp
import numpy as np
import pandas as pd

table = pd.read_csv("ratings.csv")
table["row"], table["column"] = pd.factorize(table["userId"])[0], pd.factorize(table["movieId"])[0]
held = np.random.default_rng(0).random(len(table)) < 0.1
train, test = table[~held], table[held]
X = cp.Variable((table["row"].max() + 1, table["column"].max() + 1))
cost = cp.sum_squares(X[train["row"], train["column"]] - train["rating"]) / 2
problem = cp.Problem(cp.Minimize(cost), [cp.normNuc(X) <= 200])
problem.solve(solver=cp.CLARABEL)
print(np.sqrt(np.mean((X.value[test["row"], test["column"]] - test["rating"]) ** 2)))
