"""A line of the guarantee card leads to its paragraph, also on a server nobody has visited."""

from __future__ import annotations

from dpcore.privacy import ASSUMED, STATED, Assumption

LATE = """() => {
    document.querySelector('.stMain').style.overflowAnchor = 'none'
    document.querySelector('.stTabs').style.paddingTop = '300px'
}"""


def top_of(page, anchor: str) -> float:
    return page.locator(f"#{anchor}").bounding_box()["y"]


def wait_at(page, anchor: str) -> None:
    """Until the page has jumped to an anchor."""
    page.wait_for_function(
        "anchor => { const top = document.getElementById(anchor)?.getBoundingClientRect().top\n"
        "            return 0 <= top && top < 200 }",
        arg=anchor,
    )


def test_a_link_to_an_explanation_jumps_there_on_a_cold_server(fresh_server, open_page):
    anchor = ASSUMED[Assumption.ONE_ROW_A_PERSON].anchor
    page, watched = open_page(f"{fresh_server}/promise#{anchor}")
    wait_at(page, anchor)
    assert page.get_by_text(ASSUMED[Assumption.ONE_ROW_A_PERSON].text[:40]).is_visible()
    # What comes late above it does not carry it away, until somebody moves; nor where the browser
    # itself, unlike this one, holds nothing in its place.
    page.evaluate(LATE)
    page.wait_for_timeout(200)
    assert 0 <= top_of(page, anchor) < 200
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"document.getElementById('{anchor}').getBoundingClientRect().top > 200")
    watched.assert_quiet()


def test_every_explanation_has_its_anchor(server, open_page):
    page, _ = open_page(f"{server}/promise")
    for each in (*STATED.values(), *ASSUMED.values()):
        assert page.locator(f"#{each.anchor}").count() == 1


def test_the_card_leads_there_in_a_tab_of_its_own(server, open_page):
    page, _ = open_page(f"{server}/statistics")
    page.get_by_text("Assumptions").click()
    title = ASSUMED[Assumption.PUBLIC_RANGE].title
    with page.context.expect_page() as opened:
        page.get_by_role("link", name=title).click()
    anchor = ASSUMED[Assumption.PUBLIC_RANGE].anchor
    opened.value.wait_for_url(f"**/promise#{anchor}")
    wait_at(opened.value, anchor)
