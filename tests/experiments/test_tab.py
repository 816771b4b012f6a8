"""A run in a visitor's tab: without threads, with NumPy and SciPy alone, and to the same digits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from zipfile import ZipFile

import numpy as np
import pytest

from dpcore import arrays
from dpcore.data import Dataset
from dpcore.data.dataset import HeldTable
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.published_folder import (
    PYODIDE,
    PublishedGrid,
    copy_pyodide,
    pack_dpcore,
    publish,
    settings_of,
)
from dpcore.experiments.store import software_fingerprint
from dpcore.experiments.tab import Tab, read_table

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
QUESTION = {
    "ask": "run", "dataset": "mnist-small", "protocol": "dpdis", "epsilon": 1.0, "delta": 1e-5,
    "sites": 5, "components": 20, "intermediate_dim": None, "repetitions": 2, "seed": 0,
    "limits": {},
}  # fmt: skip


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


def test_what_is_shipped_to_the_tab_is_whole_and_gives_the_published_numbers(tmp_path):
    pack_dpcore(tmp_path / "dpcore.zip")
    with ZipFile(tmp_path / "dpcore.zip") as archive:
        archive.extractall(tmp_path / "tab")
    code = f"""
import json
from dpcore.experiments.store import software_fingerprint
from dpcore.experiments.tab import Tab
print(json.dumps([software_fingerprint(), json.loads(Tab().answer({json.dumps(QUESTION)!r}))]))
"""
    fingerprint, answered = said_by(BLOCK + code, str(tmp_path / "tab"))
    assert fingerprint == software_fingerprint()
    grid = PublishedGrid(
        sites=(5,), components=(20,), protocols=("dpdis",), epsilons=(1.0,), repetitions=2
    )
    (published,) = settings_of("mnist-small", 5, grid)
    assert answered == json.loads(json.dumps(published))
    spec = RunSpec(
        dataset="mnist-small", protocols=("dpdis",), epsilon=1.0, delta=1e-5, sites=5, repetitions=2
    )
    ratios = [row["energy_ratio"] for row in run(spec)]
    assert answered["points"]["dpdis"][0]["mean"] == pytest.approx(np.mean(ratios), abs=1e-12)


def test_the_same_files_are_packed_into_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        pack_dpcore(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").stat().st_size < 3e6


TABLE = "age;height;name;empty\n20;150,5;Ann;\n30;NA;Bob;\n40;170;Eve;\n50;180;Joe;\n"


def test_a_table_has_its_columns_of_numbers(rng):
    table = read_table(TABLE)
    assert list(table.columns) == ["age", "height"]
    assert table.columns["age"] == [20, 30, 40, 50]
    np.testing.assert_equal(table.columns["height"], [150.5, np.nan, 170, 180])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "header"),
        ("age\n1\n", "two rows"),
        ("age,age\n1,2\n3,4\n", "one name"),
        ("age,height\n1,2\n3\n", "as many cells"),
        ("name\nSecretive\nPrivate\n", "No column"),
        ('age\n"1\n2\n', "do not end"),
    ],
)
def test_what_is_no_table_is_refused_without_repeating_a_cell(text, said):
    answer = json.loads(Tab().answer(json.dumps({"ask": "table", "text": text})))
    assert said in answer["error"]
    assert "Secretive" not in answer["error"]


def test_an_own_table_runs_within_its_limits_alone(rng):
    rows = rng.normal(size=(300, 4)) @ np.diag([3, 2, 1, 1])
    text = "a,b,c,d\n" + "\n".join(",".join(f"{cell:.6f}" for cell in row) for row in rows)
    tab = Tab()
    found = json.loads(tab.answer(json.dumps({"ask": "table", "text": text})))
    assert (found["rows"], len(found["columns"])) == (300, 4)
    limits = {"a": [-6, 6], "b": [-6, 6], "d": [-3, 3]}
    own = QUESTION | {"dataset": "own", "sites": 2, "components": 2, "limits": limits}
    setting = json.loads(tab.answer(json.dumps(own)))
    (point,) = setting["points"]["dpdis"]
    assert point["command"] == ""
    read = np.loadtxt(text.splitlines()[1:], delimiter=",")
    table = HeldTable(
        Dataset(
            X=np.clip(read[:, [0, 1, 3]] / [6, 6, 3], -1, 1).astype(np.float32),
            feature_names=("a", "b", "d"), default_components=1, provenance="",
            public_norm_bound=3**0.5, column_limits=np.array([[-1.0, 1.0]] * 3),
        )
    )  # fmt: skip
    spec = RunSpec(
        dataset=table.name, protocols=("dpdis",), epsilon=1.0, delta=1e-5, sites=2, components=2,
        repetitions=2,
    )  # fmt: skip
    assert point["mean"] == pytest.approx(np.mean([row["energy_ratio"] for row in run(spec)]))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"components": 1000}, "components"),
        ({"sites": 0}, "sites"),
        ({"dataset": "own"}, "Open a table"),
    ],
)
def test_what_cannot_run_is_one_sentence(changed, said):
    answer = json.loads(Tab().answer(json.dumps(QUESTION | changed)))
    assert said in answer["error"]
    assert "\n" not in answer["error"]


@pytest.fixture
def pyodide(tmp_path):
    """A folder with the names of Pyodide's files, and nothing that runs."""
    home = tmp_path / "pyodide"
    home.mkdir()
    packages = {}
    for name in ("numpy", "scipy"):
        (home / f"{name}.whl").write_bytes(name.encode())
        packages[name] = {
            "file_name": f"{name}.whl", "sha256": sha256(name.encode()).hexdigest(),
        }  # fmt: skip
    (home / "pyodide-lock.json").write_text(json.dumps({"packages": packages}))
    (home / "pyodide.mjs").write_text(f'version="{PYODIDE}"')
    for name in ("pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"):
        (home / name).write_bytes(b"")
    return home


def test_the_live_page_is_left_out_unless_a_host_asks(tmp_path, pyodide):
    grid = PublishedGrid(
        datasets=("digits",), sites=(2,), components=(5,), epsilons=(1.0,), repetitions=1
    )
    publish(tmp_path / "plain", grid, progress=lambda _: None)
    publish(tmp_path / "live", grid, progress=lambda _: None, live=str(pyodide))
    more = {file.name for file in (tmp_path / "live").iterdir()} - {
        file.name for file in (tmp_path / "plain").iterdir()
    }
    assert more == {
        "live.html", "live.js", "live-settings.js", "worker.js", "dpcore.zip", "pyodide",
    }  # fmt: skip
    assert '"has_live":true' in (tmp_path / "live" / "runs.js").read_text(encoding="utf-8")
    assert "connect-src 'self';" in (tmp_path / "live" / "live.html").read_text(encoding="utf-8")
    publish(tmp_path / "far", grid, progress=lambda _: None, live="https://cdn.test/v/full")
    page = (tmp_path / "far" / "live.html").read_text(encoding="utf-8")
    assert "connect-src 'self' https://cdn.test;" in page
    assert not (tmp_path / "far" / "pyodide").exists()


def test_another_pyodide_is_refused(tmp_path, pyodide):
    (pyodide / "scipy.whl").write_bytes(b"changed")
    with pytest.raises(ParameterError, match=r"damaged scipy\.whl"):
        copy_pyodide(pyodide, tmp_path / "copy")
    (pyodide / "scipy.whl").unlink()
    with pytest.raises(ParameterError, match=r"scipy\.whl"):
        copy_pyodide(pyodide, tmp_path / "copy")
    (pyodide / "pyodide.mjs").write_text('version="0.1.0"')
    with pytest.raises(ParameterError, match="another version"):
        copy_pyodide(pyodide, tmp_path / "copy", ("numpy",))
    grid = PublishedGrid(datasets=("digits",), sites=(2,), epsilons=(1.0,), repetitions=1)
    with pytest.raises(ParameterError, match="https"):
        publish(tmp_path / "x", grid, progress=lambda _: None, live="http://cdn.test/v/full")
