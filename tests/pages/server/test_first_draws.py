"""What a page computes before it answers, and what it leaves for later."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from dpcore.experiments.pca import runs
from dpcore.experiments.pca.spec import RunSpec
from pages.server import page_lock, result_cache, spare_time
from pages.widgets import draws_to_come

SPEC = RunSpec(repetitions=4, seed=4242)


@pytest.fixture(autouse=True)
def nothing_is_there(monkeypatch):
    monkeypatch.setattr(result_cache, "_FIRST_SECONDS", 60.0)
    yield
    for cache in (result_cache._rows, result_cache._subspaces, result_cache._whole_curves):
        cache.clear()


def test_alone_a_visitor_has_every_draw_at_once():
    rows, to_come = result_cache.first_rows(SPEC)
    assert to_come == [] and {row["repetition"] for row in rows} == {0, 1, 2, 3}
    assert rows == result_cache.rows(SPEC)


def test_of_large_data_the_first_draw_is_the_first_answer_and_what_is_there_comes_with_it(
    monkeypatch,
):
    monkeypatch.setattr(result_cache, "THREADED_FROM_FEATURES", 1)
    rows, to_come = result_cache.first_rows(SPEC)
    assert {row["repetition"] for row in rows} == {0}
    assert [repetition for _, repetition in to_come] == [1, 2, 3]
    whole = result_cache.rows(SPEC)
    assert result_cache.first_rows(SPEC) == (whole, []) and whole[: len(rows)] == rows


def test_beside_others_an_answer_has_the_first_draws_and_what_is_there_already(monkeypatch):
    monkeypatch.setattr(page_lock, "is_wanted", lambda: True)
    rows, to_come = result_cache.first_rows(SPEC)
    assert {row["repetition"] for row in rows} == {0}
    assert [repetition for _, repetition in to_come] == [1, 2, 3]
    result_cache.cell_rows(to_come[0])
    rows, to_come = result_cache.first_rows(SPEC)
    assert {row["repetition"] for row in rows} == {0, 1} and len(to_come) == 2


def test_while_the_first_draw_of_large_data_is_made_its_sites_are_counted_and_others_served(
    monkeypatch,
):
    counted, two_are_counted, draw = [], threading.Event(), runs.draw_subspaces

    class Counting(result_cache.Counting):
        def count(self, done, total):
            counted.append((done, total, page_lock._TURN.locked()))
            if len(counted) == 2:
                two_are_counted.set()

    def slow(specs, problem, repetition, *, each_site, **options):
        each_site(None)
        assert repetition or two_are_counted.wait(30)
        return draw(specs, problem, repetition, **options)

    monkeypatch.setattr(runs, "draw_subspaces", slow)
    monkeypatch.setattr(result_cache, "Counting", Counting)
    monkeypatch.setattr(result_cache, "THREADED_FROM_FEATURES", 1)
    with page_lock.taken():
        rows = result_cache.first_rows(replace(SPEC, repetitions=1))[0]
        assert page_lock._ours.held
    assert counted[1] == (1, SPEC.sites, False) and rows


def test_an_answer_is_drawn_again_though_somebody_else_has_made_the_rest_of_its_draws(monkeypatch):
    """It kept the rows that it had when nothing was left to make before it began to fill in."""
    asked: list[float | None] = []
    monkeypatch.setattr(draws_to_come, "ask_again", asked.append)
    monkeypatch.setattr(draws_to_come, "draw_again", asked.append)
    monkeypatch.setattr(draws_to_come.st, "session_state", {})
    result_cache.rows(SPEC)
    draws_to_come._go_on(SPEC, True)
    assert asked[0] is not None and asked[0] != "answer"
    draws_to_come._go_on(SPEC, True)
    assert asked[1] == "answer"


def test_what_fills_in_leaves_the_turn_to_whoever_wants_it():
    computed: list[int] = []
    may_end = threading.Event()

    def answer():
        with page_lock.taken():
            may_end.wait(10)

    other = threading.Thread(target=answer)
    other.start()
    while not page_lock._TURN.locked():
        time.sleep(0.001)
    spare_time.compute_for([1, 2], computed.append, 60.0)
    assert computed == []
    may_end.set()
    other.join()
    spare_time.compute_for([1, 2], computed.append, 60.0)
    assert computed == [1, 2]


def test_the_components_shown_are_those_of_the_first_row_and_drawn_once(monkeypatch):
    drawn = []
    draw = runs.draw_subspaces

    def counted(*arguments, **options):
        drawn.append(arguments)
        return draw(*arguments, **options)

    monkeypatch.setattr(runs, "draw_subspaces", counted)
    monkeypatch.setattr(result_cache, "draw_subspaces", counted)
    rows, _ = result_cache.first_rows(SPEC)
    shown = result_cache.subspaces(SPEC)
    assert len(drawn) == 4
    assert [row["sigma"] for row in rows[:4]] == [
        subspace.guarantee.sigma for subspace in shown.values()
    ]


def test_a_class_with_a_seed_each_finds_its_sites_again():
    """The sites of forty seeds were split and their moments taken anew at every move."""
    keys = [RunSpec(seed=5_000 + number).problem_key() for number in range(40)]
    made = [result_cache.problems(key) for key in keys]
    assert [result_cache.problems.peek(key) for key in keys] == made
