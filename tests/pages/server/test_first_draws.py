"""What a page computes before it answers, and what it leaves for later."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from dpcore.experiments import pca
from dpcore.experiments.pca import RunSpec
from pages.server import caches, turns
from pages.widgets import job_progress

SPEC = RunSpec(repetitions=4, seed=4242)


@pytest.fixture(autouse=True)
def nothing_is_there(monkeypatch):
    monkeypatch.setattr(caches, "_FIRST_SECONDS", 60.0)
    yield
    for cache in (caches._rows, caches._subspaces, caches._whole_curves):
        cache.clear()


def test_alone_a_visitor_has_every_draw_at_once():
    rows, to_come = caches.first_rows(SPEC)
    assert to_come == [] and {row["repetition"] for row in rows} == {0, 1, 2, 3}
    assert rows == caches.rows(SPEC)


def test_of_large_data_the_first_draw_is_the_first_answer_and_what_is_there_comes_with_it(
    monkeypatch,
):
    monkeypatch.setattr(caches, "THREADED_FROM_FEATURES", 1)
    rows, to_come = caches.first_rows(SPEC)
    assert {row["repetition"] for row in rows} == {0}
    assert [repetition for _, repetition in to_come] == [1, 2, 3]
    whole = caches.rows(SPEC)
    assert caches.first_rows(SPEC) == (whole, []) and whole[: len(rows)] == rows


def test_beside_others_an_answer_has_the_first_draws_and_what_is_there_already(monkeypatch):
    monkeypatch.setattr(turns, "is_wanted", lambda: True)
    rows, to_come = caches.first_rows(SPEC)
    assert {row["repetition"] for row in rows} == {0}
    assert [repetition for _, repetition in to_come] == [1, 2, 3]
    caches.cell_rows(to_come[0])
    rows, to_come = caches.first_rows(SPEC)
    assert {row["repetition"] for row in rows} == {0, 1} and len(to_come) == 2


def test_while_the_first_draw_of_large_data_is_made_its_sites_are_counted_and_others_served(
    monkeypatch,
):
    counted, two_are_counted, draw = [], threading.Event(), pca.draw_subspaces

    class Counting(caches.Counting):
        def count(self, done, total):
            counted.append((done, total, turns._TURN.locked()))
            if len(counted) == 2:
                two_are_counted.set()

    def slow(specs, problem, repetition, *, each_site, **options):
        each_site(None)
        assert repetition or two_are_counted.wait(30)
        return draw(specs, problem, repetition, **options)

    monkeypatch.setattr(pca, "draw_subspaces", slow)
    monkeypatch.setattr(caches, "Counting", Counting)
    monkeypatch.setattr(caches, "THREADED_FROM_FEATURES", 1)
    with turns.taken():
        rows = caches.first_rows(replace(SPEC, repetitions=1))[0]
        assert turns._ours.held
    assert counted[1] == (1, SPEC.sites, False) and rows


def test_an_answer_is_drawn_again_though_somebody_else_has_made_the_rest_of_its_draws(monkeypatch):
    """It kept the rows that it had when nothing was left to make before it began to fill in."""
    asked: list[float | None] = []
    monkeypatch.setattr(job_progress, "ask_again", asked.append)
    monkeypatch.setattr(job_progress, "draw_again", asked.append)
    monkeypatch.setattr(job_progress.st, "session_state", {})
    caches.rows(SPEC)
    job_progress._wait_for_draws(SPEC, True)
    assert asked[0] is not None and asked[0] != "answer"
    job_progress._wait_for_draws(SPEC, True)
    assert asked[1] == "answer"


def test_what_fills_in_leaves_the_turn_to_whoever_wants_it():
    computed: list[int] = []
    may_end = threading.Event()

    def answer():
        with turns.taken():
            may_end.wait(10)

    other = threading.Thread(target=answer)
    other.start()
    while not turns._TURN.locked():
        time.sleep(0.001)
    turns.compute_for([1, 2], computed.append, 60.0)
    assert computed == []
    may_end.set()
    other.join()
    turns.compute_for([1, 2], computed.append, 60.0)
    assert computed == [1, 2]


def test_the_components_shown_are_those_of_the_first_row_and_drawn_once(monkeypatch):
    drawn = []
    draw = pca.draw_subspaces

    def counted(*arguments, **options):
        drawn.append(arguments)
        return draw(*arguments, **options)

    monkeypatch.setattr(pca, "draw_subspaces", counted)
    monkeypatch.setattr(caches, "draw_subspaces", counted)
    rows, _ = caches.first_rows(SPEC)
    shown = caches.subspaces(SPEC)
    assert len(drawn) == 4
    assert [row["sigma"] for row in rows[:4]] == [
        subspace.guarantee.sigma for subspace in shown.values()
    ]


def test_a_class_with_a_seed_each_finds_its_sites_again():
    """The sites of forty seeds were split and their moments taken anew at every move."""
    keys = [RunSpec(seed=5_000 + number).problem_key() for number in range(40)]
    made = [caches.problems(key) for key in keys]
    assert [caches.problems.peek(key) for key in keys] == made
