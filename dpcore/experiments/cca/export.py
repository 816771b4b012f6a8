"""A CCA run to take away: a script or a notebook that gives the same numbers."""

from __future__ import annotations

from dpcore.experiments.cca.curves import run_cca_repetition
from dpcore.experiments.cca.spec import CcaSpec, build_cca_problem
from dpcore.experiments.cca.views import ViewSource
from dpcore.experiments.pca.export import imports_of, notebook, script, source_of

_TITLE = "Private CCA of two views"
_RUN = """\
problem = build_cca_problem(views, spec)
rows = [
    row
    for repetition in range(spec.repetitions)
    for row in run_cca_repetition(spec, problem, repetition)
]"""
_PRINT = """\
print("exact correlations", problem.exact.round(4))
for protocol in spec.protocols:
    shares = [row["correlation_share"] for row in rows if row["protocol"] == protocol]
    print(f"{protocol:<8} {fmean(shares):.4f} of it captured, mean of {len(shares)} draws")"""


def cca_script(source: ViewSource, spec: CcaSpec) -> str:
    """A Python script that runs the spec and prints what it found."""
    return script(_TITLE, [_imports(source), _source(source, spec), _RUN, _PRINT])


def cca_notebook(source: ViewSource, spec: CcaSpec) -> str:
    """The same as a Jupyter notebook."""
    return notebook(
        [
            ("markdown", f"# {_TITLE}\n\nThe same numbers as the page."),
            ("code", f"{_imports(source)}\n\n{_source(source, spec)}"),
            ("code", f"{_RUN}\n{_PRINT}"),
        ]
    )


def _imports(source: ViewSource) -> str:
    return imports_of(
        "from statistics import fmean", run_cca_repetition, CcaSpec, build_cca_problem, type(source)
    )


def _source(source: ViewSource, spec: CcaSpec) -> str:
    return f"views = {source_of(source)}.load()\nspec = {source_of(spec)}"
