"""From a table to components that may be published: one charge, one folder, one certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

from dpcore.errors import ParameterError
from dpcore.releases.calibration import calibrated
from dpcore.releases.certificate import certificate_of
from dpcore.releases.dictionary import Dictionary, dictionary_from, read_dictionary
from dpcore.releases.encoding import Reading
from dpcore.releases.folder import files_of
from dpcore.releases.measurement import PREPARATIONS, measure, sum_and_count
from dpcore.releases.project import Project
from dpcore.releases.released_pca import ReleasedPCA, load_release
from dpcore.releases.tables import Table


def release(
    data: Any,
    dictionary: Dictionary | Mapping[str, Any] | Path | str,
    *,
    epsilon: float,
    delta: float,
    n_components: int,
    project: Project | Path | str,
    name: str,
    preparation: str = "sphere",
    mean_share: float = 0.1,
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    watch: Callable[[str, float], None] = lambda *_: None,
) -> ReleasedPCA:
    """Release the principal components of a table of people.

    Promise: the folder that is written is (epsilon, delta)-DP for every person, whose rows, at
    most `at_most` of the dictionary, may be replaced, added or removed. The sampler's distance is
    inside delta, and no floating-point number stands between a row and its noise. Everything
    released in the project keeps the project's cap. The dictionary has to be public.

    Parameters
    ----------
    data : path, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame
        As in `Table`. Read twice, in blocks: a file may be larger than memory, but for NPZ.
    dictionary : Dictionary, mapping, or path of a TOML file
    epsilon, delta : float
    n_components : int
        K.
    project : Project or path
    name : str
        Of this release, new to the project.
    preparation : {"sphere", "bounded"}
        Rows around a private centre are brought to length 1 ("sphere"), or shortened to the row
        norm bound where they are longer.
    mean_share : float
        Part of mu^2 for the private centre and count.
    cap : (epsilon, delta), optional
        For a new project.
    reading : Reading, optional
        Filled with what was met in the table, for the holder alone.
    watch : callable
        Told the stage ("centre", then "components") and the share of the table it has read.

    Returns
    -------
    ReleasedPCA
        As `load_release` gives it.

    Raises
    ------
    ParameterError
        If the table does not fit the dictionary, a value is out of range, or the name taken.
    BeyondCap
        If the project's cap does not admit it. Nothing is charged in either case.
    OSError
        If a file cannot be read or written. What was charged stays charged.
    """
    dictionary = _as_dictionary(dictionary)
    _check(dictionary, preparation, n_components)
    scales = calibrated(dictionary, epsilon=epsilon, delta=delta, mean_share=mean_share)
    exact = scales.epsilon(delta, epsilon)
    table = Table(data, dictionary.keys, dictionary.n_features)
    if not isinstance(project, Project):
        project = Project(project, cap)
    # Before the table is read, which may take long; decided for good with the charge.
    project.require_room(name, scales)
    reading = Reading() if reading is None else reading
    total = sum_and_count(table, dictionary, scales, reading, partial(watch, "centre"))
    spent = project.charge(name, scales, exact, delta)
    measured = measure(
        table, dictionary, scales, total, n_components=int(n_components), preparation=preparation,
        watch=partial(watch, "components"),
    )  # fmt: skip
    certificate = certificate_of(
        name, dictionary, scales, measured, preparation=preparation, mean_share=mean_share,
        asked=(epsilon, delta), epsilon=exact, total=spent,
    )  # fmt: skip
    return load_release(project.publish(name, files_of(certificate, dictionary, measured)))


def _check(dictionary: Dictionary, preparation: str, n_components: int) -> None:
    if preparation not in PREPARATIONS:
        raise ParameterError("preparation", f"one of {', '.join(PREPARATIONS)}", preparation)
    if not isinstance(n_components, Integral) or not 1 <= n_components <= dictionary.n_features:
        raise ParameterError(
            "n_components", f"from 1 to the {dictionary.n_features} features", n_components
        )


def _as_dictionary(given: Dictionary | Mapping[str, Any] | Path | str) -> Dictionary:
    if isinstance(given, Dictionary):
        return given
    return dictionary_from(given) if isinstance(given, Mapping) else read_dictionary(given)
