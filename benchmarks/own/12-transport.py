import numpy as np

from cgm_cli import solve

place = np.arange(30)
here, there = np.exp(-((place - 8) ** 2) / 20), np.exp(-((place - 19) ** 2) / 40)
sides = {"supplies": here / here.sum(), "demands": there / there.sum()}
costs = np.abs(place[:, None] - place) / 29
answer = solve({"name": "transport", "problem": {"template": "transport", "costs": costs, **sides}})
print(answer.objective, answer.bound, answer.bound_is)
