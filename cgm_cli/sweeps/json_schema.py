"""JSON Schema (draft 2020-12) of a sweep file. An inline `base` is any mapping: the rest may be varied."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from cgm_cli.spec.json_schema import DIALECT
from cgm_cli.sweeps.model import SweepSpec


def sweep_schema() -> dict[str, Any]:
    """The schema of a sweep file."""
    root = TypeAdapter(SweepSpec).json_schema()
    # A sweep without a name has that of its file.
    root["required"].remove("name")
    return {"$schema": DIALECT, **root, "title": "cgm sweep"}
