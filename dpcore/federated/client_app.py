"""Flower's ClientApp: a courier between a SuperNode and the guard of its site.

Flower runs submitted code at a site under the SuperNode's user. That user needs access to the
guard's socket and to nothing else: no rows, no project folder. The node setting `guard` is the path
of the socket.
"""

from __future__ import annotations

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from dpcore.federated.guard_socket import ABSENT, ASK, GREET, Reply, call_guard

RECORD = "federated"
app = ClientApp()


@app.query()
def forward_call(message: Message, context: Context) -> Message:
    """Pass a call to the guard and its reply back."""
    call = message.content.config_records[RECORD]
    kind, body, seconds = call["kind"], call["body"], call["seconds"]
    path = context.node_config.get("guard")
    if kind not in (GREET, ASK) or not isinstance(body, bytes) or not isinstance(seconds, float):
        reply = Reply(ABSENT, b"the call has another form")
    elif not path:
        reply = Reply(ABSENT, b"the node setting `guard` is missing")
    else:
        reply = call_guard(str(path), str(kind), body, seconds=seconds)
    content = ConfigRecord({"status": reply.status, "body": reply.body})
    return Message(RecordDict({RECORD: content}), reply_to=message)
