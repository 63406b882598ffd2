import cvxpy as cp
import networkx as nx

graph = nx.read_edgelist("edges_int.csv", delimiter=",", nodetype=int)
n = graph.number_of_nodes()
X = cp.Variable((n, n), PSD=True)
problem = cp.Problem(cp.Maximize(cp.sum(X)), [cp.trace(X) == 1, *(X[i, j] == 0 for i, j in graph.edges)])
problem.solve(solver=cp.CLARABEL)
print(problem.value)
