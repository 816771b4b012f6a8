"""A study over Flower: its apps carry bytes between a hub at the SuperLink and guards' doors.

`client_app` is all that runs at a site under Flower's user, and it knows the way to a door and
nothing else. What Flower itself may do at a site, and how to shut that off, is in `docs/flower.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcore.federated.couriers import Heard, knock

_RECORD = "study"


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

    from dpcore.federated.couriers import Told, heard_from, serve
    from dpcore.federated.hub import Hub
    from dpcore.federated.identity import hub_identity

    def main(grid: Grid, context: Context) -> None:
        folder = Path(str(context.run_config["study"]))
        identity = hub_identity(folder)

        def exchange(told: Mapping[int, Told], seconds: float) -> dict[int, Heard]:
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
                each.metadata.src_node_id: heard_from(each.content.config_records.get(_RECORD, {}))
                for each in replies
                if not each.has_error()
            }

        hub = Hub(identity.plan, folder / "hub")
        serve(hub, identity, lambda: list(grid.get_node_ids()), exchange)

    app = ServerApp()
    app.main()(main)
    return app
