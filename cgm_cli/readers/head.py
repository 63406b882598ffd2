"""How a file begins, to tell by what kind it is, before it is read as that."""

from __future__ import annotations

import codecs
import gzip
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from cgm_cli.errors import DataError
from cgm_cli.readers.text import marked

BYTES = 2**20
"""How much is looked at."""


@dataclass(frozen=True)
class Head:
    """The first megabyte of a file. text: of what is `binary`, empty. whole: whether there is nothing more."""

    path: Path
    text: str
    whole: bool
    binary: bool = False

    MOST: ClassVar[int] = 100

    @classmethod
    def of(cls, path: Path, name: str | None = None, encoding: str | None = None) -> Head:
        """name: what messages call the file. encoding: if its beginning does not tell. DataError if it cannot be
        read.
        """
        name = name or str(path)
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                raw = file.read(BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise DataError(f"{name}: not a gzip file, or a damaged one") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        whole = len(raw) <= BYTES
        decoder = codecs.getincrementaldecoder(encoding or marked(raw))()
        try:
            text = decoder.decode(raw[:BYTES], final=whole)
        except UnicodeDecodeError:
            text = "\0"
        return cls(path, "", whole, binary=True) if "\0" in text else cls(path, text, whole)

    @property
    def suffix(self) -> str:
        """That of the name, in small letters, without a .gz that follows it."""
        return self.bare.suffix.lower()

    @property
    def bare(self) -> Path:
        """The name without a .gz at its end."""
        return self.path.with_suffix("") if self.path.suffix == ".gz" else self.path

    @cached_property
    def lines(self) -> list[str]:
        """The first that are not blank, MOST at the most, without one that may be cut off in the middle."""
        found = [line for line in self.text.splitlines() if line and not line.isspace()]
        return (found if self.whole else found[:-1])[: self.MOST]

    @property
    def cells(self) -> list[list[str]]:
        """What white space separates in them."""
        return [line.split() for line in self.lines]
