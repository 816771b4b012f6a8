"""Second moments, denoising, leading eigenpairs, captured energy, principal angles."""

from dpcore.spectra.denoising import denoise, noise_edge_left
from dpcore.spectra.eigen import (
    CRITERIA,
    Spectrum,
    few_of_many,
    leading_eigenpairs,
    proxy_aggregates,
)
from dpcore.spectra.mean_denoising import denoise_mean
from dpcore.spectra.moments import RunningMoments, SiteMoments, second_moment, site_moments
from dpcore.spectra.public_bases import (
    COLUMNS,
    COLUMNS_WHERE_BETTER,
    PublicBasis,
    basis_of_halves,
    cosine_basis,
    picture_basis,
    uncentred_bases,
    uncentred_picture_basis,
)
from dpcore.spectra.public_constant import public_components, public_energy
from dpcore.spectra.public_kernel import public_kernel
from dpcore.spectra.site_rows import SiteRows
from dpcore.spectra.subspaces import (
    align_signs,
    captured_energy,
    cumulative_energy,
    principal_angles,
    projector_distance,
    random_subspace_energy,
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
    "basis_of_halves",
    "captured_energy",
    "cosine_basis",
    "cumulative_energy",
    "denoise",
    "denoise_mean",
    "few_of_many",
    "leading_eigenpairs",
    "noise_edge_left",
    "picture_basis",
    "principal_angles",
    "projector_distance",
    "proxy_aggregates",
    "public_components",
    "public_energy",
    "public_kernel",
    "random_subspace_energy",
    "second_moment",
    "site_moments",
    "uncentred_bases",
    "uncentred_picture_basis",
]
