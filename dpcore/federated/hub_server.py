"""The hub on the network: sites come to it, and it goes to nobody.

HTTPS with TLS 1.3, a certificate from each side and a token a site. A site waits at `/ask` until it
is asked something. Bodies are read no further than the plan says they can be.
"""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dpcore.errors import ParameterError
from dpcore.federated.hub import Hub, only_hub
from dpcore.federated.identity import MOST_PORT, HubIdentity
from dpcore.federated.wire_messages import FrameError, frame_length

LONGEST_WAIT = 20.0
_LONGEST_SMALL_BODY = 2048
_LONGEST_UPLOAD_SECONDS = 60.0
_TICK, _LOOK = 0.2, 0.05
_MOST_CONNECTIONS = 1000


class _Unwelcome(Exception):
    """Refused before anything is done: status and sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class HubServer:
    """A hub's routes."""

    def __init__(self, hub: Hub, identity: HubIdentity) -> None:
        self.hub, self.identity = hub, identity
        self.app = Starlette(
            routes=[
                Route("/join", self._join, methods=["POST"]),
                Route("/ask", self._ask),
                Route("/answer/{request:str}", self._answer, methods=["POST"]),
                Route("/refusal/{request:str}", self._refusal, methods=["POST"]),
                Route("/state", self._state),
            ],
            exception_handlers={_Unwelcome: _say, FrameError: _say, ClientDisconnect: _say},
            lifespan=self._ticking,
        )

    @asynccontextmanager
    async def _ticking(self, _: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            task.cancel()

    async def _tick(self) -> None:
        while True:
            with suppress(Exception):  # time goes on, whatever is met
                await run_in_threadpool(self.hub.tick)
            await asyncio.sleep(_TICK)

    async def _join(self, http: HttpRequest) -> Response:
        site = self._site(http)
        try:
            content = json.loads(await _body(http, _LONGEST_SMALL_BODY))
        except ValueError:
            raise _Unwelcome(400, "a join that is no JSON") from None
        key = content.get("key") if isinstance(content, dict) else ""
        await run_in_threadpool(self.hub.join, site, str(key))
        return JSONResponse({"study": self.hub.plan.digest})

    async def _ask(self, http: HttpRequest) -> Response:
        """What the site is asked, as soon as there is something; 204 if not for a while."""
        site, waited = self._site(http), 0.0
        while not self.hub.state.has_ended:
            if request := self.hub.asks(site):
                return Response(request.json(), headers={"x-request": request.id})
            if waited >= LONGEST_WAIT or await http.is_disconnected():
                return Response(status_code=204)
            await asyncio.sleep(_LOOK)
            waited += _LOOK
        return PlainTextResponse(self.hub.state.phase, status_code=410)

    async def _answer(self, http: HttpRequest) -> Response:
        site = self._site(http)
        longest = max(frame_length(self.hub.plan, round_) for round_ in ("sum", "moment"))
        raw, request_id = await _body(http, longest), http.path_params["request"]
        try:
            await run_in_threadpool(self.hub.receive, site, request_id, raw)
        except FrameError as error:
            # Nothing damages a message within TLS: the site would send the same again.
            await run_in_threadpool(self.hub.refuse, site, request_id, str(error))
            raise
        return Response(status_code=204)

    async def _refusal(self, http: HttpRequest) -> Response:
        site = self._site(http)
        sentence = (await _body(http, _LONGEST_SMALL_BODY)).decode(errors="replace")
        await run_in_threadpool(self.hub.refuse, site, http.path_params["request"], sentence)
        return Response(status_code=204)

    async def _state(self, http: HttpRequest) -> Response:
        self._site(http)
        return JSONResponse({"study": self.hub.plan.digest, **asdict(self.hub.state)})

    def _site(self, http: HttpRequest) -> str:
        return _site_of(self.identity, http)


def _site_of(identity: HubIdentity, http: HttpRequest) -> str:
    scheme, _, token = http.headers.get("authorization", "").partition(" ")
    site = identity.site_of(token) if scheme == "Bearer" else None
    if site is None:
        raise _Unwelcome(401, "a token that this study has not given out")
    return site


class CheckServer:
    """What answers before the day: each site that asks with its token learns that it would be in.

    seen: Told the site's name.
    """

    def __init__(self, identity: HubIdentity, seen: Callable[[str], None]) -> None:
        self.identity, self._seen = identity, seen
        self.app = Starlette(
            routes=[
                Route("/state", self._state),
                Route("/{rest:path}", self._wait, methods=["GET", "POST"]),
            ],
            exception_handlers={_Unwelcome: _say, ClientDisconnect: _say},
        )

    async def _state(self, http: HttpRequest) -> Response:
        site = _site_of(self.identity, http)
        await run_in_threadpool(self._seen, site)
        return JSONResponse({"study": self.identity.plan.digest, "phase": "a check"})

    async def _wait(self, http: HttpRequest) -> Response:
        _site_of(self.identity, http)
        return PlainTextResponse("this is a check, and the study has not begun", 503)


async def _body(http: HttpRequest, longest: int) -> bytes:
    raw = bytearray()
    try:
        async with asyncio.timeout(_LONGEST_UPLOAD_SECONDS):
            async for part in http.stream():
                raw += part
                if len(raw) > longest:
                    raise _Unwelcome(413, f"more than the {longest:,} bytes that this can be")
    except TimeoutError:
        raise _Unwelcome(408, "a body that took too long") from None
    return bytes(raw)


async def _say(_: HttpRequest, error: Exception) -> Response:
    status = error.status if isinstance(error, _Unwelcome) else 409
    # Of a body that nobody wants no more is read.
    return PlainTextResponse(str(error)[:300], status, headers={"connection": "close"})


@contextmanager
def serving(hub: Hub, identity: HubIdentity, host: str, port: int) -> Iterator[Callable[[], bool]]:
    """The hub answers at this address, from a thread, until the context is left.

    What the context has tells whether it still does.

    Raises `ParameterError` if the address cannot be listened at, or the hub runs already.
    Raises `OSError` if the server does not start.
    """
    with only_hub(hub.folder), _listening(host, port) as listening:
        yield from _served(HubServer(hub, identity).app, identity, listening)


@contextmanager
def check_serving(
    identity: HubIdentity, host: str, port: int, seen: Callable[[str], None]
) -> Iterator[Callable[[], bool]]:
    """`CheckServer` at this address, from a thread, until the context is left.

    Raises `ParameterError` if the address cannot be listened at.
    Raises `OSError` if the server does not start.
    """
    with _listening(host, port) as listening:
        yield from _served(CheckServer(identity, seen).app, identity, listening)


def _served(
    app: Starlette, identity: HubIdentity, listening: socket.socket
) -> Iterator[Callable[[], bool]]:
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        ssl_certfile=identity.certificate,
        ssl_keyfile=identity.key,
        ssl_ca_certs=str(identity.authority),
        ssl_cert_reqs=ssl.CERT_REQUIRED,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_3
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while thread.is_alive() and not server.started:
        time.sleep(_LOOK)
    if not thread.is_alive():
        raise OSError("the hub's server does not start")
    try:
        yield thread.is_alive
    finally:
        server.should_exit = True
        with suppress(RuntimeError):
            thread.join(5)


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens, so that a second program at the port is refused at once."""
    if type(port) is not int or not 1 <= port <= MOST_PORT:
        raise ParameterError("port", f"a whole number from 1 to {MOST_PORT}", port)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ParameterError("host", "an address of this machine", host) from error
    family, _, _, _, address = found[0]
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            listening.listen(_MOST_CONNECTIONS)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                wish = f"free at {host}, where another program listens"
                raise ParameterError("port", wish, port) from error
            if error.errno == errno.EACCES:
                raise ParameterError("port", "one that this user may listen at", port) from error
            raise ParameterError("host", "an address of this machine", host) from error
        yield listening
