"""Released score plots: a charge of their own, whole-number noise, and their sensitivity."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.privacy import BeyondCap, gaussian_epsilon
from dpcore.release import score_release
from dpcore.release.examples import example, write_example
from dpcore.release.integer_rows import GRID
from dpcore.release.project import Project
from dpcore.release.publication import release, write_release
from dpcore.release.released_pca import load_release
from dpcore.release.score_release import planned_costs, read_scores, release_scores
from dpcore.release.settings import PublicationSettings
from dpcore.release.verification import verify

BUDGET = dict(epsilon=1.0, delta=1e-6)


@pytest.fixture
def project(tmp_path):
    data, dictionary = example("breast-cancer")
    folder = tmp_path / "project"
    release(
        data, dictionary, epsilon=3, delta=1e-6, n_components=3, project=folder, name="first",
        cap=(4.0, 1e-5),
    )  # fmt: skip
    return Project(folder)


def test_the_plot_is_charged_as_its_own_query_before_the_noise_is_drawn(project, monkeypatch):
    data, _ = example("breast-cancer")
    before = project.total().mu
    plot = release_scores(data, project, of="first", name="people", **BUDGET)
    charged = {release.name: release for release in project.releases()}
    assert set(charged) == {"first", "people"} and charged["people"].is_finished
    assert charged["people"].epsilon == plot.certificate["epsilon"] <= 1.0
    assert project.total().mu == pytest.approx(math.hypot(before, charged["people"].mu))
    # Without the sampler's share, the noise is that of the sensitivity sqrt(2).
    sigma = plot.certificate["mechanism"]["sigma"]
    assert gaussian_epsilon(1e-6, sigma, math.sqrt(2)) <= 1.0
    assert gaussian_epsilon(1e-6, sigma - 1, math.sqrt(2)) > 1.0
    assert plot.density.min() >= 0 and plot.density.sum() == pytest.approx(569, abs=60)
    again = read_scores(project.path_of("people"))
    np.testing.assert_array_equal(again.counts, plot.counts)

    def fail(*_):
        raise OSError("no noise")

    monkeypatch.setattr(score_release, "noisy_sum", fail)
    with pytest.raises(OSError, match="no noise"):
        release_scores(data, project, of="first", name="lost", **BUDGET)
    assert "lost" in {release.name for release in project.releases()}


def test_a_plot_beyond_the_cap_is_refused_and_not_charged(project):
    data, _ = example("breast-cancer")
    with pytest.raises(BeyondCap):
        release_scores(data, project, of="first", name="people", epsilon=20, delta=1e-6)
    assert [release.name for release in project.releases()] == ["first"]


def test_all_rows_of_one_person_move_at_most_two_counts_by_their_number(tmp_path):
    """Rows of one person fall into one cell before and another cell after: sqrt(2) m."""
    data, dictionary = example("class-survey")
    folder = tmp_path / "project"
    release(data, dictionary, epsilon=5, delta=1e-6, n_components=2, project=folder, name="first",
            cap=(20.0, 1e-5))  # fmt: skip
    earlier = load_release(Project(folder).path_of("first"))
    edges = np.array([np.linspace(-1, 1, 9)] * 2)
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (7, len(earlier.mean_))) * GRID
    other = rows.copy()
    other[0] = -rows[0]
    exact, moved = (score_release._count(data, earlier, edges, None) for data in (rows, other))
    assert np.abs(exact - moved).sum() <= 2 and exact.sum() == moved.sum() == 7
    assert score_release._sigma(1.0, 1e-6, 3) == pytest.approx(
        3 * score_release._sigma(1.0, 1e-6, 1), abs=3
    )


def test_groups_are_levels_of_the_dictionary_and_the_command_charges_them(tmp_path, capsys):
    dictionary = write_example("class-survey", tmp_path)
    (column, *_) = [column for column in dictionary.columns if column.levels]
    data, project = str(tmp_path / "table.csv"), str(tmp_path / "project")
    table = ["--data", data, "--dictionary", str(tmp_path / "dictionary.toml")]
    common = ["--project", project, "--delta", "1e-6"]
    assert main(["release", *table, *common, "--epsilon", "2", "--components", "2",
                 "--name", "first", "--cap", "5", "1e-5"]) == 0  # fmt: skip
    assert main(["scores", "--data", data, *common, "--epsilon", "1", "--release", "first",
                 "--name", "people", "--groups", column.name]) == 0  # fmt: skip
    assert f"counts of {len(column.levels)} groups" in capsys.readouterr().out
    plot = read_scores(Project(project).path_of("people"))
    assert plot.groups == column.levels and len(plot.counts) == len(column.levels)
    with pytest.raises(ParameterError, match="groups"):
        release_scores(data, project, of="first", name="other", groups="unknown", **BUDGET)


def test_a_plot_with_a_share_of_the_budget_keeps_epsilon_together_with_the_components(tmp_path):
    """A score plot always cost a budget in addition to that of the components."""
    data, dictionary = example("breast-cancer")
    settings = PublicationSettings(1.0, 1e-6, 3, scores_share=0.2)
    planned = planned_costs(dictionary, settings)
    # The noise of a count is a whole number.
    assert 0.98 < planned.epsilon(1e-6, 1.0) <= 1.0
    write_release(
        data, dictionary, settings, project=tmp_path / "project", name="first", cap=(1.0, 1e-6)
    )
    project = Project(tmp_path / "project")
    first, people = project.releases()
    assert (first.name, people.name) == ("first", "first-people")
    assert math.hypot(first.mu, people.mu) == pytest.approx(planned.mu, rel=1e-9)
    assert people.mu**2 == pytest.approx(0.2 * planned.mu**2, rel=0.1)
    assert verify(project.path_of("first")).holds
    assert read_scores(project.path_of("first-people")).certificate["of"] == "first"
    # Both together are refused before anything is charged.
    with pytest.raises(BeyondCap):
        write_release(data, dictionary, settings, project=project, name="second")
    assert len(project.releases()) == 2


@pytest.mark.parametrize(("changes", "named"), [
    ({"scores_share": 1.0}, "scores_share"), ({"scores_share": -0.1}, "scores_share"),
    ({"scores_share": 0.1, "n_components": 1}, "n_components"),
])  # fmt: skip
def test_a_share_that_gives_no_plot_is_refused(tmp_path, changes, named):
    data, dictionary = example("breast-cancer")
    settings = replace(PublicationSettings(1.0, 1e-6, 3), **changes)
    with pytest.raises(ParameterError, match=named):
        write_release(
            data, dictionary, settings, project=tmp_path / "project", name="first", cap=(1.0, 1e-6)
        )
    assert not (tmp_path / "project").exists()
