"""The folder of finished rows: lookup, damage, sharing, deletion."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import platformdirs.windows
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from dpcore.experiments.engine import store as store_module
from dpcore.experiments.engine import sweep
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.store import (
    FOLDER_VARIABLE,
    SIZE_VARIABLE,
    Store,
    cache_folder,
    size_in_bytes,
)
from dpcore.experiments.engine.sweep import collect, run_sweep
from dpcore.experiments.engine.units import run_unit, units_of
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.pca.problem import local_problem

REPOSITORY = Path(__file__).resolve().parents[3]
SWEEP = Sweep(
    RunSpec(repetitions=2, protocols=("dpdis", "pooled")),
    (("epsilon", (0.5, float("inf"))), ("components", (5, 10))),
)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "cache")


def entries(store: Store) -> list[Path]:
    return sorted(store.folder.rglob("*.json"))


def count_units(monkeypatch) -> list:
    computed = []

    def counting(unit, *arguments, **options):
        computed.append(unit)
        return run_unit(unit, *arguments, **options)

    monkeypatch.setattr(sweep, "run_unit", counting)
    return computed


def test_rows_are_found_again_to_the_last_digit(store, monkeypatch):
    first = collect(SWEEP, store=store)
    computed = count_units(monkeypatch)
    again = collect(SWEEP, store=Store(store.folder))
    assert again == first  # seconds and infinities too
    assert computed == []
    assert store.summary().entries == 4  # one an epsilon and repetition
    assert store.summary().size == sum(path.stat().st_size for path in entries(store))


def test_only_what_is_missing_is_computed(store, monkeypatch):
    collect(SWEEP, store=store)
    computed = count_units(monkeypatch)
    larger = replace(SWEEP, base=replace(SWEEP.base, repetitions=3))
    result = collect(larger, store=store)
    assert {unit.repetition for unit in computed} == {2}
    assert [row["repetition"] for row in result.rows[::2]] == [0, 1, 2] * 4


def test_cells_join_those_of_the_same_draw(store):
    collect(SWEEP, store=store)
    other = Sweep(SWEEP.base, (("epsilon", (0.5,)), ("components", (7,))))
    collect(other, store=store)
    assert store.summary().entries == 4
    events = list(run_sweep(SWEEP, store=store))
    assert events[-1].stored == events[-1].total == 8


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-10],
        lambda data: b"",
        lambda data: data.replace(b'"epsilon": 0.5', b'"epsilon": 0.6'),
        lambda data: b"not ours",
    ],
    ids=["cut", "empty", "changed", "foreign"],
)
def test_damaged_entries_are_noticed_and_computed_again(store, damage):
    first = collect(SWEEP, store=store)
    before = {path: path.read_bytes() for path in entries(store)}
    for path, data in before.items():
        path.write_bytes(damage(data))
    again = collect(SWEEP, store=store)
    # Each counts once, however often it was looked at.
    assert store.damaged == sum(damage(data) != data for data in before.values()) > 0
    assert [r["energy_ratio"] for r in again.rows] == [r["energy_ratio"] for r in first.rows]
    fresh = Store(store.folder)
    collect(SWEEP, store=fresh)
    assert fresh.damaged == 0


def _rewrite(path: Path, change) -> None:
    document = json.loads(path.read_bytes().partition(b"\n")[2])
    body = json.dumps(change(document)).encode()
    path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def _of_cells(change):
    return lambda document: {
        **document, "cells": {key: change(cell) for key, cell in document["cells"].items()}
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda document: [document],
        lambda document: {"draw": document["draw"]},
        lambda document: {**document, "cells": list(document["cells"])},
        _of_cells(lambda cell: cell["rows"]),
        _of_cells(lambda cell: {**cell, "rows": cell["rows"][:1]}),
        _of_cells(lambda cell: {**cell, "rows": cell["rows"][::-1]}),
        _of_cells(lambda cell: {**cell, "rows": [[*row.values()] for row in cell["rows"]]}),
        _of_cells(
            lambda cell: {**cell, "rows": [{**row, "energy": "much"} for row in cell["rows"]]}
        ),
        _of_cells(lambda cell: {**cell, "rows": []}),
    ],
    ids=["list", "none", "keys", "bare", "fewer", "order", "values", "words", "empty"],
)
def test_whole_entries_of_another_shape_are_computed_again(store, change):
    first = collect(SWEEP, store=store)
    for path in entries(store):
        _rewrite(path, change)
    again = collect(SWEEP, store=store)
    assert [r["energy_ratio"] for r in again.rows] == [r["energy_ratio"] for r in first.rows]
    assert store.damaged == 4
    assert collect(SWEEP, store=Store(store.folder)) == again


def test_a_folder_in_the_place_of_an_entry_is_computed_past(store):
    first = collect(SWEEP, store=store)
    for path in entries(store):
        path.unlink()
        path.mkdir()
    again = collect(SWEEP, store=store)
    assert [r["energy_ratio"] for r in again.rows] == [r["energy_ratio"] for r in first.rows]
    assert "Is a directory" in store.trouble
    assert store.summary().entries == 0


def test_a_size_is_read_as_people_write_it(monkeypatch, store):
    for text, size in (("2 GB", 2 * 10**9), ("1.5g", 15 * 10**8), ("500MB", 5 * 10**8), ("7", 7)):
        assert size_in_bytes(text) == size
    monkeypatch.setenv(SIZE_VARIABLE, "plenty")
    assert Store(store.folder).most_bytes == 2 * 10**9
    assert "must be a size such as 500 MB or 2 GB, got 'plenty'" in Store(store.folder).trouble


def test_another_version_or_another_part_of_the_data_is_another_entry(store, monkeypatch):
    collect(SWEEP, store=store)
    monkeypatch.setattr(store_module, "software_fingerprint", lambda: "newer")
    computed = count_units(monkeypatch)
    collect(SWEEP, store=store)
    assert len(computed) == 4
    monkeypatch.setattr(store_module, "_size_on_disk", lambda dataset: [100, 64, True])
    collect(SWEEP, store=store)
    assert len(computed) == 8
    assert store.summary().entries == 12


@pytest.mark.parametrize("room", ["data", "mechanisms", "pca", "privacy", "spectra"])
def test_whatever_computes_is_part_of_the_version(room, monkeypatch, tmp_path):
    """After a change of any package, results of earlier code are not found."""
    source = store_module._PACKAGE / room
    assert (source / "__init__.py").is_file()
    shutil.copytree(source, tmp_path / room)
    monkeypatch.setattr(store_module, "_PACKAGE", tmp_path)
    before = store_module.software_fingerprint.__wrapped__()
    with (tmp_path / room / "__init__.py").open("a") as file:
        file.write("# changed")
    assert store_module.software_fingerprint.__wrapped__() != before


def test_two_sessions_compute_a_sweep_once(store, monkeypatch):
    computed = count_units(monkeypatch)
    sessions = [Store(store.folder) for _ in range(3)]
    results: list = [None] * 3

    def ask(i):
        results[i] = collect(SWEEP, store=sessions[i], workers=2)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1] == results[2]
    assert len(computed) == len(set(computed)) == 4
    assert not list(store.folder.rglob("*.lock"))


def test_a_claim_is_held_by_one_at_a_time(store):
    (unit, *_) = units_of({0: SWEEP.base})
    claim = store.claim(unit)
    assert claim is not None
    assert Store(store.folder).claim(unit) is None
    claim.release()
    again = Store(store.folder).claim(unit)
    assert again is not None
    again.release()


def test_a_claim_is_free_once_its_holder_is_killed(store):
    program = (
        "import sys\n"
        "from dpcore.experiments.engine.store import Store\n"
        "from dpcore.experiments.engine.units import units_of\n"
        "from dpcore.experiments.pca.runs import RunSpec\n"
        "claim = Store(sys.argv[1]).claim(units_of({0: RunSpec(repetitions=2)})[0])\n"
        "print(claim is not None, flush=True)\n"
        "sys.stdin.read()\n"
    )
    (unit, *_) = units_of({0: RunSpec(repetitions=2)})
    with subprocess.Popen(
        [sys.executable, "-c", program, str(store.folder)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout.readline() == b"True\n"
        assert store.claim(unit) is None
        holder.kill()
    claim = store.claim(unit)
    assert claim is not None
    claim.release()
    assert not list(store.folder.rglob("*.lock"))


def test_a_share_that_calls_a_held_lock_forbidden(store, monkeypatch):
    """SMB reports a lock as a permission error; another session then computes the unit."""
    (unit, *_) = units_of({0: SWEEP.base})

    def forbidden(*arguments):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("fcntl.flock", forbidden)
    assert store.claim(unit) is None
    monkeypatch.undo()
    claim = store.claim(unit)
    assert claim is not None
    claim.release()


def test_a_sweep_waits_for_what_another_session_is_computing(store):
    (unit, *_) = units_of({i: cell.spec for i, cell in enumerate(SWEEP.cells())})
    claim = store.claim(unit)
    arrived = []
    session = threading.Thread(
        target=lambda: arrived.append(collect(SWEEP, store=Store(store.folder)))
    )
    session.start()
    time.sleep(1.0)
    assert not arrived  # everything else is done; that unit is not
    store.keep(unit, run_unit(unit, local_problem))
    claim.release()
    session.join(30)
    assert len(arrived[0].rows) == 16


def test_clearing_deletes_results_and_nothing_else(store):
    collect(SWEEP, store=store)
    other = store.folder / "mine.txt"
    other.write_text("kept")
    store.clear()
    assert store.summary().entries == 0
    assert other.read_text() == "kept"


def test_a_user_without_a_home_folder_stores_nothing(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setattr(platformdirs, "user_cache_path", fails)
    store = Store()
    store.keep_content(["one"], b"content")
    assert store.content(["one"]) is None
    assert FOLDER_VARIABLE in store.trouble


def test_a_person_can_find_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(platformdirs.windows, "get_win_folder", lambda name: str(tmp_path / name))
    for system, end in (
        (Unix, (".cache", "dpcore")),
        (MacOS, ("Library", "Caches", "dpcore")),
        (Windows, ("CSIDL_LOCAL_APPDATA", "dpcore")),
    ):
        monkeypatch.setattr(platformdirs, "PlatformDirs", system)
        assert cache_folder() == tmp_path.joinpath(*end)
    monkeypatch.setattr(platformdirs, "PlatformDirs", Unix)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "dpcore"
    assert not list(tmp_path.iterdir())
