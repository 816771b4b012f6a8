"""The rules of the house, read off the source: which way arrows point, and what stays out."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpcore

REPOSITORY = Path(__file__).resolve().parents[1]
LONGEST_FILE = 400
LONGEST_PAGE = 130

LEAVES = {"arrays", "errors", "streams"}
FOUNDATIONS = {"privacy", "data"}
TOOLS = FOUNDATIONS | {"mechanisms", "spectra"}
ALGORITHMS = {"pca", "cca", "statistics", "classification"}
# Room: the rooms it may import from. Distributed CCA is built on distributed PCA's rounds.
ARROWS = {
    "arrays": set(),
    "errors": set(),
    "streams": set(),
    "privacy": set(),
    "data": set(),
    "mechanisms": FOUNDATIONS,
    "spectra": FOUNDATIONS,
    "pca": TOOLS,
    "cca": TOOLS | {"pca"},
    "statistics": TOOLS,
    "classification": TOOLS | {"pca"},
    "experiments": TOOLS | ALGORITHMS,
    "figures": set(),
    "command_line": TOOLS | ALGORITHMS | {"experiments", "figures"},
    "__main__": {"command_line"},
}
HEAVY = ("streamlit", "sklearn", "scipy.stats", "plotly", "dp_accounting", "pandas")
LIGHT_ROOMS = (
    "dpcore",
    "dpcore.privacy",
    "dpcore.data",
    "dpcore.mechanisms",
    "dpcore.spectra",
    "dpcore.pca",
    "dpcore.experiments.pca.runs",
    "dpcore.command_line",
)


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.py"))]
    assert found
    return found


CORE = sources("dpcore")
PAGES = [*sources("pages"), REPOSITORY / "app.py"]


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


each_core = pytest.mark.parametrize("path", CORE, ids=name_of)
each_page = pytest.mark.parametrize("path", PAGES, ids=name_of)
each_file = pytest.mark.parametrize("path", [*CORE, *PAGES], ids=name_of)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports_of(path: Path) -> Iterator[str]:
    """Full names of what a file imports, inside functions too."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def dotted(node: ast.expr) -> str:
    """An expression of names and dots as written; empty for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@each_core
def test_arrows_point_one_way(path):
    room = path.relative_to(REPOSITORY / "dpcore").with_suffix("").parts[0]
    if room == "__init__":
        return
    audits = "audit" in name_of(path)
    for name in imports_of(path):
        if not within(name, "dpcore"):
            continue
        other = name.split(".")[1]
        # An audit attacks mechanisms, which lie above what it belongs to.
        allowed = ARROWS[room] | LEAVES | {room} | ({"mechanisms"} if audits else set())
        assert other in allowed, f"{room} imports {name}"


@each_file
def test_flawed_mechanisms_are_for_the_audit_alone(path):
    if "flawed" in path.parts or "flawed" in path.stem or "audit" in name_of(path):
        return
    assert not [name for name in imports_of(path) if "flawed" in name.split(".")]


@each_core
def test_the_core_knows_no_browser(path):
    assert not [name for name in imports_of(path) if within(name, "streamlit", "pages", "app")]


@pytest.mark.parametrize("path", sources("dpcore/figures"), ids=name_of)
def test_figures_take_tables_and_know_no_algorithm(path):
    assert not [name for name in imports_of(path) if within(name, "scipy", "sklearn")]


@each_page
def test_pages_hold_no_algorithm(path):
    assert not [
        name for name in imports_of(path) if within(name, "scipy", "sklearn", "numpy.linalg")
    ]
    linear_algebra = [
        node
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in ("linalg", "standard_normal")
    ]
    assert not linear_algebra


@each_page
def test_caches_have_one_home_and_no_visitor_can_empty_them(path):
    """Streamlit's own caches are emptied for everybody by a message that any browser may send."""
    names = [getattr(n, "attr", getattr(n, "id", None)) for n in ast.walk(tree_of(path))]
    assert "cache_data" not in names and "cache_resource" not in names
    assert "OnceCache" not in names or name_of(path).startswith("pages/server/")


@each_file
def test_files_are_short(path):
    section = path.relative_to(REPOSITORY).parts
    is_page = path.stem in ("page", "start", "tutorials") and section[0] == "pages"
    n_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= (LONGEST_PAGE if is_page else LONGEST_FILE)


@each_file
def test_randomness_is_passed_and_never_global(path):
    tree = tree_of(path)
    for node in ast.walk(tree):
        name = dotted(node) if isinstance(node, ast.Attribute) else ""
        if name.startswith(("np.random.", "numpy.random.")):
            allowed = ("Generator", "RandomState", "SeedSequence", "default_rng", "PCG64")
            assert name.split(".")[2] in allowed, f"{name} on line {node.lineno}"
    seedless = [
        call.lineno
        for call in calls_outside_of(tree, taking="random_state")
        if dotted(call.func).endswith("RandomState")
        or (dotted(call.func).endswith("default_rng") and not call.args)
    ]
    assert not seedless
    assert "random" not in set(imports_of(path))


def calls_outside_of(tree: ast.AST, *, taking: str) -> Iterator[ast.Call]:
    """Calls, but for those in functions with such a parameter: None there asks for entropy."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and taking in [
            argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)
        ]:
            continue
        if isinstance(node, ast.Call):
            yield node
        yield from calls_outside_of(node, taking=taking)


@each_file
def test_nothing_is_swallowed_and_nothing_asserted_to_users(path):
    for node in ast.walk(tree_of(path)):
        assert not isinstance(node, ast.Assert), f"assert on line {node.lineno}"
        if isinstance(node, ast.ExceptHandler) and not hands_on(node):
            caught = dotted(node.type) if node.type is not None else "everything"
            assert caught not in ("everything", "Exception", "BaseException"), node.lineno


def hands_on(handler: ast.ExceptHandler) -> bool:
    """Whether it raises again, or gives what it caught to somebody else: another thread, say."""
    return isinstance(handler.body[-1], ast.Raise) or any(
        isinstance(node, ast.Name) and node.id == handler.name
        for statement in handler.body
        for node in ast.walk(statement)
    )


@each_file
def test_no_grab_bags_and_no_machine_paths(path):
    assert path.stem not in ("utils", "helpers", "common", "misc", "tools")
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not node.value.startswith(("/tmp", "/work", "/root", "/home"))


@each_core
def test_every_module_says_what_it_is(path):
    assert not path.read_text().strip() or ast.get_docstring(tree_of(path))


def rooms() -> list[str]:
    modules = pkgutil.iter_modules(dpcore.__path__, "dpcore.")
    return [m.name for m in modules if m.ispkg or m.name.split(".")[1] in ALGORITHMS]


@pytest.mark.parametrize("room", rooms())
def test_what_a_room_offers_exists_and_has_a_docstring(room):
    module = importlib.import_module(room)
    offered = getattr(module, "__all__", [])
    assert len(set(offered)) == len(offered)
    for name in offered:
        thing = getattr(module, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            # A dataclass without a docstring is given its own signature for one.
            assert not (thing.__doc__ or f"{name}(").startswith(f"{name}("), f"{room}.{name}"
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018


def test_importing_the_core_imports_nothing_heavy():
    """Import stays quick: half of what heavy packages bring is never used on the way."""
    program = (
        f"import sys, {', '.join(LIGHT_ROOMS)}\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_top_level_holds_what_it_should():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    top = {name.split("/")[0] for name in listed.stdout.splitlines()}
    expected = {"app.py", "pages", "dpcore", "assets", "tests", "requirements.txt", "README.md"}
    assert {name for name in top if not name.startswith(".")} <= expected | {
        "pyproject.toml",
        "LICENSE",
        "docs",
    }
