"""The one register of algorithms.

A new algorithm is one function in its family's file and one entry here; every page, the command
line and the sweeps then have it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpcore.errors import ParameterError
from dpcore.pca import Draw, Subspace
from dpcore.pca.protocols.cape import cape
from dpcore.pca.protocols.distributed import dpdis, exact, full, local, pooled, random
from dpcore.pca.protocols.trusted import modsulq, ppca, sulq

PURE, APPROXIMATE, NO_PROMISE = "pure ε", "(ε, δ)", "none"


@dataclass(frozen=True)
class Method:
    """An algorithm that turns a draw into a subspace.

    Parameters
    ----------
    key, title : str
        The name in specs and on the command line; the name on a page.
    release : callable
        Draw -> Subspace.
    promise : str
        Kind of guarantee.
    summary : str
        One sentence: who adds noise where, and what is sent.
    distributed : bool
        Whether it works on sites, or on everybody's rows in one place.
    wants_proxies, wants_average : bool
        Which products of the sites it reads.
    """

    key: str
    title: str
    release: Callable[[Draw], Subspace]
    promise: str
    summary: str
    distributed: bool
    wants_proxies: bool = False
    wants_average: bool = False


METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method(
            "dpdis",
            "DPdisPCA",
            dpdis,
            APPROXIMATE,
            "Each site adds noise to its second moment and sends its top R directions.",
            distributed=True,
            wants_proxies=True,
        ),
        Method(
            "full",
            "Full matrices",
            full,
            APPROXIMATE,
            "Each site sends its whole noisy second moment: nothing is cut, more is sent.",
            distributed=True,
            wants_average=True,
        ),
        Method(
            "local",
            "One site alone",
            local,
            APPROXIMATE,
            "The first site runs private PCA on its own people and sends nothing.",
            distributed=True,
        ),
        Method(
            "pooled",
            "Pooled, trusted",
            pooled,
            APPROXIMATE,
            "A trusted aggregator holds all rows and adds noise once.",
            distributed=False,
        ),
        Method(
            "cape",
            "CAPE",
            cape,
            APPROXIMATE,
            "Sites send whole matrices under masks that cancel: almost the noise of pooled rows.",
            distributed=True,
        ),
        Method(
            "exact",
            "Exact PCA",
            exact,
            NO_PROMISE,
            "No noise and no promise: the optimum the others are measured against.",
            distributed=False,
        ),
        Method(
            "random",
            "Random subspace",
            random,
            PURE,
            "Never looks at the data: the floor.",
            distributed=False,
        ),
        Method(
            "ag",
            "Analyze Gauss",
            pooled,
            APPROXIMATE,
            "Central: Gaussian noise on everybody's second moment.",
            distributed=False,
        ),
        Method(
            "sulq",
            "SuLQ",
            sulq,
            APPROXIMATE,
            "Central: noise on every entry, scaled by a bound that grows with the dimension.",
            distributed=False,
        ),
        Method(
            "modsulq",
            "MOD-SuLQ",
            modsulq,
            APPROXIMATE,
            "Central: the same idea with symmetric noise and a smaller bound.",
            distributed=False,
        ),
        Method(
            "ppca",
            "PPCA",
            ppca,
            PURE,
            "Central: draws a subspace at random, likelier the more energy it captures.",
            distributed=False,
        ),
    )
}


def method(key: str) -> Method:
    """The registered algorithm of this name.

    Raises
    ------
    ParameterError
        Naming the known ones.
    """
    if key not in METHODS:
        raise ParameterError("protocol", f"one of {', '.join(METHODS)}", key)
    return METHODS[key]
