"""The claims of one run, recomputed from its saved solution and duals and compared.

Tolerances come from rounding, nothing else: `RELATIVE` times the magnitudes that were added up, plus what the running
images of a solve may have drifted (a few units in the last place of the largest image, per step since they were last
computed anew), plus what a truncated or sketched iterate has lost. A certified bound is a claim of another sort,
one-sided: it may lie below what is recomputed, and above it only by the rounding of the recomputation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.status import Status
from cgm_cli.runs.load import Run, load_run
from cgm_cli.templates.base import Template
from cgm_cli.verify.bound import minimum_of, recompute_bound
from cgm_cli.verify.claims import Claims, plain, read_claims, rebuild, with_inequalities
from cgm_cli.verify.convexity import diameter
from cgm_cli.verify.data import data_rows
from cgm_cli.verify.losses import view_loss
from cgm_cli.verify.matrices import matrix_of, operator_bound
from cgm_cli.verify.membership import violation
from cgm_cli.verify.penalties import nearest, penalty_value
from cgm_cli.verify.point import SavedPoint, Unfit, in_real_form, read_point
from cgm_cli.verify.precision import EPS, RELATIVE, ZERO, Congruent, Total, Unchecked, extended, norm, product
from cgm_cli.verify.report import CheckedClaim, Report, Verdict, attempted
from cgm_cli.verify.roundings import Saved, contradiction, recomputed
from cgm_cli.verify.status import Evidence, status_row
from cgm_cli.verify.trace import SLOPES, bounds_row, record_row, relative_gap, trace_rows


def verify(path: str | Path) -> Report:
    """Recompute what the run in the folder `path` claims. Raises DataError (exit code 3) where it cannot be read."""
    # What overflows, or is no number, agrees with nothing: that is told by the row.
    with np.errstate(all="ignore"):
        return _verify(load_run(path))


def _verify(run: Run) -> Report:
    report = Report(run.path, run.status.value)
    claims = read_claims(run)
    if claims.summary is None:
        report.rows += trace_rows(run)
        report.messages.append(_unfinished(run))
        if run.status.exit_code == 0:
            report.rows.append(
                CheckedClaim("result", Verdict.FAILS, note=f"none is there, though the run is {run.status.value}")
            )
        return report
    spec, instance = rebuild(run)
    problem = with_inequalities(run, instance.problem)
    report.rows += trace_rows(run, problem.unit)
    report.rows += data_rows(run, instance.context)
    report.rows.append(record_row(run, claims, spec, problem.sense))
    report.rows.append(status_row(Evidence(run, spec, problem, claims, instance.template.multiples)))
    report.rows.append(bounds_row(run, spec, problem))
    solution = _Solution(run, claims, problem, sketched=instance.form.kind == "sketch")
    report.rows += solution.rows()
    report.rows.append(_bound_row(run, claims, problem))
    if run.status is Status.INFEASIBLE:
        report.rows.append(attempted("incompatible constraints", None, solution.incompatible))
    if run.status is Status.UNBOUNDED:
        report.rows.append(attempted("ray", None, solution.ray))
    report.rows += _rounding_rows(run, claims, instance.template, problem.sense_sign)
    if problem.has_constraints and "owed" in claims.last:
        report.rows.append(replace(_OWED, claimed=claims.last["owed"]))
    report.rows.append(_LOGGED if len(run.trace.get("k", ())) > 1 else _TIMES)
    return report


RAY = 1e-9
"""Part of its length by which a ray may leave the cone, or change what a constraint is about."""

_OWED = CheckedClaim(
    "owed to infeasibility",
    Verdict.UNCHECKED,
    note="an estimate, from duals of the last point, which were not saved",
    beyond=True,
)
_TIMES = CheckedClaim(
    "steps and times",
    Verdict.UNCHECKED,
    note="what was done for how long leaves nothing to compute it from",
    beyond=True,
)
_LOGGED = CheckedClaim(
    "earlier rows, steps and times",
    Verdict.UNCHECKED,
    note="iterates and duals of earlier rows were not saved, nor is there anything to compute steps and times from",
    beyond=True,
)


def _leaves(term: Term, image: np.ndarray) -> float:
    """By how much a ray with this image leaves a set of bounds on entries: it may rise where there is no upper one."""
    if term.penalty.intervals is None:
        raise Unchecked(f"{term.name} is no set of bounds")
    lower, upper = (side.reshape(-1) for side in term.penalty.intervals)
    below = np.where(np.isfinite(lower), -image, 0.0)
    above = np.where(np.isfinite(upper), image, 0.0)
    return max(0.0, float(below.max(initial=0.0)), float(above.max(initial=0.0)))


def _unfinished(run: Run) -> str:
    if run.status is Status.RUNNING:
        ending = "The run goes on" if run.alive else "The process of the run was killed"
    else:
        ending = f"The run ended without a result ({run.status.value}: {run.state.get('message') or 'no message'})"
    return f"{ending}: nothing but the trace was saved, and only its arithmetic is checked."


def compared(quantity: str, claimed: float | None, recomputed: float, tolerance: float, note: str = "") -> CheckedClaim:
    """A row for a number that must agree within the tolerance."""
    recomputed, tolerance = float(recomputed), float(tolerance)
    if claimed is None:
        return CheckedClaim(quantity, Verdict.FAILS, None, recomputed, tolerance, note or "no number is claimed")
    if tolerance == np.inf and np.isfinite(recomputed):
        note = "what rounding may have done has no limit"
        return CheckedClaim(quantity, Verdict.UNCHECKED, claimed, recomputed, tolerance, note)
    agrees = np.isfinite(recomputed) and abs(recomputed - claimed) <= tolerance
    return CheckedClaim(quantity, Verdict.HOLDS if agrees else Verdict.FAILS, claimed, recomputed, tolerance, note)


@dataclass(frozen=True)
class _Image:
    """A x, and how far the image that the solve kept may be from it."""

    value: np.ndarray
    drift: float


class _Solution:
    """The rows about the saved point: membership, objective, infeasibilities, gap. sketched: it was recovered from a
    sketch, so that it lies in the domain, whatever it misses of the x of the run, whose images were never refreshed.
    """

    def __init__(self, run: Run, claims: Claims, problem: CompositeProblem, sketched: bool = False):
        self.run, self.claims, self.problem, self.sketched = run, claims, problem, sketched
        self.sign = problem.sense_sign
        refresh = np.inf if sketched else run.resolved.get("solver", {}).get("refresh") or np.inf
        self.steps = min(claims.number("iterations") or 0.0, float(refresh)) + 1.0

    def rows(self) -> list[CheckedClaim]:
        claims = self.claims
        try:
            point = read_point(self.run.solution, self.problem.domain, self.run.form.get("kind"))
        except Unfit as fault:
            return [CheckedClaim("solution", Verdict.FAILS, note=str(fault))]
        except Unchecked as reason:
            names = ["domain", "objective", *(f"infeasibility of {name}" for name in claims.infeasibilities)]
            return [CheckedClaim(name, Verdict.UNCHECKED, note=str(reason)) for name in names]
        rows = [attempted("domain", 0.0, lambda: self._membership(point))]
        claimed = claims.number("objective")
        rows.append(attempted("objective", claimed, lambda: self._objective(point, "objective", claimed)))
        if not all(term.penalty.is_set for term in self.problem.terms):
            rows.append(attempted("penalties", self.claims.last.get("penalty"), lambda: self._penalty_row(point)))
        for term in (term for term in self.problem.terms if term.penalty.is_set):
            name, missed = f"infeasibility of {term.name}", claims.infeasibilities.get(term.name)

            def work(term: Term = term, name: str = name, missed: float | None = missed) -> CheckedClaim:
                return self._infeasibility(term, point, name, missed)

            rows.append(attempted(name, missed, work))
        rows += self._combined(rows)
        if point.truncation > 0.0 or "truncation" in claims.metrics:
            rows += self._saved(point)
        return rows

    def _saved(self, point: SavedPoint) -> list[CheckedClaim]:
        """What is claimed of the saved point itself, which has to hold without any allowance for a truncation."""
        metrics, itself = self.claims.metrics, replace(point, truncation=0.0)
        name = "saved objective"
        claimed = plain(metrics.get("saved_objective"))
        rows = [attempted(name, claimed, lambda: self._objective(itself, name, claimed))]
        parts = []
        for term in (term for term in self.problem.terms if term.penalty.is_set):
            name, key = f"saved infeasibility of {term.name}", f"saved_infeasibility_{term.name}"
            claimed = plain(metrics.get(key if key in metrics else "saved_infeasibility"))

            def work(term: Term = term, name: str = name, claimed: float | None = claimed) -> CheckedClaim:
                return self._infeasibility(term, itself, name, claimed)

            parts.append(attempted(name, claimed, work))
        rows += parts
        if len(parts) > 1 and all(row.recomputed is not None for row in parts):
            largest, tolerance = max(row.recomputed for row in parts), max(row.tolerance for row in parts)
            rows.append(compared("saved infeasibility", plain(metrics.get("saved_infeasibility")), largest, tolerance))
        same = plain(metrics.get("truncation")) == point.truncation
        note = "what the saved x misses at most, in the nuclear norm; the rows of the solution allow for as much"
        rows.append(
            CheckedClaim("truncation", Verdict.UNCHECKED if same else Verdict.FAILS, point.truncation, note=note)
        )
        return rows

    def incompatible(self) -> CheckedClaim:
        """The claimed bound against the largest value of f and the finite penalties on the domain, itself bounded by

        f(x) <= f(x_0) + <grad f(x_0), x - x_0> + L_f D^2 / 2 and g(A x) <= g(A x_0) + L_g |A| D.
        """
        problem, domain = self.problem, self.problem.domain
        try:
            point = read_point(self.run.solution, domain, self.run.form.get("kind"))
        except Unfit as fault:
            raise Unchecked(str(fault)) from None
        largest, error = ZERO, 0.0
        if problem.loss is not None and not problem.loss.is_smooth:
            raise Unchecked("the objective has no largest value on the domain")
        if problem.loss is not None:
            matrix = matrix_of(problem.loss.map)
            view = view_loss(problem.loss, point.image(matrix).reshape(problem.loss.map.out_shape))
            smallest = minimum_of(domain, [(matrix, -view.gradient)])
            bend = Total(0.5 * problem.loss.lipschitz_bound * diameter(domain) ** 2, 0.0)
            largest, error = view.constant + -smallest.value + bend, smallest.error
        for term in problem.terms:
            if not term.penalty.is_set:
                matrix = matrix_of(term.map)
                value = penalty_value(term.penalty, point.image(matrix).reshape(term.map.out_shape))
                rise = term.penalty.lipschitz * operator_bound(matrix) * diameter(domain)
                largest = largest + value + Total(rise, 0.0)
        bound = self.claims.number("bound")
        error += 16 * EPS * float(largest.size)
        exact = problem.loss is None or problem.loss.is_linear
        exact = exact and all(term.penalty.is_set for term in problem.terms)
        if bound is not None and self.sign * bound > float(largest.value) + error:
            verdict, note = Verdict.HOLDS, "the bound lies beyond every value on the domain"
        elif exact:
            verdict, note = Verdict.FAILS, "the bound proves nothing of the kind"
        else:
            verdict, note = Verdict.UNCHECKED, "what is known of the largest value on the domain does not decide"
        return CheckedClaim("incompatible constraints", verdict, bound, self.sign * float(largest.value), error, note)

    def ray(self) -> CheckedClaim:
        """That the saved D lies in the cone, that no constraint changes along it, and that the objective falls."""
        problem, along = self.problem, self.run.solution.get("ray")
        if along is not None and along.ndim == 2:
            along = in_real_form(along, problem.domain)
        if along is None or along.shape != problem.domain.shape or not np.isfinite(along).all():
            return CheckedClaim("ray", Verdict.FAILS, note="it is not there, or no array of the shape of x")
        size = float(norm(extended(along)))
        # Half as large as the radius that was assumed, of which a ray has none.
        inside = 0.5 * problem.domain.radius
        worst = violation(problem.domain, SavedPoint(problem.domain.shape, inside * along, None)) / (inside * size)
        for term in problem.terms:
            matrix = matrix_of(term.map)
            image = product(matrix, extended(along).reshape(-1)).astype(float)
            reach = operator_bound(matrix) * size
            worst = max(worst, _leaves(term, image) / reach)
        falls = 0.0
        if problem.loss is not None and problem.loss.cost is not None:
            falls = float(np.vdot(problem.loss.cost.dense(), along))
        holds = worst <= RAY and falls < 0.0
        note = f"along it the objective falls by {-falls:.3g}, and constraints and cone are missed by {worst:.1e}"
        return CheckedClaim("ray", Verdict.HOLDS if holds else Verdict.FAILS, None, falls, RAY, note)

    def _membership(self, point: SavedPoint) -> CheckedClaim:
        domain = self.problem.domain
        outside = violation(domain, point)
        tolerance = RELATIVE * domain.radius + (0.0 if self.sketched else point.truncation)
        return compared("domain", 0.0, outside, tolerance, "the largest violation of what defines it")

    def _image(self, matrix: sp.csr_array | Congruent, shape: tuple[int, ...], point: SavedPoint) -> _Image:
        value = point.image(matrix).reshape(shape)
        drift = operator_bound(matrix) * (4 * EPS * self.steps * self.problem.domain.radius + point.truncation)
        return _Image(value, drift)

    def _objective(self, point: SavedPoint, name: str, claimed: float | None) -> CheckedClaim:
        value, drift = self._penalties(point)
        loss = self.problem.loss
        if loss is not None:
            image = self._image(matrix_of(loss.map), loss.map.out_shape, point)
            view = view_loss(loss, image.value)
            value = view.value + value
            # |h(z + d) - h(z)| <= |h'(z)| |d| + the rest, which is quadratic; h' is Lipschitz with L_f / |M|^2.
            curvature = view.curvature
            if curvature is None:
                curvature = loss.lipschitz / loss.map.norm**2 if loss.map.norm > 0.0 else 0.0
            drift += float(norm(view.gradient)) * image.drift + 0.5 * curvature * image.drift * image.drift
        tolerance = RELATIVE * float(value.size) + drift
        return compared(name, claimed, self.sign * value.value, tolerance)

    def _penalties(self, point: SavedPoint) -> tuple[Total, float]:
        """The sum of the finite g_i, and how far the images that the solve kept may have moved it."""
        value, drift = ZERO, 0.0
        for term in self.problem.terms:
            if not term.penalty.is_set:
                image = self._image(matrix_of(term.map), term.map.out_shape, point)
                value = value + penalty_value(term.penalty, image.value)
                drift += term.penalty.lipschitz * image.drift
        return value, drift

    def _penalty_row(self, point: SavedPoint) -> CheckedClaim:
        """Beside the objective, which has them in it."""
        value, drift = self._penalties(point)
        tolerance = RELATIVE * float(value.size) + drift
        return compared("penalties", self.claims.last.get("penalty"), self.sign * value.value, tolerance)

    def _infeasibility(self, term: Term, point: SavedPoint, name: str, claimed: float | None) -> CheckedClaim:
        image = self._image(matrix_of(term.map), term.map.out_shape, point)
        target = nearest(term.penalty, image.value)
        distance, size = norm(image.value - target), norm(target)
        domain = self.problem.domain
        length = domain.radius if domain.spectral else float(np.linalg.norm(point.written_out()))
        scale = self.problem.image_scale(term, float(size), length)
        relative = float(distance) / scale
        # Both the distance and |p| move by at most the drift.
        error = RELATIVE * float(norm(image.value) + size + term.penalty.shift) + image.drift
        return compared(name, claimed, relative, error * (1.0 + relative) / scale)

    def _combined(self, rows: list[CheckedClaim]) -> list[CheckedClaim]:
        """The largest infeasibility and the gap, of the numbers just recomputed."""
        claims, out = self.claims, []
        parts = [row for row in rows if row.quantity.startswith("infeasibility of ")]
        found = [(row.recomputed, row.tolerance) for row in parts]
        known = [(value, tolerance) for value, tolerance in found if value is not None and tolerance is not None]
        if parts and len(known) == len(parts):
            largest, tolerance = (max(column) for column in zip(*known, strict=True))
            out.append(compared("infeasibility", claims.number("infeasibility"), largest, tolerance))
        objective = next(row for row in rows if row.quantity == "objective")
        bound = claims.number("bound")
        if bound is not None and objective.recomputed is not None and objective.tolerance is not None:
            scale = max(self.problem.unit, abs(objective.recomputed), abs(bound))
            gap = float(relative_gap(objective.recomputed, bound, self.problem.unit))
            tolerance = 2.0 * (objective.tolerance + 16 * EPS * scale) / scale * (1.0 + gap)
            out.append(compared("gap", claims.number("gap"), gap, tolerance, "with the bound as claimed"))
        return out


def _bound_row(run: Run, claims: Claims, problem: CompositeProblem) -> CheckedClaim:
    """The claimed bound against that of the saved duals."""
    kind, claimed = (claims.summary or {}).get("bound_is"), claims.number("bound")
    quantity = ("upper bound" if problem.sense == "maximise" else "lower bound") + f" ({kind})"
    if kind == "none" or claimed is None:
        missing = "the run claims none" if kind == "none" else "it is not a number"
        return CheckedClaim(quantity, Verdict.UNCHECKED if kind == "none" else Verdict.FAILS, note=missing)

    def work() -> CheckedClaim:
        sign = problem.sense_sign
        found = recompute_bound(problem, run.duals, run.loss_image, sign * claimed)
        recomputed, tolerance = sign * float(found.value), float(found.error)
        proven = sign * claimed <= float(found.value) + tolerance and not found.faults
        if proven:
            verdict = Verdict.HOLDS if found.proof else Verdict.CONSISTENT
        else:
            verdict = Verdict.UNCONFIRMED if kind == "estimated" and not found.faults else Verdict.FAILS
        notes = list(found.faults)
        if not proven and kind == "estimated" and not found.faults:
            notes.append(f"the estimate is off by {sign * claimed - float(found.value):.3g}")
        return CheckedClaim(quantity, verdict, claimed, recomputed, tolerance, "; ".join(notes or found.remarks))

    return attempted(quantity, claimed, work)


def _rounding_rows(run: Run, claims: Claims, template: Template, sign: float) -> list[CheckedClaim]:
    """Rows for the metrics of which the template says what they are; the others are named as not checked. What the
    bound and other figures exclude fails, whether there is anything to recompute a figure from or not.
    """
    said, saved, rows = {claim.metric: claim for claim in template.claims()}, Saved(run.solution, claims), []
    for name, claimed in claims.metrics.items():
        if name == "truncation" or name.startswith("saved_"):
            continue  # of the solution, and checked with it

        def work(name: str = name, claimed: float | None = plain(claimed)) -> CheckedClaim:
            if name in SLOPES:
                return compared(name, claimed, *SLOPES[name](run.trace))
            if name not in said:
                return CheckedClaim(name, Verdict.UNCHECKED, claimed, note="a figure of the template")
            figure = recomputed(said[name].says, saved)
            return compared(name, claimed, figure.value, figure.error)

        row = attempted(name, plain(claimed), work)
        against = contradiction(said[name], claims, sign) if name in said else ""
        rows.append(replace(row, verdict=Verdict.FAILS, note=against) if against else row)
    return rows
