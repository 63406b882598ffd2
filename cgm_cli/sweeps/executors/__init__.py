"""Where the points of a sweep are computed: here, by dask workers, or in jobs of Slurm. All run the same task."""
