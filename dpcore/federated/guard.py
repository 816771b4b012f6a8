"""The guard: what stands between a site's rows and a study.

It owns the rows, the site's randomness and the ledger. A request is numbers and names, checked
against the plan that the site has agreed to; the answer is a message that has been paid for, or a
refusal in one sentence. Who asks the same again is sent the same bytes again, and nothing is drawn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
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
from dpcore.federated.plan import AttemptCost, StudyPlan
from dpcore.federated.wire_messages import (
    ROUNDS,
    SUM,
    FrameError,
    Request,
    frame,
    handed_on,
    masked,
    public_key,
    refusal,
    request_from,
)
from dpcore.pca.assessment import bases_worth
from dpcore.pca.protocols.sequential import join
from dpcore.pca.site import NoisySite, SiteMessage
from dpcore.privacy import BeyondCap
from dpcore.release.encoding import Reading
from dpcore.release.integer_moments import noisy_second_moment, noisy_sum
from dpcore.release.integer_rows import LENGTH
from dpcore.release.measurement import moment_around, sum_and_count
from dpcore.release.project import Project, sync_folder
from dpcore.release.tables import Table
from dpcore.spectra import Spectrum

_MESSAGE, _ASKED, _LOG = "message.bin", "request.json", "requests.log"
_KEY, _PLAN = "key.bin", "plan.json"
LONGEST_LOG = 1 << 24
# Blocks of rows are so much smaller than a release's: a guard runs beside what else a site runs.
_SMALLER = 4


class RequestRefused(Exception):
    """A site's answer where it does not answer: one sentence."""


class Guard:
    """A site's guard in one study.

    Promise: whatever is asked, by whomever, everything that leaves is (epsilon, delta)-DP for
    every person of this site against each adversary of the plan, an attempt at a time; and all
    attempts and other releases of the project together keep its cap. Nothing else leaves but
    refusals, which are made of the request and the ledger; what else went wrong is in the log.

    Parameters
    ----------
    plan : StudyPlan
    site : str
    data : path, mapping, DataFrame or ndarray
        As in `Table`: the site's rows.
    project : Project
        With the ledger of everything released about these people.
    peers : mapping of str to str, optional
        Public keys of other sites, come by another way than the hub: no others are then accepted.
    approve : callable
        Request -> whether the owner lets it be answered.

    Raises
    ------
    ParameterError
        If the site or its table is not the plan's, or the project has met another study of its
        name.
    """

    def __init__(
        self,
        plan: StudyPlan,
        site: str,
        data: Any,
        project: Project,
        *,
        peers: Mapping[str, str] | None = None,
        approve: Callable[[Request], bool] = lambda _: True,
    ) -> None:
        if site not in plan.sites:
            raise ParameterError("site", f"one of {', '.join(plan.sites)}", site)
        self.plan, self.site, self.project = plan, site, project
        self._table = Table(data, plan.dictionary.keys, _SMALLER * plan.n_features)
        self._peers, self._approve = dict(peers or {}), approve
        self._lock = Lock()
        # Charges and messages are kept by the study's name: it has to mean one plan.
        agreed = plan.json().encode()
        if _first(project.folder / f"{plan.name}-{_PLAN}", agreed) != agreed:
            raise ParameterError("name", "of no other study that this project has met", plan.name)
        fresh = X25519PrivateKey.generate().private_bytes_raw()
        kept = _first(project.folder / f"{plan.name}-{_KEY}", fresh)
        self._key = X25519PrivateKey.from_private_bytes(kept)

    @property
    def public_key(self) -> str:
        """What other sites agree on masks with."""
        return public_key(self._key)

    def answer(self, raw: bytes) -> bytes:
        """The message that was asked for.

        Parameters
        ----------
        raw : bytes
            As a hub sent it; nothing in it is trusted.

        Raises
        ------
        Refused
            With the sentence that may be sent back.
        """
        with self._lock:
            request_id = ""
            try:
                request = request_from(raw, self.plan)
                request_id = request.id
                message = self._answer(request)
            except (FrameError, BeyondCap) as error:
                self._note(raw, request_id, refusal(error), 0)
                raise RequestRefused(refusal(error)) from error
            except (ParameterError, ValueError, OSError) as error:
                # Made of the rows, perhaps, or of where they are: the owner's to read.
                self._note(raw, request_id, refusal(error), 0)
                raise RequestRefused(f"{self.site} cannot answer; its own log says why") from error
            self._note(raw, request_id, "", len(message))
            return message

    def log(self) -> list[dict[str, Any]]:
        """`log_of` this site's project."""
        return log_of(self.project)

    def _answer(self, request: Request) -> bytes:
        if request.keys.get(self.site) != self.public_key:
            raise FrameError(f"a roster without {self.site}, or with another public key for it")
        for other, key in self._peers.items():
            if request.keys.get(other, key) != key:
                raise FrameError(f"a public key for {other} that is not the one known here")
        if (message := self._kept(request)) is not None:
            return message
        if not self._approve(request):
            raise FrameError(f"{self.site}'s owner does not let this be answered")
        values = self._sum(request) if request.round == SUM else self._moment(request)
        if self.plan.is_masked:
            values = self._masked(values, request)
        message, name = frame(self.plan, request, self.site, values), self._name(request.id)
        self.project.publish(name, {_MESSAGE: message, _ASKED: request.json()})
        self.project.seal(name, sha256(message).hexdigest())
        return message

    def _name(self, request_id: str) -> str:
        """Of an answer, in the ledger and as a folder."""
        return f"{self.plan.name}-{request_id}"

    def _kept(self, request: Request) -> bytes | None:
        """The answer that was drawn to this, byte for byte; None where none can have left.

        Raises `FrameError` if one has left, or may have, and is not kept: what was drawn in its
        place would be a second answer on one charge.
        """
        name = self._name(request.id)
        sealed = self.project.answers().get(name)
        if not self.project.path_of(name).is_dir():
            # An attempt that an earlier version charged has no line for its answers.
            charged = {each.name for each in self.project.releases()}
            if sealed or (sealed is None and self.plan.charge(request.attempt) in charged):
                raise FrameError(self._lost(request.id))
            return None
        try:
            asked, message = kept_message(self.project, self.plan, request.id)
        except OSError as error:
            raise FrameError(self._lost(request.id)) from error
        if sealed and sha256(message).hexdigest() != sealed:
            raise FrameError(self._lost(request.id))
        if asked != request.json():
            raise FrameError(f"another request of the name {request.id}, which was answered")
        if not sealed:  # killed when it was about to leave, or drawn by an earlier version
            self.project.seal(name, sha256(message).hexdigest())
        return message

    def _lost(self, request_id: str) -> str:
        return (
            f"{self.site}'s answer {request_id} is in its ledger, no longer in its project, and "
            f"not drawn twice on one charge: put the folder {self._name(request_id)} of releases "
            "back from a copy, or let the hub begin a new attempt, which is charged anew"
        )

    def _masked(self, values: IntArray, request: Request) -> IntArray:
        plan, sigma = self.plan, None
        if plan.protocol == "cape":
            # Of the moment every mask is as wide as the widest has to be, that of the diagonal.
            scales = plan.scales
            own = scales.sum_sigma if request.round == SUM else scales.diagonal_sigma
            sigma = plan.pair_sigma(own)
        purpose = f"{plan.digest} {request.id}"
        return masked(values, self._key, self.site, request.roster, request.keys, purpose, sigma)

    def _sum(self, request: Request) -> IntArray:
        plan = self.plan
        total = sum_and_count(self._table, plan.dictionary, plan.scales, Reading())
        charge = plan.charge(request.attempt)
        # Nothing leaves before its hash is in the ledger: what a kill left charged without one can
        # be drawn again.
        if charge not in {each.name for each in self.project.releases()}:
            spent = AttemptCost(plan.worst.mu, plan.distance)
            rounds = [self._name(f"{request.attempt}-{round_}") for round_ in ROUNDS]
            self.project.charge(charge, spent, plan.epsilon, plan.delta, answers=rounds)
        return noisy_sum(total, plan.scales.sum_sigma)

    def _moment(self, request: Request) -> AnyArray:
        """Paid for with the sum: both noises are in the attempt's charge."""
        plan = self.plan
        sum_id = f"{request.attempt}-{SUM}"
        before = self.project.path_of(self._name(sum_id)) / _ASKED
        if not before.exists():
            if self.project.answers().get(self._name(sum_id)):
                raise FrameError(self._lost(sum_id))
            raise FrameError(f"a moment before the sum of attempt {request.attempt}")
        asked = request_from(before.read_bytes(), plan)
        same = asked.roster == request.roster and asked.keys == request.keys
        if plan.is_masked and not same:
            raise FrameError("another roster than that of the sum")
        centre = np.array(request.centre, dtype=np.float64)
        exact = moment_around(
            self._table, plan.dictionary, plan.scales, centre, on_sphere=plan.on_sphere
        )
        noisy = noisy_second_moment(exact, plan.scales.moment_sigma)
        if not plan.is_cut:
            return noisy[np.triu_indices(plan.n_features)]
        rank = int(plan.intermediate_dim or 0)
        sigma = plan.scales.diagonal_sigma / LENGTH**2
        likely = Spectrum(noisy / LENGTH**2)
        bases = bases_worth(likely, rank, sigma=sigma, bases=plan.bases)
        own = NoisySite(likely.matrix, 1, sigma).proxy(rank, "value", bases)
        if request.links:
            handed = SiteMessage(handed_on(request.handed, plan), request.links, 0.0)
            own = join(handed, own, rank)
        return own.values

    def _note(self, raw: bytes, request_id: str, refused: str, n_bytes: int) -> None:
        path = self.project.folder / _LOG
        if path.exists() and path.stat().st_size > LONGEST_LOG:
            os.replace(path, path.with_suffix(".log.old"))
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "study": self.plan.name,
            "request": request_id,
            "asked": raw[:200].decode(errors="replace"),
            "refused": refused,
            "bytes": n_bytes,
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def log_of(project: Project, most_bytes: int = LONGEST_LOG) -> list[dict[str, Any]]:
    """What was asked of a project's guards and what left, oldest first: for the owner.

    Parameters
    ----------
    project : Project
    most_bytes : int
        So much of the end of the log is read.
    """
    path = project.folder / _LOG
    if not path.exists():
        return []
    with path.open("rb") as file:
        start = max(0, path.stat().st_size - most_bytes)
        file.seek(start)
        lines = file.read(most_bytes).splitlines()
    return [json.loads(line) for line in lines[1 if start else 0 :]]


def kept_message(project: Project, plan: StudyPlan, request_id: str) -> tuple[bytes, bytes]:
    """A request that was answered, and the answer, byte for byte.

    Raises
    ------
    OSError
        If there is none.
    """
    folder = project.path_of(f"{plan.name}-{request_id}")
    return (folder / _ASKED).read_bytes(), (folder / _MESSAGE).read_bytes()


def project_of_key(plan: StudyPlan, key: str, beside: Path) -> Path | None:
    """The project folder beside this one whose guard has this public key in the study."""
    for path in sorted(beside.resolve().parent.glob(f"*/{plan.name}-{_KEY}")):
        with suppress(OSError, ValueError):
            if public_key(X25519PrivateKey.from_private_bytes(path.read_bytes())) == key:
                return path.parent
    return None


def _first(path: Path, content: bytes) -> bytes:
    """What a file holds: this, where there was none. Its owner's alone, and never half of it."""
    with NamedTemporaryFile(dir=path.parent) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(file.name, path)
            sync_folder(path.parent)
    return path.read_bytes()
