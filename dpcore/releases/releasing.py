"""From a table to components that may be published: one charge, one folder, one certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import ParameterError, require_one_of
from dpcore.releases.calibration import calibrated
from dpcore.releases.certificate import certificate_of
from dpcore.releases.dictionary import Dictionary, dictionary_from, read_dictionary
from dpcore.releases.encoding import Reading
from dpcore.releases.folder import files_of
from dpcore.releases.measurement import PREPARATIONS, is_held_once, measure, sum_and_count
from dpcore.releases.project import (
    LEDGER,
    Project,
    folder_name,
    require_ledger_of_releases,
    require_room_to_begin,
)
from dpcore.releases.tables import Table

if TYPE_CHECKING:
    from dpcore.releases.released_pca import ReleasedPCA

# Of doubles, D x D: the moment and what LAPACK needs for all eigenpairs; or the moment alone, with
# what is added to it at a time.
_MATRICES, _HELD_ONCE = 7.0, 1.4


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
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
) -> ReleasedPCA:
    """Release the principal components of a table of people.

    Promise: the folder that is written is (epsilon, delta)-DP for every person, whose rows, at
    most `at_most` of the dictionary, may be replaced, added or removed. The sampler's distance is
    inside delta, and no floating-point number stands between a row and its noise. Everything
    released in the project keeps the project's cap. The dictionary has to be public.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame
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
    confirm : callable
        Given what was met in the table when all of it was read and nothing is charged: what it
        raises ends the release. Whether there is a release then depends on the rows, and is for
        the holder alone.
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
    from dpcore.releases.released_pca import load_release

    asked = Asked(epsilon, delta, n_components, preparation, mean_share)
    return load_release(write_release(data, dictionary, asked, project=project, name=name, cap=cap,
                                      reading=reading, confirm=confirm, watch=watch))  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What `release` is asked for, apart from whose rows they are."""

    epsilon: float
    delta: float
    n_components: int
    preparation: str = "sphere"
    mean_share: float = 0.1


def write_release(
    data: Any,
    dictionary: Dictionary | Mapping[str, Any] | Path | str,
    asked: Asked,
    *,
    project: Project | Path | str,
    name: str,
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
) -> Path:
    """`release` without scikit-learn, whose import takes longer than most releases: the folder.

    Parameters, promise and errors are those of `release`.
    """
    dictionary = _as_dictionary(dictionary)
    _check(dictionary, asked.preparation, asked.n_components)
    _require_memory(dictionary.n_features, int(asked.n_components))
    scales = calibrated(
        dictionary, epsilon=asked.epsilon, delta=asked.delta, mean_share=asked.mean_share
    )
    exact = scales.epsilon(asked.delta, asked.epsilon)
    table = Table(data, dictionary.keys, dictionary.n_features)
    folder_name("name", name)
    # Before the table is read, which may take long; decided for good with the charge. Of a refused
    # release no project begins, whose cap is for good.
    if isinstance(project, Project) or cap is None or (Path(project) / LEDGER).exists():
        project = project if isinstance(project, Project) else Project(project, cap)
        project.require_room(name, scales, asked.delta)
    else:
        require_ledger_of_releases(Path(project))
        require_room_to_begin(cap, scales, asked.delta)
    reading = Reading() if reading is None else reading
    total = sum_and_count(table, dictionary, scales, reading, partial(watch, "centre"))
    confirm(reading)
    project = project if isinstance(project, Project) else Project(project, cap)
    spent = project.charge(name, scales, exact, asked.delta)
    measured = measure(
        table, dictionary, scales, total, n_components=int(asked.n_components),
        preparation=asked.preparation, watch=partial(watch, "components"),
    )  # fmt: skip
    certificate = certificate_of(
        name, dictionary, scales, measured, preparation=asked.preparation,
        mean_share=asked.mean_share, asked=(asked.epsilon, asked.delta), epsilon=exact, total=spent,
    )  # fmt: skip
    return project.publish(name, files_of(certificate, dictionary, measured))


def _check(dictionary: Dictionary, preparation: str, n_components: int) -> None:
    require_one_of("preparation", preparation, PREPARATIONS)
    if not isinstance(n_components, Integral) or not 1 <= n_components <= dictionary.n_features:
        raise ParameterError(
            "n_components", f"from 1 to the {dictionary.n_features} features", n_components
        )


def _require_memory(n_features: int, n_components: int) -> None:
    """One sentence instead of a process that the system ends, before anything is charged."""
    matrices = _HELD_ONCE if is_held_once(n_features, n_components) else _MATRICES
    needed, there = matrices * 8 * n_features**2, _memory_there()
    if needed > there:
        raise ParameterError(
            "columns",
            f"few enough features for {there / 1e9:.1f} GB of memory (these take about "
            f"{needed / 1e9:.1f} GB)",
            n_features,
        )  # fmt: skip


def _memory_there() -> float:
    """Bytes that the system could give, or more than any table needs where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    said = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
    return 1024 * int(said[0]) if said else math.inf


def _as_dictionary(given: Dictionary | Mapping[str, Any] | Path | str) -> Dictionary:
    if isinstance(given, Dictionary):
        return given
    return dictionary_from(given) if isinstance(given, Mapping) else read_dictionary(given)
