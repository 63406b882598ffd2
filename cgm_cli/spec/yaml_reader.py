"""Text -> tree of plain values, by the strict subset of YAML that a spec is written in, with the place of every node.

What differs from `yaml.safe_load`, and why: numbers and booleans are those of YAML 1.2 (`1e-3` is a number; `no`, `on`,
`012`, `12:30` and dates are text), because a silent change of type is a silent change of problem; a duplicate key is an
error, not a choice; tags do not exist; depth, nodes and bytes are bounded, so that no file can hang or exhaust the
process. The tree is built from the parser's events without recursion; what an alias stands for counts once more. The
merge key `<<` takes from one mapping, or from each of a list, what the mapping that it is in does not say.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import yaml

from cgm_cli.errors import MOST_TOLD
from cgm_cli.spec.anchors import without_aliases
from cgm_cli.spec.faults import Fault, Source, SpecError
from cgm_cli.text import LINE_BREAK, quoted

MAX_BYTES = 5_000_000
MAX_NODES = 200_000
MAX_DEPTH = 64

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS = {"true": True, "false": False, "null": None}
_WORDS |= {variant: value for word, value in _WORDS.items() for variant in (word.capitalize(), word.upper())}
_WORDS |= {"~": None, "": None}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"([-+]?)\.(?:(inf|Inf|INF)|nan|NaN|NAN)")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")

# What the parser says -> what a person would. The first that is found counts.
_PLAIN = {
    "quoted scalar found unexpected end": "a quotation mark is not closed",
    "escape": "a backslash in double quotes begins an escape, and this is none: use single quotes",
    "hexdecimal": "a backslash in double quotes begins an escape, and this is none: use single quotes",
    "did not find expected ',' or '}'": "`,` or `}` is missing in this mapping",
    "expected ',' or '}'": "`,` or `}` is missing in this mapping",
    "did not find expected ',' or ']'": "`,` or `]` is missing in this list",
    "expected ',' or ']'": "`,` or `]` is missing in this list",
    "expected node content": "a value is missing, or a character is too many",
    "expected the node content": "a value is missing, or a character is too many",
    "mapping values are not allowed": "a colon is not allowed here: put the text into quotes, or mind the indentation",
    "could not find expected ':'": "a colon is missing after a key",
    "did not find expected key": "a line is not indented like those before it, or is no `key: value`",
    "expected <block end>": "a line is not indented like those before it, or is no `key: value`",
    "did not find expected '-' indicator": "a line of a list must begin with `- `, indented like the others",
    "exceeded maximum nesting depth": "too many brackets within each other",
    "expected <document start>": "something follows after the end of the spec",
    "did not find expected alphabetic or numeric": "`&` and `*` begin anchors and aliases: put the text into quotes",
}

TreePath = tuple[str | int, ...]

STANDARD_INPUT = Path("-")
MERGE = "<<"


class Position(NamedTuple):
    """Where a node stands: (line, column), both from 1, of its key (of itself in a list) and of its value."""

    key: tuple[int, int]
    value: tuple[int, int]


@dataclass
class Document:
    """A text that was read. `tree` holds only str, int, float, bool, None, list, dict. `path`: None for a string.
    inherited: for the places that are in a text which this one extends, that text.
    """

    text: str
    path: Path | None
    tree: Any
    positions: dict[TreePath, Position]
    inherited: dict[TreePath, Source] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path) if self.path is not None else "<spec>"

    def position(self, path: TreePath) -> Position:
        """Of the node at `path`; of the nearest one around it, where it has a default or a template made it."""
        return self.positions[self._nearest(path)]

    def source(self, path: TreePath) -> Source | None:
        """The text that this position is in; None for that of the document itself."""
        return self.inherited.get(self._nearest(path))

    def _nearest(self, path: TreePath) -> TreePath:
        while path not in self.positions:
            path = path[:-1]
        return path


def read(path: Path) -> Document:
    """The document in a file, or of standard input for `-`, which counts as a file `stdin` of the working folder;
    SpecError if it is unreadable, not UTF-8, or not a mapping in this subset of YAML.
    """
    given, path = path, Path("stdin") if path == STANDARD_INPUT else path
    try:
        with _opened(given) as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError([Fault(f"cannot be read: {reason}")], str(path)) from None
    if len(raw) > MAX_BYTES:
        raise SpecError([Fault(f"a spec has at most {MAX_BYTES // 1_000_000} MB; put the data into files")], str(path))
    return parse(_decode(raw, str(path)), path)


def _opened(path: Path) -> AbstractContextManager[IO[bytes]]:
    if path != STANDARD_INPUT:
        return path.open("rb")
    if sys.stdin is None:
        raise ValueError("it is closed")
    return nullcontext(sys.stdin.buffer)


def parse(text: str, path: Path | None = None) -> Document:
    """The document in a string, whose top level must be a mapping; SpecError otherwise."""
    document = parse_value(text, path)
    if not isinstance(document.tree, dict):
        empty = document.tree is None
        message = "the spec is empty" if empty else "the top level of a spec must be a mapping (`key: value` lines)"
        line, column = document.positions[()].value
        raise SpecError([Fault(message, (), line, column)], document.name, text)
    return document


def parse_value(text: str, path: Path | None = None) -> Document:
    """Like `parse`, for any value at the top level."""
    builder = _Builder()
    name = str(path) if path is not None else "<spec>"
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise SpecError([Fault(f"a spec has at most {MAX_BYTES // 1_000_000} MB")], name)
    bad = _UNPRINTABLE.search(text)
    if bad:
        line, column = _line_column(text, bad.start())
        fault = Fault(f"the character U+{ord(bad.group()):04X} is not allowed in YAML", (), line, column)
        raise SpecError([fault], name, text)
    try:
        for event in without_aliases(_events(text)):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        builder.faults.append(_syntax_fault(error, text))
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        builder.faults.append(Fault(f"not valid YAML: {error}"))
    except _Stop:
        pass
    if builder.faults:
        raise SpecError(builder.faults, name, text, builder.more)
    return Document(text, path, builder.root, builder.positions)


def plain_value(text: str) -> Any:
    """What an unquoted scalar stands for: None, bool, int, float or the text itself. ValueError beyond 63 bits."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        # The length is checked first: converting a million digits takes minutes.
        value = int(text, 0) if len(text) <= 25 else 2**64
        if abs(value) >= 2**63:
            raise ValueError(f"this whole number is too large: the limit is {2**63 - 1}; a rounded one is written 1e20")
        return value
    if _FLOAT.fullmatch(text):
        return float(text)
    match = _NOT_FINITE.fullmatch(text)
    if match and (match[2] or not match[1]):
        return float(match[1] + ("inf" if match[2] else "nan"))
    return text


class _Stop(Exception):
    """Nothing after this point can be trusted."""


@dataclass
class _Open:
    """A collection that has begun and not ended."""

    path: TreePath
    value: Any
    start: tuple[int, int]
    merges: bool = False
    key: str | None = None
    key_at: tuple[int, int] | None = None
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)


class _Builder:
    """Events -> tree, positions and faults."""

    def __init__(self) -> None:
        self.root: Any = None
        self.positions: dict[TreePath, Position] = {(): Position((1, 1), (1, 1))}
        self.faults: list[Fault] = []
        self.more = 0  # faults beyond those that are kept
        self._open: list[_Open] = []
        self._nodes = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        at = (event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._stop("a spec is one document; a second one begins here", at)
        elif isinstance(event, yaml.AliasEvent):
            if self._expects_key():
                self._stop("a key must be plain text, not an alias", at)
            self._fault(f"no value that ends before this has the anchor `&{quoted(event.anchor)}`", at)
            self._add(None, at)
        elif isinstance(event, yaml.ScalarEvent):
            self._check(event, at)
            self._scalar(event, at)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._check(event, at)
            if self._expects_key():
                self._stop("a key must be plain text, not a list or a mapping", at)
            if len(self._open) >= MAX_DEPTH:
                self._stop(f"nested deeper than {MAX_DEPTH} levels", at)
            value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            path = self._add(value, at)
            self._open.append(_Open(path, value, at))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            closed = self._open.pop()
            if closed.merges:
                self._merge(closed)

    def _check(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, at: tuple[int, int]) -> None:
        if event.tag is not None:
            self._fault(f"tags are not supported: remove `{quoted(event.tag)}`", at)

    def _scalar(self, event: yaml.ScalarEvent, at: tuple[int, int]) -> None:
        if any("\ud800" <= character <= "\udfff" for character in event.value):
            self._stop("half of a surrogate pair is not a character", at)
        if self._expects_key():
            self._open[-1].merges |= event.value == MERGE and event.implicit[0]
            self._key(event.value, at)
            return
        try:
            value = plain_value(event.value) if event.implicit[0] else event.value
        except ValueError as error:
            self._fault(str(error), at)
            value = None
        self._add(value, at)

    def _key(self, key: str, at: tuple[int, int]) -> None:
        parent = self._open[-1]
        if not key:
            self._fault("a key is missing before the colon", at)
        elif key in parent.seen:
            line, column = parent.seen[key]
            message = f"duplicate key `{quoted(key)}`, first given at line {line}, column {column}"
            self._fault(message, at, (*parent.path, key))
        parent.seen.setdefault(key, at)
        parent.key, parent.key_at = key, at
        self._count(at)

    def _add(self, value: Any, at: tuple[int, int]) -> TreePath:
        """Put a value into the collection that is open, and return its path."""
        self._count(at)
        if not self._open:
            self.root, path, key_at = value, (), at
        else:
            parent = self._open[-1]
            if isinstance(parent.value, list):
                path, key_at = (*parent.path, len(parent.value)), at
                parent.value.append(value)
            else:
                assert parent.key is not None and parent.key_at is not None
                path, key_at = (*parent.path, parent.key), parent.key_at
                parent.value[parent.key] = value
                parent.key = None
        self.positions[path] = Position(key_at, at)
        return path

    def _merge(self, node: _Open) -> None:
        """Take into the mapping what its `<<` has besides; of several mappings, the first that has it counts."""
        place = (*node.path, MERGE)
        given = node.value.pop(MERGE)
        mappings = (
            {(*place, index): each for index, each in enumerate(given)} if isinstance(given, list) else {place: given}
        )
        for path, mapping in mappings.items():
            if not isinstance(mapping, dict):
                self._fault("`<<` takes a mapping, or a list of mappings", self.positions[path].value, path)
                continue
            for key, value in mapping.items():
                if key not in node.value:
                    node.value[key] = value
                    self._move(value, (*path, key), (*node.path, key))

    def _move(self, node: Any, former: TreePath, path: TreePath) -> None:
        """Let the places of a subtree be known under another path. It is no deeper than MAX_DEPTH."""
        self.positions[path] = self.positions[former]
        inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in inside:
            self._move(value, (*former, key), (*path, key))

    def _count(self, at: tuple[int, int]) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._stop(f"more than {MAX_NODES} values; put the data into files", at)

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _fault(self, message: str, at: tuple[int, int], path: TreePath = ()) -> None:
        if len(self.faults) < MOST_TOLD:
            self.faults.append(Fault(message, path or (self._open[-1].path if self._open else ()), *at))
        else:
            self.more += 1

    def _stop(self, message: str, at: tuple[int, int]) -> None:
        self._fault(message, at)
        raise _Stop


def _events(text: str) -> Iterator[yaml.Event]:
    loader = _Loader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _decode(raw: bytes, name: str) -> str:
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        line, column = _line_column(before, len(before))
        utf16 = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "it looks like UTF-16: save it as UTF-8" if utf16 else "save it as UTF-8"
        fault = Fault(f"not UTF-8: byte 0x{raw[error.start]:02x}", (), line, column, hint)
        raise SpecError([fault], name, raw.decode("utf-8", "replace")) from None


def _line_column(text: str, offset: int) -> tuple[int, int]:
    line, start = 1, 0
    for match in LINE_BREAK.finditer(text, 0, offset):
        line, start = line + 1, match.end()
    return line, offset - start + 1


def _is_end(mark: yaml.Mark, lines: list[str]) -> bool:
    """Whether nothing but white space follows."""
    rest = lines[mark.line :]
    return not rest or not (rest[0][mark.column :].strip() or any(line.strip() for line in rest[1:]))


def _syntax_fault(error: yaml.MarkedYAMLError, text: str) -> Fault:
    mark = error.problem_mark or error.context_mark
    said = " ".join(part for part in (error.context, error.problem) if part)
    message = next((plain for words, plain in _PLAIN.items() if words in said), said)
    if mark is None:
        return Fault(f"not valid YAML: {message}")
    lines = LINE_BREAK.split(text)
    if error.context_mark and _is_end(mark, lines):
        # The text ended too early: point at what was left open.
        mark = error.context_mark
    line, column = min(mark.line + 1, len(lines)), mark.column + 1
    source = lines[line - 1]
    indentation = source[: len(source) - len(source.lstrip())]
    if "\t" in indentation:
        return Fault("a tab is not allowed here: indent with spaces", (), line, indentation.index("\t") + 1)
    if error.problem and "cannot start any token" in error.problem:
        return Fault("this character cannot begin a value", (), line, column, "put the text into quotes")
    variable = source.find("${", 0, column)
    if variable >= 0 and message in (_PLAIN["expected ',' or '}'"], _PLAIN["expected ',' or ']'"]):
        return Fault(f"not valid YAML: {message}", (), line, variable + 1, "`${...}` needs quotes here")
    return Fault(f"not valid YAML: {message}", (), line, column)
