"""Scripts and notebooks of a page give the rows of the page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat

from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.publish.export import recipe_of

REPOSITORY = Path(__file__).parents[3]
SPEC = RunSpec(protocols=("dpdis", "pooled"), truncation="psd", repetitions=2, seed=3)
SHOWN = '\nimport json\nprint("ROWS", json.dumps(rows))\n'


def numbers(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def rows_of(script: str) -> list:
    """Run a script as its first lines state, from the folder that contains dpcore, and return its
    rows.
    """
    done = subprocess.run(
        [sys.executable, "-c", script + SHOWN],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "of exact PCA, mean of" in done.stdout
    return json.loads(done.stdout.rpartition("ROWS")[2])


def test_a_script_gives_the_rows_of_its_run():
    assert numbers(rows_of(recipe_of(SPEC).script())) == numbers(run(SPEC))


def test_a_notebook_is_the_script_in_cells_and_runs():
    recipe = recipe_of(SPEC)
    document = nbformat.reads(recipe.notebook(), as_version=nbformat.NO_CONVERT)
    nbformat.validate(document)
    sources = [cell.source for cell in document.cells if cell.cell_type == "code"]
    for line in recipe.script().partition('"""\n\n')[2].splitlines():
        assert line in "\n".join(sources)
    names: dict = {}
    for source in sources:
        exec(source, names)
    assert names["rows"]
