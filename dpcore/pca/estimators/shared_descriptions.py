"""Descriptions that several estimators share, inserted into their docstrings."""

from __future__ import annotations

import re
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)
_PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)
# Entries and sections of numpydoc, by the text in braces that they replace.
_ENTRIES = {
    "n_components": """\
n_components : int
    K.""",
    "epsilon_delta": """\
epsilon, delta : float
    Requested guarantee of the release. ``epsilon=inf`` adds no noise.""",
    "calibration": """\
calibration : {"analytic", "classic", "published"}""",
    "noise": """\
noise : {"isometric", "triangle"}""",
    "image_shape": """\
image_shape : (height, width) or None
    Shape of pictures whose pixels are the columns, row by row.""",
    "picture": """\
picture : {"full", "centred"}
    Whether pictures fill the frame or show an object in its middle.""",
    "mean_share": """\
mean_share : float or None
    Share of the budget, in mu squared, for that mean. None computes it from public numbers
    (`dpcore.pca.settings`); with 0, rows are taken as centred.""",
    "row_norm_bound": """\
row_norm_bound : float
    c, public; see `on_long_rows`.""",
    "on_long_rows": """\
on_long_rows : {"clip", "refuse"}
    Treatment of rows longer than the bound. The error of "refuse" depends on the rows, and no
    guarantee covers it: use it only to check a table before anything is released.""",
    "random_state": """\
random_state : int, numpy.random.Generator, numpy.random.RandomState or None
    None uses fresh entropy of the operating system; see the warning.""",
    "components_": """\
components_ : ndarray of shape (n_components, n_features), orthonormal rows""",
    "eigenvalues_": """\
eigenvalues_ : ndarray of shape (n_components,)
    Eigenvalues in units of the second moment; on the sphere, of rows of length 1.""",
    "mean_": """\
mean_ : ndarray of shape (n_features,)
    Released mean, which `transform` subtracts; zero if none was released.""",
    "centre_choice_": """\
centre_choice_ : {"mean", "differences", "none"}
    Centre of the rows; without a mean it is zero.""",
    "guarantee_": """\
guarantee_ : Guarantee""",
    "explained_variance_": """\
explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
    Energy of each component without the noise, and its share of the total; ends of 90 %
    intervals are in `explained_variance_interval_` and `explained_variance_ratio_interval_`,
    shape (2, n_components).""",
    "n_features_in_": """\
n_features_in_ : int""",
    "feature_names_in_": """\
feature_names_in_ : ndarray of shape (n_features_in_,)
    Column names of X, if it has names.""",
    "preparation": """\
preparation : {"sphere", "bounded", "none"}
    "sphere": a private mean is released first, and every row is scaled to length 1 around it,
    so that only its direction counts; if `mean_share` is None and rows are no pictures, noisy
    votes of pairs of rows, which the guarantee includes, choose that mean, no centre, or
    differences of pairs in place of rows (`dpcore.pca.centre_rule`). "bounded": rows keep their
    length, up to the bound, and the outer product of a private mean is subtracted. "none": the
    same for rows that are already centred.""",
    "preparation_at_zero": """\
preparation : {"sphere", "bounded", "none"}
    "sphere": every row is scaled to length 1 around zero, so that only its direction counts.
    "bounded" and "none": rows keep their length, up to the bound. No mean is released.""",
    "truncation": """\
truncation : {"psd", "svd"}
    Rank eigenvalues of noisy matrices by value, or by magnitude as published.""",
    "denoise": """\
denoise : {"auto", "columns", "cosines", "none"}, PublicBasis or sequence of PublicBasis
    Public bases in which a noisy matrix is denoised before it is decomposed
    (`dpcore.spectra.denoise`). "auto" fits a prior mean if `image_shape` is given, and
    otherwise denoises columns if they differ in variance. It is "none" with published
    calibration, triangle noise or svd.""",
    "noise_scale_": """\
noise_scale_ : ndarray of shape (1,)
    Noise standard deviation in one second-moment entry.""",
    "assessment_": """\
assessment_ : Assessment
    Assessment from the noisy matrix, at no cost in budget (`dpcore.pca.assessment`). The
    following attributes are taken from it.""",
    "suggested_n_components_": """\
suggested_n_components_ : int
    Number of components that exceed the noise, too large in at most 1 % of releases.""",
    "warning": """\
Anyone who has `random_state` can remove the noise. Leave it None for every release of real
rows. Do not use an int for two data sets: with the same settings both get the same noise, and
their difference has none. It is never saved: copies made by pickle, joblib or copy have None.""",
    "matrix_noise": """\
{calibration}
{noise}
{truncation}
{denoise}
{image_shape}
{picture}""",
    "row_bound": """\
{row_norm_bound}
{on_long_rows}""",
    "subspace_": """\
{components_}
{eigenvalues_}
{mean_}
{centre_choice_}""",
    "input_": """\
{n_features_in_}
{feature_names_in_}""",
    "sections_of_sulq": """\
Parameters
----------
{n_components}
{epsilon_delta}
{truncation}
{preparation_at_zero}
{row_bound}
{random_state}

{sections_of_matrix}""",
    "sections_of_matrix": """\
Attributes
----------
{subspace_}
{noise_scale_}
{guarantee_}
{assessment_}
{explained_variance_}
{suggested_n_components_}
{input_}

Warnings
--------
{warning}""",
}


def insert_shared_descriptions(cls: _Class) -> _Class:
    """Replace each line `{name}` of a class's docstring, and of descriptions, by a description."""
    # Python has no docstrings if it runs with -OO.
    if cls.__doc__:
        cls.__doc__ = _PLACE.sub(_entry, cls.__doc__)
    return cls


def _entry(place: re.Match[str]) -> str:
    indent, name = place.groups()
    text = _PLACE.sub(_entry, _ENTRIES[name])
    return "\n".join(indent + line if line else "" for line in text.splitlines())
