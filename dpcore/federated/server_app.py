"""Flower's ServerApp: the aggregator at the SuperLink.

The run setting `folder` is the folder of the plan, where the result is written. `nodes` may assign
node identifiers to sites ("oslo=123,porto=456"); with authenticated SuperNodes this fixes which
machine may answer for a site.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from logging import INFO
from pathlib import Path

from filelock import FileLock
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from dpcore.federated.aggregator import LOCK, OUTCOME, PLAN, Aggregator, RunFailed, write_whole
from dpcore.federated.client_app import RECORD
from dpcore.federated.guard_socket import ABSENT, ANSWERED, ASK, GREET, Reply
from dpcore.federated.messages import Greeting, MessageError, greeting_from
from dpcore.federated.plan import FederatedPlan, nodes_from, plan_from

_POLL_SECONDS, _SAY_SECONDS, _GREETING_SECONDS = 0.2, 4.0, 60.0
_MESSAGE_TYPE = "query"

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run one federated analysis and write its outcome."""
    folder = Path(str(context.run_config["folder"]))
    plan = plan_from((folder / PLAN).read_bytes())
    nodes = nodes_from(str(context.run_config["nodes"]), plan.sites)
    is_simulation = bool(context.run_config["simulation"])
    # `run_app` recognizes a killed ServerApp by the lock, which the kernel releases.
    with FileLock(folder / LOCK):
        outcome = run(grid, plan, folder, nodes, is_simulation=is_simulation)
        write_whole(folder / OUTCOME, json.dumps(outcome, indent=1, ensure_ascii=False).encode())


def run(
    grid: Grid,
    plan: FederatedPlan,
    folder: Path,
    nodes: Mapping[str, int],
    *,
    is_simulation: bool = False,
) -> dict[str, object]:
    """Return the summary of a run, or the reason for its failure as `error`."""
    network = Network(grid, plan, nodes)
    aggregator = Aggregator(plan, folder, network.ask, say, is_simulation=is_simulation)
    try:
        return dict(aggregator.run(network.join()))
    except RunFailed as failed:
        say(f"the run failed: {failed}")
        return {"error": str(failed)}


def say(sentence: str) -> None:
    """Log one sentence about the run."""
    log(INFO, "%s", sentence)


class Network:
    """Connection of an aggregator to the guards through Flower's grid.

    grid : Grid
    plan : FederatedPlan
    nodes : Node identifiers of sites, where they are known in advance.
    """

    def __init__(self, grid: Grid, plan: FederatedPlan, nodes: Mapping[str, int]) -> None:
        self._grid, self._plan, self._nodes = grid, plan, dict(nodes)
        self._node_of: dict[str, int] = {}

    def join(self) -> dict[str, Greeting]:
        """Wait for the guards of all sites and return their greetings.

        The result lacks sites that did not greet within `join_seconds`.
        """
        greetings: dict[str, Greeting] = {}
        reasons: dict[int, str] = {}
        deadline = time.monotonic() + self._plan.join_seconds
        last_report = time.monotonic()
        while len(greetings) < len(self._plan.sites) and time.monotonic() < deadline:
            strangers = set(self._grid.get_node_ids()) - set(self._node_of.values())
            seconds = min(_GREETING_SECONDS, deadline - time.monotonic())
            for node, reply in self._call(GREET, dict.fromkeys(strangers, b""), seconds).items():
                if reason := self._accept_greeting(node, reply, greetings):
                    if reasons.get(node) != reason:
                        say(reason)
                    reasons[node] = reason
            missing = [site for site in self._plan.sites if site not in greetings]
            if missing and time.monotonic() - last_report > _SAY_SECONDS:
                say(f"waiting for {', '.join(missing)}")
                last_report = time.monotonic()
            if missing:
                time.sleep(_POLL_SECONDS)
        return greetings

    def ask(self, requests: Mapping[str, bytes]) -> dict[str, Reply]:
        """Return the replies of the sites within `round_seconds`."""
        site_of = {self._node_of[site]: site for site in requests}
        calls = {node: requests[site] for node, site in site_of.items()}
        replies = self._call(ASK, calls, self._plan.round_seconds)
        return {site_of[node]: reply for node, reply in replies.items()}

    def _accept_greeting(self, node: int, reply: Reply, greetings: dict[str, Greeting]) -> str:
        """Add the greeting in a reply; return the reason if it is not accepted."""
        if reply.status != ANSWERED:
            return f"{self._name(node)}: {reply.body[:300].decode(errors='replace')}"
        try:
            greeting = greeting_from(reply.body, self._plan)
        except MessageError as error:
            return f"{self._name(node)}: {error}"
        site = greeting.site
        if site in greetings or self._nodes.get(site, node) != node:
            return f"{self._name(node)} greets for {site}, which is another node"
        greetings[site] = greeting
        self._node_of[site] = node
        say(f"{site} has joined")
        return ""

    def _name(self, node: int) -> str:
        """Return the site of a node, if it is known."""
        site_of = {number: site for site, number in (self._nodes | self._node_of).items()}
        return site_of.get(node, f"node {node}")

    def _call(self, kind: str, bodies: Mapping[int, bytes], seconds: float) -> dict[int, Reply]:
        """Send one call to each node and return the replies that arrive in time."""
        if not bodies:
            return {}
        messages = [_message(node, kind, body, seconds) for node, body in bodies.items()]
        # A reply of the SuperLink for a node that is offline names the SuperLink as its source, so
        # replies are assigned by message and not by source.
        pushed = zip(self._grid.push_messages(messages), bodies, strict=False)
        node_of = {message_id: node for message_id, node in pushed if message_id}
        refusal = Reply(ABSENT, b"the SuperLink did not accept the message")
        replies = dict.fromkeys(bodies.keys() - node_of.values(), refusal)
        started = last_report = time.monotonic()
        reported: list[str] = []
        while node_of and time.monotonic() - started < seconds:
            failed: list[str] = []
            for message in self._grid.pull_messages(list(node_of)):
                node = node_of.pop(message.metadata.reply_to_message_id)
                replies[node] = _reply_in(message)
                if kind == ASK and replies[node].status != ANSWERED:
                    failed.append(self._name(node))
            # The aggregator gives the reasons at the end of the round.
            if failed and node_of:
                say(f"{', '.join(failed)} failed; waiting for the other sites")
            if node_of and time.monotonic() - last_report > _SAY_SECONDS:
                last_report = time.monotonic()
                names = sorted(map(self._name, node_of.values()))
                if names != reported:
                    say(f"no answer yet from {', '.join(names)}; waiting up to {seconds:.0f} s")
                reported = names
            if node_of:
                time.sleep(_POLL_SECONDS)
        return replies


def _message(node: int, kind: str, body: bytes, seconds: float) -> Message:
    call = ConfigRecord({"kind": kind, "body": body, "seconds": float(seconds)})
    # A message that expires is not delivered to a SuperNode that returns later. Flower's sentence
    # about that is long, so the deadline of the round comes first.
    ttl = seconds + _SAY_SECONDS
    content = RecordDict({RECORD: call})
    return Message(content, dst_node_id=node, message_type=_MESSAGE_TYPE, ttl=ttl)


def _reply_in(message: Message) -> Reply:
    """Return the guard's reply in an untrusted message."""
    if message.has_error():
        return Reply(ABSENT, f"Flower reports: {message.error.reason}".encode())
    record = message.content.config_records.get(RECORD) or ConfigRecord()
    status, body = record.get("status"), record.get("body")
    if not isinstance(status, str) or not isinstance(body, bytes):
        return Reply(ABSENT, b"the node sent no reply of a guard")
    return Reply(status, body)
