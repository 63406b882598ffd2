"""Loaded by dask workers on this machine as they start (`preload`): Ctrl-C is not for them.

A terminal sends it to every process; workers that die of it could not tell their runs to leave.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
