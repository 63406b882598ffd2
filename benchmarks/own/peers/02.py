import networkx as nx
import pandas as pd

graph = nx.from_pandas_edgelist(pd.read_csv("edges_str.csv"), edge_attr="weight")
cut, sides = nx.approximation.one_exchange(graph, seed=0)
print(sides)
print(cut)
