"""Pieces of HTML. Every text from a run goes through `text_of` or `json_of`: names are shown, never run."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from cgm_cli.runs.files import to_json
from cgm_cli.text import visible


def text_of(value: Any) -> str:
    """Any text from a run, as HTML shows it; also right within quotes."""
    return html.escape(visible(str(value)), quote=True)


def json_of(value: Any) -> str:
    """JSON that may stand in a script element: no `<` that could end it, no line separators."""
    text = to_json(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def facts_list(facts: Mapping[str, str]) -> str:
    """Labels with their values; both are HTML already."""
    return '<dl class="facts">' + "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items()) + "</dl>"


def table(caption: str, rows: Mapping[str, str]) -> str:
    """A table of two columns, of plain text."""
    body = "".join(
        f'<tr><th scope="row">{text_of(key)}</th><td>{text_of(value)}</td></tr>' for key, value in rows.items()
    )
    head = f"<caption>{text_of(caption)}</caption>" if caption else ""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{text_of(caption or "Provenance")}">' + (
        f'<table class="facts">{head}<tbody>{body}</tbody></table></div>'
    )


def choice(name: str, legend: str, options: Sequence[tuple[str, str]]) -> str:
    """Radio buttons, the first chosen. options: value, text."""
    radios = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"{" checked" if index == 0 else ""}> {label}</label>'
        for index, (value, label) in enumerate(options)
    )
    return f"<fieldset><legend>{legend}</legend>{radios}</fieldset>"


def select(name: str, label: str, options: Sequence[Any], chosen: str | None) -> str:
    """A drop-down list. options: values, or pairs of value and text."""
    pairs = [option if isinstance(option, tuple) else (option, option) for option in options]
    inner = "".join(
        f'<option value="{text_of(value)}"{" selected" if value == chosen else ""}>{text_of(text)}</option>'
        for value, text in pairs
    )
    return f'<label for="{name}">{label}</label><select id="{name}">{inner}</select>'
