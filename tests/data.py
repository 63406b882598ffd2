"""Third-party data files: tests that need one skip where CGM_DATA does not lead to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def has_data(name: str) -> bool:
    """Whether a folder of CGM_DATA holds the file."""
    folders = [folder for folder in os.environ.get("CGM_DATA", "").split(os.pathsep) if folder]
    return any((Path(folder) / name).is_file() for folder in folders)


def needs_data(name: str) -> pytest.MarkDecorator:
    """Skips the test without the file."""
    return pytest.mark.skipif(not has_data(name), reason=f"{name} is in no folder of CGM_DATA")
