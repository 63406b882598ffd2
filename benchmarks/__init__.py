"""Measurements: `python -m benchmarks.<name>`. Timings live here and not in the tests."""
