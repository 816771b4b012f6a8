"""Exact counts of how a dictionary reads a table, printed on the terminal only."""

from __future__ import annotations

import pytest

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.release import Column, Dictionary, Project, inspect_table, release

TABLE = """\
who;age;sex;cost
a;10;f;1,5 €
a;-999;m;20 €
a;300;?;
b;-5;;x
;soon;f;
"""
DICTIONARY = """\
[rows]
person = "who"
at_most = 2
[cells]
missing = [-999]
[columns.age]
lower = 0
upper = 100
[columns.sex]
levels = ["f", "m"]
[columns.cost]
lower = 0
upper = 10
unit = "€"
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "d.toml").write_text(DICTIONARY, encoding="utf-8")
    return tmp_path


def test_missing_unknown_and_clipped_cells_are_counted_by_column(files):
    from dpcore.release import TableFile, read_dictionary

    inspection = inspect_table(TableFile("t.csv", decimal=","), read_dictionary("d.toml"))
    counted = {
        name: (column.missing, column.unknown, column.below, column.above)
        for name, column in inspection.columns.items()
    }
    assert counted == {"age": (1, 1, 1, 1), "sex": (1, 1, 0, 0), "cost": (2, 1, 0, 1)}
    assert (inspection.n_rows, inspection.n_people, inspection.n_nameless, inspection.n_beyond) == (
        5,
        2,
        1,
        1,
    )
    assert inspection.empty_columns == ()


def test_the_command_counts_charges_nothing_and_writes_nothing(files, capsys):
    arguments = ["check", "--data", "t.csv", "--dictionary", "d.toml"]
    assert main(arguments) == 2
    assert "decimal must be given as point or comma" in capsys.readouterr().err
    assert main([*arguments, "--decimal", "comma"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Only for you: these counts are exact and not private.")
    assert "5 rows; names in line 1, semicolons between cells, utf-8" in out
    assert "age       20.0 %    20.0 %    20.0 %    20.0 %" in out
    assert "2 people; skipped: 1 rows without a person, 1 beyond 2 of one person" in out
    assert {file.name for file in files.iterdir()} == {"t.csv", "d.toml"}


def test_without_a_dictionary_the_command_prints_a_template(files, capsys):
    (files / "t.csv").write_bytes(TABLE.encode("utf-16").replace(b"f\0", b"\0\xd8"))
    assert main(["check", "--data", "t.csv"]) == 0
    out = capsys.readouterr().out
    assert "no row was read" in out and '[columns."cost"]' in out


RELEASE = [
    "release", "--data", "t.csv", "--dictionary", "d.toml", "--epsilon", "1", "--delta", "1e-6",
    "--components", "1", "--project", "p", "--name", "first", "--cap", "1", "1e-6",
]  # fmt: skip


def test_an_unread_column_is_reported_before_the_charge(files, capsys):
    """A release with an unread column would use up the cap."""
    (files / "t.csv").write_text("who;age;sex;cost\na;1;f;1 $\nb;2;m;2 $\n")
    arguments = [*RELEASE, "--decimal", "comma"]
    assert main(arguments) == 2
    output = capsys.readouterr().err
    assert "no row has a number, or a known level, in 'cost'" in output and "only for you" in output
    assert output.count("\n") == 1 and not (files / "p").exists()
    assert main([*arguments, "--with-empty-columns"]) == 0
    assert "no row has a number" in capsys.readouterr().err
    assert len(Project("p").releases()) == 1


def test_unread_columns_fail_a_release_only_on_request(tmp_path):
    arguments = dict(epsilon=1.0, delta=1e-6, n_components=1, project=tmp_path, cap=(2.0, 1e-6))
    one = Dictionary((Column("a", 0, 1),))
    assert release({"a": ["x", None]}, one, name="a", **arguments).components_.shape == (1, 1)

    def confirm(reading) -> None:
        raise ParameterError("data", "read", reading.empty_columns)

    with pytest.raises(ParameterError, match="read, got \\('a',\\)"):
        release({"a": ["x", None]}, one, name="b", confirm=confirm, **arguments)
    assert len(Project(tmp_path).releases()) == 1
