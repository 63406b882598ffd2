"""Pages are sessions: in an empty folder their files are written, their commands run, and they show what is there.

A block with a title is a file. A `sh` block is run, line by line, `python` as one program. A `text` block is what the
block before it has printed; `...` stands for anything. `<!-- not run: why -->` above a block leaves it out.
"""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from cgm_cli.cli import main

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [
    "tutorial.md",
    "which.md",
    "python.md",
    *(f"howto/{path.name}" for path in sorted((DOCS / "howto").glob("*.md"))),
]
BLOCK = re.compile(
    r"^(?P<skip><!-- not run: [^>]+ -->\n)?```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_a_session_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CGM_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    shown, names = "", {}
    for block in BLOCK.finditer((DOCS / name).read_text(encoding="utf-8")):
        if block["skip"]:
            continue
        if block["title"]:
            Path(block["title"]).write_text(block["text"], encoding="utf-8")
        elif block["kind"] == "sh":
            shown = "".join(run(line) for line in commands(block["text"]))
        elif block["kind"] == "python":
            shown = printed(lambda text=block["text"]: exec(compile(text, name, "exec"), names))
        elif block["kind"] == "text":
            expected = re.escape(block["text"].strip()).replace(r"\.\.\.", ".*?")
            assert re.fullmatch(expected, shown.strip(), re.DOTALL), (
                f"{block['text']}\nis not what is printed:\n{shown}"
            )


def commands(text: str) -> list[str]:
    """The lines, without comments."""
    lines = (re.sub(r"(^|\s+)#.*", "", line) for line in text.splitlines())
    return [line for line in lines if line.strip()]


def run(line: str) -> str:
    """What a command prints. `cgm` alone runs in this process, which has loaded everything."""
    words = line.split()
    if words[0] == "cgm" and not set(line) & set("|<>&;$*'\""):
        out = printed(lambda: outcome(words[1:]))
        code, _, out = out.partition("\n")
        assert code == "0", f"{line}\n{out}"
        return out
    done = subprocess.run(
        ["bash", "-c", f'cgm() {{ "{sys.executable}" -m cgm_cli "$@"; }}\n{line}'],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(DOCS.parent)},
        timeout=120,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout + done.stderr


def outcome(arguments: list[str]) -> None:
    """The exit code in the first line, then what the command prints."""
    text = io.StringIO()
    code = 0
    with redirect_stdout(text), redirect_stderr(text):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code or 0
    print(code)
    print(text.getvalue(), end="")


def printed(program) -> str:
    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text):
        program()
    return text.getvalue()


def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = json.loads((DOCS / "python.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "cells are kept without what they print"
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert names["fit"].bound_is == "certified"
