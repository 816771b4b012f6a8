"""What fills in beside a page gives way to whoever waits for an answer."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from dpcore.experiments.pca import RunSpec
from pages.server import caches, turns
from pages.shell import streamlit_internals

LET_GO = WidgetStates()
LET_GO.widgets.add(id="slider", json_trigger_value="[0.1]")
SLIDER = RerunData(fragment_id="slider", widget_states=LET_GO)
FILLS_IN = RerunData(fragment_id="frames", is_auto_rerun=True)


@pytest.fixture
def visitor(monkeypatch) -> ScriptRequests:
    """What the one whose page it is asks for while the page is drawn."""
    requests = ScriptRequests()
    context = SimpleNamespace(script_requests=requests)
    monkeypatch.setattr(streamlit_internals, "get_script_run_ctx", lambda **_: context)
    return requests


class LongDraw:
    """A draw that goes on until it is told to stop, or may end."""

    def __init__(self, when_begun=lambda: None):
        self.when_begun = when_begun
        self.may_end, self.has_ended = threading.Event(), threading.Event()
        self.given_up = False

    def __call__(self, _: int) -> None:
        ask = turns.checkpoint()
        self.when_begun()
        try:
            until = time.monotonic() + 30
            while not self.may_end.is_set() and time.monotonic() < until:
                ask()
                time.sleep(0.001)
        except turns.GivesWay:
            self.given_up = True
            raise
        finally:
            self.has_ended.set()


@pytest.mark.parametrize("asked", [[SLIDER], [SLIDER, FILLS_IN], [FILLS_IN, RerunData(), FILLS_IN]])
def test_a_control_moved_meanwhile_does_not_wait_for_a_draw_that_nobody_wants_any_more(
    visitor, asked
):
    draw = LongDraw(when_begun=lambda: visitor.request_rerun_batch(asked))
    turns.compute_for([1, 2], draw, 60.0)
    assert not draw.may_end.is_set() and draw.has_ended.wait(10) and draw.given_up
    assert not turns._TURN.locked()


def test_parts_that_ask_by_themselves_wait(visitor):
    draw = LongDraw(when_begun=lambda: visitor.request_rerun(FILLS_IN))
    threading.Timer(0.1, draw.may_end.set).start()
    turns.compute_for([1], draw, 60.0)
    assert draw.may_end.is_set() and not draw.given_up


def test_another_visitor_is_served_while_a_draw_that_was_begun_is_finished(visitor):
    served = threading.Event()

    def other():
        with turns.taken():
            served.set()

    beside = threading.Thread(target=other)
    draw = LongDraw(when_begun=beside.start)
    turns.compute_for([1, 2], draw, 60.0)
    assert served.wait(10) and not draw.has_ended.is_set()
    draw.may_end.set()
    beside.join(10)
    assert draw.has_ended.wait(10) and not draw.given_up


def test_what_was_given_up_is_nobodys_and_is_drawn_again(visitor):
    cell = (RunSpec(repetitions=1, seed=4343), 0)
    caches.problem_of(cell[0].problem_key())

    def compute(cell):
        visitor.request_rerun(SLIDER)
        ask = turns.checkpoint()
        with pytest.raises(turns.GivesWay):
            while True:
                ask()
        caches.cell_rows(cell)

    turns.compute_for([cell], compute, 60.0)
    assert caches._rows.peek(*cell) is None
    assert len(caches.cell_rows(cell)) == len(cell[0].protocols)


def test_what_goes_wrong_is_said():
    with pytest.raises(ZeroDivisionError):
        turns.compute_for([0], lambda item: 1 / item, 60.0)
    assert not turns._TURN.locked()
