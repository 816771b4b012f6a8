"""Presenter mode, a deck that is taken away, and its file with the network off."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.shell.presenting import from_file
from tests.browser.conftest import pages_of, settle
from tests.browser.reachable import faults

FEW = "repetitions=2&seed=43"
QUICK = f"dataset=digits&{FEW}"
CURVE, STRIP, SLIDE = ".curve svg[role=img]", ".people canvas", ".slide:not([hidden])"
BOTTOM = "element => element.getBoundingClientRect().bottom"


@pytest.fixture
def presented(server, browser):
    with pages_of(browser) as opener:
        yield opener(f"{server}/?present=1&{FEW}", width=1280, height=720)


def held(page, state: str) -> None:
    page.wait_for_function(state, timeout=60_000)
    settle(page)


def test_a_page_alone_in_large_type_that_keys_move(presented):
    page, watched = presented
    for hidden in ("stSidebar", "stHeader", "stTopNavLink"):
        assert not any(each.is_visible() for each in page.get_by_test_id(hidden).all())
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") >= 25.6
    for width, height in ((1920, 1080), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(200)
        bar = page.get_by_role("navigation", name="Presentation").bounding_box()
        for what in (".number", CURVE, STRIP):
            assert page.locator(what).evaluate(BOTTOM) <= bar["y"], (what, width)
    assert faults(page) == []
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".control output").inner_text() == "0.2"
    held(page, "location.search.includes('epsilon=0.2')")
    page.keyboard.press("Escape")
    held(page, "!location.search.includes('present')")
    assert "epsilon=0.2" in page.url and page.get_by_test_id("stTopNavLink").first.is_visible()
    watched.assert_quiet()


def test_a_deck_is_presented_and_works_from_a_file_with_the_network_off(
    server, open_page, browser, tmp_path
):
    page, watched = open_page(f"{server}/?{QUICK}", width=1280, height=720)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_test_id("stToast").first.wait_for()
    page.evaluate("""() => {
        history.pushState({}, '', '/promise?epsilon=2')
        dispatchEvent(new PopStateEvent('popstate'))
    }""")
    held(page, "document.querySelector('h1').textContent == 'What ε promises'")
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_text("Pinned: view 2").first.wait_for()
    page.evaluate("""() => {
        history.pushState({}, '', '/deck')
        dispatchEvent(new PopStateEvent('popstate'))
    }""")
    held(page, "document.querySelector('h1').textContent == 'Decide'")
    missing = page.get_by_role("button", name="missing")
    if missing.count():
        missing.click()
        page.get_by_role("button", name="One HTML file").wait_for(timeout=60_000)
    with page.expect_download() as download:
        page.get_by_role("button", name="One HTML file").click()
    kept = tmp_path / "deck.html"
    download.value.save_as(kept)

    page.get_by_role("button", name="Present the deck").click()
    held(page, "location.search.includes('slide=1')")
    page.keyboard.press("PageDown")
    held(page, "location.search.includes('slide=2')")
    page.reload()  # another session, which the tab hands the deck
    page.get_by_text("2 of 2").wait_for(timeout=60_000)
    settle(page)
    assert page.get_by_role("heading", level=1).inner_text().startswith("At ε = 2, δ = ")
    assert faults(page) == []
    page.keyboard.press("ArrowRight")
    held(page, "location.search.includes('epsilon=5')")
    page.keyboard.press("PageUp")
    held(page, "location.search.includes('slide=1')")
    page.keyboard.press("Escape")
    held(page, "!location.search.includes('present')")
    watched.assert_quiet()
    plays_offline(browser, kept)


def test_a_deck_outlives_a_reload_on_any_page_and_opens_from_its_file(server, open_page, tmp_path):
    """A pin after F5 began a new deck over the one that the tab had kept."""
    page, watched = open_page(f"{server}/ledger")
    pin = page.get_by_role("button", name="Pin", exact=True)
    for number in (1, 2):
        pin.click()
        page.get_by_text(f"Pinned: view {number}").wait_for()
    settle(page)
    page.reload()
    settle(page)
    pin.click()
    page.get_by_text("Your deck from before the reload is back: 3 views.").wait_for()
    settle(page)
    page.reload()
    settle(page)
    page.evaluate("""() => {
        history.pushState({}, '', '/deck')
        dispatchEvent(new PopStateEvent('popstate'))
    }""")
    captions = page.get_by_role("textbox", name="What was spent")
    captions.nth(2).wait_for()
    settle(page)
    assert captions.count() == 3
    captions.first.fill("Changed")
    captions.first.press("Enter")
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Keep the deck as a file").click()
    kept = Path(download.value.path()).read_bytes()
    pins = from_file(kept)
    assert [pin.page for pin in pins] == ["ledger"] * 3 and pins[0].caption == "Changed"
    watched.assert_quiet()

    other, watched = open_page(f"{server}/deck")
    other.get_by_text("Open a deck that was kept as a file").click()
    handed = {"name": "deck.json", "mimeType": "application/json", "buffer": kept}
    other.locator("input[type=file]").set_input_files(handed)
    other.get_by_role("textbox", name="What was spent").nth(2).wait_for()
    assert other.get_by_role("textbox", name="What was spent").first.input_value() == "Changed"
    watched.assert_quiet()


def plays_offline(browser, kept: Path) -> None:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 720})
    page = context.new_page()
    content = kept.read_text("utf-8")
    assert "127.0.0.1" not in content and "after the server's address: /" in content
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(kept.as_uri())
    slide = page.locator(SLIDE)
    slide.locator(".number").filter(has_text="%").wait_for()
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    before = slide.locator(".number").inner_text()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        f"number => document.querySelector('{SLIDE} .number').textContent != number", arg=before
    )
    assert slide.locator(".control output").inner_text() == "0.01"
    assert faults(page) == []
    page.keyboard.press("PageDown")
    assert "guesses about you can be right" in slide.inner_text()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_a_summary_is_one_page_of_either_paper(server, open_page, browser, tmp_path):
    page, watched = open_page(f"{server}/plan?plan_protocol=dpdis&plan_target=60&{QUICK}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Summary for a decision").click(timeout=120_000)
    download.value.save_as(tmp_path / "summary.html")
    paper = browser.new_page()
    paper.goto((tmp_path / "summary.html").as_uri())
    for size in ("A4", "Letter"):
        assert paper.pdf(format=size).count(b"/Type /Page\n") == 1
    paper.close()
    watched.assert_quiet()
