"""How the published panels came out so far, remembered between reruns of the page."""

from __future__ import annotations

import streamlit as st

from dpcore.experiments import papers
from dpcore.experiments.overview import PanelState, panel_state
from dpcore.experiments.papers import PaperFigure
from dpcore.experiments.store import Store, cache_folder
from pages.shared import runs_sweeps

# Two draws could tell nothing from luck, whatever their difference.
DRAWS = {"quick": 3, "as published": 10}


def panel_states() -> tuple[PanelState, ...]:
    """Every panel with the rows kept on disk, whoever computed them."""
    folder = str(cache_folder())
    return tuple(_state(figure, folder, _stamp(figure)) for figure in papers.FIGURES.values())


# Runs of this visitor change the stamp; those of others are seen within a minute.
@st.cache_resource(ttl=60, max_entries=64, show_spinner=False)
def _state(figure: PaperFigure, folder: str, stamp: tuple[int, ...]) -> PanelState:
    return panel_state(figure, Store(folder))


def _stamp(figure: PaperFigure) -> tuple[int, ...]:
    jobs = (runs_sweeps.find((figure.varied(repetitions=n).sweep,)) for n in DRAWS.values())
    return tuple(0 if job is None else job.progress().done for job in jobs)
