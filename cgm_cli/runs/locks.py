"""Locks on open files (flock): the kernel drops one with its last holder, however that ends.

Owners hold them exclusively; who only asks shares one for an instant, which an owner to be waits out. Some file systems
are mounted without locks: what then counts instead is for the caller to say.

The library `filelock` (4.3) does not do for this: it can only ask by taking the lock, for which it makes the file,
where a reader may have no right to write and must change nothing; its file stays, where a run folder ends without one;
and a lock cannot go on in a process that is started with the open file, as the claims of sweeps do.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

_PAUSES = (0.02, 0.05, 0.1)
"""Seconds after which a lock is tried again that others hold for an instant."""


def try_lock(descriptor: int) -> bool | None:
    """Take the lock of an open file. True: it is ours. False: it is somebody else's. None: there are no locks here."""
    for pause in _PAUSES:
        taken = _flock(descriptor, fcntl.LOCK_EX)
        # As long as it can be shared, there are only those who ask.
        if taken is not False or _flock(descriptor, fcntl.LOCK_SH) is False:
            return taken
        _flock(descriptor, fcntl.LOCK_UN)
        time.sleep(pause)
    return _flock(descriptor, fcntl.LOCK_EX)


def wait_for_lock(descriptor: int) -> None:
    """Take the lock of an open file, as soon as whoever holds it gives it back; nothing where there are no locks."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_owned(path: Path) -> bool | None:
    """Whether a living process holds the lock of the file at `path`; None if there are no locks here.

    Raises OSError if it cannot be opened for reading.
    """
    # A named pipe in its place would keep waiting whoever opens it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        free = _flock(descriptor, fcntl.LOCK_SH)
        return None if free is None else not free
    finally:
        os.close(descriptor)


def is_at(path: Path, descriptor: int) -> bool:
    """Whether the open file is the one that stands at `path`: its last owner may have removed that."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _flock(descriptor: int, operation: int) -> bool | None:
    """As `try_lock`, at once."""
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
