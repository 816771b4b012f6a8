"""The published figures as sweeps.

DPdisPCA: Imtiaz & Sarwate (2018). Rows of panels of Figure 1 vary epsilon (a-c), the people per
site (d-f), the number of sites (g-i) and R / K (j-l); columns are synthetic, MNIST, COVTYPE.
Figure 2 varies delta. Energies are measured, as the authors did, on the whole data set and
against the exact subspace of the people drawn.

The paper's text leaves some settings unsaid. Its Figures 1 (a)-(f) are set as in the authors'
published runs; where neither says more, ten sites, delta = 0.01 and R = 2 K hold throughout, and
the values along the axes of (g)-(l) and Figure 2 are our choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpcore.errors import ParameterError
from dpcore.experiments.spec import RunSpec
from dpcore.experiments.sweep import Sweep

EPSILONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
SAMPLES = (1000, 2000, 5000, 10000, 20000, 30000, 40000, 50000, 60000)
SITES = (2, 4, 5, 8, 10, 20, 40, 50, 100)
RATIOS = (0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
DELTAS = (1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1)


@dataclass(frozen=True)
class PaperFigure:
    """One published panel: a base spec and the field that varies.

    Parameters
    ----------
    name : str
        As on the command line.
    title : str
    base : RunSpec
    field : str
        Field of a sweep that varies.
    values : tuple
    claim : str
        What the paper says the panel shows.
    trend : {"grows", "falls and levels off", "grows and levels off"}
        The same, as `dpcore.experiments.claims` checks it.
    axis : str
        Title of the axis.
    """

    name: str
    title: str
    base: RunSpec
    field: str
    values: tuple
    claim: str
    trend: str
    axis: str

    @property
    def sweep(self) -> Sweep:
        return Sweep(self.base, ((self.field, self.values),))

    def cells(self) -> Iterator[RunSpec]:
        """The specs of the panel that can run, in the order of its axis."""
        return (cell.spec for cell in self.sweep.cells() if cell.spec is not None)

    def varied(self, **changes: object) -> PaperFigure:
        """The panel under other settings: another seed, fewer repetitions, psd truncation."""
        return replace(self, base=replace(self.base, **changes))


_BASE = RunSpec(
    protocols=("dpdis", "full", "local", "pooled"),
    delta=0.01,
    sites=10,
    samples=10000,
    components=50,
    intermediate_dim=100,
    calibration="published",
    noise="triangle",
    truncation="svd",
    reference="all",
    repetitions=10,
)
_SYNTHETIC = replace(_BASE, dataset="synthetic", epsilon=0.5)
_MNIST = replace(_BASE, dataset="mnist", epsilon=1.0)
_COVTYPE = replace(_BASE, dataset="covtype", epsilon=0.1, components=10, intermediate_dim=20)


def _row(
    letters: str,
    what: str,
    axis: str,
    field: str,
    values: tuple,
    claim: str,
    trend: str,
    bases: tuple[RunSpec, RunSpec, RunSpec],
) -> Iterator[PaperFigure]:
    for letter, base in zip(letters, bases, strict=True):
        title = f"Captured energy against {what}, {base.dataset}"
        yield PaperFigure(f"fig1-{letter}", title, base, field, values, claim, trend, axis)


def _dpdispca() -> Iterator[PaperFigure]:
    bases = (_SYNTHETIC, _MNIST, _COVTYPE)
    yield from _row(
        "abc",
        "ε",
        "asked ε",
        "epsilon",
        EPSILONS,
        "Captured energy grows with ε; a lower dimension needs less ε.",
        "grows",
        # The authors' run of the last panel drew half as many people.
        (_SYNTHETIC, _MNIST, replace(_COVTYPE, samples=5000)),
    )
    yield from _row(
        "def",
        "people",
        "people in all, at ten sites",
        "samples",
        SAMPLES,
        "Captured energy grows with the people per site.",
        "grows",
        tuple(replace(base, resample=True) for base in bases),
    )
    yield from _row(
        "ghi",
        "number of sites",
        "sites, with 20,000 people in all",
        "sites",
        SITES,
        "With N held, captured energy falls with the number of sites and levels off.",
        "falls and levels off",
        tuple(replace(base, samples=20000) for base in bases),
    )
    yield from _row(
        "jkl",
        "R / K",
        "R / K",
        "intermediate_ratio",
        RATIOS,
        "Captured energy grows with R / K and soon levels off.",
        "grows and levels off",
        bases,
    )
    for base, epsilon in ((_SYNTHETIC, 1.0), (_MNIST, 2.0), (_COVTYPE, 0.5)):
        components = 10 if base.dataset == "mnist" else base.components
        yield PaperFigure(
            f"fig2-{base.dataset}",
            f"Captured energy against δ, {base.dataset}",
            replace(base, epsilon=epsilon, components=components, intermediate_dim=2 * components),
            "delta",
            DELTAS,
            "Captured energy grows with δ: if δ is not too small, utility is good.",
            "grows",
            "asked δ",
        )


DPDISPCA: dict[str, PaperFigure] = {figure.name: figure for figure in _dpdispca()}
# Other papers' figures join here.
FIGURES: dict[str, PaperFigure] = {**DPDISPCA}


def paper_figure(name: str) -> PaperFigure:
    """The published panel of this name.

    Raises
    ------
    ParameterError
        Naming the known ones.
    """
    if name not in FIGURES:
        raise ParameterError("figure", f"one of {', '.join(FIGURES)}", name)
    return FIGURES[name]
