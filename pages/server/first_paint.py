"""The page's look, in the document that a browser loads before it has asked for anything.

Streamlit's own document knows nothing of it: what a page says of its looks comes a second later, by
the websocket, and moves what has been painted meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

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


class FirstPaint:
    """ASGI middleware: puts the style sheet of all pages into HTML that is served."""

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
                    await self._send_styled(scope["method"], held, send)

        await self._app(scope, receive, sent)

    async def _send_styled(self, method: str, held: list[Message], send: Send) -> None:
        start, *parts = held
        body = b"".join(part.get("body", b"") for part in parts)
        head, ends, rest = body.partition(_HEAD_ENDS)
        styled = head + self._style + ends + rest if ends else body
        headers = _without(start["headers"], _OF_THE_FILE)
        if method == "GET":
            headers.append((b"content-length", str(len(styled)).encode()))
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": styled})


def _without(headers: Iterable[Header], names: tuple[bytes, ...]) -> list[Header]:
    return [(name, value) for name, value in headers if name not in names]


def _is_html(message: Message) -> bool:
    headers = dict(message["headers"])
    # What is packed already cannot be read here; Streamlit packs inside of what wraps it.
    return headers.get(b"content-type", b"").startswith(_HTML) and (
        b"content-encoding" not in headers
    )
