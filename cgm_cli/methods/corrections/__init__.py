"""Correction policies: what is done with the oracle's atom beyond a step towards it."""
