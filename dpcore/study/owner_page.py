"""The owner's page at a site: HTML of this machine alone, that loads nothing and runs no script.

It is served on loopback under an address that holds a secret, so that neither another site in the
owner's browser nor another user of the machine can press its buttons.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dpcore.errors import ParameterError
from dpcore.privacy.guarantee_card import say_delta, say_number
from dpcore.releases.certificate import share_in_words
from dpcore.releases.project import Project
from dpcore.study.frames import request_from, values_from
from dpcore.study.guard import kept_message, log_of
from dpcore.study.owner import WORDS, Desk, attempts_left, picture, promised
from dpcore.study.plan import StudyPlan

LOOPBACK = "127.0.0.1"
_SHOWN, _LOG_READ = 50, 1 << 16
_SECONDS, _POLL = 10, 0.05
_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.asks { border: 2px solid #c8501e; border-radius: 8px; padding: .5rem 1rem; }
button { font: inherit; padding: .5rem 1.2rem; margin: 0 .6rem .5rem 0; cursor: pointer; }
meter { width: 100%; height: 1.4rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .4rem .6rem .4rem 0;
         border-bottom: 1px solid #8884; overflow-wrap: break-word; }
img { width: 5rem; max-height: 5rem; image-rendering: pixelated; }
small { opacity: .75; overflow-wrap: anywhere; }
"""
_LEAVES = {
    "securesum": "under masks that go only when all sites' messages are added up: alone it is a "
    "random number for whoever looks",
    "cape": "under masks that go only when all sites' messages are added up, and with a part of "
    "the noise",
    "sequential": "with this site's own noise; of the second moment the leading directions alone, "
    "of this site and those before it together",
    "full": "with this site's own noise",
    "dpdis": "with this site's own noise; of the second moment the leading directions alone",
}


@dataclass(frozen=True)
class Office:
    """What an owner's page is about.

    desk: None where nobody is asked.
    """

    plan: StudyPlan
    site: str
    project: Project
    desk: Desk | None = None
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(18))


@contextmanager
def owner_page(office: Office, port: int = 0) -> Iterator[str]:
    """Serve the page on loopback until the context is left; its address.

    port: 0 for one that is free.
    Raises `ParameterError` if the port is taken, or none.
    """

    class Handler(_Page):
        at = office

    try:
        served = ThreadingHTTPServer((LOOPBACK, port), Handler)
    except (OSError, OverflowError) as error:
        raise ParameterError("page_port", "free on this machine, from 1 to 65535", port) from error
    with served as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(_POLL,), daemon=True).start()
        try:
            yield f"http://{LOOPBACK}:{server.server_port}/{office.secret}/"
        finally:
            server.shutdown()


class _Page(BaseHTTPRequestHandler):
    at: Office
    timeout = _SECONDS

    def do_GET(self) -> None:
        """The page, or the picture of a message."""
        place = self._place()
        if place == "":
            self._send(page(self.at).encode(), "text/html; charset=utf-8")
        elif place is not None and place.endswith(".png"):
            self._picture(place.removesuffix(".png"))
        else:
            self._refuse()

    def do_POST(self) -> None:
        """The owner's word, in the address: yes/REQUEST or no/REQUEST."""
        word, _, request_id = (self._place() or "").partition("/")
        if self.at.desk is None or word not in ("yes", "no"):
            return self._refuse()
        self.at.desk.decide(request_id, word == "yes")
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/{self.at.secret}/")
        self.send_header("Content-Length", "0")
        return self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Addresses hold the secret, and are written down nowhere."""

    def _place(self) -> str | None:
        """What comes after the secret, if whoever asks knows it and means this machine."""
        port = self.connection.getsockname()[1]
        _, _, rest = self.path.partition("/")
        secret, _, place = rest.partition("/")
        meant = self.headers.get("Host") in (f"{LOOPBACK}:{port}", f"localhost:{port}")
        known = secrets.compare_digest(secret.encode(), self.at.secret.encode())
        return place if meant and known else None

    def _picture(self, request_id: str) -> None:
        plan, site = self.at.plan, self.at.site
        try:
            asked, message = kept_message(self.at.project, plan, request_id)
            request = request_from(asked, plan)
            body = picture(plan, request.round, values_from(message, plan, request, site))
        except (OSError, ValueError):
            return self._refuse()
        return self._send(body, "image/png", "max-age=86400, immutable")

    def _refuse(self) -> None:
        self._send(b"not here", "text/plain", status=HTTPStatus.NOT_FOUND)

    def _send(
        self, body: bytes, kind: str, cache: str = "no-store", status: int = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", cache),
            ("Content-Security-Policy", _POLICY),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def page(office: Office) -> str:
    """What the owner of a site sees."""
    plan, desk = office.plan, office.desk
    waits = desk is not None and desk.waiting is not None
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="{3 if waits else 5}">
<title>{"Asks: " if waits else ""}{escape(office.site)} in {escape(plan.name)}</title>
<style>{_STYLE}</style>
<h1>{escape(office.site)} in the study “{escape(plan.name)}”</h1>
{_question(office)}
<h2>What is left to spend</h2>{_budget(office)}
<h2>What was asked, and what left</h2>{_account(office)}
<h2>What this site has agreed to</h2>
<p>{escape(_agreed(plan))}</p><p><small>Plan {plan.digest}</small></p>
</html>
"""


def _question(office: Office) -> str:
    desk = office.desk
    waiting = desk.waiting if desk is not None else None
    if desk is None or waiting is None:
        asked = "Nothing waits for your word." if desk else "Requests are answered by themselves."
        return f"<p>{asked}</p>"
    request, root = waiting.request, f"/{office.secret}"
    buttons = "".join(
        f'<form method="post" action="{root}/{word}/{request.id}" style="display:inline">'
        f"<button>{label}</button></form>"
        for word, label in (("yes", "Let it leave"), ("no", "Refuse"))
    )
    return f"""<div class="asks" role="alert"><p><strong>The hub asks for
{WORDS[request.round]}</strong>, {_LEAVES[office.plan.protocol]} (attempt {request.attempt}).</p>
<p>Among {escape(", ".join(request.roster))}.
Refused by itself in {desk.seconds_left:.0f} s.</p>{buttons}</div>"""


def _budget(office: Office) -> str:
    total, plan = office.project.total(), office.plan
    left = attempts_left(plan, office.project)
    more = "no more attempt" if not left else f"{left} more attempt{'s' if left > 1 else ''}"
    return f"""<meter min="0" max="1" value="{total.share}" aria-label="used of the cap"></meter>
<p>{share_in_words(total.share)} of the cap is used (of μ²: equal attempts use equal parts).
The cap, ε = {say_delta(total.cap_epsilon)} at δ = {say_delta(total.cap_delta)}, was fixed
beforehand and holds for everything that is ever released about these people, together, whenever it
stops. It admits {more} of this study (ε = {say_number(plan.epsilon)} each, alone).</p>"""


def _account(office: Office) -> str:
    lines = log_of(office.project, _LOG_READ)[-_SHOWN:][::-1]
    if not lines:
        return "<p>Nothing yet.</p>"
    rows = "".join(_line(office, line) for line in lines)
    return f"<table><tr><th>when</th><th>asked</th><th>left</th><th>picture</th></tr>{rows}</table>"


def _line(office: Office, line: dict[str, Any]) -> str:
    plan, request_id = office.plan, str(line.get("request", ""))
    attempt, _, round_ = request_id.partition("-")
    asked = f"attempt {attempt}: {WORDS[round_]}" if round_ in WORDS else str(line["asked"])[:80]
    left = f"refused: {line['refused']}" if line["refused"] else f"{line['bytes']:,} bytes"
    seen = ""
    if not line["refused"] and line.get("study") == plan.name:
        seen = f'<img src="/{office.secret}/{escape(request_id)}.png" alt="{escape(asked)}">'
    day, _, at = str(line["at"]).partition("T")
    cells = (f"{escape(at[:8])} UTC<br><small>{escape(day)}</small>", escape(asked), escape(left),
             seen)  # fmt: skip
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _agreed(plan: StudyPlan) -> str:
    return (
        f"Two messages an attempt, the sum and the second moment of {plan.n_features} columns' "
        f"rows, in whole numbers, {_LEAVES[plan.protocol]}. {promised(plan)}"
    )
