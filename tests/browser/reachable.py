"""Accessibility faults of a page, found by axe-core and by a check of charts."""

from __future__ import annotations

from typing import Any

# Rule and a part of the element, each with why it can't be mended from here.
ACCEPTED: tuple[tuple[str, str], ...] = ()

OPTIONS = "{resultTypes: ['violations'], preload: false, iframes: false}"
# axe-core does not look at letters in a drawing: a chart's axes, titles and legend.
PALE = r"""() => {
    const parse = colour => colour.match(/[\d.]+/g).map(Number)
    const light = rgb => {
        const [r, g, b] = rgb.map(part => part / 255).map(
            part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const app = getComputedStyle(document.querySelector('[data-testid=stApp]') ?? document.body)
    const page = parse(app.backgroundColor)
    const letters = '.xtick text, .ytick text, .legendtext, [class*=title] text, text[class*=title]'
    return [...document.querySelectorAll('.js-plotly-plot :is(' + letters + ')')].filter(text => {
        const style = getComputedStyle(text)
        const [r, g, b, alpha = 1] = parse(style.fill)
        const shown = alpha * style.fillOpacity * style.opacity
        const ink = [r, g, b].map((part, k) => part * shown + page[k] * (1 - shown))
        const [low, high] = [light(ink), light(page)].sort((x, y) => x - y)
        return (high + 0.05) / (low + 0.05) < 4.5
    }).map(text => text.textContent)
}"""


def faults(page: Any) -> list[str]:
    """Return serious violations of axe-core, and letters in charts with low contrast."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    findings = page.evaluate(f"axe.run({OPTIONS})")["violations"]
    serious = [
        f"{rule['id']}: {node['html'][:200]} ({' '.join(map(str, node['target']))})"
        for rule in findings
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
        if not any(rule["id"] == name and part in node["html"] for name, part in ACCEPTED)
    ]
    return serious + [f"pale: {text}" for text in page.evaluate(PALE)]


# Elements that the keyboard reaches without a visible change of the element or its parents.
# Transitions are switched off; scripts and style sheets of the page are unchanged.
UNSEEN = """async () => {
    const stops = 'a[href], button, input, select, textarea, summary, [tabindex]'
    const every = root => [...root.querySelectorAll('*')].flatMap(
        each => [each, ...(each.shadowRoot ? every(each.shadowRoot) : [])])
    const above = each => each?.parentElement ?? each?.getRootNode().host
    const look = each => {
        const told = []
        for (let at = each, k = 0; at && k < 6; at = above(at), k++)
            for (const part of ['', '::before', '::after']) {
                const style = getComputedStyle(at, part)
                told.push(style.outline, style.boxShadow, style.borderColor,
                          style.backgroundColor, style.textDecoration, style.opacity)
            }
        return told.join()
    }
    const still = document.createElement('style')
    still.textContent = '* { transition: none !important; }'
    document.head.append(still)
    document.activeElement.blur()
    const unseen = []
    for (const each of every(document)) {
        if (!each.matches(stops) || each.tabIndex < 0) continue
        const before = look(each)
        each.focus({ preventScroll: true })
        if (each.getRootNode().activeElement !== each) continue // hidden, inert or disabled
        // Its own scripts may take a moment to hear of it.
        for (let tried = 0; tried < 40 && look(each) === before; tried++)
            await new Promise(later => setTimeout(later, 2 * tried))
        if (look(each) === before) unseen.push(each.outerHTML.slice(0, 200))
        each.blur()
    }
    still.remove()
    return unseen
}"""


def unseen(page: Any) -> list[str]:
    """Return elements that the keyboard reaches without a visible focus."""
    for _ in range(2):
        # The browser now shows the focus of the keyboard. A part that is redrawn meanwhile may end
        # that, so it is repeated.
        page.keyboard.press("Tab")
        findings = page.evaluate(UNSEEN)
        if not findings:
            break
    return findings
