"""Imports point downwards only: each package of cgm_cli knows those below it, and none above or beside it."""

import ast
from pathlib import Path

import pytest

import cgm_cli

ROOT = Path(cgm_cli.__file__).parent

# From the bottom to the top. Packages on one level do not import each other, but for BESIDE.
LEVELS = (
    ("errors", "text"),
    ("spec",),
    ("numerics",),
    ("readers",),
    ("blocks",),
    ("methods",),
    ("solving",),
    ("templates",),
    ("runs", "display"),
    ("sweeps", "reports", "verify", "cvxpy", "certificates"),
    ("api", "cli", "sklearn", "__main__", "__init__"),
)
BESIDE = {
    # A report of a sweep reads its manifest.
    ("reports", "sweeps"),
    # And one of a certificate shows what it was made of.
    ("reports", "certificates"),
    # The doors: `cgm` is the command line, `from cgm_cli import solve` the Python interface.
    ("__main__", "cli"),
    ("__init__", "api"),
}
LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}


def imports(tree):
    """(line, what is imported) for every import of cgm_cli, also in functions and under TYPE_CHECKING.

    The classes that spec/registry.py names in strings are no imports: looking them up by name is what it is for.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import; state the whole name"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        # The version is what every module imports anyway: the top of the package is loaded before any of it.
        for name in found:
            if name.partition(".")[0] == "cgm_cli" and name != "cgm_cli.__version__":
                yield node.lineno, name


def package_of(name):
    """The package or module right below cgm_cli that a dotted name is in; what `cgm_cli` itself offers is in api."""
    package = name.split(".")[1] if "." in name else "__init__"
    known = (ROOT / package).is_dir() or (ROOT / f"{package}.py").is_file()
    return package if known else "api"


def fault(importer, imported):
    """What is wrong with an arrow between two packages, or None."""
    for package in (importer, imported):
        if package not in LEVEL:
            return f"`{package}` has no level: give it one in LEVELS of tests/test_layers.py"
    if importer == imported or LEVEL[imported] < LEVEL[importer] or (importer, imported) in BESIDE:
        return None
    where = "beside" if LEVEL[imported] == LEVEL[importer] else "above"
    below = [package for packages in LEVELS[: LEVEL[importer]] for package in packages]
    beside = [other for package, other in BESIDE if package == importer]
    return f"`{imported}` is {where} `{importer}`, which may import {', '.join(below + beside) or 'nothing of cgm_cli'}"


def arrows_up(path, name):
    """file:line: what it imports: the rule that it breaks. name: of the file below cgm_cli."""
    importer = Path(name).parts[0].removesuffix(".py")
    for line, imported in imports(ast.parse(path.read_text(encoding="utf-8"))):
        if message := fault(importer, package_of(imported)):
            yield f"cgm_cli/{name}:{line} imports {imported}: {message}"


def test_imports_point_downwards():
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        found += arrows_up(path, path.relative_to(ROOT).as_posix())
    assert not found, "\n".join(["imports that do not point downwards:", *found])


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "blocks/box.py",
            "import numpy\nfrom cgm_cli.methods.loop import Loop",
            "box.py:2 imports cgm_cli.methods.loop",
        ),
        (
            "spec/load.py",
            "def f():\n    from cgm_cli import readers",
            "`spec`, which may import errors, text",
        ),
        ("runs/log.py", "if TYPE_CHECKING:\n    import cgm_cli.display.live", "`display` is beside `runs`"),
        ("reports/page.py", "from cgm_cli import solve", "imports cgm_cli.solve: `api` is above `reports`"),
        ("text.py", "from cgm_cli.errors import told", "`text`, which may import nothing of cgm_cli"),
        ("extras/new.py", "from cgm_cli import text", "`extras` has no level"),
    ],
)
def test_an_arrow_that_goes_up_is_told(tmp_path, name, text, told):
    path = tmp_path / "module.py"
    path.write_text(text)
    (found,) = arrows_up(path, name)
    assert told in found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cli/solve.py", "from cgm_cli.reports import html\nfrom cgm_cli import __version__, errors"),
        ("reports/collect.py", "from cgm_cli.sweeps.manifest import Manifest\nfrom cgm_cli.reports import cells"),
        ("numerics/eigen.py", "from cgm_cli.errors import NumericalError\nimport scipy"),
    ],
)
def test_an_arrow_that_goes_down_is_not(tmp_path, name, text):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert not [*arrows_up(path, name)]


def blocks_that_are_looked_at(path):
    """Lines where `isinstance` is asked of a class of cgm_cli.blocks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cgm_cli.blocks")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"):
            named = {name.id for part in node.args[1:] for name in ast.walk(part) if isinstance(name, ast.Name)}
            if named & blocks:
                yield node.lineno


def test_the_loop_asks_blocks_what_they_can_and_not_what_they_are():
    """A new block says what it can, and is then served as well as one that was there before."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for package in ("methods", "solving")
        for path in sorted((ROOT / package).rglob("*.py"))
        for line in blocks_that_are_looked_at(path)
    ]
    assert found == []


def test_a_look_at_a_class_is_found(tmp_path):
    path = tmp_path / "example.py"
    path.write_text(
        "from cgm_cli.blocks.atoms import DenseAtom\n\ndef f(x):\n    return isinstance(x, int | DenseAtom)\n"
    )
    assert list(blocks_that_are_looked_at(path)) == [4]
