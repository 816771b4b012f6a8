"""The mechanisms of this house on their worst neighbours, ready to be audited.

Sound cases claim what they hold exactly; the museum's claim more. A new mechanism is one function
that returns an `AuditCase` in its family's file, listed there; `covers` says which entry of which
register it attacks, and a test asks for one for every private entry.
"""

from __future__ import annotations

from functools import cache

from dpcore.experiments.audit.flawed_cases import flawed_cases
from dpcore.experiments.audit.noise_cases import message_cases, second_moment_cases
from dpcore.experiments.audit.pca_cases import central_cases, distributed_cases
from dpcore.experiments.audit.private_mean_cases import private_mean_cases
from dpcore.privacy.audit import AuditCase


@cache
def audit_cases(*, include_flawed: bool = True) -> tuple[AuditCase, ...]:
    """Every mechanism that can be audited, by family: the sound ones first, then the museum."""
    # These stand on scikit-learn, which takes longer to import than all of dpcore.
    from dpcore.experiments.audit.cape_cases import cape_cases
    from dpcore.experiments.audit.cca_cases import cca_cases
    from dpcore.experiments.audit.classification_cases import classification_cases
    from dpcore.experiments.audit.composed_cases import composed_cases
    from dpcore.experiments.audit.statistics_cases import statistics_cases

    sound = (
        *second_moment_cases(),
        *distributed_cases(),
        *message_cases(),
        *central_cases(),
        *private_mean_cases(),
        *cca_cases(),
        *cape_cases(),
        *statistics_cases(),
        *classification_cases(),
        *composed_cases(),
    )
    return sound + (flawed_cases() if include_flawed else ())
