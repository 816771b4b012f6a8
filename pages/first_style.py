"""Style of the dashboard in the first HTML document, so that the page does not move at load.

Streamlit delivers style sheets together with the elements of a page, and opens the sidebar after
its first elements. It loads the code of a kind of element when the first one is drawn, and shows a
grey bar of another height meanwhile. All three move elements that are already visible.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_STYLE = Path(__file__).parent / "components" / "style.css"
# Only Streamlit's own document has this title; HTML files for download stay as they are.
_TITLE = b"<title>Streamlit</title>"
# The sidebar opens, and pushes the page, in a frame after the one that draws its elements.
_HIDE = """
.stAppViewContainer { transition: visibility 0s .2s; }
.stApp:not(:has(.sidebar-is-there, .stException)) .stAppViewContainer {
  visibility: hidden; transition: none;
}
.stMainBlockContainer:has(
  > .stVerticalBlock > :nth-child(-n+4):not(.st-key-theme_watch) > [data-testid="stSkeleton"]
) { visibility: hidden; }
"""


def show_page() -> None:
    """Make the page visible, which is hidden until its sidebar has been drawn."""
    st.html("<span class='sidebar-is-there'></span>")


class FirstStyle:
    """Middleware that writes the style sheet into the head of the served HTML document."""

    def __init__(self, app: ASGIApp):
        self.app = app
        style = _STYLE.read_text(encoding="utf-8") + _HIDE
        self.addition = f"<style>{style}</style>".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, and add the style to the answer if it is Streamlit's document."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if "text/html" in Headers(scope=scope).get("accept", ""):
            # A compressed document could not be changed.
            request_headers = [
                header for header in scope["headers"] if header[0] != b"accept-encoding"
            ]
            scope = {**scope, "headers": request_headers}
        start: Message | None = None
        body = b""

        async def send_changed(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                if headers.get("content-type", "").startswith("text/html"):
                    start = message
                    return
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body", False):
                return
            body = body.replace(_TITLE, _TITLE + self.addition, 1)
            headers = MutableHeaders(raw=start["headers"])
            headers["content-length"] = str(len(body))
            del headers["etag"], headers["last-modified"]  # validators of the unchanged document
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self.app(scope, receive, send_changed)
