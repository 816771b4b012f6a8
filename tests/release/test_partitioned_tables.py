"""Tables of many Parquet files: read as one, and summed by the workers of a Dask cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest
from pyarrow import parquet

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.release import (
    Column,
    Dictionary,
    Project,
    Reading,
    Table,
    calibrated,
    parquet_files,
    release,
)
from dpcore.release.measurement import moment_around, sum_and_count

# Dask warns when a cluster closes.
pytestmark = pytest.mark.filterwarnings("default")

ANY_PORT = "127.0.0.1:0"
NAMES = ("a", "b", "c")
DICTIONARY = Dictionary(
    (Column("a", 0, 1), Column("b", -3, 3), Column("c", levels=("f", "m"))), title="Parts"
)
SCALES = calibrated(DICTIONARY, epsilon=1.0, delta=1e-5)


def some_rows(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng()
    return {
        "a": rng.normal(0.5, 0.4, n),
        "b": rng.normal(size=n),
        "c": rng.choice(["f", "m", "?"], n),
    }


def write(path, rows, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(rows), path, **how)


@pytest.fixture
def folder(tmp_path):
    """Return a folder of five files, one empty and one with many row groups, and Spark's files."""
    place = tmp_path / "people"
    for number, n_rows in enumerate((700, 0, 1, 300)):
        write(place / f"part-{number}.parquet", some_rows(n_rows))
    write(place / "year=2020" / "part-0.parquet", some_rows(5000), row_group_size=600)
    (place / "_SUCCESS").touch()
    (place / ".part-0.parquet.crc").touch()
    return place


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(parquet_files, "PART_ROWS", 1000)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=ANY_PORT, silence_logs=50
    ) as cluster:
        yield cluster


def exact(data, scheduler=None, watch=lambda share: None):
    """Return the exact sum with the count, the exact moment and the counts of cells."""
    reading = Reading()
    table = Table(data, DICTIONARY.keys, DICTIONARY.n_features)
    total = sum_and_count(table, DICTIONARY, SCALES, reading, watch, scheduler=scheduler)
    centre = np.arange(DICTIONARY.n_features, dtype=np.float64) * 1000
    moment = moment_around(
        table, DICTIONARY, SCALES, centre, watch, on_sphere=True, scheduler=scheduler
    )
    return total.tolist(), moment.tolist(), reading


def in_memory(place):
    return {
        name: np.concatenate([
            parquet.ParquetFile(file).read([name]).column(name).to_numpy()
            for file in sorted(place.rglob("[!.]*.parquet"))
        ])
        for name in NAMES
    }  # fmt: skip


def test_folder_glob_url_and_data_set_are_one_table(folder):
    whole = exact(in_memory(folder))
    assert whole[2].n_rows == 6001
    assert exact(folder) == whole
    assert exact(f"{folder}/**/*.parquet") == whole
    assert exact(folder.as_uri()) == whole
    assert exact(pyarrow.dataset.dataset(folder, format="parquet", partitioning=None)) == whole


@pytest.mark.parametrize("kind", ["folder", "one file", "dask frame", "dask array"])
def test_a_cluster_has_the_same_exact_sums(cluster, folder, small_parts, kind):
    if kind == "one file":
        folder = folder / "year=2020"
    data = in_memory(folder)
    if kind == "dask frame":
        frame = pytest.importorskip("pandas").DataFrame(data)
        parts = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=7)
    elif kind == "dask array":
        data = np.random.default_rng().normal(size=(2000, 4))
        numbers = Dictionary(tuple(Column(name, -1, 1) for name in "abcd"))
        parts = pytest.importorskip("dask.array").from_array(data, chunks=(300, 2))
        for one, other in zip(
            *(
                (
                    sum_and_count(table, numbers, scales, Reading(), scheduler=scheduler),
                    moment_around(
                        table, numbers, scales, np.ones(4), on_sphere=False, scheduler=scheduler
                    ),
                )
                for table, scheduler in (
                    (Table(data, numbers.keys, 4), None),
                    (Table(parts, numbers.keys, 4), cluster.scheduler_address),
                )
                for scales in [calibrated(numbers, epsilon=1.0, delta=1e-5)]
            ),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
        return
    else:
        parts = next(folder.glob("*.parquet")) if kind == "one file" else folder
    assert exact(parts, cluster.scheduler_address) == exact(data)


def test_a_release_by_a_cluster_differs_in_its_noise_only(
    cluster, folder, small_parts, tmp_path, monkeypatch
):
    """A release by a cluster equals a release by one process with the same noise.

    On the sphere, only the process that holds all rows lets pairs vote on the centre.
    """

    def drawn(size, sigma):
        return np.random.default_rng(sigma % 1000).integers(-sigma, sigma, size)

    monkeypatch.setattr("dpcore.release.integer_moments.rounded_normal", drawn)
    made = [
        release(
            folder, DICTIONARY, epsilon=1, delta=1e-5, n_components=2, project=tmp_path / name,
            name="one", cap=(1, 1e-5), scheduler=scheduler, preparation="bounded",
        )
        for name, scheduler in (("here", None), ("there", cluster.scheduler_address))
    ]  # fmt: skip
    np.testing.assert_array_equal(made[0].components_, made[1].components_)
    np.testing.assert_array_equal(made[0].mean_, made[1].mean_)


def test_a_killed_worker_does_not_change_the_sums(cluster, folder, small_parts):
    killed = []

    def kill(share):
        if not killed:
            killed.append(next(iter(cluster.workers.values())).process.process.pid)
            os.kill(killed[0], signal.SIGKILL)

    assert exact(folder, cluster.scheduler_address, kill) == exact(in_memory(folder))
    assert killed


SCHEDULER = """
import sys
from pathlib import Path
from distributed import LocalCluster
with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0",
                  processes=False, protocol="tcp",
                  host="127.0.0.1", silence_logs=50) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def mortal():
    """Return the address of a cluster in another process, and a function that kills it."""
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    process = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process.stdout.readline().strip(), process.kill
    process.kill()
    process.communicate()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("dpcore.cluster._TIMEOUT", 1)
    monkeypatch.setattr("dpcore.cluster._WORKERS_TIMEOUT", 1)


@pytest.mark.parametrize("stage", ["centre", "components"])
def test_a_lost_scheduler_is_one_sentence_and_charged_once_at_most(
    mortal, impatient, folder, small_parts, tmp_path, stage
):
    address, kill = mortal
    project = tmp_path / "project"

    def watch(now, share):
        if now == stage and share < 1:
            kill()

    def ask():
        return release(
            folder, DICTIONARY, epsilon=1, delta=1e-5, n_components=2, project=project,
            name="one", cap=(1, 1e-5), scheduler=address, watch=watch,
        )  # fmt: skip

    if stage == "centre":
        with pytest.raises(ParameterError, match="^scheduler must be (reachable|one with)[^\n]*$"):
            ask()
        assert not project.exists()
    else:
        with pytest.warns(RuntimeWarning, match="stays charged once; this process reads"):
            ask()
        assert [charge.name for charge in Project(project).releases()] == ["one"]


def test_stopping_before_the_charge_leaves_nothing(folder, tmp_path):
    def stop(stage, share):
        assert stage == "centre"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release(
            folder, DICTIONARY, epsilon=1, delta=1e-5, n_components=2, project=tmp_path / "none",
            name="one", cap=(1, 1e-5), watch=stop,
        )  # fmt: skip
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda rows: rows.pop("b"),
            "files of one schema, got .*part-9.parquet: data must be a ta",
        ),
        (lambda rows: rows.update(b=["1"] * 5), "'b' has numbers in part-0.parquet, got 'texts in"),
        (lambda rows: rows.update(c=[[1]] * 5), "'c' has texts in part-0.parquet, got 'list"),
    ],
)
def test_a_file_of_another_schema_is_named(folder, change, sentence):
    rows = some_rows(5)
    change(rows)
    write(folder / "part-9.parquet", rows)
    with pytest.raises(ParameterError, match=sentence):
        Table(folder, DICTIONARY.keys)


def test_blanks_and_empty_columns_fit_every_schema(folder):
    write(folder / "part-9.parquet", {"a": [1, 0], "b": [None, None], "c": ["f", None]})
    assert exact(folder)[2].n_rows == 6003


def test_a_corrupt_file_is_named(folder, cluster, small_parts):
    (folder / "part-7.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(ParameterError, match=r"a sound Parquet file, got 'part-7.parquet'"):
        Table(folder, DICTIONARY.keys)
    # A damaged page, which the footer does not show.
    path = folder / "part-7.parquet"
    write(path, some_rows(900), compression="gzip")
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    for scheduler in (None, cluster.scheduler_address):
        with pytest.raises(ParameterError, match=r"a sound Parquet file, got 'part-7.parquet'"):
            exact(folder, scheduler)


def test_sources_other_than_parquet_get_one_sentence(tmp_path, folder, cluster):
    with pytest.raises(ParameterError, match="a place with files named .parquet"):
        Table(f"{tmp_path}/none*", NAMES)
    (folder / "notes.txt").touch()
    with pytest.raises(ParameterError, match=r"Parquet files only.*got 'notes.txt'"):
        Table(folder, NAMES)
    filtered = pyarrow.dataset.dataset(folder / "part-0.parquet", format="parquet").filter(
        pyarrow.dataset.field("a") > 0
    )
    with pytest.raises(ParameterError, match="without a filter"):
        Table(filtered, NAMES)
    with pytest.raises(ParameterError, match="a URL that Arrow can open here"):
        Table("nothing://here/x", NAMES)
    with pytest.raises(ParameterError, match="Parquet .* or a Dask table with a scheduler"):
        exact(some_rows(5), cluster.scheduler_address)
    people = Dictionary((Column("a", 0, 1),), person="c")
    with pytest.raises(ParameterError, match="scheduler must be left out"):
        sum_and_count(
            Table(folder / "part-0.parquet", people.keys), people,
            calibrated(people, epsilon=1, delta=1e-5), Reading(), scheduler="tcp://127.0.0.1:1",
        )  # fmt: skip


def test_parts_without_any_row_are_a_table_without_rows(tmp_path, cluster):
    write(
        tmp_path / "people" / "part-0.parquet", {"a": np.ones(0), "b": np.ones(0), "c": ["f"][:0]}
    )
    for scheduler in (None, cluster.scheduler_address):
        with pytest.raises(ParameterError, match="a table with rows"):
            exact(tmp_path / "people", scheduler)


def test_the_scheduler_of_the_environment_is_used_for_parquet_only(
    folder, tmp_path, monkeypatch, capsys
):
    """The scheduler of the environment is used for Parquet only; it made CSV files fail."""
    monkeypatch.setenv("DPCORE_SCHEDULER", "tcp://127.0.0.1:9")  # a closed port
    dictionary, table = tmp_path / "dictionary.toml", tmp_path / "table.csv"
    table.write_text("a\n" + "0.5\n" * 50)

    def released(data: Path, project: str, columns: str) -> int:
        dictionary.write_text(columns)
        return main([
            "release", "--data", str(data), "--dictionary", str(dictionary), "--epsilon", "1",
            "--delta", "1e-5", "--components", "1", "--project", str(tmp_path / project),
            "--name", "one", "--cap", "1", "1e-5",
        ])  # fmt: skip

    assert released(table, "of-a-file", "[columns.a]\nlower = 0\nupper = 1\n") == 0
    capsys.readouterr()
    assert released(folder, "of-a-folder", DICTIONARY.toml()) == 2
    assert "tcp://127.0.0.1:9" in capsys.readouterr().err


def test_the_command_reads_a_folder_on_a_cluster(cluster, folder, tmp_path, capsys):
    dictionary = tmp_path / "dictionary.toml"
    dictionary.write_text(DICTIONARY.toml())
    arguments = [
        "release", "--data", str(folder), "--dictionary", str(dictionary), "--epsilon", "1",
        "--delta", "1e-5", "--components", "2", "--project", str(tmp_path / "project"), "--name",
        "one", "--cap", "1", "1e-5", "--scheduler", cluster.scheduler_address, "--json",
    ]  # fmt: skip
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["name"] == "one"
    assert "6,001 rows read" in err
    assert main(["check", "--data", str(folder), "--dictionary", str(dictionary)]) == 0
    assert "people: 6,001 rows" in capsys.readouterr().out
    assert main(["check", "--data", str(folder)]) == 0
    assert "\n[columns" in capsys.readouterr().out
