"""Numbers and names as a person reads them: shared by the console, the progress of sweeps and the reports."""

from __future__ import annotations

import math


def number(value: float, digits: int = 6) -> str:
    """`value` with so many significant digits; a dash for nan."""
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def ratio(value: float) -> str:
    """A relative figure, of which the order of magnitude matters."""
    return "-" if math.isnan(value) else f"{value:.1e}"


def duration(seconds: float) -> str:
    """Seconds as a person reads them: 0.25s, 12.3s, 4m05s, 2h07m."""
    if seconds < 60:
        return f"{seconds:.2f}s" if seconds < 10 else f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def bound_label(sense: str) -> str:
    """What the bound is to a problem of this sense."""
    return "upper bound" if sense == "maximise" else "lower bound"


def kind_in_words(kind: str, failure: float) -> str:
    """What a bound is called: certified, certified with probability 1 - 1e-09, or estimated."""
    return f"certified with probability 1 - {failure:.0e}" if kind == "probable" else kind


def pretty(name: str) -> str:
    """A metric's or term's name as words."""
    return name.replace("_", " ")


def resting(on: str | None) -> str:
    """What a bound does not hold without (`Result.bound_rests_on`), to be put behind what is said of it."""
    names = on.split(", ") if on else []
    said = [f", within the `{name}` that was assumed" for name in names if ":" not in name]
    believed = " and ".join(f"`{name}`" for name in names if ":" in name)
    return "".join(said) + (f", if {believed} can be believed" if believed else "")
