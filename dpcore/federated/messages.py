"""Requests of the aggregator and messages of the sites, with the bounds that a reader checks.

A request is a JSON object of a few fields. A message is a mark, the length of a JSON header, the
header, numbers in little-endian order, and the SHA-256 of all of it. The plan fixes the length of
every request and message, so a reader refuses longer ones before it reads them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.federated.masks import is_public_key
from dpcore.federated.plan import SCORE_CELLS, FederatedPlan
from dpcore.release.integer_moments import MOST_ROWS
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.normal_sampler import REACH
from dpcore.release.scales import VOTE

FORM = "dp-pca-lab/federated/1"
SUM, VOTES, MOMENT, SCORES = "sum", "votes", "moment", "scores"
# Unit of the components and limits of a score plot in a request.
PLOT_UNIT = 1 << 24
MOST_ATTEMPTS = 99
_MARK = b"DPFL\x01"
_LENGTH = struct.Struct("<I")
_MOST_HEADER, _DIGEST, _LONGEST_SENTENCE = 1 << 12, 32, 300
# Directions are rounded doubles.
_ROUNDING = 1 + 1e-9


class MessageError(ValueError):
    """Violation of the plan by a request or a message, described in one sentence."""


@dataclass(frozen=True)
class Greeting:
    """Introduction of a guard to the aggregator.

    plan: Digest of the guard's plan.
    site: Name of the site.
    public_key: X25519 key of the site's masks.
    """

    plan: str
    site: str
    public_key: str

    def json(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True).encode()


def greeting_from(raw: bytes, plan: FederatedPlan) -> Greeting:
    """Return the greeting in these bytes.

    Raises `MessageError` if it is malformed, or of another plan or an unknown site.
    """
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise MessageError("a guard sent a greeting that is not JSON") from None
    if not isinstance(content, dict) or content.keys() != {
        field.name for field in fields(Greeting)
    }:
        raise MessageError("a guard sent a greeting of another form")
    if content["site"] not in plan.sites:
        raise MessageError("a guard greets for a site that the plan does not name")
    if content["plan"] != plan.digest:
        raise MessageError(f"{content['site']} has another plan")
    if not is_public_key(content["public_key"]):
        raise MessageError(f"{content['site']} sent no public key")
    return Greeting(**content)


@dataclass(frozen=True)
class Request:
    """Request of the aggregator for one message of a site.

    plan: Digest of the plan.
    attempt: Number from 1. Each attempt draws new noise and is charged.
    round: {"sum", "votes", "moment", "scores"}
    roster: Sites of this attempt, among which the masks cancel.
    public_keys: Public keys of the roster.
    centre: Integers on the grid for a moment of rows and for scores, empty otherwise.
    n_rows: Noisy number of rows at the roster for the votes; 0 otherwise.
    of_differences: Whether the moment is that of differences of pairs of rows.
    plot: Two components and both limits of a score plot, in units of 1 / PLOT_UNIT; else empty.
    """

    plan: str
    attempt: int
    round: str
    roster: tuple[str, ...]
    public_keys: Mapping[str, str]
    centre: tuple[int, ...] = ()
    n_rows: int = 0
    of_differences: bool = False
    plot: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """Return the name of the answer, the same for every site."""
        return f"{self.attempt}-{self.round}"

    def json(self) -> bytes:
        content = asdict(self) | {"form": FORM}
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def request_from(raw: bytes, plan: FederatedPlan) -> Request:
    """Return the request in these bytes.

    Raises `MessageError` if the plan does not allow it.
    """
    if len(raw) > longest_request(plan):
        raise MessageError(f"a request of {len(raw):,} bytes, more than this plan needs")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise MessageError("a request that is not JSON") from None
    allowed = {"form"} | {field.name for field in fields(Request)}
    if not isinstance(content, dict) or content.keys() != allowed or content.pop("form") != FORM:
        raise MessageError(f"a request that is not of the form {FORM}")
    if content["plan"] != plan.digest:
        raise MessageError("a request of another plan")
    if content["round"] not in rounds_of(plan):
        raise MessageError("a request for a round that the protocol does not have")
    if type(content["attempt"]) is not int or not 1 <= content["attempt"] <= MOST_ATTEMPTS:
        raise MessageError(f"an attempt that is not an integer from 1 to {MOST_ATTEMPTS}")
    roster, keys, centre = content["roster"], content["public_keys"], content["centre"]
    _check_roster(roster, keys, plan)
    of_differences, is_moment = content["of_differences"], content["round"] == MOMENT
    is_allowed = not of_differences or (is_moment and plan.has_votes)
    if type(of_differences) is not bool or not is_allowed:
        raise MessageError("differences that this round or plan does not have")
    is_scores = content["round"] == SCORES
    has_centre = is_scores or (is_moment and not of_differences)
    _check_centre(centre, plan.n_features if has_centre else 0)
    _check_plot(content["plot"], 2 * plan.n_features + 2 if is_scores else 0)
    _check_number_of_rows(content["n_rows"], plan, is_needed=content["round"] == VOTES)
    return Request(
        **content
        | {"roster": tuple(roster), "centre": tuple(centre), "plot": tuple(content["plot"])}
    )


def rounds_of(plan: FederatedPlan) -> tuple[str, ...]:
    """Return the rounds of an attempt, in order; the votes may be left out."""
    scores = (SCORES,) if plan.scores_share else ()
    return (SUM, VOTES, MOMENT, *scores) if plan.has_votes else (SUM, MOMENT, *scores)


def edges_of(limits: AnyArray) -> AnyArray:
    """Return the edges of the cells of a score plot, shape (2, SCORE_CELLS + 1)."""
    return np.array([np.linspace(-limit, limit, SCORE_CELLS + 1) for limit in limits])


def _check_plot(plot: Any, length: int) -> None:
    is_right = isinstance(plot, list) and len(plot) == length
    if not is_right or not all(type(limit) is int and abs(limit) <= PLOT_UNIT for limit in plot):
        raise MessageError(f"a score plot that is not {length} integers up to {PLOT_UNIT}")
    if plot and min(plot[-2:]) < 1:
        raise MessageError("a score plot whose limits are not above 0")


def _check_number_of_rows(n_rows: Any, plan: FederatedPlan, *, is_needed: bool) -> None:
    least, most = (1, len(plan.sites) * MOST_ROWS) if is_needed else (0, 0)
    if type(n_rows) is not int or not least <= n_rows <= most:
        raise MessageError(f"a number of rows that is not an integer from {least} to {most}")


def longest_request(plan: FederatedPlan) -> int:
    """Return the largest number of bytes of a request."""
    numbers = plan.n_features + (2 * plan.n_features + 2 if plan.scores_share else 0)
    return 1024 + 200 * len(plan.sites) + 10 * numbers


def _check_roster(roster: Any, keys: Any, plan: FederatedPlan) -> None:
    if not isinstance(roster, list) or not all(isinstance(site, str) for site in roster):
        raise MessageError("a roster that is not a list of names")
    if [site for site in plan.sites if site in roster] != roster:
        raise MessageError("a roster of other sites, or in another order, than the plan's")
    if len(roster) < int(plan.fewest or 0):
        raise MessageError(f"a roster of {len(roster)} sites, fewer than fewest={plan.fewest}")
    if not isinstance(keys, dict) or keys.keys() != set(roster):
        raise MessageError("public keys of other sites than the roster's")
    if not all(is_public_key(key) for key in keys.values()):
        raise MessageError("a public key that is not 64 hexadecimal digits")


def _check_centre(centre: Any, length: int) -> None:
    is_right = isinstance(centre, list) and len(centre) == length
    if not is_right or not all(type(entry) is int and abs(entry) <= GRID for entry in centre):
        raise MessageError(f"a centre that is not {length} integers on the grid")


def shape_of(plan: FederatedPlan, round_: str) -> tuple[tuple[int, ...], str]:
    """Return the shape and data type of a message.

    The sum ends with the weighted count. Votes and counts are in units of 1 / VOTE. The moment is
    its upper triangle, row by row, or R directions where messages are cut.
    """
    d = plan.n_features
    if round_ == SUM:
        return (d + 1,), "<i8"
    if round_ == VOTES:
        return (4,), "<i8"
    if round_ == SCORES:
        return (SCORE_CELLS**2,), "<i8"
    if plan.is_cut:
        return (d, int(plan.intermediate_dim or 0)), "<f8"
    return (d * (d + 1) // 2,), "<i8"


def longest_message(plan: FederatedPlan, round_: str) -> int:
    """Return the largest number of bytes of a message of this round."""
    shape, _ = shape_of(plan, round_)
    return len(_MARK) + _LENGTH.size + _MOST_HEADER + int(np.prod(shape)) * 8 + _DIGEST


def noise_reach(plan: FederatedPlan, round_: str) -> float:
    """Return the largest magnitude that the noise on one number of a site can have."""
    scales = plan.scales
    # Moments of differences have twice the noise.
    moment_sigma = scales.diagonal_sigma * (2 if plan.has_votes else 1)
    sigma = {
        SUM: scales.sum_sigma,
        VOTES: scales.vote_sigma,
        MOMENT: moment_sigma,
        SCORES: plan.score_sigma,
    }
    return float(REACH) * sigma[round_] + 1


def most_possible(plan: FederatedPlan, round_: str) -> AnyArray:
    """Return the largest magnitude of a site's numbers before masks, per number or for all.

    The bound assumes the largest number of rows, each of the largest norm, and the largest noise.
    An eigenvalue of a noisy moment is at most the number of rows plus D times the largest noise.
    """
    scales, noise, d = plan.scales, noise_reach(plan, round_), plan.n_features
    if round_ == SUM:
        return np.array([MOST_ROWS * unit + noise for unit in [GRID] * d + [scales.count_weight]])
    if round_ in (VOTES, SCORES):
        return np.array(MOST_ROWS * VOTE + noise)
    if plan.is_cut:
        return np.array(_ROUNDING * math.sqrt(MOST_ROWS + d * noise / LENGTH**2))
    return np.array(MOST_ROWS * LENGTH**2 + noise)


def _is_possible(values: AnyArray, plan: FederatedPlan, round_: str) -> bool:
    """Return whether rows and noise can give these numbers. NaN exceeds every bound."""
    return bool((np.abs(values.astype(float)) <= most_possible(plan, round_)).all())


def _header(plan: FederatedPlan, request: Request, site: str) -> dict[str, Any]:
    shape, dtype = shape_of(plan, request.round)
    return {
        "form": FORM,
        "plan": plan.digest,
        "request": request.id,
        "site": site,
        "shape": list(shape),
        "dtype": dtype,
    }


def message_of(plan: FederatedPlan, request: Request, site: str, values: AnyArray) -> bytes:
    """Return the message with a site's numbers."""
    _, dtype = shape_of(plan, request.round)
    header = json.dumps(_header(plan, request, site), sort_keys=True).encode()
    numbers = np.ascontiguousarray(values, dtype).tobytes()
    body = _MARK + _LENGTH.pack(len(header)) + header + numbers
    return body + sha256(body).digest()


def values_from(raw: bytes, plan: FederatedPlan, request: Request, site: str) -> AnyArray:
    """Return the numbers in a message.

    Raises `MessageError` with the site and the reason if the message does not answer the request.
    """
    shape, dtype = shape_of(plan, request.round)
    start = len(_MARK) + _LENGTH.size
    if len(raw) > longest_message(plan, request.round) or raw[: len(_MARK)] != _MARK:
        raise MessageError(f"{site} sent a message of another form")
    if len(raw) < start + _DIGEST or sha256(raw[:-_DIGEST]).digest() != raw[-_DIGEST:]:
        raise MessageError(f"{site} sent a damaged message")
    (length,) = _LENGTH.unpack_from(raw, len(_MARK))
    body = raw[start + length : -_DIGEST]
    try:
        header = json.loads(raw[start : start + min(length, _MOST_HEADER)])
    except (ValueError, RecursionError):
        raise MessageError(f"{site} sent a header that is not JSON") from None
    expected = _header(plan, request, site)
    if not isinstance(header, dict) or header.keys() != expected.keys():
        raise MessageError(f"{site} sent a header with other fields")
    for name, value in expected.items():
        if header[name] != value:
            raise MessageError(f"{site} sent another {name} than requested")
    if len(body) != int(np.prod(shape)) * 8:
        raise MessageError(f"{site} sent {len(body):,} bytes of numbers for the shape {shape}")
    values = np.frombuffer(body, dtype).reshape(shape)
    if not plan.is_masked and not _is_possible(values, plan, request.round):
        raise MessageError(f"{site} sent numbers that are not finite or that no rows add up to")
    return values


def sentence_of(error: Exception) -> str:
    """Return an error as one line of bounded length, to be sent or logged."""
    return " ".join(str(error)[:_LONGEST_SENTENCE].split())
