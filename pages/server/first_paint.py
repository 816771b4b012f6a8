"""What a browser asks for before it has a page: the page's look, and where the server is.

Streamlit's own document knows nothing of the look: what a page says of it comes a second later, by
the websocket, and moves what has been painted meanwhile. And where it is not told where the server
is, a browser asks for its health and configuration below the page's own path first: two 404s.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

import streamlit as st

Message = MutableMapping[str, Any]
Header = tuple[bytes, bytes]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Message, Receive, Send], Awaitable[None]]

_LOOK = Path(__file__).parents[1] / "shell" / "shell.css"
_HEAD_ENDS = b"</head>"
_HTML = b"text/html"
# Headers of a request that would have it answered without its content, where the file is unchanged,
# or packed, where nothing can be put into it; and of an answer that are true of the file alone.
_CONDITIONS = (b"if-none-match", b"if-modified-since", b"accept-encoding")
_OF_THE_FILE = (b"content-length", b"etag", b"last-modified", b"accept-ranges")


# A page's address: what else a path may end in is not put into HTML.
_PAGE = re.compile(r"[a-z0-9_]+")


class FirstPaint:
    """ASGI middleware: puts the style sheet of all pages, and where the server is, into HTML."""

    def __init__(self, app: ASGIApp):
        self._app = app
        self._style = f"<style>{_LOOK.read_text(encoding='utf-8')}</style>".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        if _HTML in dict(scope["headers"]).get(b"accept", b""):
            # What a browser has kept may have an older look, or none.
            scope = {**scope, "headers": _without(scope["headers"], _CONDITIONS)}
        held: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_html(message):
                held.append(message)
            elif not held:
                await send(message)
            else:
                held.append(message)
                if not message.get("more_body", False):
                    await self._send_styled(scope, held, send)

        await self._app(scope, receive, sent)

    async def _send_styled(self, scope: Message, held: list[Message], send: Send) -> None:
        start, *parts = held
        body = b"".join(part.get("body", b"") for part in parts)
        head, ends, rest = body.partition(_HEAD_ENDS)
        added = self._style + _base_script(scope["path"])
        styled = head + added + ends + rest if ends else body
        headers = _without(start["headers"], _OF_THE_FILE)
        if scope["method"] == "GET":
            headers.append((b"content-length", str(len(styled)).encode()))
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": styled})


def _base_script(path: str) -> bytes:
    """Script by which Streamlit's browser asks the server above a page's own path.

    A proxy may have taken the beginning of the path away, which the browser knows and we do not.
    """
    name = path.rpartition("/")[2]
    if not _PAGE.fullmatch(name) or path.strip("/") == str(st.get_option("server.baseUrlPath")):
        return b""
    return (
        f'<script>if (location.pathname.endsWith("/{name}")) window.__streamlit = '
        "{...window.__streamlit, BACKEND_BASE_URL: "
        f'location.origin + location.pathname.slice(0, -"{name}".length)}}</script>'
    ).encode()


def _without(headers: Iterable[Header], names: tuple[bytes, ...]) -> list[Header]:
    return [(name, value) for name, value in headers if name not in names]


def _is_html(message: Message) -> bool:
    headers = dict(message["headers"])
    # What is packed already cannot be read here; Streamlit packs inside of what wraps it.
    return headers.get(b"content-type", b"").startswith(_HTML) and (
        b"content-encoding" not in headers
    )
