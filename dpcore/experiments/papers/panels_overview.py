"""Which published panels have been run on this machine, and how they came out."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.result_store import Store
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.engine.work_units import Finished, Unit, units_of
from dpcore.experiments.papers.dpdispca_claims import Verdict, check_claims
from dpcore.experiments.papers.dpdispca_figures import PaperFigure
from dpcore.experiments.papers.published_points import Comparison, compare_with_published


@dataclass(frozen=True)
class PanelState:
    """What the rows kept on disk say of a panel.

    Parameters
    ----------
    figure : PaperFigure
    draws : int
        How many draws are there for every value of its axis; 0 if it has not been run.
    means : tuple of (protocol, value, mean energy ratio)
    comparison : Comparison or None
        With the published points, where there are any.
    verdicts : tuple of Verdict
        On the paper's claims; none without draws.
    """

    figure: PaperFigure
    draws: int
    means: tuple[tuple[str, float, float], ...] = ()
    comparison: Comparison | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """Whether every claim holds; None while that cannot be told."""
        holds = [verdict.holds for verdict in self.verdicts]
        if False in holds:
            return False
        return None if None in holds or not holds else True


def panel_state(figure: PaperFigure, store: Store) -> PanelState:
    """Look a panel up, as far as its draws are whole; nothing is computed."""
    draws, rows = stored_draws(figure.sweep, store)
    if not rows:
        return PanelState(figure, 0)
    ratios: dict[tuple[str, float], list[float]] = {}
    for row in rows:
        ratios.setdefault((row["protocol"], row[figure.field]), []).append(row["energy_ratio"])
    return PanelState(
        figure,
        draws,
        tuple((*key, fmean(found)) for key, found in ratios.items()),
        compare_with_published(figure.name, rows),
        check_claims(figure, rows),
    )


def stored_draws(sweep: Sweep, store: Store) -> tuple[int, tuple[Row, ...]]:
    """How many draws of a sweep are whole in a store, from the first on, and their rows."""
    units: dict[int, list[Unit]] = {}
    feasible = {i: cell.spec for i, cell in enumerate(sweep.cells()) if cell.spec is not None}
    for unit in units_of(feasible):
        units.setdefault(unit.repetition, []).append(unit)
    whole: list[Finished] = []
    for draws in range(len(units)):
        found: list[Finished] = []
        for unit in units[draws]:
            if (finished := store.look_up(unit)) is None:
                return draws, _rows(whole)
            found += finished
        whole += found
    return len(units), _rows(whole)


def _rows(finished: list[Finished]) -> tuple[Row, ...]:
    return tuple(row for one in finished for row in one.rows)
