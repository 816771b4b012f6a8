"""The rounds of a federated analysis, as the aggregator runs them over any network.

The aggregator holds no rows and needs no state between runs except the number of the attempt. After
an interruption it sends the same requests again, and the guards return the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.federated.aggregation import (
    Centre,
    arrays_of_result,
    arrays_of_scores,
    centre_and_count,
    centre_by_votes,
    centre_without_votes,
    count_in_words,
    do_sites_vote,
    plot_of,
    require_possible_moment,
    require_possible_sum,
)
from dpcore.federated.certificate import certificate_of, label_for
from dpcore.federated.guard_socket import ANSWERED, CONFLICT, Reply
from dpcore.federated.messages import (
    MOMENT,
    MOST_ATTEMPTS,
    SCORES,
    SUM,
    VOTES,
    Greeting,
    MessageError,
    Request,
    sentence_of,
    values_from,
)
from dpcore.federated.plan import FederatedPlan
from dpcore.pca.centre_rule import DIFFERENCES
from dpcore.privacy.label_page import label_page
from dpcore.release.certificate import CENTRE_WORDS, as_json
from dpcore.release.project import sync_folder

PLAN = "plan.json"
RESULT = "result.npz"
CERTIFICATE = "certificate.json"
LABEL = "label"
OUTCOME = "outcome.json"
LOCK = "run.lock"
_ATTEMPT = "attempt.json"
# Each conflict leads to a new attempt, which every site is charged for. A lying site can report a
# conflict in every attempt.
_MOST_CONFLICTS = 3

T = TypeVar("T")

# Sends each site its request and returns the replies that arrive in time.
Exchange = Callable[[Mapping[str, bytes]], Mapping[str, Reply]]


class RunFailed(Exception):
    """Failure of a run, described in one sentence."""


class _AttemptEnded(Exception):
    """End of an attempt by sites that failed, or that answered it for another roster."""

    def __init__(self, failed: list[str], in_conflict: list[str]) -> None:
        super().__init__()
        self.failed, self.in_conflict = failed, in_conflict


class Aggregator:
    """Aggregator of one federated analysis.

    plan : FederatedPlan
    folder : Path of the results. It keeps the number of the last attempt.
    exchange : Exchange
    say : Receives one sentence for every event.
    is_simulation : Whether the rows are public, as the label then states.
    """

    def __init__(
        self,
        plan: FederatedPlan,
        folder: Path | str,
        exchange: Exchange,
        say: Callable[[str], None],
        *,
        is_simulation: bool = False,
    ) -> None:
        self.plan, self.folder, self._exchange, self._say = plan, Path(folder), exchange, say
        self._is_simulation = is_simulation
        self._sent_bytes: dict[str, int] = {}

    def run(self, greetings: Mapping[str, Greeting]) -> dict[str, Any]:
        """Run all rounds, write the result and return a summary of it.

        greetings: Greetings of the sites that joined.

        Raises `RunFailed` if too few sites answer, or if their messages are impossible.
        """
        keys = {site: greeting.public_key for site, greeting in greetings.items()}
        roster = self._in_order(keys)
        attempt, conflicts = self._first_attempt(roster), 0
        while True:
            self._require_enough(roster)
            if attempt > MOST_ATTEMPTS:
                raise RunFailed(f"all {MOST_ATTEMPTS} attempts of this plan are used up")
            self._write(_ATTEMPT, json.dumps({"attempt": attempt, "roster": roster}).encode())
            self._say(f"attempt {attempt} begins with {len(roster)} sites")
            public_keys = {site: keys[site] for site in roster}
            request = Request(self.plan.digest, attempt, SUM, tuple(roster), public_keys)
            try:
                return self._attempt(request)
            except _AttemptEnded as ended:
                conflicts += bool(ended.in_conflict)
                if conflicts > _MOST_CONFLICTS:
                    raise RunFailed(
                        f"{', '.join(ended.in_conflict)} reported {conflicts} conflicting "
                        "attempts: make a plan of another name"
                    ) from ended
                roster = [site for site in roster if site not in ended.failed]
            attempt += 1

    def _attempt(self, request: Request) -> dict[str, Any]:
        """Run the rounds of an attempt from its request for the sums, and write the result."""
        sums = self._answers(request)
        self._check(require_possible_sum, sums)
        place, n_rows = centre_and_count(self.plan, sums)
        self._say(f"number of rows: {count_in_words(self.plan, n_rows, len(sums))}")
        roster, centre = list(sums), centre_without_votes(self.plan, place, n_rows)
        if do_sites_vote(self.plan, n_rows):
            counted = round(n_rows)
            votes = self._answers(_for_sites(request, roster, round=VOTES, n_rows=counted))
            roster, centre = list(votes), self._check(centre_by_votes, votes, sums, place)
            self._say(f"centre chosen by the sites' votes: {CENTRE_WORDS[centre.choice]}")
        is_of_differences = centre.choice == DIFFERENCES
        moments = self._answers(
            _for_sites(
                request,
                roster,
                round=MOMENT,
                centre=() if is_of_differences else centre.place,
                of_differences=is_of_differences,
            )
        )
        result = self._result_of(moments, centre, n_rows)
        if self.plan.scores_share:
            plot = plot_of(result)
            scores = self._answers(
                _for_sites(request, list(moments), round=SCORES, centre=centre.place, plot=plot)
            )
            result |= self._check(arrays_of_scores, scores, sums, plot)
        return self._finish(result, list(moments), n_rows, request.attempt)

    def _answers(self, request: Request) -> dict[str, AnyArray]:
        """Return the numbers of the sites that answered a request.

        Masks of missing sites do not cancel, and an attempt answered for another roster cannot be
        continued. Both raise `_AttemptEnded`: they need new noise, which is charged.
        """
        values, failed, in_conflict = self._round(request)
        if in_conflict or (failed and self.plan.is_masked):
            raise _AttemptEnded(failed, in_conflict)
        self._require_enough(values)
        return values

    def _check(self, step: Callable[..., T], *messages: Any) -> T:
        """Return a step's result for the plan and messages that rows can have."""
        try:
            return step(self.plan, *messages)
        except MessageError as error:
            raise RunFailed(str(error)) from error

    def _in_order(self, sites: Mapping[str, Any]) -> list[str]:
        return [site for site in self.plan.sites if site in sites]

    def _require_enough(self, sites: Sequence[str] | Mapping[str, Any]) -> None:
        if len(sites) < int(self.plan.fewest or 0):
            present = ", ".join(sites) or "none"
            raise RunFailed(f"too few sites answered: {present} of fewest={self.plan.fewest}")

    def _first_attempt(self, roster: list[str]) -> int:
        """Return the last attempt if it had the same roster, so that its answers are reused."""
        with suppress(FileNotFoundError):
            last = json.loads((self.folder / _ATTEMPT).read_bytes())
            attempt = int(last["attempt"])
            return attempt if last["roster"] == roster else attempt + 1
        return 1

    def _round(self, request: Request) -> tuple[dict[str, AnyArray], list[str], list[str]]:
        """Return the numbers of the sites that answered, the sites that failed, and conflicts."""
        roster = request.roster
        replies = self._exchange(dict.fromkeys(roster, request.json()))
        values, failed, in_conflict = dict[str, AnyArray](), list[str](), list[str]()
        for site in roster:
            reply = replies.get(site)
            try:
                if reply is None:
                    raise MessageError(f"{site} did not answer in {self.plan.round_seconds:g} s")
                if reply.status == CONFLICT:
                    in_conflict.append(site)
                if reply.status != ANSWERED:
                    raise MessageError(f"{site}: {reply.body[:300].decode(errors='replace')}")
                values[site] = values_from(reply.body, self.plan, request, site)
            except MessageError as error:
                self._say(sentence_of(error))
                if site not in in_conflict:
                    failed.append(site)
            else:
                n_bytes = self._sent_bytes.get(site, 0) + len(reply.body)
                self._sent_bytes[site] = n_bytes
        return values, failed, in_conflict

    def _result_of(
        self, moments: Mapping[str, AnyArray], centre: Centre, n_rows: float
    ) -> dict[str, AnyArray]:
        try:
            require_possible_moment(self.plan, moments, n_rows)
            return arrays_of_result(self.plan, moments, centre, n_rows)
        except (MessageError, np.linalg.LinAlgError) as error:
            raise RunFailed(sentence_of(error)) from error

    def _finish(
        self, arrays: dict[str, AnyArray], sites: list[str], n_rows: float, attempt: int
    ) -> dict[str, Any]:
        file = BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        certificate = certificate_of(self.plan, attempt, arrays)
        label = label_for(self.plan, certificate, is_simulation=self._is_simulation)
        self._write(RESULT, file.getvalue())
        self._write(CERTIFICATE, json.dumps(certificate, indent=1).encode())
        self._write(f"{LABEL}.json", as_json(label.as_dict()))
        self._write(f"{LABEL}.html", label_page(label).encode())
        return {
            "attempts": attempt,
            "sites": sites,
            "rows": count_in_words(self.plan, n_rows, len(sites)),
            "bytes": self._sent_bytes,
            "result": str(self.folder / RESULT),
        }

    def _write(self, name: str, content: bytes) -> None:
        write_whole(self.folder / name, content)


def _for_sites(request: Request, sites: Sequence[str], **changes: Any) -> Request:
    """Return the request of a later round to the sites that answered so far."""
    keys = {site: request.public_keys[site] for site in sites}
    return replace(request, roster=tuple(sites), public_keys=keys, **changes)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is complete, and on the disk, when it appears."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    sync_folder(path.parent)
