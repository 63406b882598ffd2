"""Files of the field that are no specs: what they are, and the spec that is made of each.

A newcomer is one entry of KINDS. A file is known by its content first, and by its name last: the kind whose
`looks_like` says yes to how it begins, else one that it `resembles`, being damaged, else the one that has its suffix.
What may be of two kinds with different specs is refused, with both named.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers import assignment, edge_list, graphs, matpower, programs, svmlight
from cgm_cli.readers.appearance import appearance
from cgm_cli.readers.context import data_folders
from cgm_cli.readers.files import FILE, NOTHING, PIPE, file_kind
from cgm_cli.readers.head import Head
from cgm_cli.readers.own_data import USES, uses_of
from cgm_cli.spec.environment import escaped
from cgm_cli.spec.load import default_name
from cgm_cli.spec.skeleton import skeleton
from cgm_cli.text import visible

SPEC_SUFFIXES = (".yaml", ".yml")
"""Of files that are specs, whatever is in them."""

_SPEC = re.compile(
    r"(?:[ \t]*+(?:#.*+)?+(?:\r?+\n|\r))*+[ \t]*+"
    r"(?:---|%YAML|\{|(?:[A-Za-z_]+|\"[A-Za-z_]+\"|'[A-Za-z_]+')[ \t]*+:(?:\s|$))"
)
"""A key of a mapping, or what else a text in YAML begins with, behind comments and empty lines."""


@dataclass(frozen=True)
class Draft:
    """What a spec is made with. given: parameters of the template. remarks: sentences that stand above the spec."""

    template: str
    given: dict[str, Any]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """name: in words. suffixes: of files that are this, where no kind knows the content. draft: of a file, and of how
    the spec is to name it; DataError for a file that no template takes. resembles: whether it is a damaged one.
    """

    name: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[Head], bool]
    draft: Callable[[Path, str], Draft]
    resembles: Callable[[Head], bool] = lambda head: False


@dataclass(frozen=True)
class MadeSpec:
    """The spec of a data file. kind: what the file was taken for. text: as YAML, with every option in a comment."""

    file: Path
    kind: str
    template: str
    text: str

    @property
    def sentence(self) -> str:
        """What it was taken for, for people."""
        return f"{visible(str(self.file))}: {self.kind}; template {self.template}"

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Let an error about the file speak of it alone: nobody has written the place in the spec that names it."""
        try:
            yield
        except DataError as error:
            error.path = ()
            raise


def data_file(path: Path) -> Path:
    """The file that a name stands for: from the working folder, else where a spec would find it; the name itself where
    there is none.
    """
    if path.is_absolute() or file_kind(path) != NOTHING:
        return path
    return next((folder / path for folder in data_folders(None) if file_kind(folder / path) == FILE), path)


def recognise(path: Path, beside: Path | None = None) -> MadeSpec | None:
    """The spec of a data file; None of a spec, and of what is refused as one: a file that is not there.

    A file that is not in the working folder is looked for in the folders of data, as `data_file` does.

    beside: the folder that the spec is for: a file in it is named from there, so that both can be moved together; any
    other file, and without `beside` every file, is named by its absolute path. Raises DataError for a file that is
    empty; for one that is nothing known, with what it looks like and what was looked for; for one that may be of two
    kinds, with both; and for one that no template takes.
    """
    path = data_file(path)
    found = file_kind(path)
    if found == PIPE and not path.is_relative_to("/dev") and not path.is_relative_to("/proc"):
        # Nobody may ever write to it; what a shell hands over as one stands in /dev or /proc.
        raise DataError(f"{path}: is {PIPE}, and not a file")
    if path.suffix.lower() in SPEC_SUFFIXES or found != FILE:
        return None
    head = Head.of(path)
    kind = None
    if not head.binary:
        if _SPEC.match(head.text):
            return None
        kind = _kind(head)
        if kind is None and not head.text.strip():
            raise DataError(f"{path}: the file is empty")
    if kind is None and (found := uses_of(path, head)):
        raise DataError(_unsaid(path, list(found)))
    if kind is None:
        looked_for = "\n".join(f"    {name}" for name in dict.fromkeys(kind.name for kind in KINDS))
        raise DataError(
            f"{path}: is neither a spec, which is YAML, nor a data file that says what problem it is. "
            f"It looks like {appearance(head)}. Looked for:\n{looked_for}\n"
            "Other data (features, points, pictures, ratings) are named in a spec: `cgm init TEMPLATE --from FILE` "
            "begins one."
        )
    return _made(path, kind.name, kind.draft(path, _name_for(path, beside)))


def made_for(template: str, path: Path, beside: Path | None = None) -> MadeSpec:
    """The spec of a template, with its data in a file, which need not say what problem it is. DataError for a template
    that has no place for a file, and for a file that it cannot take.
    """
    if template not in USES:
        raise DataError(
            f"template {template} has no place for a file of its own kind; those that have one: {', '.join(USES)}"
        )
    path = data_file(path)
    given, remarks = USES[template].given(path, _name_for(path, beside))
    return _made(path, f"data for {template}", Draft(template, given, remarks))


def _made(path: Path, kind: str, draft: Draft) -> MadeSpec:
    remarks = (f"Made of {visible(path.name)}: {kind}.", *draft.remarks)
    return MadeSpec(path, kind, draft.template, skeleton(draft.template, draft.given, spec_name(path), remarks))


def _unsaid(path: Path, templates: list[str]) -> str:
    """What may be made of a file that does not say what problem it is."""
    shown = shlex.quote(visible(str(path)))
    offers = "\n".join(
        f"    cgm init {each} --from {shown}".ljust(60) + f"  {USES[each].purpose}" for each in templates
    )
    data = USES[templates[0]].data
    told = {"ratings": "has ratings", "picture": "is a picture"}.get(data, "is a table")
    return (
        f"{path}: {told}, which does not say what is wanted. One of these writes a spec for it; "
        f"then `cgm solve` that:\n{offers}"
    )


def spec_name(path: Path) -> str:
    """What the spec of a data file is called."""
    return default_name(path.with_suffix("") if path.suffix == ".gz" else path)


def _kind(head: Head) -> Kind | None:
    tests: tuple[Callable[[Kind], bool], ...] = (
        lambda kind: kind.looks_like(head),
        lambda kind: kind.resembles(head),
        lambda kind: head.suffix in kind.suffixes,
    )
    for test in tests:
        found = list(filter(test, KINDS))
        if len({kind.draft for kind in found}) > 1:
            raise DataError(_undecided(head.path, found))
        if found:
            return found[0]
    return None


def _undecided(path: Path, found: list[Kind]) -> str:
    names = [f"{kind.name} (`template: {kind.draft(path, path.name).template}`)" for kind in found]
    return f"{path}: may be {' or '.join(names)}: name the file in a spec with one of these."


def _name_for(path: Path, beside: Path | None) -> str:
    whole = Path(os.path.abspath(path))
    folder = None if beside is None else Path(os.path.abspath(beside))
    return escaped(str(whole.relative_to(folder) if folder is not None and whole.is_relative_to(folder) else whole))


def _program(path: Path, name: str) -> Draft:
    return Draft("standard-sdp", {"program": {"file": name}})


def _cut(path: Path, name: str) -> Draft:
    return Draft("max-cut", {"graph": {"file": name}}, ("`template: lovasz-theta` takes the same graph.",))


def _theta(path: Path, name: str) -> Draft:
    remarks = (
        "Theta is that of the graph as it stands, no less than its largest independent set; with `complement: true`",
        "it is no less than its largest clique. Where the file has weights of nodes, `weights: file` takes them.",
        "`template: max-cut` takes the same graph.",
    )
    return Draft("lovasz-theta", {"graph": {"file": name}}, remarks)


def _samples(path: Path, name: str) -> Draft:
    _, labels = svmlight.read_svmlight(path, visible(str(path)))
    two = np.unique(labels).size == 2
    return Draft("svm" if two else "sparse-regression", {"data": {"file": name}})


def _assignment(path: Path, name: str) -> Draft:
    return Draft("quadratic-assignment", {"data": {"file": name}})


def _case(path: Path, name: str) -> Draft:
    return Draft("optimal-power-flow", {"case": {"file": name}})


def _solution(path: Path, name: str) -> Draft:
    raise DataError(
        f"{path}: is {SOLUTION}, and no problem: a permutation and its value. "
        "The problem is in a .dat file of that name."
    )


SOLUTION = "a solution of a problem of QAPLIB"
ASSIGNMENT = "a quadratic assignment problem of QAPLIB"

KINDS = (
    *(Kind(each.name, each.suffixes, each.looks_like, _program, each.resembles) for each in programs.FORMATS),
    Kind(ASSIGNMENT, (), assignment.looks_like, _assignment, assignment.resembles),
    Kind(SOLUTION, (".sln",), assignment.looks_like_solution, _solution),
    Kind("a power network, a case of MATPOWER", (".m",), matpower.looks_like, _case),
    Kind("samples in the format of LIBSVM", (".svm", ".libsvm", ".svmlight"), svmlight.looks_like, _samples),
    *(
        Kind(
            each.name,
            each.suffixes,
            edge_list.says_so if each is graphs.EDGES else each.looks_like,
            _theta if each is graphs.DIMACS else _cut,
        )
        for each in graphs.FORMATS
    ),
)
"""In the order in which they are asked."""
