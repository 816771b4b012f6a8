"""The mechanisms of this house on their worst neighbours, ready to be audited.

Sound cases claim what they hold exactly; the museum's claim more. Protocols of PCA are attacked as
their entries in the register say. Any other mechanism is one function that returns an `AuditCase`
in its family's file, listed there; `covers` says which entry of which register it attacks, and a
test asks for one for every private entry.
"""

from __future__ import annotations

from functools import cache
from itertools import chain

from dpcore.experiments.audit.flawed_cases import flawed_cases
from dpcore.experiments.audit.noise_cases import message_cases, second_moment_cases
from dpcore.experiments.audit.pca_cases import cases_of, ppca_by_chains_case
from dpcore.experiments.audit.private_mean_cases import private_mean_cases_of
from dpcore.pca.protocols.entry import Protocol
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.audit import AuditCase


def audit_cases(*, include_flawed: bool = True) -> tuple[AuditCase, ...]:
    """Every mechanism that can be audited, by family: the sound ones first, then the museum."""
    sound = _sound(tuple(PROTOCOLS.values()))
    return sound + (_flawed() if include_flawed else ())


_flawed = cache(flawed_cases)


@cache
def _sound(protocols: tuple[Protocol, ...]) -> tuple[AuditCase, ...]:
    # These stand on scikit-learn, which takes longer to import than all of dpcore.
    from dpcore.experiments.audit.cape_cases import cape_cases
    from dpcore.experiments.audit.cca_cases import cca_cases
    from dpcore.experiments.audit.classification_cases import classification_cases
    from dpcore.experiments.audit.composed_cases import composed_cases
    from dpcore.experiments.audit.statistics_cases import statistics_cases

    return (
        *second_moment_cases(),
        *chain.from_iterable(map(_of_protocol, protocols)),
        ppca_by_chains_case(),
        *message_cases(),
        *cca_cases(),
        *cape_cases(),
        *statistics_cases(),
        *classification_cases(),
        *composed_cases(),
    )


@cache
def _of_protocol(entry: Protocol) -> tuple[AuditCase, ...]:
    return (*cases_of(entry), *private_mean_cases_of(entry))
