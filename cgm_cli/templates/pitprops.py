"""The embedded data set of sparse principal components: correlations of 13 measurements of 180 pit props.

J. N. R. Jeffers, "Two case studies in the application of principal component analysis", Applied Statistics 16, 1967.
"""

from __future__ import annotations

import numpy as np

NAMES = (
    "topdiam",
    "length",
    "moist",
    "testsg",
    "ovensg",
    "ringtop",
    "ringbut",
    "bowmax",
    "bowdist",
    "whorls",
    "clear",
    "knots",
    "diaknot",
)

_BELOW_THE_DIAGONAL = """
 .954
 .364  .297
 .342  .284  .882
-.129 -.118 -.148  .220
 .313  .291  .153  .381  .364
 .496  .503 -.029  .174  .296  .813
 .424  .419 -.054 -.059  .004  .090  .372
 .592  .648  .125  .137 -.039  .211  .465  .482
 .545  .569 -.081 -.014  .037  .274  .679  .557  .526
 .084  .076  .162  .097 -.091 -.036 -.113  .061  .085 -.319
-.019 -.036  .220  .169 -.145  .024 -.232 -.357 -.127 -.368  .029
 .134  .144  .126  .015 -.208 -.329 -.424 -.202 -.076 -.291  .007  .184
"""


def pitprops() -> np.ndarray:
    """The correlation matrix (13, 13)."""
    found = np.eye(len(NAMES))
    found[np.tril_indices(len(NAMES), -1)] = np.array(_BELOW_THE_DIAGONAL.split(), dtype=float)
    return found + np.tril(found, -1).T
