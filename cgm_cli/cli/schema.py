"""`cgm schema`: the JSON Schema of a spec, for editors."""

from __future__ import annotations

import typer


def schema() -> None:
    """Print the JSON Schema of a spec, for editors. They complete and check YAML with it (draft 2020-12)."""
    import json

    from cgm_cli.spec.json_schema import spec_schema

    typer.echo(json.dumps(spec_schema(), indent=2))
