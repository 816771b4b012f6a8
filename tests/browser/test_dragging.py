"""While epsilon is dragged the browser answers alone; when it is let go, the server does, once."""

from __future__ import annotations

import pytest

from tests.browser.conftest import settle

COUNT_SENT = """() => {
    const send = WebSocket.prototype.send
    window.sent = 0
    WebSocket.prototype.send = function (...what) { window.sent += 1; send.apply(this, what) }
}"""

# In one go: on a busy machine there is no telling how long three presses take.
THREE_PRESSES = """slider => {
    for (const _ of [1, 2, 3]) {
        slider.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}))
        slider.stepDown()
        slider.dispatchEvent(new Event("input", {bubbles: true}))
        slider.dispatchEvent(new Event("change", {bubbles: true}))
    }
    return window.sent
}"""


def shown(page) -> tuple[str, str, str, str]:
    """The slider's epsilon, the number, where the curve's marker is, the people rebuilt."""
    return (
        page.locator(".control output").inner_text(),
        page.locator(".number").inner_text(),
        page.locator(".now > path").first.get_attribute("d"),
        page.locator(".people canvas").evaluate("canvas => canvas.toDataURL()"),
    )


@pytest.fixture
def play(server, open_page):
    """The settled page, in a browser that counts what it sends from then on."""
    page, watched = open_page(f"{server}/?dataset=digits&repetitions=2&seed=41")
    page.evaluate(COUNT_SENT)
    yield page
    watched.assert_quiet()


def test_number_marker_and_pictures_follow_the_hand_without_the_server(play):
    page = play
    before = shown(page)
    below = page.get_by_role("button", name="New noise")
    stood = below.bounding_box()
    box = page.locator(".control input").bounding_box()
    y = box["y"] + box["height"] / 2

    def at(step: int) -> float:
        return box["x"] + 22 + (box["width"] - 44) * step / 14

    page.mouse.move(at(9), y)
    page.mouse.down()
    seen = {before}
    for step in (8, 6, 4, 12):
        page.mouse.move(at(step), y)
        while any(map(str.__eq__, shown(page), before)):
            page.wait_for_timeout(10)
        before = shown(page)
        seen.add(before)
    for part in zip(*seen, strict=True):
        assert len(set(part)) == 5
    assert page.evaluate("window.sent") == 0
    dragged = shown(page)
    page.mouse.up()
    settle(page)
    # The server gives what was shown before it was asked.
    assert page.evaluate("window.sent") == 1
    assert "epsilon=10" in page.url
    assert shown(page) == dragged
    assert below.bounding_box() == stood


def test_arrow_keys_move_it_and_say_what_survives(play):
    page = play
    slider = page.get_by_role("slider", name="ε")
    assert slider.evaluate(THREE_PRESSES) == 0
    said = slider.get_attribute("aria-valuetext")
    assert said.startswith("ε = 0.1: ") and said.endswith(" survives")
    page.wait_for_function("window.sent > 0")
    settle(page)
    assert page.evaluate("window.sent") == 1
    assert "epsilon=0.1" in page.url


def test_play_lets_epsilon_fall_until_nothing_is_left_and_comes_back(play):
    page = play
    page.evaluate("""() => {
        globalThis.met = []
        const slider = globalThis.energyExplorer.control.output
        new MutationObserver(() => met.push(slider.textContent))
            .observe(slider, { childList: true })
    }""")
    before = shown(page)
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Stop").wait_for()
    page.get_by_role("button", name="Play").wait_for()
    met = page.evaluate("met")
    assert {"0.01", "10"} <= set(met) and met[-1] == "1"
    # Numerals boil: the run that was shown before is shown again within a moment.
    for _ in range(50):
        if (now := shown(page)) == before:
            break
        page.wait_for_timeout(100)
    assert now == before
    # Where it stood is where it stands: nothing is asked of the server.
    assert page.evaluate("window.sent") == 0


def pictures(page) -> str:
    return page.locator(".people canvas").evaluate("canvas => canvas.toDataURL()")


def test_people_boil_where_runs_differ_and_can_be_held_still(server, browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"{server}/?repetitions=3&seed=43&epsilon=0.1")
    settle(page)
    seen = set()
    while len(seen) < 3:  # one picture a run, in turn
        seen.add(pictures(page))
        page.wait_for_timeout(30)
    page.get_by_role("button", name="Hold").click()
    held = pictures(page)
    for _ in range(20):
        assert pictures(page) == held
        page.wait_for_timeout(30)
    context.close()


def test_without_motion_several_runs_stand_side_by_side(play):
    page = play
    before = pictures(page)
    for _ in range(10):
        page.wait_for_timeout(50)
        assert pictures(page) == before
    page.emulate_media(reduced_motion="no-preference")
    while pictures(page) == before:
        page.wait_for_timeout(30)


def test_a_pointer_shows_what_was_written(play):
    page = play
    box = page.locator(".people canvas").bounding_box()
    before = pictures(page)
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    while pictures(page) == before:
        page.wait_for_timeout(10)
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] + 60)
    while pictures(page) != before:
        page.wait_for_timeout(10)


def test_bad_input_is_a_sentence_and_the_last_answer_stays(server, open_page):
    page, watched = open_page(
        f"{server}/?dataset=digits&repetitions=2&calibration=classic&epsilon=1"
    )
    before = shown(page)
    slider = page.get_by_role("slider", name="ε")
    slider.press("ArrowRight")
    settle(page)
    assert "epsilon must be at most 1" in page.locator("[data-testid=stAlert]").inner_text()
    assert page.locator(".explorer.stale").count() == 1
    assert shown(page)[1] == before[1] and shown(page)[3] == before[3]
    slider.press("ArrowLeft")
    settle(page)
    assert page.locator("[data-testid=stAlert]").count() == 0
    assert page.locator(".explorer.stale").count() == 0 and shown(page) == before
    watched.assert_quiet()
