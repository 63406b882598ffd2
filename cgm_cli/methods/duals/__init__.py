"""Dual updates: how the multipliers move that the smoothing is centred at."""
