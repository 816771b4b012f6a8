"""The file of the quiz and its exact tests, compared with SciPy and with enumeration."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from scipy import stats

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.teaching.quiz import BY_NAME, UNKNOWN, Phase, quiz_csv, read_quiz, shuffled_quiz
from dpcore.teaching.quiz_analysis import (
    analyse_quiz,
    holm,
    mcnemar_p,
    median_limits,
    share_limits,
    sign_flip_p,
)
from tests.conftest import FALSE_ALARM


def wrong(name: str) -> str:
    return next(choice for choice in BY_NAME[name].choices if choice != BY_NAME[name].right)


def phone(before: int, after: int) -> dict:
    """Return a phone with this number of right answers out of six."""
    answers = {}
    for number, name in enumerate(BY_NAME):
        for phase, n_right in ((Phase.BEFORE, before), (Phase.AFTER, after)):
            answers[name, phase] = BY_NAME[name].right if number < n_right else wrong(name)
    return answers


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (5, 0), (3, 3), (9, 2), (2, 40)])
def test_mcnemar_is_the_binomial_test_of_the_changes(gained, lost):
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar_p(gained, lost) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(0, 4), (4, 4), (3, 11), (1, 60)])
def test_limits_of_a_share_are_clopper_and_pearsons(successes, trials):
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert share_limits(successes, trials) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert share_limits(0, 0) is None


@pytest.mark.parametrize("gains", [[1, 1], [2, 0, -1], [3, 1, 1, -2, 0, 2, 4], [0, 0]])
def test_flipping_signs_is_the_exact_permutation_test(gains):
    exact = stats.permutation_test(
        (np.array(gains), np.zeros(len(gains))),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    # SciPy's two-sided value doubles the smaller tail; the law is symmetric.
    assert sign_flip_p(gains) == pytest.approx(min(1.0, exact.pvalue))


def test_limits_of_the_median_hold_as_often_as_they_say():
    assert median_limits([1, 2, 3, 4, 5]) is None
    assert median_limits([6, 1, 2, 3, 5, 4]) == (1, 6)
    rng, n_classes = np.random.default_rng(), 2000
    drawn = rng.integers(-2, 5, size=(n_classes, 12))  # median 1
    held = sum(
        low <= 1 <= high for low, high in (median_limits(values) for values in drawn.tolist())
    )
    assert held >= stats.binom(n_classes, 0.95).ppf(FALSE_ALARM)


def test_holm_orders_and_bounds():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 1.0]) == [1.0, 1.0]


def test_the_order_is_drawn_from_the_generator_it_is_given():
    def orders(seed: int) -> list:
        shuffled = shuffled_quiz(np.random.default_rng(seed))
        return [(question.name, letters) for question, letters in shuffled]

    assert orders(1) == orders(1)
    assert len({json.dumps(orders(seed)) for seed in range(20)}) == 20
    for question, letters in shuffled_quiz(np.random.default_rng()):
        assert letters[-1] == UNKNOWN and sorted(letters[:-1]) == sorted(question.choices)


def test_a_file_says_what_was_answered_and_no_more():
    phones = [phone(2, 5), {("delta", Phase.BEFORE): UNKNOWN}, {}]
    written = quiz_csv(phones)
    read = read_quiz(io.StringIO(written))
    assert len(read) == len(phones) and all(phone in read for phone in phones)
    header = written.splitlines()[0].split(",")
    assert header[:3] == ["phone", "smaller_epsilon_before", "smaller_epsilon_after"]
    assert len(header) == 1 + 4 * 6


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("delta_before,", "delta_then,"), "delta_before"),
        (("1,b,b", "1,z,b"), "smaller_epsilon_before in line 2"),
        ((",1\n", ",0\n"), "aggregator_after_correct in line 2"),
    ],
)
def test_a_file_of_other_questions_is_refused(change, says):
    with pytest.raises(ParameterError, match=says):
        read_quiz(io.StringIO(quiz_csv([phone(6, 6)]).replace(*change, 1)))


def test_phones_that_lack_an_answer_are_left_out_where_they_lack_it():
    short = phone(0, 6)
    del short["delta", Phase.AFTER]
    analysis = analyse_quiz([phone(1, 3), phone(4, 4), phone(5, 2), short])
    by_name = {question.question: question for question in analysis.questions}
    assert by_name["delta"].n_phones == 3 and by_name["population"].n_phones == 4
    population = by_name["population"]  # the third: right from 3 of 6 on
    assert (population.n_gained, population.n_lost) == (2, 1)
    assert (population.n_right_before, population.n_right_after) == (2, 3)
    totals = analysis.totals
    assert (totals.n_phones, totals.n_gained, totals.n_lost) == (3, 1, 1)
    assert totals.mean_gain == pytest.approx(-1 / 3)
    with pytest.raises(ParameterError, match="phones"):
        analyse_quiz([])


def test_the_command_prints_tables_or_json_and_refuses_other_files(tmp_path, capsys):
    file = tmp_path / "quiz.csv"
    file.write_text(quiz_csv([phone(1, 4)] * 7 + [phone(3, 3)]), encoding="utf-8")
    assert main(["quiz", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "8 of 8 phones answered all six both times" in printed
    assert f"{2 / 2**7:.4f} by permutation" in printed and "Median gain: +0 to +3" in printed
    assert main(["quiz", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"]["n_gained"] == 7
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    assert main(["quiz", str(file)]) == 2
    assert "columns" in capsys.readouterr().err
    assert main(["quiz", str(tmp_path / "none.csv")]) == 1
