import pandas as pd
from sklearn.cluster import KMeans

table = pd.read_csv("blobs_str.csv")
means = KMeans(4, n_init=100, random_state=0).fit(table.drop(columns="label"))
print(pd.crosstab(means.labels_, table["label"]))
print(means.inertia_)
