"""One hostile input: a folder of files, some of them no files at all, and what is to be done with it."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

NOTE = "case.json"


@dataclass(frozen=True)
class Oddity:
    """What stands in a folder in place of a file: a fifo, a socket, a folder, a link, or a hole of many bytes."""

    kind: Literal["fifo", "socket", "folder", "link", "hole"]
    detail: str | int = ""

    def put(self, path: Path) -> None:
        if self.kind == "fifo":
            os.mkfifo(path)
        elif self.kind == "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
        elif self.kind == "folder":
            path.mkdir()
        elif self.kind == "link":
            path.symlink_to(str(self.detail))
        else:
            path.touch()
            os.truncate(path, int(self.detail))


@dataclass(frozen=True)
class Case:
    """kind: "spec" (the folder has a spec.yaml to be checked and solved) or "run" (the folder is a run). label: how the
    case was made.
    """

    kind: Literal["spec", "run"]
    label: str
    files: dict[str, bytes | Oddity] = field(repr=False)

    def put(self, folder: Path) -> None:
        """Make the files of the case in an empty folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Oddity):
                content.put(path)
            else:
                path.write_bytes(content)

    def save(self, folder: Path, failure: str) -> None:
        """Keep the case for `replayed`. Oddities are noted, not made."""
        folder.mkdir(parents=True)
        plain = {name: content for name, content in self.files.items() if isinstance(content, bytes)}
        Case(self.kind, self.label, plain).put(folder)
        oddities = {n: [c.kind, c.detail] for n, c in self.files.items() if isinstance(c, Oddity)}
        note = {"kind": self.kind, "label": self.label, "oddities": oddities, "failure": failure}
        (folder / NOTE).write_text(json.dumps(note, indent=2), encoding="utf-8")


def replayed(folder: Path) -> Case:
    """The case that `Case.save` wrote."""
    note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    files: dict[str, bytes | Oddity] = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != NOTE
    }
    files |= {name: Oddity(*oddity) for name, oddity in note["oddities"].items()}
    return Case(note["kind"], note["label"], files)
