"""`cgm check SPEC`: every fault of a spec at once; of a good one, the sizes, the memory and the constants."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import typer

from cgm_cli.cli.options import AllowPython, Json, Setting, Settings, SpecPath, overrides_of
from cgm_cli.errors import CgmError

if TYPE_CHECKING:
    from cgm_cli.spec.model import Spec


def check(
    spec: SpecPath,
    changes: Settings = None,
    overrides: Setting = None,
    json: Json = False,
    allow_python: AllowPython = False,
) -> None:
    """Check a spec, or a data file, without solving. Reports every fault at once, with its line.

    Exit codes: 0 fine, 2 a fault in the spec, 3 a fault in a data file.
    """
    from cgm_cli.readers.kinds import recognise
    from cgm_cli.spec.load import load, loads, settle_place

    given = overrides_of(overrides, changes)
    made = recognise(spec)
    loaded: Spec | None = None
    try:
        loaded = load(spec, given) if made is None else loads(made.text, given)
        with nullcontext() if made is None else made.in_words():
            facts = _facts(loaded)
    except CgmError as error:
        settle_place(error, loaded)
        raise
    if json:
        from cgm_cli.runs.files import to_json

        typer.echo(to_json({"ok": True, **facts}, indent=2))
    else:
        _print(facts)


def _facts(spec: Spec) -> dict[str, Any]:
    from cgm_cli.cli.plain import plain
    from cgm_cli.solving.remarks import redundant
    from cgm_cli.templates.build import build

    instance = build(spec)
    reserved = instance.context.reserved
    implied = redundant(instance.problem, instance.choice.method)
    return plain(
        {
            "name": spec.name,
            "shape": instance.problem.domain.users_shape,
            "complex": instance.problem.domain.is_complex,
            "iterate": {"kind": instance.form.kind, "because": instance.form.reason},
            "memory": {"bytes": sum(reserved.values()), "parts": reserved},
            "constants": instance.problem.constants(),
            "implied_constraints": [{"name": name, "because": why} for name, why in implied],
        }
    )


def _print(facts: dict[str, Any]) -> None:
    from cgm_cli.readers.memory import human
    from cgm_cli.solving.remarks import told_redundant
    from cgm_cli.spec.load import one_line

    memory = facts["memory"]
    parts = ", ".join(f"{what} {human(size)}" for what, size in memory["parts"].items())
    rows = {
        "name": facts["name"],
        "variable": " x ".join(str(length) for length in facts["shape"]) + (", complex" if facts["complex"] else ""),
        "iterate": f"{facts['iterate']['kind']}: {facts['iterate']['because']}",
        "memory": human(memory["bytes"]) + (f" ({parts})" if parts else ""),
    }
    for key, value in facts["constants"].items():
        rows[key] = f"{value:g}" if isinstance(value, float) else one_line(value)
    if found := [(each["name"], each["because"]) for each in facts["implied_constraints"]]:
        rows["redundant"] = told_redundant(found)
    for key, value in rows.items():
        typer.echo(f"{key:<12}{value}")
