"""A covariance, as it is given or of samples, and what its variables are called."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cgm_cli.blocks.fitting import named
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext, called
from cgm_cli.spec.fields import ArrayField
from cgm_cli.templates.spectrahedron_game import symmetric
from cgm_cli.templates.triangular import completed


class Covariance(NamedTuple):
    """matrix: symmetric (n, n). names: of the n variables; None where they are told by their numbers."""

    matrix: np.ndarray
    names: list[str] | None = None


def read_covariance(
    context: BuildContext, covariance: ArrayField | None, points: ArrayField | None, standardise: bool
) -> Covariance:
    """By the fields `covariance`, or `points`, of which one is there; standardise: the points. The headings of a table
    name the variables; one triangle of a covariance is enough. Raises DataError and ProblemError, located.
    """
    if points is None:
        assert covariance is not None
        with located("covariance"):
            given = context.named_array(covariance, takes_nan=True)
            found = symmetric(_known(completed(context, given.array, called(covariance, "the covariance"))))
            assert isinstance(found, np.ndarray)
            return Covariance(found, given.columns or given.rows)
    with located("points"):
        samples = context.named_array(points, copies=2)
        if samples.array.ndim != 2:
            raise ProblemError(f"points are a matrix, one a row, not {named(samples.array.shape)}")
        context.reserve("covariance", 8 * samples.array.shape[1] ** 2)
        return Covariance(covariance_of(samples.array, standardise), samples.columns)


def _known(matrix: np.ndarray) -> np.ndarray:
    """Raises ProblemError where an entry is not known."""
    if np.isnan(matrix).any():
        place = ", ".join(map(str, np.argwhere(np.isnan(matrix))[0]))
        raise ProblemError(f"entry ({place}), counted from 0, is missing: all of a covariance has to be known")
    return matrix


def covariance_of(points: np.ndarray, standardise: bool) -> np.ndarray:
    """Of points (m, n), one per row: (n, n), the mean of products of deviations from the means."""
    centred = points - points.mean(axis=0)
    if standardise:
        deviations = centred.std(axis=0)
        centred /= np.where(deviations > 1e-12 * np.abs(points).max(axis=0), deviations, 1.0)
    return centred.T @ centred / len(points)
