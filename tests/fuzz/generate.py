"""Case number `index` of a family, from a seed: the same on every machine with the same libraries."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz import seeds, tricks
from tests.fuzz.cases import Case, Oddity
from tests.fuzz.mutate import bytes_mutated, tree_mutated, yaml_of

_PETERSEN = "petersen.dat-s"


def spec_case(seed: int, index: int) -> Case:
    """A mutated spec: its tree three times out of four, else the bytes of its text."""
    rng = Random(f"spec {seed} {index}")
    known = seeds.specs()
    name, tree = rng.choice(known)
    if rng.random() < 0.75:
        text = yaml_of(tree_mutated(tree, rng, [other for _, other in known])).encode("utf-8", "surrogatepass")
        label = f"tree of {name}"
    else:
        text, label = bytes_mutated(yaml_of(tree).encode(), rng), f"bytes of {name}"
    beside = {_PETERSEN: (seeds.CONFIGS / _PETERSEN).read_bytes()}
    return Case("spec", label, {"spec.yaml": text, **beside})


def file_case(seed: int, index: int) -> Case:
    """A mutated data file, or part of a run."""
    rng = Random(f"file {seed} {index}")
    if rng.random() < 0.05:
        return rng.choice(tricks.data_files())
    if rng.random() < 0.05:
        return rng.choice(tricks.run_folders())
    if rng.random() < 0.3:
        return _run_case(rng)
    name, raw, problem = rng.choice(seeds.files())
    spec = yaml_of({"problem": problem}).encode()
    return Case("spec", f"bytes of {name}", {"spec.yaml": spec, name: bytes_mutated(raw, rng)})


def _run_case(rng: Random) -> Case:
    run: dict[str, bytes | Oddity] = dict(rng.choice(seeds.runs()))
    name = rng.choice(["run.h5"] * 6 + ["status.json", "resolved.yaml", "spec.yaml"])
    raw = run[name]
    assert isinstance(raw, bytes)
    run[name] = bytes_mutated(raw, rng)
    return Case("run", f"bytes of {name}", run)


FAMILIES: dict[str, Callable[[int, int], Case]] = {"specs": spec_case, "files": file_case}
