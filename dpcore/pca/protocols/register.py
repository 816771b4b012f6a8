"""The register of protocols: all that anything else in the house knows about one of them.

A new protocol is one function from a `Draw` to a `Subspace` and one entry here. Promises, charges,
controls, addresses, estimators, titles, looks, sweeps, the command line and the audit read the
register whenever they are asked, so that a protocol registered while they run is everywhere.
"""

from __future__ import annotations

from dataclasses import replace

from dpcore.errors import ParameterError, require_one_of
from dpcore.pca.protocols.central import (
    modsulq,
    modsulq_average,
    ppca,
    promised_by_modsulq,
    promised_by_ppca,
    promised_by_sulq,
    sulq,
    sulq_average,
)
from dpcore.pca.protocols.distributed import (
    average_of_matrices,
    average_of_proxies,
    dpdis,
    exact,
    first_noisy_mean,
    first_site_alone,
    full,
    local,
    noisy_mean_of_holder,
    noisy_pool,
    pooled,
    promised_by_first_site,
    promised_by_holder,
    promised_by_sites,
    random,
)
from dpcore.pca.protocols.masked import (
    BY_SUMMANDS,
    cape,
    masked_average,
    noisy_mean_of_messages,
    promised_by_masked_sites,
    promised_by_summands,
    secure_sum,
)
from dpcore.pca.protocols.protocol import (
    Kind,
    Look,
    Neighbours,
    NoiseIdentity,
    Protocol,
    Where,
    data_independent_guarantee,
    no_guarantee,
)
from dpcore.pca.protocols.sequential import promised_in_a_chain, sequential
from dpcore.pca.protocols.wishart import noisy_mean_of_wishart, promised_by_wishart, wishart

PROTOCOLS: dict[str, Protocol] = {}


def register(protocol: Protocol) -> Protocol:
    """Enter a protocol; from now on it is everywhere.

    Raises `ParameterError` if its key or its title is taken.
    """
    for known in PROTOCOLS.values():
        for name in ("key", "title"):
            if getattr(known, name).casefold() == getattr(protocol, name).casefold():
                raise ParameterError(name, "one that no protocol has", getattr(protocol, name))
    PROTOCOLS[protocol.key] = protocol
    return protocol


def protocol(key: str) -> Protocol:
    """The registered protocol of this name.

    Raises `ParameterError` naming the known ones.
    """
    require_one_of("protocol", key, PROTOCOLS)
    return PROTOCOLS[key]


# What shapes the noise of most; others have formulas of their own.
GAUSSIAN = ("delta", "calibration", "noise", "mean_share")
# Each site's noise is its own, whoever else answers; on the sphere that has a say in what the
# sites centre by, and a site on its own centres by another mean.
_ALONE = NoiseIdentity("sites", "the moments of {sites}", GAUSSIAN)
_ON_SPHERE = replace(_ALONE, settings=(*GAUSSIAN, "dropped_sites"))
SITES_MOMENTS = replace(_ALONE, on_sphere=_ON_SPHERE)
FIRST_MOMENT = replace(
    _ALONE,
    on_sphere=replace(_ON_SPHERE, name="first site", words="the moment of the first of {sites}"),
)
POOLED_MOMENT = NoiseIdentity("pooled", "the pooled moment", (*GAUSSIAN, "dropped_sites"))


for _entry in (
    Protocol(
        "dpdis",
        "DPdisPCA",
        "Each site adds noise to its second moment and sends its top R directions.",
        dpdis,
        promised_by_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        average=average_of_proxies,
        wants_proxies=True,
        look=Look("#D55E00", "circle"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "full",
        "Full matrices",
        "Each site sends its whole noisy second moment: nothing is cut, more is sent.",
        full,
        promised_by_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        average=average_of_matrices,
        wants_average=True,
        look=Look("#009E73", "diamond"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "local",
        "One site alone",
        "The first site runs private PCA on its own people and sends nothing.",
        local,
        promised_by_first_site,
        Kind.APPROXIMATE,
        Where.FIRST_SITE,
        FIRST_MOMENT,
        average=first_site_alone,
        look=Look("#E69F00", "triangle-up"),
        neighbours=Neighbours(n_sites=2, noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "pooled",
        "Pooled, trusted",
        "A trusted aggregator holds all rows and adds noise once.",
        pooled,
        promised_by_holder,
        Kind.APPROXIMATE,
        Where.AFTER_POOLING,
        POOLED_MOMENT,
        average=noisy_pool,
        look=Look("#0072B2", "square"),
        neighbours=Neighbours(n_sites=2, noisy_mean=noisy_mean_of_holder),
    ),
    Protocol(
        "cape",
        "CAPE",
        "Sites send whole matrices under masks that cancel: almost the noise of pooled rows.",
        cape,
        promised_by_masked_sites,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        NoiseIdentity(
            "cape", "the average moment of {sites}", (*GAUSSIAN, "masks", "honest_sites")
        ),
        average=masked_average,
        look=Look("#CC79A7", "pentagon"),
        neighbours=Neighbours(
            n_sites=4,
            settings=(("masks", "wide"),),
            noisy_mean=noisy_mean_of_messages,
            has_own_cases=True,
        ),
    ),
    Protocol(
        "securesum",
        "Secure sum",
        "Sites send whole numbers under pairwise masks: the aggregator sees only their sum.",
        secure_sum,
        promised_by_summands,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        NoiseIdentity(
            "secure sum",
            "the sum of the moments of {sites}",
            (*GAUSSIAN, "honest_sites", "dropped_sites"),
        ),
        average=BY_SUMMANDS.average,
        look=Look("#661100", "hexagon", "dashdot"),
        neighbours=Neighbours(n_sites=4, noisy_mean=BY_SUMMANDS.mean, has_own_cases=True),
    ),
    Protocol(
        "sequential",
        "Chain of sites",
        "Sites in random order hand on the top R directions of their noisy moments so far.",
        sequential,
        promised_in_a_chain,
        Kind.APPROXIMATE,
        Where.EVERY_SITE,
        SITES_MOMENTS,
        silent_because="each site cuts what it is handed, and nobody holds the noisy matrix",
        wants_proxies=True,
        is_chain=True,
        look=Look("#882255", "bowtie", "dashdot"),
        neighbours=Neighbours(noisy_mean=first_noisy_mean),
    ),
    Protocol(
        "wishart",
        "Wishart difference",
        "A trusted aggregator adds one Wishart matrix, takes off another: pure ε, drawn exactly.",
        wishart,
        promised_by_wishart,
        Kind.PURE,
        Where.AFTER_POOLING,
        NoiseIdentity(
            "wishart",
            "the pooled moment, by a Wishart difference",
            ("mean_share", "dropped_sites"),
        ),
        silent_because="how much noise that is not Gaussian flatters its choice is not known",
        look=Look("#44AA99", "hexagram", "longdash"),
        neighbours=Neighbours(epsilon=3.0, noisy_mean=noisy_mean_of_wishart),
    ),
    Protocol(
        "exact",
        "Exact PCA",
        "No noise and no promise: the optimum the others are measured against.",
        exact,
        no_guarantee,
        Kind.NONE,
        Where.HOLDER,
        look=Look("#1a1a1a", "line-ew-open", "dash"),
    ),
    Protocol(
        "random",
        "Random subspace",
        "Never looks at the data: the floor.",
        random,
        data_independent_guarantee,
        Kind.PURE,
        Where.HOLDER,
        look=Look("#8a8a8a", "x-thin-open", "dot"),
    ),
    Protocol(
        "ag",
        "Analyze Gauss",
        "Central: Gaussian noise on everybody's second moment.",
        pooled,
        promised_by_holder,
        Kind.APPROXIMATE,
        Where.HOLDER,
        POOLED_MOMENT,
        average=noisy_pool,
        look=Look("#0072B2", "square-open"),
        neighbours=Neighbours(noisy_mean=noisy_mean_of_holder),
    ),
    Protocol(
        "sulq",
        "SuLQ",
        "Central: noise on every entry, scaled by a bound that grows with the dimension.",
        sulq,
        promised_by_sulq,
        Kind.APPROXIMATE,
        Where.HOLDER,
        NoiseIdentity("sulq", "the pooled moment, by SuLQ", ("delta", "dropped_sites")),
        average=sulq_average,
        look=Look("#999933", "hourglass"),
        # Its noise is far above what it promises: of this, about 1 is left.
        neighbours=Neighbours(epsilon=15.0),
    ),
    Protocol(
        "modsulq",
        "MOD-SuLQ",
        "Central: the same idea with symmetric noise and a smaller bound.",
        modsulq,
        promised_by_modsulq,
        Kind.APPROXIMATE,
        Where.HOLDER,
        NoiseIdentity("modsulq", "the pooled moment, by MOD-SuLQ", ("delta", "dropped_sites")),
        average=modsulq_average,
        look=Look("#56B4E9", "triangle-down"),
        neighbours=Neighbours(epsilon=5.0),
    ),
    Protocol(
        "ppca",
        "PPCA",
        "Central: draws a subspace at random, likelier the more variation it captures.",
        ppca,
        promised_by_ppca,
        Kind.PURE,
        Where.HOLDER,
        # Chains that ran together are another draw in other company.
        NoiseIdentity(
            "ppca", "the choice of a subspace", ("components", "chains", "dropped_sites")
        ),
        silent_because="it draws a subspace and releases nothing else: nothing in it says how good "
        "it is, and an estimate would take a budget of its own",
        look=Look("#AA4499", "star"),
    ),
):
    register(_entry)
