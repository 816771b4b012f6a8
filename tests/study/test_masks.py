"""Masks cancel in the sum of a roster, and nowhere else."""

from __future__ import annotations

import math
import secrets

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcore.study.masks import added_up, masked, public_key

NAMES = ("a", "b", "c", "d")
OWN = {name: X25519PrivateKey.generate() for name in NAMES}
KEYS = {name: public_key(own) for name, own in OWN.items()}
WHOLE = st.integers(-(2**60), 2**60)


def sent(name: str, numbers, roster=NAMES, purpose: str = "p"):
    return masked(np.array(numbers), OWN[name], name, roster, KEYS, purpose)


@settings(max_examples=20)
@given(st.lists(st.tuples(WHOLE, WHOLE, WHOLE, WHOLE), min_size=1, max_size=5), st.randoms())
def test_the_sum_is_exact_in_any_order(columns, random):
    of_sites = zip(*columns, strict=True)
    messages = [sent(name, column) for name, column in zip(NAMES, of_sites, strict=True)]
    random.shuffle(messages)
    total = [(sum(column) + 2**63) % 2**64 - 2**63 for column in columns]
    assert added_up(messages).tolist() == total


def test_fewer_than_the_roster_say_nothing(false_alarm):
    """Uniform modulo 2^64, whatever the numbers: by KS, and by a chi-square of the last byte."""
    purpose = secrets.token_hex()
    messages = [sent(name, np.zeros(20_000, np.int64), purpose=purpose) for name in NAMES]
    for missing in range(4):
        seen = added_up(messages[:missing] + messages[missing + 1 :]).view(np.uint64)
        assert stats.kstest(seen / 2.0**64, "uniform").pvalue > false_alarm
        counts = np.bincount(seen.astype(np.uint8), minlength=256)
        assert stats.chisquare(counts).pvalue > false_alarm


@pytest.mark.parametrize("change", [{"purpose": "q"}, {"roster": ("a", "b", "c")}])
def test_another_purpose_or_roster_is_another_mask(change):
    zeros = np.zeros(4, np.int64)
    assert (sent("a", zeros) != sent("a", zeros, **change)).all()


def test_a_key_that_gives_no_secret_is_refused():
    """A point of small order, with which anybody would know the mask."""
    with pytest.raises(ValueError, match="shared key"):
        masked(np.zeros(2, np.int64), OWN["a"], "a", ("a", "b"), KEYS | {"b": "00" * 32}, "p")


def test_gaussian_masks_are_those_of_cape(false_alarm):
    """Each has the variance (S - 1) sigma^2, two of them -sigma^2 together, all the sum zero."""
    size, sigma = 20_000, 1 << 20
    zeros, purpose = np.zeros(size, np.int64), secrets.token_hex()
    masks = np.array([masked(zeros, OWN[n], n, NAMES, KEYS, purpose, sigma) for n in NAMES])
    assert not masks.sum(axis=0).any()
    assert stats.kstest(masks[1] / (math.sqrt(3) * sigma), "norm").pvalue > false_alarm
    # Of a sum of two the variance is 4 sigma^2: 3 + 3 - 2.
    assert stats.kstest((masks[0] + masks[2]) / (2 * sigma), "norm").pvalue > false_alarm
