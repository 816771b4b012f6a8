"""Register of protocols, the only source of facts about protocols for other modules.

A new protocol is a file of this folder: a function from a `Draw` to a `Subspace`, its guarantee and
its entry. Charges, controls, addresses, estimators, titles, looks, sweeps, the command line and the
audit read the register at run time, so that a new entry needs no change of other files.
"""

from __future__ import annotations

from dataclasses import replace

from dpcore.errors import ParameterError, require_one_of
from dpcore.pca.protocols.protocol import NoiseIdentity, Protocol

PROTOCOLS: dict[str, Protocol] = {}


def register(protocol: Protocol) -> Protocol:
    """Add a protocol to the register.

    Raises `ParameterError` if its key or its title is taken.
    """
    for other in PROTOCOLS.values():
        for name in ("key", "title"):
            if getattr(other, name).casefold() == getattr(protocol, name).casefold():
                raise ParameterError(name, "one that no protocol has", getattr(protocol, name))
    PROTOCOLS[protocol.key] = protocol
    return protocol


def protocol(key: str) -> Protocol:
    """Return the registered protocol of this name.

    Raises `ParameterError` with the known names.
    """
    require_one_of("protocol", key, PROTOCOLS)
    return PROTOCOLS[key]


# Settings that shape the noise of most protocols.
GAUSSIAN = ("delta", "calibration", "noise", "mean_share")
# A site's noise does not depend on the other sites. On the sphere the matrix does: sites are
# centred by the average mean of all that answer, and `local` by the first site's own mean.
_OWN_MOMENTS = NoiseIdentity("sites", "the moments of {sites}", GAUSSIAN)
_ON_SPHERE = replace(_OWN_MOMENTS, settings=(*GAUSSIAN, "dropped_sites"))
SITES_MOMENTS = replace(_OWN_MOMENTS, on_sphere=_ON_SPHERE)
FIRST_MOMENT = replace(
    _OWN_MOMENTS,
    on_sphere=replace(_ON_SPHERE, name="first site", words="the moment of the first of {sites}"),
)
POOLED_MOMENT = NoiseIdentity("pooled", "the pooled moment", (*GAUSSIAN, "dropped_sites"))
