"""Second moments, denoising, leading eigenpairs, captured energy, principal angles."""

from dpcore.spectra.denoise import COLUMNS, PublicBasis, cosine_basis, denoise, denoise_mean
from dpcore.spectra.eigen import (
    few_of_many,
    leading_eigenpairs,
    leading_eigenpairs_of_many,
    proxy_aggregates,
)
from dpcore.spectra.energy import (
    align_signs,
    captured_energy,
    cumulative_energy,
    principal_angles,
    projector_distance,
    random_subspace_energy,
)
from dpcore.spectra.moments import RunningMoments, SiteMoments, second_moment, site_moments
from dpcore.spectra.site_rows import SiteRows
from dpcore.spectra.spectrum import CRITERIA, Spectrum

__all__ = [
    "COLUMNS",
    "CRITERIA",
    "PublicBasis",
    "RunningMoments",
    "SiteMoments",
    "SiteRows",
    "Spectrum",
    "align_signs",
    "captured_energy",
    "cosine_basis",
    "cumulative_energy",
    "denoise",
    "denoise_mean",
    "few_of_many",
    "leading_eigenpairs",
    "leading_eigenpairs_of_many",
    "principal_angles",
    "projector_distance",
    "proxy_aggregates",
    "random_subspace_energy",
    "second_moment",
    "site_moments",
]
