"""Challenge: the visitor and a classifier read the same rebuilt numerals."""

from __future__ import annotations

import numpy as np

from dpcore.data import load_dataset
from dpcore.spectra import leading_eigenpairs
from dpcore.teaching.reading import EPSILONS, choose_pictures, read_numerals, score


def answer(at, game, *, right: bool):
    numeral = game.numerals()[len(game.answers)]
    chosen = numeral if right else (numeral + 1) % 10
    at.button(key=f"reading_{len(game.answers)}_{chosen}").click().run()
    assert not at.exception


def test_right_answers_lower_epsilon_and_a_wrong_one_shows_both_scores(open_page):
    at = open_page("stories", story="read")
    game = at.session_state["_reading"]
    for epsilon in EPSILONS[:2]:
        assert at.title[0].value.startswith(f"ε = {epsilon:g}: ")
        answer(at, game, right=True)
    answer(at, game, right=False)
    assert at.title[0].value.startswith(f"You read down to ε = {EPSILONS[1]:g}, the machine ")
    figures = next(
        element.proto.body for element in at.get("html") if 'class="read"' in element.proto.body
    )
    assert figures.count("<figure>") == len(EPSILONS) and "You: –" in figures
    assert at.query_params["story"] == "read"
    next(button for button in at.button if button.label == "Play again").click().run()
    assert not at.session_state["_reading"].answers


def test_the_machine_reads_most_pictures_by_exact_components_and_few_by_labels_at_random():
    pictures, rng = load_dataset("mnist-small"), np.random.default_rng()
    X, labels = pictures.X.astype(float), np.asarray(pictures.labels)
    centre = X.mean(axis=0)
    components = leading_eigenpairs(np.cov(X.T), 30)[1]
    (row, *_) = choose_pictures(labels, rng)
    reading = read_numerals(X, labels, components, centre, row)
    # Deterministic but for the picture: 0.948.
    assert row % 2 == 1 and reading.share > 0.9
    shuffled = read_numerals(X, rng.permutation(labels), components, centre, row)
    # Binomial of 1,000 tests at 0.1, ten standard deviations.
    assert shuffled.share < 0.2


def test_a_score_is_the_smallest_epsilon_down_to_which_all_were_read():
    numerals = [4] * len(EPSILONS)
    assert score([5, 4, 4], numerals) is None
    assert score([4, 4, 5, 4], numerals) == EPSILONS[1]
    assert score(numerals, numerals) == EPSILONS[-1]
