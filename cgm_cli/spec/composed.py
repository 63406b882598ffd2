"""A spec of a problem that is composed of blocks, to begin with: `cgm init composed`."""

COMPOSED_SPEC = """\
# A problem composed of blocks:  minimise over x in X:  f(x) + sum_i g_i(A_i x - offset_i)
# This one is a portfolio of four places. `cgm list` has all blocks, `cgm list NAME` one of them with its parameters.
name: composed
problem:
  # X, compact: over it a linear function is minimised. A list of `domains` stands for their intersection.
  domain: {kind: simplex, size: 4}            # x >= 0, sum x = 1

  # f, smooth and convex; may be left out. An array may be in a file: {file: covariance.csv}
  objective:
    kind: quadratic                           # 1/2 <x, Q x>: half the variance
    matrix: [[9, 2, 1, 0], [2, 6, 2, 0], [1, 2, 4, 0], [0, 0, 0, 1]]

  # Each says that A x is in a set; A is `map`, the identity where it is left out.
  constraints:
    - {kind: box, upper: 0.4, name: cap}      # at most 40 % in one place
    - kind: box                               # a return of at least 8
      map: {kind: matrix, matrix: [[12, 9, 7, 2]]}
      lower: 8
      name: return

  # Each adds g(A x - offset), convex, not necessarily smooth.
  penalties:
    - {kind: l1, scale: 0.5, offset: [0.25, 0.25, 0.25, 0.25], name: trades}

# What follows may be left out: it is what a spec that says nothing gets.
solver:
  method: auto
stop:
  gap: 1.0e-4
  infeasibility: 1.0e-4

seed: 0
"""
