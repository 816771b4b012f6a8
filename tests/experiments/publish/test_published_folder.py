"""The static folder: its numbers equal those of runs, and it names the command of each run."""

from __future__ import annotations

import argparse
import json
import shlex
from base64 import b64decode
from statistics import fmean

import numpy as np
import pytest

from dpcore.command_line.options import add_run_options, spec_from
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import run
from dpcore.experiments.publish.folder import PublishedGrid, encode_shades, publish

GRID = PublishedGrid(
    datasets=("digits",), sites=(5,), components=(5, 10), epsilons=(0.1, 1.0, 10.0), repetitions=2
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("published")
    done = []
    publish(home, GRID, progress=done.append)
    assert sum(done) == GRID.n_cells == 3
    return home


@pytest.fixture(scope="module")
def runs(folder) -> dict:
    text = (folder / "runs.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("globalThis.RUNS = ").removesuffix(";\n"))


def test_every_number_is_what_its_command_gives(runs):
    assert [setting["components"] for setting in runs["settings"]] == [5, 10]
    parser = argparse.ArgumentParser()
    add_run_options(parser)
    for setting in runs["settings"]:
        for name, point in (
            (name, point) for name, points in setting["points"].items() for point in points
        ):
            words = shlex.split(point["command"])
            assert words[:4] == ["python", "-m", "dpcore", "run"]
            spec = spec_from(parser.parse_args(words[4:]))
            rows = list(run(spec))
            ratios = [row["energy_ratio"] for row in rows]
            assert {row["protocol"] for row in rows} == {name}
            assert point["mean"] == pytest.approx(fmean(ratios), abs=1e-12)
            assert point["said"] == percent(fmean(ratios))
            assert point["exact"] == rows[0]["exact_epsilon"]


def test_pictures_are_sixteen_shades_of_what_was_rebuilt(runs):
    setting = runs["settings"][0]
    height, width = setting["shape"]
    for point in setting["points"]["dpdis"]:
        assert len(point["people"]) == GRID.repetitions
        for picture in point["people"]:
            assert 2 * len(b64decode(picture)) == len(setting["names"]) * height * width
    (byte,) = b64decode(encode_shades(np.array([0, 255], dtype=np.uint8)))
    assert byte == 0x0F


def test_it_is_small_and_names_no_other_host(folder):
    files = list(folder.iterdir())
    assert {file.name for file in files} == {
        "index.html", "explorer.css", "pictures.js", "explorer.js", "runs.js",
    }  # fmt: skip
    for file in files:
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//cdn" not in text


def test_the_folder_of_all_that_is_bundled_takes_three_megabytes_at_most(tmp_path):
    usual, few = PublishedGrid(), PublishedGrid(epsilons=(0.1, 1.0, 10.0), sites=(5,))
    publish(tmp_path, few, progress=lambda _: None)
    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    runs = sizes.pop("runs.js") * usual.n_cells / few.n_cells
    assert runs + sum(sizes.values()) <= 3e6


def test_no_more_components_than_columns(tmp_path):
    grid = PublishedGrid(
        datasets=("synthetic-2012",), sites=(2,), components=(2, 20), epsilons=(1.0,), repetitions=1
    )
    publish(tmp_path, grid, progress=lambda _: None)
    assert '"components":2,' in (tmp_path / "runs.js").read_text(encoding="utf-8")
