"""Guards and an aggregator without a network between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dpcore.federated.aggregator import Aggregator
from dpcore.federated.guard import AttemptConflict, Guard, RequestRefused
from dpcore.federated.guard_socket import ANSWERED, CONFLICT, REFUSED, Reply
from dpcore.federated.messages import Request, message_of, request_from, values_from
from dpcore.federated.plan import FederatedPlan

NAMES = ("one", "two", "three", "four")
# Replaces the reply of a guard. None is silence.
Fault = Callable[[Request, Reply], Reply | None]


@dataclass
class LocalSites:
    """Guards of all sites, with faults by site.

    sentences: Everything that the aggregator has said.
    messages: Numbers of every answered request, by request identifier and site.
    """

    plan: FederatedPlan
    guards: dict[str, Guard]
    folder: Path
    faults: dict[str, Fault] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    messages: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def run(self, sites=NAMES) -> dict:
        """Run all rounds with the guards of these sites."""
        greetings = {site: self.guards[site].greeting for site in sites}
        return Aggregator(self.plan, self.folder, self.exchange, self.sentences.append).run(
            greetings
        )

    def exchange(self, requests: Mapping[str, bytes]) -> dict[str, Reply]:
        replies = {}
        for site, raw in requests.items():
            request, reply = request_from(raw, self.plan), self._reply(site, raw)
            if site in self.faults:
                reply = self.faults[site](request, reply)
            if reply is not None:
                replies[site] = reply
        return replies

    def charges(self) -> list[int]:
        """Return the number of charges in each site's ledger."""
        return [len(self.guards[site].project.releases()) for site in NAMES]

    def result(self):
        return np.load(self.folder / "result.npz")

    def _reply(self, site: str, raw: bytes) -> Reply:
        request = request_from(raw, self.plan)
        try:
            message = self.guards[site].answer(raw)
        except AttemptConflict as conflict:
            return Reply(CONFLICT, str(conflict).encode())
        except RequestRefused as refused:
            return Reply(REFUSED, str(refused).encode())
        values = values_from(message, self.plan, request, site)
        self.messages.setdefault(request.id, {})[site] = values
        return Reply(ANSWERED, message)


def changed(plan: FederatedPlan, site: str, round_: str, change) -> Fault:
    """Return a fault that changes the numbers of one round."""

    def fault(request: Request, reply: Reply) -> Reply:
        if request.round != round_:
            return reply
        values = change(values_from(reply.body, plan, request, site).copy())
        return Reply(ANSWERED, message_of(plan, request, site, values))

    return fault


def silent(round_: str) -> Fault:
    """Return a fault that loses the reply of one round."""
    return lambda request, reply: None if request.round == round_ else reply
