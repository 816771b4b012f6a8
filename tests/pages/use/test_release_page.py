"""Release: an example at once, then plan, charge and certificate of the visitor's table."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from dpcore.privacy.guarantee_in_words import say_number
from dpcore.privacy.impact_annex import annex_text
from dpcore.release.certificate_label import label_of_plan, purpose_of
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.measurement import scales_of
from dpcore.release.project import Project
from dpcore.release.settings import PublicationSettings
from dpcore.release.verification import verify
from pages.use import release
from pages.use.release import zip_folder
from tests.pages.opening import texts, visit
from tests.pages.use.test_own_table import brought

PAGE, LEDGER = "release", "ledger"


@pytest.fixture
def without_plan(monkeypatch) -> None:
    """Leave out the figure of the plan, which takes most of the time of a page run."""
    monkeypatch.setattr(release, "_draw_plan", lambda _: None)


def folder_of(at, name: str = "people") -> Path:
    folders = at.session_state["_own_projects"]
    return folders[""].path / name


def release_now(at):
    return at.button(key="release_now").click().run()


def test_the_example_is_not_released_by_itself(open_page, without_plan):
    """Release charged 55.8 % of the cap, while What was spent said ε = 0."""
    at = open_page(PAGE)
    assert not at.exception and not at.error
    assert "Nothing is released yet" in texts(at) and "Used:" not in texts(at)
    assert "one holder, against every reader. δ = 10⁻⁶" in texts(at)
    assert texts(visit(at, LEDGER)).count("% of the cap") == 0
    assert re.search(r"cost ε = [\d.]+ together, not 10, at δ = [\d.]+", texts(at))
    assert at.title[0].value.startswith("ε = 0")


@pytest.mark.parametrize("is_example", [True, False])
def test_what_is_charged_is_shown_in_both_pages(open_page, without_plan, is_example):
    at = open_page(PAGE) if is_example else visit(brought(open_page), PAGE)
    release_now(at)
    (used,) = re.findall(r"Used: \*\*([\d.]+\s%)\*\*", texts(at))
    at = visit(at, LEDGER)
    assert not at.exception
    assert f"used **{used}** of the cap" in texts(at)
    if is_example:  # no simulated result was shown
        assert used in at.title[0].value and "ε = 0" not in at.title[0].value


def test_the_example_is_released_and_verifies(open_page, without_plan):
    at = release_now(open_page(PAGE))
    assert not at.exception and not at.error
    assert at.title[0].value.startswith("“release-1” is released: ε = 1")
    assert "verified" in texts(at) and len(at.get("plotly_chart")) == 1
    assert "50 %" in texts(at) or "of the cap" in texts(at)
    at = release_now(at)
    assert not at.exception
    assert "“release-2”" in at.title[0].value


def test_a_plan_does_not_claim_privacy_before_there_is_a_release(open_page):
    at = visit(brought(open_page), PAGE)
    assert not at.exception and not at.error
    assert at.title[0].value.startswith("A release would have ε = 1")
    assert "Nothing is released yet" in texts(at)
    # The plan simulated a private mean, without votes and without components above the noise.
    # The user's rows may give another number of components than the plan.
    assert re.search(r"Centre: .*\. (Component|No component).*made-up rows", texts(at))
    assert len(at.get("plotly_chart")) == 1
    for page in (PAGE, LEDGER, "own_table", "decide"):
        assert not re.search(r"is private|is released:|verified", texts(visit(at, page))), page


def test_a_table_becomes_a_folder_that_verifies_and_is_in_the_ledger(
    open_page, tmp_path, without_plan
):
    at = release_now(visit(brought(open_page), PAGE))
    assert not at.exception and not at.error
    at = release_now(at)
    releases = sorted(folder_of(at).glob("releases/*"))
    assert [path.name for path in releases] == ["release-1", "release-2"]
    assert all(verify(path).holds for path in releases)
    with zipfile.ZipFile(io.BytesIO(zip_folder(releases[0]))) as archive:
        archive.extractall(tmp_path)
    assert verify(tmp_path / "release-1").holds
    at = visit(at, LEDGER)
    assert not at.exception
    assert list(at.dataframe[-1].value["Release"]) == ["release-1", "release-2"]
    at = visit(at, PAGE)
    at.text_input(key="release_project_people").set_value("others").run()
    assert "1 other project here" in texts(at)


def test_a_refused_release_is_explained_and_not_charged(open_page, without_plan):
    at = visit(brought(open_page), PAGE)
    at.select_slider(key="release_epsilon").set_value(0.1).run()
    at.text_input(key="release_name_1").set_value("../x").run()
    at = release_now(at)
    assert not at.exception and "name must be up to 64 letters" in at.error[0].value
    assert not any(folder_of(at, "").iterdir())
    at.text_input(key="release_name_1").set_value("fine").run()
    at = release_now(at)
    at.select_slider(key="release_epsilon").set_value(1.0).run()
    assert "beyond the cap" in texts(at)
    at.text_input(key="release_name_2").set_value("second").run()
    at = release_now(at)
    assert not at.exception and "is left of the cap" in texts(at)
    at.text_input(key="release_project_people").set_value("a/b").run()
    assert not at.exception and "project must be up to 64 letters" in texts(at)
    assert [release.name for release in Project(folder_of(at)).releases()] == ["fine"]


def test_a_score_plot_is_a_query_of_its_own_in_the_ledger(open_page, without_plan):
    at = release_now(open_page(PAGE))
    (before,) = re.findall(r"Used: \*\*([\d.]+)", texts(at))
    at.select_slider(key="release_scores_epsilon").set_value(0.5).run()
    at.button(key="release_scores_now").click().run()
    assert not at.exception and not at.error
    (after,) = re.findall(r"Used: \*\*([\d.]+)", texts(at))
    assert float(after) > float(before)
    assert re.search(r"people-2.*noisy counts, ε = 0\.\d+", texts(at))
    # The release of the components is still the one that is shown.
    assert at.button(key="release_now") and "release-1" in at.title[0].value.lower() + texts(at)


def test_a_share_of_the_budget_gives_a_score_plot_with_the_components(open_page, without_plan):
    at = visit(brought(open_page), PAGE)
    at.select_slider(key="release_scores_share").set_value(0.2).run()
    assert re.search(r"A release would have ε = (1|0\.99)", at.title[0].value)
    at = release_now(at)
    assert not at.exception and not at.error
    assert re.search(r"release-1-people.*noisy counts", texts(at))
    # The components have less than the ε of both, and the ledger has two charges.
    assert re.search(r"is released: ε = 0\.[89]", at.title[0].value)
    charged = [release.name for release in Project(folder_of(at)).releases()]
    assert charged == ["release-1", "release-1-people"]


@pytest.mark.parametrize(
    ("n_above", "n_components", "words"),
    [
        (None, 3, ""),
        (0, 3, "No component can be told from noise"),
        (1, 3, "Component 1 is above the noise; the others"),
        (2, 3, "Components 1 to 2 are above the noise; the others"),
        (9, 3, "Components 1 to 3 are above the noise."),
    ],
)
def test_components_that_are_noise_are_named(n_above, n_components, words):
    sentence = release.components_above_noise(n_above, n_components)
    assert sentence.startswith(words) and bool(sentence) == bool(words)


def test_plan_and_release_offer_the_annex_with_their_own_epsilon(open_page):
    """Decide offered the annex for the data-protection officer; Release did not."""
    at = visit(brought(open_page), PAGE)
    titles = [element.label for element in at.get("download_button")]
    assert "Annex for the data-protection officer" in titles and "Annex as text" in titles
    dictionary = Dictionary((Column("age", 0, 120), Column("weight", 0, 200)), title="Patients")
    settings = PublicationSettings(1.0, 1e-6, 2)
    planned = annex_text(label_of_plan(dictionary, settings), purpose=purpose_of("Patients", 2))
    exact = scales_of(dictionary, settings).epsilon(1e-6, 1.0)
    assert f"ε = {say_number(exact)}" in planned and "Nothing is charged" in planned
    at = release_now(at)
    content = (folder_of(at) / "releases" / "release-1" / "annex.html").read_text(encoding="utf-8")
    assert "Who decides" in content and "private principal components" in content
