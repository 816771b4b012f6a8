"""A CCA run to take away: a script or a notebook that gives the same numbers."""

from __future__ import annotations

from dpcore.experiments.cca.runs import local_cca_problem
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.engine.sweep import Sweep, collect
from dpcore.experiments.pca.export import imports_of, notebook, script, source_of

_TITLE = "Private CCA of two views"
_RUN = "rows = collect(Sweep(spec)).rows"
_PRINT = """\
print("exact correlations", local_cca_problem(spec.problem_key()).exact.round(4))
for protocol in spec.protocols:
    shares = [row["correlation_share"] for row in rows if row["protocol"] == protocol]
    print(f"{protocol:<8} {fmean(shares):.4f} of it captured, mean of {len(shares)} draws")"""


def cca_script(spec: CcaSpec) -> str:
    """A Python script that runs the spec and prints what it found."""
    return script(_TITLE, [_imports(spec), f"spec = {source_of(spec)}", _RUN, _PRINT])


def cca_notebook(spec: CcaSpec) -> str:
    """The same as a Jupyter notebook."""
    return notebook(
        [
            ("markdown", f"# {_TITLE}\n\nThe same numbers as the page."),
            ("code", f"{_imports(spec)}\n\nspec = {source_of(spec)}"),
            ("code", f"{_RUN}\n{_PRINT}"),
        ]
    )


def _imports(spec: CcaSpec) -> str:
    return imports_of(
        "from statistics import fmean",
        local_cca_problem,
        CcaSpec,
        type(spec.source),
        Sweep,
        collect,
    )
