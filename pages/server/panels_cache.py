"""How the published panels came out so far, remembered between reruns of the page."""

from __future__ import annotations

import time

from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.engine.result_store import Store, cache_folder
from dpcore.experiments.papers import dpdispca_figures
from dpcore.experiments.papers.dpdispca_figures import PaperFigure
from dpcore.experiments.papers.published_points import PanelState, panel_state
from pages.parameters.use import PANEL_DRAWS
from pages.server import visitors_jobs


def panel_states() -> tuple[PanelState, ...]:
    """Every panel with the rows kept on disk, whoever computed them."""
    folder = str(cache_folder())
    # Runs of this visitor change the stamp; those of others are seen within a minute.
    minute = time.monotonic() // 60
    return tuple(
        _states(figure, folder, (minute, *_stamp(figure)))
        for figure in dpdispca_figures.FIGURES.values()
    )


def _stamp(figure: PaperFigure) -> tuple[int, ...]:
    jobs = (
        visitors_jobs.find_sweeps((figure.varied(repetitions=n).sweep,))
        for n in PANEL_DRAWS.values()
    )
    return tuple(0 if job is None else job.progress().done for job in jobs)


_states = OnceCache(lambda figure, folder, _: panel_state(figure, Store(folder)), keep=64)
