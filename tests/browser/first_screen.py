"""Words and controls of the first screen of a page, and its layout shift."""

from __future__ import annotations

from typing import Any

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
