"""The guard of a site: the only process with access to its rows, and the owner of its ledger.

A request contains numbers and names, never code. The guard checks it against its own plan, charges
the ledger, draws exact noise, stores the answer and returns it. A repeated request returns the same
bytes without a new charge.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dpcore.arrays import AnyArray, IntArray
from dpcore.errors import ParameterError
from dpcore.federated.masks import add_masks, is_public_key, public_key_of
from dpcore.federated.messages import (
    PLOT_UNIT,
    SCORES,
    SUM,
    VOTES,
    Greeting,
    MessageError,
    Request,
    edges_of,
    message_of,
    request_from,
    rounds_of,
    sentence_of,
)
from dpcore.federated.plan import SCORE_CELLS, AttemptCost, FederatedPlan
from dpcore.pca.assessment import choose_bases
from dpcore.pca.site import NoisySite
from dpcore.privacy import BeyondCap
from dpcore.release.encoding import Reading, grid_blocks
from dpcore.release.exact_pairs import count_votes, moment_of_differences, read_ring
from dpcore.release.integer_moments import noisy_second_moment, noisy_sum
from dpcore.release.integer_rows import GRID, LENGTH
from dpcore.release.measurement import moment_around, sum_and_count, vote_rule_of
from dpcore.release.project import Project, sync_folder
from dpcore.release.scales import VOTE
from dpcore.release.score_counts import count_scores, shortest_of
from dpcore.release.tables import Table
from dpcore.spectra import Spectrum

_MESSAGE, _REQUEST, _LOG = "message.bin", "request.json", "requests.log"
_KEY, _PLAN = "key.bin", "plan.json"
_LONGEST_LOG = 1 << 24
# Blocks of rows are smaller than those of a release, because a site runs other programs too.
_BLOCK_DIVISOR = 4


class RequestRefused(Exception):
    """Refusal of a request, in one sentence that contains nothing computed from rows."""


class AttemptConflict(RequestRefused):
    """Refusal because the attempt was answered for another roster or centre.

    The aggregator can continue with a new attempt, which is charged.
    """


class Guard:
    """Guard of one site in one federated analysis.

    Guarantee: one attempt is (epsilon, delta)-differentially private for every person of this site
    against each adversary of the plan, under adversarial requests. All attempts and other releases
    of the project together keep the project's cap. Only messages and refusals leave the guard.
    Refusals depend on the request and the ledger; other errors are written to the log only.

    Parameters
    ----------
    plan : FederatedPlan
    site : str
    data : path, mapping, DataFrame or ndarray
        The site's rows, as for `Table`.
    project : Project
        Ledger of all releases about these people.
    peers : mapping of str to str, optional
        Public keys of other sites, exchanged over another channel. The guard refuses requests with
        different keys for these sites.

    Raises
    ------
    ParameterError
        If the site or its table does not fit the plan, or if the project has answered another plan
        of the same name.
    """

    def __init__(
        self,
        plan: FederatedPlan,
        site: str,
        data: Any,
        project: Project,
        *,
        peers: Mapping[str, str] | None = None,
    ) -> None:
        if site not in plan.sites:
            raise ParameterError("site", f"one of {', '.join(plan.sites)}", site)
        self.plan, self.site, self.project = plan, site, project
        self._table = Table(data, plan.dictionary.keys, _BLOCK_DIVISOR * plan.n_features)
        self._peers = dict(peers or {})
        self._lock = Lock()
        # Charges and messages are stored under the plan's name.
        stored = _read_or_create(project.folder / f"{plan.name}-{_PLAN}", plan.json().encode())
        if stored != plan.json().encode():
            raise ParameterError("name", "of one plan per project", plan.name)
        fresh = X25519PrivateKey.generate().private_bytes_raw()
        key = _read_or_create(project.folder / f"{plan.name}-{_KEY}", fresh)
        self._private_key = X25519PrivateKey.from_private_bytes(key)

    @property
    def greeting(self) -> Greeting:
        """Return the introduction of this guard."""
        return Greeting(self.plan.digest, self.site, public_key_of(self._private_key))

    def answer(self, raw: bytes) -> bytes:
        """Return the message for a request.

        Parameters
        ----------
        raw : bytes
            Request as received, untrusted.

        Raises
        ------
        RequestRefused
            With a sentence that may be sent to the aggregator.
        """
        with self._lock:
            request_id = ""
            try:
                request = request_from(raw, self.plan)
                request_id = request.id
                message = self._answer(request)
            except RequestRefused as refused:
                self._log(raw, request_id, str(refused), 0)
                raise
            except (MessageError, BeyondCap) as error:
                self._log(raw, request_id, sentence_of(error), 0)
                raise RequestRefused(sentence_of(error)) from error
            except (ParameterError, ValueError, OSError) as error:
                # The text may contain values of rows or paths, so it stays in the log.
                self._log(raw, request_id, sentence_of(error), 0)
                raise RequestRefused(f"{self.site} cannot answer; its own log says why") from error
            self._log(raw, request_id, "", len(message))
            return message

    def log(self) -> list[dict[str, Any]]:
        """Return all logged requests, oldest first."""
        path = self.project.folder / _LOG
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    def _answer(self, request: Request) -> bytes:
        if request.public_keys.get(self.site) != self.greeting.public_key:
            raise MessageError(f"a roster without {self.site}, or with another public key for it")
        for other, key in self._peers.items():
            if request.public_keys.get(other, key) != key:
                raise MessageError(f"a public key for {other} that differs from the known one")
        if (message := self._stored_answer(request)) is not None:
            return message
        answers = {SUM: self._sum, VOTES: self._votes, SCORES: self._scores}
        values = answers.get(request.round, self._moment)(request)
        if self.plan.is_masked:
            values = self._add_masks(values, request)
        message = message_of(self.plan, request, self.site, values)
        name = self._name(request.id)
        self.project.publish(name, {_MESSAGE: message, _REQUEST: request.json()})
        self.project.seal(name, sha256(message).hexdigest())
        return message

    def _name(self, request_id: str) -> str:
        """Return the name of an answer in the ledger, also the name of its folder."""
        return f"{self.plan.name}-{request_id}"

    def _stored_answer(self, request: Request) -> bytes | None:
        """Return the stored answer to this request; None if no answer can have left.

        Raises `MessageError` if an answer may have left and is missing or damaged. A second draw on
        the same charge would break the guarantee.
        """
        name = self._name(request.id)
        sealed = self.project.answers().get(name)
        folder = self.project.path_of(name)
        if not folder.is_dir():
            if sealed:
                raise MessageError(self._explain_loss(request.id))
            return None
        try:
            answered, message = (folder / _REQUEST).read_bytes(), (folder / _MESSAGE).read_bytes()
        except OSError as error:
            raise MessageError(self._explain_loss(request.id)) from error
        if sealed and sha256(message).hexdigest() != sealed:
            raise MessageError(self._explain_loss(request.id))
        if answered != request.json():
            raise AttemptConflict(f"{self.site} answered another request named {request.id}")
        if not sealed:  # The process ended between `publish` and `seal`.
            self.project.seal(name, sha256(message).hexdigest())
        return message

    def _explain_loss(self, request_id: str) -> str:
        return (
            f"{self.site}'s answer {request_id} is missing from its project or damaged: restore "
            f"the folder {self._name(request_id)} of releases from a copy, or start a new attempt, "
            "which is charged"
        )

    def _add_masks(self, values: IntArray, request: Request) -> IntArray:
        purpose = f"{self.plan.digest} {request.id}"
        keys, roster = request.public_keys, request.roster
        return add_masks(values, self._private_key, self.site, keys, roster, purpose)

    def _sum(self, request: Request) -> IntArray:
        plan = self.plan
        total = sum_and_count(self._table, plan.dictionary, plan.scales, Reading())
        charge = plan.charge_name(request.attempt)
        # The hash of an answer enters the ledger before the answer leaves. An attempt without one
        # was interrupted before that, so its noise can be drawn again.
        if charge not in {release.name for release in self.project.releases()}:
            cost = AttemptCost(plan.worst_mu, plan.distance)
            answers = [self._name(f"{request.attempt}-{round_}") for round_ in rounds_of(plan)]
            self.project.charge(charge, cost, plan.epsilon, plan.delta, answers=answers)
        return noisy_sum(total, plan.scales.sum_sigma)

    def _votes(self, request: Request) -> IntArray:
        """Draw the noisy votes of pairs on the centre, which the attempt's charge includes."""
        self._require_sum(request)
        plan = self.plan
        pooled = plan.scales_of_sum(len(request.roster))
        rule = vote_rule_of(pooled, request.n_rows)
        ring = read_ring(self._table, plan.dictionary, plan.scales)
        return noisy_sum(VOTE * count_votes(ring, plan.scales, rule), plan.scales.vote_sigma)

    def _scores(self, request: Request) -> IntArray:
        """Draw the noisy counts of a score plot, which the attempt's charge includes."""
        self._require_sum(request)
        plan, plot = self.plan, np.array(request.plot) / PLOT_UNIT
        components, mean = plot[:-2].reshape(2, -1), np.array(request.centre) / GRID
        edges = edges_of(plot[-2:])
        shortest = shortest_of(plan.dictionary, on_sphere=plan.on_sphere)
        exact = np.zeros((SCORE_CELLS, SCORE_CELLS), dtype=np.int64)
        for rows in grid_blocks(self._table, plan.dictionary):
            exact += count_scores(rows, components, mean, edges, shortest)
        return noisy_sum(VOTE * exact.ravel(), plan.score_sigma)

    def _require_sum(self, request: Request) -> None:
        """Raise `MessageError` unless the sum of this attempt was answered for the same roster."""
        plan = self.plan
        sum_id = f"{request.attempt}-{SUM}"
        path = self.project.path_of(self._name(sum_id)) / _REQUEST
        if not path.exists():
            if self.project.answers().get(self._name(sum_id)):
                raise MessageError(self._explain_loss(sum_id))
            before = f"before the sum of attempt {request.attempt}"
            raise MessageError(f"the round {request.round!r} {before}")
        first = request_from(path.read_bytes(), plan)
        same = first.roster == request.roster and first.public_keys == request.public_keys
        if plan.is_masked and not same:
            raise MessageError("another roster than that of the sum")

    def _moment(self, request: Request) -> AnyArray:
        """Draw the noisy moment, which the attempt's charge includes."""
        self._require_sum(request)
        plan, scales = self.plan, self.plan.scales
        if request.of_differences:
            exact = moment_of_differences(read_ring(self._table, plan.dictionary, scales))
            scales = scales.for_differences()
        else:
            centre = np.array(request.centre, dtype=np.float64)
            exact = moment_around(
                self._table, plan.dictionary, scales, centre, on_sphere=plan.on_sphere
            )
        noisy = noisy_second_moment(exact, scales.moment_sigma)
        if not plan.is_cut:
            return noisy[np.triu_indices(plan.n_features)]
        rank = int(plan.intermediate_dim or 0)
        sigma = scales.diagonal_sigma / LENGTH**2
        spectrum = Spectrum(noisy / LENGTH**2)
        bases = choose_bases(spectrum, sigma=sigma, bases=plan.bases)
        return NoisySite(spectrum.matrix, 1, sigma).proxy(rank, "value", bases).values

    def _log(self, raw: bytes, request_id: str, refusal: str, n_bytes: int) -> None:
        path = self.project.folder / _LOG
        if path.exists() and path.stat().st_size > _LONGEST_LOG:
            os.replace(path, path.with_suffix(".log.old"))
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "plan": self.plan.name,
            "request": request_id,
            "raw": raw[:200].decode(errors="replace"),
            "refusal": refusal,
            "bytes": n_bytes,
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def peers_from(path: Path | str, plan: FederatedPlan) -> dict[str, str]:
    """Return the public keys of other sites in a JSON file.

    Raises `ParameterError` if the file is not an object of site names and public keys.
    """
    try:
        peers = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        peers = None
    is_right = isinstance(peers, dict) and peers.keys() <= set(plan.sites)
    if not is_right or not all(is_public_key(key) for key in peers.values()):
        raise ParameterError("peers", "a JSON object of sites and public keys", str(path))
    return dict(peers)


def _read_or_create(path: Path, content: bytes) -> bytes:
    """Return the content of a file, created with `content` where it is missing.

    The file appears complete or not at all, and only its owner can read it.
    """
    with NamedTemporaryFile(dir=path.parent) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(file.name, path)
            sync_folder(path.parent)
    return path.read_bytes()
