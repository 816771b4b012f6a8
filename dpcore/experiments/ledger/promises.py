"""What an algorithm would promise, from its settings and the number of people alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpcore.data import DatasetStatus, split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca import ReleaseSettings
from dpcore.pca.central import modsulq_sigma, noisy_moment_guarantee, sulq_sigma
from dpcore.pca.exponential import ppca_guarantee
from dpcore.pca.protocols.cape import cape_guarantee
from dpcore.pca.protocols.guarantees import (
    data_independent_guarantee,
    no_guarantee,
    promised_by_first_site,
    promised_by_holder,
    promised_by_sites,
)
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.streams import Purpose, stream

Promise = Callable[[ReleaseSettings, Sequence[int], int], Guarantee]


def promised(spec: RunSpec, protocol: str, dataset: DatasetStatus) -> Guarantee:
    """The guarantee that a run of the spec's first draw would come with, no row being read.

    Raises
    ------
    ParameterError
        If the spec cannot run.
    """
    n_samples = dataset.n_samples if spec.samples is None else spec.samples
    # Sites skewed by label have equal sizes.
    sites = split_sites(
        n_samples,
        spec.sites,
        how="random" if spec.split == "random" else "equal",
        rng=stream(spec.seed, Purpose.SPLIT, 0),
    )
    settings = spec.settings(dataset.n_features, dataset.default_components)
    return promised_with(protocol, settings, [len(s) for s in sites], dataset.n_features)


def promised_with(
    protocol: str, settings: ReleaseSettings, n_samples: Sequence[int], n_features: int
) -> Guarantee:
    """The guarantee of a protocol on sites of so many people.

    Raises
    ------
    ParameterError
        If the protocol is unknown or cannot run with these settings.
    """
    if protocol not in _PROMISES:
        raise ParameterError("protocol", f"one of {', '.join(_PROMISES)}", protocol)
    return _PROMISES[protocol](settings, n_samples, n_features)


def _cape(settings: ReleaseSettings, n_samples: Sequence[int], n_features: int) -> Guarantee:
    return cape_guarantee(settings, len(n_samples), int(sum(n_samples)))


def _with_sigma(sigma_of: Callable[..., float]) -> Promise:
    def promise(settings: ReleaseSettings, n_samples: Sequence[int], n_features: int) -> Guarantee:
        budget, people = settings.budget, int(sum(n_samples))
        bound = settings.row_norm_bound
        sigma = sigma_of(n_features, people, budget, row_norm_bound=bound)
        return noisy_moment_guarantee(budget, sigma, people, bound)

    return promise


def _ppca(settings: ReleaseSettings, n_samples: Sequence[int], n_features: int) -> Guarantee:
    # One component, or all but one, is drawn exactly; anything between takes chains.
    is_chain = settings.n_components not in (1, n_features - 1, n_features)
    return ppca_guarantee(PrivacyBudget(settings.budget.epsilon), is_chain=is_chain)


_PROMISES: dict[str, Promise] = {
    "dpdis": lambda settings, n_samples, _: promised_by_sites(settings, n_samples),
    "full": lambda settings, n_samples, _: promised_by_sites(settings, n_samples),
    "local": lambda settings, n_samples, _: promised_by_first_site(settings, n_samples),
    "pooled": lambda settings, n_samples, _: promised_by_holder(settings, n_samples),
    "ag": lambda settings, n_samples, _: promised_by_holder(settings, n_samples),
    "cape": _cape,
    "sulq": _with_sigma(sulq_sigma),
    "modsulq": _with_sigma(modsulq_sigma),
    "ppca": _ppca,
    "exact": lambda *_: no_guarantee(),
    "random": lambda *_: data_independent_guarantee(),
}
