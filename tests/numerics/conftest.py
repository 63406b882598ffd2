"""What holds for tests of compiled code: each of them is one of what takes its place, too."""

import pytest

from cgm_cli.numerics import compiled


@pytest.fixture(params=[True, False], ids=["numba", "no numba"])
def either(request, monkeypatch):
    """With numba, and without."""
    if not request.param:
        monkeypatch.setattr(compiled, "available", lambda: False)
    return request.param
