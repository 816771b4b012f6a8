"""The published figures as specs.

DPdisPCA: Imtiaz & Sarwate (2018), Figure 1: rows of panels vary epsilon (a-c), the people per
site (d-f), the number of sites (g-i) and R / K (j-l); columns are synthetic, MNIST, COVTYPE.
Energies are measured, as the authors did, on the whole data set and against the exact subspace
of the people drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpcore.errors import ParameterError
from dpcore.experiments.spec import RunSpec

EPSILONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
SAMPLES = (1000, 2000, 5000, 10000, 20000, 30000, 40000, 50000, 60000)


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
        Field of the spec that varies.
    values : tuple
    claim : str
        What the paper says the panel shows.
    published : str or None
        Name of the panel in the table of published numbers, where there is one.
    """

    name: str
    title: str
    base: RunSpec
    field: str
    values: tuple
    claim: str
    published: str | None = None

    def cells(self) -> Iterator[RunSpec]:
        """The specs of the panel, in the order of its axis."""
        for value in self.values:
            yield replace(self.base, **{self.field: value})


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
_DATA = {
    "synthetic": (replace(_BASE, dataset="synthetic", epsilon=0.5), "synth"),
    "mnist": (replace(_BASE, dataset="mnist", epsilon=1.0), "mnist"),
    "covtype": (
        replace(
            _BASE,
            dataset="covtype",
            epsilon=0.1,
            samples=5000,
            components=10,
            intermediate_dim=20,
        ),
        "covtype",
    ),
}
_EPSILON_CLAIM = "Captured energy grows with ε; a lower dimension needs less ε."
_SAMPLES_CLAIM = "Captured energy grows with the people per site."


def _panels() -> Iterator[PaperFigure]:
    for letter, (name, (base, published)) in zip("abc", _DATA.items(), strict=True):
        yield PaperFigure(
            f"fig1-{letter}",
            f"Captured energy against ε, {name}",
            base,
            "epsilon",
            EPSILONS,
            _EPSILON_CLAIM,
            f"{published}_epsilon",
        )
    for letter, (name, (base, published)) in zip("def", _DATA.items(), strict=True):
        yield PaperFigure(
            f"fig1-{letter}",
            f"Captured energy against people per site, {name}",
            replace(base, resample=True),
            "samples",
            SAMPLES,
            _SAMPLES_CLAIM,
            f"{published}_samples",
        )


FIGURES: dict[str, PaperFigure] = {figure.name: figure for figure in _panels()}


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
