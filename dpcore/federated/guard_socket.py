"""The Unix socket between a guard and the courier of its site.

A call is one byte for its kind, the length of a body and the body. A reply has the same form, with
a status instead of a kind. The courier may run under another user in the socket's group, and needs
no access to any other file of the guard.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dpcore.federated.guard import Guard

GREET, ASK = "greet", "ask"
ANSWERED, REFUSED, CONFLICT, ABSENT = "answered", "refused", "conflict", "absent"
_KINDS = {GREET: b"G", ASK: b"A"}
_STATUSES = {ANSWERED: b"+", REFUSED: b"-", CONFLICT: b"!"}
_LENGTH = struct.Struct("<I")
_SECONDS_TO_CALL, _SECONDS_TO_STOP, _LONGEST_REPLY = 60, 0.05, 1 << 28


class Reply(NamedTuple):
    """Reply of a guard.

    status: {"answered", "refused", "conflict", "absent"}. A conflict is a refusal that a new
        attempt resolves; an absent guard did not reply.
    body: Message or greeting if answered, otherwise one sentence.
    """

    status: str
    body: bytes


@contextmanager
def serve_guard(guard: Guard, path: Path | str) -> Iterator[None]:
    """Serve a guard at a Unix socket until the context ends.

    path: Path of the socket. Its owner and group may connect. A socket whose process
        has ended is replaced.

    Raises `OSError` if the path exists.
    """
    from dpcore.federated.guard import AttemptConflict, RequestRefused
    from dpcore.federated.messages import longest_request

    def reply_to(kind: bytes, read: Callable[[int], bytes]) -> Reply:
        (length,) = _LENGTH.unpack(read(_LENGTH.size))
        if kind == _KINDS[GREET] and length == 0:
            return Reply(ANSWERED, guard.greeting.json())
        if kind != _KINDS[ASK] or length > longest_request(guard.plan):
            return Reply(REFUSED, b"a call of an unknown kind or of more bytes than the plan needs")
        try:
            return Reply(ANSWERED, guard.answer(read(length)))
        except AttemptConflict as conflict:
            return Reply(CONFLICT, str(conflict).encode())
        except RequestRefused as refused:
            return Reply(REFUSED, str(refused).encode())

    class Handler(StreamRequestHandler):
        timeout = _SECONDS_TO_CALL

        def handle(self) -> None:
            try:
                reply = reply_to(self.rfile.read(1), self.rfile.read)
                head = _STATUSES[reply.status] + _LENGTH.pack(len(reply.body))
                self.wfile.write(head + reply.body)
            except (OSError, struct.error):
                return

    path = Path(path)
    if path.is_socket() and not _is_served(path):
        path.unlink()
    mask = os.umask(0o117)
    try:
        server = ThreadingUnixStreamServer(str(path), Handler)
    finally:
        os.umask(mask)
    with server:
        threading.Thread(target=server.serve_forever, args=(_SECONDS_TO_STOP,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            path.unlink(missing_ok=True)


def call_guard(path: Path | str, kind: str, body: bytes = b"", *, seconds: float) -> Reply:
    """Return the reply of the guard at a socket; its status is "absent" if there is none.

    kind: {"greet", "ask"}
    body: Request, if the kind is "ask".
    seconds: Longest wait for the reply.
    """
    try:
        with closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(seconds)
            connection.connect(str(path))
            connection.sendall(_KINDS[kind] + _LENGTH.pack(len(body)) + body)
            with connection.makefile("rb") as stream:
                return _read_reply(stream.read)
    except OSError as error:
        return Reply(ABSENT, f"no guard answers at its socket ({error})".encode())


def _read_reply(read: Callable[[int], bytes]) -> Reply:
    mark, head = read(1), read(_LENGTH.size)
    for status, its_mark in _STATUSES.items():
        if mark == its_mark and len(head) == _LENGTH.size:
            (length,) = _LENGTH.unpack(head)
            body = read(min(length, _LONGEST_REPLY))
            if len(body) == length:
                return Reply(status, body)
    raise OSError("the guard closed the connection")


def _is_served(path: Path) -> bool:
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
        return True
