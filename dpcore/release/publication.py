"""Release a table's principal components: measure, charge, add noise, write the folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import ParameterError
from dpcore.params import check_params
from dpcore.release.certificate import certificate_of
from dpcore.release.dictionary import Dictionary
from dpcore.release.dictionary_file import dictionary_from, read_dictionary
from dpcore.release.encoding import Reading
from dpcore.release.measurement import (
    bases_of,
    budget_of_components,
    is_held_once,
    measure,
    scales_of,
    sum_and_count,
)
from dpcore.release.project import (
    LEDGER,
    Costs,
    Project,
    folder_name,
    require_ledger_of_releases,
    require_room_to_begin,
)
from dpcore.release.release_files import files_of
from dpcore.release.settings import PublicationSettings
from dpcore.release.tables import Table

if TYPE_CHECKING:
    from dpcore.release.released_pca import ReleasedPCA

# Numbers of D x D matrices of doubles in memory: with LAPACK's workspace for all eigenpairs, and
# with the moment as the only matrix.
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
    scores_share: float = 0.0,
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
    scheduler: str | None = None,
) -> ReleasedPCA:
    """Release the principal components of a table of people.

    The folder is (epsilon, delta)-DP for every person whose rows, at most `at_most` of the
    dictionary, are replaced, added or removed. Delta includes the sampler's distance from the
    Gaussian law. Sums and noise are integers. All releases of the project together keep its cap.
    The dictionary must be public.

    Parameters
    ----------
    data : path, TableFile, mapping of str to arrays, DataFrame, ndarray, Dask array or DataFrame,
            pyarrow.dataset.Dataset
        Argument of `Table`: a folder or glob of Parquet files is one table. It is read twice, in
        blocks, so that files other than NPZ and workbooks may be larger than memory.
    dictionary : Dictionary, mapping, or path of a TOML file
    epsilon, delta : float
    n_components : int
        Number of components K.
    project : Project or path
    name : str
        Name of this release, new to the project.
    preparation : {"sphere", "bounded"}
        Rows around a private centre are scaled to length 1 ("sphere"), or shortened to the row
        norm bound if they are longer ("bounded"). On the sphere, noisy votes of pairs of rows may
        choose no centre, or differences of pairs, in place of a private mean.
    mean_share : float
        Part of mu^2 for the private centre and count.
    denoise : {"auto", "none"}
        "auto" denoises the noisy second moment before it is decomposed: about a prior mean of
        pictures if the dictionary has an `image`, else in the basis of the columns, unless the
        noisy matrix shows that this captures less. A matrix so large that only one copy of it is
        held is not denoised. This is post-processing, and is named in the certificate.
    scores_share : float
        Part of mu^2 for a score plot on the first two components, which is released next to them
        as `NAME-people` (`dpcore.release.score_release`). Both together keep epsilon and delta.
    cap : (epsilon, delta), optional
        Cap of a new project.
    reading : Reading, optional
        Filled with exact counts of the table, for the data holder only.
    confirm : callable
        Called with the counts after the table was read and before the release is charged. An
        exception ends the release. Whether there is a release then depends on the rows.
    watch : callable
        Called with the stage ("centre", then "components") and the share of the table read.
    scheduler : str, optional
        Address of a Dask cluster of the data holder ("tcp://host:8786"), whose workers sum the
        parts of a Parquet or Dask table. The exact sums are the same to the bit. This process
        draws the noise. There are no votes on the centre, which is a private mean. Losing the
        scheduler ends a release that is not charged yet; afterwards this process reads the
        remaining parts, with a `RuntimeWarning`.

    Returns
    -------
    ReleasedPCA
        Result of `load_release`.

    Raises
    ------
    ParameterError
        If the table does not fit the dictionary, a value is out of range, or the name is used.
    BeyondCap
        If the release exceeds the project's cap. Nothing is charged in either case.
    OSError
        If a file cannot be read or written. A charge stays.
    """
    from dpcore.release.released_pca import load_release

    settings = PublicationSettings(
        epsilon, delta, n_components, preparation, mean_share, denoise, scores_share
    )
    folder = write_release(
        data,
        dictionary,
        settings,
        project=project,
        name=name,
        cap=cap,
        reading=reading,
        confirm=confirm,
        watch=watch,
        scheduler=scheduler,
    )
    return load_release(folder)


def write_release(
    data: Any,
    dictionary: Dictionary | Mapping[str, Any] | Path | str,
    settings: PublicationSettings,
    *,
    project: Project | Path | str,
    name: str,
    cap: tuple[float, float] | None = None,
    reading: Reading | None = None,
    confirm: Callable[[Reading], None] = lambda _: None,
    watch: Callable[[str, float], None] = lambda *_: None,
    scheduler: str | None = None,
) -> Path:
    """Make a release like `release`, and return its folder.

    Does not import scikit-learn, which takes longer than most releases.
    """
    dictionary = _to_dictionary(dictionary)
    _check(dictionary, settings)
    _require_memory(dictionary.n_features, int(settings.n_components))
    scales = scales_of(dictionary, settings, scheduler)
    costs = scales if settings.scores_share == 0 else _costs_with_scores(dictionary, settings, name)
    all_settings, settings = settings, _of_components(settings)
    exact = scales.epsilon(settings.delta, settings.epsilon)
    table = Table(data, dictionary.keys, dictionary.n_features)
    folder_name("name", name)
    # An early check, since reading the table may take long; the charge decides. A new project is
    # made only with its first charge, since its cap cannot be changed.
    if isinstance(project, Project) or cap is None or (Path(project) / LEDGER).exists():
        project = project if isinstance(project, Project) else Project(project, cap)
        project.require_room(name, costs, settings.delta)
    else:
        require_ledger_of_releases(Path(project))
        require_room_to_begin(cap, costs, settings.delta)
    reading = Reading() if reading is None else reading
    total = sum_and_count(
        table, dictionary, scales, reading, partial(watch, "centre"), scheduler=scheduler
    )
    confirm(reading)
    project = project if isinstance(project, Project) else Project(project, cap)
    spent = project.charge(name, scales, exact, settings.delta)
    n_components = int(settings.n_components)
    bases = bases_of(
        settings.denoise,
        dictionary.n_features,
        n_components,
        dictionary.image,
        dictionary.picture,
    )
    measured = measure(
        table, dictionary, scales, total, n_components=n_components,
        on_sphere=settings.on_sphere, bases=bases, watch=partial(watch, "components"),
        scheduler=scheduler,
    )  # fmt: skip
    certificate = certificate_of(
        name,
        dictionary,
        measured.scales or scales,
        measured,
        settings=settings,
        epsilon=exact,
        total=spent,
    )
    folder = project.publish(name, files_of(certificate, dictionary, measured))
    if all_settings.scores_share > 0:
        _release_scores(data, project, name, all_settings)
    return folder


def _of_components(settings: PublicationSettings) -> PublicationSettings:
    """Return the settings of the components, without the score plot and its share."""
    return replace(settings, epsilon=budget_of_components(settings).epsilon, scores_share=0.0)


def _costs_with_scores(dictionary: Dictionary, settings: PublicationSettings, name: str) -> Costs:
    """Return the costs of components and score plot, and check the plot's name."""
    from dpcore.release.score_release import name_of_scores, planned_costs

    folder_name("name", name_of_scores(name))
    return planned_costs(dictionary, settings)


def _release_scores(data: Any, project: Project, name: str, settings: PublicationSettings) -> None:
    from dpcore.release.score_release import budget_of_scores, name_of_scores, release_scores

    budget = budget_of_scores(settings)
    release_scores(
        data,
        project,
        of=name,
        name=name_of_scores(name),
        epsilon=budget.epsilon,
        delta=budget.delta,
    )


def _check(dictionary: Dictionary, settings: PublicationSettings) -> None:
    check_params(settings)
    n_components = settings.n_components
    if not isinstance(n_components, Integral) or not 1 <= n_components <= dictionary.n_features:
        raise ParameterError(
            "n_components", f"from 1 to the {dictionary.n_features} features", n_components
        )


def _require_memory(n_features: int, n_components: int) -> None:
    """Refuse a release before the charge if the system would end its process later."""
    matrices = _HELD_ONCE if is_held_once(n_features, n_components) else _MATRICES
    needed, free = matrices * 8 * n_features**2, _available_memory()
    if needed > free:
        raise ParameterError(
            "columns",
            f"few enough features for {free / 1e9:.1f} GB of memory (these take about "
            f"{needed / 1e9:.1f} GB)",
            n_features,
        )  # fmt: skip


def _available_memory() -> float:
    """Return the available memory in bytes, infinity if the system does not state it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    available = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
    return 1024 * int(available[0]) if available else math.inf


def _to_dictionary(dictionary: Dictionary | Mapping[str, Any] | Path | str) -> Dictionary:
    if isinstance(dictionary, Dictionary):
        return dictionary
    return (
        dictionary_from(dictionary)
        if isinstance(dictionary, Mapping)
        else read_dictionary(dictionary)
    )
