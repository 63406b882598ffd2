"""Measurements that take longer than a test: each module is a script, `python -m benchmarks.NAME`."""
