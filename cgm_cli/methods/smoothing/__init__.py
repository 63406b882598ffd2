"""Smoothing policies: beta_k, by which the terms that are not smooth are smoothed at iteration k."""
