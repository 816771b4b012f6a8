"""The hub on the network: sites come to it, and it goes to nobody.

HTTPS with TLS 1.3, a certificate from each side and a token a site. A site waits at `/ask` until it
is asked something. Bodies are read no further than the plan says they can be.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dpcore.study.frames import FrameError, frame_length
from dpcore.study.hub import Hub
from dpcore.study.identity import HubIdentity

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
        raw = await _body(http, longest)
        await run_in_threadpool(self.hub.receive, site, http.path_params["request"], raw)
        return Response(status_code=204)

    async def _refusal(self, http: HttpRequest) -> Response:
        site = self._site(http)
        sentence = (await _body(http, _LONGEST_SMALL_BODY)).decode(errors="replace")
        await run_in_threadpool(self.hub.refuse, site, http.path_params["request"], sentence)
        return Response(status_code=204)

    async def _state(self, http: HttpRequest) -> Response:
        self._site(http)
        return JSONResponse(asdict(self.hub.state))

    def _site(self, http: HttpRequest) -> str:
        scheme, _, token = http.headers.get("authorization", "").partition(" ")
        site = self.identity.site_of(token) if scheme == "Bearer" else None
        if site is None:
            raise _Unwelcome(401, "a token that this study has not given out")
        return site


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
def serving(hub: Hub, identity: HubIdentity, host: str, port: int) -> Iterator[None]:
    """The hub answers at this address, from a thread, until the context is left.

    Raises `OSError` if the address cannot be listened at.
    """
    config = uvicorn.Config(
        HubServer(hub, identity).app,
        host=host,
        port=port,
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
    listening = config.bind_socket()
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while thread.is_alive() and not server.started:
        time.sleep(_LOOK)
    try:
        yield
    finally:
        server.should_exit = True
        with suppress(RuntimeError):
            thread.join(5)
        listening.close()
