"""`cgm schema`: the JSON Schema of a spec, or of a sweep file, for editors."""

from __future__ import annotations

from typing import Annotated

import typer


def schema(sweep: Annotated[bool, typer.Option("--sweep", help="That of a sweep file.")] = False) -> None:
    """Print the JSON Schema of a spec, for editors. They complete and check YAML with it (draft 2020-12)."""
    import json

    from cgm_cli.spec.json_schema import spec_schema
    from cgm_cli.sweeps.json_schema import sweep_schema

    typer.echo(json.dumps(sweep_schema() if sweep else spec_schema(), indent=2))
