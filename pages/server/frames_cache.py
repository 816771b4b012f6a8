"""What private runs gave along ε, a frame a value: rows, and the components as pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.runs import PcaRow
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.components.images import component_sprite
from dpcore.spectra import align_signs
from pages.server import result_cache

MOST_SHOWN = 10
# Of the features that weigh most in an exact component.
_MOST_FEATURES = 8


@dataclass(frozen=True)
class Pictures:
    """The leading components of one draw, signs aligned to the exact ones.

    cosines: |cosine| of each to the exact one.
    sprite: Base64 of a PNG of all of them; empty for data without pictures.
    loadings: For data without pictures: of each, its entries at `features_of` the exact one.
    """

    cosines: tuple[float, ...]
    sprite: str = ""
    loadings: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Frame:
    """What the runs of one spec have given so far; of the first protocol also its pictures."""

    spec: RunSpec
    rows: list[PcaRow]
    pictures: Pictures

    @property
    def n_draws(self) -> int:
        """How many draws of the noise there are."""
        return len(self.rows) // len(self.spec.protocols)

    def up_to(self, n_draws: int) -> Frame:
        """The same with so many of its draws, unless it is whole."""
        if self.n_draws == self.spec.repetitions:
            return self
        return replace(self, rows=self.rows[: n_draws * len(self.spec.protocols)])


Missing = Callable[[], object]


def frame(spec: RunSpec, dataset: DatasetStatus, rows: list[PcaRow]) -> Frame:
    """The frame of a spec with these rows, its pictures made where they are not there."""
    return Frame(spec, rows, _pictures_of(spec, dataset.image_shape))


def finished(
    specs: tuple[RunSpec, ...], dataset: DatasetStatus
) -> tuple[list[Frame], list[Missing]]:
    """Frames that have a draw and its pictures, and what is to be done for the others, in order.

    First come the draws of the first spec, the one that somebody looks at; then one draw and the
    pictures of every other, then a second draw of each, and so on. Draws of the others are handed
    over by such rounds: what has not changed is not sent again.
    """
    frames: list[Frame] = []
    missing: list[tuple[int, Missing]] = []
    for spec in specs:
        rows, cells = result_cache.finished_rows((spec,))
        pictures = _pictures.peek(_lead(spec), dataset.image_shape)
        if rows and pictures is not None:
            frames.append(Frame(spec, rows, pictures))
        if pictures is None:
            missing.append((0, partial(_pictures_of, spec, dataset.image_shape)))
        is_first = spec is specs[0]
        missing += [
            (0 if is_first else cell[1], partial(result_cache.cell_rows, cell)) for cell in cells
        ]
    by_round = [item for _, item in sorted(missing, key=lambda each: each[0])]
    round_ = min((frame.n_draws for frame in frames), default=0)
    return [frame if frame.spec is specs[0] else frame.up_to(round_) for frame in frames], by_round


def exact_pictures(spec: RunSpec, dataset: DatasetStatus) -> Pictures:
    """The exact components, as `Frame` has the private ones."""
    key = spec.problem_key()
    exact = result_cache.problem(key).exact_components
    shown = _lead_components(spec)
    made = partial(_pictured, exact[:shown], exact, dataset.image_shape)
    return _pictures((key, shown), dataset.image_shape, make=made)


def features_of(spec: RunSpec) -> tuple[tuple[str, ...], ...]:
    """Of each exact component the names of the features that weigh most."""
    exact = result_cache.problem(spec.problem_key()).exact_components
    names = result_cache.feature_names(spec)
    return tuple(
        tuple(names[index] for index in strongest)
        for strongest in _strongest(exact[: _lead_components(spec)])
    )


@lru_cache(maxsize=1024)
def _lead(spec: RunSpec) -> RunSpec:
    """The first protocol alone: its draw is the same, and others need not be made."""
    return replace(spec, protocols=spec.protocols[:1], repetitions=1)


def _lead_components(spec: RunSpec) -> int:
    problem = result_cache.problem(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    return min(MOST_SHOWN, settings.n_components)


def _pictures_of(spec: RunSpec, image_shape: tuple[int, int] | None) -> Pictures:
    lead = _lead(spec)
    there = _pictures.peek(lead, image_shape)
    if there is not None:
        return there
    # The first draw leaves the components that are shown: none is made for them alone.
    first, *_ = result_cache.cells(spec)
    result_cache.cell_rows(first)
    private = result_cache.subspaces(spec)[spec.protocols[0]].components[:MOST_SHOWN]
    exact = result_cache.problem(spec.problem_key()).exact_components
    return _pictures(lead, image_shape, make=lambda: _pictured(private, exact, image_shape))


def _pictured(
    components: FloatArray, exact: FloatArray, image_shape: tuple[int, int] | None
) -> Pictures:
    exact = exact[: len(components)]
    aligned = align_signs(components, exact)
    cosines = tuple(np.abs(np.einsum("kd,kd->k", aligned, exact)).tolist())
    if image_shape is not None:
        sprite = component_sprite(aligned, image_shape)
        return Pictures(cosines, sprite=b64encode(sprite).decode())
    loadings = np.take_along_axis(aligned, _strongest(exact), axis=1)
    return Pictures(cosines, loadings=tuple(map(tuple, loadings.round(3).tolist())))


def _strongest(exact: FloatArray) -> np.ndarray:
    return np.argsort(-np.abs(exact), axis=1, kind="stable")[:, :_MOST_FEATURES]


_pictures: OnceCache[Pictures] = OnceCache(None, keep=1_000, most_bytes=32 * 1024**2)
