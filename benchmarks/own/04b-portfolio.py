import numpy as np

from cgm_cli import solve

answer = solve(
    {
        "name": "small-units",
        "problem": {
            "domain": {"kind": "simplex", "size": 20},
            "objective": {"kind": "quadratic", "matrix": np.loadtxt("cov.csv", delimiter=",") / 10000},
            "constraints": [{"kind": "box", "upper": 0.2}],
            "penalties": [{"kind": "l1", "scale": 0.002e-4, "offset": 0.05}],
        },
    }
)
print(answer.objective, answer.bound, answer.bound_is)
