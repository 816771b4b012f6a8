"""Words and controls of the first screen of a page, its layout shift, and its colours."""

from __future__ import annotations

from typing import Any

from tests.browser.conftest import settle

MAX_WORDS, MAX_CONTROLS, MAX_SHIFT = 60, 10, 0.1

# Counted: words with a letter, and links, buttons, inputs, tabs, help marks and drawers, in the
# page and its sidebar, if a part of them is in the window. Each segment of a choice is one.
# Not counted: the menu and Streamlit's own tools (folding the sidebar, toolbars of figures and
# tables, copying of code), parts of one input (arrow, plus and minus, removing a chosen value),
# letters in drawings, formulas and code, names of icons, the closed part of a drawer, and what
# appears under the mouse only.
_COUNT = r"""() => {
    const isVisible = (box) => box.width > 0 && box.height > 0 && box.top < innerHeight
        && box.bottom > 0 && box.left < innerWidth && box.right > 0
    const isPainted = (each) => each?.checkVisibility?.(
        { opacityProperty: true, visibilityProperty: true }) ?? true
    const silent = "style, script, svg, pre, code, .katex, [data-testid=stIconMaterial]"
    const skipped = ".modebar, [data-testid=stElementToolbar], "
        + "[data-testid=stElementToolbarButton], "
        + "[data-testid=stHeaderActionElements], [data-testid=stSidebarCollapseButton], "
        + "details:not([open]) > :not(summary)"
    const partOfInput = "[data-baseweb=select] *, [data-testid=stSelectbox] button, "
        + "[data-testid=stMultiSelect] button, [data-testid=stNumberInput] button"
    const controls = "a[href], button, input, textarea, select, summary, [role=tab]"
    const words = [], found = []
    const isControl = (each) => each.matches(controls) && isVisible(each.getBoundingClientRect())
        && !each.closest(skipped) && (each.matches("input") || isPainted(each))
        && !(each.matches("button") && each.matches(partOfInput)
            && !each.closest("[data-testid=stTooltipIcon]"))
    const walk = (node) => {
        for (const child of node.childNodes) {
            if (child.nodeType === Node.TEXT_NODE
                && !child.parentElement?.closest(`${silent}, ${skipped}`)) {
                const range = document.createRange()
                range.selectNodeContents(child)
                if (isVisible(range.getBoundingClientRect()) && isPainted(child.parentElement))
                    words.push(...child.textContent.split(/\s+/).filter((w) => /\p{L}/u.test(w)))
            }
            if (child.nodeType !== Node.ELEMENT_NODE) continue
            // A label around an input is the same control.
            if (isControl(child))
                found.push(child.getAttribute("aria-label") || child.innerText || child.type)
            walk(child)
            if (child.shadowRoot) walk(child.shadowRoot)
        }
    }
    for (const name of ["stMain", "stSidebar"])
        document.querySelectorAll(`[data-testid=${name}]`).forEach(walk)
    return [words, found]
}"""

# Chromium's definition: a session window has pauses of at most 1 s and lasts at most 5 s.
LARGEST_SHIFT = """() => new Promise((resolve) => {
    new PerformanceObserver((list) => {
        let [largest, sum, first, last] = [0, 0, -Infinity, -Infinity]
        for (const { value, startTime, hadRecentInput } of list.getEntries()) {
            if (hadRecentInput) continue
            if (startTime - last > 1000 || startTime - first > 5000) [sum, first] = [0, startTime]
            last = startTime
            sum += value
            largest = Math.max(largest, sum)
        }
        resolve(largest)
    }).observe({ type: "layout-shift", buffered: true })
    setTimeout(() => resolve(0), 1000)
})"""


def words_and_controls(page: Any) -> tuple[list[str], list[str]]:
    """Return the words and the names of the controls on the first screen."""
    words, controls = page.evaluate(_COUNT)
    return words, [" ".join(control.split()) for control in controls]


def assert_first_screen_is_short(page: Any) -> None:
    """Check that there is one h1 and that words and controls are few."""
    words, controls = words_and_controls(page)
    assert page.locator("h1").count() == 1
    assert len(words) <= MAX_WORDS, words
    assert len(controls) <= MAX_CONTROLS, controls


def assert_page_did_not_move(page: Any) -> None:
    assert page.evaluate(LARGEST_SHIFT) <= MAX_SHIFT


def assert_phone_has_a_named_menu(page: Any) -> None:
    button = page.get_by_test_id("stExpandSidebarButton")
    assert button.evaluate("each => getComputedStyle(each, '::after').content") != "none"
    assert button.bounding_box()["width"] > 60


_CONTRAST = r"""button => {
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255).map(
            (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const text = button.querySelector("p, [title]") ?? button
    const [low, high] = [light(getComputedStyle(text).color),
        light(getComputedStyle(button).backgroundColor)].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
}"""
_BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


def assert_text_on_the_primary_colour_can_be_read(page: Any, selector: str) -> None:
    """Check a button or a selected value in both themes; the page stays in the dark one."""
    assert page.locator(selector).first.evaluate(_CONTRAST) >= 4.5
    light = page.evaluate(_BACKGROUND)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => {_BACKGROUND} !== light", arg=light)
    settle(page)
    assert page.locator(selector).first.evaluate(_CONTRAST) >= 4.5
