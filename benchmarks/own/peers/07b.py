import cvxpy as cp
import numpy as np
from PIL import Image

photo = np.asarray(Image.open("photo.png")) / 255.0
known = np.random.default_rng(0).random((64, 64)) >= 0.2
total = 0.0
for channel in range(3):
    X = cp.Variable((64, 64))
    problem = cp.Problem(cp.Minimize(cp.tv(X)), [X[known] == photo[:, :, channel][known]])
    total += problem.solve(solver=cp.CLARABEL)
print(total)
