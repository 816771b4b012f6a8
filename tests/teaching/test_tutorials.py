"""Every tutorial runs completely: as a script, on a page and as a notebook."""

from __future__ import annotations

import nbformat
import pytest

from dpcore.teaching.tutorials import (
    CODE,
    TUTORIALS,
    run_tutorial,
    tutorial_notebook,
)


@pytest.mark.parametrize("key", TUTORIALS)
def test_the_notebook_is_valid_and_runs_top_to_bottom(key, capsys):
    document = nbformat.reads(tutorial_notebook(key, 2.0), as_version=nbformat.NO_CONVERT)
    nbformat.validate(document)
    assert (document.nbformat, document.nbformat_minor) == (4, 5)
    sources = [cell.source for cell in document.cells if cell.cell_type == "code"]
    namespace: dict[str, object] = {"__name__": "__main__"}
    for source in sources:
        exec(compile(source, key, "exec"), namespace)
    assert namespace["epsilon"] == 2.0
    shown = [output.printed for output in run_tutorial(key, 2.0) if output.printed]
    assert capsys.readouterr().out == "\n".join([*shown, ""])


@pytest.mark.parametrize("key", TUTORIALS)
def test_a_page_shows_what_the_notebook_prints(key, capsys):
    outputs = run_tutorial(key, 1.0)
    assert len(outputs) == sum(kind == CODE for kind, _ in TUTORIALS[key].cells)
    assert any(output.printed for output in outputs)
    assert not capsys.readouterr().out


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
def test_private_results_come_with_what_they_guarantee(key, named):
    guarantees = {
        name: guarantee
        for output in run_tutorial(key, 1.0)
        for name, guarantee in output.guarantees.items()
        if guarantee.is_private
    }
    assert list(guarantees) == named
