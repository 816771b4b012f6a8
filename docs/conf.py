"""Sphinx: `python -m sphinx -W -b html docs docs/_build`. Nothing is fetched from anywhere."""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpcore.params import params_in_markdown

project = "DP-PCA Lab"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_show_copyright = False
html_title = project
html_math_renderer = "mathml"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Attributes of one name in several classes, in words that are no references.
suppress_warnings = ["ref.python"]


def _inline(page: HTML5Translator, node: nodes.math) -> None:
    page.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(page: HTML5Translator, node: nodes.math_block) -> None:
    page.body.append(convert(node.astext(), display="block"))
    raise nodes.SkipNode


def _is_routing(_app: Sphinx, _what: str, name: str, *_: object) -> bool | None:
    """Whether scikit-learn adds this to every estimator, and documents it itself."""
    return True if name.endswith("_request") or name == "get_metadata_routing" else None


def _bars(*event: Any) -> None:
    """Escape bars in docstrings, which are absolute values and no substitutions."""
    text: list[str] = event[-1]
    text[:] = [line.replace("|", r"\|") for line in text]


class _Parameters(SphinxDirective):
    """The table of what a spec declares of its fields."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        table = params_in_markdown(resolve_name(self.arguments[0]))
        return self.parse_text_to_nodes(table)


def setup(app: Sphinx) -> None:
    """Formulas become MathML here, so that a reader's browser needs no script for them."""
    app.add_directive("parameters", _Parameters)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("autodoc-skip-member", _is_routing)
    app.connect("autodoc-process-docstring", _bars)
