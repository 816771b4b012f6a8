"""Carries requests to a guard and messages to a hub, connecting outwards only.

The courier can read what it carries and can do nothing else; whatever it brings, the guard decides.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple
from urllib.parse import urlsplit

from dpcore.study.frames import FrameError
from dpcore.study.guard import Guard, Refused
from dpcore.study.identity import JoinFile

_TIMEOUT = 40.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_LONGEST_REPLY = 1 << 20


class Reply(NamedTuple):
    """What a hub said."""

    status: int
    request: str
    body: bytes


class Courier:
    """Between one guard and its hub.

    patience: Seconds without a word from the hub after which it gives up.
    say: Told in a sentence what happens.
    """

    def __init__(
        self,
        guard: Guard,
        join: JoinFile,
        *,
        patience: float = 600.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        url = urlsplit(join.hub)
        self._host, self._port = url.hostname or "", url.port
        self._guard, self._token, self._context = guard, join.token, join.context()
        self._patience, self._say = patience, say

    def run(self) -> str:
        """Serve until the study has ended; its last phase, "done" or "failed".

        Raises `FrameError` if the hub refuses this site.
        Raises `OSError` if the hub cannot be reached for longer than patience lasts.
        """
        joined = self._until_heard("POST", "/join", json.dumps({"key": self._guard.public_key}))
        if joined.status != http.client.OK:
            raise FrameError(f"the hub refuses this site: {_words(joined)}")
        self._say("joined")
        while True:
            asked = self._until_heard("GET", "/ask")
            if asked.status == http.client.GONE:
                return _words(asked)
            if asked.status == http.client.OK:
                self._serve(asked)
            elif asked.status != http.client.NO_CONTENT:
                raise FrameError(f"the hub refuses this site: {_words(asked)}")

    def _serve(self, asked: Reply) -> None:
        try:
            message = self._guard.answer(asked.body)
        except Refused as refused:
            self._say(f"refused {asked.request}: {refused}")
            self._until_heard("POST", f"/refusal/{asked.request}", str(refused))
            return
        reply = self._until_heard("POST", f"/answer/{asked.request}", message)
        if reply.status == http.client.NO_CONTENT:
            self._say(f"sent {len(message):,} bytes for {asked.request}")
        else:
            self._say(f"the hub did not take the answer to {asked.request}: {_words(reply)}")

    def _until_heard(self, method: str, path: str, body: str | bytes | None = None) -> Reply:
        """Ask again, with longer and longer pauses, while the network or the hub is away."""
        since, pause = time.monotonic(), _SHORTEST_PAUSE
        while True:
            try:
                reply = self._once(method, path, body)
                if reply.status < http.client.INTERNAL_SERVER_ERROR:
                    return reply
                error: Exception = OSError(f"the hub says {reply.status}")
            except (OSError, http.client.HTTPException) as met:
                error = met
            if time.monotonic() - since > self._patience:
                raise OSError(f"the hub could not be reached: {error}") from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(self, method: str, path: str, body: str | bytes | None) -> Reply:
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=_TIMEOUT, context=self._context
        )
        with closing(connection):
            sent = body.encode() if isinstance(body, str) else body
            connection.request(method, path, sent, {"authorization": f"Bearer {self._token}"})
            response = connection.getresponse()
            said = response.read(_LONGEST_REPLY)
            return Reply(response.status, response.headers.get("x-request", ""), said)


def _words(reply: Reply) -> str:
    return reply.body[:300].decode(errors="replace") or f"status {reply.status}"
