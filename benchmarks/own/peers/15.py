import cvxpy as cp
import networkx as nx

L = nx.laplacian_matrix(nx.read_edgelist("edges_int.csv", delimiter=",")).toarray()
X = cp.Variable(L.shape, PSD=True)
problem = cp.Problem(cp.Maximize(cp.trace(L @ X) / 4), [cp.diag(X) == 1, X[0, 1] == -1])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
