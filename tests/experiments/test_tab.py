"""A run in a visitor's tab: without threads, with NumPy and SciPy alone, and to the same digits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from dpcore import arrays
from dpcore.spectra import eigen, leading_eigenpairs

# What Pyodide's start leaves out, and starts no thread of.
BLOCK = """
import _thread, sys, threading
for name in (
    "constriction", "dp_accounting", "tree", "pyarrow", "pandas", "joblib", "sklearn",
    "threadpoolctl", "filelock", "platformdirs", "jsonschema", "tqdm", "plotly", "streamlit",
    "cryptography",
):
    sys.modules[name] = None
def refuse(*_, **__):
    raise RuntimeError("can't start new thread")
for module in _thread, threading:
    for name in "start_new_thread", "start_joinable_thread":
        for each in name, f"_{name}":
            if hasattr(module, each):
                setattr(module, each, refuse)
"""
RUN = """
import json
import dpcore
from dpcore.experiments.pca import RunSpec, run
spec = RunSpec(
    dataset="mnist-small", protocols=("dpdis", "full", "local", "pooled", "securesum"), epsilon=1.0,
    delta=1e-5, sites=5, repetitions=1,
)
print(json.dumps([row["energy_ratio"] for row in run(spec)]))
"""
# As many features as are shared out to threads elsewhere.
THREADED = """
import json
import numpy as np
from dpcore.data import Dataset
from dpcore.data.dataset import HeldTable
from dpcore.experiments.pca import RunSpec, run
X = np.random.default_rng(0).normal(size=(600, 300))
table = HeldTable(Dataset(
    X=X, feature_names=tuple(map(str, range(300))), default_components=3, provenance="",
    public_norm_bound=30.0,
))
spec = RunSpec(dataset=table.name, protocols=("dpdis", "full", "local"), sites=4, repetitions=2)
print(json.dumps([row["energy_ratio"] for row in run(spec)]))
"""
SWEEP = """
import json
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.sweep import Sweep, collect
spec = RunSpec(dataset="mnist-small", protocols=("dpdis", "local"), repetitions=2)
found = collect(Sweep(spec, (("epsilon", (0.1, 1.0)),)), workers=2)
print(json.dumps([row["energy_ratio"] for row in found.rows]))
"""
ROUNDED = """
import json
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec, run
try:
    list(run(RunSpec(dataset="mnist-small", protocols=("full",), encoding="rounded:1")))
except ParameterError as error:
    print(json.dumps(str(error)))
"""


def said_by(code: str, path: str) -> object:
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", [RUN, THREADED, SWEEP])
def test_a_run_needs_neither_threads_nor_more_than_numpy_and_scipy(code):
    here = os.getcwd()
    assert said_by(BLOCK + code, here) == said_by(code, here)


def test_rounding_without_its_coder_is_one_sentence():
    assert "constriction is not installed" in said_by(BLOCK + ROUNDED, os.getcwd())


def test_jobs_in_turn_are_as_those_of_threads(monkeypatch):
    monkeypatch.setattr(arrays, "threads_start", lambda: False)
    with arrays.executor(2) as pool:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 / 0).result()


def test_eigenpairs_where_no_lapack_is_called_by_address(monkeypatch, rng):
    matrix = rng.normal(size=(120, 120))
    matrix += matrix.T
    called = leading_eigenpairs(matrix, 10)
    monkeypatch.setattr(eigen, "_IS_WEBASSEMBLY", True)
    values, vectors = leading_eigenpairs(matrix, 10)
    np.testing.assert_allclose(values, called[0])
    np.testing.assert_allclose(abs(vectors @ called[1].T), np.eye(10), atol=1e-9)
