"""Site moments stored between two starts of a server, in the folder of finished rows.

Reading MNIST and computing its second moments takes one to two seconds; reading stored moments
takes a tenth of that. The key of an entry contains the SHA-256 of the files with the rows, which is
computed at each start, so another file with the same name and date has another entry. On the
sphere, the second moments are needed only around the private mean of a draw; the entry then
contains the exact mean and the moments of the rows before scaling. The moments are exact and not
private: readers of the folder see second moments without noise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np

from dpcore.arrays import AnyArray, BoolArray, FloatArray
from dpcore.data import Prepared
from dpcore.data.catalog import entry_of
from dpcore.data.loading import dataset_files
from dpcore.errors import DataUnavailable
from dpcore.experiments.engine.fields import ProblemKey
from dpcore.experiments.engine.store import Store
from dpcore.experiments.pca.problem import DataDescription, SiteData, site_data
from dpcore.spectra import SiteMoments, SiteRows

_KIND = "site moments in float64"


def load_or_compute(key: ProblemKey, read: Callable[[], Prepared]) -> SiteData:
    """Return the site data of a key, from the folder or computed and stored there.

    Only data sets that are read from files are stored; the others are fast to create. A damaged
    entry is computed again. On the sphere, the rows are read when a draw needs them.

    read: Function that reads the rows.
    """
    digests = _digests(key.dataset)
    if not digests:
        return site_data(key, read)
    store = Store()
    identity: list[object] = [_KIND, asdict(key), digests]
    content = store.content(identity)
    rows = _Rows(key.dataset, digests, read)
    if content is None:
        data = site_data(key, read)
        # A file that was replaced while it was read must not be stored under the old digest.
        rows.is_verified = _digests(key.dataset) == digests
        if rows.is_verified:
            _store_arrays(store, identity, _pack(data))
    else:
        data = _unpack(content, rows)
    if not isinstance(data.moments, SiteRows):
        return data
    entry = entry_of(key.dataset)
    return replace(
        data,
        moments=replace(
            data.moments, read=rows, image_shape=entry.image_shape, picture=entry.picture
        ),
    )


@dataclass(eq=False)
class _Rows:
    """Function that reads the rows behind stored moments and verifies their digests once."""

    dataset: str
    digests: list[str]
    read: Callable[[], Prepared]
    is_verified: bool = False

    def __call__(self) -> FloatArray:
        rows = self.read().X
        if not self.is_verified and _digests(self.dataset) != self.digests:
            raise DataUnavailable(
                f"The files of {self.dataset} have been exchanged since its second moments were "
                "read. Start the server again."
            )
        self.is_verified = True
        return rows


def _digests(dataset: str) -> list[str]:
    """Return the digests of the files of a data set; empty if there are no files."""
    try:
        return [_sha256(path) for path in dataset_files(dataset)]
    except OSError:
        return []


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pack(data: SiteData) -> dict[str, AnyArray] | None:
    moments = data.moments
    arrays = {"about": np.array(json.dumps(asdict(data.about))), "centre": data.centre}
    arrays |= {"precision": np.array(moments.dtype.name)}
    arrays |= {"means": moments.means, "n_samples": moments.n_samples}
    if isinstance(moments, SiteRows):
        whole = moments.unscaled_moments
        arrays |= {"mean_of_all_rows": whole.means, "members": np.concatenate(moments.sites)}
        if moments.half_widths is not None:
            arrays["half_widths"] = moments.half_widths
        moments = whole
    triangles = [_triangle(moment) for moment in moments.second_moments]
    complete = [triangle for triangle in triangles if triangle is not None]
    if len(complete) < len(triangles):
        return None
    return arrays | {"triangles": np.stack(complete)}


def _store_arrays(store: Store, identity: list[object], arrays: dict[str, AnyArray] | None) -> None:
    if arrays is not None:
        np.savez(packed := BytesIO(), allow_pickle=False, **arrays)
        store.keep_content(identity, packed.getvalue())


def _unpack(content: bytes, read: Callable[[], FloatArray]) -> SiteData:
    """Read the result of `_pack`, whose checksum the store has verified."""
    with np.load(BytesIO(content)) as packed:
        arrays = dict(packed)
    fields = json.loads(str(arrays["about"]))
    about = DataDescription(**fields | {"feature_names": tuple(fields["feature_names"])})
    means, n_samples = arrays["means"], arrays["n_samples"]
    second_moments = np.stack(
        [_square_matrix(triangle, means.shape[1]) for triangle in arrays["triangles"]]
    )
    precision = np.dtype(str(arrays["precision"]))
    if "members" not in arrays:
        moments = SiteMoments(second_moments, means, n_samples, precision)
        return SiteData(moments, arrays["centre"], about)
    whole = SiteMoments(second_moments, arrays["mean_of_all_rows"], n_samples.sum(keepdims=True))
    members = tuple(np.split(arrays["members"], np.cumsum(n_samples)[:-1]))
    rows = SiteRows(
        read,
        precision,
        members,
        means,
        n_samples,
        arrays.get("half_widths"),
        cached_moments=[whole],
    )
    return SiteData(rows, arrays["centre"], about)


def _triangle(matrix: FloatArray) -> FloatArray | None:
    """Return half of an exactly symmetric matrix; None for other matrices."""
    if not np.array_equal(matrix, matrix.T):
        return None
    half: FloatArray = matrix[_upper(len(matrix))]
    return half


def _square_matrix(triangle: FloatArray, n_features: int) -> FloatArray:
    upper = _upper(n_features)
    matrix = np.empty((n_features, n_features), triangle.dtype)
    matrix[upper] = triangle
    matrix.T[upper] = triangle
    return matrix


@lru_cache(maxsize=1)
def _upper(n_features: int) -> BoolArray:
    return np.tri(n_features, dtype=np.bool_).T
