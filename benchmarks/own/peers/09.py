import cvxpy as cp
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import StandardScaler

X, y = load_svmlight_file("data.svm")
X = StandardScaler().fit_transform(X.toarray())
w = cp.Variable(X.shape[1])
cost = cp.sum(cp.pos(1 - cp.multiply(y, X @ w))) / len(y)
problem = cp.Problem(cp.Minimize(cost), [cp.norm(w) <= 1])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
