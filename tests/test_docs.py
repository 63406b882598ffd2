"""README and docs say what is true: generated pages are up to date, links lead somewhere, specs are valid."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from cgm_cli.api import solve
from cgm_cli.blocks.domains.certificates import LIMITS
from cgm_cli.methods.status import Status
from cgm_cli.numerics.eigen import DENSE_BELOW
from cgm_cli.spec import catalogue, registry
from cgm_cli.spec.load import load, loads
from cgm_cli.sweeps.load import load_sweep
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
README = TEXTS[0].read_text(encoding="utf-8")
COMMANDS = (DOCS / "commands.md").read_text(encoding="utf-8")
LISTS = (DOCS / "templates-and-specs.md").read_text(encoding="utf-8")
SPECS = re.findall(r"^```yaml\n(.*?)^```$", COMMANDS, re.MULTILINE | re.DOTALL)


def generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["spec.md", "blocks.md"])
def test_generated_pages_are_up_to_date(name):
    page = generator().PAGES[name]()
    assert (DOCS / name).read_text(encoding="utf-8") == page, "run `python docs/generate.py`"


def test_every_entry_of_the_catalogue_has_a_sentence():
    entries = [entry for family in catalogue.FAMILIES if family != "methods" for entry in catalogue.entries(family)]
    assert [entry.name for entry in entries if not entry.description.endswith(".")] == []


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_tests_that_the_paper_is_held_by_are_there():
    text = (DOCS / "paper.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


def test_every_spec_in_configs_is_listed_and_valid():
    for path in sorted((ROOT / "configs").rglob("*.yaml")):
        (load_sweep if path.parent.name == "sweeps" else load)(path)
        name = path.relative_to(ROOT).as_posix()
        assert f"(../{name})" in LISTS, f"{name} has no row in the table of specs of docs/templates-and-specs.md"


def test_every_template_is_listed():
    for entry in catalogue.entries("templates"):
        assert f"| `{entry.name}` |" in LISTS, f"{entry.name} has no row in docs/templates-and-specs.md"


def test_every_template_is_advised():
    page = (DOCS / "which.md").read_text(encoding="utf-8")
    for entry in catalogue.entries("templates"):
        assert f"`{entry.name}`" in page, f"docs/which.md does not say when to take {entry.name}"


def test_every_domain_says_how_its_minimum_is_certified():
    text = (DOCS / "bounds.md").read_text(encoding="utf-8")
    table = text.split("What certified means for each domain:")[1].split("\n\n")[1]
    told = {name for row in table.splitlines()[2:] for name in row.split("|")[1].strip().split(", ")}
    assert told == set(registry.DOMAINS), "the table in docs/bounds.md has other domains than the registry"


def test_every_policy_has_a_row():
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    for family in ("smoothing", "step", "correction", "duals"):
        table = text.split(f"| `solver.{family}` |")[1].split("\n\n")[0]
        told = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
        assert set(told) == set(registry.FAMILIES[family]), (
            f"the table of solver.{family} in docs/methods.md has other rows than the registry"
        )


@pytest.mark.parametrize("text", SPECS, ids=lambda text: text.partition("\n")[0].removeprefix("name: ").split()[0])
def test_specs_of_the_commands(text):
    spec = loads(text)
    if not spec.source:
        build(spec)


def test_the_hand_composed_spec_converges(tmp_path):
    (text,) = [text for text in SPECS if "portfolio" in text]
    (tmp_path / "portfolio.yaml").write_text(text, encoding="utf-8")
    assert solve(tmp_path / "portfolio.yaml", out=tmp_path / "run").status is Status.CONVERGED


def test_the_portfolio_is_the_same_everywhere():
    (text,) = [text for text in SPECS if "portfolio" in text]
    assert text in README and text in (DOCS / "python.md").read_text(encoding="utf-8")


def test_what_python_prints(tmp_path, monkeypatch, capsys):
    (text,) = [text for text in SPECS if "portfolio" in text]
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    file, mapping, _ = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "portfolio.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(file, "python.md", "exec"), {})
    (shown,) = re.findall(r"# (<converged: .*?), gap", file)
    assert re.match(re.escape(shown).replace(r"\.\.\.", r"\d*"), capsys.readouterr().out)
    exec(compile(mapping, "python.md", "exec"), {})
    assert capsys.readouterr().out.startswith("converged ")


def test_the_limits_that_the_texts_name():
    text = (DOCS / "bounds.md").read_text(encoding="utf-8")
    assert f"n = {LIMITS.dense}" in text and f"order {DENSE_BELOW} and below" in text
    assert f"order above {LIMITS.dense}" in (DOCS / "reading.md").read_text(encoding="utf-8")


def test_the_figures_in_the_readme_are_those_of_the_picture():
    """Rounded as the text has them: the bound down, the share up, the values to the nearest."""
    picture = (DOCS / "table.svg").read_text(encoding="utf-8").replace("&#160;", " ")
    picture = re.sub(r"<[^>]+>", "", picture).replace("&gt;", ">")

    def shown(label: str) -> float:
        (figure,) = re.findall(rf"│{label} *([-+.\de]+)", picture)
        return float(figure)

    infeasible, bound, half, rounded, peer, percent = map(
        float,
        re.search(
            r"misses X >= 0 by (\S+), .* below (\S+) / 2 = (\d+\.\d+)\. "
            r".* reach (\S+) and (\S+), .* at most (\S+) % above",
            README,
            re.DOTALL,
        ).groups(),
    )
    assert infeasible == shown("infeasibility of nonnegative")
    assert 0.0 <= shown("lower bound") - bound < 0.01 and 0.0 <= shown("lower bound") / 2 - half < 0.01
    assert abs(rounded - shown("kmeans value")) <= 0.005 and abs(peer - shown("kmeanspp value")) <= 0.005
    assert abs(percent - shown("certified percent")) <= 0.05


def test_commands_in_the_readme():
    """`.ci/run` takes the test command from here: one line below its mark."""
    ends = {
        "install": ".venv/bin/cgm solve configs/digits-kmeans.yaml",
        "test": "-m pytest -n auto --dist loadfile",
    }
    for mark, end in ends.items():
        found = re.findall(rf"^<!-- {mark} command -->\n```sh\n(.*)\n```$", README, re.MULTILINE)
        assert len(found) == 1
        assert found[0].startswith("python -m venv .venv && .venv/bin/pip install ")
        assert found[0].endswith(end)
