"""What the rows of eigen-images come to: the answer in words, ε falling, what one takes away."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus
from dpcore.experiments.pca.export import recipe_of
from dpcore.experiments.pca.sentences import counted, percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.eigen_images.spectrum_panels import as_measured, centred
from pages.learn.classroom.drawing import own_digit
from pages.parameters.words import or_infinity as say
from pages.parameters.words import plain
from pages.server import frames_cache, page_lock, result_cache
from pages.server.frames_cache import Frame, Pictures
from pages.server.spare_time import compute_for
from pages.sidebar.parts import in_browser, part
from pages.widgets import session_ledger
from pages.widgets.component_images import MOST_SHOWN
from pages.widgets.downloads import take_away
from pages.widgets.energy_explorer.frames import along_epsilon, control
from pages.widgets.messages import big_number

# |cosine| to the exact component from which a picture is known again: within 37 degrees.
_KNOWN_AGAIN = 0.8
_HERE = Path(__file__).parent
_CONTROL = _HERE.parents[1] / "widgets" / "energy_explorer"
_SLICE_SECONDS, _TICK_SECONDS = 0.2, 0.4
_falling = in_browser("falling", *_CONTROL.glob("control.*"), *_HERE.glob("falling.*"))


def headline(
    spec: RunSpec, method: str, found: Mapping[float, Subspace], exact: FloatArray
) -> None:
    """What is kept on average at the strictest ε, as every page says it, and in the draw shown."""
    kept = [row["energy_ratio"] for row in result_cache.rows(spec)]
    words = big_number(
        percent(fmean(kept)),
        f"of the energy that exact PCA captures is kept by **{PROTOCOLS[method].title}** at "
        f"**ε\u00a0=\u00a0{say(spec.epsilon)}**.",
        f"The mean of {counted(len(kept), 'draw')}; the one shown keeps {percent(kept[0])}.",
    )
    shown = min(MOST_SHOWN, *(len(subspace.components) for subspace in found.values()))
    again = (
        f"**{np.count_nonzero(_cosines(subspace, exact)[:shown] >= _KNOWN_AGAIN)}** at "
        f"ε\u00a0=\u00a0{say(epsilon)}"
        for epsilon, subspace in found.items()
    )
    words.markdown(
        f"Of {counted(shown, 'picture')} one knows again (|cosine| {_KNOWN_AGAIN} or more): "
        f"{', '.join(again)}."
    )


def watch_it_fall(spec: RunSpec, dataset: DatasetStatus) -> None:
    """The pictures at every ε, under a slider that waits for nobody; Play lets ε fall."""
    if dataset.image_shape is None:
        return
    st.markdown("## Watch ε fall")
    if session_ledger.curves(dataset.name):
        _falling_images(spec, dataset)
        st.caption("Each step is a run of its own, made before it is moved: one draw of the noise.")


def drawn(spec: RunSpec, private: Mapping[str, FloatArray], exact: FloatArray) -> None:
    """A digit that the visitor draws, rebuilt from exact and private components."""
    n_components = min(map(len, private.values()), default=MOST_SHOWN)
    st.markdown("## Draw your own digit")
    part("own_digit", own_digit)(
        "eigen_pad",
        {"exact ones": exact[:n_components]} | dict(private),
        as_row=partial(centred, spec),
        as_picture=partial(as_measured, spec),
    )


def carry_off(spec: RunSpec, found: Mapping[float, Subspace], exact: FloatArray) -> None:
    """Cosines and eigenvalues of every row, and the run at the strictest ε."""
    rows = [
        {"epsilon": epsilon, "component": k + 1, "cosine": cosine, "eigenvalue": eigenvalue}
        for epsilon, subspace in found.items()
        for k, (cosine, eigenvalue) in enumerate(
            zip(_cosines(subspace, exact).tolist(), subspace.eigenvalues.tolist(), strict=False)
        )
    ]
    take_away(
        "eigen-images", rows, script=recipe_of(spec).script, notebook=recipe_of(spec).notebook
    )


def _cosines(subspace: Subspace, exact: FloatArray) -> FloatArray:
    components = subspace.components
    cosines: FloatArray = np.abs(np.einsum("kd,kd->k", components, exact[: len(components)]))
    return cosines


def _falling_images(spec: RunSpec, dataset: DatasetStatus) -> None:
    """The slider and the pictures of a spec's first protocol, of one draw; filled as they come."""
    specs = along_epsilon(spec)
    unfinished = bool(frames_cache.finished(specs, dataset)[1])
    every = page_lock.unhurried(_TICK_SECONDS) if unfinished else None
    st.fragment(_fill, run_every=every)(spec, specs, dataset, unfinished)


def _fill(
    spec: RunSpec, specs: tuple[RunSpec, ...], dataset: DatasetStatus, was_unfinished: bool
) -> None:
    frames, missing = frames_cache.finished(specs, dataset)
    if missing:
        compute_for(missing, lambda item: item(), _SLICE_SECONDS)
        frames, missing = frames_cache.finished(specs, dataset)
    title = PROTOCOLS[spec.protocols[0]].title
    exact = _picture(frames_cache.exact_pictures(spec, dataset), "Exact PCA")
    count = f"{len(frames)} of {len(specs)} steps of ε so far." if missing else ""
    steps = [_frame(frame, title) for frame in frames]
    _falling(key="falling", data=control(spec) | {"exact": exact, "frames": steps, "count": count})
    if was_unfinished and not missing:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _frame(frame: Frame, title: str) -> dict[str, Any]:
    epsilon, kept = frame.spec.epsilon, percent(frame.rows[0]["energy_ratio"])
    told = f"{title} at ε = {plain(epsilon)}: this draw keeps {kept}. Above, exact PCA."
    cosines = [f"{cosine:.2f}" for cosine in frame.pictures.cosines]
    drawn = {"epsilon": epsilon, "told": told, "kept": kept, "cosines": cosines}
    return drawn | _picture(frame.pictures, told)


def _picture(pictures: Pictures, alt: str) -> dict[str, str]:
    return {"sprite": pictures.sprite, "alt": f"{alt} The components as pictures."}
