"""The documents: examples run, and every link, file and name in them exists."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = sorted((REPOSITORY / "docs").rglob("*.md"))
PAGES = [REPOSITORY / "README.md", *DOCS]
_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(?<![\w./-])(?:dpcore|pages|tests|docs|assets|\.ci|\.streamlit)/[\w./-]*\w/?")
_NAME = re.compile(r"dpcore(?:\.\w+)+")
_CREATED = re.compile(r"Create `([^`]+)`")  # by a reader of a guide (tests/test_guides.py)
# Files that are made, or stand for several.
_MADE = ("docs/_build",)


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pytest.mark.parametrize("page", [p for p in DOCS if _EXAMPLE.search(p.read_text())], ids=name_of)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in _EXAMPLE.findall(page.read_text()):
        exec(compile(example, name_of(page), "exec"), names)


@each_page
def test_links_lead_somewhere(page):
    for target in _LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@each_page
def test_files_that_are_named_exist(page):
    made = (*_MADE, *_CREATED.findall(page.read_text()))
    for code in _CODE.findall(page.read_text()):
        if "<" in code or "*" in code:
            continue
        for path in _FILE.findall(code):
            assert path.startswith(made) or (REPOSITORY / path).exists(), path


@each_page
def test_names_that_are_named_exist(page):
    created = {
        path.removesuffix(".py").replace("/", ".") for path in _CREATED.findall(page.read_text())
    }
    for name in set(_NAME.findall(page.read_text())) - created:
        assert _exists(name), name


def _exists(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("dpcore"):
            return True  # it is there, and what it is for is not installed
        return bool(module) and hasattr(importlib.import_module(module), attribute)
    return True


def test_the_site_builds_without_a_warning_and_asks_nobody(tmp_path):
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "docs", str(tmp_path)]
    done = subprocess.run(build, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(\w+:)?//", page.read_text()
        )
        assert not loaded, page


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in DOCS:
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert {page.resolve() for page in DOCS} - listed == {(REPOSITORY / "docs/index.md").resolve()}
