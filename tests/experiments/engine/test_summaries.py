"""Sentences agree with the rows."""

from __future__ import annotations

import pytest

from dpcore.experiments.engine.summaries import bytes_in_words, counted, percent


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.012, "1.2 %"), (0.5, "50 %"), (0.991, "99.1 %"), (1.0, "100 %")],
)
def test_shares_keep_a_digit_near_the_ends(share, words):
    assert percent(share) == words.replace(" ", "\u00a0"), "a line could break before the sign"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (9_960, "10 kB"),
        (99_700, "100 kB"),
        (313_636, "314 kB"),
        (999_700, "1.0 MB"),
        (3_136_360, "3.1 MB"),
        (2.5e15, "2500 TB"),
    ],
)
def test_bytes_keep_two_or_three_digits(count, words):
    assert bytes_in_words(count) == words


def test_counts_agree_with_their_nouns():
    assert [counted(n, "site") for n in (0, 1, 1200)] == ["0 sites", "1 site", "1,200 sites"]
