"""What an algorithm would promise, from its settings and the number of people alone."""

from __future__ import annotations

from collections.abc import Sequence

from dpcore.data import DatasetStatus, split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.pca.spec import RunSpec
from dpcore.pca import ReleaseSettings
from dpcore.pca.protocols.cape import promised_by_masked_sites
from dpcore.pca.protocols.distributed import (
    promised_by_first_site,
    promised_by_holder,
    promised_by_sites,
)
from dpcore.pca.protocols.guarantees import Promise, data_independent_guarantee, no_guarantee
from dpcore.pca.protocols.trusted import promised_by_modsulq, promised_by_ppca, promised_by_sulq
from dpcore.privacy import Guarantee
from dpcore.streams import Purpose, stream


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


_PROMISES: dict[str, Promise] = {
    "dpdis": promised_by_sites,
    "full": promised_by_sites,
    "local": promised_by_first_site,
    "pooled": promised_by_holder,
    "ag": promised_by_holder,
    "cape": promised_by_masked_sites,
    "sulq": promised_by_sulq,
    "modsulq": promised_by_modsulq,
    "ppca": promised_by_ppca,
    "exact": no_guarantee,
    "random": data_independent_guarantee,
}
