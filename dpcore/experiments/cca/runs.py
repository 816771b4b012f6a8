"""Private CCA as a family of the experiment engine: specs, draws and tidy rows.

The directions and the private correlations are the release. Their measurement on the true data
reads the rows and is not private.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dpcore.cca import (
    PROTOCOLS,
    CanonicalPairs,
    distributed_cca,
    joint_moment_sigma,
    measured_correlations,
)
from dpcore.errors import ParameterError
from dpcore.experiments.cca.problem import CcaProblem, ViewsKey, local_cca_problem
from dpcore.experiments.cca.views import CutViews, ViewSource
from dpcore.experiments.engine.charge_keys import (
    describe_matrix,
    describe_noise,
    make_people_key,
    make_stream_key,
    noise_key,
)
from dpcore.experiments.engine.fields import ReleaseRow, ReleaseSpec, release_settings
from dpcore.experiments.engine.spec import Row, Spec, join_key, row_from
from dpcore.params import param, redeclare
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.register import PROTOCOLS as REGISTERED
from dpcore.privacy import EVERYONE, Charge, Guarantee, PrivacyBudget, Release
from dpcore.spectra import PublicBasis
from dpcore.streams import Repetition

_DIGIT_VIEWS = CutViews()
# Largest K on pages.
MOST_PAIRS = 10
TITLES = {
    "pooled": "Pooled, trusted",
    "dpdis": "Proxies",
    "full": "Full moments",
    "local": REGISTERED["local"].title,
    "cape": "CAPE",
}


@dataclass(frozen=True)
class CcaSpec(ReleaseSpec, Spec):
    """Cell of a CCA experiment; `published` and `improved` return the two standard settings.

    source: Data set and its two views.
    protocols: Keys of `dpcore.cca.PROTOCOLS`. "pooled" is the poster's.
    calibration: "published" is the poster's tau.
    denoise: Denoising of the joint moment before its blocks are used. "auto" denoises it as that of
        pictures if the views are their halves and the whole joint moment is available. Otherwise it
        reduces the correlations and is off; proxies of R directions are never denoised.
    floor: "auto" or float. Parameter of `dpcore.cca.distributed_cca`.
    preparation: On the sphere, each view of a row is scaled to a fixed length. Correlations are
        measured on the centred rows; on the sphere, on the rows before clipping and scaling.
    x_norm_bound, y_norm_bound: Bounds around the data set's public centres.
    """

    experiment = "cca"

    source: ViewSource = _DIGIT_VIEWS
    protocols: tuple[str, ...] = ("pooled",)
    sites: int = redeclare(ReleaseSpec, "sites", 1)
    components: int = redeclare(
        ReleaseSpec,
        "components",
        3,
        title="Canonical pairs K",
        note="",
        up_to=MOST_PAIRS,
    )
    intermediate_dim: int | None = redeclare(
        ReleaseSpec,
        "intermediate_dim",
        note="Default: 4 K, or the number of columns if that is smaller",
    )
    denoise: str = redeclare(
        ReleaseSpec,
        "denoise",
        choices=("auto", "columns", "none"),
        note="auto: as pictures if both views are halves of them. Published rows are not denoised",
    )
    floor: float | str = "auto"
    x_norm_bound: float | None = param(
        None, "Public bound on a row of x", note="Default: the data set's own"
    )
    y_norm_bound: float | None = param(
        None, "Public bound on a row of y", note="Default: the data set's own"
    )
    # Outside this range, the share of one view in the norm bound is 0 in double precision.
    x_share: float = param(
        0.5,
        "Part of the squared length of a joined row given to the first view",
        low=1e-9,
        high=1 - 1e-9,
        constraint="in [1e-9, 1 - 1e-9]",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.protocols or not set(self.protocols) <= set(PROTOCOLS):
            raise ParameterError("protocols", f"out of {', '.join(PROTOCOLS)}", self.protocols)
        if self.floor != "auto" and not (
            isinstance(self.floor, int | float) and 0 <= self.floor < math.inf
        ):
            raise ParameterError("floor", "'auto', or finite and at least 0", self.floor)

    def problem_key(self, repetition: int = 0) -> ViewsKey:  # noqa: ARG002
        same = {field.name: getattr(self, field.name) for field in fields(ViewsKey)}
        return ViewsKey(**same | {"preparation": self.data_preparation})

    @classmethod
    def row_type(cls) -> type:
        return CcaRow

    def outline(self) -> Sequence[Row]:
        return [{"protocol": key} for key in self.protocols]

    @classmethod
    def load(cls, key: ViewsKey) -> CcaProblem:
        return local_cca_problem(key)

    @classmethod
    def data_of(cls, key: ViewsKey) -> Hashable:
        return key.source

    def dataset_read(self) -> str | None:
        return self.source.dataset if isinstance(self.source, CutViews) else None

    def check(self) -> None:
        self.settings(self.components)
        # The check depends only on epsilon; any number of rows gives the same result.
        budget = PrivacyBudget(self.epsilon, self.delta)
        joint_moment_sigma(budget, 2, calibration=self.calibration)

    def rows(self, problem: CcaProblem, repetition: int) -> Sequence[Row]:
        return [pairs_and_row(self, problem, key, repetition)[1] for key in self.protocols]

    def charge(self, name: str, guarantee: Guarantee, draws: frozenset[int]) -> Charge:
        """Return the charge of one noisy joint moment."""
        samples = self.source.n_samples if self.samples is None else self.samples
        cell = vars(self) | {"samples": samples, "resample": False}
        bounds = (self.source, self.x_share, self.x_norm_bound, self.y_norm_bound)
        entry = REGISTERED[name]
        matrix = describe_matrix(cell, name).replace("moment", "joint moment")
        key = ("pairs", *bounds, *noise_key(cell | {"norm_bound": None}, name))
        release = Release.of(
            guarantee,
            key=join_key(*key),
            label=describe_noise(cell, name, matrix),
            dataset=self.source.name,
            partition=join_key("pairs", self.source, *make_people_key(cell))
            if entry.reads_first_site_only
            else EVERYONE,
            sites=(0,) if entry.reads_first_site_only else None,
        )
        return Charge(
            release,
            draws,
            ("canonical pairs",),
            (f"CCA: {TITLES[name]}",),
            entry.is_distributed,
            make_stream_key(cell, name),
        )

    def settings(self, n_features: int, basis: PublicBasis | None = None) -> ReleaseSettings:
        """Return the release settings, with R filled in for the columns of both views.

        basis: Basis of the pictures whose halves are the views.
        """
        intermediate = self.intermediate_dim
        if intermediate is None:
            intermediate = min(4 * self.components, n_features)
        settings = release_settings(self, self.components, intermediate)
        if self.denoise != "auto" or not settings.bases:
            return settings
        return replace(settings, bases=() if basis is None else (basis,))


class CcaRow(ReleaseRow):
    """Row of one protocol in one repetition, with its correlations on the true data.

    `correlation_share` is the measured total correlation divided by the exact one, `random_share`
    that of random directions, `estimate_error` the root mean square error of the private
    correlations.
    """

    preparation: str
    mean_share: float | None
    x_share: float
    floor: float
    repetition: int
    seed: int
    correlation_share: float
    random_share: float
    measured_total: float
    exact_total: float
    estimated_total: float
    estimate_error: float
    sigma: float | None
    exact_epsilon: float
    bytes_sent: int
    seconds: float


def draw_pairs(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> CanonicalPairs:
    """Draw the private pairs of one protocol in one repetition, for bounded rows."""
    basis = None if REGISTERED[protocol].wants_proxies else problem.basis
    return distributed_cca(
        problem.moments,
        problem.n_x,
        spec.settings(len(problem.reference), basis),
        protocol=protocol,
        floor=spec.floor,
        repetition=Repetition(spec.seed, repetition),
    )


def pairs_and_row(
    spec: CcaSpec, problem: CcaProblem, protocol: str, repetition: int
) -> tuple[CanonicalPairs, CcaRow]:
    """Draw the pairs of one protocol, and return them with their tidy row."""
    started = time.perf_counter()
    pairs = draw_pairs(spec, problem, protocol, repetition)
    seconds = time.perf_counter() - started
    measured = measured_correlations(pairs.x_rotations, pairs.y_rotations, problem.reference)
    exact_total = float(problem.exact.sum())
    settings = spec.settings(len(problem.reference))
    row = row_from(
        CcaRow,
        spec,
        dataset=problem.dataset,
        protocol=protocol,
        samples=int(problem.moments.n_samples.sum()),
        components=settings.n_components,
        intermediate_dim=settings.intermediate_dim,
        mean_share=settings.mean_share,
        floor=pairs.floor,
        repetition=repetition,
        correlation_share=measured.total / exact_total,
        random_share=problem.random_share,
        measured_total=measured.total,
        exact_total=exact_total,
        estimated_total=float(pairs.correlations.sum()),
        estimate_error=float(np.sqrt(np.mean((pairs.correlations - problem.exact) ** 2))),
        sigma=pairs.guarantee.sigma,
        exact_epsilon=pairs.guarantee.epsilon,
        bytes_sent=int(pairs.bytes_sent.sum()),
        seconds=seconds,
    )
    return pairs, row
