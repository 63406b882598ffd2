"""SciPy's reader of MATLAB files, as a process of its own: `python matlab_child.py FILE BYTES SECONDS`.

It says which variables there are, is told the name of one, and sends its numbers: lines of JSON, and behind the last
of them the parts of the array as they lie in memory, by columns. What goes wrong is a line with `error` or `memory`, or
the end of the process, which is what it is for (`cgm_cli.readers.matlab`). It imports nothing of this package, and so
runs wherever SciPy does.
"""

import json
import resource
import sys
import warnings
from contextlib import suppress
from typing import Any

import scipy.io
import scipy.sparse as sp


def main(path: str, memory: int, seconds: int) -> None:
    """memory: bytes that may be taken besides what is taken now; seconds: of processor time."""
    warnings.simplefilter("ignore")
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, seconds)
    with suppress(OSError), open("/proc/self/statm") as statm:
        _limit(resource.RLIMIT_AS, int(statm.read().split()[0]) * resource.getpagesize() + memory)
    try:
        with open(path, "rb") as opened:
            file: Any = opened  # SciPy's stubs know of names only
            _say(variables=scipy.io.whosmat(file, appendmat=False))
            key = json.loads(sys.stdin.readline())
            file.seek(0)
            array: Any = scipy.io.loadmat(file, appendmat=False, variable_names=[key])[key]
        sparse = bool(sp.issparse(array))
        parts = [array.data, array.indices, array.indptr] if sparse else [array]
        _say(shape=array.shape, sparse=sparse, parts=[[part.dtype.str, part.size] for part in parts])
        for part in parts:
            sys.stdout.buffer.write(part.reshape(-1, order="F").view("u1").data)
        sys.stdout.flush()
    except MemoryError:
        _say(memory=False)
    except Exception as error:  # What a damaged file leads to is open-ended.
        _say(error=(str(error) or type(error).__name__)[:1000])


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _say(**said: Any) -> None:
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
