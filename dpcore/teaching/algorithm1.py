"""Algorithm 1 of Imtiaz & Sarwate (2018), step by step at one site.

The steps are those of the first run of the protocol `dpdis`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import Problem
from dpcore.pca import Draw, SiteMessage, Subspace
from dpcore.pca.protocols.distributed import average_of_sites
from dpcore.pca.site import MessageKind, SiteAtWork
from dpcore.spectra import captured_energy, leading_eigenpairs
from dpcore.streams import Repetition

AT_SITE, ON_THE_WIRE, AT_AGGREGATOR = "site", "wire", "aggregator"
STEPS = (
    "moment",
    "noise",
    "denoising",
    "decomposition",
    "truncation",
    "message",
    "average",
    "components",
)
# Titles on a page. Decomposition and truncation share one screen.
STEP_TITLES = {
    "rows": "Rows",
    "moment": "Moment",
    "noise": "Noise",
    "denoising": "Denoising",
    "truncation": "Cut",
    "message": "Message",
    "average": "Sum",
    "components": "Components",
}
_MOST_SITES_SHOWN = 2


@dataclass(frozen=True)
class Panel:
    """One matrix of a step.

    name: Name in LaTeX, without dollars.
    matrix: shape (rows, columns)
    limit: Entries of this size have the strongest colour.
    private: Whether it may leave the site: everything computed after the noise.
    """

    name: str
    matrix: FloatArray
    limit: float
    private: bool


@dataclass(frozen=True)
class Step:
    """One step of the algorithm.

    key: One of `STEPS`.
    where: "site", "wire" or "aggregator".
    energy_ratio: Captured energy of the top K directions after this step, relative to exact PCA.
    directions: shape (up to n_components, n_features). Those directions.
    facts: Numbers for the sentences of a page.
    """

    key: str
    where: str
    panels: tuple[Panel, ...]
    energy_ratio: float
    directions: FloatArray
    facts: dict[str, float] = field(default_factory=dict)


Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Walk:
    """All steps for one site, with the spectrum before and after the noise.

    steps: Steps in the order of `STEPS`.
    eigenvalues: shape (n_features,). Spectrum of the denoised second moment, in truncation order.
    exact_eigenvalues: shape (n_features,). Spectrum of the site's second moment without noise.
    n_kept: Intermediate dimension R.
    message: Message of the site.
    components, exact_components: shape (n_components, n_features)
    centre: shape (n_features,). Average of the sites' noisy means; None without a private mean.
    """

    steps: Steps
    eigenvalues: FloatArray
    exact_eigenvalues: FloatArray
    n_kept: int
    message: SiteMessage
    components: FloatArray
    exact_components: FloatArray
    centre: FloatArray | None


@dataclass(frozen=True, eq=False)
class _SiteInView:
    """Matrices at one site: A_s, E_s, their sum, its denoised version, eigenpairs, message."""

    moment: FloatArray
    noise: FloatArray
    noisy: FloatArray
    denoised: FloatArray
    eigenvalues: FloatArray
    vectors: FloatArray
    n_kept: int
    message: SiteMessage
    n_bytes: int
    ranking: str

    def steps(
        self,
        exact_vectors: FloatArray,
        n_components: int,
        energy_of: Callable[[FloatArray], float],
    ) -> Steps:
        moment, noisy, vectors, n_kept = self.moment, self.noisy, self.vectors, self.n_kept
        denoised, noisy_vectors = (
            self.denoised,
            leading_eigenpairs(noisy, len(noisy), by=self.ranking)[1],
        )
        eigenvalues, message, proxy = self.eigenvalues, self.message, self.message.values
        scale, denoised_ratio = _strength(moment), energy_of(vectors)
        removed = float(np.linalg.norm(noisy - denoised) / np.linalg.norm(self.noise))
        # The cut changes the top K directions of a single site only if R is below K.
        cut_ratio, cut = energy_of(vectors[:n_kept]), vectors[: min(n_kept, n_components)]
        return (
            Step(
                "moment",
                AT_SITE,
                (Panel(r"A_s", moment, scale, False),),
                energy_of(exact_vectors),
                exact_vectors[:n_components],
                {"people": message.n_samples, "features": len(moment)},
            ),
            Step(
                "noise",
                AT_SITE,
                (
                    Panel(r"A_s", moment, scale, False),
                    Panel(r"E_s", self.noise, scale, False),
                    Panel(r"\hat A_s", noisy, scale, True),
                ),
                energy_of(noisy_vectors),
                noisy_vectors[:n_components],
                {
                    "sigma": message.sigma,
                    "noise_share": float(np.linalg.norm(self.noise) / np.linalg.norm(moment)),
                },
            ),
            Step(
                "denoising",
                AT_SITE,
                (
                    Panel(r"\hat A_s", noisy, scale, True),
                    Panel(r"\tilde A_s", denoised, scale, True),
                ),
                denoised_ratio,
                vectors[:n_components],
                {"removed": removed},
            ),
            Step(
                "decomposition",
                AT_SITE,
                (
                    Panel(r"\tilde A_s", denoised, scale, True),
                    Panel(r"U", vectors.T, _strength(vectors), True),
                ),
                denoised_ratio,
                vectors[:n_components],
                {"negative": int((eigenvalues < 0).sum()), "features": len(noisy)},
            ),
            Step(
                "truncation",
                AT_SITE,
                (
                    Panel(r"\tilde A_s", denoised, scale, True),
                    Panel(r"U_R |\Sigma_R| U_R^\top", proxy @ proxy.T, scale, True),
                ),
                cut_ratio,
                cut,
                {
                    "kept": n_kept,
                    "features": len(noisy),
                    "negative_kept": int((eigenvalues[:n_kept] < 0).sum()),
                },
            ),
            Step(
                "message",
                ON_THE_WIRE,
                (Panel(r"P_s^\top", proxy.T, _strength(proxy), True),),
                cut_ratio,
                cut,
                {
                    "numbers": proxy.size,
                    "bytes": self.n_bytes,
                    "raw_bytes": message.n_samples * len(moment) * proxy.itemsize,
                    "kept": n_kept,
                },
            ),
        )


def walk(spec: RunSpec, problem: Problem, site: int) -> Walk:
    """Return every step of the first run of DPdisPCA at one site.

    Raises `ParameterError` if the specification cannot run.
    """
    settings = spec.settings(problem.n_features, problem.default_components)
    sites: dict[int, SiteAtWork] = {}

    def watch(at_work: SiteAtWork) -> None:
        sites[at_work.site] = at_work

    draw = Draw(problem.moments, settings, Repetition(spec.seed), average=False, watch=watch)
    moments, n_components, n_kept = draw.moments, settings.n_components, settings.intermediate_dim
    released = average_of_sites(draw, draw.proxies())
    subspace = released.subspace(settings)
    arrived = [sites[s].received[MessageKind.proxy(settings)] for s in range(moments.n_sites)]
    moment, at_work = draw.moment_around(draw.centre, site), sites[site]
    centred = at_work.centred
    noise, noisy = at_work.noisy_site.noisy - moment, centred.noisy
    spectrum = centred.denoised(draw.bases_at_sites, draw.diagonal_of_average)
    eigenpairs = spectrum.leading(len(moment), by=settings.ranking)
    in_view = _SiteInView(
        moment,
        noise,
        noisy,
        spectrum.matrix,
        *eigenpairs,
        n_kept,
        *arrived[site],
        settings.ranking,
    )
    exact_values, exact_vectors = leading_eigenpairs(moment, len(moment))

    def energy_of(directions: FloatArray) -> float:
        optimum = float(problem.optimum[n_components - 1])
        return captured_energy(directions[:n_components], problem.reference) / optimum

    messages, average = [message for message, _ in arrived], released.spectrum.matrix
    ratio, scale = energy_of(subspace.components), _strength(moment)
    return Walk(
        (
            *in_view.steps(exact_vectors, n_components, energy_of),
            *_aggregator_steps(messages, average, subspace, ratio, scale),
        ),
        in_view.eigenvalues,
        exact_values,
        n_kept,
        in_view.message,
        subspace.components,
        problem.exact_components[:n_components],
        None if draw.noisy_means is None else subspace.centre,
    )


def _aggregator_steps(
    messages: Sequence[SiteMessage],
    average: FloatArray,
    subspace: Subspace,
    ratio: float,
    scale: float,
) -> Steps:
    components, weakest = subspace.components, float(subspace.eigenvalues[-1])
    return (
        Step(
            "average",
            AT_AGGREGATOR,
            (
                *(
                    Panel(rf"P_{{{s + 1}}} P_{{{s + 1}}}^\top", p.values @ p.values.T, scale, True)
                    for s, p in enumerate(messages[:_MOST_SITES_SHOWN])
                ),
                Panel(r"A_c", average, scale, True),
            ),
            ratio,
            components,
            {"sites": len(messages), "shown": min(_MOST_SITES_SHOWN, len(messages))},
        ),
        Step(
            "components",
            AT_AGGREGATOR,
            (
                Panel(r"A_c", average, scale, True),
                Panel(r"V", components, _strength(components), True),
            ),
            ratio,
            components,
            {"components": len(components), "weakest": weakest},
        ),
    )


def _strength(matrix: FloatArray) -> float:
    """Return a size that 99 % of the entries do not exceed."""
    return float(np.quantile(np.abs(matrix), 0.99)) or 1.0
