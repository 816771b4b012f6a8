"""A study over Flower: its apps carry bytes between a hub at the SuperLink and guards' doors.

`client_app` is all that runs at a site under Flower's user, and it knows the way to a door and
nothing else. What Flower itself may do at a site, and how to shut that off, is in `docs/flower.md`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.study.couriers.door import ASK, JOIN, Heard, knock

if TYPE_CHECKING:
    from dpcore.study.hub import Hub
    from dpcore.study.identity import HubIdentity

# What each node is told, and for how long one waits; what those say that answer.
Exchange = Callable[[Mapping[int, tuple[bytes, bytes]], float], Mapping[int, Heard]]

_RECORD, _LOOK = "study", 1.0


def serve(
    hub: Hub, identity: HubIdentity, nodes: Callable[[], Sequence[int]], exchange: Exchange
) -> None:
    """Bring a hub's requests to nodes, and what these say back, until the study has ended.

    Parameters
    ----------
    hub : Hub
    identity : HubIdentity
    nodes : callable
        Who is there now.
    exchange : callable
        Carries.
    """
    site_of: dict[int, str] = {}
    while not hub.state.has_ended:
        new = [node for node in nodes() if node not in site_of]
        if hub.state.phase == "joining" and new:
            for node, heard in exchange(dict.fromkeys(new, (JOIN, b"")), _LOOK * 10).items():
                if site := _joined(hub, identity, heard):
                    site_of[node] = site
        asked = {node: request for node, site in site_of.items() if (request := hub.asks(site))}
        told = {node: (ASK, request.json()) for node, request in asked.items()}
        if told:
            left = max(_LOOK, hub.state.deadline - time.time())
            for node, heard in exchange(told, left).items():
                _take(hub, site_of[node], asked[node].id, heard)
        else:
            time.sleep(_LOOK)
        hub.tick()


def _joined(hub: Hub, identity: HubIdentity, heard: Heard) -> str:
    """The site that has joined, if it is one."""
    from dpcore.study.frames import FrameError

    try:
        who = json.loads(heard.body)
        site, key, proof = (str(who[name]) for name in ("site", "key", "proof"))
        if heard.is_said and identity.is_proven(site, key, proof):
            hub.join(site, key)
            return site
    except (ValueError, KeyError, TypeError, RecursionError, FrameError):
        pass
    return ""


def _take(hub: Hub, site: str, request_id: str, heard: Heard) -> None:
    from dpcore.study.frames import FrameError

    if not heard.is_said:
        hub.refuse(site, request_id, heard.body[:300].decode(errors="replace"))
        return
    try:
        hub.receive(site, request_id, heard.body)
    except FrameError as error:
        hub.refuse(site, request_id, str(error))


def client_app() -> Any:
    """What Flower runs at a site: the node's setting `door` says where the guard's socket is."""
    from flwr.app import ConfigRecord, Context, Message, RecordDict
    from flwr.clientapp import ClientApp

    def carry(message: Message, context: Context) -> Message:
        told = message.content[_RECORD]
        try:
            path, seconds = str(context.node_config["door"]), float(told["seconds"])
            heard = knock(path, told["kind"], told["body"], seconds=seconds)
        except OSError as error:
            heard = Heard(False, f"no guard answers: {error}".encode())
        said = ConfigRecord({"said": heard.is_said, "body": heard.body})
        return Message(RecordDict({_RECORD: said}), reply_to=message)

    app = ClientApp()
    app.query()(carry)
    return app


def server_app() -> Any:
    """What Flower runs beside the SuperLink: the run's setting `study` is the folder of `init`."""
    from flwr.app import ConfigRecord, Context, Message, RecordDict
    from flwr.serverapp import Grid, ServerApp

    from dpcore.study.hub import Hub
    from dpcore.study.identity import hub_identity

    def main(grid: Grid, context: Context) -> None:
        folder = Path(str(context.run_config["study"]))
        identity = hub_identity(folder)

        def exchange(told: Mapping[int, tuple[bytes, bytes]], seconds: float) -> dict[int, Heard]:
            messages = [
                Message(
                    RecordDict({_RECORD: ConfigRecord(
                        {"kind": kind, "body": body, "seconds": seconds})}),
                    dst_node_id=node, message_type="query",
                )
                for node, (kind, body) in told.items()
            ]  # fmt: skip
            replies = grid.send_and_receive(messages, timeout=seconds)
            return {
                each.metadata.src_node_id: Heard(
                    each.content[_RECORD]["said"], each.content[_RECORD]["body"]
                )
                for each in replies
                if not each.has_error()
            }

        hub = Hub(identity.plan, folder / "hub")
        serve(hub, identity, lambda: list(grid.get_node_ids()), exchange)

    app = ServerApp()
    app.main()(main)
    return app
