"""The published figures as sweeps.

DPdisPCA: Imtiaz & Sarwate (2018). Rows of panels of Figure 1 vary epsilon (a-c), the people per
site (d-f), the number of sites (g-i) and R for each K (j-l); columns are synthetic, MNIST, COVTYPE.
Figure 2 varies delta. Energies are measured, as the authors did, on the whole data set and
against the exact subspace of the people drawn.

The paper's text leaves some settings unsaid; all fifteen panels are set as in the authors' own
runs, whose result arrays are public. Those of COVTYPE drew half as many people where the number
is not what varies, and 20,000 where the sites are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpcore.errors import require_one_of
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.papers.dpdispca_claims import Verdict, check_claims
from dpcore.experiments.pca.spec import RunSpec

EPSILONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
SAMPLES = (1000, 2000, 5000, 10000, 20000, 30000, 40000, 50000, 60000)
SITES = (5, 10, 20, 50, 100)
# The authors round a quarter and three quarters of K up: 13 and 38 of 50, 3 and 8 of 10.
RATIOS = (0.26, 0.5, 0.76, 1.0, 2.0, 4.0)
RATIOS_OF_TEN = (0.3, 0.5, 0.8, 1.0, 2.0, 4.0)
DELTAS = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)


@dataclass(frozen=True)
class PaperFigure:
    """One published panel: a base spec and the field that varies.

    name: As on the command line.
    field: Field of a sweep that varies.
    claim: What the paper says the panel shows.
    trend: {"grows", "falls and levels off", "grows and levels off"}. The same, as
        `dpcore.experiments.papers.dpdispca_claims` checks it.
    axis: Title of the axis.
    """

    name: str
    title: str
    base: RunSpec
    field: str
    values: tuple[Any, ...]
    claim: str
    trend: str
    axis: str

    @property
    def sweep(self) -> Sweep:
        return Sweep(self.base, ((self.field, self.values),))

    def cells(self) -> Iterator[RunSpec]:
        """The specs of the panel that can run, in the order of its axis."""
        return (cell.spec for cell in self.sweep.cells() if cell.spec is not None)

    def judge(self, rows: Sequence[Row]) -> tuple[Verdict, ...]:
        """The paper's claims about the panel, on the rows of a live run."""
        return check_claims(self, rows)

    def varied(self, **changes: Any) -> PaperFigure:
        """The panel under other settings: another seed, fewer repetitions, psd truncation."""
        return replace(self, base=replace(self.base, **changes))


_BASE = RunSpec.published(
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
    values: tuple[float, ...] | dict[int | None, tuple[float, ...]],
    claim: str,
    trend: str,
    bases: Sequence[RunSpec],
) -> Iterator[PaperFigure]:
    """Three panels; `values` may go by K."""
    for letter, base in zip(letters, bases, strict=True):
        title = f"Captured energy against {what}, {base.dataset}"
        along = values[base.components] if isinstance(values, dict) else values
        yield PaperFigure(f"fig1-{letter}", title, base, field, along, claim, trend, axis)


def _dpdispca() -> Iterator[PaperFigure]:
    bases = (_SYNTHETIC, _MNIST, _COVTYPE)
    fewer = (_SYNTHETIC, _MNIST, replace(_COVTYPE, samples=5000))
    yield from _row(
        "abc",
        "ε",
        "asked ε",
        "epsilon",
        EPSILONS,
        "Captured energy grows with ε; a lower dimension needs less ε.",
        "grows",
        fewer,
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
        "directions each site sends",
        "directions a site sends for each one wanted, R : K",
        "intermediate_ratio",
        {50: RATIOS, 10: RATIOS_OF_TEN},
        "Captured energy grows with the directions each site sends and soon levels off.",
        "grows and levels off",
        fewer,
    )
    for base, epsilon in zip(fewer, (1.0, 2.0, 0.5), strict=True):
        components = 50 if base.dataset == "synthetic" else 10
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


FIGURES: dict[str, PaperFigure] = {figure.name: figure for figure in _dpdispca()}


def paper_figure(name: str) -> PaperFigure:
    """The published panel of this name.

    Raises `ParameterError` naming the known ones.
    """
    require_one_of("figure", name, FIGURES)
    return FIGURES[name]
