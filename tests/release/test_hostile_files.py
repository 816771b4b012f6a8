"""Hostile files at the command line: a release or one sentence, and no files remain.

Every fifth file is tested; with DPCORE_HOSTILE=all, every file.
"""

from __future__ import annotations

import os
import resource

import pytest

from dpcore.command_line import main
from dpcore.release import Column, Dictionary, Project, Reading, Table
from dpcore.release.encoding import grid_blocks
from dpcore.release.verification import verify
from tests.release.hostile_files import REFUSED, odd, with_people

COLUMNS = (Column("age", 0, 100), Column("sex", levels=("f", "m")))
DICTIONARIES = {
    False: Dictionary(COLUMNS),
    True: Dictionary(COLUMNS, person="who", at_most=2, site="where"),
}
EVERY = 1 if os.environ.get("DPCORE_HOSTILE") == "all" else 5


@pytest.fixture(scope="module")
def files() -> list[tuple[str, bytes]]:
    return [*REFUSED.items(), *odd(), *with_people()]


def test_there_are_two_hundred_files(files):
    assert len({name for name, _ in files}) == len(files) >= 200


def test_each_file_is_released_or_refused_in_one_sentence(files, tmp_path, monkeypatch, capsys):
    # An archive with a password ended in a traceback in an earlier version.
    chosen = [file for n, file in enumerate(files) if n % EVERY == 0 or file[0] == "password.npz"]
    monkeypatch.chdir(tmp_path)
    for has_people, dictionary in DICTIONARIES.items():
        (tmp_path / f"{has_people}.toml").write_text(dictionary.toml(), encoding="utf-8")
    project = Project("project", (15.0, 1e-3))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    names_before = {path.name for path in tmp_path.iterdir()}
    released = []
    for number, (name, content) in enumerate(chosen):
        (tmp_path / name).write_bytes(content)
        status = main([
            "release", "--data", name, "--dictionary", f"{name.startswith('people')}.toml",
            "--epsilon", "0.1", "--delta", "1e-6", "--components", "1", "--project", "project",
            "--name", f"r{number}",
        ])  # fmt: skip
        (tmp_path / name).unlink()
        output = capsys.readouterr()
        is_short = output.err.count("\n") <= 2 and len(output.err) < 800
        assert is_short and "Traceback" not in output.err, (name, output.err)
        assert status == (0 if output.out else 2), (name, output.err)
        assert not (name in REFUSED and output.out), name
        released += [f"r{number}"] * (not status)
        assert {path.name for path in tmp_path.iterdir()} == names_before, name
    # Refused files were not charged, and the releases verify.
    assert [release.name for release in project.releases()] == released != []
    assert {path.name for path in (tmp_path / "project/releases").iterdir()} == set(released)
    assert all(verify(project.path_of(name)).holds for name in released[::10])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_a_person_at_two_sites_is_one_person(tmp_path):
    (tmp_path / "t.csv").write_bytes(dict(with_people())["people-two-sites.csv"])
    people, reading = DICTIONARIES[True], Reading()
    rows = list(grid_blocks(Table(tmp_path / "t.csv", people.keys), people, reading))
    assert len(rows[0]) == 3 and reading.n_left_out == 1
