"""Two example tables with their dictionaries, on which to try a release."""

from __future__ import annotations

import csv
from pathlib import Path

from dpcore.arrays import AnyArray
from dpcore.errors import require_one_of
from dpcore.release.dictionary import Dictionary
from dpcore.release.dictionary_file import read_dictionary
from dpcore.release.planning import look_alike

EXAMPLES = ("breast-cancer", "class-survey")
_N_SURVEYED = 440


def example(name: str) -> tuple[dict[str, AnyArray], Dictionary]:
    """Return an example table, as a mapping of its columns, and its dictionary.

    name: {"breast-cancer", "class-survey"}. scikit-learn's table of 569 tumours, which has been
        public since 1995; or 440 made-up answers of pupils, about half of whom answer twice.
    Raises `ParameterError` if there is no such example.
    """
    require_one_of("name", name, EXAMPLES)
    dictionary = read_dictionary(Path(__file__).with_name(f"{name}.toml"))
    return (
        _breast_cancer()
        if name == "breast-cancer"
        else look_alike(dictionary, _N_SURVEYED, n_factors=2)
    ), dictionary


def write_example(name: str, folder: Path) -> Dictionary:
    """Write an example to `table.csv` and `dictionary.toml` in a folder.

    folder: path
    Raises `ParameterError` if there is no such example.
    Raises `OSError` if the files are there, or cannot be written.
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
