"""The folder of finished rows if it is read-only, full, occupied, deleted, too small or shared.

Root may do what others may not, so refusals are played where they cannot be had otherwise.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpcore.experiments.engine import store as bounded_folder_module
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.store import FOLDER_VARIABLE, SIZE_VARIABLE, BoundedFolder, Store
from dpcore.experiments.engine.sweep import collect, run_sweep
from dpcore.experiments.pca import RunSpec

REPOSITORY = Path(__file__).resolve().parents[3]
SWEEP = Sweep(RunSpec(repetitions=2, protocols=("pooled",)), (("epsilon", (0.5, 1.0)),))


@pytest.fixture(scope="module")
def ratios() -> list[float]:
    return _ratios(collect(SWEEP))


def _ratios(result) -> list[float]:
    return [row["energy_ratio"] for row in result.rows]


def _refusing(number: int):
    def refuse(*arguments, **options):
        raise OSError(number, os.strerror(number))

    return refuse


REFUSALS = [
    (call, number)
    for call in ("mkdir", "open", "replace", "chmod", "mkstemp", "flock")
    for number in (
        errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EIO, errno.ENOENT, errno.ENOLCK, errno.ENOSYS
    )
    # Shares of other systems say so of a lock that is held (`test_store`).
    if (call, number) != ("flock", errno.EACCES)
]  # fmt: skip


@pytest.mark.parametrize(("call", "number"), REFUSALS)
def test_whatever_the_system_refuses_rows_are_computed(tmp_path, monkeypatch, ratios, call, number):
    store = Store(tmp_path / "cache")
    if call == "mkdir":
        monkeypatch.setattr(Path, "mkdir", _refusing(number))
    elif call == "mkstemp":
        monkeypatch.setattr(bounded_folder_module.tempfile, "mkstemp", _refusing(number))
    elif call == "flock":
        monkeypatch.setattr("fcntl.flock", _refusing(number))
    else:
        monkeypatch.setattr(os, call, _refusing(number))
    assert _ratios(collect(SWEEP, store=store)) == ratios
    monkeypatch.undo()
    assert bool(store.trouble) == (call in ("mkdir", "open", "replace", "chmod", "mkstemp"))
    if store.trouble:
        assert os.strerror(number) in store.trouble and str(tmp_path) in store.trouble
    assert not list(tmp_path.rglob("tmp*"))
    # Once the folder can be written again, rows are stored without a warning.
    collect(SWEEP, store=store)
    assert store.trouble == "" and store.summary().entries == 4


def test_a_file_in_the_place_of_the_folder(tmp_path, ratios):
    (tmp_path / "cache").write_text("mine")
    store = Store(tmp_path / "cache")
    assert _ratios(collect(SWEEP, store=store)) == ratios
    assert "exists" in store.trouble or "Not a directory" in store.trouble
    assert store.summary().entries == 0
    store.clear()
    assert (tmp_path / "cache").read_text() == "mine"


def test_entries_that_cannot_be_read_are_computed_again(tmp_path, monkeypatch, ratios):
    store = Store(tmp_path / "cache")
    collect(SWEEP, store=store)
    monkeypatch.setattr(Path, "read_bytes", _refusing(errno.EACCES))
    events = list(run_sweep(SWEEP, store=store))
    assert events[-1].stored == 0 and events[-1].done == 4


def test_the_folder_is_deleted_while_a_sweep_runs(tmp_path, ratios):
    store = Store(tmp_path / "cache")
    rows = []
    for event in run_sweep(SWEEP, store=store):
        rows += event.rows
        shutil.rmtree(store.folder, ignore_errors=True)
    assert sorted(row["energy_ratio"] for row in rows) == sorted(ratios)
    assert store.trouble == ""
    assert not list(tmp_path.rglob("*.lock"))


def test_a_full_disc_leaves_no_half_of_a_file(tmp_path):
    """A limit of the system on the size of written files simulates a full disk."""
    program = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "from dpcore.command_line import main\n"
        "raise SystemExit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, "sweep", "--vary", "epsilon=0.5,1",
         "--protocol", "pooled", "--repetitions", "2"],
        cwd=REPOSITORY, capture_output=True, text=True,
        env=os.environ | {FOLDER_VARIABLE: str(tmp_path / "cache"), "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    said = [line for line in done.stderr.splitlines() if "cannot be kept" in line]
    assert len(said) == 1 and "File too large" in said[0]
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def _write(folder: BoundedFolder, name: str, size: int, asked: float) -> Path:
    path = folder.root / name[:2] / f"{name}.json"
    folder.write(path, bytes(size))
    if path.exists():
        os.utime(path, (asked, asked))
    return path


def test_the_folder_does_not_outgrow_its_bound(tmp_path):
    folder = BoundedFolder(tmp_path / "cache" / "sweeps", most_bytes=10_000)
    now = time.time()
    largest = 0
    for i in range(200):
        _write(folder, f"{i:04}", 300, now - 1000 + i)
        largest = max(largest, sum(file.size for file in folder.files()))
    assert largest <= 10_000
    left = {Path(file.path).stem for file in folder.files()}
    assert len(left) >= 28 and left == {f"{i:04}" for i in range(200 - len(left), 200)}
    # No empty folders stay behind.
    assert {path.name for path in folder.root.iterdir()} == {name[:2] for name in left}


def test_what_was_asked_for_stays(tmp_path):
    folder = BoundedFolder(tmp_path / "sweeps", most_bytes=10_000)
    now = time.time()
    first = _write(folder, "asked", 300, now - 5000)
    for i in range(100):
        assert folder.read(first) == bytes(300)
        _write(folder, f"{i:04}", 300, now - 1000 + i)
    assert first.exists()


def test_an_entry_larger_than_the_bound_goes_and_none_is_kept_without_room(tmp_path):
    folder = BoundedFolder(tmp_path / "sweeps", most_bytes=1_000)
    _write(folder, "huge", 2_000, time.time())
    assert not list(folder.files())
    none = BoundedFolder(tmp_path / "none", most_bytes=0)
    _write(none, "small", 1, time.time())
    assert not list(none.files())


def test_leftovers_of_killed_processes_are_swept(tmp_path):
    root = tmp_path / "sweeps"
    (root / "ab").mkdir(parents=True)
    old, new = time.time() - 4000, time.time()
    for name, asked in (("tmpold", old), ("tmpnew", new), ("a.lock", old), ("b.lock", new)):
        (root / "ab" / name).write_bytes(b"half")
        os.utime(root / "ab" / name, (asked, asked))
    _write(BoundedFolder(root, 10_000), "cd", 10, new)
    assert {Path(file.path).name for file in BoundedFolder(root, 0).files()} == {
        "tmpnew", "b.lock", "cd.json",
    }  # fmt: skip


def test_files_of_somebody_else_stay_and_do_no_harm(tmp_path, monkeypatch):
    folder = BoundedFolder(tmp_path / "sweeps", most_bytes=1_000)
    path = _write(folder, "theirs", 900, time.time() - 10)
    for call in ("utime", "unlink"):
        monkeypatch.setattr(os, call, _refusing(errno.EPERM))
    assert folder.read(path) == bytes(900)
    folder.write(folder.root / "mine.json", bytes(900))
    assert path.exists() and folder.trouble == ""


def _rights(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize(
    ("rights", "of_files"),
    [(0o2775, "0o664"), (0o700, "0o600"), (0o755, "0o644"), (0o1777, "0o666")],
)
def test_what_is_kept_has_the_rights_of_the_folder(tmp_path, rights, of_files):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(rights)
    store = Store(shared)
    collect(SWEEP, store=store)
    for path in shared.rglob("*"):
        assert _rights(path) == (oct(rights) if path.is_dir() else of_files)


def test_a_folder_that_is_made_here_is_its_makers_alone(tmp_path):
    collect(SWEEP, store=Store(tmp_path / "new"))
    assert _rights(tmp_path / "new") == "0o700"
    assert {_rights(path) for path in (tmp_path / "new").rglob("*.json")} == {"0o600"}


def test_the_variable_bounds_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(SIZE_VARIABLE, "20 kB")
    store = Store(tmp_path / "cache")
    larger = Sweep(SWEEP.base, (("epsilon", tuple(0.1 * i for i in range(1, 21))),))
    collect(larger, store=store)
    summary = store.summary()
    assert 0 < summary.size <= 20_000
    assert 0 < summary.entries < 40
