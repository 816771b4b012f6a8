"""The owner's page at a site: what was asked, what left, and a yes or no.

A person who was to be asked first decides in the page or at the terminal; who says nothing in time
has said no.

The owner's page at a site: HTML of this machine alone, that loads nothing and runs no script.

It is served on loopback under an address that holds a secret, so that neither another site in the
owner's browser nor another user of the machine can press its buttons.
"""

from __future__ import annotations

import math
import secrets
import struct
import threading
import time
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray
from dpcore.errors import ParameterError
from dpcore.federated.guard import kept_message, log_of
from dpcore.federated.plan import AttemptCost, StudyPlan
from dpcore.federated.wire_messages import MOMENT, SUM, Request, request_from, values_from
from dpcore.privacy import Adversary, BeyondCap
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.release.certificate import who_is_one
from dpcore.release.certificate_label import share_in_words
from dpcore.release.project import Project

# A guard's owner: what was asked of the site, what left, what may still be spent, and a yes or no.

# So much of the time in which the hub waits for a message is left to a person.
_SHARE_OF_ROUND = 0.8
_MOST_COUNTED, _WIDEST, _LOOK = 99, 256, 0.2

WORDS = {
    SUM: "the sum of this site's rows, and their count",
    MOMENT: "the second moment of this site's rows",
}


def promised(plan: StudyPlan) -> str:
    """What an attempt promises, to whom, and on what that counts."""
    worst = max(plan.epsilon_against(who) for who in Adversary)
    said = (
        f"An attempt is (ε = {say_number(worst)}, δ = {say_delta(plan.delta)})-differentially "
        f"private for each person ({who_is_one(plan.dictionary.person)})"
    )
    if not plan.is_masked:
        return f"{said}, by the noise of their own site alone."
    said += (
        f", if at least {plan.fewest} of {len(plan.sites)} sites answer, and {plan.honest} of all "
        "keep their masks and noise to themselves."
    )
    if plan.epsilon_unmasked <= worst:
        return said
    return (
        f"{said} A hub that hands out public keys of its own reads a message under "
        f"ε = {say_number(plan.epsilon_unmasked)}; with --peers a guard refuses them."
    )


@dataclass(frozen=True)
class Waiting:
    """A request on which somebody has yet to decide.

    until: When silence becomes a no, by the desk's clock.
    """

    request: Request
    until: float


class Desk:
    """Where requests wait for their owner's word.

    seconds: How long one waits.
    tell: Told of a request that waits.
    now: Seconds that do not go back.
    """

    def __init__(
        self,
        seconds: float,
        *,
        tell: Callable[[Request], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._tell, self._now = seconds, tell, now
        self._changed = Condition()
        self._word: bool | None = None
        self.waiting: Waiting | None = None

    def approve(self, request: Request) -> bool:
        """Whether somebody says yes in time; waits until then."""
        with self._changed:
            self._word = None
            self.waiting = Waiting(request, self._now() + self._seconds)
        self._tell(request)
        with self._changed:
            while self._word is None and (left := self.waiting.until - self._now()) > 0:
                self._changed.wait(min(left, _LOOK))
            self.waiting = None
            return self._word is True

    def decide(self, request_id: str, word: bool) -> bool:
        """Say yes or no to the request that waits; False if it is not this one."""
        with self._changed:
            if self.waiting is None or self.waiting.request.id != request_id:
                return False
            if self._word is None:  # the first word counts
                self._word = word
            self._changed.notify_all()
            return True

    @property
    def seconds_left(self) -> float:
        waiting = self.waiting
        return 0.0 if waiting is None else max(0.0, waiting.until - self._now())


def desk_for(plan: StudyPlan, seconds: float | None, tell: Callable[[Request], None]) -> Desk:
    """A desk on which nothing lies until the hub has given up waiting, unless told otherwise."""
    return Desk(_SHARE_OF_ROUND * plan.round_seconds if seconds is None else seconds, tell=tell)


def attempts_left(plan: StudyPlan, project: Project) -> int:
    """How many more attempts of this study the ledger's cap admits; at most 99 are counted."""

    def is_too_many(number: int) -> bool:
        together = AttemptCost(math.sqrt(number) * plan.worst.mu, number * plan.distance)
        try:
            project.require_room(f"{plan.name}-next", together)
        except BeyondCap:
            return True
        return False

    return bisect_left(range(1, _MOST_COUNTED + 1), True, key=is_too_many)


def picture(plan: StudyPlan, round_: str, values: AnyArray) -> bytes:
    """What a message holds as a picture in grey, PNG: a pixel a number, of large ones every n-th.

    round_: {"sum", "moment"}
    values: As `values_from` reads them.
    """
    if round_ == SUM or values.ndim == 2:
        whole = np.atleast_2d(values)
        seen = whole[np.ix_(*map(_every_nth, whole.shape))]
    else:  # the upper triangle, row by row
        size, at = plan.n_features, _every_nth(plan.n_features)
        row, column = np.minimum.outer(at, at), np.maximum.outer(at, at)
        seen = values[row * size - row * (row - 1) // 2 + column - row]
    seen = seen.astype(np.float64)
    low, high = np.quantile(seen, [0.02, 0.98])
    grey = np.clip((seen - low) / max(high - low, 1e-300), 0, 1) * 255
    return _png(grey.astype(np.uint8))


def _every_nth(length: int) -> AnyArray:
    return np.arange(0, length, math.ceil(length / _WIDEST))


def _png(grey: AnyArray) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + check

    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


# The owner's page at a site: HTML of this machine alone, that loads nothing and runs no script.

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
