"""Messages of a study: frames with their bounds, and masks that cancel in the sum.

Each site has an X25519 key. A pair's shared secret and the name of what is masked give, by
HKDF-SHA256, the key of a ChaCha20 stream of numbers modulo 2^64, which the site that comes first in
the roster adds and the other takes off. To whoever lacks one of a site's keys with somebody honest,
its message is uniform.

What goes over the wire: requests of a hub, and what a site sends back, each with its bounds.

A request is a JSON object of a few fields. What a site sends is a frame: a mark, the length of a
JSON header, the header, whole or real numbers in little-endian order, and the SHA-256 of all of it.
Whoever reads one knows from the plan how long it has to be, and reads no further.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcore.arrays import AnyArray, IntArray
from dpcore.errors import ParameterError
from dpcore.federated.plan import FORM, StudyPlan
from dpcore.release.integer_moments import MOST_ROWS
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.normal_sampler import REACH, rounded_normal

# Masks that each pair of sites agrees on and that cancel in the sum (Bonawitz and others 2017).


def public_key(own: X25519PrivateKey) -> str:
    """The public half, as it is written in a request."""
    return own.public_key().public_bytes_raw().hex()


def masked(
    numbers: IntArray,
    own: X25519PrivateKey,
    site: str,
    roster: Sequence[str],
    keys: Mapping[str, str],
    purpose: str,
    sigma: int | None = None,
) -> IntArray:
    """Numbers modulo 2^64 under the masks that a site shares with every other of a roster.

    Without a sigma a mask is uniform. With one it is a rounded Gaussian, as CAPE has it: what S
    sites share in pairs has the variance (S - 1) sigma^2 at each and sums to zero.

    numbers: ndarray of int64
    site: Whose key that is; in the roster.
    keys: Public keys of the roster.
    purpose: What is masked: of one purpose a pair has one mask, so it must never serve two
        messages.
    Raises `ValueError` if a public key is one that nothing secret can be agreed on with.
    """
    total: AnyArray = numbers.astype(np.int64).view(np.uint64).copy()
    place = list(roster).index(site)
    for other_place, other in enumerate(roster):
        if other_place == place:
            continue
        names = sorted((site, other), key=list(roster).index)
        info = "\0".join((purpose, *names)).encode()
        stream = _Stream(_agreed(own, keys[other], info))
        if sigma is None:
            mask = np.frombuffer(stream(8 * total.size), dtype="<u8").astype(np.uint64)
        else:
            mask = rounded_normal(total.size, sigma, entropy=stream).view(np.uint64)
        mask = mask.reshape(total.shape)
        total = total + mask if place < other_place else total - mask
    signed: IntArray = total.view(np.int64)
    return signed


def added_up(messages: Sequence[IntArray]) -> IntArray:
    """The sum modulo 2^64, between -2^63 and 2^63."""
    total = np.zeros(messages[0].shape, dtype=np.uint64)
    for message in messages:
        total += np.ascontiguousarray(message, np.int64).view(np.uint64)
    signed: IntArray = total.view(np.int64)
    return signed


def _agreed(own: X25519PrivateKey, other: str, info: bytes) -> bytes:
    secret = own.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(other)))
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)


class _Stream:
    """The bytes of a ChaCha20 stream, from its beginning on."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()

    def __call__(self, n_bytes: int) -> bytes:
        return self._encryptor.update(bytes(n_bytes))


# What goes over the wire: requests of a hub, and what a site sends back, each with its bounds.

MARK = b"DPST\x01"
SUM, MOMENT = "sum", "moment"
ROUNDS = (SUM, MOMENT)
MOST_ATTEMPTS = 99
_LENGTH = struct.Struct("<I")
_MOST_HEADER, _DIGEST, _KEY = 1 << 12, 32, 64
# Directions travel as rounded doubles.
_ROUNDING = 1 + 1e-9


class FrameError(ValueError):
    """Bytes or a request that are not what the study allows, in one sentence."""


@dataclass(frozen=True)
class Request:
    """What a hub asks of a site.

    study: Digest of the plan.
    attempt: From 1. A new one is drawn and charged anew.
    round: {"sum", "moment"}
    roster: Sites that take part in this attempt; masks cancel among them.
    keys: Public keys of the roster, 64 hexadecimal digits each.
    centre: On the grid, for the moment; empty for the sum.
    handed: What the site before this one in a chain has sent, as hexadecimal digits of the numbers
        in a frame; empty for the first, and where there is no chain.
    links: How many sites that is made of.
    """

    study: str
    attempt: int
    round: str
    roster: tuple[str, ...]
    keys: Mapping[str, str]
    centre: tuple[int, ...] = ()
    handed: str = ""
    links: int = 0

    @property
    def id(self) -> str:
        """Names the answer: the same for everybody who is asked the same."""
        return f"{self.attempt}-{self.round}"

    def json(self) -> bytes:
        content = asdict(self) | {"form": FORM}
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def request_from(raw: bytes, plan: StudyPlan) -> Request:
    """The request in these bytes, if the plan allows it.

    Raises `FrameError` naming what it does not allow.
    """
    if len(raw) > longest_request(plan):
        raise FrameError(f"a request of {len(raw):,} bytes, more than this study needs")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise FrameError("a request that is no JSON") from None
    known = {"form"} | {each.name for each in fields(Request)}
    if not isinstance(content, dict) or content.keys() != known or content.pop("form") != FORM:
        raise FrameError(f"a request that is not of the form {FORM}")
    if content["study"] != plan.digest:
        raise FrameError("a request of another study, or of another version of its plan")
    if content["round"] not in ROUNDS:
        raise FrameError("a request for a round that the protocol has not")
    if type(content["attempt"]) is not int or not 1 <= content["attempt"] <= MOST_ATTEMPTS:
        raise FrameError(f"an attempt that is not a whole number from 1 to {MOST_ATTEMPTS}")
    roster, keys, centre = content["roster"], content["keys"], content["centre"]
    _check_roster(roster, keys, plan)
    _check_centre(centre, plan.n_features if content["round"] == MOMENT else 0)
    _check_handed(content, plan)
    return Request(**content | {"roster": tuple(roster), "centre": tuple(centre)})


def longest_request(plan: StudyPlan) -> int:
    """The most bytes that a request may have."""
    return 1024 + 200 * len(plan.sites) + 10 * plan.n_features + 2 * _size_handed(plan)


def _check_roster(roster: Any, keys: Any, plan: StudyPlan) -> None:
    if not isinstance(roster, list) or not all(isinstance(site, str) for site in roster):
        raise FrameError("a roster that is no list of names")
    if [site for site in plan.sites if site in roster] != roster:
        raise FrameError("a roster of other sites, or in another order, than the plan's")
    if len(roster) < int(plan.fewest or 0):
        raise FrameError(f"a roster of {len(roster)} sites, fewer than the {plan.fewest} agreed on")
    if not isinstance(keys, dict) or keys.keys() != set(roster):
        raise FrameError("public keys of others than the roster")
    if not all(is_key(key) for key in keys.values()):
        raise FrameError(f"a public key that is not {_KEY} hexadecimal digits")


def is_key(text: Any) -> bool:
    """Whether this is a public key as it is written."""
    return isinstance(text, str) and len(text) == _KEY and set(text) <= set("0123456789abcdef")


def is_request_id(text: str) -> bool:
    """Whether a request could be called this."""
    attempt, _, round_ = text.partition("-")
    return attempt.isascii() and attempt.isdigit() and len(attempt) <= 2 and round_ in ROUNDS


def _check_centre(centre: Any, length: int) -> None:
    is_right = isinstance(centre, list) and len(centre) == length
    if not is_right or not all(type(each) is int and abs(each) <= GRID for each in centre):
        raise FrameError(f"a centre that is not {length} whole numbers on the grid")


def _check_handed(content: dict[str, Any], plan: StudyPlan) -> None:
    handed, links = content["handed"], content["links"]
    may_be = plan.is_chain and content["round"] == MOMENT
    if type(links) is not int or not 0 <= links < (len(plan.sites) if may_be else 1):
        raise FrameError("a chain of as many links as there are none before this site")
    if not isinstance(handed, str) or len(handed) != (2 * _size_handed(plan) if links else 0):
        raise FrameError("something handed on that is not of this study's size")
    if links:
        handed_on(handed, plan)


def handed_on(handed: str, plan: StudyPlan) -> AnyArray:
    """The numbers that a request hands on.

    Raises `FrameError` if they are none.
    """
    shape, dtype = shape_of(plan, MOMENT)
    try:
        values = np.frombuffer(bytes.fromhex(handed), dtype).reshape(shape)
    except ValueError:
        raise FrameError("something handed on that is no hexadecimal digits") from None
    if not _is_possible(values, plan, MOMENT):
        raise FrameError("something handed on that is not finite, or beyond what rows add up to")
    return values


def _size_handed(plan: StudyPlan) -> int:
    return int(np.prod(shape_of(plan, MOMENT)[0])) * 8 if plan.is_chain else 0


def shape_of(plan: StudyPlan, round_: str) -> tuple[tuple[int, ...], str]:
    """Shape and data type of what a site sends: whole numbers; directions where messages are cut.

    The sum has the weighted count last; the moment is its upper triangle, row by row.
    """
    d = plan.n_features
    if round_ == SUM:
        return (d + 1,), "<i8"
    if plan.is_cut:
        return (d, int(plan.intermediate_dim or 0)), "<f8"
    return (d * (d + 1) // 2,), "<i8"


def frame_length(plan: StudyPlan, round_: str) -> int:
    """The most bytes that a frame of this round may have."""
    shape, _ = shape_of(plan, round_)
    return len(MARK) + _LENGTH.size + _MOST_HEADER + int(np.prod(shape)) * 8 + _DIGEST


def noise_reach(plan: StudyPlan, round_: str) -> float:
    """What the noise on any of a site's numbers never exceeds."""
    scales = plan.scales
    sigma = scales.sum_sigma if round_ == SUM else scales.diagonal_sigma
    return float(REACH) * sigma + 1


def most_possible(plan: StudyPlan, round_: str) -> AnyArray:
    """The largest magnitude of a site's numbers before masks, each or all: as many rows as there
    may be, each as long as it may be, and the noise at its end.

    An eigenvalue of a noisy moment is at most that of the moment, which is at most the number of
    rows of length 1, and D times the largest entry of the noise.
    """
    scales, noise, d = plan.scales, noise_reach(plan, round_), plan.n_features
    if round_ == SUM:
        return np.array([MOST_ROWS * each + noise for each in [GRID] * d + [scales.count_weight]])
    if plan.is_cut:
        return np.array(_ROUNDING * math.sqrt(MOST_ROWS + d * noise / LENGTH**2))
    return np.array(MOST_ROWS * LENGTH**2 + noise)


def _is_possible(values: AnyArray, plan: StudyPlan, round_: str) -> bool:
    """Whether rows with noise can give these numbers; NaN is beyond every bound."""
    return bool((np.abs(values.astype(float)) <= most_possible(plan, round_)).all())


def _header(plan: StudyPlan, request: Request, site: str) -> dict[str, Any]:
    shape, dtype = shape_of(plan, request.round)
    return {"form": FORM, "study": plan.digest, "request": request.id, "site": site,
            "shape": list(shape), "dtype": dtype}  # fmt: skip


def frame(plan: StudyPlan, request: Request, site: str, values: AnyArray) -> bytes:
    """What a site sends in answer to a request."""
    _, dtype = shape_of(plan, request.round)
    header = json.dumps(_header(plan, request, site), sort_keys=True).encode()
    body = MARK + _LENGTH.pack(len(header)) + header + np.ascontiguousarray(values, dtype).tobytes()
    return body + sha256(body).digest()


def values_from(raw: bytes, plan: StudyPlan, request: Request, site: str) -> AnyArray:
    """The numbers in a frame, if it is the one that was asked for.

    Raises `FrameError` naming the site and what is wrong.
    """
    shape, dtype = shape_of(plan, request.round)
    start = len(MARK) + _LENGTH.size
    if len(raw) > frame_length(plan, request.round) or raw[: len(MARK)] != MARK:
        raise FrameError(f"{site} sent no frame of this version")
    if len(raw) < start + _DIGEST or sha256(raw[:-_DIGEST]).digest() != raw[-_DIGEST:]:
        raise FrameError(f"{site} sent a frame that was damaged on the way")
    (length,) = _LENGTH.unpack_from(raw, len(MARK))
    body = raw[start + length : -_DIGEST]
    try:
        header = json.loads(raw[start : start + min(length, _MOST_HEADER)])
    except (ValueError, RecursionError):
        raise FrameError(f"{site} sent a frame whose header is no JSON") from None
    expected = _header(plan, request, site)
    if not isinstance(header, dict) or header.keys() != expected.keys():
        raise FrameError(f"{site} sent a frame with other fields than this version has")
    for name, right in expected.items():
        if header[name] != right:
            raise FrameError(f"{site} sent a frame whose {name} is not what was asked for")
    if len(body) != int(np.prod(shape)) * 8:
        raise FrameError(f"{site} sent {len(body):,} bytes of numbers for a shape of {shape}")
    values = np.frombuffer(body, dtype).reshape(shape)
    if not plan.is_masked and not _is_possible(values, plan, request.round):
        raise FrameError(f"{site} sent numbers that are not finite, or beyond what rows add up to")
    return values


def refusal(error: ParameterError | FrameError | Exception) -> str:
    """A refusal as it travels: one sentence of bounded length."""
    return str(error)[:300]
