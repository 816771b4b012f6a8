"""The one widget of a background job: what a visitor sees of it in each of its states."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.server.background_jobs import Progress


class Scripted:
    """A job whose next progress a test writes down."""

    every = 0.25
    is_cancelled = False

    def __init__(self, now: Progress):
        self.now = now

    def progress(self) -> Progress:
        return self.now

    def cancel(self) -> None:
        self.is_cancelled = True

    def wait_for_rows(self, seconds: float) -> None:
        pass


class Half(Progress):
    """A progress that knows its share."""

    share = 0.5


def page():
    import streamlit as st

    from pages.widgets.job_progress import watch

    watch(
        "widget",
        st.session_state["job"],
        lambda progress: st.markdown(f"drawn {len(progress.arrived)}"),
        lambda progress: f"{len(progress.arrived)} of 2 parts",
        is_there=lambda progress: len(progress.arrived) == 2,
        restart=(lambda: None) if st.session_state.get("restarts") else None,
    )


KEPT = "What had arrived (1 of 2 parts) is kept; Run goes on from there."
ONE, TWO = {"a": (1,)}, {"a": (1,), "b": (2,)}
STATES = {
    "waiting": (Progress({}, "waiting"), "0 of 2 parts, waiting for another run to end", ["Stop"]),
    "running": (Progress(ONE, "running"), "1 of 2 parts", ["Stop"]),
    "with a bar": (Half(ONE, "running"), "1 of 2 parts", ["Stop"]),
    "stopped": (
        Progress(ONE, "cancelled"),
        f"Stopped. {KEPT}",
        [],
    ),
    "unseen": (
        Progress(ONE, "unseen"),
        f"Stopped, because nobody had looked for two minutes. {KEPT}",
        [],
    ),
    "failed": (
        Progress(ONE, "failed", "sites must be at most 3, got 4"),
        f"sites must be at most 3, got 4. {KEPT}",
        [],
    ),
    "finished": (Progress(TWO, "finished"), "", []),
}


@pytest.fixture
def shown():
    """Run the page with a progress; the texts on it and the labels of its buttons."""

    def show(progress, at=None, **state):
        at = at or AppTest.from_function(page, default_timeout=30)
        for name, value in (state | {"job": Scripted(progress)}).items():
            at.session_state[name] = value
        at.run()
        assert not at.exception
        kinds = (at.caption, at.info, at.error, at.markdown)
        texts = [each.value for kind in kinds for each in kind]
        texts += [bar.proto.text for bar in at.get("progress")]
        return at, texts, [button.label for button in at.button]

    return show


@pytest.mark.parametrize("state", STATES)
def test_each_state_has_its_words_and_its_button(shown, state):
    progress, words, buttons = STATES[state]
    at, texts, found = shown(progress)
    assert found == buttons
    assert f"drawn {len(progress.arrived)}" in texts
    assert words in texts or not words
    assert len(at.get("progress")) == (progress.share is not None)


def test_stop_looks_no_more(shown):
    at, _, _ = shown(Progress(ONE, "running"))
    at.button[0].click().run()
    assert at.session_state["job"].is_cancelled


def test_a_figure_that_began_by_itself_goes_on_by_a_button_of_its_own(shown):
    _, texts, buttons = shown(Half(ONE, "cancelled"), restarts=True)
    assert buttons == ["Go on"] and "1 of 2 parts" in texts


def test_what_stood_stays_until_enough_of_its_successor_is_there(shown):
    at, texts, _ = shown(Progress(TWO, "finished"))
    assert "drawn 2" in texts
    for progress in (Progress({}, "waiting"), Progress(ONE, "running"), Progress({}, "cancelled")):
        _, texts, _ = shown(progress, at)
        assert "drawn 2" in texts and "drawn 1" not in texts
    _, texts, _ = shown(Progress(ONE, "cancelled"), at)
    assert "drawn 1" in texts and "drawn 2" not in texts
