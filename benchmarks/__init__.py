"""Measurements that take longer than a test.

`python -m benchmarks run [--peers]` measures methods and other solvers on the same problems, in one run
(benchmarks.suite); every other module is a script about one thing, `python -m benchmarks.NAME`.
"""
