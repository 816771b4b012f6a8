"""Defects that a review of all pages reported and that no test of a single page covers."""

from __future__ import annotations

import gc
import re
from base64 import b64decode
from collections.abc import Callable
from html import unescape
from io import BytesIO

import numpy as np
import pytest
import streamlit as st
from PIL import Image
from pptx import Presentation

from dpcore.data import dataset_status
from dpcore.privacy import PrivacyBudget, gaussian_mu
from pages import sidebar
from pages.explore import axes
from pages.use import release, session_table
from tests.pages.opening import open_advanced, texts, visit, wait_for_jobs
from tests.pages.use.test_decide import grid_of
from tests.pages.use.test_own_table import brought, state_of, submit, upload


def test_samples_per_site_end_at_all_rows(open_page):
    """Earlier the axis ended at 350 of 2,000 samples, below the result that Explore shows."""
    at = open_page("", dataset="mnist-small", repetitions="1", axis="people")
    steps = axes.steps_of(at.session_state[sidebar._SELECTION], "people").steps
    assert steps[-1].label == f"{dataset_status('mnist-small').n_samples // 5:,}"


@pytest.mark.parametrize("dataset", ["mnist-small", "digits", "breast-cancer"])
def test_no_more_samples_are_offered_than_there_are(open_page, dataset):
    at = open_advanced(open_page("", dataset=dataset, repetitions="1"))
    offered = at.sidebar.select_slider(key="people").options
    most = dataset_status(dataset).n_samples // at.slider(key="sites").value
    assert (
        max(int(count.replace(",", "")) for count in offered if count != sidebar.ALL_SAMPLES)
        <= most
    )


def test_the_sidebar_of_the_drawing_states_no_total(open_page):
    """Earlier it said that nothing was shown, next to a page with the cost of ten results."""
    at = open_page("drawing")
    assert not at.sidebar.markdown and not at.sidebar.caption


def test_options_of_a_table_have_whole_names_and_more_factors_at_more_epsilon(open_page):
    at = open_page("decide")
    wait_for_jobs(at)
    assert "epsilon" not in {element.key for element in at.sidebar if hasattr(element, "key")}
    grid = grid_of(at)
    assert "worst concave points" in grid and "…" not in grid
    # A larger ε keeps no fewer factors.
    line = grid.split("Main factors found again</span>")[1]
    counts = [int(number) for number in re.findall(r"(\d+)(?:</b>)?\s/\s10</div>", line)]
    exact, *released = counts
    assert released and released == sorted(released) and released[-1] <= exact


def test_a_table_without_limits_says_so_in_plain_words(open_page):
    at = submit(upload(open_page("own_table"), "people.csv", "a,b\n1,2\n3,4\n"))
    assert not at.exception
    page_text = "\n".join([texts(at), *(error.value for error in at.error)])
    assert "none yet" not in page_text and "got 'none'" not in page_text


# ---- Release and Ledger

_LIFETIME = re.compile(
    r"^.*\bledger\b.*\b(?:deleted|kept|outlives?|disappears?|lost|lasts?|ends?)\b.*$", re.MULTILINE
)


@pytest.mark.parametrize("is_kept", [False, True])
def test_all_pages_state_the_lifetime_that_the_ledger_has(
    open_page, tmp_path, monkeypatch, is_kept
):
    """Earlier one page said that the ledger disappears with the tab, and another that it stays."""
    monkeypatch.setattr(release, "_draw_plan", lambda _: None)
    if is_kept:
        monkeypatch.setenv(session_table.FOLDER_VARIABLE, str(tmp_path / "owner"))
    at = visit(brought(open_page), "release")
    at.button(key="release_now").click().run()
    folders = at.session_state["_own_projects"] if not is_kept else {}
    folder = (tmp_path / "owner/projects" if is_kept else folders[""].path) / "people"
    assert folder.is_dir()
    stated = {}
    for page in ("release", "ledger", "own_table"):
        stated[page] = set(_LIFETIME.findall(texts(visit(at, page))))
        assert not at.exception
    (statement,) = set.union(*stated.values())
    assert stated["release"] and stated["ledger"]
    del at, folders
    gc.collect()
    assert folder.exists() == is_kept == ("deleted" not in statement)


def _shares(at) -> dict[str, float]:
    """Return the shares of a cap that a page states, by the explanation next to them."""
    by_key = {}
    for text in at.markdown:
        if share := re.search(r"\*\*([\d.]+) %\*\* of the cap", text.value):
            by_key[text.help] = float(share[1]) / 100
    return by_key


def test_shares_of_a_cap_are_explained_by_the_composition_that_is_used(open_page):
    """Earlier three releases at ε = 1 had 83.7 % of ε = 2, without a reason."""
    at = open_page("release")
    one, cap = (gaussian_mu(PrivacyBudget(epsilon, 1e-6)) for epsilon in (1.0, 2.0))
    for count in (1, 2):
        at.button(key="release_now").click().run()
        ((explanation, share),) = _shares(at).items()
        assert share == pytest.approx(count * (one / cap) ** 2, rel=0.02)
        assert "μ²" in explanation
    # The same release in a project that the ledger lists.
    at.text_input(key="release_project_example").set_value("others").run()
    at.button(key="release_now").click().run()
    in_others = _shares(at)
    visit(at, "ledger")
    assert _shares(at) == in_others and explanation in in_others
    # A table that comes with the app is not the visitor's.
    assert "your table" not in texts(at)


def test_a_release_beyond_the_cap_is_neither_released_nor_charged(open_page):
    """Earlier the page said that a release is private, above that it would be refused."""
    at = open_page("release")
    at.button(key="release_now").click().run()
    at.select_slider(key="release_epsilon").set_value(10.0).run()
    # A score plot of the first release is still within the cap.
    charge = [
        text.value
        for text in at.markdown
        if " is charged to " in text.value and "in addition to the components" not in text.value
    ]
    assert not charge and texts(at).count("would be refused") == 2
    at.button(key="release_now").click().run()
    assert "“release-1” is released: ε = 1" in at.title[0].value and len(at.warning) == 1


# ---- memo and slides of Decide


@pytest.fixture
def downloads(monkeypatch) -> dict[str, Callable[[], str | bytes]]:
    """Return functions that make the files offered by a page, by the label of the button."""
    by_key = {}
    draw = st.download_button

    def keep(label, data, *others, **named):
        by_key[label] = data
        return draw(label, data, *others, **named)

    monkeypatch.setattr(st, "download_button", keep)
    return by_key


def shares_of(at) -> list[str]:
    """Return the captured energies of the options on the page."""
    return re.findall(r"<b>([\d.]+\s%)</b>", grid_of(at))


@pytest.mark.parametrize("source", ["catalogue", "example", "upload"])
def test_the_memo_names_the_data_the_source_the_date_and_the_numbers(open_page, downloads, source):
    """Earlier it named no source, and said "your own table" of an example."""
    at, title = None, dataset_status("breast-cancer").title
    if source != "catalogue":
        at = brought(open_page) if source == "upload" else open_page("own_table")
        title = "your table" if source == "upload" else state_of(at).title
        next(button for button in at.button if button.label == "Use on all pages").click().run()
    at = open_page("decide") if at is None else visit(at, "decide")
    wait_for_jobs(at)
    memo = unescape(downloads["Memo"]())
    (heading,) = re.findall("<h1>(.*)</h1>", memo)
    foot = memo.rsplit('<p class="small">')[-1]
    assert title in heading and title in foot
    assert bool(re.search(r"your (own )?table", memo)) == (source == "upload")
    assert re.search(r"Source: .*seed \d.*20\d\d-\d\d-\d\d", foot)
    shares = [share.replace(" ", "\N{NO-BREAK SPACE}") for share in shares_of(at)]
    assert shares
    assert re.findall(r"<td>([\d.]+\s%)</td>", memo) == shares


def test_slides_say_and_show_what_the_page_shows(open_page, downloads):
    """Earlier the titles of slides differed from those typed, and digits became red and blue."""
    at = open_page("decide", decide_data="digits", decide_trust="holder")
    wait_for_jobs(at)
    slides = Presentation(BytesIO(downloads["Slides"]())).slides
    words = [
        shape.text_frame.text for slide in slides for shape in slide.shapes if shape.has_text_frame
    ]
    assert "right at most 56 of 100 times" in slides[0].shapes.title.text
    assert "56 of 100 right at most" in at.title[0].value
    assert any(at.title[0].value in word for word in words)
    for sentence in at.markdown[0].value.rstrip(".").split(". "):
        assert any(sentence in word for word in words)
    memo = unescape(downloads["Memo"]())
    assert at.title[0].value in memo and slides[0].shapes.title.text in memo
    on_page = [
        np.asarray(Image.open(BytesIO(b64decode(png))).convert("RGB"))
        for png in re.findall(r"data:image/png;base64,([^\"]+)", grid_of(at))
    ]
    on_slides = [
        np.asarray(Image.open(BytesIO(shape.image.blob)).convert("RGB"))
        for shape in slides[2].shapes
        if hasattr(shape, "image")
    ]
    # The first column of the page is exact PCA, in two strips.
    for picture, larger in zip(on_page[2:], on_slides, strict=True):
        times = len(larger) // len(picture)
        assert np.array_equal(larger[::times, ::times], picture)
        red, green, blue = np.moveaxis(larger.astype(int), -1, 0)
        assert max(abs(red - green).max(), abs(red - blue).max()) == 0 and np.ptp(red) > 100
