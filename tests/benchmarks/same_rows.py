"""Digests of the rows of every family of experiments at fixed seeds, one per spec.

    python -m tests.benchmarks.same_rows > before
    python -m tests.benchmarks.same_rows | diff before -

Two trees that print the same give the same rows to the last bit, on one machine and with one set of
libraries. Estimators are fitted too, which share the protocols with the specs and little else.
"""

from __future__ import annotations

import hashlib
import json
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import dpcore
from dpcore.data import load_dataset
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.cca.views import SyntheticViews
from dpcore.experiments.central import VARIANTS, central_spec
from dpcore.experiments.central.sample_sizes import ComplexitySpec
from dpcore.experiments.classification import ClassificationSpec
from dpcore.experiments.engine.grid import Points
from dpcore.experiments.engine.spec import Row, Spec
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.statistics import ErrorsSpec, StatisticSpec
from dpcore.papers.nips2012_draws import DrawsSpec

EVERY = ("dpdis", "full", "local", "pooled", "cape", "securesum", "sequential", "wishart")
# Another time or another release of a library is no other result.
NOT_RESULTS = ("seconds", "versions")


def pca(**fields: object) -> RunSpec:
    return RunSpec(**{"repetitions": 2, "seed": 11, **fields})


def statistic(**fields: object) -> ErrorsSpec:
    asked = StatisticSpec(**{"low": 0, "high": 16, "column": "digits/20", "seed": 3, **fields})
    return ErrorsSpec(asked, ("digits", 20), draws=20)


def cca(**fields: object) -> CcaSpec:
    given = {"repetitions": 2, "seed": 7, "sites": 3, "samples": 900, "components": 2}
    return CcaSpec(**given | fields)


def learning(**fields: object) -> ClassificationSpec:
    return ClassificationSpec(**{"samples": 200, "repetitions": 2, "seed": 9, **fields})


CENTRAL = central_spec(pca(components=3))
SPECS: dict[str, Spec] = {
    "pca": pca(protocols=EVERY),
    "pca, as printed": RunSpec.published(repetitions=2, epsilon=0.5),
    "pca, bounded": pca(protocols=EVERY, preparation="bounded", denoise="none"),
    "pca, not centred": pca(preparation="none", denoise="columns", epsilon=5.0),
    "pca, cosines": pca(denoise="cosines", truncation="psd", components=4, intermediate_dim=9),
    "pca, svd": pca(truncation="svd", noise="triangle", calibration="classic", epsilon=0.9),
    "pca, int8": pca(protocols=("dpdis", "sequential"), encoding="int8"),
    "pca, rounded": pca(protocols=("full", "pooled"), encoding="rounded:0.5"),
    "pca, dropped sites": pca(
        protocols=("dpdis", "full", "securesum", "sequential"), dropped_sites=2, sites=7
    ),
    "pca, wide masks": pca(protocols=("cape",), masks="wide", honest_sites=3, sites=6),
    "pca, Dirichlet": pca(split="dirichlet", concentration=0.3, resample=True, samples=800),
    "pca, frequencies": pca(knowledge="dct:40", reference="all", mean_share=0.2),
    "pca, limits": pca(
        limits="pixels=0:12", norm_bound=30.0, preparation="bounded", split="random"
    ),
    "pca, another table": pca(dataset="insurance", epsilon=10.0, components=2, sites=3),
    "central, PPCA": VARIANTS["ppca"].of(CENTRAL),
    "central, Analyze Gauss": VARIANTS["ag-classic-triangle"].of(CENTRAL),
    "central, MOD-SuLQ": VARIANTS["modsulq"].of(CENTRAL),
    "central, SuLQ": VARIANTS["sulq"].of(CENTRAL),
    "sample sizes, PPCA": ComplexitySpec(epsilon=2.0, correlation=0.5, repetitions=10),
    "sample sizes, MOD-SuLQ": ComplexitySpec(
        epsilon=2.0, correlation=0.5, repetitions=10, n_features=5, mechanism="modsulq"
    ),
    "cca": cca(protocols=("dpdis", "full", "local", "pooled", "cape")),
    "cca, as printed": CcaSpec.published(repetitions=2, seed=7, epsilon=3.0),
    "cca, synthetic": cca(
        source=SyntheticViews(3_000, 12, 3), preparation="bounded", denoise="columns", floor=0.02
    ),
    "classification": learning(),
    "classification, one against the rest": learning(
        classes=(3,), model="logistic", samples=None, protocol="dpdis", epsilon=5.0
    ),
    "classification, subspace": learning(pipeline="subspace", preparation="bounded"),
    "mean": statistic(),
    "variance": statistic(kind="variance", mechanism="gaussian"),
    "histogram": statistic(kind="histogram", bins=8),
    "2012": DrawsSpec("insurance", "ppca", 0.5, 0.01, components=3, draws=2, permutations=2),
}


def digest(rows: object) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True, default=str).encode()).hexdigest()[:16]


def results(rows: object) -> list[Row]:
    return [{name: row[name] for name in row if name not in NOT_RESULTS} for row in rows]


def fitted() -> dict[str, object]:
    """Return estimators by name, fitted on two hundred digits at four sites."""
    X = load_dataset("digits").X[:200]
    sites = np.arange(200) % 4
    asked = {"epsilon": 2.0, "random_state": 5}
    return {
        "AnalyzeGaussPCA": dpcore.AnalyzeGaussPCA(3, **asked).fit(X),
        "ModSulqPCA": dpcore.ModSulqPCA(3, **asked).fit(X),
        "ExponentialPCA": dpcore.ExponentialPCA(3, **asked).fit(X),
        "DistributedPCA": dpcore.DistributedPCA(3, **asked).fit(X, sites=sites),
        "DistributedPCA, cape": dpcore.DistributedPCA(3, protocol="cape", **asked).fit(
            X, sites=sites
        ),
        "PrivateCCA": dpcore.PrivateCCA(2, **asked).fit(X[:, :32], X[:, 32:]),
    }


def main() -> None:
    for name, spec in SPECS.items():
        result = collect(Points((spec,)))
        reasons = [row["skipped"] for row in result.skipped]
        print(f"{name:38} {len(result.rows):4} {digest([results(result.rows), reasons])}", *reasons)
    for name, estimator in fitted().items():
        learned = {
            key: np.asarray(value).tolist()
            for key, value in vars(estimator).items()
            if key.endswith("_") and isinstance(value, np.ndarray | float | int)
        }
        print(f"{name:38} {len(learned):4} {digest(learned)}")


if __name__ == "__main__":
    main()
