"""Folder with a static version of the explorer, which shows precomputed runs without a server.

The page shows rows of `dpcore.experiments.pca.run` unchanged, states that they are precomputed, and
names the command that repeats each of them. It can be opened from a disk and makes no requests. The
only rows of the data in it are the ten examples that are rebuilt.
"""

from __future__ import annotations

import json
import shlex
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from dpcore.arrays import IntArray
from dpcore.data import dataset_status
from dpcore.data.catalog import entry_of
from dpcore.data.dataset import limits_of, read_limits
from dpcore.errors import ParameterError
from dpcore.experiments.engine.fields import VERSIONS
from dpcore.experiments.engine.store import versions
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import PcaRow, RunSpec, run_repetitions
from dpcore.experiments.pca.problem import Problem, load_prepared, local_problem
from dpcore.experiments.pca.rebuilt_rows import ExampleRows, rebuild_rows, select_example_rows
from dpcore.params import EPSILONS
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee, icon_counts

_WEBSITE = Path(__file__).parent / "website"
_FILES, _RUNS = ("index.html", "explorer.css", "pictures.js", "explorer.js"), "runs.js"
# Number of shades of a rebuilt image; two pixels share a byte.
_SHADES = 16
# Options that a command always names, because their defaults on the command line differ.
_FIELDS_ALWAYS_NAMED = set(VERSIONS["improved"])


@dataclass(frozen=True)
class PublishedGrid:
    """Settings that are precomputed: each combination of data set, sites, components and epsilon.

    repetitions: Runs of a setting; images are rebuilt for the first `pictured` of them.
    """

    datasets: tuple[str, ...] = ("mnist-small", "digits")
    protocols: tuple[str, ...] = ("dpdis", "securesum", "local", "pooled")
    sites: tuple[int, ...] = (2, 5, 10)
    components: tuple[int, ...] = (5, 10, 20)
    intermediate_dim: int | None = None
    epsilons: tuple[float, ...] = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
    delta: float = 1e-5
    repetitions: int = 5
    pictured: int = 3
    seed: int = 0

    def specs(self, dataset: str, sites: int, epsilon: float) -> list[RunSpec]:
        """Return one spec per number of components; they share their noise."""
        return [
            RunSpec(
                dataset=dataset, protocols=self.protocols, epsilon=epsilon, delta=self.delta,
                sites=sites, components=components, intermediate_dim=self.intermediate_dim,
                repetitions=self.repetitions, seed=self.seed,
            )
            for components in self.components
        ]  # fmt: skip

    def within(self, dataset: str) -> PublishedGrid:
        """Return the grid without numbers of components above the data set's columns."""
        most = dataset_status(dataset).n_features
        return replace(
            self,
            components=tuple(
                n_components for n_components in self.components if n_components <= most
            ),
        )

    @property
    def n_cells(self) -> int:
        """Number of combinations (data set, sites, epsilon) that are run."""
        return len(self.datasets) * len(self.sites) * len(self.epsilons)


def publish(folder: Path, grid: PublishedGrid, *, progress: Callable[[int], object]) -> Path:
    """Write the folder and return the path of its first page.

    progress: Called with 1 after each finished cell.
    Raises `ParameterError` if the folder has other files, which a web server would show too,
        `OSError` if the folder cannot be written, `DataUnavailable` if a data set is absent.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    if others := sorted(names - {*_FILES, _RUNS}):
        raise ParameterError("folder", "new, empty or written by `publish`", others[0])
    settings = [
        setting
        for dataset in grid.datasets
        for sites in grid.sites
        for setting in settings_of(dataset, sites, grid.within(dataset), progress)
    ]
    content = {
        "epsilons": grid.epsilons,
        "protocols": {name: PROTOCOLS[name].title for name in grid.protocols},
        "sites": grid.sites,
        "components": grid.components,
        "usual_components": {name: _usual_components(name, grid) for name in grid.datasets},
        "datasets": {name: dataset_status(name).title for name in grid.datasets},
        "repetitions": grid.repetitions,
        "settings": settings,
        "versions": versions(),
    }
    for name in _FILES:
        _write(folder / name, _website(name))
    # A page opened from a disk may load scripts of its folder, but no other files.
    _write(folder / _RUNS, f"globalThis.RUNS = {_compact(content)};\n")
    return folder / "index.html"


def _website(name: str) -> str:
    return (_WEBSITE / name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def command_of(spec: RunSpec, protocol: str) -> str:
    """Return the command that repeats a run of the folder."""
    default = RunSpec()
    options = {"dataset": spec.dataset, "protocol": protocol} | {
        field.name: getattr(spec, field.name)
        for field in fields(spec)
        if field.name not in ("dataset", "protocols")
        and (
            field.name in _FIELDS_ALWAYS_NAMED
            or getattr(spec, field.name) != getattr(default, field.name)
        )
    }
    words = ["python", "-m", "dpcore", "run"]
    for name, value in options.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        words += [f"--{name.replace('_', '-')}", text]
    return shlex.join(words)


def settings_of(
    dataset: str,
    sites: int,
    grid: PublishedGrid,
    progress: Callable[[int], object] = lambda _: None,
) -> list[dict[str, Any]]:
    """Run every protocol over epsilon, for one data set and number of sites.

    Returns: One mapping per number of components, as the page reads it.
    """
    first = grid.specs(dataset, sites, grid.epsilons[0])[0]
    problem = local_problem(first.problem_key())
    examples = _select_examples(first, problem)
    shape = dataset_status(dataset).image_shape or (1, len(examples.columns))
    settings: list[dict[str, Any]] = [
        {
            "dataset": dataset,
            "sites": sites,
            "components": components,
            "people": problem.n_samples,
            "people_per_site": problem.n_samples // sites,
            "shape": shape,
            "names": examples.names,
            "true": encode_shades(examples.levels(examples.rows)),
            "points": {name: [] for name in grid.protocols},
            "assumptions": [],
        }
        for components in grid.components
    ]
    for epsilon in grid.epsilons:
        specs = grid.specs(dataset, sites, epsilon)
        drawn: list[list[dict[str, Subspace]]] = []
        rows = [
            run_repetitions(specs, problem, repetition, watch=drawn.append)
            for repetition in range(grid.repetitions)
        ]
        for number, (setting, spec) in enumerate(zip(settings, specs, strict=True)):
            rows_of_setting = [of_repetition[number] for of_repetition in rows]
            subspaces = [of_repetition[number] for of_repetition in drawn]
            floor = rows_of_setting[0][0]["floor"]
            setting |= {"floor": floor, "floor_text": percent(floor)}
            for name in grid.protocols:
                pictures = [
                    encode_shades(
                        examples.levels(rebuild_rows(examples.rows, by_protocol[name], problem))
                    )
                    for by_protocol in subspaces[: grid.pictured]
                ]
                of_protocol = [row for row in chain(*rows_of_setting) if row["protocol"] == name]
                point = _point(of_protocol, command_of(spec, name), pictures)
                _add_guarantee(point, setting["assumptions"], subspaces[0][name].guarantee)
                setting["points"][name].append(point)
        progress(1)
    return settings


def _add_guarantee(
    point: dict[str, Any], assumptions: list[tuple[str, ...]], guarantee: Guarantee
) -> None:
    """Add a guarantee to a point, which refers to an entry of a list of assumptions."""
    if guarantee.assumptions not in assumptions:
        assumptions.append(guarantee.assumptions)
    point["right"] = icon_counts(guarantee)[0]
    point["assumes"] = assumptions.index(guarantee.assumptions)


def _point(rows: list[PcaRow], command: str, pictures: list[str]) -> dict[str, Any]:
    ratios = [row["energy_ratio"] for row in rows]
    return {
        "mean": fmean(ratios),
        "said": percent(fmean(ratios)),
        "ratios": [round(ratio, 4) for ratio in ratios],
        "exact": rows[0]["exact_epsilon"],
        "kilobytes": rows[0]["bytes_per_site"] / 1000,
        "command": command,
        "people": pictures,
    }


def _usual_components(dataset: str, grid: PublishedGrid) -> int:
    """Return the data set's default K, or the nearest K of the grid."""
    usual = dataset_status(dataset).default_components or grid.components[0]
    return min(grid.within(dataset).components, key=lambda components: abs(components - usual))


def encode_shades(levels: IntArray) -> str:
    """Encode images in sixteen shades as base64, two pixels per byte; an odd number is padded."""
    shades = (levels.ravel().astype(np.uint16) * (_SHADES - 1) + 127) // 255
    if shades.size % 2:
        shades = np.append(shades, 0)
    pairs = (shades[::2] << 4 | shades[1::2]).astype(np.uint8)
    return b64encode(pairs.tobytes()).decode()


def _select_examples(spec: RunSpec, problem: Problem) -> ExampleRows:
    prepared = load_prepared(*spec.problem_key().data)
    limits = limits_of(read_limits(spec.limits, entry_of(spec.dataset).ranges))
    return select_example_rows(prepared, limits, np.diag(problem.reference))
