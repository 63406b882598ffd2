"""Sweeps: one spec at many points, on this machine or on a cluster, with all state on the disk."""
