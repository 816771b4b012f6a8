"""Every tutorial's code runs top to bottom in a fresh namespace, on a page and as a notebook."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest

from dpcore.errors import ParameterError
from dpcore.experiments.teaching.tutorials import (
    CODE,
    TUTORIALS,
    run_cells,
    run_tutorial,
    tutorial,
    tutorial_notebook,
)


@pytest.mark.parametrize("key", TUTORIALS)
def test_the_notebook_runs_top_to_bottom(key, capsys):
    document = json.loads(tutorial_notebook(key, 2.0))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), key, "exec"), namespace)
    assert capsys.readouterr().out
    assert "epsilon=2.0" in tutorial_notebook(key, 2.0) or "epsilon, ill = 2.0" in (
        tutorial_notebook(key, 2.0)
    )


@pytest.mark.parametrize("key", TUTORIALS)
def test_a_page_shows_what_the_notebook_prints(key, capsys):
    outputs = run_tutorial(key, 1.0)
    assert len(outputs) == sum(kind == CODE for kind, _ in TUTORIALS[key].cells)
    assert any(output.printed for output in outputs)
    assert not capsys.readouterr().out


def test_the_last_line_is_the_value_of_a_cell():
    outputs = run_cells([("code", "a = 2\nprint(a)"), ("markdown", "no"), ("code", "a + 1")])
    assert [(output.printed, output.value) for output in outputs] == [("2", None), ("", 3)]


def test_the_histogram_is_drawn():
    assert isinstance(run_tutorial("histogram", 1.0)[-1].value, go.Figure)


def test_learning_works_at_the_default():
    printed = "\n".join(output.printed for output in run_tutorial("logistic", 1.0))
    accuracy = float(printed.split("accuracy ")[1].split("%")[0])
    assert accuracy > 60


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("mean", ["mean"]),
        ("variance", ["variance"]),
        ("histogram", ["counts"]),
        ("pca", ["pca"]),
        ("svm", ["pca", "svm"]),
        ("logistic", ["model"]),
    ],
)
def test_private_results_come_with_what_they_promise(key, named):
    promises = {
        name: guarantee
        for output in run_tutorial(key, 1.0)
        for name, guarantee in output.promises.items()
        if guarantee.is_private
    }
    assert list(promises) == named


def test_an_unknown_one_is_named():
    with pytest.raises(ParameterError, match="tutorial must be one of mean"):
        tutorial("median")
