"""A commented spec that runs, made from the schema of a template and its first example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cgm_cli.blocks import registry
from cgm_cli.spec.catalogue import Parameter, entries, parameters
from cgm_cli.spec.load import dump
from cgm_cli.spec.model import BoundSpec, LogSpec, SolverSpec, StopSpec

_COLUMN = 40


def skeleton(template: str) -> str:
    """The text of a spec for `template`, a name of the registry; KeyError for an unknown one."""
    schema = registry.lookup("template", template).Spec
    description = next(entry.description for entry in entries("templates") if entry.name == template)
    example = dict(schema.examples[0]) if schema.examples else {}
    lines = [f"# {description}" if description else "# A spec of cgm.", f"name: {template}", "problem:"]
    lines += [f"  template: {template}", *_fields(parameters(schema), example)]
    for key, model in (("solver", SolverSpec), ("stop", StopSpec), ("log", LogSpec), ("bound", BoundSpec)):
        lines += ["", f"# {(model.__doc__ or '').strip()}", f"{key}:" if key == "solver" else f"# {key}:"]
        # The solver's defaults stand there to be changed; the other sections are comments as a whole.
        given = {"method": "hcgm", "beta0": "auto", "iterations": 1000} if key == "solver" else {}
        lines += _fields(parameters(model), given)
    lines += ["", "seed: 0"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _fields(fields: tuple[Parameter, ...], given: Mapping[str, Any]) -> Iterator[str]:
    """A line for each field: as given, else commented out with its default; long values stand below their key."""
    for field in fields:
        note = "; ".join(part for part in (field.type, field.description) if part)
        if field.name in given:
            text = dump({field.name: given[field.name]}).rstrip("\n").splitlines()
            first = "  " + text[0]
            yield from [f"{first:<{_COLUMN}}  # {note}", *("  " + line for line in text[1:])]
        else:
            default = dump({field.name: field.default}).strip().replace("\n", " ")
            shown = f"  # {field.name}:" if field.default is None else f"  # {default}"
            yield f"{shown:<{_COLUMN}}  # {note}"
