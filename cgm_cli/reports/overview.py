"""One run in a screenful: what was run, where, how it ended, and the last lines of its trace and log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from cgm_cli.display.console import progress_table
from cgm_cli.display.formatting import bound_label, duration, kind_in_words, number, pretty, ratio
from cgm_cli.errors import CgmError
from cgm_cli.methods.record import MARKS, IterationRecord
from cgm_cli.readers.files import FILE, NOTHING, file_kind
from cgm_cli.reports.cells import clipped
from cgm_cli.reports.entry import flatten
from cgm_cli.reports.query import as_text
from cgm_cli.reports.rows import record_at
from cgm_cli.reports.table import print_wide
from cgm_cli.runs.load import Run
from cgm_cli.text import visible

_LOG_BYTES = 100_000
_LOOKED_THROUGH = 2 * 10**9


def print_overview(run: Run, console: Console, lines: int) -> None:
    """Print it; `lines`: how many rows of the trace, and how many lines of log.txt."""
    for heading, facts in (("What was run", what(run)), ("How it ended", ending(run)), ("Where", where(run))):
        _heading(console, heading)
        width = max(map(len, facts), default=0)
        for label, text in facts.items():
            _say(console, f"  {label:<{width}}  {visible(text)}")
    if damage := damaged(run):
        _heading(console, "What is damaged")
        _say(console, f"  {visible(damage)}", "red")
    records, fault = last_records(run, lines)
    if records:
        _heading(console, "Its last rows")
        sense = str((run.summary or {}).get("sense", "minimise"))
        if console.is_terminal:
            console.print(progress_table(sense, records, console.width))
        else:
            print_wide(progress_table(sense, records), console)
    elif fault:
        _heading(console, "Its last rows")
        _say(console, f"  {visible(fault)}", "red")
    tail = log_tail(run, lines)
    if tail:
        _heading(console, "Its log")
        for line in tail:
            _say(console, f"  {visible(line)}")


def as_object(run: Run, lines: int) -> dict[str, Any]:
    """The same for programs: state and result as status.json has them, the resolved spec, where it came from, the last
    rows of the trace by their columns, and the last lines of the log. faults: what could not be read.
    """
    faults: list[str] = []

    def readable(part: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return part()
        except CgmError as error:
            faults.append(error.message)
            return otherwise

    if damage := damaged(run):
        faults.append(damage)
    begun = run.summary is not None or file_kind(run.path / "run.h5") != NOTHING
    trace = readable(lambda: run.trace, {}) if begun else {}
    rows = len(next(iter(trace.values()), ()))
    state = {key: run.state.get(key) for key in ("message", "started", "ended", "host", "result")}
    return {
        "run": str(run.path),
        "status": run.status.value,
        "died": run.died,
        **state,
        "spec": readable(lambda: run.resolved, None),
        "provenance": readable(lambda: run.provenance, None) if begun else None,
        "rows": [{name: column[row] for name, column in trace.items()} for row in range(max(0, rows - lines), rows)],
        "log": log_tail(run, lines),
        "faults": list(dict.fromkeys(faults)),
    }


def what(run: Run) -> dict[str, str]:
    """The name, the problem, and how it was solved."""
    spec = flatten(run.resolved)
    problem = {key: value for key, value in spec.items() if key.startswith("problem.")}
    facts = {"name": as_text(spec.get("name", "")), "run": str(run.path)}
    facts["template"] = as_text(problem.pop("problem.template", "composed by hand"))
    facts |= {key.removeprefix("problem."): clipped(as_text(value), 80) for key, value in problem.items()}
    facts["method"] = as_text(spec.get("solver.method", ""))
    for key in ("beta0", "iterations", "step", "scaling"):
        if f"solver.{key}" in spec:
            facts[key] = as_text(spec[f"solver.{key}"])
    form = _form(run)
    if form:
        facts["iterate"] = f"{form['kind']}: {form.get('because')}"
    tolerances = [f"{key[5:]} {as_text(value)}" for key, value in spec.items() if key.startswith("stop.") and value]
    return facts | {"stop at": ", ".join(tolerances) or "the iterations", "seed": as_text(spec.get("seed", ""))}


def ending(run: Run) -> dict[str, str]:
    """The status in words, and the figures of the result."""
    facts = {"status": "killed" if run.died else run.status.value}
    sentence = (
        "Its process is gone; `cgm resume` goes on from its last checkpoint." if run.died else run.status.sentence
    )
    facts["that is"] = " ".join(filter(None, (sentence, str(run.state.get("message") or ""))))
    summary = run.summary
    if summary is None:
        return facts
    facts["objective"] = _figure(summary.get("objective"))
    if summary.get("bound_is") != "none":
        kind, certificate = str(summary.get("bound_is")), summary.get("certificate")
        mark = MARKS.get(kind, "")
        failure = certificate.get("failure") if isinstance(certificate, dict) else None
        kind = kind_in_words(kind, failure) if isinstance(failure, float) else kind
        label = bound_label(str(summary.get("sense")))
        facts[label] = f"{mark}{_figure(summary.get('bound'))} ({kind})"
    for name in ("gap", "infeasibility"):
        value = summary.get(name)
        facts[name] = ratio(value) if isinstance(value, int | float) else "-"
    metrics = summary.get("metrics")
    for name, value in (metrics if isinstance(metrics, dict) else {}).items():
        facts[pretty(visible(name))] = _figure(value)
    facts["iterations"] = str(summary.get("iterations"))
    seconds = summary.get("seconds")
    if isinstance(seconds, int | float):
        facts["iterations"] += f" in {duration(seconds)}"
    return facts


def where(run: Run) -> dict[str, str]:
    """Host, times, versions and the state of the code."""
    facts = {key: str(run.state[key]) for key in ("started", "ended", "host", "spec") if run.state.get(key)}
    try:
        origin: dict[str, Any] = run.provenance
    except CgmError:
        return facts
    for key in ("argv", "cpu", "cores"):
        if origin.get(key):
            value = origin[key]
            facts["command" if key == "argv" else key] = " ".join(map(str, value)) if key == "argv" else str(value)
    if isinstance(origin.get("versions"), dict):
        facts["versions"] = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    git = origin.get("git")
    if isinstance(git, dict):
        facts["code"] = str(git.get("commit")) + (" with changes" if git.get("dirty") else "")
    for name, digest in (origin.get("data") or {}).items() if isinstance(origin.get("data"), dict) else ():
        facts[f"data {visible(str(name))}"] = f"SHA-256 {digest}"
    return facts


def damaged(run: Run) -> str:
    """What is wrong with the solution and duals of a run that has a result: their bytes are read, and miss their
    checksums. Empty where nothing is, or they are too many to be read for this.
    """
    path = run.path / "run.h5"
    if run.summary is None or file_kind(path) != FILE or path.stat().st_size > _LOOKED_THROUGH:
        return ""
    try:
        _ = run.solution, run.duals, run.loss_image
    except CgmError as error:
        return error.message
    return ""


def _form(run: Run) -> dict[str, Any]:
    try:
        return run.form
    except CgmError:
        return {}


def last_records(run: Run, count: int) -> tuple[list[IterationRecord], str]:
    """The last rows of the trace, and what is wrong with it; neither of a run that has not begun to iterate."""
    try:
        trace = run.trace
    except CgmError as error:
        begun = run.summary is not None or file_kind(run.path / "run.h5") != NOTHING
        return [], error.message if begun else ""
    rows = len(next(iter(trace.values()), ()))
    return [record_at(trace, row) for row in range(max(0, rows - count), rows)], ""


def log_tail(run: Run, count: int) -> list[str]:
    """The last lines of log.txt."""
    path = run.path / "log.txt"
    if count < 1 or file_kind(path) != FILE:
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LOG_BYTES))
        lines = file.read().decode("utf-8", errors="replace").splitlines()
    return list(deque(lines, maxlen=count))


def _figure(value: Any) -> str:
    return number(float(value), 8) if isinstance(value, int | float) else as_text(value)


def _heading(console: Console, text: str) -> None:
    _say(console, text, "bold")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style), soft_wrap=True)
