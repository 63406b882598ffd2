"""Building a template from a few fields, and running it from Python."""

from __future__ import annotations

from pathlib import Path

from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.result import Result
from cgm_cli.spec.load import dump, loads
from cgm_cli.spec.model import Spec
from cgm_cli.spec.registry import lookup
from cgm_cli.templates.base import Template
from cgm_cli.templates.build import build

PAPER_SPECS = Path(__file__).parents[2] / "configs" / "paper"


def template(name: str, folder: Path = Path("."), seed: int = 0, **fields) -> Template:
    """The template called `name`, built from its fields; files are looked up in `folder`."""
    spec = lookup("template", name).Spec.model_validate({"template": name, **fields})
    return spec.build(BuildContext((folder,), seed))


def spec(problem: dict, seed: int = 0, **solver) -> Spec:
    """A whole spec, for all steps of the paper's method, without scaling, unless `solver` asks for something else."""
    tree = {"name": "test", "problem": problem, "stop": {"gap": None}, "seed": seed}
    return loads(dump({**tree, "solver": {"method": "hcgm", "scaling": "none", **solver}}))


def solve(problem: dict, seed: int = 0, **solver) -> Result:
    """The result of that spec."""
    return build(spec(problem, seed, **solver)).solve()
