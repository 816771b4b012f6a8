"""The DPdisPCA paper (Imtiaz & Sarwate 2018): figures as sweeps, and their stored results.

Rows of panels of Figure 1 vary epsilon (a-c), the people per site (d-f), the number of sites (g-i)
and R for each K (j-l); columns are synthetic, MNIST, COVTYPE. Figure 2 varies delta. Captured
energy is measured, as the authors did, on the whole data set and relative to the exact subspace of
the people drawn. Settings that the text does not give are those of the authors' runs, whose result
arrays are public.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from dpcore.data import dataset_status
from dpcore.data.loading import rows_here
from dpcore.errors import require_one_of
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import Row, group_by_key
from dpcore.experiments.engine.store import Store
from dpcore.experiments.engine.units import Finished, Unit, units_of
from dpcore.experiments.pca import RunSpec
from dpcore.papers.dpdispca_claims import ClaimVerdict, check_claims
from dpcore.papers.published_points import Comparison, compare_with_published

EPSILONS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
SAMPLES = (1000, 2000, 5000, 10000, 20000, 30000, 40000, 50000, 60000)
SITES = (5, 10, 20, 50, 100)
# The authors round a quarter and three quarters of K up: 13 and 38 of 50, 3 and 8 of 10.
RATIOS = (0.26, 0.5, 0.76, 1.0, 2.0, 4.0)
RATIOS_OF_TEN = (0.3, 0.5, 0.8, 1.0, 2.0, 4.0)
DELTAS = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)


@dataclass(frozen=True)
class PaperFigure:
    """One published panel: a base specification and the field that varies.

    name: Name on the command line.
    field: Field of a sweep that varies.
    claim: Claim of the paper about the panel.
    trend: {"grows", "falls and levels off", "grows and levels off"}. The claim as `check_claim`
        reads it.
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
        """Yield the specifications of the panel that can run, in the order of its axis."""
        return (cell.spec for cell in self.sweep.cells() if cell.spec is not None)

    def judge(self, rows: Sequence[Row]) -> tuple[ClaimVerdict, ...]:
        """Return the verdicts on the paper's claims about the panel."""
        return check_claims(self, rows)

    @property
    def rows_here(self) -> str:
        """Such as "10,000 of 60,000 rows"; empty if the whole data set is on this machine."""
        return rows_here(self.base.dataset)

    def on_this_machine(self) -> PaperFigure:
        """Return the panel with no more people in all than this machine has rows."""
        n_here, n_people = dataset_status(self.base.dataset).n_samples, self.base.samples
        if n_people is None or n_people <= n_here:
            return self
        axis = self.axis.replace(f"{n_people:,}", f"{n_here:,}")
        return replace(self, base=replace(self.base, samples=n_here), axis=axis)

    def with_changes(self, **changes: Any) -> PaperFigure:
        """Return the panel with other settings, such as another seed or fewer repetitions."""
        return replace(self, base=replace(self.base, **changes))


_BASE = RunSpec.published(
    protocols=("dpdis", "full", "local", "pooled"),
    delta=0.01,
    sites=10,
    samples=10000,
    components=50,
    intermediate_dim=100,
    reference="all",
    repetitions=10,
)
_SYNTHETIC = replace(_BASE, dataset="synthetic", epsilon=0.5)
_MNIST = replace(_BASE, dataset="mnist", epsilon=1.0)
_COVTYPE = replace(_BASE, dataset="covtype", epsilon=0.1, components=10, intermediate_dim=20)


def _row(
    letters: str,
    axis_name: str,
    axis: str,
    field: str,
    values: tuple[float, ...] | dict[int | None, tuple[float, ...]],
    claim: str,
    trend: str,
    bases: Sequence[RunSpec],
) -> Iterator[PaperFigure]:
    """Yield three panels; `values` may depend on K."""
    for letter, base in zip(letters, bases, strict=True):
        title = f"Captured energy against {axis_name}, {base.dataset}"
        axis_values = values[base.components] if isinstance(values, dict) else values
        yield PaperFigure(f"fig1-{letter}", title, base, field, axis_values, claim, trend, axis)


def _dpdispca() -> Iterator[PaperFigure]:
    bases = (_SYNTHETIC, _MNIST, _COVTYPE)
    fewer = (_SYNTHETIC, _MNIST, replace(_COVTYPE, samples=5000))
    yield from _row(
        "abc",
        "ε",
        "requested ε",
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
            "requested δ",
        )


FIGURES: dict[str, PaperFigure] = {figure.name: figure for figure in _dpdispca()}


def paper_figure(name: str) -> PaperFigure:
    """Return the published panel with this name, with as many people as this machine has.

    Raises `ParameterError` naming the known ones.
    """
    require_one_of("figure", name, FIGURES)
    return FIGURES[name].on_this_machine()


@dataclass(frozen=True)
class PanelState:
    """State of a panel in the store of finished rows.

    draws: Number of complete draws for every value of its axis.
    means: Tuples of protocol, value and mean captured energy.
    comparison: Comparison with the published points, if there are any.
    verdicts: Verdicts on the paper's claims; empty without draws.
    """

    figure: PaperFigure
    draws: int
    means: tuple[tuple[str, float, float], ...] = ()
    comparison: Comparison | None = None
    verdicts: tuple[ClaimVerdict, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """True if every claim holds; None if that cannot be decided."""
        holds = [verdict.holds for verdict in self.verdicts]
        if False in holds:
            return False
        return None if None in holds or not holds else True


def panel_state(figure: PaperFigure, store: Store) -> PanelState:
    """Return the state of a panel from its complete draws in a store; nothing is computed."""
    draws, rows = stored_draws(figure.sweep, store)
    if not rows:
        return PanelState(figure, 0)
    ratios = group_by_key(
        ((row["protocol"], row[figure.field]), row["energy_ratio"]) for row in rows
    )
    return PanelState(
        figure,
        draws,
        tuple((*key, fmean(values)) for key, values in ratios.items()),
        compare_with_published(figure.name, rows),
        check_claims(figure, rows),
    )


def stored_draws(sweep: Sweep, store: Store) -> tuple[int, tuple[Row, ...]]:
    """Return the number of complete draws of a sweep in a store, and their rows."""
    units: dict[int, list[Unit]] = {}
    feasible = {i: cell.spec for i, cell in enumerate(sweep.cells()) if cell.spec is not None}
    for unit in units_of(feasible):
        units.setdefault(unit.repetition, []).append(unit)
    whole: list[Finished] = []
    for draws in range(len(units)):
        of_draw: list[Finished] = []
        for unit in units[draws]:
            if (finished := store.look_up(unit)) is None:
                return draws, _rows(whole)
            of_draw += finished
        whole += of_draw
    return len(units), _rows(whole)


def _rows(finished: list[Finished]) -> tuple[Row, ...]:
    return tuple(row for result in finished for row in result.rows)
