"""A guard behind a socket of its own machine, for couriers that other software brings along.

A courier connects to a Unix socket, says one thing and hears one: b"J" (who is here?) or b"A"
(answer this), the length of a body (32 bits, little-endian) and the body; b"+" or b"-" comes back,
a length, and what the guard says or why it refuses. So whatever runs as the courier, under a user
that may open the socket and nothing else of the guard's, has the messages and never a row.
"""

from __future__ import annotations

import json
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
    from dpcore.study.guard import Guard

JOIN, ASK = b"J", b"A"
_SAID, _REFUSED = b"+", b"-"
_LENGTH = struct.Struct("<I")
_SECONDS_TO_SAY, _POLL, _LONGEST_REPLY = 60, 0.05, 1 << 28


class Heard(NamedTuple):
    """What a guard said: a message, or why not."""

    is_said: bool
    body: bytes


@contextmanager
def door(guard: Guard, token: str, path: Path | str) -> Iterator[None]:
    """Open a guard's door until the context is left.

    token: Of the join file; a courier sees a proof of it, and not the token.
    path: path. Of the socket. Its owner and group may use it.
    Raises `OSError` if there is something at the path.
    """
    from dpcore.study.frames import longest_request
    from dpcore.study.guard import Refused
    from dpcore.study.identity import proof_of

    def answered(kind: bytes, read: Callable[[int], bytes]) -> Heard:
        (length,) = _LENGTH.unpack(read(_LENGTH.size))
        if kind == JOIN and length == 0:
            proof = proof_of(guard.plan, token, guard.public_key)
            who = {"site": guard.site, "key": guard.public_key, "proof": proof}
            return Heard(True, json.dumps(who).encode())
        if kind != ASK or length > longest_request(guard.plan):
            return Heard(False, b"nothing that a guard can be asked")
        try:
            return Heard(True, guard.answer(read(length)))
        except Refused as refused:
            return Heard(False, str(refused).encode())

    class Handler(StreamRequestHandler):
        timeout = _SECONDS_TO_SAY

        def handle(self) -> None:
            try:
                heard = answered(self.rfile.read(1), self.rfile.read)
            except (OSError, struct.error):
                return
            self.wfile.write(_SAID if heard.is_said else _REFUSED)
            self.wfile.write(_LENGTH.pack(len(heard.body)) + heard.body)

    mask = os.umask(0o117)
    try:
        server = ThreadingUnixStreamServer(str(path), Handler)
    finally:
        os.umask(mask)
    with server:
        threading.Thread(target=server.serve_forever, args=(_POLL,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            Path(path).unlink(missing_ok=True)


def knock(path: Path | str, kind: bytes, body: bytes = b"", *, seconds: float) -> Heard:
    """What a courier does at a guard's door.

    path: path
    kind: {b"J", b"A"}
    body: A request.
    seconds: How long the guard, or the person whom it asks, may take.
    Raises `OSError` if nobody opens, or says anything in time.
    """
    with closing(socket.socket(socket.AF_UNIX)) as line:
        line.settimeout(seconds)
        line.connect(str(path))
        line.sendall(kind + _LENGTH.pack(len(body)) + body)
        with line.makefile("rb") as said:
            is_said = said.read(1) == _SAID
            head = said.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                raise OSError("the guard hung up")
            (length,) = _LENGTH.unpack(head)
            return Heard(is_said, said.read(min(length, _LONGEST_REPLY)))
