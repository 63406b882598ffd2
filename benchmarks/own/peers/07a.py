import cvxpy as cp
import numpy as np
from PIL import Image

photo = np.asarray(Image.open("photo.png")) / 255.0
total = 0.0
for channel in range(3):
    X = cp.Variable((64, 64))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X - photo[:, :, channel]) / 2 + 0.1 * cp.tv(X)))
    total += problem.solve(solver=cp.CLARABEL)
print(total)
