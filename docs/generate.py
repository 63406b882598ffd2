"""docs/spec.md and docs/blocks.md, written from the schemas: `python docs/generate.py`. A test compares them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from cgm_cli.spec import catalogue, registry
from cgm_cli.spec.catalogue import CatalogueEntry
from cgm_cli.spec.fields import BlockSpec, FileArray, PolicySpec, StrictModel, TableArray
from cgm_cli.spec.load import dump, one_line
from cgm_cli.spec.model import (
    BoundSpec,
    CheckpointSpec,
    ComposedProblem,
    LogSpec,
    SolverSpec,
    SourceSpec,
    Spec,
    StopSpec,
    TheorySpec,
)
from cgm_cli.spec.terms import TermFields

DOCS = Path(__file__).resolve().parent
_NOTE = "<!-- Written by docs/generate.py from the schemas of the code. Do not edit. -->"

_SECTIONS: dict[str, tuple[type, str]] = {
    "solver": (SolverSpec, ""),
    "stop": (StopSpec, ""),
    "log": (LogSpec, ""),
    "bound": (BoundSpec, "See [bounds.md](bounds.md)."),
    "checkpoint": (CheckpointSpec, "`cgm resume RUN` goes on from the last one."),
    "theory": (
        TheorySpec,
        "The trace then has the columns `theory_*`: what the matching theorem of the paper promises beside what is "
        "measured, in the stacked norm of the terms with the weights in force.",
    ),
    "source.FILE": (SourceSpec, "One entry per data file, under the name that the problem gives the file."),
}

_SPEC_HEAD = """\
# The spec

A spec is one YAML file. Only `problem` is required. Unknown keys, repeated keys and wrong types are errors, and all of
them are reported at once with their lines. `cgm check SPEC` checks a spec, `cgm show SPEC` prints it with every
default, `cgm schema` prints all of this as a JSON Schema for editors.

`KEY=VALUE` behind the spec changes a value from the command line, for instance `cgm solve SPEC solver.beta0=0.5`, or
`--set solver.beta0=0.5` anywhere; the value is read as YAML. A whole number may also be written `1e3`.

Anchors and aliases of YAML (`&name`, `*name`) stand for a value that is written once, the merge key `<<: *name` for
what a mapping has besides.

`extends: other.yaml`, from the folder of the file, takes all that is not said from another spec, which may extend a
third: mappings are merged, lists and single values replaced. Data beside the other spec are still found. A run
keeps the spec that comes of it.

`${oc.env:VAR}` in a value, also within a text, is the environment variable, and `${oc.env:VAR,default}` has a value
where it is not set; a value that is nothing else may be a number. The name of a file may have `$VAR`, `${VAR}` and `~`,
and `$$` for a dollar sign. Within `{}` and `[]` YAML wants quotes around `${...}`. The resolved spec of a run has the
values.
"""

_PROBLEM = """\
`problem` is a mapping with a `template`, beside the parameters of that template:
{templates}.

Or it is composed by hand of the blocks in [blocks.md](blocks.md):
"""

_TERM = """\
An entry of `constraints` names a set, an entry of `penalties` a finite function, by `kind`. Beside its own parameters
each takes these:
"""

_ARRAY = """\
Where the type is *array*, there stands a number, a list of numbers, a list of rows (all of one length), or a file:
"""

_TABLE = """\
Of a table with headings (.csv, .tsv, .txt; .parquet, .feather and .xlsx by `pip install 'cgm[tables]'`) columns may be
asked for, as in `{file: people.csv, columns: [age, c..f]}`
or `{file: people.csv, column: age, decimal: ","}`:
"""

_ARRAY_TAIL = """\
Known files: .mat, .npy, .npz, .csv, .txt, .parquet, .feather, .xlsx, .h5, .hdf5, .mtx, .png, .jpg, .tif. A relative
path is looked up beside the spec, then in each folder of `$CGM_DATA` (separated as in `$PATH`), then in `data/` of the
working directory, then in `data/` of the project.

A graph may be in other files as well: [files.md](files.md#graphs) has them, and what holds for all of them.

A file named `arrays/<SHA-256>.npy` or `.npz`, as the run folder of a spec from Python has them, is refused if its
content does not fit its name.

Numbers of every real type are read as float64, before anything is computed with them: entries of a sparse matrix that
are given more than once add up (`true` counts as 1), and do so without overflow. Whole numbers beyond 2^53, and numbers
of more than double precision, are rounded to the nearest float64, as decimal numbers are. Complex numbers are refused,
but for the cost and the matrices of [standard-sdp](blocks.md#standard-sdp), which may be Hermitian: there they are read
as complex128 from .npy, .npz, .mat, .h5 and .mtx files, or stand by their parts, each of which is an array:

```yaml
cost: {real: [[1, 0], [0, -1]], imaginary: [[0, -1], [1, 0]]}
```
"""

_BLOCKS_HEAD = """\
# The blocks

Everything a problem is composed of, by the name it has in a spec. `cgm list` prints the names, `cgm list NAME` what
stands here about one of them.
"""

_FAMILY_NOTES = {
    "templates": "Ready-made problems: `problem: {template: NAME, ...}`.",
    "domains": "Compact convex sets, reached through linear minimisation: `problem.domain`.",
    "losses": "Smooth convex functions: `problem.objective`.",
    "penalties": "Finite convex functions of A x, reached through their prox: entries of `problem.penalties`. "
    "D is the set whose support function it is, L_g its Lipschitz constant. "
    "Each also takes `map`, `offset`, `weight` and `name` ([spec.md](spec.md#terms)).",
    "sets": "Closed convex sets that A x must lie in, reached through projection: entries of `problem.constraints`. "
    "Each also takes `map`, `offset`, `weight` and `name` ([spec.md](spec.md#terms)).",
    "maps": "Linear maps: the `map` of a term or of a loss. Left out, it is the identity.",
    "smoothings": "How the terms are smoothed that are not smooth: `solver.smoothing`. A name alone stands "
    "for a policy with its defaults, here as for every policy below.",
    "steps": "How far a step goes towards the oracle's atom: `solver.step`.",
    "oracles": "How accurately the linear subproblem is solved: `solver.oracle: {mode: NAME, ...}`.",
    "corrections": "What is done after every oracle call beyond a step towards its atom: `solver.correction`.",
    "duals": "How the multipliers move that the smoothing is centred at: `solver.duals`.",
    "methods": "Names for `solver.method`: presets of the policies above. `cgm show SPEC` tells which policies "
    "a spec comes to, and why.",
}


def spec_page() -> str:
    """docs/spec.md."""
    templates = ", ".join(f"[{name}](blocks.md#{name})" for name in registry.TEMPLATES)
    parts = [_NOTE, _SPEC_HEAD, *_table(_top_level())]
    parts += ["## problem\n", _PROBLEM.format(templates=templates), *_table(_rows(ComposedProblem))]
    parts += ["## Terms\n", _TERM, *_table(_rows(TermFields))]
    parts += ["## Arrays and files\n", _ARRAY, *_table(_rows(FileArray)), _TABLE, *_table(_table_rows()), _ARRAY_TAIL]
    for key, (model, note) in _SECTIONS.items():
        parts += [f"## {key}\n", f"{catalogue.first_line(model)} {note}".rstrip() + "\n", *_table(_rows(model))]
    return _joined(parts)


def _table_rows() -> Iterator[Row]:
    """Those of a table, beyond what every file has."""
    return (row for row in _rows(TableArray) if row not in list(_rows(FileArray)))


def blocks_page() -> str:
    """docs/blocks.md."""
    parts = [_NOTE, _BLOCKS_HEAD]
    for family in catalogue.FAMILIES:
        parts += [f"## {family.capitalize()}\n", _FAMILY_NOTES[family] + "\n"]
        for entry in catalogue.entries(family):
            parts += _entry(entry)
    return _joined(parts)


PAGES = {"spec.md": spec_page, "blocks.md": blocks_page}


Row = tuple[str, ...]
PARAMETER = ("key", "type", "default", "meaning")
METRIC = ("metric", "better", "meaning")


def _top_level() -> Iterator[Row]:
    """The keys of the spec itself; those with a section of their own point to it."""
    for key, kind, default, meaning in _rows(Spec):
        if key == "`name`":
            yield key, kind, "name of the file", "names the folder of the runs"
        elif key == "`problem`":
            yield key, "mapping", default, meaning
        elif kind.startswith("mapping"):
            yield key, "mapping", "see below", meaning
        else:
            yield key, kind, default, meaning


def _entry(entry: CatalogueEntry) -> Iterator[str]:
    yield f"### {entry.name}\n"
    yield _plain(entry.description) + "\n"
    family = catalogue.FAMILIES[entry.family]
    if family is not None:
        yield from _table(_rows(registry.lookup(family, entry.name).Spec, nested=True))
    yield from _table([(f"`{each.name}`", each.better or "", each.description) for each in entry.metrics], METRIC)
    if entry.examples:
        yield f"```yaml\n{dump(entry.examples[0])}```\n"


def _rows(model: type[StrictModel], nested: bool = False, prefix: str = "") -> Iterator[Row]:
    """Key, type, default and meaning of each field. nested: followed by the keys of the mappings that it may be."""
    for parameter in catalogue.parameters(model):
        if parameter.required:
            default = "required"
        else:
            default = "" if parameter.default is None else f"`{one_line(parameter.default)}`"
        yield f"`{prefix}{parameter.name}`", parameter.type, default, parameter.description
        field = next(each for name, each in model.model_fields.items() if parameter.name in (name, each.alias))
        for inner in _models(field.annotation) if nested else ():
            yield from _rows(inner, nested, f"{prefix}{parameter.name}.")


def _models(annotation: Any) -> Iterator[type[StrictModel]]:
    """The plain mappings in a type: blocks and files are described elsewhere."""
    if isinstance(annotation, type):
        if issubclass(annotation, StrictModel) and not issubclass(annotation, BlockSpec | FileArray | PolicySpec):
            yield annotation
        return
    for member in get_args(annotation):
        yield from _models(member)


def _table(rows: Iterable[Row], headings: Row = PARAMETER) -> Iterator[str]:
    lines = [_line(map(_cell, row)) for row in rows]
    if lines:
        yield "\n".join([_line(headings), "|---" * len(headings) + "|", *lines, ""])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    return text if text.startswith("`") else _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Text outside of code spans, safe from Markdown: <D, X> is no tag, X_1 no emphasis."""
    parts = text.split("`")
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"[*_\[\]]|<(?=\w)", r"\\\g<0>", parts[index])
    return "`".join(parts)


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(parts).rstrip("\n") + "\n"


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
