from __future__ import annotations

import pytest

from tests.spec import stubs


@pytest.fixture(scope="module")
def stub_registry():
    with stubs.installed():
        yield
