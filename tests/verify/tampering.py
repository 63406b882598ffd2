"""Kinds of tampering with the folder of a run, and what `cgm verify` makes of each: the table of docs/verify.md.

python -m tests.verify.tampering        # write the table anew
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from cgm_cli.api import solve
from cgm_cli.methods.status import Status
from tests.verify.support import altered, forged

PAGE = Path(__file__).parents[2] / "docs" / "verify.md"
BEGIN, END = "<!-- tampering: begin -->\n", "<!-- tampering: end -->\n"

CAUGHT, REFUSED, OPEN = "caught", "refused", "not checkable"


@dataclass(frozen=True)
class Tampering:
    """name: what is changed. run: the honest run whose copy it is changed in. change: takes the folder. outcome: CAUGHT
    (exit code 4), REFUSED (exit code 3: it cannot be read), or OPEN (nothing tells). rows: those that fail, if caught;
    why: the reason, if not.
    """

    name: str
    run: str
    change: Callable[[Path], None]
    outcome: str = CAUGHT
    rows: tuple[str, ...] = ()
    why: str = ""


# The honest runs.


def honest(folder: Path) -> None:
    """Solve one run of each kind: `cut` (a graph from a file, constraints), `large` (the same by an iterative oracle),
    `sketch` (x kept as a sketch), `kmeans` (a template with scores), `fit` (closed forms, no constraints, data from a
    file; it converges).
    """
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(1, 31) for j in range(1, i) if rng.random() < 0.2]
    (folder / "graph.txt").write_text(f"30 {len(pairs)}\n" + "".join(f"{i} {j}\n" for i, j in pairs))
    np.save(folder / "features.npy", rng.standard_normal((20, 4)).round(2))
    features = {"kind": "matrix", "matrix": {"file": "features.npy"}}
    labels = np.where(rng.random(20) < 0.5, -1, 1).tolist()
    points = rng.standard_normal((12, 2)).round(2).tolist()
    specs = {
        "cut": {"template": "max-cut", "graph": {"file": "graph.txt"}},
        "large": {"template": "max-cut", "graph": {"nodes": 70, "edges": 200}},
        "sketch": {"template": "max-cut", "graph": {"nodes": 30, "edges": 90}},
        "kmeans": {
            "template": "kmeans-sdp",
            "clusters": 3,
            "points": points,
            "labels": [i % 3 for i in range(12)],
            "restarts": 2,
            "domain": "fantope",
        },
        "fit": {
            "domain": {"kind": "l1-ball", "size": 4, "radius": 2.0},
            "objective": {"kind": "logistic", "map": features, "labels": labels},
            "penalties": [{"kind": "l2", "scale": 0.05, "name": "shrink"}],
        },
    }
    for name, problem in specs.items():
        (folder / f"{name}.yaml").write_text(
            json.dumps({"name": name, "problem": problem, "solver": {"method": "hcgm"}})
        )
        stop = (
            ["stop.gap=0.05", "solver.iterations=2000"] if name == "fit" else ["stop.gap=null", "solver.iterations=40"]
        )
        stop += ["solver.iterate=sketch", "solver.rank=8"] if name == "sketch" else []
        solve(folder / f"{name}.yaml", stop, out=folder / name)


# How a folder is changed.


def _state(run: Path, change: Callable[[dict], None]) -> None:
    state = json.loads((run / "status.json").read_text())
    change(state)
    (run / "status.json").write_text(json.dumps(state))


def _file(run: Path, change: Callable[[h5py.File], None]) -> None:
    with forged(run) as file:
        change(file)


def result(**values) -> Callable[[Path], None]:
    """Values, or functions of the former ones, in the result of status.json alone."""

    def change(state: dict) -> None:
        for name, value in values.items():
            state["result"][name] = value(state["result"][name]) if callable(value) else value

    return lambda run: _state(run, change)


def metric(name: str, value: Callable[[float], float]) -> Callable[[Path], None]:
    """A figure of the template."""
    return result(metrics=lambda metrics: metrics | {name: value(metrics[name])})


def cells(row: int, **values) -> Callable[[Path], None]:
    """Entries of one row of the trace, without what should follow from them."""

    def change(file: h5py.File) -> None:
        for name, value in values.items():
            column = file["trace"][name]
            column[row] = value(column[row]) if callable(value) else value

    return lambda run: _file(run, change)


def consistent(row: int, **values) -> Callable[[Path], None]:
    """Entries of one row, with total and gap as they follow from them; of the last one, in status.json as well."""

    def change(run: Path) -> None:
        cells(row, **values)(run)
        with forged(run) as file:
            trace = file["trace"]
            total, bound = float(trace["objective"][row] + trace["penalty"][row]), float(trace["bound"][row])
            trace["total"][row] = total
            trace["gap"][row] = gap = abs(total - bound) / max(1.0, abs(total), abs(bound))
            kept = ("infeasibility", "owed", "k", "seconds")
            infeasibility, owed, k, seconds = (trace[name][row].item() for name in kept)
        if row == -1:
            known = {"bound": bound, "gap": gap} if np.isfinite(bound) else {"bound": None, "gap": None}
            known |= {"objective": total, "infeasibility": infeasibility, "owed": owed, "iterations": k}
            known["seconds"] = seconds
            result(**known)(run)

    return change


def ended(status: Status) -> Callable[[Path], None]:
    """Another status, in every record of it."""

    def change(run: Path) -> None:
        words = {"status": status.value, "exit_code": status.exit_code}
        _state(run, lambda state: state.update(words))
        result(status=status.value)(run)
        attribute(status=status.value)(run)

    return change


def attribute(**values) -> Callable[[Path], None]:
    """Attributes of run.h5."""
    return lambda run: _file(run, lambda file: [file.attrs.__setitem__(key, value) for key, value in values.items()])


def array(place: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    """An array of run.h5."""
    return lambda run: altered(run, place, change)


def deleted(*places: str) -> Callable[[Path], None]:
    """Arrays or groups of run.h5."""
    return lambda run: _file(run, lambda file: [file.__delitem__(place) for place in places])


def added(place: str, value: object) -> Callable[[Path], None]:
    return lambda run: _file(run, lambda file: file.__setitem__(place, value))


def rows(pick: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    """The rows of the trace: which there are."""

    def change(file: h5py.File) -> None:
        columns = {name: column[()] for name, column in file["trace"].items()}
        del file["trace"]
        for name, column in columns.items():
            file[f"trace/{name}"] = column[pick(np.arange(len(column)))]

    return lambda run: _file(run, change)


def resolved(old: str, new: str, copy: bool = False) -> Callable[[Path], None]:
    """Text in resolved.yaml, and in its copy in run.h5 as well."""

    def change(run: Path) -> None:
        text = (run / "resolved.yaml").read_text()
        assert old in text
        (run / "resolved.yaml").write_text(text.replace(old, new, 1))
        if copy:
            attribute(resolved=text.replace(old, new, 1))(run)

    return change


def text(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    return lambda run: (run / name).write_text(change((run / name).read_text()))


def halved(name: str, parts: int = 2) -> Callable[[Path], None]:
    """A file cut off in the middle, or after a smaller part."""
    return lambda run: (run / name).write_bytes((run / name).read_bytes()[: (run / name).stat().st_size // parts])


def both(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        for each in changes:
            each(run)

    return change


def beside(name: str, change: Callable[[Path], None]) -> Callable[[Path], None]:
    """The data file of the runs; it lies beside their folders."""
    return lambda run: change(run.parent / name)


def _zeroed_sum(run: Path) -> None:
    """A recorded SHA-256."""
    with forged(run) as file:
        data = json.loads(file.attrs["data"])
        file.attrs["data"] = json.dumps(dict.fromkeys(data, "0" * 64))


def _before(run: Path, better: bool) -> int:
    """The first row of a maximisation before one whose bound is better, or is no better."""
    with h5py.File(run / "run.h5") as file:
        falls = np.diff(file["trace/bound"][()]) < 0.0
    return int(np.argmax(falls == better))


def _killed(run: Path) -> None:
    _state(run, lambda state: state.update(status="running", result=None, ended=None))


LESS, MORE = (lambda value: value - 1e-3 * max(1.0, abs(value))), (lambda value: value + 1e-3 * max(1.0, abs(value)))
LOST = {"bound": np.nan, "certified": False, "bound_failure": np.nan}
WORDS = "it makes no claim in figures"
ENDED = "that somebody asked for an end leaves no trace; the row says `not checked`"
INNER = "iterates and duals of earlier rows are not kept; the row `earlier rows, steps and times` says so"

KINDS = [
    # What status.json claims.
    Tampering("objective, in status.json alone", "cut", result(objective=MORE), rows=("records", "objective")),
    Tampering("objective, in every record, with its gap", "cut", consistent(-1, objective=MORE), rows=("objective",)),
    Tampering("objective missing (null)", "cut", result(objective=None), rows=("records", "objective")),
    Tampering("objective moved to the penalty, same total", "fit",
              cells(-1, objective=lambda f: f - 0.01, penalty=lambda g: g + 0.01), rows=("penalties",)),
    Tampering("bound, in status.json alone", "cut", result(bound=LESS), rows=("records",)),
    Tampering("bound too good, in every record, with its gap", "large", consistent(-1, bound=LESS),
              rows=("upper bound (certified)",)),
    Tampering("bound weakened, in every record, with its gap", "cut", consistent(-1, bound=lambda b: 1.5 * b),
              rows=("bounds of the trace", "certified_ratio")),
    Tampering("bound taken back, in every record", "cut", both(consistent(-1, **LOST), result(bound_is="none")),
              rows=("bounds of the trace",)),
    Tampering("bound called estimated, in every record", "cut",
              both(cells(-1, certified=False, bound_failure=np.nan), result(bound_is="estimated")),
              rows=("bounds of the trace",)),
    Tampering("bound called probable, in status.json alone", "cut", result(bound_is="probable"), rows=("records",)),
    Tampering("gap, in every record", "cut", both(cells(-1, gap=1e-9), result(gap=1e-9)), rows=("trace", "gap")),
    Tampering("infeasibility, in every record", "cut",
              consistent(-1, infeasibility=1e-9, infeasibility_diagonal=1e-9),
              rows=("infeasibility of diagonal", "infeasibility")),
    Tampering("sense swapped", "cut", result(sense="minimise"), rows=("records",)),
    Tampering("cost of the certificate", "large",
              result(certificate=lambda found: found | {"cost": 0.0, "estimate": found["estimate"] + 1.0}),
              rows=("records",)),
    Tampering("seconds fewer than in the row before, in every record", "cut", consistent(-1, seconds=0.0),
              rows=("trace",)),
    Tampering("seconds more than the run was there, in every record", "cut", consistent(-1, seconds=1e6),
              rows=("records",)),
    Tampering("seconds a little more, in every record", "cut", consistent(-1, seconds=lambda s: s + 1e-4),
              outcome=OPEN, why="times leave nothing to compute them from; the last row of the report says so"),
    Tampering("iterations, in every record", "cut", consistent(-1, k=lambda k: k + 1), rows=("trace", "status")),
    Tampering("exit code", "cut", lambda run: _state(run, lambda state: state.update(exit_code=4)), rows=("records",)),
    Tampering("message, process, host", "cut",
              lambda run: _state(run, lambda state: state.update(message="Optimal.", pid=1, host="elsewhere")),
              outcome=OPEN, why=WORDS),
    # How it says that it ended.
    Tampering("status, in status.json alone", "cut", lambda run: _state(run, lambda state: state.update(
              status="converged")), rows=("records", "status")),
    Tampering("`converged` though a tolerance is missed", "cut",
              both(resolved("gap: null", "gap: 1.0e-09", copy=True), ended(Status.CONVERGED)), rows=("status",)),
    Tampering("`converged` without any tolerance", "cut", ended(Status.CONVERGED), rows=("status",)),
    Tampering("`iteration-limit` with iterations left", "fit", ended(Status.ITERATION_LIMIT), rows=("status",)),
    Tampering("`time-limit` with time left", "cut",
              both(resolved("time: null", "time: 1000.0", copy=True), ended(Status.TIME_LIMIT)), rows=("status",)),
    Tampering("`time-limit` without a limit", "cut", ended(Status.TIME_LIMIT), rows=("status",)),
    Tampering("`target-reached` far from the target", "fit",
              both(resolved("objective: null", "objective: -100.0", copy=True), ended(Status.TARGET_REACHED)),
              rows=("status",)),
    Tampering("`stagnated` while the gap falls", "cut",
              both(resolved("stagnation: null", "stagnation: 30", copy=True), ended(Status.STAGNATED)),
              rows=("status",)),
    Tampering("`infeasible` without a bound that proves it", "cut", ended(Status.INFEASIBLE),
              rows=("incompatible constraints",)),
    Tampering("`infeasible` without constraints", "fit", ended(Status.INFEASIBLE), rows=("status",)),
    Tampering("`interrupted`, `preempted` or `stopped`", "cut", ended(Status.INTERRUPTED), outcome=OPEN, why=ENDED),
    Tampering("result taken out", "cut", lambda run: _state(run, lambda state: state.update(result=None)),
              rows=("result",)),
    Tampering("made to look killed", "cut", _killed, outcome=OPEN,
              why="such a run claims no result: only the arithmetic of its trace is checked, and a message says so"),
    # What the template makes of it.
    Tampering("weight of the cut", "cut", metric("cut", lambda cut: cut + 1.0), rows=("cut",)),
    Tampering("cut above the certified bound", "cut", metric("cut", lambda cut: 2.0 * cut), rows=("cut",)),
    Tampering("certified ratio", "cut", metric("certified_ratio", lambda _: 1.0), rows=("certified_ratio",)),
    Tampering("hyperplane cut above the cut that began with it", "cut", metric("hyperplane_cut", lambda cut: cut + 5.0),
              rows=("hyperplane_cut",)),
    Tampering("hyperplane cut lowered", "cut", metric("hyperplane_cut", lambda cut: cut - 1.0), outcome=OPEN,
              why="its sides were not saved; the row says `not checked`"),
    Tampering("value of the clustering", "kmeans", metric("kmeans_value", lambda value: 0.99 * value),
              rows=("kmeans_value",)),
    Tampering("value of the other clustering below the certified bound", "kmeans",
              metric("kmeanspp_value", lambda value: 0.1 * value),
              rows=("kmeanspp_value", "kmeanspp_certified_percent")),
    Tampering("value of the other clustering, against its percent", "kmeans",
              metric("kmeanspp_value", lambda value: 1.01 * value), rows=("kmeanspp_certified_percent",)),
    Tampering("a score that the trace has too", "kmeans", metric("linked_misclassification", lambda _: 0.5),
              rows=("records",)),
    Tampering("a score", "kmeans", metric("misclassification", lambda _: 0.0), outcome=OPEN,
              why="it has no second formula; the row says `not checked`"),
    Tampering("owed to infeasibility, in status.json", "cut", result(owed=1e-9), rows=("records",)),
    Tampering("owed to infeasibility, in every record", "cut", consistent(-1, owed=1e-9), OPEN,
              why="an estimate, from duals of the last point, which were not saved"),
    Tampering("the rate of convergence", "kmeans", metric("slope_infeasibility", lambda slope: slope - 0.1),
              rows=("slope_infeasibility",)),
    # Earlier rows of the trace.
    Tampering("earlier row: total", "cut", cells(7, total=MORE), rows=("trace",)),
    Tampering("earlier row: gap", "cut", cells(7, gap=1e-9), rows=("trace",)),
    Tampering("earlier row: infeasibility, not that of the term", "cut", cells(7, infeasibility=1e-9), rows=("trace",)),
    Tampering("earlier row: time runs back", "cut", cells(7, seconds=1e6), rows=("trace",)),
    Tampering("earlier row: not a number", "cut", cells(7, total=np.nan), rows=("trace",)),
    Tampering("earlier row: objective, with total and gap", "cut", consistent(7, objective=MORE), outcome=OPEN,
              why=INNER),
    Tampering("earlier row: objective below the certified bound, without constraints", "fit",
              consistent(3, objective=lambda f: f - 10.0), rows=("bounds of the trace",)),
    Tampering("earlier row: certified bound beyond the last", "cut", consistent(7, bound=1.0),
              rows=("bounds of the trace",)),
    Tampering("earlier row: certified bound worse than those before", "cut", consistent(-2, bound=lambda b: b + 50.0),
              rows=("bounds of the trace",)),
    Tampering("earlier row: estimated bound beyond the last", "large", consistent(7, bound=lambda b: b - 1.0),
              outcome=OPEN, why="an estimate may be too good, and later be dropped"),
    Tampering("earlier row: certified flag off, failure 0", "cut", cells(7, certified=False),
              rows=("bounds of the trace",)),
    Tampering("earlier row: certified flag off, as an estimate, domain in closed form", "fit",
              cells(3, certified=False, bound_failure=np.nan), rows=("bounds of the trace",)),
    Tampering("earlier row: certified flag on, failure of an estimate", "large", cells(7, certified=True),
              rows=("bounds of the trace",)),
    Tampering("earlier row: certified flag on, failure 0, next bound no better", "large",
              lambda run: cells(_before(run, better=False), certified=True, bound_failure=0.0)(run),
              rows=("bounds of the trace",)),
    Tampering("earlier row: certified flag on, failure 0, next bound better", "large",
              lambda run: cells(_before(run, better=True), certified=True, bound_failure=0.0)(run),
              outcome=OPEN, why=INNER),
    Tampering("earlier row: probability of failure", "large", cells(7, bound_failure=1e-3),
              rows=("bounds of the trace",)),
    Tampering("earlier row: smoothing, step, oracle", "cut", cells(7, beta=1.0, eta=0.5, lmo_value=0.0), outcome=OPEN,
              why=INNER),
    Tampering("last row: smoothing, step, oracle, theory", "cut",
              cells(-1, beta=1.0, eta=0.5, fw_gap=0.0, theory_smoothed_bound=0.0), outcome=OPEN,
              why="nothing to compute them from is kept; the row `earlier rows, steps and times` says so"),
    Tampering("row taken out", "cut", rows(lambda k: k[k != 7]), rows=("trace",)),
    Tampering("row twice", "cut", rows(lambda k: np.insert(k, 7, 7)), rows=("trace",)),
    Tampering("last rows taken out", "cut", rows(lambda k: k[:-3]), rows=("records",)),
    Tampering("every row taken out", "cut", rows(lambda k: k[:0]), rows=("records",)),
    Tampering("column of a constraint taken out", "cut", deleted("trace/infeasibility_diagonal"),
              rows=("trace", "infeasibility of diagonal")),
    Tampering("column of the gap taken out", "cut", deleted("trace/gap"), outcome=REFUSED),
    # Solution, duals, and what is saved beside them.
    Tampering("solution: an entry", "fit", array("solution/x", lambda x: x + 1e-4 * (np.arange(4) == 0)),
              rows=("objective",)),
    Tampering("solution: outside of the domain", "fit", array("solution/x", lambda x: x + 2.0), rows=("domain",)),
    Tampering("solution: a factor", "cut", array("solution/weights", lambda w: 1.01 * w),
              rows=("domain", "infeasibility of diagonal")),
    Tampering("solution: not a number", "fit", array("solution/x", lambda x: x * np.nan), rows=("solution",)),
    Tampering("solution: another shape", "fit", array("solution/x", lambda x: x[:-1]), rows=("solution",)),
    Tampering("solution: deleted", "cut", deleted("solution"), rows=("solution", "cut")),
    Tampering("solution: one factor deleted", "cut", deleted("solution/weights"), rows=("solution",)),
    Tampering("solution: samples in its place", "cut",
              both(deleted("solution/left"), added("solution/samples", np.zeros((30, 3)))), rows=("solution",)),
    Tampering("solution: a truncation that would excuse it", "cut", array("solution/truncation", lambda _: 1e3),
              rows=("truncation",)),
    Tampering("solution: a truncation that would excuse it, claimed as well", "sketch",
              both(array("solution/truncation", lambda _: 1.0), metric("truncation", lambda _: 1.0)), outcome=OPEN,
              why="what x misses was not saved; `saved objective` and `saved infeasibility` hold without it"),
    Tampering("solution: the x that was recovered", "sketch", array("solution/left", lambda left: 1.001 * left),
              rows=("saved objective", "saved infeasibility of diagonal")),
    Tampering("solution: a truncation of a dense x", "fit", added("solution/truncation", 1e3), rows=("solution",)),
    Tampering("dual: scaled", "cut", array("duals/diagonal", lambda y: 0.5 * y), rows=("upper bound (certified)",)),
    Tampering("dual: outside of where its conjugate is finite", "fit", array("duals/shrink", lambda y: y + 1.0),
              rows=("lower bound (certified)",)),
    Tampering("dual: not a number", "cut", array("duals/diagonal", lambda y: y * np.nan),
              rows=("upper bound (certified)",)),
    Tampering("dual: one deleted", "kmeans", deleted("duals/rows"), rows=("lower bound (certified)",)),
    Tampering("duals: all deleted", "cut", deleted("duals"), rows=("upper bound (certified)",)),
    Tampering("image of the objective", "fit", array("loss/image", lambda z: z + 1.0),
              rows=("lower bound (certified)",)),
    Tampering("image of the objective deleted", "fit", deleted("loss"), rows=("lower bound (certified)",)),
    Tampering("partition: one node on the other side", "cut",
              array("solution/partition", lambda side: np.where(np.arange(side.size) == 0, -side, side)),
              rows=("cut", "certified_ratio")),
    Tampering("partition: three sides", "cut", array("solution/partition", lambda side: 3 * side), rows=("cut",)),
    Tampering("partition deleted", "cut", deleted("solution/partition"), rows=("cut", "certified_ratio")),
    Tampering("clusters", "kmeans", array("solution/clusters", lambda clusters: np.roll(clusters, 1)),
              rows=("kmeans_value",)),
    Tampering("arrays that no figure is made of", "kmeans", array("solution/denoised", lambda x: x + 1.0),
              outcome=OPEN, why="nothing is claimed of them"),
    # The problem, and where it came from.
    Tampering("resolved.yaml: stop", "cut", resolved("gap: null", "gap: 1.0"), rows=("records",)),
    Tampering("resolved.yaml and its copy: a tolerance that the run misses", "fit",
              resolved("gap: 0.05", "gap: 1.0e-06", copy=True), rows=("status",)),
    Tampering("resolved.yaml and its copy: fewer iterations than were taken", "cut",
              resolved("iterations: 40", "iterations: 20", copy=True), rows=("status",)),
    Tampering("resolved.yaml and its copy: a time limit that was not reached", "cut",
              resolved("time: null", "time: 1000.0", copy=True), outcome=OPEN,
              why="a run that spends its iterations first is what such a spec would have given"),
    Tampering("resolved.yaml and its copy: the problem", "fit", resolved("radius: 2.0", "radius: 0.1", copy=True),
              rows=("domain",)),
    Tampering("resolved.yaml and its copy: the data of a random problem", "large",
              resolved("edges: 200", "edges: 201", copy=True), rows=("objective", "cut")),
    Tampering("resolved.yaml and its copy: the seed", "large", resolved("seed: 0", "seed: 1", copy=True),
              rows=("records", "objective")),
    Tampering("spec.yaml", "cut", text("spec.yaml", lambda spec: spec.replace("cut", "cat")), outcome=OPEN,
              why="the problem is that of resolved.yaml; overrides that lead from one to the other are not kept there"),
    Tampering("data file changed", "cut", beside("graph.txt", lambda path: path.write_text(
              path.read_text().replace("30 ", "31 ", 1))), rows=("data",)),
    Tampering("data file changed, and of no use", "cut", beside("graph.txt", lambda path: path.write_text("nothing")),
              outcome=REFUSED, why="changed since the run was started: graph.txt"),
    Tampering("data file gone", "cut", beside("graph.txt", Path.unlink), outcome=REFUSED, why="no data file"),
    Tampering("recorded SHA-256 of the data", "cut", _zeroed_sum, rows=("data",)),
    Tampering("record of the data deleted", "cut", lambda run: _file(run, lambda file: file.attrs.__delitem__("data")),
              rows=("data",)),
    Tampering("recorded seed", "cut", attribute(seed=5), rows=("records",)),
    Tampering("recorded status", "cut", attribute(status="converged"), rows=("records",)),
    Tampering("recorded form of x", "cut", attribute(iterate='{"kind": "dense", "columns": 0, "because": ""}'),
              rows=("solution",)),
    Tampering("recorded versions, commit, host", "cut", attribute(versions="{}", git="{}", host="elsewhere"),
              outcome=OPEN, why=WORDS),
    Tampering("checkpoint.h5", "cut", halved("checkpoint.h5"), outcome=OPEN,
              why="no claim rests on it; `cgm resume` reads it"),
    Tampering("log.txt", "cut", text("log.txt", lambda _: ""), outcome=OPEN, why=WORDS),
    # Files that cannot be read.
    Tampering("run.h5 cut off", "cut", halved("run.h5"), outcome=REFUSED),
    Tampering("run.h5 deleted", "cut", lambda run: (run / "run.h5").unlink(), outcome=REFUSED),
    Tampering("status.json cut off", "cut", halved("status.json"), outcome=REFUSED),
    Tampering("status.json deleted", "cut", lambda run: (run / "status.json").unlink(), outcome=REFUSED),
    Tampering("resolved.yaml cut off", "cut", halved("resolved.yaml", 20), outcome=REFUSED),
]  # fmt: skip


def table() -> str:
    """The table of docs/verify.md."""
    lines = ["| what is changed | outcome | by which rows, or why not |", "|---|---|---|"]
    for kind in KINDS:
        by = ", ".join(f"`{row}`" for row in kind.rows) or kind.why or "exit code 3: it cannot be read"
        lines.append(f"| {kind.name} | {kind.outcome} | {by} |")
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """The page with the table of now."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
