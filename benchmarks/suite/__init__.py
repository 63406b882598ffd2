"""The benchmark suite behind `python -m benchmarks run`: methods and peers on the same problems, in the same run."""
