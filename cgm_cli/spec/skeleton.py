"""A commented spec that runs, made from the schema of a template and its first example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cgm_cli.spec import registry
from cgm_cli.spec.catalogue import Parameter, first_line, parameters
from cgm_cli.spec.load import dump, one_line
from cgm_cli.spec.model import BoundSpec, LogSpec, SolverSpec, StopSpec

_SECTIONS = {"solver": SolverSpec, "stop": StopSpec, "log": LogSpec, "bound": BoundSpec}
_NOTE_COLUMN = 36


def skeleton(
    template: str, given: Mapping[str, Any] | None = None, name: str | None = None, remarks: Sequence[str] = ()
) -> str:
    """The text of a spec for `template`, a name of the registry; KeyError for an unknown one.

    given: parameters of the template, else those of its first example. name: of the spec. remarks: lines that stand
    above it, besides what the template is.
    """
    block = registry.lookup("template", template)
    lines = [f"# {line}" for line in (*remarks, first_line(block))]
    lines += [f"name: {one_line(name or template)}", "problem:", f"  template: {template}"]
    lines += _fields(parameters(block.Spec), block.Spec.examples[0] if given is None else given)
    for key, model in _SECTIONS.items():
        fields = parameters(model)
        given = {field.name: field.default for field in fields if field.default is not None}
        # Without a single value the section would be null, not a mapping.
        lines += ["", f"# {first_line(model)}", f"{key}:" if given else f"# {key}:", *_fields(fields, given)]
    return "\n".join([*lines, "", "seed: 0"]) + "\n"


def _fields(fields: Sequence[Parameter], given: Mapping[str, Any]) -> Iterator[str]:
    """A line for each field: as given, else commented out with its default; long values stand below their key."""
    for field in fields:
        note = f"  # {field.description} ({field.type})" if field.description else f"  # {field.type}"
        if field.name in given:
            first, *rest = _written(field.name, given[field.name]).splitlines()
        else:
            first, rest = f"# {field.name}: {'' if field.default is None else one_line(field.default)}".rstrip(), []
        yield f"  {first}".ljust(_NOTE_COLUMN) + note
        yield from (f"  {line}" for line in rest)


def _written(key: str, value: Any) -> str:
    # A long name of a file goes on its line whole: what is wrapped would have the note in its middle.
    plain = isinstance(value, dict) and not any(isinstance(inner, dict | list) for inner in value.values())
    return f"{key}: {one_line(value)}" if plain else dump({key: value})
