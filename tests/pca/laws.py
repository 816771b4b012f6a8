"""Energies of releases from small tables, and the laws that they are tested against.

A law allows a tolerance beyond three standard errors of paired runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

from dpcore.arrays import FloatArray
from dpcore.data import load_dataset, prepare
from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import bases_to_denoise_in
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import SiteRows, captured_energy
from dpcore.streams import Repetition

DELTA = 1e-5
# Public limits of the columns of two tables of scikit-learn, rounded from textbooks.
LIMITS = {
    "wine": (load_wine, [11, 0, 1, 10, 70, 0, 0, 0, 0, 1, 0, 1, 250],
             [15, 6, 4, 30, 165, 4, 6, 1, 4, 14, 2, 5, 1700], 3),
    "iris": (load_iris, [4, 2, 1, 0], [8, 5, 7, 3], 2),
}  # fmt: skip
# Power laws: rows, columns, spread about the mean, length of the mean.
POWER_LAWS = {
    "near": (1000, 20, 0.1, 0.5),
    "far": (1000, 20, 0.5, 0.1),
    "both": (400, 50, 0.3, 0.3),
}


@dataclass(frozen=True, eq=False)
class Table:
    """Prepared rows, with what exact PCA captures of them."""

    rows: FloatArray
    half_widths: FloatArray | None
    n_components: int
    reference: FloatArray
    optimum: float


@lru_cache(maxsize=16)
def table(name: str) -> Table:
    """Return a catalogue's table, one of scikit-learn, or a synthetic power law."""
    widths: FloatArray | None
    if name in LIMITS:
        load, low, high, k = LIMITS[name]
        low, high = np.array(low, float), np.array(high, float)
        rows = np.clip((load().data - low) / (high - low) - 0.5, -0.5, 0.5)
        rows *= 2 / math.sqrt(len(low))
        widths = np.full(len(low), 1 / math.sqrt(len(low)))
    elif name in POWER_LAWS:
        n, d, spread, length = POWER_LAWS[name]
        rng, k, widths = np.random.default_rng(5), 5, None
        scales = np.sqrt(spread**2 / np.arange(1, d + 1) / (1 / np.arange(1, d + 1)).sum())
        rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
        rows = rng.standard_normal((n, d)) * scales @ rotation + length / math.sqrt(d)
        rows /= np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]
    else:
        prepared = prepare(load_dataset(name), mode="sphere")
        rows, widths = np.asarray(prepared.X, float), prepared.half_widths
        k = prepared.default_components or 3
    centred = rows - rows.mean(axis=0)
    reference = centred.T @ centred / len(rows)
    return Table(rows, widths, k, reference, np.linalg.eigvalsh(reference)[-k:].sum())


def energies(
    name: str,
    protocol: str,
    epsilon: float,
    *,
    runs: int,
    sites: int = 5,
    samples: int | None = None,
    seed: int = 4242,
    **changes: Any,
) -> FloatArray:
    """Return the captured energy of each run, relative to exact PCA of the table.

    changes: Changed fields of the settings.
    """
    of_table, entry = table(name), PROTOCOLS[protocol]
    order = np.random.default_rng(seed).permutation(len(of_table.rows))[:samples]
    held = SiteRows.of(of_table.rows, np.array_split(order, sites), of_table.half_widths)
    k = of_table.n_components
    settings = ReleaseSettings(
        PrivacyBudget(epsilon, DELTA),
        k,
        min(2 * k, held.n_features),
        **{"mean_share": None, "on_sphere": True, "centred_by": "votes"}
        | {"bases": bases_to_denoise_in("auto")}
        | changes,
    )
    return np.array(
        [
            captured_energy(
                entry.release(
                    Draw(
                        held,
                        settings,
                        Repetition(seed, run),
                        proxies=entry.wants_proxies,
                        average=entry.wants_average,
                    )
                ).components,
                of_table.reference,
            )
            / of_table.optimum
            for run in range(runs)
        ]
    )


def shortfall(more: FloatArray, less: FloatArray) -> float:
    """Return by how much `more` is below `less`, less three standard errors of paired runs."""
    below = less - more
    return float(below.mean() - 3 * below.std(ddof=1) / math.sqrt(len(below)))


def best_of(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the energies with the larger mean."""
    return first if first.mean() >= second.mean() else second
