"""Site moments between two starts of a server: in the folder of finished rows.

Reading MNIST and its sites' second moments takes a second and a half, reading them back a tenth
of that. An entry is found by the SHA-256 of the files that hold the rows, read anew each time, so
that another file under the same name and date is another entry. The moments are exact: whoever may
read the folder reads what no noise covers, as in the data home.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np

from dpcore.data.loading import dataset_files
from dpcore.experiments.engine.result_store import Store
from dpcore.experiments.pca.site_data import About, SiteData
from dpcore.experiments.pca.spec import ProblemKey
from dpcore.spectra import SiteMoments, SiteRows

_KIND = "site moments"


def kept_or_made(key: ProblemKey, make: Callable[[], SiteData]) -> SiteData:
    """The site data of a key: found in the folder, or made and kept there.

    Only of data sets that are read from files: the others are made in no time. What is damaged is
    made again.

    Parameters
    ----------
    key : ProblemKey
    make : callable
        Reads the rows.
    """
    identity = _identity(key)
    if identity is None:
        return make()
    store = Store()
    content = store.content(identity)
    found = None if content is None else _unpacked(content)
    if found is not None:
        return found
    made = make()
    # A file that was exchanged while it was read would be kept under the other one's name.
    if _identity(key) == identity and (packed := _packed(made)) is not None:
        store.keep_content(identity, packed)
    return made


def _identity(key: ProblemKey) -> list[object] | None:
    try:
        digests = [_sha256(path) for path in dataset_files(key.dataset)]
    except OSError:
        return None
    return [_KIND, asdict(key), digests] if digests else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _packed(data: SiteData) -> bytes | None:
    """A line that says what follows, then arrays; None where sites go on needing their rows.

    Of matrices that are symmetric to the bit one triangle is enough, half the bytes.
    """
    moments = data.moments
    if isinstance(moments, SiteRows) or not all(
        np.array_equal(own, own.T) for own in moments.second_moments
    ):
        return None
    head = asdict(data.about) | {
        "shape": moments.means.shape,
        "dtype": moments.second_moments.dtype.str,
    }
    upper = np.triu_indices(moments.n_features)
    triangles = [own[upper] for own in moments.second_moments]
    arrays = (moments.n_samples, moments.means, data.centre, *triangles)
    return b"\n".join([json.dumps(head).encode(), b"".join(map(np.ndarray.tobytes, arrays))])


def _unpacked(content: bytes) -> SiteData:
    """What `_packed` packed; the store has seen that it is whole."""
    line, _, rest = content.partition(b"\n")
    head = json.loads(line)
    (n_sites, n_features), dtype = head["shape"], np.dtype(head["dtype"])
    length = n_features * (n_features + 1) // 2
    start = 0

    def array(dtype: np.dtype, count: int) -> np.ndarray:
        nonlocal start
        found = np.frombuffer(rest, dtype, count, start)
        start += found.nbytes
        return found

    n_samples = array(np.dtype(np.int64), n_sites)
    means = array(np.dtype(np.float64), n_sites * n_features).reshape(n_sites, n_features)
    centre = array(np.dtype(np.float64), n_features)
    second_moments = np.empty((n_sites, n_features, n_features), dtype)
    upper = np.triu_indices(n_features)
    for own in second_moments:
        own[upper] = array(dtype, length)
        own.T[upper] = own[upper]
    about = About(**{field.name: head[field.name] for field in fields(About)})
    about = replace(about, feature_names=tuple(about.feature_names))
    return SiteData(SiteMoments(second_moments, means, n_samples), centre, about)
