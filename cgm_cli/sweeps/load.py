"""A sweep file -> a Sweep whose every point is valid, or every fault at once, with its line in the file it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cgm_cli.errors import MOST_TOLD, CgmError, DataError, Several
from cgm_cli.spec.environment import escaped, expanded
from cgm_cli.spec.explain import Complaint, explain
from cgm_cli.spec.extends import read_whole
from cgm_cli.spec.faults import Fault, SpecError
from cgm_cli.spec.load import copied, default_name, dump, is_sweep, place, refused
from cgm_cli.spec.model import Spec
from cgm_cli.spec.overrides import Override, apply
from cgm_cli.spec.yaml_reader import Document, TreePath, read
from cgm_cli.sweeps.expansion import Assignment, expand, label, placed
from cgm_cli.sweeps.identity import digest, files_of, identity
from cgm_cli.sweeps.model import SweepSpec
from cgm_cli.text import WHOLE, quoted


@dataclass(frozen=True)
class SweepPoint:
    """One point. number: from 1, in the order of the sweep. id: equal for points that are the same run. values: key of
    the spec -> value. threads, seconds: what the spec says of threads and of `stop.time` (None: no limit).
    """

    number: int
    id: str
    values: dict[str, Any]
    threads: int
    seconds: float | None

    @property
    def label(self) -> str:
        """`key=value key=value`."""
        return label(self.values)


@dataclass
class Sweep:
    """A sweep file that was read, and its points. Made by `load_sweep`. given: overrides of the base."""

    spec: SweepSpec
    document: Document
    base: Document
    given: tuple[str, ...] = ()
    points: list[SweepPoint] = field(default_factory=list)
    _assignments: list[Assignment] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Names the folder below runs/."""
        return self.spec.name

    @cached_property
    def keys(self) -> list[str]:
        """What is varied, in the order of the table."""
        return list(self.points[0].values)

    def spec_text(self, point: SweepPoint) -> str:
        """The spec of the run at a point, resolved, under a name that is the same in every sweep that has the point."""
        # Made anew each time: a thousand specs with a large matrix each would not fit into the memory.
        tree, _ = self._resolved(self._valid(self._assignments[point.number - 1]))
        tree["name"] = f"point-{point.id}"
        return dump(_named(tree, {name: escaped(name) for name in files_of(tree["problem"])}))

    def _tree(self, assignment: Assignment) -> dict[str, Any]:
        """The spec at a point, as it is to be validated."""
        tree = self._below
        # What holds a mapping of other keys comes first.
        for key in sorted(assignment, key=lambda key: key.count(".")):
            tree = placed(tree, tuple(key.split(".")), assignment[key].value)
        return tree

    @property
    def _below(self) -> dict[str, Any]:
        """The base with what is changed at every point."""
        return self._changed[0]

    @property
    def _overrides(self) -> tuple[Override, ...]:
        return self._changed[1]

    @cached_property
    def _changed(self) -> tuple[dict[str, Any], tuple[Override, ...]]:
        tree = self.base.tree if self.base is not self.document else self.document.tree["base"]
        for key, value in self.spec.set.items():
            tree = placed(tree, tuple(key.split(".")), value)
        tree = copied({"name": self.name, **tree})
        overrides = apply(tree, self.given)
        return tree, overrides

    def _valid(self, assignment: Assignment) -> Spec:
        return Spec.model_validate(self._tree(assignment))

    def _resolved(self, spec: Spec) -> tuple[dict[str, Any], dict[str, str]]:
        """The resolved spec as plain values, whose data files are found from any folder, and their SHA-256."""
        tree = spec.model_dump(by_alias=True)
        names = files_of(tree["problem"], ("problem",))
        if not names:
            return tree, {}
        renamed, digests, missing = {}, {}, []
        for name, path in sorted(names.items()):
            try:
                new, digests[new] = self._find(name)
            except OSError as error:
                source = spec.source.get(name)
                get = f". {source.advice}" if source else ""
                missing.append(DataError(f"no data file `{quoted(name, WHOLE)}`; looked in {error}{get}", path))
            else:
                renamed[name] = new
        if missing:
            raise missing[0] if len(missing) == 1 else Several(missing)
        return _named(tree, renamed), digests

    def _find(self, name: str) -> tuple[str, str]:
        """The name under which the run finds a data file, and its SHA-256. OSError, with the folders, if none."""
        if name not in self._found:
            from cgm_cli.readers.context import data_folders

            # The run is started elsewhere: what lies beside the base is named in full.
            beside, *others = data_folders(self.base.path)
            folder = next((each for each in (beside, *others) if (each / name).is_file()), None)
            if folder is None:
                raise FileNotFoundError(", ".join(map(str, (beside, *others))))
            new = name if folder in others and folder.is_absolute() else str((folder / name).absolute())
            self._found[name] = new, digest(folder / name)
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, tuple[str, str]]:
        return {}


def load_sweep(path: str | Path, overrides: Sequence[str] = ()) -> Sweep:
    """The sweep in a file, whose base is changed by overrides such as "solver.beta0=0.5". Raises SpecError with all
    faults of it or of its points; DataError for missing data.
    """
    document = expanded(read(Path(path)))
    if "sweep" not in document.tree and "problem" in document.tree:
        hint = "solve it with `cgm solve`, or name it as the `base:` of a sweep file"
        raise SpecError([Fault("this is a spec, not a sweep", hint=hint)], document.name, document.text)
    schemas: dict[int, type] = {}
    tree = {"name": default_name(document.path), **document.tree}
    try:
        spec = SweepSpec.model_validate(tree, context=schemas)
    except ValidationError as error:
        raise refused(error, tree, schemas, document) from None
    sweep = Sweep(spec, document, _base(spec, document), tuple(overrides))
    try:
        below = sweep._below
    except ValueError as error:
        raise _fault(document, ("set",), str(error)) from None
    seed = below.get("seed")
    sweep._assignments, faults = expand(spec.sweep, seed if isinstance(seed, int) else 0, below)
    if faults:
        known = [place(Complaint(fault.path, fault.message), document) for fault in faults]
        raise SpecError(known, document.name, document.text)
    varied = {key for assignment in sweep._assignments[:1] for key in assignment}
    if unheard := [fault for override in sweep._overrides if (fault := _unheard(override, varied))]:
        raise SpecError(unheard)
    _validate(sweep)
    return sweep


def _unheard(override: Override, varied: set[str]) -> Fault | None:
    """The fault of an override that every point has another value for."""
    for length in range(1, len(override.path) + 1):
        key = ".".join(override.path[:length])
        if key in varied:
            message = f"`{quoted(key)}` is varied by the sweep, so that this would have no effect"
            return override.fault(message, override.path[:length], at_key=True)
    return None


def _base(spec: SweepSpec, document: Document) -> Document:
    if not isinstance(spec.base, str):
        return document
    path = (document.path.parent if document.path is not None else Path()) / spec.base
    if path.is_dir():
        raise _fault(document, ("base",), f"{path} is a folder, and a spec is needed")
    if not path.is_file():
        raise _fault(document, ("base",), f"there is no file {path}")
    base = read_whole(path)
    if is_sweep(base.tree):
        raise _fault(document, ("base",), f"{path} is a sweep itself, and a spec is needed")
    return base


def _fault(document: Document, path: TreePath, message: str) -> SpecError:
    return SpecError([place(Complaint(path, message), document)], document.name, document.text)


def _validate(sweep: Sweep) -> None:
    """Fill in the points; raises what is wrong with any of them, or with the first ones if that is much."""
    faults = _Faults(sweep)
    unseen = 0
    for number, assignment in enumerate(sweep._assignments, start=1):
        schemas: dict[int, type] = {}
        tree = None
        try:
            tree = sweep._tree(assignment)
            spec = Spec.model_validate(tree, context=schemas)
            resolved, digests = sweep._resolved(spec)
        except ValidationError as error:
            complaints, more = explain(error, tree, schemas, lambda path: (0, 0))
            for complaint in complaints:
                faults.add(number, assignment, complaint)
            faults.more += more
        except ValueError as error:
            # A key that leads nowhere: the deepest one is to blame.
            deepest = max(assignment, key=lambda key: key.count("."))
            faults.add(number, assignment, Complaint(tuple(deepest.split(".")), str(error), at_key=True))
        except CgmError as error:
            for each in error.each:
                faults.add_error(assignment, each)
        else:
            values = {key: cell.value for key, cell in assignment.items()}
            point = SweepPoint(number, identity(resolved, digests), values, spec.threads, spec.stop.time)
            sweep.points.append(point)
        if len(faults) >= MOST_TOLD:
            unseen = len(sweep._assignments) - number
            break
    errors = faults.errors()
    if errors:
        error = errors[0] if len(errors) == 1 and not faults.more else Several(errors, faults.more)
        if unseen:
            error.message += f"\n\n{unseen:,} of {len(sweep._assignments):,} points have not been looked at"
        raise error


class _Faults:
    """The faults of the points, each told once, however many points have it; at most MOST_TOLD. more: those besides."""

    def __init__(self, sweep: Sweep):
        self.more = 0
        self._sweep = sweep
        self._points: dict[tuple[bool, Fault], list[str]] = {}
        self._data: dict[tuple[bool, Fault], CgmError] = {}

    def __len__(self) -> int:
        return len(self._points) + len(self._data)

    def add(self, number: int, assignment: Assignment, complaint: Complaint) -> None:
        key = self._located(assignment, complaint)
        if key in self._points or len(self) < MOST_TOLD:
            self._points.setdefault(key, []).append(f"point {number}: {label(assignment)}")
        else:
            self.more += 1

    def add_error(self, assignment: Assignment, error: CgmError) -> None:
        """An error of a point, to be told with the line in the sweep file or in the base that its path leads to."""
        key = self._located(assignment, Complaint(error.path, error.message))
        if key in self._data or len(self) < MOST_TOLD:
            here, fault = key
            document = self._sweep.document if here else self._sweep.base
            self._data.setdefault(key, type(error)(fault.render(document.name, document.text)))
        else:
            self.more += 1

    def errors(self) -> list[CgmError]:
        """One error for each of the two files that have faults, then those of the data."""
        found: list[CgmError] = []
        for here, document in ((True, self._sweep.document), (False, self._sweep.base)):
            faults = [_told(fault, points) for (at, fault), points in self._points.items() if at is here]
            if faults:
                found.append(SpecError(faults, document.name, document.text))
        return [*found, *self._data.values()]

    def _located(self, assignment: Assignment, complaint: Complaint) -> tuple[bool, Fault]:
        """Whether the fault stands in the sweep file, and the fault with its place there or in the base."""
        dotted = tuple(str(step) for step in complaint.path)
        # The value itself, or what it is inside of, was put there by the sweep ...
        for length in range(len(dotted), 0, -1):
            cell = assignment.get(".".join(dotted[:length]))
            if cell is not None:
                exact = length == len(dotted)
                path = cell.axis if exact and complaint.at_key else (*cell.place, *complaint.path[length:])
                return True, self._placed(path, complaint)
            for override in reversed(self._sweep._overrides):
                if override.path == dotted[:length]:
                    fault = override.fault(complaint.message, complaint.path, complaint.hint, complaint.at_key)
                    return True, fault
            if ".".join(dotted[:length]) in self._sweep.spec.set:
                return True, self._placed(("set", ".".join(dotted[:length])), complaint)
        # ... or something inside it was, which does not go with the rest, or made the key that is complained of.
        written = self._sweep.base.positions
        prefix = () if self._sweep.base is not self._sweep.document else ("base",)
        if not complaint.at_key or (*prefix, *complaint.path) not in written:
            for key, cell in assignment.items():
                if tuple(key.split("."))[: len(dotted)] == dotted:
                    return True, self._placed(cell.axis if complaint.at_key else cell.place, complaint)
            for key in self._sweep.spec.set:
                if complaint.at_key and tuple(key.split("."))[: len(dotted)] == dotted:
                    return True, self._placed(("set", key), complaint)
        if self._sweep.base is self._sweep.document:
            return True, self._placed(("base", *complaint.path), complaint)
        return False, place(complaint, self._sweep.base)

    def _placed(self, path: TreePath, complaint: Complaint) -> Fault:
        moved = Complaint(path, complaint.message, complaint.hint, complaint.at_key)
        return place(moved, self._sweep.document)


def _told(fault: Fault, points: list[str]) -> Fault:
    others = f", and {len(points) - 1} more" if len(points) > 1 else ""
    hint = f"{fault.hint}\n  " if fault.hint else ""
    return replace(fault, hint=f"{hint}{points[0]}{others}")


def _named(tree: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A resolved spec with other names of its data files."""
    source = {names.get(name, name): value for name, value in tree["source"].items()}
    return {**tree, "problem": _renamed(tree["problem"], names), "source": source}


def _renamed(tree: Any, names: Mapping[str, str]) -> Any:
    if isinstance(tree, Mapping):
        return {
            key: names.get(value, value) if key == "file" and isinstance(value, str) else _renamed(value, names)
            for key, value in tree.items()
        }
    return [_renamed(value, names) for value in tree] if isinstance(tree, list) else tree
