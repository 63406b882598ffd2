"""Text of others in messages of ours: on one line, without control characters, cut to a length; likely names.

Imports nothing of cgm_cli, so that every package may use it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

# What YAML counts as a line break; str.splitlines knows more of them and would shift the line numbers.
LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")

COMPLEX_ARE = "complex ones are taken by the `cost` and the matrices of `template: standard-sdp`"
"""What every refusal of complex numbers adds, wherever they were given."""

WHOLE = 1000
"""Characters of a file's name in a message, from where it is copied: it is not cut before it is no name any more."""


def did_you_mean(given: str, known: Sequence[str]) -> str | None:
    """The hint that names the member of `known` closest to `given`, or None if none is close."""
    # Letter by letter, `Hcgm` is closer to `cgm` than to `hcgm`.
    same = [name for name in known if _plain(name) == _plain(given)]
    close = same or get_close_matches(given, known, 1) or get_close_matches(_plain(given), known, 1)
    return f"did you mean `{close[0]}`?" if close else None


def counted(count: int, noun: str) -> str:
    """`1 cluster`, `2 clusters`, `3 entries`, `2 classes`."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else several}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def visible(text: str) -> str:
    """`text` on one line, with every character that a terminal would act upon replaced."""
    return "".join(character if character.isprintable() else " " if character == "\t" else "�" for character in text)


def quoted(text: str, most: int = 60) -> str:
    """`text` as a message may hold it: visible, and cut if it has more than `most` characters."""
    return visible(text if len(text) <= most else text[: most - 3] + "...")
