"""The ledger of a project: charges before noise, and a cap that holds when processes are killed."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.privacy import BeyondCap, Cap, delta_of_distance, gaussian_delta
from dpcore.release import Column, Dictionary, Project, calibrated, measurement, publication
from dpcore.release.verification import verify

REPOSITORY = Path(__file__).resolve().parents[2]
CAP = (1.0, 1e-6)
SMALL = Dictionary((Column("a", 0, 1), Column("b", 0, 1)))
MANY = """
import sys
import numpy as np
from dpcore.privacy import BeyondCap
from dpcore.release import Column, Dictionary, release
people = Dictionary((Column("a", 0, 1), Column("b", 0, 1)))
rows = np.zeros((50, 2))
for number in range(int(sys.argv[3])):
    try:
        release(rows, people, epsilon=0.1, delta=1e-6, n_components=1, project=sys.argv[1],
                name=f"{sys.argv[2]}{number}", cap=(float(sys.argv[4]), 1e-6))
    except BeyondCap:
        sys.exit(7)
    if number == 0:
        print("ready", flush=True)
"""


def start(project: Path, prefix: str, number: int, cap: float) -> subprocess.Popen:
    command = [sys.executable, "-c", MANY, str(project), prefix, str(number), str(cap)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE)


def assert_sound(project: Project) -> None:
    """Check that every folder is charged and complete, and that the cap holds."""
    charged = {release.name for release in project.releases()}
    folders = {path.name for path in (project.folder / "releases").glob("[!.]*")}
    assert (
        folders
        == {release.name for release in project.releases() if release.is_finished}
        <= charged
    )
    for name in folders:
        verdict = verify(project.path_of(name))
        assert verdict.holds, verdict.sentence
    assert keeps(project)


def keeps(project: Project) -> bool:
    """Return whether the cap holds, computed from the charges by another implementation."""
    mu = np.sqrt(sum(release.mu**2 for release in project.releases()))
    distance = sum(release.distance for release in project.releases())
    epsilon, delta = project.cap.epsilon, project.cap.delta
    if mu == 0:
        return True
    return gaussian_delta(epsilon, 1.0, mu) + (1 + np.exp(epsilon)) * distance <= delta


KILLED = """
import os, signal, sys, time
import numpy as np
from dpcore.release import Column, Dictionary
from dpcore.release.publication import PublicationSettings, write_release
people = Dictionary((Column("a", 0, 1), Column("b", 0, 1)))
rng = np.random.default_rng()
def one_more(name):
    write_release(np.zeros((50, 2)), people, PublicationSettings(0.1, 1e-6, 1), project=sys.argv[1],
                  name=name, cap=(14.0, 1e-6))
# The first call imports modules and fills caches; the second is measured.
one_more("first")
began = time.monotonic()
one_more("second")
duration = time.monotonic() - began
for kill in range(int(sys.argv[2])):
    child = os.fork()
    while child == 0:
        one_more(f"k{kill}-{time.monotonic_ns()}")
    time.sleep(rng.uniform(0.0, 4 * duration))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
"""


def test_a_killed_process_leaves_no_half_release(tmp_path):
    """Kill a process during one of several releases, ten times or DPCORE_KILLS times."""
    kills = os.environ.get("DPCORE_KILLS", "10")
    command = [sys.executable, "-c", KILLED, str(tmp_path), kills]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    assert_sound(Project(tmp_path))
    assert Project(tmp_path).releases()


def test_two_processes_never_exceed_the_cap(tmp_path):
    both = [start(tmp_path, prefix, 40, 0.25) for prefix in "ab"]
    for process in both:
        process.communicate(timeout=120)
        assert process.returncode == 7
    project = Project(tmp_path)
    assert_sound(project)
    assert len({release.name for release in project.releases()}) == len(project.releases()) >= 5
    with pytest.raises(BeyondCap):
        project.charge("one-more", calibrated(SMALL, epsilon=0.1, delta=1e-6), 0.1, 1e-6)


@pytest.mark.parametrize("step", ["measure", "files_of"])
def test_a_failure_after_the_charge_stays_charged(make, monkeypatch, tmp_path, step):
    def fails(*arguments, **settings):
        raise OSError("no space left")

    monkeypatch.setattr(publication, step, fails)
    with pytest.raises(OSError, match="no space"):
        make()
    (charged,) = Project(tmp_path / "project").releases()
    assert not charged.is_finished
    monkeypatch.undo()
    with pytest.raises(ParameterError, match="charged and never finished"):
        make()


def test_a_disk_that_fills_up_leaves_no_release(make, monkeypatch, tmp_path):
    calls = iter([None, None, OSError("full")])

    def fsync(descriptor: int) -> None:
        if (error := next(calls)) is not None:
            raise error

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="full"):
        make()
    monkeypatch.undo()
    assert_sound(Project(tmp_path / "project"))
    assert make("second").certificate_["name"] == "second"


def test_the_charge_is_on_the_disk_before_the_noise_is_drawn(make, monkeypatch, tmp_path):
    collected = []
    real = publication.measure

    def watched(*arguments, **settings):
        collected.append([release.name for release in Project(tmp_path / "project").releases()])
        return real(*arguments, **settings)

    monkeypatch.setattr(publication, "measure", watched)
    make()
    assert collected == [["first"]]


def test_a_used_cap_refuses_releases_without_a_charge(make, tmp_path):
    make("a", epsilon=1.2)
    make("b", epsilon=1.2)
    project = Project(tmp_path / "project")
    with pytest.raises(BeyondCap, match="is left of the cap"):
        make("c", epsilon=1.2)
    assert [release.name for release in project.releases()] == ["a", "b"]
    assert project.total().share <= 1.0 and keeps(project)


def test_the_stated_total_holds_under_adaptive_stopping(tmp_path, delta_of_best_stopping):
    """The stated ε holds at the cap's δ for an adversary who stops at the best time.

    The ε of a plan fixed in advance needs three times that δ under such stopping.
    """
    cap, shown = (5.0, 1e-3), []
    project = Project(tmp_path, cap)
    unit = calibrated(SMALL, epsilon=0.8, delta=1e-3)
    for number in range(20):
        total = asdict(project.charge(str(number), unit, 0.8, 1e-3))
        shown.append(total.get("epsilon", total["cap_epsilon"]))
    assert delta_of_best_stopping([unit.mu] * 20, shown) <= cap[1]
    planned = [project.cap.epsilon_of(unit.mu * count**0.5) for count in range(1, 21)]
    assert delta_of_best_stopping([unit.mu] * 20, planned) > 2.3 * cap[1]


@pytest.mark.parametrize("changed", [
    dict(name="FIRST"), dict(name="../x"), dict(name=""), dict(name=".x"), dict(name="a/b"),
    dict(name="second", epsilon=0), dict(name="second", delta=0), dict(name="second", delta=1e-26),
    dict(name="second", epsilon=50), dict(name="second", epsilon=1e-9, delta=1e-12),
    dict(name="second", n_components=5), dict(name="second", n_components=0),
    dict(name="second", n_components=1.0), dict(name="second", preparation="none"),
    dict(name="second", mean_share=0), dict(name="second", mean_share=1),
    dict(name="second", cap=(3.0, 1e-5)), dict(name="second", cap=(0, 0)),
])  # fmt: skip
def test_a_refusal_charges_nothing(make, tmp_path, changed):
    make()
    with pytest.raises(ParameterError) as refused:
        make(**changed)
    assert "\n" not in str(refused.value)
    assert [release.name for release in Project(tmp_path / "project").releases()] == ["first"]


def test_a_table_that_does_not_fit_charges_nothing(dictionary, tmp_path):
    for table in ({"height": [1]}, {"height": [], "weight": [], "sex": []}):
        with pytest.raises(ParameterError, match="data"):
            publication.release(table, dictionary, epsilon=1.0, delta=1e-5, n_components=1,
                              project=tmp_path, name="a", cap=(2.0, 1e-5))  # fmt: skip
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("cap", [(0.5, 1e-5), (2.0, 1e-17)])
def test_a_first_release_beyond_its_cap_makes_no_project(make, tmp_path, cap):
    with pytest.raises(BeyondCap):
        make(cap=cap)
    assert not any(tmp_path.iterdir())
    make(cap=(2.0, 1e-5))


def test_more_features_than_memory_are_refused_before_the_charge(make, monkeypatch, tmp_path):
    Project(tmp_path / "project", (2.0, 1e-5))
    monkeypatch.setattr(publication, "_available_memory", lambda: 100.0)
    with pytest.raises(ParameterError, match="few enough features for 0.0 GB of memory"):
        make()
    assert Project(tmp_path / "project").releases() == ()


def test_very_many_features_need_their_matrix_once(people, dictionary, monkeypatch, tmp_path):
    """Without memory for a second matrix, few components are computed from products only."""
    many = {f"a{n}": people["height"] - n for n in range(60)}
    wide = Dictionary(tuple(Column(name, 40, 230) for name in many))
    arguments = dict(epsilon=1.0, delta=1e-5, project=tmp_path, cap=(3.0, 1e-4))
    monkeypatch.setattr(measurement, "MOST_ASSESSED", 50)
    monkeypatch.setattr(publication, "_available_memory", lambda: 2 * 8 * 60**2)
    released = publication.release(many, wide, n_components=1, name="few", **arguments)
    assert verify(released.folder).holds and released.components_.shape == (1, 60)
    assert np.isnan(released.explained_variance_ratio_interval_).all()
    with pytest.raises(ParameterError, match="few enough features"):
        publication.release(many, wide, n_components=2, name="more", **arguments)


def test_a_new_project_needs_a_cap(tmp_path):
    with pytest.raises(ParameterError, match="given a cap"):
        Project(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    Project(tmp_path / "none", CAP)
    assert Project(tmp_path / "none").cap == Cap(*CAP, reserve=1e-12)
    assert Project(tmp_path / "none").total().share == 0


def test_a_damaged_ledger_gets_one_sentence(tmp_path):
    (tmp_path / "ledger.sqlite").write_bytes(b"no ledger at all" * 100)
    with pytest.raises(ParameterError, match="sound ledger"):
        Project(tmp_path)
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    (tmp_path / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(ParameterError, match="has a cap"):
        Project(tmp_path)


def test_the_samplers_distance_is_limited_by_the_reserve(tmp_path):
    project = Project(tmp_path, (1.0, 1e-25))
    wide = Dictionary(tuple(Column(f"c{i}", 0, 1) for i in range(784)))
    scales = calibrated(wide, epsilon=0.01, delta=1e-6)
    assert delta_of_distance(scales.distance, 1.0) > 1e-31
    with pytest.raises(BeyondCap, match="of larger δ"):
        project.charge("a", scales, 0.1, 1e-6)


@pytest.mark.parametrize("features", [1, 784])
@pytest.mark.parametrize("cap", [(1.0, 1e-6), (0.1, 1e-5), (10.0, 1e-9)])
def test_a_release_fits_a_cap_of_the_same_numbers(tmp_path, features, cap):
    """A release may use the whole cap, including the sampler's distance."""
    wide = Dictionary(tuple(Column(f"c{i}", 0, 1) for i in range(features)))
    epsilon, delta = cap
    scales = calibrated(wide, epsilon=epsilon, delta=delta)
    assert epsilon * (1 - 1e-6) <= scales.epsilon(delta, epsilon) <= epsilon
    project = Project(tmp_path, cap)
    project.charge("all", scales, epsilon, delta)
    assert keeps(project)
    # Sigmas are rounded to integers, so a very small epsilon may remain.
    with pytest.raises(BeyondCap, match=r"No release passes any more|that passes is 0\.00"):
        project.charge("more", calibrated(wide, epsilon=0.01, delta=delta), 0.01, delta)


@pytest.mark.parametrize(("features", "cap", "epsilon"), [
    (784, (10.0, 1e-6), 0.1), (4, (20.0, 1e-5), 1.0), (784, (20.0, 1e-6), 1.0),
])  # fmt: skip
def test_the_samplers_distance_does_not_end_a_project(tmp_path, features, cap, epsilon):
    """An earlier version allowed one release in the first case and fifteen in the second."""
    wide = Dictionary(tuple(Column(f"c{i}", 0, 1) for i in range(features)))
    one = calibrated(wide, epsilon=epsilon, delta=cap[1])
    project = Project(tmp_path, cap)
    for number in range(30):
        project.charge(f"r{number}", one, epsilon, cap[1])
    assert keeps(project)
    # A hundred times these draws would still fit the reserve.
    assert 100 * delta_of_distance(project.total().distance, cap[0]) < project.cap.reserve


def test_a_refusal_names_the_largest_epsilon_that_passes(tmp_path):
    project = Project(tmp_path, (2.0, 1e-6))
    project.charge("a", calibrated(SMALL, epsilon=1.3, delta=1e-6), 1.3, 1e-6)
    for delta in (1e-6, 1e-4, 1e-8):
        with pytest.raises(BeyondCap) as refused:
            project.charge("b", calibrated(SMALL, epsilon=5.0, delta=delta), 5.0, delta)
        named = float(re.search(r"largest ε that passes is ([0-9.]+)\.", str(refused.value))[1])
        project.require_room("b", calibrated(SMALL, epsilon=named, delta=delta))
        with pytest.raises(BeyondCap):
            project.require_room("b", calibrated(SMALL, epsilon=named * 1.01, delta=delta))


def lose(project: Path, how: str) -> None:
    """Remove the ledger, its content or its last line; keep the releases."""
    ledger = project / "ledger.sqlite"
    for beside in project.glob("ledger.sqlite-*"):
        beside.unlink()
    if how == "gone":
        ledger.unlink()
    elif how == "empty":
        ledger.write_bytes(b"")
    else:
        with sqlite3.connect(ledger) as lines:
            lines.execute("DELETE FROM releases WHERE number = (SELECT max(number) FROM releases)")


@pytest.mark.parametrize("how", ["gone", "empty", "set back"])
def test_a_ledger_without_the_releases_of_its_folder_is_refused(make, tmp_path, how):
    """A new ledger would allow the cap to be spent twice."""
    make("a", epsilon=0.5)
    make("b", epsilon=0.5)
    lose(tmp_path / "project", how)
    sentence = "not in the ledger" if how == "set back" else "2 releases and no ledger"
    for use in (lambda: make("c"), lambda: Project(tmp_path / "project"),
                  lambda: Project(tmp_path / "project", (2.0, 1e-5))):  # fmt: skip
        with pytest.raises(ParameterError, match=sentence) as refused:
            use()
        assert "\n" not in str(refused.value)
    assert len(list((tmp_path / "project" / "releases").iterdir())) == 2


def test_a_ledger_that_loses_a_line_during_use_is_refused(make, tmp_path):
    make("a", epsilon=0.5)
    make("b", epsilon=0.5)
    project = Project(tmp_path / "project")
    with sqlite3.connect(tmp_path / "project" / "ledger.sqlite") as lines:
        lines.execute("DELETE FROM releases WHERE name = 'a'")
    with pytest.raises(ParameterError, match="a, which is not in the ledger"):
        project.charge("c", calibrated(SMALL, epsilon=0.1, delta=1e-6), 0.1, 1e-6)


def test_a_copy_of_a_project_is_reported(make, tmp_path, capsys):
    make("a", epsilon=0.5)
    original, copy = tmp_path / "project", tmp_path / "copy"
    assert Project(original).origin == ""
    shutil.copytree(original, copy)
    assert f"begun in {original}" in Project(copy).origin
    with pytest.raises(ParameterError, match="this is a copy, and each would spend the cap"):
        make("b", epsilon=0.5, project=copy, cap=None)
    # The original continues; after a move it warns and continues.
    make("b", epsilon=0.5)
    shutil.rmtree(copy)
    original.rename(copy)
    assert "if it is a copy and was not moved" in Project(copy).origin
    make("c", epsilon=0.5, project=copy, cap=None)
    assert [release.name for release in Project(copy).releases()] == ["a", "b", "c"]
    # Another project in the former folder does not affect it.
    make("a", epsilon=0.5)
    make("d", epsilon=0.5, project=copy, cap=None)


@pytest.mark.parametrize("change", [
    "UPDATE releases SET mu = 'much'", "UPDATE releases SET distance = -1",
    "UPDATE releases SET epsilon = x'00'", "UPDATE releases SET delta = 9e999",
    "UPDATE releases SET name = x'00'", "UPDATE releases SET name = '../x'",
    "UPDATE cap SET epsilon = 'all'", "UPDATE cap SET delta = 9e999",
    "UPDATE cap SET reserve = 'a'",
])  # fmt: skip
def test_a_text_instead_of_a_number_gets_one_sentence(make, tmp_path, change):
    make("a", epsilon=0.5)
    with sqlite3.connect(tmp_path / "project" / "ledger.sqlite") as ledger:
        ledger.execute(change)
    with pytest.raises(ParameterError) as refused:
        Project(tmp_path / "project").total()
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(os.name != "posix", reason="other systems have other permissions")
def test_only_the_owner_can_read_a_new_project(tmp_path):
    Project(tmp_path / "project", (1.0, 1e-5))
    assert stat.S_IMODE((tmp_path / "project").stat().st_mode) == 0o700
