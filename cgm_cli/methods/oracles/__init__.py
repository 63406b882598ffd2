"""Accuracy policies: how well the oracle answers at iteration k."""
