"""A CCA run to take away: a script or a notebook that gives the same numbers."""

from __future__ import annotations

from dataclasses import fields

from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.cca.views import ViewSource
from dpcore.experiments.pca.export import notebook, script

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
    return f"""\
from statistics import fmean

from dpcore.experiments.cca.curves import run_cca_repetition
from dpcore.experiments.cca.spec import CcaSpec, build_cca_problem
from dpcore.experiments.cca_views import {type(source).__name__}"""


def _source(source: ViewSource, spec: CcaSpec) -> str:
    return "\n".join([f"views = {_call(source)}.load()", f"spec = {_call(spec)}"])


def _call(thing: ViewSource | CcaSpec) -> str:
    """Source of the constructor call, naming what differs from the defaults."""
    default = type(thing)()
    given = [
        f"{field.name}={getattr(thing, field.name)!r}"
        for field in fields(thing)
        if getattr(thing, field.name) != getattr(default, field.name)
    ]
    return f"{type(thing).__name__}({', '.join(given)})"
