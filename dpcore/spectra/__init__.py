"""Second moments, denoising, leading eigenpairs, captured energy, principal angles."""

from dpcore.spectra.denoising import (
    COLUMNS,
    COLUMNS_WHERE_BETTER,
    PublicBasis,
    cosine_basis,
    denoise,
    denoise_mean,
    slopes_in_columns,
)
from dpcore.spectra.eigen import (
    CRITERIA,
    Spectrum,
    align_signs,
    captured_energy,
    cumulative_energy,
    few_of_many,
    leading_eigenpairs,
    leading_eigenpairs_of_many,
    principal_angles,
    projector_distance,
    proxy_aggregates,
    random_subspace_energy,
)
from dpcore.spectra.moments import (
    RunningMoments,
    SiteMoments,
    SiteRows,
    second_moment,
    site_moments,
)

__all__ = [
    "COLUMNS",
    "COLUMNS_WHERE_BETTER",
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
    "slopes_in_columns",
]
