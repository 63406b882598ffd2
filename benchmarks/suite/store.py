"""The finished rows, as JSON beside the table. A row is kept under a key of all that it depends on, so that a run goes
on where another one ended, and a row made on another machine or by other code is made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def key(job: dict[str, Any], machine: dict[str, Any], code: str) -> str:
    """A digest of the job and the machine and, for a method of our own, of our code."""
    parts = [job, machine, "" if job["peer"] else code]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()[:16]


class Store:
    """Rows by key; every change is on disk at once."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            self.rows = json.loads(path.read_text(encoding="utf-8"))

    def put(self, key: str, row: dict[str, Any]) -> None:
        """Keep the row, in place of an older one of the same problem and solver."""
        same = (row["problem"], row["solver"])
        self.rows = {k: r for k, r in self.rows.items() if (r["problem"], r["solver"]) != same} | {key: row}
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, self.path)
