"""What every template is: a problem made from data, what to measure on its iterates, how to round the last one, and
what it says of all this to those who rank, draw and check it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.answers import Multiples
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.solving.rounding import Quick, Rounding
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.claims import Claim
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.views import View


class Template:
    """A problem with its meaning. Subclasses set `problem`, and override what they have something to say about.

    A template is one file in cgm_cli/templates/ and one line in the registry, and nothing else knows of it: a class
    with a nested `Spec(TemplateSpec)` whose `build(context)` reads the data (reserving memory before large arrays are
    made) and returns an instance. What it computes beside x it declares:

    - `measures`, the figures of `metrics` and `round`: `cgm list` and docs/blocks.md show them, `cgm report` knows
      which way they are better. A test compares them with what the examples of the Spec give.
    - `views`, which of the arrays of `round` are drawn and how: pages, figures and the gallery draw each kind of view.
    - `listing`, which of them is the answer, a line for each node or point: `cgm export --table` writes it, with the
      names of those, if `round` has them `packed` (cgm_cli.readers.entries) as the array LABELS.
    - `claims`, what the figures of `round` are: `cgm verify` has a formula of its own for each kind of statement.
    """

    measures: ClassVar[tuple[Metric, ...]] = ()
    """Every figure that `metrics` and `round` give for some instance."""
    views: ClassVar[tuple[View, ...]] = ()
    """What a solution looks like (cgm_cli.templates.views); without any, x itself is drawn."""

    listing: ClassVar[Listing | None] = None
    """What `cgm export --table` writes: a line for each node, or whatever the problem is about."""

    problem: CompositeProblem
    optimum: float | None = None
    """The optimal value in the user's sense, where it is known in closed form."""
    multiples: Multiples | None = None
    """What the values of rounded answers are multiples of, where that is known: a run ends once no other lies between
    the bound and an answer (cgm_cli.methods.answers), and a gap is not met while a better bound would be rounded to
    another one (cgm_cli.methods.stopping).
    """
    quick: Quick | None = None
    """What `quick_value` is about: table and trace then have the best answer so far, and its gap to the bound."""
    iterate: str = "auto"
    """How x is kept where the spec leaves it open: "dense" where every entry is looked at, or "auto"."""
    takes_samples: bool = False
    """Whether metrics and rounding are content with Gaussian samples of x."""

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """Numbers about the current iterate, each a scalar; evaluated every `log.metrics_every` records."""
        return {}

    def quick_value(self, iterate: Iterate, rng: np.random.Generator) -> float:
        """The value of an answer that is made of the iterate at no more cost than a step; every record asks for one."""
        return np.nan

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """The final iterate as an answer in the user's terms. bound: the certified bound in the user's sense, None
        without. After the deadline no more is tried than it takes to have an answer.
        """
        return Rounding()

    def claims(self) -> Sequence[Claim]:
        """What the figures of `round` are (cgm_cli.templates.claims). A figure without one is shown as not checked."""
        return ()


class Composed(Template):
    """A problem composed by hand in the spec."""

    takes_samples = True

    def __init__(self, problem: CompositeProblem):
        self.problem = problem
