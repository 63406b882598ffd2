import numpy as np

from cgm_cli import solve

place = np.arange(30)
here, there = np.exp(-((place - 8) ** 2) / 20), np.exp(-((place - 19) ** 2) / 40)
sums = np.vstack([np.kron(np.eye(30), np.ones(30)), np.kron(np.ones(30), np.eye(30))])
answer = solve(
    {
        "name": "transport",
        "problem": {
            "template": "linear-program",
            "cost": np.abs(place[:, None] - place).ravel() / 29,
            "matrix": sums,
            "equals": np.concatenate([here / here.sum(), there / there.sum()]),
        },
    }
)
print(answer.objective, answer.bound, answer.bound_is)
