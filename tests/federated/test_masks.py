"""Masks cancel in the sum over a roster, and in no other sum."""

from __future__ import annotations

import itertools
import secrets

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcore.federated.guard import Guard
from dpcore.federated.masks import add_masks, public_key_of, sum_of_masked
from dpcore.federated.messages import MOMENT, SUM, Request, values_from
from dpcore.federated.plan import FederatedPlan
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.project import Project

NAMES = ("a", "b", "c", "d")
PRIVATE_KEYS = {name: X25519PrivateKey.generate() for name in NAMES}
KEYS = {name: public_key_of(private_key) for name, private_key in PRIVATE_KEYS.items()}
WHOLE = st.integers(-(2**60), 2**60)


def sent(name: str, numbers, roster=NAMES, purpose: str = "p"):
    return add_masks(np.array(numbers), PRIVATE_KEYS[name], name, KEYS, roster, purpose)


@settings(max_examples=20)
@given(st.lists(st.tuples(WHOLE, WHOLE, WHOLE, WHOLE), min_size=1, max_size=5), st.randoms())
def test_the_sum_is_exact_in_any_order(columns, random):
    of_sites = zip(*columns, strict=True)
    messages = [sent(name, column) for name, column in zip(NAMES, of_sites, strict=True)]
    random.shuffle(messages)
    total = [(sum(column) + 2**63) % 2**64 - 2**63 for column in columns]
    assert sum_of_masked(messages).tolist() == total


def test_the_sum_over_fewer_sites_is_uniform(false_alarm):
    """Check uniformity by a KS test, and by a chi-square test of the last byte."""
    purpose = secrets.token_hex()
    messages = [sent(name, np.zeros(20_000, np.int64), purpose=purpose) for name in NAMES]
    for missing in range(4):
        seen = sum_of_masked(messages[:missing] + messages[missing + 1 :]).view(np.uint64)
        assert stats.kstest(seen / 2.0**64, "uniform").pvalue > false_alarm
        counts = np.bincount(seen.astype(np.uint8), minlength=256)
        assert stats.chisquare(counts).pvalue > false_alarm


@pytest.mark.parametrize("change", [{"purpose": "q"}, {"roster": ("a", "b", "c")}])
def test_another_purpose_or_roster_is_another_mask(change):
    zeros = np.zeros(4, np.int64)
    assert (sent("a", zeros) != sent("a", zeros, **change)).all()


def test_a_key_that_gives_no_secret_is_refused():
    """The shared secret of a point of small order is public."""
    with pytest.raises(ValueError, match="shared key"):
        add_masks(
            np.zeros(2, np.int64), PRIVATE_KEYS["a"], "a", KEYS | {"b": "00" * 32}, ("a", "b"), "p"
        )


@pytest.fixture
def masks_sent(tmp_path, monkeypatch):
    """Return the messages of guards whose rows and noises are zero, by request."""
    names = [f"c{number}" for number in range(40)]
    columns = Dictionary(tuple(Column(name, -1, 1) for name in names))
    row = dict.fromkeys(names, np.zeros(1))
    for noise in ("noisy_sum", "noisy_second_moment"):
        monkeypatch.setattr(f"dpcore.federated.guard.{noise}", lambda exact, _: 0 * exact)

    def send() -> dict[tuple[int, str], np.ndarray]:
        plan = FederatedPlan("masks", columns, NAMES, 0.1, 1e-6, 2)
        guards = [Guard(plan, n, row, Project(tmp_path / n, (9.0, 1e-3))) for n in NAMES]
        keys = dict(zip(NAMES, (guard.greeting.public_key for guard in guards), strict=True))
        sent = {}
        for attempt, round_ in ((1, SUM), (1, MOMENT), (2, SUM), (2, MOMENT)):
            centre = (0,) * 40 if round_ == MOMENT else ()
            asked = Request(plan.digest, attempt, round_, NAMES, keys, centre=centre)
            raw = [(guard.site, guard.answer(asked.json())) for guard in guards]
            values = [values_from(answer, plan, asked, site) for site, answer in raw]
            sent[attempt, round_] = np.array(values, dtype=np.int64)
        return sent

    return send


def test_no_two_rounds_of_a_site_share_a_mask(masks_sent):
    """The difference of two messages with the same mask is a difference of noisy data."""
    sent = masks_sent()
    for masks in sent.values():
        assert not sum_of_masked(list(masks)).any() and masks.all()
    for one, other in itertools.combinations(sent.values(), 2):
        size = min(one.shape[1], other.shape[1])
        assert (one[:, :size] != other[:, :size]).all()
