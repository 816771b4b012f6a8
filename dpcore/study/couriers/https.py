"""Carries requests to a guard and messages to a hub, connecting outwards only.

The courier can read what it carries and can do nothing else; whatever it brings, the guard decides.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from dpcore.study.couriers.connection import SECONDS_TO_CONNECT, HubLine
from dpcore.study.frames import FrameError
from dpcore.study.guard import Guard, Refused
from dpcore.study.identity import JoinFile

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
# How often the same is said again of a hub that is away, in seconds.
_SAY_AGAIN = 60.0
_LEAST_PATIENCE = 600.0
_LONGEST_REPLY = 1 << 20


class Reply(NamedTuple):
    """What a hub said."""

    status: int
    request: str
    body: bytes


class Courier:
    """Between one guard and its hub.

    patience: Seconds without a word from the hub after which it gives up; by default ten minutes,
        or as long as the hub waits for sites where that is longer.
    say: Told in a sentence what happens.
    proxy: On the way to the hub, as for `proxy_for`.
    Raises `ParameterError` if the hub's address or the proxy's is none.
    """

    def __init__(
        self,
        guard: Guard,
        join: JoinFile,
        *,
        patience: float | None = None,
        say: Callable[[str], None] = lambda _: None,
        proxy: str | None = None,
    ) -> None:
        self._line = HubLine(join, proxy)
        self._guard, self._token, self._say = guard, join.token, say
        usual = max(_LEAST_PATIENCE, guard.plan.join_seconds)
        self._patience = usual if patience is None else patience

    def run(self) -> str:
        """Serve until the study has ended; its last phase, "done" or "failed".

        Raises `FrameError` if the hub refuses this site.
        Raises `OSError` if the hub cannot be reached for longer than patience lasts.
        """
        if self._line.proxy is not None:
            self._say(f"the hub is reached by the proxy {self._line.proxy}")
        joined = self._until_heard("POST", "/join", json.dumps({"key": self._guard.public_key}))
        if joined.status != http.client.OK:
            raise FrameError(f"the hub refuses this site: {_words(joined)}")
        if _study(joined.body) != self._guard.plan.digest:
            raise FrameError(
                "the hub has another plan than this join file: ask the coordinator for the present "
                "one"
            )
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
        said, said_at = "", since
        while True:
            try:
                reply = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                why = self._line.why_not(error)
            else:
                if reply.status < http.client.INTERNAL_SERVER_ERROR:
                    if said:
                        self._say("the hub is reached")
                    return reply
                why = f"the hub says {reply.status}: {_words(reply)}"
            now = time.monotonic()
            if now - since > self._patience:
                raise OSError(f"the hub could not be reached for {now - since:.0f} s: {why}")
            if why != said or now - said_at > _SAY_AGAIN:
                self._say(f"{why}; it is tried again")
                said, said_at = why, now
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(self, method: str, path: str, body: str | bytes | None) -> Reply:
        with self._told_if_slow():
            connection = self._line.connection()
        with closing(connection):
            sent = body.encode() if isinstance(body, str) else body
            connection.request(method, path, sent, {"authorization": f"Bearer {self._token}"})
            response = connection.getresponse()
            said = response.read(_LONGEST_REPLY)
            return Reply(response.status, response.headers.get("x-request", ""), said)

    @contextmanager
    def _told_if_slow(self) -> Iterator[None]:
        """Names may take long to be looked up, and several addresses to be tried."""
        where = f"{self._line.host}:{self._line.port}"
        sentence = (
            f"nothing has come back from {where} yet: is the hub running, and does the network let "
            "this machine reach it? It is tried on"
        )
        slow = threading.Timer(SECONDS_TO_CONNECT + 0.5, self._say, (sentence,))
        slow.daemon = True
        slow.start()
        try:
            yield
        finally:
            slow.cancel()


def _study(body: bytes) -> object:
    """The digest of the plan that a hub says it has."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content.get("study") if isinstance(content, dict) else None


def _words(reply: Reply) -> str:
    return reply.body[:300].decode(errors="replace") or f"status {reply.status}"
