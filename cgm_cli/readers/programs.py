"""Semidefinite programs in files: which format a file has, by its content first and its name second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cgm_cli.readers import cbf, sdpa
from cgm_cli.readers.block_program import BlockProgram
from cgm_cli.readers.head import Head


@dataclass(frozen=True)
class ProgramFormat:
    """name: in words. suffixes: of files that are this, if their content does not say otherwise. resembles: whether one
    may be a damaged file of this format.
    """

    name: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[Head], bool]
    read: Callable[[Path, str], BlockProgram]
    resembles: Callable[[Head], bool] = lambda head: False


SDPA = ProgramFormat(
    "a semidefinite program in the SDPA format", (".dat-s", ".dat"), sdpa.looks_like, sdpa.read_sdpa, sdpa.resembles
)
FORMATS = (
    ProgramFormat("a conic program in the Conic Benchmark Format", (".cbf",), cbf.looks_like, cbf.read_cbf),
    SDPA,
)


def read_program(path: Path, name: str | None = None) -> BlockProgram:
    """The program in a file. DataError, with the line where there is one, for what is damaged; what looks like nothing
    is read as SDPA.
    """
    name = name or str(path)
    head = Head.of(path, name)
    named = (each for each in FORMATS if head.suffix in each.suffixes)
    found = next((each for each in FORMATS if each.looks_like(head)), None) or next(named, SDPA)
    return found.read(path, name)
