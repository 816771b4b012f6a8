"""A folder of the explorer that anybody can host: a page without a server over runs made before.

What it shows are the rows of `dpcore.experiments.pca.run`, to the digit, and it says that they
were run beforehand and by which command each is repeated. It opens from a disk, asks nobody for
anything, and no row of the data is in it but those of the ten people who are rebuilt.
"""

from __future__ import annotations

import json
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from dpcore.arrays import IntArray
from dpcore.data import dataset_status
from dpcore.data.dataset import limits_of, read_limits
from dpcore.data.loading import entry_of
from dpcore.experiments.pca import (
    PcaRow,
    Problem,
    RunSpec,
    ShownPeople,
    load_prepared,
    local_problem,
    rebuilt,
    run_repetitions,
    shown_people,
)
from dpcore.experiments.store import versions
from dpcore.experiments.summaries import percent
from dpcore.params import EPSILONS
from dpcore.pca import Subspace
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Guarantee, icon_counts

_WEBSITE = Path(__file__).parent / "website"
_FILES = ("index.html", "explorer.css", "explorer.js")
# Shades of a rebuilt person; two pixels a byte.
_SHADES = 16
# A command names what may have another default there.
_NAMED = {"calibration", "noise", "truncation", "preparation", "denoise"}


@dataclass(frozen=True)
class Grid:
    """What is run beforehand: every data set with every number of sites, at every epsilon.

    repetitions: Runs of a setting; the first `pictured` of them are shown as pictures.
    """

    datasets: tuple[str, ...] = ("mnist-small", "digits")
    protocols: tuple[str, ...] = ("dpdis", "securesum", "local", "pooled")
    sites: tuple[int, ...] = (2, 5, 10)
    epsilons: tuple[float, ...] = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
    delta: float = 1e-5
    repetitions: int = 5
    pictured: int = 3
    seed: int = 0

    def specs(self, dataset: str, sites: int) -> Iterator[RunSpec]:
        """One a value of epsilon."""
        for epsilon in self.epsilons:
            yield RunSpec(
                dataset=dataset, protocols=self.protocols, epsilon=epsilon, delta=self.delta,
                sites=sites, repetitions=self.repetitions, seed=self.seed,
            )  # fmt: skip

    @property
    def n_cells(self) -> int:
        """How many (data set, sites, epsilon) are run."""
        return len(self.datasets) * len(self.sites) * len(self.epsilons)


def publish(folder: Path, grid: Grid, *, progress: Callable[[int], object]) -> Path:
    """Write the folder; returns its first page. `progress` hears of each cell that is done.

    Raises `OSError` if the folder cannot be written, `DataUnavailable` if a data set is absent.
    """
    settings = [
        _setting(dataset, sites, grid, progress)
        for dataset in grid.datasets
        for sites in grid.sites
    ]
    found = {
        "epsilons": grid.epsilons,
        "protocols": {name: PROTOCOLS[name].title for name in grid.protocols},
        "sites": grid.sites,
        "datasets": {name: dataset_status(name).title for name in grid.datasets},
        "repetitions": grid.repetitions,
        "settings": settings,
        "versions": versions(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        (folder / name).write_text((_WEBSITE / name).read_text(encoding="utf-8"), encoding="utf-8")
    # A page opened from a disk may run a script that lies beside it, and may read no other file.
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    (folder / "runs.js").write_text(f"globalThis.RUNS = {text};\n", encoding="utf-8")
    return folder / "index.html"


def command_of(spec: RunSpec, protocol: str) -> str:
    """What repeats a number of the folder on the command line."""
    default = RunSpec()
    options = {"dataset": spec.dataset, "protocol": protocol} | {
        field.name: getattr(spec, field.name)
        for field in fields(spec)
        if field.name not in ("dataset", "protocols")
        and (field.name in _NAMED or getattr(spec, field.name) != getattr(default, field.name))
    }
    words = ["python", "-m", "dpcore", "run"]
    for name, value in options.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        words += [f"--{name.replace('_', '-')}", text]
    return shlex.join(words)


def _setting(
    dataset: str, sites: int, grid: Grid, progress: Callable[[int], object]
) -> dict[str, Any]:
    """Every protocol along epsilon, for one data set and number of sites."""
    specs = list(grid.specs(dataset, sites))
    problem = local_problem(specs[0].problem_key())
    people = _people_of(specs[0], problem)
    points: dict[str, list[dict[str, Any]]] = {name: [] for name in grid.protocols}
    chance = 0.0
    for spec in specs:
        rows: dict[str, list[PcaRow]] = {name: [] for name in grid.protocols}
        pictures: dict[str, list[str]] = {name: [] for name in grid.protocols}
        guarantees: dict[str, Guarantee] = {}

        for repetition in range(spec.repetitions):
            seen: list[dict[str, Subspace]] = []
            for row in run_repetitions([spec], problem, repetition, watch=seen.extend)[0]:
                rows[row["protocol"]].append(row)
            for name, subspace in seen[0].items():
                guarantees[name] = subspace.guarantee
                if repetition < grid.pictured:
                    drawn = rebuilt(people.rows, subspace, problem)
                    pictures[name].append(packed(people.levels(drawn)))
        for name, own in rows.items():
            ratios = [row["energy_ratio"] for row in own]
            chance = own[0]["random_ratio"]
            points[name].append(
                {
                    "mean": fmean(ratios),
                    "said": percent(fmean(ratios)),
                    "ratios": [round(ratio, 4) for ratio in ratios],
                    "right": icon_counts(guarantees[name])[0],
                    "exact": own[0]["exact_epsilon"],
                    "kilobytes": own[0]["bytes_per_site"] / 1000,
                    "command": command_of(spec, name),
                    "people": pictures[name],
                }
            )
        progress(1)
    return {
        "dataset": dataset,
        "sites": sites,
        "people_per_site": problem.n_samples // sites,
        "components": specs[0]
        .settings(problem.n_features, problem.default_components)
        .n_components,
        "shape": dataset_status(dataset).image_shape,
        "names": people.names,
        "chance": chance,
        "chance_said": percent(chance),
        "true": packed(people.levels(people.rows)),
        "points": points,
    }


def packed(levels: IntArray) -> str:
    """Pictures in sixteen shades, two pixels a byte, as base64; an odd last pixel gets a zero."""
    shades = (levels.ravel().astype(np.uint16) * (_SHADES - 1) + 127) // 255
    if shades.size % 2:
        shades = np.append(shades, 0)
    pairs = (shades[::2] << 4 | shades[1::2]).astype(np.uint8)
    return b64encode(pairs.tobytes()).decode()


def _people_of(spec: RunSpec, problem: Problem) -> ShownPeople:
    prepared = load_prepared(*spec.problem_key().data)
    limits = limits_of(read_limits(spec.limits, entry_of(spec.dataset).ranges))
    return shown_people(prepared, limits, np.diag(problem.reference))
