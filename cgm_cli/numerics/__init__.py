"""Eigenvectors, singular vectors, fused passes and projections: plain arrays in, plain arrays out."""
