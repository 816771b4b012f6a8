"""Assessment of a release from its own noisy matrices: captured energy with an interval.

All of it is post-processing of noisy values, so it costs no budget. `assess` treats plain
eigenvectors of one noisy matrix in closed form; `assess_by_probes` treats averages of denoised or
cut matrices. Formulas, derivation and measured coverage: `docs/algorithms/self-assessment.md`.
"""

from dpcore.pca.assessment.averages import assess_by_probes
from dpcore.pca.assessment.basis_choice import (
    choose_bases,
    columns_differ,
    off_diagonal_energy,
)
from dpcore.pca.assessment.eigenvectors import assess
from dpcore.pca.assessment.estimates import LEVEL, Assessment, Estimate
from dpcore.pca.assessment.noise_spectrum import (
    ERROR_RATE,
    n_above_noise,
    noise_edge,
    off_diagonal_sigma,
)
from dpcore.pca.assessment.probes import NoisyMean, NoisyPart, SiteAnswer, SiteQuery, answer

__all__ = [
    "ERROR_RATE",
    "LEVEL",
    "Assessment",
    "Estimate",
    "NoisyMean",
    "NoisyPart",
    "SiteAnswer",
    "SiteQuery",
    "answer",
    "assess",
    "assess_by_probes",
    "choose_bases",
    "columns_differ",
    "n_above_noise",
    "noise_edge",
    "off_diagonal_energy",
    "off_diagonal_sigma",
]
