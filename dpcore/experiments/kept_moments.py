"""Site moments stored between two starts of a server, in the folder of finished rows.

Reading MNIST and computing its second moments takes one to two seconds; reading them back takes a
tenth of that. The SHA-256 of the files that hold the rows is part of an entry's key and is computed
each time, so that another file under the same name and date gets another entry. On the sphere, rows
have no moments before a private mean is drawn: the moments around the mean of a draw are entries of
their own, keyed by the exact bits of that mean and by the rows of the site. The moments are exact
and not private: a reader of the folder reads the second moments without noise.
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

from dpcore.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dpcore.data import Prepared
from dpcore.data.loading import dataset_files, entry_of
from dpcore.errors import DataUnavailable
from dpcore.experiments.problem import DataDescription, Problem, SiteData, site_data
from dpcore.experiments.spec import ProblemKey
from dpcore.experiments.store import Store
from dpcore.spectra import SiteMoments, SiteRows

_KIND = "site moments in float64"


def load_or_compute(key: ProblemKey, read: Callable[[], Prepared]) -> SiteData:
    """Return the site data of a key, from the folder or computed and stored there.

    Only of data sets that are read from files: the others are made in no time. What is damaged is
    made again. Rows that wait for a centre are read when a moment is asked for that is not there.

    read: Reads the rows.
    """
    digests = _digests(key.dataset)
    if not digests:
        return site_data(key, read)
    store = Store()
    identity: list[object] = [_KIND, asdict(key), digests]
    content = store.content(identity)
    rows = _Rows(key.dataset, digests, read)
    if content is None:
        made = site_data(key, read)
        # A file that was exchanged while it was read would be kept under the other one's name.
        rows.are_these = _digests(key.dataset) == digests
        if rows.are_these:
            _keep(store, identity, _packed(made))
    else:
        made = _unpacked(content, rows)
    if not isinstance(made.moments, SiteRows):
        return made
    around = _Centred([f"{_KIND} around a centre", key.data, digests])
    shape = entry_of(key.dataset).image_shape
    known = replace(made.moments, read=rows, shelf=around, image_shape=shape)
    return replace(made, moments=known)


def with_stored_centres(problem: Problem) -> Problem:
    """Return a copy of the problem that stores the moments around requested centres.

    What is kept of a draw on MNIST takes 7 MB: not for every draw of every setting.
    """
    rows = problem.moments
    if not isinstance(rows, SiteRows) or not isinstance(rows.shelf, _Centred):
        return problem
    return replace(problem, moments=replace(rows, shelf=replace(rows.shelf, keeps=True)))


@dataclass(frozen=True)
class _Centred:
    """A `Shelf` of moments around centres of the rows that have this identity."""

    identity: list[object]
    keeps: bool = False

    def __call__(
        self, sites: tuple[IntArray, ...], centre: FloatArray, make: Callable[[], FloatArray]
    ) -> FloatArray:
        who = hashlib.sha256(b"".join(np.ascontiguousarray(site).data for site in sites))
        where = hashlib.sha256(centre.tobytes())
        store = Store()
        identity = [*self.identity, [len(site) for site in sites]]
        identity += [who.hexdigest(), where.hexdigest()]
        content = store.content(identity)
        if content is not None:
            return _squared(np.frombuffer(content, np.float64), len(centre))
        made = make()
        if self.keeps and (triangle := _triangle(made)) is not None:
            store.keep_content(identity, triangle.tobytes())
        return made


@dataclass(eq=False)
class _Rows:
    """The rows behind moments that were found in the folder, read when they are needed."""

    dataset: str
    digests: list[str]
    read: Callable[[], Prepared]
    are_these: bool = False

    def __call__(self) -> FloatArray:
        rows = self.read().X
        if not self.are_these and _digests(self.dataset) != self.digests:
            raise DataUnavailable(
                f"The files of {self.dataset} have been exchanged since its second moments were "
                "read: start the server again."
            )
        self.are_these = True
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


def _packed(data: SiteData) -> dict[str, AnyArray] | None:
    moments = data.moments
    arrays = {"about": np.array(json.dumps(asdict(data.about))), "centre": data.centre}
    arrays |= {"precision": np.array(moments.dtype.name)}
    arrays |= {"means": moments.means, "n_samples": moments.n_samples}
    if isinstance(moments, SiteRows):
        everybody = moments.as_they_are
        arrays |= {"everybodys_mean": everybody.means, "members": np.concatenate(moments.sites)}
        if moments.half_widths is not None:
            arrays["half_widths"] = moments.half_widths
        moments = everybody
    triangles = [_triangle(own) for own in moments.second_moments]
    whole = [each for each in triangles if each is not None]
    return arrays | {"triangles": np.stack(whole)} if len(whole) == len(triangles) else None


def _keep(store: Store, identity: list[object], arrays: dict[str, AnyArray] | None) -> None:
    if arrays is not None:
        np.savez(packed := BytesIO(), allow_pickle=False, **arrays)
        store.keep_content(identity, packed.getvalue())


def _unpacked(content: bytes, read: Callable[[], FloatArray]) -> SiteData:
    """Read the result of `_packed`, whose checksum the store has verified."""
    with np.load(BytesIO(content)) as packed:
        arrays = dict(packed)
    found = json.loads(str(arrays["about"]))
    about = DataDescription(**found | {"feature_names": tuple(found["feature_names"])})
    means, n_samples = arrays["means"], arrays["n_samples"]
    second_moments = np.stack([_squared(own, means.shape[1]) for own in arrays["triangles"]])
    precision = np.dtype(str(arrays["precision"]))
    if "members" not in arrays:
        moments = SiteMoments(second_moments, means, n_samples, precision)
        return SiteData(moments, arrays["centre"], about)
    everybody = SiteMoments(second_moments, arrays["everybodys_mean"], n_samples.sum(keepdims=True))
    members = tuple(np.split(arrays["members"], np.cumsum(n_samples)[:-1]))
    rows = SiteRows(
        read,
        precision,
        members,
        means,
        n_samples,
        arrays.get("half_widths"),
        known=[everybody],
    )
    return SiteData(rows, arrays["centre"], about)


def _triangle(matrix: FloatArray) -> FloatArray | None:
    """Half of a matrix that is symmetric to the bit; None of another."""
    if not np.array_equal(matrix, matrix.T):
        return None
    half: FloatArray = matrix[_upper(len(matrix))]
    return half


def _squared(triangle: FloatArray, n_features: int) -> FloatArray:
    upper = _upper(n_features)
    matrix = np.empty((n_features, n_features), triangle.dtype)
    matrix[upper] = triangle
    matrix.T[upper] = triangle
    return matrix


@lru_cache(maxsize=1)
def _upper(n_features: int) -> BoolArray:
    return np.tri(n_features, dtype=np.bool_).T
