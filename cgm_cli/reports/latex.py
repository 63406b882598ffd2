r"""The comparison as a table for LaTeX, to \input into a document that uses booktabs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cgm_cli.reports.cells import Column, best_rows, cell, columns, labels
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.output import MARK
from cgm_cli.text import visible

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # After the \\ of the line before, these would be read as its arguments.
    "[": "{[}",
    "*": "{*}",
} | {character: f"\\{character}" for character in "&%$#_"}


def as_latex(entries: Sequence[Entry]) -> str:
    """A tabular with a row per run; the best of each column is bold."""
    shown, names_ = columns(entries), labels(entries)
    marked = best_rows(shown, entries)
    rows = []
    for row, (entry, label) in enumerate(zip(entries, names_, strict=True)):
        cells = [_cell(entry, column, label, row in marked.get(column.key, ())) for column in shown]
        rows.append("  " + " & ".join(cells) + r" \\")
    lines = [
        f"% {MARK}; needs \\usepackage{{booktabs}}.",
        rf"\begin{{tabular}}{{{''.join('r' if column.kind == 'figure' else 'l' for column in shown)}}}",
        r"  \toprule",
        "  " + " & ".join(escaped(column.heading) for column in shown) + r" \\",
        r"  \midrule",
        *rows,
        r"  \bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_SPECIAL.get(character, character) for character in visible(text))


def _cell(entry: Entry, column: Column, label: str, best: bool) -> str:
    if column.kind != "figure":
        return escaped(cell(entry, column, label))
    if math.isnan(entry.figures.get(column.key, math.nan)):
        return "--"
    text = cell(entry, column, label)
    mark, digits = ("$\\sim$", text[1:]) if text.startswith("~") else ("", text)
    number = _number(digits)
    return mark + (f"\\textbf{{{number}}}" if best and "$" not in number else _bold(number) if best else number)


def _number(digits: str) -> str:
    mantissa, letter, exponent = digits.partition("e")
    if letter and float(digits) == 0.0:
        return "0"
    if letter:
        return rf"${mantissa} \times 10^{{{int(exponent)}}}$"
    return f"${digits}$" if digits.startswith("-") else digits


def _bold(number: str) -> str:
    return rf"$\mathbf{{{number[1:-1]}}}$"
