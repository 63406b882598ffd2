"""cgm: composite convex optimisation with conditional-gradient methods.

from cgm_cli import solve, certify, load_run
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cgm_cli.api import certify, load_run, solve

__all__ = ["certify", "load_run", "solve"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Loaded when first asked for, so that `cgm --help` does not wait for the numerics.
    if name in __all__:
        from cgm_cli import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
