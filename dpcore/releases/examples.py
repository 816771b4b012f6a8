"""Two tables with their dictionaries, to try a release on: nobody's privacy is at stake in them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.errors import ParameterError
from dpcore.releases.dictionary import Dictionary, read_dictionary
from dpcore.streams import Purpose, stream

EXAMPLES = ("breast-cancer", "class-survey")
SURVEYED = 400


def example(name: str) -> tuple[dict[str, AnyArray], Dictionary]:
    """A table, as a mapping of its columns, and its dictionary.

    Parameters
    ----------
    name : {"breast-cancer", "class-survey"}
        scikit-learn's table of 569 tumours, which has been public since 1995; or the made-up
        answers of 400 pupils, some of whom answer twice.

    Raises
    ------
    ParameterError
        If there is no such example.
    """
    if name not in EXAMPLES:
        raise ParameterError("name", f"one of {', '.join(EXAMPLES)}", name)
    dictionary = read_dictionary(Path(__file__).with_name(f"{name}.toml"))
    return (_breast_cancer() if name == "breast-cancer" else _survey(dictionary)), dictionary


def write_example(name: str, folder: Path) -> Dictionary:
    """The same as `table.csv` and `dictionary.toml` in a folder, which is made.

    Parameters
    ----------
    name : str
    folder : path

    Raises
    ------
    ParameterError
        If there is no such example.
    OSError
        If the files are there, or cannot be written.
    """
    table, dictionary = example(name)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "table.csv", "x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    source = Path(__file__).with_name(f"{name}.toml")
    with open(folder / "dictionary.toml", "xb") as file:
        file.write(source.read_bytes())
    return dictionary


def _breast_cancer() -> dict[str, AnyArray]:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    columns = dict(zip(bunch.feature_names.tolist(), bunch.data.T, strict=True))
    return columns | {"diagnosis": bunch.target_names[bunch.target]}


def _survey(dictionary: Dictionary) -> dict[str, AnyArray]:
    """Answers that two traits explain: how far school fills the day, and numbers or words."""
    rng = stream(0, Purpose.DATA)
    pupil = np.concatenate([np.arange(SURVEYED), rng.integers(SURVEYED, size=SURVEYED // 10)])
    trait = rng.standard_normal((SURVEYED, 2))[pupil]
    table: dict[str, AnyArray] = {"pupil": np.char.mod("P%03d", pupil)}
    for column in dictionary.columns:
        load = rng.normal(scale=0.3, size=2)
        score = trait @ load + rng.normal(scale=0.15, size=len(pupil))
        if column.levels:
            place = np.clip((score + 1) / 2 * len(column.levels), 0, len(column.levels) - 1)
            table[column.name] = np.array(column.levels)[place.astype(int)]
        else:
            answer = column.middle + score * column.reach
            table[column.name] = np.rint(np.clip(answer, column.lower, column.upper))
    table["likes this subject"] = np.where(trait[:, 1] > 0, "yes", "no")
    return table
