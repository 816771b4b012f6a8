"""What private runs gave along ε, a frame a value: rows, and the components as pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.data import DatasetStatus
from dpcore.data.catalog import entry_of
from dpcore.data.column_limits import limits_of, read_limits
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.engine.once_cache import OnceCache
from dpcore.experiments.pca.rebuilt_people import (
    N_SHOWN,
    ShownPeople,
    rebuilt,
    rebuilt_about,
    shown_people,
)
from dpcore.experiments.pca.runs import PcaRow
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.components.images import component_sprite
from dpcore.pca import Subspace
from dpcore.spectra import align_signs
from pages.server import result_cache

MOST_SHOWN = 10
# Of rebuilt people along ε; as many runs of them are handed over as fit in, and three at least.
_PEOPLE_BYTES, _LEAST_RUNS = 600_000, 3
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


@dataclass(frozen=True)
class Round:
    """One run at every ε where it is there: ten people rebuilt from its components, as bytes."""

    run: int
    levels: dict[float, bytes]


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
        to_come = {run for _, run in cells}
        missing += [
            (run, partial(_levels, spec, run))
            for run in range(n_pictured(spec))
            if run not in to_come and _rebuilt.peek(_lead(spec), run) is None
        ]
    by_round = [item for _, item in sorted(missing, key=lambda each: each[0])]
    round_ = min((frame.n_draws for frame in frames), default=0)
    return [frame if frame.spec is specs[0] else frame.up_to(round_) for frame in frames], by_round


def rounds(specs: tuple[RunSpec, ...]) -> list[Round]:
    """People rebuilt by the first protocol of each spec, as far as its runs are there."""
    found = []
    for run in range(n_pictured(specs[0])):
        drawn = {spec.epsilon: _rebuilt.peek(_lead(spec), run) for spec in specs}
        there = {epsilon: levels for epsilon, levels in sorted(drawn.items()) if levels is not None}
        if there:
            found.append(Round(run, there))
    return found


def n_pictured(spec: RunSpec) -> int:
    """Of how many runs people are rebuilt."""
    return min(spec.repetitions, _most_pictured(spec))


def _most_pictured(spec: RunSpec) -> int:
    a_run = len(EPSILONS) * N_SHOWN * people(spec).columns.size
    return max(_LEAST_RUNS, _PEOPLE_BYTES // a_run)


def people(spec: RunSpec) -> ShownPeople:
    """Those who are rebuilt, of the spec's data set."""
    key = spec.problem_key()
    return _people(key, make=lambda: _chosen(spec))


def true_and_exact(spec: RunSpec) -> tuple[bytes, bytes]:
    """The people as they are, and rebuilt from exact components about the exact mean."""
    shown, problem = people(spec), result_cache.problem(spec.problem_key())
    k = spec.settings(problem.n_features, problem.default_components).n_components
    exact = rebuilt_about(shown.rows, problem.exact_components[:k], problem.centre)
    return shown.levels(shown.rows).tobytes(), shown.levels(exact).tobytes()


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


def _chosen(spec: RunSpec) -> ShownPeople:
    key = spec.problem_key()
    limits = limits_of(read_limits(spec.limits, entry_of(spec.dataset).ranges))
    reference = result_cache.problem(key).reference
    return shown_people(result_cache.problems.prepared(*key.data), limits, np.diag(reference))


def _levels(spec: RunSpec, run: int) -> bytes:
    """People rebuilt from one run, made with its components where they are not there any more."""
    lead = _lead(spec)
    found = result_cache.subspaces(lead, run)[lead.protocols[0]]
    return _rebuilt(lead, run, make=lambda: _drawn(spec, found))


def _see(spec: RunSpec, run: int, found: dict[str, Subspace]) -> None:
    """Rebuild people from a draw while its components are there, if rows are in memory."""
    lead, key = _lead(spec), spec.problem_key()
    if result_cache.problems.prepared.peek(*key.data) is None or run >= _most_pictured(spec):
        return
    if _rebuilt.peek(lead, run) is None:
        subspace = found[spec.protocols[0]]
        _rebuilt(lead, run, make=lambda: _drawn(spec, subspace))


def _drawn(spec: RunSpec, subspace: Subspace) -> bytes:
    shown = people(spec)
    problem = result_cache.problem(spec.problem_key())
    return shown.levels(rebuilt(shown.rows, subspace, problem)).tobytes()


def _strongest(exact: FloatArray) -> np.ndarray:
    return np.argsort(-np.abs(exact), axis=1, kind="stable")[:, :_MOST_FEATURES]


_people: OnceCache[ShownPeople] = OnceCache(None, keep=64, most_bytes=8 * 1024**2)
_rebuilt: OnceCache[bytes] = OnceCache(None, keep=20_000, most_bytes=32 * 1024**2)
result_cache.each_draw.append(_see)
_pictures: OnceCache[Pictures] = OnceCache(None, keep=1_000, most_bytes=32 * 1024**2)
