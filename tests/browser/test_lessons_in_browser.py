"""The pages of Learn: one order, few words and controls on the first screen, one h1."""

from __future__ import annotations

import pytest

from pages.navigation import LESSONS

MAX_WORDS, MAX_CONTROLS = {"how_it_works": 85}, 13
# Controls of the page itself; the menu of the app and the toolbars of figures are not counted.
COUNT = """() => {
    const isVisible = (box) => box.width > 0 && box.height > 0 && box.top < innerHeight
        && box.bottom > 0 && box.left < innerWidth && box.right > 0
    const skipped = "style, script, svg, .katex, .modebar, [data-testid=stElementToolbar], "
        + "[data-testid=stHeaderActionElements], details:not([open]) > :not(summary)"
    let words = 0, controls = 0
    const walk = (node) => {
        for (const child of node.childNodes) {
            if (child.nodeType === Node.TEXT_NODE && !child.parentElement?.closest(skipped)) {
                const range = document.createRange()
                range.selectNodeContents(child)
                if (isVisible(range.getBoundingClientRect()))
                    words += child.textContent.split(/\\s+/).filter((w) => /\\p{L}/u.test(w)).length
            }
            if (child.nodeType !== Node.ELEMENT_NODE) continue
            if (child.matches("a[href], button, input, summary") && !child.closest(skipped)
                && isVisible(child.getBoundingClientRect())) controls += 1
            walk(child)
            if (child.shadowRoot) walk(child.shadowRoot)
        }
    }
    for (const name of ["stMain", "stSidebar"])
        document.querySelectorAll(`[data-testid=${name}]`).forEach(walk)
    return [words, controls]
}"""


@pytest.mark.parametrize("name", LESSONS[:-1])
def test_the_first_screen_has_few_words_and_controls(server, open_page, name):
    page, _ = open_page(f"{server}/{name}", width=1440, height=900)
    assert page.locator("h1").count() == 1
    words, controls = page.evaluate(COUNT)
    assert words <= MAX_WORDS.get(name, 60) and controls <= MAX_CONTROLS, (words, controls)


def test_next_leads_through_all_pages_in_order(server, open_page):
    page, _ = open_page(f"{server}/{LESSONS[0]}")
    for following in LESSONS[1:]:
        page.get_by_role("link", name="Next: ").click()
        page.wait_for_url(f"**/{following}*")
        page.locator("h1").first.wait_for()
