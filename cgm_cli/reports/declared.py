"""What the template of a run says of itself. Its class is looked up by the name in the spec, and only when it is asked:
most reports need no more than a few of them, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cgm_cli.reports.entry import Entry
from cgm_cli.spec import registry
from cgm_cli.spec.metrics import Metric

if TYPE_CHECKING:
    from cgm_cli.templates.base import Template

PREFIX = "metric_"
"""Of a template's figures, in the trace and among the figures of an entry."""


def template_called(name: Any) -> type[Template] | None:
    """The class of a template; None for a problem without one, or one that this version does not know."""
    known = isinstance(name, str) and name in registry.FAMILIES["template"]
    return registry.lookup("template", name) if known else None


def metric(figure: str, entries: Sequence[Entry]) -> Metric | None:
    """What the templates of the runs that have the figure (metric_<name>) say of it; None unless all of them say the
    same, but for its description.
    """
    names = (entry.params.get("problem.template") for entry in entries if figure in entry.figures)
    said = [_metric(template, figure.removeprefix(PREFIX)) for template in dict.fromkeys(map(template_called, names))]
    return said[0] if said and all(_alike(each, said[0]) for each in said) else None


def _metric(template: type[Template] | None, name: str) -> Metric | None:
    return None if template is None else next((each for each in template.measures if each.name == name), None)


def _alike(one: Metric | None, other: Metric | None) -> bool:
    if one is None or other is None:
        return False
    return (one.better, one.comparable, one.log) == (other.better, other.comparable, other.log)
