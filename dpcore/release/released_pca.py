"""Read a release folder as a fitted scikit-learn transformer."""

from __future__ import annotations

import json
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from dpcore.arrays import FloatArray
from dpcore.errors import ParameterError
from dpcore.release.dictionary import Dictionary
from dpcore.release.dictionary_file import dictionary_from
from dpcore.release.encoding import grid_blocks
from dpcore.release.integer_rows import GRID
from dpcore.release.measurement import ESTIMATES
from dpcore.release.release_files import CERTIFICATE, COMPONENTS
from dpcore.release.table_file import require_regular_file
from dpcore.release.tables import Table

_LARGEST_CERTIFICATE = 1 << 26


class ReleasedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components from a release folder.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), orthonormal rows
    mean_ : ndarray of shape (n_features,)
        Private centre, in units in which every column reaches to 1 around its middle.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the noisy second moment.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Unbiased estimates from the release; NaN if noise hides the value. The first is a sum over
        rows of length at most 1.
    explained_variance_interval_, explained_variance_ratio_interval_ : ndarray, (2, n_components)
        Ends of intervals that cover the exact value in 90 of 100 releases.
    features_ : tuple of str
        Names of the features: a column, or one of its levels.
    certificate_ : dict
    dictionary_ : Dictionary
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : ndarray of str, names of these columns

    Warnings
    --------
    Projected rows are as private as the rows: only the components were released.
    """

    components_: FloatArray
    mean_: FloatArray
    eigenvalues_: FloatArray
    explained_variance_: FloatArray
    explained_variance_interval_: FloatArray
    explained_variance_ratio_: FloatArray
    explained_variance_ratio_interval_: FloatArray
    features_: tuple[str, ...]
    certificate_: dict[str, Any]
    dictionary_: Dictionary

    def __init__(self, folder: Path | str = "") -> None:
        self.folder = folder

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Read the folder. X is ignored, since a release does not change.

        Raises
        ------
        ParameterError
            If a file is missing or damaged, or the components are not those certified.
        """
        self.certificate_ = read_certificate(self.folder)
        try:
            self.dictionary_ = dictionary_from(self.certificate_["dictionary"])
            content = (Path(self.folder) / COMPONENTS).read_bytes()
            if sha256(content).hexdigest() != self.certificate_["files"][COMPONENTS]:
                raise ParameterError("folder", "a release as it was certified", str(self.folder))
            with np.load(BytesIO(content), allow_pickle=False) as arrays:
                self.components_, self.mean_ = arrays["components"], arrays["centre"]
                self.eigenvalues_ = arrays["eigenvalues"]
                for name in ESTIMATES:
                    setattr(self, f"{name}_", arrays[name][0])
                    setattr(self, f"{name}_interval_", arrays[name][1:])
        except ParameterError:
            raise
        except (
            KeyError, TypeError, AttributeError, ValueError, IndexError, OSError, EOFError,
        ) as error:  # fmt: skip
            raise ParameterError("folder", "a sound release", str(self.folder)) from error
        self.features_ = self.dictionary_.features
        if self.components_.shape[1:] != self.mean_.shape != (len(self.features_),):
            raise ParameterError("folder", "a sound release", str(self.folder))
        self.feature_names_in_ = np.array([c.name for c in self.dictionary_.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the coordinates of new rows along the components, shape (n_rows, n_components).

        Cells are clipped to the dictionary's limits, as in the release. The result is not private.

        Parameters
        ----------
        X : path, mapping of str to arrays, DataFrame or ndarray
            Argument of `Table`; a matrix has the dictionary's columns in their order.
        """
        columns_only = Dictionary(self.dictionary_.columns)
        table = Table(X, columns_only.keys, columns_only.n_features)
        blocks = grid_blocks(table, columns_only)
        turned = [(rows / GRID - self.mean_) @ self.components_.T for rows in blocks]
        return np.concatenate(turned) if turned else np.empty((0, len(self.components_)))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def load_release(folder: Path | str) -> ReleasedPCA:
    """Read a release as a fitted transformer.

    Parameters
    ----------
    folder : path
        Folder of one release.

    Raises
    ------
    ParameterError
        If the folder is not a complete release.
    """
    return ReleasedPCA(folder).fit()


def read_certificate(folder: Path | str) -> dict[str, Any]:
    """Read the certificate in a release folder.

    folder: path
    Raises `ParameterError` if it is missing or not JSON.
    """
    try:
        require_regular_file("folder", Path(folder) / CERTIFICATE)
        with open(Path(folder) / CERTIFICATE, "rb") as file:
            certificate = json.loads(file.read(_LARGEST_CERTIFICATE), parse_constant=_refuse)
    except (OSError, ValueError, RecursionError) as error:
        raise ParameterError("folder", "a release with a certificate", str(folder)) from error
    if not isinstance(certificate, dict):
        raise ParameterError("folder", "a release with a certificate", str(folder))
    return certificate


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
