"""Flower's two apps, with a grid in place of the SuperLink."""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from parties import NAMES

flwr = pytest.importorskip("flwr", reason="the extra `federated` is not installed")

from flwr.app import ConfigRecord, Context, Error, Message, RecordDict  # noqa: E402
from flwr.supercore.task_identity import TaskIdentity  # noqa: E402

from dpcore.federated import client_app, server_app  # noqa: E402
from dpcore.federated.guard_socket import serve_guard  # noqa: E402

SUPERLINK = 1
NODES = {site: number for number, site in enumerate(NAMES, 11)}


class FakeGrid:
    """Grid whose nodes run the real ClientApp against guards at sockets.

    lost : Node identifiers whose replies never arrive.
    offline : Node identifiers for which the SuperLink replies, as Flower does for a node that has
        not sent a heartbeat.
    refused : Node identifiers whose messages the SuperLink does not accept.
    replaced : Contents that nodes send instead of their replies.
    """

    def __init__(self, sockets):
        self.sockets, self.replaced = sockets, {}
        self.lost, self.offline, self.refused = set(), set(), set()
        self._replies = {}

    def get_node_ids(self):
        return list(self.sockets)

    def push_messages(self, messages):
        ids = []
        for message in messages:
            node = message.metadata.dst_node_id
            ids.append(None if node in self.refused else f"{node}-{len(self._replies)}")
            message.metadata.__dict__["_message_id"] = ids[-1]
            self._replies[ids[-1]] = self._reply(node, message)
        return ids

    def pull_messages(self, message_ids):
        return [
            reply for message_id in message_ids if (reply := self._replies[message_id]) is not None
        ]

    def _reply(self, node, message):
        if node in self.lost | self.refused:
            return None
        if node in self.offline:
            reply = Message(error=Error(3, "Node Unavailable"), reply_to=message)
            reply.metadata.__dict__["_src_node_id"] = SUPERLINK
            return reply
        if node in self.replaced:
            content = self.replaced[node]
        else:
            config = {"guard": str(self.sockets[node])}
            context = Context(1, node, config, RecordDict(), {})
            content = client_app.forward_call(message, context).content
        reply = (
            Message(content, reply_to=message)
            if isinstance(content, RecordDict)
            else Message(error=content, reply_to=message)
        )
        reply.metadata.__dict__["_src_node_id"] = node
        return reply


@pytest.fixture
def grid_of(sites_of, monkeypatch):
    monkeypatch.setattr(server_app, "_POLL_SECONDS", 0.01)
    # Flower sets these in the process of a ServerApp.
    for name, value in (("_run_id", 1), ("_node_id", 1), ("_task_id", 1)):
        monkeypatch.setattr(TaskIdentity, name, value)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def make(plan, sites=NAMES):
            guards = sites_of(plan).guards
            sockets = {NODES[site]: folder / f"{site}.sock" for site in NAMES}
            for site in sites:
                stack.enter_context(serve_guard(guards[site], sockets[NODES[site]]))
            return FakeGrid(sockets), guards

        yield make


def run(grid, plan, tmp_path, nodes=NODES):
    return server_app.run(grid, plan, tmp_path / "aggregator", nodes, is_simulation=True)


@pytest.fixture
def sentences(monkeypatch):
    collected = []
    monkeypatch.setattr(server_app, "say", collected.append)
    return collected


def test_components_from_all_sites(plan_with, grid_of, tmp_path):
    plan = plan_with(round_seconds=30.0)
    grid, guards = grid_of(plan)
    assert run(grid, plan, tmp_path)["sites"] == list(NAMES)
    assert [len(guard.project.releases()) for guard in guards.values()] == [1] * 4
    label = json.loads((tmp_path / "aggregator" / "label.json").read_text(encoding="utf-8"))
    assert label["simulation"]


def test_a_guard_that_is_down_is_named_and_left_out(plan_with, grid_of, tmp_path, sentences):
    plan = plan_with(join_seconds=1.0, round_seconds=30.0)
    grid, _ = grid_of(plan, NAMES[:3])
    assert run(grid, plan, tmp_path)["sites"] == list(NAMES[:3])
    assert any(
        sentence.startswith("four: no guard answers at its socket") for sentence in sentences
    )


def test_a_node_that_is_lost_ends_in_one_sentence(
    plan_with, grid_of, tmp_path, sentences, monkeypatch
):
    monkeypatch.setattr(server_app, "_SAY_SECONDS", 0.1)
    plan = plan_with(round_seconds=3.0, fewest=4)
    grid, guards = grid_of(plan)
    network = server_app.Network(grid, plan, NODES)
    greetings = network.join()
    grid.lost.add(NODES["two"])
    aggregator = server_app.Aggregator(plan, tmp_path / "aggregator", network.ask, sentences.append)
    with pytest.raises(server_app.RunFailed, match="too few sites answered"):
        aggregator.run(greetings)
    assert any(
        sentence.startswith("no answer yet from two; waiting up to ") for sentence in sentences
    )
    assert "two did not answer in 3 s" in sentences
    assert [len(guard.project.releases()) for guard in guards.values()] == [1, 0, 1, 1]


@pytest.mark.parametrize("fault", ["offline", "refused"])
def test_a_node_that_goes_offline_is_left_out_at_once(plan_with, grid_of, tmp_path, fault):
    plan = plan_with(round_seconds=30.0, protocol="full", fewest=3)
    grid, guards = grid_of(plan)
    network = server_app.Network(grid, plan, NODES)
    greetings = network.join()
    getattr(grid, fault).add(NODES["two"])
    started, sentences = time.monotonic(), []
    aggregator = server_app.Aggregator(plan, tmp_path / "aggregator", network.ask, sentences.append)
    assert aggregator.run(greetings)["sites"] == ["one", "three", "four"]
    assert time.monotonic() - started < plan.round_seconds
    assert any(sentence.startswith("two: ") for sentence in sentences)
    assert [len(guard.project.releases()) for guard in guards.values()] == [1, 0, 1, 1]


def test_a_failed_site_is_named_before_slow_sites_answer(plan_with, grid_of, sentences):
    plan = plan_with(round_seconds=1.0)
    grid, _ = grid_of(plan)
    network = server_app.Network(grid, plan, NODES)
    network.join()
    grid.offline.add(NODES["two"])
    grid.lost.add(NODES["three"])
    network.ask(dict.fromkeys(NAMES, b"{}"))
    # The guards refuse the request, which is empty.
    assert "one, two, four failed; waiting for the other sites" in sentences


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        RecordDict({client_app.RECORD: ConfigRecord({"status": 7, "body": "text"})}),
        RecordDict({client_app.RECORD: ConfigRecord({"status": "answered", "body": b"junk"})}),
        Error(3, "node unavailable"),
    ],
)
def test_a_node_that_sends_nonsense_is_left_out(plan_with, grid_of, tmp_path, content, sentences):
    plan = plan_with(join_seconds=1.0, round_seconds=30.0)
    grid, _ = grid_of(plan)
    grid.replaced[NODES["two"]] = content
    assert run(grid, plan, tmp_path)["sites"] == ["one", "three", "four"]
    assert any(sentence.startswith("two: ") for sentence in sentences)


def test_a_node_cannot_greet_for_the_site_of_another(plan_with, grid_of, tmp_path, sentences):
    plan = plan_with(join_seconds=1.0, round_seconds=30.0, fewest=2)
    grid, _ = grid_of(plan)
    grid.sockets[NODES["two"]] = grid.sockets[NODES["one"]]
    assert run(grid, plan, tmp_path)["sites"] == ["one", "three", "four"]
    assert "two greets for one, which is another node" in sentences


def test_a_plan_that_differs_is_named(plan_with, grid_of, tmp_path, sentences):
    grid, _ = grid_of(plan_with())
    other = plan_with(join_seconds=0.5)
    assert "too few sites answered: none" in str(run(grid, other, tmp_path)["error"])
    assert "one: one has another plan" in sentences
