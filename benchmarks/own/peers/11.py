import numpy as np
from scipy.optimize import quadratic_assignment

flow = np.array([[0, 3, 1, 2, 0, 4], [3, 0, 5, 1, 2, 0], [1, 5, 0, 2, 3, 1],
                 [2, 1, 2, 0, 4, 2], [0, 2, 3, 4, 0, 3], [4, 0, 1, 2, 3, 0]])  # fmt: skip
distance = np.array([[0, 1, 2, 1, 2, 3], [1, 0, 1, 2, 1, 2], [2, 1, 0, 3, 2, 1],
                     [1, 2, 3, 0, 1, 2], [2, 1, 2, 1, 0, 1], [3, 2, 1, 2, 1, 0]])  # fmt: skip
print(quadratic_assignment(flow, distance, method="2opt", options={"rng": np.random.default_rng(0)}).fun)
