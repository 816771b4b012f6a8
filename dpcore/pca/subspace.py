"""What a PCA gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpcore.privacy import Guarantee


@dataclass(frozen=True)
class Subspace:
    """A K-dimensional subspace, what it promises and what it cost to send.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows, leading one first.
    eigenvalues : ndarray of shape (n_components,)
        In units of the second moment the subspace was taken from.
    guarantee : Guarantee
    sigma : ndarray of shape (n_sites,)
        Noise standard deviation each site added to a second-moment entry, without masks that
        cancel; empty where sites add none.
    bytes_sent : ndarray of shape (n_sites,)
        Length of what each site sent; zero where a site sends nothing.
    n_rounds : int
        How many messages travel one after the other; those of different sites may go at once.
    diagnostics : dict
        What the method has to say about how it ran; empty for closed forms.
    """

    components: np.ndarray
    eigenvalues: np.ndarray
    guarantee: Guarantee
    sigma: np.ndarray = field(default_factory=lambda: np.zeros(0))
    bytes_sent: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_rounds: int = 1
    diagnostics: dict = field(default_factory=dict)
