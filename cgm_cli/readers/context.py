"""What a block's `build` may ask for: arrays from files, and memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.spec.fields import ArrayField


@dataclass
class BuildContext:
    """Handed to every `Spec.build`.

    folders: where a relative file name is looked up, in order. sources: top-level `source:` of the spec, file name -> where to
    get it and its SHA-256. seed: the seed of the spec. reserved: bytes asked for so far, by what they are for.
    """

    folders: tuple[Path, ...]
    seed: int = 0
    reserved: dict[str, int] = field(default_factory=dict)

    def find(self, name: str) -> Path:
        """The path of a data file; DataError (with the `source:` line) if it is nowhere or its SHA-256 differs."""
        ...

    def array(self, value: ArrayField) -> np.ndarray:
        """A new float64 array (0-d, 1-d or 2-d), every entry finite; DataError or ProblemError otherwise."""
        ...

    def matrix(self, value: ArrayField) -> np.ndarray | sp.csr_array:
        """Like `array`, but a two-dimensional sparse file stays sparse."""
        ...

    def reserve(self, what: str, nbytes: int) -> None:
        """Account for memory about to be allocated; ProblemError with the estimate if the sum does not fit into the machine."""
        ...
