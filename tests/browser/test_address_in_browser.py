"""The address is the state: Back, Forward, reload, Undo and a copied link give the same view."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.browser.conftest import ROOT, settle

# As on plain http from another machine.
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"

# The foot of a page on a page of its own, told in the order in which messages may come that a run
# has ended, and what the address says.
FOOT = """async (script) => {
    const blob = new Blob([script], { type: "text/javascript" });
    const { default: show } = await import(URL.createObjectURL(blob));
    const parentElement = document.body;
    parentElement.innerHTML = "<button></button><button></button>";
    globalThis.runHasEnded = (query) => show({ data: [{ query }], parentElement });
    runHasEnded("sites=3");
}"""


def asked(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def sites(page) -> str:
    return page.get_by_role("slider", name="Sites").input_value()


def done(page, action) -> dict[str, list[str]]:
    """What the address says once an action has been followed by a run."""
    before = page.url
    action()
    page.wait_for_url(lambda url: url != before, timeout=60_000)
    settle(page, until_full=False)
    return asked(page)


def test_back_and_forward_go_through_settings_and_pages(server, open_page):
    page, watched = open_page(f"{server}/?dataset=digits&sites=3&epsilons=2&repetitions=2")
    page.get_by_test_id("stExpandSidebarButton").click()
    start = {"dataset": ["digits"], "sites": ["3"], "epsilons": ["2"], "repetitions": ["2"]}
    slider = page.get_by_role("slider", name="Sites")
    assert done(page, lambda: slider.press("ArrowRight")) == start | {"sites": ["4"]}
    epsilon = page.get_by_role("slider", name="ε")
    moved = start | {"sites": ["4"], "epsilon": ["2"]}
    assert done(page, lambda: epsilon.press("ArrowRight")) == moved
    # A page that draws neither, and one whose own control was set from the start.
    assert done(page, page.get_by_role("link", name="Your data").first.click) == moved
    assert done(page, page.get_by_role("link", name="Play").first.click) == moved
    assert done(page, page.get_by_role("link", name="Eigen-images").first.click) == moved
    page.get_by_label("Asked ε, one row each").locator("..").get_by_text("2").first.wait_for()
    page.reload()
    settle(page)
    assert asked(page) == moved
    assert done(page, page.go_back) == moved
    assert done(page, page.go_back) == moved
    assert done(page, page.go_back) == moved and sites(page) == "4"
    assert done(page, page.go_back) == start | {"sites": ["4"]}
    assert done(page, page.go_back) == start and sites(page) == "3"
    assert done(page, page.go_forward) == start | {"sites": ["4"]} and sites(page) == "4"
    watched.assert_quiet()


def test_undo_takes_one_change_back_and_defaults_take_back_all(server, open_page):
    query = "sites=3&calibration=published&plan_target=60"
    page, _ = open_page(f"{server}/?{query}", until_full=False)
    page.get_by_test_id("stExpandSidebarButton").click()
    asked_first = asked(page)
    undo = page.get_by_role("button", name="Undo")
    assert undo.is_disabled()
    # Several controls at once are one change.
    assert done(page, page.get_by_role("button", name="Back to defaults").click) == {}
    assert sites(page) == "5"
    # The browser's own controls have followed: it sends them with the next move.
    slider = page.get_by_role("slider", name="Sites")
    assert done(page, lambda: slider.press("ArrowRight")) == {"sites": ["6"]}
    assert done(page, undo.click) == {}
    assert done(page, undo.click) == asked_first
    assert sites(page) == "3" and undo.is_disabled()


def test_the_shared_link_restores_every_control_without_a_clipboard(server, open_page):
    query = (
        "dataset=digits&epsilon=0.5&sites=3&calibration=published&noise=triangle"
        "&repetitions=2&seed=9"
    )
    page, _ = open_page(f"{server}/?{query}")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.evaluate(NO_CLIPBOARD)
    page.get_by_role("button", name="Share this view").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.get_by_role("img", name="A QR code").is_visible()
    link = page.get_by_role("textbox", name="Link to this view").input_value()
    again, _ = open_page(link)
    assert asked(again) == parse_qs(query)
    answer = again.locator(".answer").inner_text()
    assert "2 runs" in answer and answer == page.locator(".answer").inner_text()


def test_a_change_is_one_step_however_late_the_address_says_it(server, browser):
    page = browser.new_page()
    page.goto(f"{server}/_stcore/health?sites=3")
    page.evaluate(FOOT, (ROOT / "pages/shell/history.js").read_text(encoding="utf-8"))
    undo = page.locator("button").first
    assert undo.is_disabled()
    page.evaluate("runHasEnded('sites=4')")
    page.wait_for_timeout(300)
    page.evaluate("history.pushState({}, '', '?sites=4')")
    assert undo.is_enabled()
    page.evaluate("history.pushState({}, '', '?sites=5')")
    page.evaluate("runHasEnded('sites=5')")
    assert page.evaluate("history.length") == 4  # the blank page before
    undo.click()
    page.wait_for_url("**sites=4")
    page.close()
