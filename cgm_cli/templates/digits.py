"""The embedded data set: features of scikit-learn's digits, made as those of the MNIST experiment are."""

from __future__ import annotations

from functools import cache

import numpy as np

DIGITS = 1797
"""Images that scikit-learn ships."""


@cache
def digit_features(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (count, 10) and labels (count,) of the first `count` digits, count < 1797.

    The features are the class probabilities of a softmax regression trained on the other images, so no clustered label
    is seen.
    """
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    images, labels = load_digits(return_X_y=True)
    images = images / 16.0
    model = LogisticRegression(C=1.0, max_iter=2000, tol=1e-8).fit(images[count:], labels[count:])
    return model.predict_proba(images[:count]), labels[:count]
