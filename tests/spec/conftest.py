from __future__ import annotations

import pytest
from hypothesis import settings

from tests.spec import stubs

# A busy machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="module")
def stub_registry():
    with stubs.installed():
        yield
