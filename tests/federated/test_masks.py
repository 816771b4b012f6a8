"""Masks cancel in the sum of a roster, and nowhere else."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import secrets
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats
from vectors import PROTOCOLS, vectors

from dpcore.federated.guard import Guard
from dpcore.federated.plan import StudyPlan
from dpcore.federated.wire_messages import (
    MOMENT,
    SUM,
    Request,
    added_up,
    masked,
    public_key,
    values_from,
)
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.project import Project

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


@pytest.fixture
def masks_sent(tmp_path, monkeypatch):
    """What the guards of a plan send where rows and noises are zero: their masks, by request."""
    names = [f"c{number}" for number in range(40)]
    columns = Dictionary(tuple(Column(name, -1, 1) for name in names))
    row = dict.fromkeys(names, np.zeros(1))
    for noise in ("noisy_sum", "noisy_second_moment"):
        monkeypatch.setattr(f"dpcore.federated.guard.{noise}", lambda exact, _: 0 * exact)

    def send(**settings) -> tuple[StudyPlan, dict[tuple[int, str], np.ndarray]]:
        plan = StudyPlan("masks", columns, NAMES, 0.1, 1e-6, 2, **settings)
        guards = [Guard(plan, n, row, Project(tmp_path / n, (9.0, 1e-3))) for n in NAMES]
        keys = dict(zip(NAMES, (guard.public_key for guard in guards), strict=True))
        sent = {}
        for attempt, round_ in ((1, SUM), (1, MOMENT), (2, SUM), (2, MOMENT)):
            centre = (0,) * 40 if round_ == MOMENT else ()
            asked = Request(plan.digest, attempt, round_, NAMES, keys, centre=centre)
            raw = [(guard.site, guard.answer(asked.json())) for guard in guards]
            values = [values_from(answer, plan, asked, site) for site, answer in raw]
            sent[attempt, round_] = np.array(values, dtype=np.int64)
        return plan, sent

    return send


@pytest.mark.parametrize("protocol", ["securesum", "cape"])
def test_no_two_rounds_of_a_site_share_a_mask(masks_sent, protocol):
    """Else whoever reads both takes one message from the other, and is left with what they hid.

    CAPE's masks of the two rounds differ in scale, so that proportional ones are shared ones.
    """
    _, sent = masks_sent(protocol=protocol)
    for masks in sent.values():
        assert not added_up(list(masks)).any() and masks.all()
    for one, other in itertools.combinations(sent.values(), 2):
        size = min(one.shape[1], other.shape[1])
        ratios = one[:, :size] / other[:, :size]
        assert (np.ptp(ratios / ratios[:, :1], axis=1) > 0.01).all()


@pytest.mark.parametrize("n_honest", [3, 4])
def test_cape_s_sites_mask_as_widely_as_its_promise_counts_on(masks_sent, false_alarm, n_honest):
    """h honest sites of S: what their friends do not know of their masks has S times the variance
    of one noise in every direction but that of the sum, where the promise puts a^2 = S b^2.

    Pairs of equal sigma give all S sites the covariance sigma^2 (S I - 1 1^T), and the h sites
    sigma^2 (h I - 1 1^T) once the masks shared with others are known. So what is sent varies by
    S / h times what has to stay hidden.
    """
    plan, sent = masks_sent(protocol="cape", honest=n_honest, fewest=4)
    scales, n_sites = plan.scales, len(NAMES)
    for round_, own in ((SUM, scales.sum_sigma), (MOMENT, scales.diagonal_sigma)):
        masks = np.hstack([sent[attempt, round_] for attempt in (1, 2)])
        across = linalg.null_space(np.ones((1, n_sites))).T @ masks
        sigma = math.sqrt(n_sites * n_sites / n_honest) * own
        assert stats.kstest(across.ravel() / sigma, "norm").pvalue > false_alarm
        law, squares = stats.chi2(across.size), ((across / sigma) ** 2).sum()
        assert 2 * min(law.cdf(squares), law.sf(squares)) > false_alarm


def test_the_vectors_that_others_write_a_site_by_are_true():
    """Keys, requests, masks, frames and results of a whole round, to the last byte.

    Components are unit vectors of a 2 x 2 matrix, and known to rounding alone.
    """
    kept = json.loads(Path(__file__).with_name("vectors.json").read_text())
    for protocol, made in vectors().items():
        there = kept[protocol]
        for name in ("components", "eigenvalues"):
            np.testing.assert_allclose(made.pop(name), there.pop(name), rtol=1e-12)
        assert json.loads(json.dumps(made)) == there
    assert kept.keys() == set(PROTOCOLS)


def test_the_vectors_need_nothing_of_this_package():
    """One message of the vectors, made anew from the page in `docs` with primitives alone."""
    kept = json.loads(Path(__file__).with_name("vectors.json").read_text())["securesum"]
    asked = json.loads(kept["rounds"][0]["request"])
    site, roster = "porto", asked["roster"]
    own = X25519PrivateKey.from_private_bytes(bytes.fromhex(kept["private keys"][site]))
    made = kept["rounds"][0]["sites"][site]
    total = [number % 2**64 for number in made["numbers"]]
    for other in roster:
        if other == site:
            continue
        peer = X25519PublicKey.from_public_bytes(bytes.fromhex(asked["keys"][other]))
        names = [name for name in roster if name in (site, other)]
        info = f"{hashlib.sha256(kept['plan'].encode()).hexdigest()} 1-sum\0" + "\0".join(names)
        key = HKDF(SHA256(), 32, None, info.encode()).derive(own.exchange(peer))
        stream = Cipher(ChaCha20(key, bytes(16)), None).encryptor().update(bytes(8 * len(total)))
        sign = 1 if names[0] == site else -1
        for place in range(len(total)):
            mask = int.from_bytes(stream[8 * place : 8 * place + 8], "little")
            total[place] = (total[place] + sign * mask) % 2**64
    numbers = b"".join(number.to_bytes(8, "little") for number in total)
    raw = bytes.fromhex(made["frame"])
    length = int.from_bytes(raw[5:9], "little")
    assert raw[:5] == b"DPST\x01" and json.loads(raw[9 : 9 + length])["site"] == site
    assert raw[9 + length : -32] == numbers
    assert raw[-32:] == hashlib.sha256(raw[:-32]).digest()
