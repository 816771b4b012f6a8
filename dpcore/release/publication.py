"""Release a table's principal components: measure, charge, add noise, write the folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import ParameterError
from dpcore.params import check_params
from dpcore.release.certificate import certificate_of
from dpcore.release.dictionary import Dictionary, dictionary_from, read_dictionary
from dpcore.release.encoding import Reading
from dpcore.release.measurement import (
    bases_of,
    is_held_once,
    measure,
    sum_and_count,
)
from dpcore.release.project import (
    LEDGER,
    Project,
    folder_name,
    require_ledger_of_releases,
    require_room_to_begin,
)
from dpcore.release.release_files import files_of
from dpcore.release.scales import calibrated
from dpcore.release.settings import PublicationSettings
from dpcore.release.tables import Table

if TYPE_CHECKING:
    from dpcore.release.released_pca import ReleasedPCA

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
    denoise: str = "auto",
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
    scheduler: str | None = None,
) -> ReleasedPCA:
    """Release the principal components of a table of people.

    Promise: the folder that is written is (epsilon, delta)-DP for every person, whose rows, at
    most `at_most` of the dictionary, may be replaced, added or removed. The sampler's distance is
    inside delta, and no floating-point number stands between a row and its noise. Everything
    released in the project keeps the project's cap. The dictionary has to be public.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame,
            pyarrow.dataset.Dataset
        As in `Table`: a folder or glob of Parquet files is one table. Read twice, in blocks: a
        file may be larger than memory, but for NPZ.
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
    denoise : {"auto", "none"}
        Take likely noise out of the noisy second moment before it is decomposed
        (`dpcore.spectra.denoise`, in the basis of the columns): post-processing, which costs no
        privacy and is named in the certificate. With "auto" not where the noisy matrix says that
        more is captured without, nor where there are so many features that it is held once.
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
    scheduler : str, optional
        Address of a Dask cluster ("tcp://host:8786") whose workers read the parts of a table of
        Parquet or Dask's, wherever those are, and send their exact sums, which are the same to the
        bit. The workers are the holder's own. Noise is drawn here, and never travels. A scheduler
        that is lost ends the release before it is charged; later this process reads on, with a
        `RuntimeWarning`.

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
    from dpcore.release.released_pca import load_release

    asked = PublicationSettings(epsilon, delta, n_components, preparation, mean_share, denoise)
    return load_release(write_release(data, dictionary, asked, project=project, name=name, cap=cap,
                                      reading=reading, confirm=confirm, watch=watch,
                                      scheduler=scheduler))  # fmt: skip


def write_release(
    data: Any,
    dictionary: Dictionary | Mapping[str, Any] | Path | str,
    asked: PublicationSettings,
    *,
    project: Project | Path | str,
    name: str,
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
    scheduler: str | None = None,
) -> Path:
    """`release` without scikit-learn, whose import takes longer than most releases: the folder.

    Parameters, promise and errors are those of `release`.
    """
    dictionary = _as_dictionary(dictionary)
    _check(dictionary, asked)
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
    total = sum_and_count(
        table, dictionary, scales, reading, partial(watch, "centre"), scheduler=scheduler
    )
    confirm(reading)
    project = project if isinstance(project, Project) else Project(project, cap)
    spent = project.charge(name, scales, exact, asked.delta)
    bases = bases_of(asked.denoise, dictionary.n_features, int(asked.n_components))
    measured = measure(
        table, dictionary, scales, total, n_components=int(asked.n_components),
        on_sphere=asked.on_sphere, bases=bases, watch=partial(watch, "components"),
        scheduler=scheduler,
    )  # fmt: skip
    certificate = certificate_of(
        name, dictionary, scales, measured, asked=asked, epsilon=exact, total=spent,
    )  # fmt: skip
    return project.publish(name, files_of(certificate, dictionary, measured))


def _check(dictionary: Dictionary, asked: PublicationSettings) -> None:
    check_params(asked)
    n_components = asked.n_components
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
