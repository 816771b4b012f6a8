"""A folder of the explorer that anybody can host: a page without a server over runs made before.

What it shows are the rows of `dpcore.experiments.pca.run`, to the digit, and it says that they
were run beforehand and by which command each is repeated. It opens from a disk, asks nobody for
anything, and no row of the data is in it but those of the ten people who are rebuilt.
"""

from __future__ import annotations

import json
import shlex
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

import dpcore
from dpcore.arrays import IntArray
from dpcore.data import dataset_status
from dpcore.data.dataset import limits_of, read_limits
from dpcore.data.loading import entry_of
from dpcore.errors import ParameterError
from dpcore.experiments.pca import (
    ALL_PRINTED,
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
from dpcore.privacy import icon_counts

_WEBSITE = Path(__file__).parent / "website"
_FILES = ("index.html", "explorer.css", "pictures.js", "explorer.js")
_LIVE_FILES = ("live.html", "explorer.css", "pictures.js", "live.js", "worker.js")
# The Pyodide that the tab runs on: what it fetches has this version or is refused.
PYODIDE = "314.0.7"
_PYODIDE_CORE = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "pyodide-lock.json"),
)
_PYODIDE_PACKAGES = ("numpy", "scipy")
# Parts of the package that no run needs.
_NOT_IN_A_TAB = ("figures", "command_line")
_PROMISE_NOTHING = ("exact", "random")
# Data sets that need no file and no other package.
IN_A_TAB = ("mnist-small", "synthetic", "synthetic-2012")
# Shades of a rebuilt person; two pixels a byte.
_SHADES = 16
# A command names what may have another default there.
_NAMED = set(ALL_PRINTED)


@dataclass(frozen=True)
class PublishedGrid:
    """What is run beforehand: every data set with every number of sites and components, at every
    epsilon.

    repetitions: Runs of a setting; the first `pictured` of them are shown as pictures.
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
        """One a number of components; they share their noise."""
        return [
            RunSpec(
                dataset=dataset, protocols=self.protocols, epsilon=epsilon, delta=self.delta,
                sites=sites, components=components, intermediate_dim=self.intermediate_dim,
                repetitions=self.repetitions, seed=self.seed,
            )
            for components in self.components
        ]  # fmt: skip

    def within(self, dataset: str) -> PublishedGrid:
        """With no more components than the data set has columns."""
        most = dataset_status(dataset).n_features
        return replace(self, components=tuple(each for each in self.components if each <= most))

    @property
    def n_cells(self) -> int:
        """How many (data set, sites, epsilon) are run."""
        return len(self.datasets) * len(self.sites) * len(self.epsilons)


def publish(
    folder: Path, grid: PublishedGrid, *, progress: Callable[[int], object], live: str = ""
) -> Path:
    """Write the folder; returns its first page. `progress` hears of each cell that is done.

    live: Where Pyodide is, for a second page that runs any setting in the visitor's tab: a folder,
        which is copied, or an https address. Empty leaves that page out.
    Raises `OSError` if the folder cannot be written, `DataUnavailable` if a data set is absent,
        `ParameterError` if there is no Pyodide of version `PYODIDE` with its packages.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if live:
        add_live_page(folder, live)
    settings = [
        setting
        for dataset in grid.datasets
        for sites in grid.sites
        for setting in settings_of(dataset, sites, grid.within(dataset), progress)
    ]
    found = {
        "epsilons": grid.epsilons,
        "protocols": {name: PROTOCOLS[name].title for name in grid.protocols},
        "sites": grid.sites,
        "components": grid.components,
        "usual_components": {name: _usual_components(name, grid) for name in grid.datasets},
        "datasets": {name: dataset_status(name).title for name in grid.datasets},
        "repetitions": grid.repetitions,
        "settings": settings,
        "versions": versions(),
        "has_live": bool(live),
    }
    for name in _FILES:
        _write(folder / name, _website(name))
    # A page opened from a disk may run a script that lies beside it, and may read no other file.
    _write(folder / "runs.js", f"globalThis.RUNS = {_compact(found)};\n")
    return folder / "index.html"


def add_live_page(folder: Path, pyodide: str) -> None:
    """Write the page that runs settings in the visitor's tab, and dpcore for it to run.

    pyodide: As `live` of `publish`.
    Raises `ParameterError` as `publish`.
    """
    is_elsewhere = "://" in pyodide
    if is_elsewhere and not pyodide.startswith("https://"):
        asked = f"a folder with Pyodide {PYODIDE} or an https address"
        raise ParameterError("live", asked, pyodide)
    if not is_elsewhere:
        copy_pyodide(Path(pyodide), folder / "pyodide")
    allowed = f" {'/'.join(pyodide.split('/')[:3])}" if is_elsewhere else ""
    policy = (
        f"default-src 'self'; script-src 'self'{allowed} blob: 'wasm-unsafe-eval' 'unsafe-eval'; "
        f"worker-src 'self' blob:; connect-src 'self'{allowed}; img-src 'self' data:; "
        "form-action 'none'; base-uri 'none'"
    )
    for name in _LIVE_FILES:
        _write(folder / name, _website(name).replace("{policy}", policy))
    found = {
        "pyodide": f"{pyodide.rstrip('/')}/" if is_elsewhere else "pyodide/",
        "version": PYODIDE,
        "protocols": {
            name: each.title for name, each in PROTOCOLS.items() if name not in _PROMISE_NOTHING
        },
        "datasets": {
            name: {
                "title": dataset_status(name).title,
                "components": dataset_status(name).default_components,
            }
            for name in IN_A_TAB
        },
    }
    _write(folder / "live-settings.js", f"globalThis.LIVE = {_compact(found)};\n")
    pack_dpcore(folder / "dpcore.zip")


def copy_pyodide(source: Path, target: Path, packages: Sequence[str] = _PYODIDE_PACKAGES) -> None:
    """Copy what a tab needs of Pyodide, each package with the checksum that its lock file says.

    Raises `ParameterError` if a file is absent, damaged or of another version.
    """
    asked = f"a folder with Pyodide {PYODIDE} and its packages {' and '.join(packages)}"
    try:
        lock = json.loads((source / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
        files = {name: (source / name).read_bytes() for name in _PYODIDE_CORE}
        for package in packages:
            name = lock[package]["file_name"]
            files[name] = (source / name).read_bytes()
    except OSError as error:
        absent = Path(error.filename or source).name
        raise ParameterError("live", asked, f"one without {absent}") from error
    except (KeyError, ValueError) as error:
        raise ParameterError("live", asked, "one whose lock file names none of them") from error
    for package in packages:
        name = lock[package]["file_name"]
        if sha256(files[name]).hexdigest() != lock[package]["sha256"]:
            raise ParameterError("live", asked, f"a damaged {name}")
    if f'"{PYODIDE}"'.encode() not in files["pyodide.mjs"]:
        raise ParameterError("live", asked, "another version")
    target.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (target / name).write_bytes(content)


def pack_dpcore(target: Path) -> None:
    """Pack the package without what draws and what is typed: the same bytes at every call."""
    package = Path(dpcore.__file__).parent
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            inside = path.relative_to(package.parent)
            is_left_out = {"__pycache__", _WEBSITE.name} & set(inside.parts)
            if path.is_file() and not is_left_out and inside.parts[1] not in _NOT_IN_A_TAB:
                archive.writestr(ZipInfo(inside.as_posix()), path.read_bytes(), ZIP_DEFLATED)


def _website(name: str) -> str:
    return (_WEBSITE / name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


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


def settings_of(
    dataset: str,
    sites: int,
    grid: PublishedGrid,
    progress: Callable[[int], object] = lambda _: None,
) -> list[dict[str, Any]]:
    """Every protocol along epsilon, for one data set and number of sites: one a number of
    components."""
    first = grid.specs(dataset, sites, grid.epsilons[0])[0]
    problem = local_problem(first.problem_key())
    people = _people_of(first, problem)
    shape = dataset_status(dataset).image_shape or (1, len(people.columns))
    found: list[dict[str, Any]] = [
        {
            "dataset": dataset,
            "sites": sites,
            "components": components,
            "people": problem.n_samples,
            "people_per_site": problem.n_samples // sites,
            "shape": shape,
            "names": people.names,
            "true": packed(people.levels(people.rows)),
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
        for number, (setting, spec) in enumerate(zip(found, specs, strict=True)):
            own = [each[number] for each in rows]
            subspaces = [each[number] for each in drawn]
            chance = own[0][0]["random_ratio"]
            setting |= {"chance": chance, "chance_said": percent(chance)}
            for name in grid.protocols:
                pictures = [
                    packed(people.levels(rebuilt(people.rows, each[name], problem)))
                    for each in subspaces[: grid.pictured]
                ]
                of_protocol = [row for each in own for row in each if row["protocol"] == name]
                guarantee = subspaces[0][name].guarantee
                if guarantee.assumptions not in setting["assumptions"]:
                    setting["assumptions"].append(guarantee.assumptions)
                point = _point(of_protocol, command_of(spec, name), pictures)
                point["right"] = icon_counts(guarantee)[0]
                point["assumes"] = setting["assumptions"].index(guarantee.assumptions)
                setting["points"][name].append(point)
        progress(1)
    return found


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
    """The data set's own K, or the nearest that is run."""
    usual = dataset_status(dataset).default_components or grid.components[0]
    return min(grid.within(dataset).components, key=lambda components: abs(components - usual))


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
