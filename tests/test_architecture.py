"""Rules of the architecture that neither ruff nor import-linter can state."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCES = [
    *(REPOSITORY / "dpcore").rglob("*.py"),
    *(REPOSITORY / "pages").rglob("*.py"),
    REPOSITORY / "app.py",
]
HEAVY = (
    "streamlit", "sklearn", "scipy.stats", "scipy.optimize", "plotly", "dp_accounting", "pandas",
)  # fmt: skip
LIGHT_PACKAGES = (
    "dpcore",
    "dpcore.privacy",
    "dpcore.data",
    "dpcore.mechanisms",
    "dpcore.spectra",
    "dpcore.pca",
    "dpcore.release",
    "dpcore.experiments.pca",
    "dpcore.command_line",
)


def draws_without_a_seed(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of generators without a seed.

    A function with the parameter `random_state` may draw entropy: None requests it there.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = (*node.args.args, *node.args.kwonlyargs)
            if any(argument.arg == "random_state" for argument in arguments):
                continue
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).split(".")[-1]
            if name == "RandomState" or (name == "default_rng" and not node.args):
                yield node.lineno
        yield from draws_without_a_seed(node)


def test_every_generator_has_a_seed():
    """A stream is keyed by its purpose, and no two releases share one."""
    places = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in SOURCES
        for line in draws_without_a_seed(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not places


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("rng = np.random.default_rng()", [1]),
        ("rng = np.random.default_rng(seed)", []),
        ("def fit(random_state):\n    return default_rng()", []),
        ("def fit(seed):\n    return RandomState(seed)", [2]),
    ],
)
def test_a_generator_without_a_seed_is_detected(source, lines):
    assert list(draws_without_a_seed(ast.parse(source))) == lines


def test_importing_the_core_imports_nothing_heavy():
    """Import stays quick: half of what heavy packages bring is never used on the way."""
    program = (
        f"import sys, {', '.join(LIGHT_PACKAGES)}\n"
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


def test_the_process_that_reads_an_upload_imports_neither_data_sets_nor_scipy():
    """Both doubled the time that every upload takes to start."""
    program = (
        "import sys, dpcore.release.reading_worker\n"
        "print([name for name in ('dpcore.data', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
