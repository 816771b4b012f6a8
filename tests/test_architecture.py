"""Rules of the architecture, checked on the source: directions of imports, and excluded names.

A rule goes over all files at once and names every breach by file and line.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

LEAVES = {"arrays", "cluster", "errors", "params", "streams"}
FOUNDATIONS = {"privacy", "data"}
TOOLS = FOUNDATIONS | {"mechanisms", "spectra"}
ALGORITHMS = {"pca", "cca", "statistics", "classification"}
# Package: the packages it may import from. Distributed CCA is built on distributed PCA's rounds,
# and
# a release is assessed as PCA's are.
ARROWS: dict[str, set[str]] = {
    "__init__": TOOLS | ALGORITHMS | {"release"},  # for type checkers
    "arrays": {"errors"},
    "cluster": {"errors"},
    "errors": set(),
    "params": {"errors"},
    "streams": set(),
    "privacy": set(),
    "data": set(),
    "mechanisms": FOUNDATIONS,
    "spectra": FOUNDATIONS,
    "pca": TOOLS | {"statistics"},
    "cca": TOOLS | {"pca"},
    "statistics": TOOLS,
    "classification": TOOLS | {"pca"},
    "release": TOOLS | {"pca"},
    # Guards release as one does on one's own, and messages are those of distributed PCA and CCA.
    "federated": TOOLS | {"release", "pca", "cca"},
    "experiments": TOOLS | ALGORITHMS,
    "papers": TOOLS | ALGORITHMS | {"experiments"},
    "audit_cases": TOOLS | ALGORITHMS | {"experiments"},
    "teaching": TOOLS | ALGORITHMS | {"experiments"},
    "figures": set(),
    "dashboard": set(),
    "command_line": TOOLS
    | ALGORITHMS
    | {
        "audit_cases",
        "dashboard",
        "experiments",
        "figures",
        "papers",
        "release",
        "federated",
        "teaching",
    },
    "__main__": {"command_line"},
}
# Separate parts: only the packages that are named here import them.
WALLS: dict[str, set[str]] = {
    "papers": {"command_line"},
    "release": {"__init__", "command_line", "federated"},
    "federated": {"command_line"},
}
# The same within experiments: an engine that knows no family, families that do not know each other
# except for PCA, and above them what asks questions of all families.
FAMILIES = {"pca", "central", "cca", "classification", "statistics"}
EXPERIMENT_ARROWS: dict[str, set[str]] = {
    "__init__": set(),
    "engine": set(),
    "pca": {"engine"},
    "central": {"engine", "pca"},
    "publish": {"engine", "pca"},
    "cca": {"engine", "publish"},
    "classification": {"engine", "publish"},
    "statistics": {"engine", "publish"},
    "decide": {"engine", *FAMILIES},
}
# Files whose folder says what they are.
SAME_PART = {"ledger", "__init__", "page"}
MACHINES = ("/tmp", "/work", "/root", "/home")
GRAB_BAGS = {"utils", "util", "helpers", "common", "misc", "tools", "shared"}
REGISTER = "dpcore.pca.protocols"
HEAVY = ("streamlit", "sklearn", "scipy.stats", "plotly", "dp_accounting", "pandas")
LIGHT_ROOMS = (
    "dpcore",
    "dpcore.privacy",
    "dpcore.data",
    "dpcore.mechanisms",
    "dpcore.spectra",
    "dpcore.pca",
    "dpcore.release",
    "dpcore.experiments.pca.runs",
    "dpcore.command_line",
)

Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """File that is read and parsed once for all rules."""

    path: Path

    @cached_property
    def name(self) -> str:
        return self.path.relative_to(REPOSITORY).as_posix()

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Parts of the name, without the ending."""
        return Path(self.name).with_suffix("").parts

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=self.name)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Lines and full names of imports, also inside functions."""
        found: list[tuple[int, str]] = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                before = "." * node.level + (node.module or "")
                found += [(node.lineno, f"{before}.{alias.name}") for alias in node.names]
        return found

    @property
    def functions(self) -> Iterator[Functions]:
        return (node for node in self.nodes if isinstance(node, Functions))

    def imports_within(self, *packages: str) -> Iterator[str]:
        """Yield the places where something of these packages is imported."""
        for line, name in self.imports:
            if any(name == package or name.startswith(f"{package}.") for package in packages):
                yield f"{self.name}:{line} imports {name}"


CORE = [Source(path) for path in sorted((REPOSITORY / "dpcore").rglob("*.py"))]
PAGES = [Source(path) for path in sorted((REPOSITORY / "pages").rglob("*.py"))]
PAGES.append(Source(REPOSITORY / "app.py"))
FILES = [*CORE, *PAGES]

Breaches = Iterator[str]
RULES: list[Callable[[], Breaches]] = []


def rule(function: Callable[[], Breaches]) -> Callable[[], Breaches]:
    """Turn a generator of breaches into a rule, whose docstring gives its reason."""
    RULES.append(function)
    return function


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule):
    breaches = list(rule())
    assert not breaches, "\n".join([str(rule.__doc__), *breaches])


def dotted(node: ast.AST | None) -> str:
    """Return an expression of names and dots as text; empty for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


@rule
def arrows_point_one_way() -> Breaches:
    """Down from pages: experiments, algorithms, mechanisms and spectra, privacy and data."""
    for source in CORE:
        room = source.parts[1]
        if "tutorial_cells" in source.parts:
            continue  # programs for readers, which may import every part
        # An audit attacks mechanisms, which lie above what it belongs to.
        audited = {"mechanisms"} if "audit" in source.name else set()
        allowed = ARROWS[room] | LEAVES | {room} | audited
        for line, name in source.imports:
            # Looks and titles are the register's: figures read that table, nothing else of it.
            if source.name == "dpcore/figures/style.py" and name.startswith(REGISTER):
                continue
            if name.startswith("dpcore.") and name.split(".")[1] not in allowed:
                yield f"{source.name}:{line} imports {name}"


@rule
def families_do_not_know_each_other() -> Breaches:
    """Code that two families need belongs into the engine, or above both."""
    for source in CORE:
        if source.parts[1] != "experiments":
            continue
        allowed = EXPERIMENT_ARROWS[source.parts[2]] | {source.parts[2]}
        for line, name in source.imports:
            if name.startswith("dpcore.experiments.") and name.split(".")[2] not in allowed:
                yield f"{source.name}:{line} imports {name}"


@rule
def walls_stand() -> Breaches:
    """A release or a study is read and verified without the rest; the rest works without them."""
    for source in PAGES:
        yield from source.imports_within("dpcore.federated")
    for source in CORE:
        for line, name in source.imports:
            part = (*name.split("."), "")[1] if name.startswith("dpcore.") else ""
            if part in WALLS and source.parts[1] not in WALLS[part] | {part}:
                yield f"{source.name}:{line} imports {name}"


@rule
def imports_are_absolute() -> Breaches:
    """Absolute imports can be found by searching for the name."""
    for source in FILES:
        yield from source.imports_within("", ".")


@rule
def flawed_mechanisms_are_for_the_audit_alone() -> Breaches:
    """Flawed mechanisms exist only to be attacked by the audit."""
    for source in FILES:
        if "audit" not in source.name and "flawed" not in source.name:
            for line, name in source.imports:
                if "flawed" in name.split("."):
                    yield f"{source.name}:{line} imports {name}"


@rule
def the_core_knows_no_browser() -> Breaches:
    """The core is a library, which shells and notebooks use as well."""
    for source in CORE:
        yield from source.imports_within("streamlit", "pages", "app")


@rule
def figures_take_tables_and_know_no_algorithm() -> Breaches:
    """A figure draws rows and does not depend on how they were computed."""
    for source in CORE:
        if source.parts[1] == "figures":
            yield from source.imports_within("scipy", "sklearn")


@rule
def streamlits_internals_are_named_in_one_module() -> Breaches:
    """One module imports submodules of Streamlit."""
    for source in PAGES:
        if source.name == "pages/streamlit_private.py":
            continue
        for line, name in source.imports:
            if name.startswith("streamlit."):
                yield f"{source.name}:{line} imports {name}"


@rule
def two_pages_import_releases_of_real_tables() -> Breaches:
    """Work on the dashboard needs no knowledge of `dpcore.release`, which two pages import."""
    for source in PAGES:
        if source.name in ("pages/use/own_table.py", "pages/use/release.py"):
            continue
        for line, name in source.imports:
            if name.startswith("dpcore.release"):
                yield f"{source.name}:{line} imports {name}"


@rule
def pages_hold_no_algorithm() -> Breaches:
    """Algorithms in a page cannot be called by other code or by tests."""
    for source in PAGES:
        yield from source.imports_within("scipy", "sklearn", "numpy.linalg")
        for node in source.nodes:
            if isinstance(node, ast.Attribute) and node.attr in ("linalg", "standard_normal"):
                yield f"{source.name}:{node.lineno} uses {node.attr}"


@rule
def caches_have_one_home_and_no_visitor_can_empty_them() -> Breaches:
    """Any browser can empty Streamlit's own caches for all visitors by one message."""
    for source in PAGES:
        banned = {"cache_data", "cache_resource"}
        banned |= set() if source.name == "pages/cached.py" else {"OnceCache"}
        for node in source.nodes:
            if {getattr(node, "attr", ""), getattr(node, "id", "")} & banned:
                yield f"{source.name}:{getattr(node, 'lineno', 0)} has a cache of its own"


@rule
def there_are_no_grab_bags() -> Breaches:
    """Names such as utils do not say what a module contains."""
    for source in FILES:
        if GRAB_BAGS & set(source.parts):
            yield f"{source.name}:1 says nothing of what is inside"


@rule
def nothing_is_executed_from_text() -> Breaches:
    """A file, an address or a template that is executed lets others run programs."""
    for source in FILES:
        yield from source.imports_within("pickle", "marshal", "joblib.load", "dill", "runpy")
        for node in source.nodes:
            if isinstance(node, ast.Call) and dotted(node.func) in ("exec", "eval", "compile"):
                yield f"{source.name}:{node.lineno} calls {dotted(node.func)}"


@rule
def there_are_no_machine_paths() -> Breaches:
    """A path that is right on one machine is wrong on the next."""
    for source in FILES:
        for node in source.nodes:
            written = node.value if isinstance(node, ast.Constant) else None
            if isinstance(written, str) and written.startswith(MACHINES):
                yield f"{source.name}:{getattr(node, 'lineno', 0)} names {written}"


@rule
def randomness_is_passed_and_never_global() -> Breaches:
    """A stream is keyed by what it is for, and no two releases share one."""
    allowed = ("Generator", "RandomState", "SeedSequence", "default_rng", "PCG64")
    for source in FILES:
        for line, name in source.imports:
            if name == "random" or name.startswith("random."):
                yield f"{source.name}:{line} imports {name}"
        for node in source.nodes:
            name = dotted(node) if isinstance(node, ast.Attribute) else ""
            drawn = re.match(r"(?:np|numpy)\.random\.(\w+)", name)
            if drawn and drawn[1] not in allowed:
                yield f"{source.name}:{getattr(node, 'lineno', 0)} uses {name}"
        for call in calls_outside_of(source.tree, taking="random_state"):
            made = dotted(call.func).split(".")[-1]
            if made == "RandomState" or (made == "default_rng" and not call.args):
                yield f"{source.name}:{call.lineno} draws from no seed"


def calls_outside_of(tree: ast.AST, *, taking: str) -> Iterator[ast.Call]:
    """Yield calls, except those in functions with such a parameter, where None requests entropy."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and taking in [
            argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)
        ]:
            continue
        if isinstance(node, ast.Call):
            yield node
        yield from calls_outside_of(node, taking=taking)


@rule
def nothing_is_swallowed_and_nothing_asserted_to_users() -> Breaches:
    """An error is a sentence that names parameter, constraint and value, and reaches its reader."""
    for source in FILES:
        for node in source.nodes:
            if isinstance(node, ast.Assert):
                yield f"{source.name}:{node.lineno} asserts"
            if isinstance(node, ast.ExceptHandler) and not hands_on(node):
                caught = dotted(node.type) if node.type is not None else "everything"
                if caught in ("everything", "Exception", "BaseException"):
                    yield f"{source.name}:{node.lineno} swallows {caught}"


def hands_on(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler raises again, or passes the error on to other code."""
    return isinstance(handler.body[-1], ast.Raise) or any(
        isinstance(node, ast.Name) and node.id == handler.name
        for statement in handler.body
        for node in ast.walk(statement)
    )


@rule
def every_module_says_what_it_is() -> Breaches:
    """The first line of `help`, and of the reference."""
    for source in CORE:
        if source.text.strip() and not ast.get_docstring(source.tree):
            yield f"{source.name}:1 has no docstring"


# A file that breaks each rule.
BREAKING = {
    "arrows_point_one_way": ("dpcore/privacy/x.py", "from dpcore.pca import Draw"),
    "families_do_not_know_each_other": (
        "dpcore/experiments/cca/runs.py",
        "from dpcore.experiments.central.runs import CentralSpec",
    ),
    "walls_stand": ("dpcore/pca/x.py", "from dpcore.release import project"),
    "imports_are_absolute": ("dpcore/pca/x.py", "from . import site"),
    "flawed_mechanisms_are_for_the_audit_alone": (
        "pages/x.py",
        "from dpcore.mechanisms import flawed",
    ),
    "the_core_knows_no_browser": ("dpcore/pca/x.py", "def f():\n    import streamlit as st"),
    "figures_take_tables_and_know_no_algorithm": ("dpcore/figures/x.py", "import scipy.linalg"),
    "streamlits_internals_are_named_in_one_module": (
        "pages/x.py",
        "from streamlit.runtime.scriptrunner import get_script_run_ctx",
    ),
    "two_pages_import_releases_of_real_tables": (
        "pages/x.py",
        "from dpcore.release.project import Project",
    ),
    "pages_hold_no_algorithm": ("pages/x.py", "np.linalg.eigh(A)"),
    "caches_have_one_home_and_no_visitor_can_empty_them": (
        "pages/x.py",
        "st.cache_data.clear()",
    ),
    "there_are_no_grab_bags": ("dpcore/pca/utils.py", ""),
    "nothing_is_executed_from_text": ("dpcore/pca/x.py", "exec('f()')"),
    "there_are_no_machine_paths": ("pages/x.py", "home = '/home/me'"),
    "randomness_is_passed_and_never_global": ("dpcore/pca/x.py", "np.random.normal()"),
    "nothing_is_swallowed_and_nothing_asserted_to_users": (
        "dpcore/pca/x.py",
        "try:\n    f()\nexcept Exception:\n    g()",
    ),
    "every_module_says_what_it_is": ("dpcore/pca/x.py", "x = 1"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_finds_who_breaks_it(rule, monkeypatch):
    name, text = BREAKING[rule.__name__]
    breaking = Source(REPOSITORY / name)
    vars(breaking)["text"] = text
    floor = "PAGES" if name.startswith("pages") else "CORE"
    for files in (floor, "FILES"):
        monkeypatch.setitem(globals(), files, [*globals()[files], breaking])
    assert [breach for breach in rule() if str(Path(name).parent) in breach]


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


def test_importing_the_package_imports_no_library_at_all():
    program = "import sys, dpcore; print('numpy' in sys.modules, dpcore.__version__)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "False"
