"""Unseeded noise: a cryptographic stream with the distributions that mechanisms need."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from dpcore import streams
from dpcore.cca import PrivateCCA
from dpcore.classification import PrivateLogisticRegression, PrivateSVM
from dpcore.pca import AnalyzeGaussPCA, DistributedPCA, ExponentialPCA, ModSulqPCA, SulqPCA
from dpcore.statistics import private_mean
from dpcore.streams import (
    Purpose,
    Repetition,
    SecretRoot,
    SecretStream,
    root_of_release,
    secret_root,
    stream,
)

N = 20_000
LAWS = {
    "random": (lambda rng: rng.random(N), stats.uniform()),
    "uniform": (lambda rng: rng.uniform(-1, 1, N), stats.uniform(-1, 2)),
    "standard_normal": (lambda rng: rng.standard_normal(N), stats.norm()),
    "float32": (lambda rng: rng.standard_normal(N, dtype=np.float32), stats.norm()),
    "normal": (lambda rng: rng.normal(2, 3, N), stats.norm(2, 3)),
    "laplace": (lambda rng: rng.laplace(2, 3, N), stats.laplace(2, 3)),
    "gamma 1": (lambda rng: rng.standard_gamma(1, N), stats.gamma(1)),
    "gamma 785": (lambda rng: rng.standard_gamma(785, N), stats.gamma(785)),
    **{
        f"vonmises {kappa}": (
            lambda rng, kappa=kappa: rng.vonmises(np.zeros(N), kappa), stats.vonmises(kappa)
        )
        for kappa in (1e-20, 1e-6, 0.1, 1.0, 30.0)
    },
    "vonmises 1e8": (
        lambda rng: 1e4 * rng.vonmises(np.zeros(N), 1e8), stats.norm()
    ),
}  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
def test_draws_follow_their_law(law, false_alarm):
    draw, expected = LAWS[law]
    draws = np.asarray(draw(SecretStream(secret_root())), dtype=float)
    assert draws.shape == (N,)
    assert stats.kstest(draws, expected.cdf).pvalue > false_alarm
    # Nor does one draw tell the next.
    ranks = stats.rankdata(draws)
    assert stats.pearsonr(ranks[1:], ranks[:-1]).pvalue > false_alarm


def test_whole_numbers_permutations_and_bits_are_uniform(false_alarm):
    rng = SecretStream(secret_root())
    counts = np.bincount(rng.integers(7, size=N), minlength=7)
    assert counts.size == 7 and stats.chisquare(counts).pvalue > false_alarm
    assert 0 <= rng.integers(1 << 64) < 1 << 64 and rng.integers(1) == 0
    orders = [tuple(rng.permutation(3)) for _ in range(3000)]
    assert stats.chisquare(np.unique(orders, axis=0, return_counts=True)[1]).pvalue > false_alarm
    words = rng.words(N)
    for bit in range(64):
        ones = int(((words >> np.uint64(bit)) & np.uint64(1)).sum())
        assert stats.binomtest(ones, N).pvalue > false_alarm / 64


def test_words_are_shake_of_key_identity_and_counter():
    """An independent implementation gives the same words, in portions of any size."""
    from hashlib import shake_256

    rng = SecretStream(SecretRoot(5), (3, 1))
    words = np.concatenate([rng.words(n) for n in (0, 1, 8191, 3, 9000)])
    start = b"dpcore secret stream\0" + (5).to_bytes(32, "little") + b"3,1\0"
    blocks = [shake_256(start + n.to_bytes(16, "little")).digest(1 << 16) for n in range(3)]
    np.testing.assert_array_equal(words, np.frombuffer(b"".join(blocks), "<u8")[: len(words)])


def test_one_identity_gives_the_same_numbers_and_no_other_does():
    root = secret_root()
    identities = [(p, *rest) for p in Purpose for rest in ((), (0,), (1,), (0, 1), (1, 0), (10,))]
    first = [stream(root, *identity).words(2).tobytes() for identity in identities]
    assert len(set(first)) == len(first)
    assert first == [stream(root, *identity).words(2).tobytes() for identity in identities]
    assert stream(secret_root(), *identities[0]).words(2).tobytes() not in first
    again = Repetition(root).rng(Purpose.SITE_NOISE, 3).standard_normal(5)
    np.testing.assert_array_equal(
        Repetition(root).rng(Purpose.SITE_NOISE, 3).standard_normal(5), again
    )


def test_a_root_of_a_secret_root_is_secret_and_of_a_seed_what_it_was():
    assert isinstance(root_of_release(secret_root(), "mean"), SecretRoot)
    assert root_of_release(SecretRoot(5), "mean") == root_of_release(5, "mean")
    assert type(root_of_release(5, "mean")) is int
    assert isinstance(stream(5, Purpose.MASK), np.random.Generator)
    assert isinstance(stream(SecretRoot(5), Purpose.MASK), SecretStream)


def test_neither_root_nor_stream_is_printed_or_saved():
    root = SecretRoot(123456789)
    assert "123456789" not in f"{root} {root!r} {Repetition(root)} {SecretStream(root)!r}"
    with pytest.raises(TypeError, match="cannot be saved"):
        pickle.dumps(SecretStream(root))


ESTIMATORS = [
    AnalyzeGaussPCA(2), SulqPCA(2), ModSulqPCA(2), ExponentialPCA(2), ExponentialPCA(1),
    PrivateLogisticRegression(), PrivateSVM(method="objective"),
    *(DistributedPCA(2, protocol=name) for name in (
        "dpdis", "full", "local", "pooled", "cape", "securesum", "sequential", "wishart")),
    AnalyzeGaussPCA(2, preparation="bounded"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_without_a_seed_no_noise_comes_from_a_generator_that_can_be_worked_out(
    estimator, monkeypatch
):
    """Bouillaguet, Martinez and Sauvage (2020) compute PCG64's state from 64 of its outputs."""
    drawn = []
    words = SecretStream.words

    def watched(self, count):
        drawn.append(count)
        return words(self, count)

    def refused(*_):
        raise AssertionError("a stream of PCG64")

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)) / 5, np.arange(300) % 2
    named = {"sites": np.arange(300) % 3} if isinstance(estimator, DistributedPCA) else {}
    # Dither and the order of pairs are public.
    monkeypatch.setattr("dpcore.pca.messages._dither", lambda n, key: np.full(n, 0.5))
    monkeypatch.setattr("dpcore.spectra.pairs._public_order", np.arange)
    monkeypatch.setattr(np.random, "default_rng", refused)
    monkeypatch.setattr(SecretStream, "words", watched)
    monkeypatch.setattr(streams.np.random, "SeedSequence", refused)
    first, second = (clone(estimator).fit(X, y, **named) for _ in range(2))
    assert sum(drawn) >= 12
    for name in ("components_", "coef_"):
        if hasattr(first, name):
            assert not np.allclose(getattr(first, name), getattr(second, name))


def test_cca_without_a_seed_draws_from_a_secret_stream(monkeypatch):
    made = []
    root = streams.secret_root
    monkeypatch.setattr(
        "dpcore.pca.estimators.private_estimator.secret_root", lambda: made.append(1) or root()
    )
    rng = np.random.default_rng(0)
    PrivateCCA(1).fit(rng.normal(size=(300, 3)), rng.normal(size=(300, 3)))
    assert made


def test_a_statistic_takes_a_secret_stream():
    asked = dict(bounds=(0, 1), epsilon=1.0)
    for mechanism, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
        rng = SecretStream(secret_root())
        values = [
            private_mean(np.ones((9, 2)), **asked, mechanism=mechanism, delta=delta, rng=rng).value
            for _ in range(2)
        ]
        assert not np.equal(*values).any()
