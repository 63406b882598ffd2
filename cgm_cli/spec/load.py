"""A file and its overrides -> a validated Spec, or one SpecError with every fault; and a Spec -> canonical YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from cgm_cli.errors import MOST_TOLD, CgmError, told
from cgm_cli.spec.explain import Complaint, explain
from cgm_cli.spec.extends import EXTENDS, read_whole, whole
from cgm_cli.spec.faults import Fault, SpecError
from cgm_cli.spec.model import Spec
from cgm_cli.spec.overrides import Override, apply
from cgm_cli.spec.yaml_reader import MERGE, Document, TreePath, parse, plain_value
from cgm_cli.text import LINE_BREAK, quoted


def load(path: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """The spec in a file, changed by `--set` arguments such as "solver.beta0=0.5". SpecError with every fault found."""
    return _validate(read_whole(Path(path)), overrides)


def loads(text: str, overrides: Sequence[str] = (), path: str | Path | None = None) -> Spec:
    """Like `load`, for a text; `path` is what messages call it and where relative data files are looked up."""
    return _validate(whole(parse(text, Path(path) if path is not None else None)), overrides)


def reloaded(text: str, overrides: Sequence[str] = (), path: str | Path | None = None) -> Spec:
    """Like `loads`, for the text of a resolved spec, which stands for itself: nothing in it is a variable."""
    return _validate(parse(text, Path(path) if path is not None else None), overrides)


def written(spec: Spec) -> str:
    """The text that the spec was read from; of one that extends another, what the two come to."""
    document = spec.document
    if document is None:
        return resolved(spec)
    if (EXTENDS,) not in document.positions:
        return document.text
    files = dict.fromkeys([document.name, *(source.name for source in document.inherited.values())])
    return f"# Merged of {', '.join(map(quoted, files))}.\n{dump(document.tree)}"


def resolved(spec: Spec) -> str:
    """The full spec in canonical YAML, every default written out; it loads again to an equal Spec."""
    return dump(spec.model_dump(by_alias=True))


def dump(tree: Any) -> str:
    """A tree of plain values as YAML that our reader reads back to the same tree."""
    # The innermost lists and mappings go on one line each, the top level never does.
    node = _Dumper(StringIO(), default_flow_style=None, sort_keys=False).represent_data(tree)
    if isinstance(node, yaml.CollectionNode) and node.value:
        node.flow_style = False
    return yaml.serialize(node, Dumper=_Dumper, allow_unicode=True, width=110)


def one_line(value: Any) -> str:
    """A plain value as YAML on one line."""
    options = {"default_flow_style": True, "sort_keys": False, "allow_unicode": True, "width": float("inf")}
    return yaml.dump([value], Dumper=_Dumper, **options).strip()[1:-1]


def locate(error: CgmError, spec: Spec | None) -> Fault | None:
    """The fault that an error raised after loading stands for; None if its `path` leads nowhere in the spec."""
    if isinstance(error, SpecError) or spec is None or spec.document is None or not error.path:
        return None
    return place(Complaint(error.path, error.message), spec.document, spec._overrides)


def describe_error(error: CgmError, spec: Spec | None) -> str:
    """The message of an error raised after loading, with the place in the spec that its `path` leads to."""
    if len(error.each) > 1:
        first, others = error.each[:MOST_TOLD], error.each[MOST_TOLD:]
        return told([describe_error(inner, spec) for inner in first], len(others))
    fault = locate(error, spec)
    if fault is None or spec is None or spec.document is None:
        return error.message
    return fault.render(spec.document.name, spec.document.text)


def settle_place(error: CgmError, spec: Spec | None) -> None:
    """Put the place into the error, as message and as faults, for whoever tells it without the spec."""
    if not error.faults:
        error.faults = [locate(each, spec) or Fault(each.message) for each in error.each[:MOST_TOLD]]
        error.more = len(error.each[MOST_TOLD:])
    error.message, error.path = describe_error(error, spec), ()


@contextmanager
def described(spec: Spec) -> Iterator[None]:
    """`settle_place` of every CgmError raised inside."""
    try:
        yield
    except CgmError as error:
        settle_place(error, spec)
        raise


def _validate(document: Document, overrides: Sequence[str]) -> Spec:
    if is_sweep(document.tree):
        hint = "run it with `cgm sweep`; with --dry-run to check it"
        raise SpecError([Fault("this is a sweep, not a spec", hint=hint)], document.name, document.text)
    # The document keeps the tree of the text; overrides go into a copy.
    tree = copied(document.tree)
    try:
        applied = apply(tree, overrides)
    except SpecError as error:
        raise SpecError(error.faults, document.name, document.text, error.more) from None
    tree.setdefault("name", default_name(document.path))
    schemas: dict[int, type] = {}
    try:
        spec = Spec.model_validate(tree, context=schemas)
    except ValidationError as error:
        raise refused(error, tree, schemas, document, applied) from None
    # What is private may change, other than the fields.
    spec._document = document  # pyright: ignore[reportAttributeAccessIssue]
    spec._overrides = applied  # pyright: ignore[reportAttributeAccessIssue]
    return spec


def is_sweep(tree: Mapping[str, Any]) -> bool:
    """Whether the tree of a file is that of a sweep file, not of a spec."""
    return "sweep" in tree and "problem" not in tree


def refused(
    error: ValidationError,
    tree: Any,
    schemas: dict[int, type],
    document: Document,
    overrides: Sequence[Override] = (),
) -> SpecError:
    """What pydantic refuses in `tree`, which was read from the document and changed by overrides, as a SpecError."""

    def where(path: TreePath) -> tuple[int, int]:
        return (0, 0) if _override(path, document, overrides) else document.position(path).key

    complaints, more = explain(error, tree, schemas, where)
    faults = [place(complaint, document, overrides) for complaint in complaints]
    return SpecError(faults, document.name, document.text, more)


def place(complaint: Complaint, document: Document, overrides: Sequence[Override] = ()) -> Fault:
    """The complaint with its line and column, in the document or in the override that set the value."""
    override = _override(complaint.path, document, overrides)
    if override is not None:
        return override.fault(complaint.message, complaint.path, complaint.hint, complaint.at_key)
    position = document.position(complaint.path)
    line, column = position.key if complaint.at_key else position.value
    source = document.source(complaint.path)
    return Fault(complaint.message, complaint.path, line, column, complaint.hint, source=source)


def _override(path: TreePath, document: Document, overrides: Sequence[Override]) -> Override | None:
    """The last override that set the value at `path`, or what it is inside of; else one that made the key."""
    dotted = tuple(str(step) for step in path)
    for override in reversed(overrides):
        if override.path == dotted[: len(override.path)]:
            return override
    made = (each for each in overrides if path not in document.positions and each.path[: len(dotted)] == dotted)
    return next(made, None)


def default_name(path: Path | None) -> str:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem if path is not None else "spec").lstrip(".-")
    return stem[:100] or "spec"


def copied(node: Any) -> Any:
    """A tree of plain values that shares no list and no mapping with `node`."""
    if isinstance(node, dict):
        return {key: copied(value) for key, value in node.items()}
    return [copied(value) for value in node] if isinstance(node, list) else node


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def _text(self, text: str) -> yaml.Node:
        # PyYAML quotes what YAML 1.1 would read as something else; our numbers (1e-3) it would leave bare.
        try:
            bare = plain_value(text) == text and text != MERGE
        except ValueError:
            bare = False
        style = '"' if LINE_BREAK.search(text) else None if bare else "'"
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper._text)
