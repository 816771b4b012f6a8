"""Between a hub and whatever other software carries its bytes to guards' doors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dpcore.study.couriers.door import ASK, JOIN, Heard

if TYPE_CHECKING:
    from dpcore.study.hub import Hub
    from dpcore.study.identity import HubIdentity

# Whatever tells one of the software's ends at the sites from another.
Node = TypeVar("Node")
# As at a door: a kind and a body.
Told: TypeAlias = tuple[bytes, bytes]

# Flower begins a process at a site for every message, which takes a busy machine its time.
_LOOK, _TO_JOIN = 1.0, 60.0


def serve(
    hub: Hub,
    identity: HubIdentity,
    nodes: Callable[[], Iterable[Node]],
    exchange: Callable[[Mapping[Node, Told], float], Mapping[Node, Heard]],
) -> None:
    """Bring a hub's requests to nodes, and what these say back, until the study has ended.

    nodes: Who is there now.
    exchange: Brings each of these nodes what it is told, and what their guards say within so many
        seconds back.
    Raises `ParameterError` if another program is the hub of this folder.
    """
    from dpcore.study.hub import only_hub

    with only_hub(hub.folder):
        _serve(hub, identity, nodes, exchange)


def _serve(
    hub: Hub,
    identity: HubIdentity,
    nodes: Callable[[], Iterable[Node]],
    exchange: Callable[[Mapping[Node, Told], float], Mapping[Node, Heard]],
) -> None:
    site_of: dict[Node, str] = {}
    while not hub.state.has_ended:
        new = [node for node in nodes() if node not in site_of]
        left = max(_LOOK, hub.state.deadline - time.time())
        if hub.state.phase == "joining" and new:
            joining = exchange(dict.fromkeys(new, (JOIN, b"")), min(left, _TO_JOIN))
            for node, heard in joining.items():
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


def heard_from(record: Mapping[str, Any]) -> Heard:
    """What a site's end has sent, whatever it is; of one that lies nothing is believed.

    record: With `said`, whether the guard has answered, and `body`.
    """
    body = record.get("body")
    if not isinstance(body, bytes):
        return Heard(False, b"no answer of a guard")
    return Heard(record.get("said") is True, body)


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
