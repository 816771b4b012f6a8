"""Couriers between a hub and its sites: HTTPS, and sockets for other software.

The hub is known by the study's own authority: a proxy that opens TLS on the way is a stranger.

Carries requests to a guard and messages to a hub, connecting outwards only.

The courier can read what it carries and can do nothing else; whatever it brings, the guard decides.

A guard behind a socket of its own machine, for couriers that other software brings along.

A courier connects to a Unix socket, says one thing and hears one: b"J" (who is here?) or b"A"
(answer this), the length of a body (32 bits, little-endian) and the body; b"+" or b"-" comes back,
a length, and what the guard says or why it refuses. So whatever runs as the courier, under a user
that may open the socket and nothing else of the guard's, has the messages and never a row.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from cryptography import x509
from cryptography.x509.oid import NameOID

from dpcore.errors import ParameterError, shortened
from dpcore.federated.guard import Guard, RequestRefused
from dpcore.federated.identity import JoinFile, hub_address, names_of
from dpcore.federated.wire_messages import FrameError

if TYPE_CHECKING:
    from dpcore.federated.hub import Hub
    from dpcore.federated.identity import HubIdentity

# How a site reaches its hub, directly or by a proxy, and in words why it does not.

# Short enough for a word within five seconds of why nothing comes.
SECONDS_TO_CONNECT = 4.0
NO_PROXY = "none"
_SECONDS_TO_ANSWER = 40.0
# What OpenSSL calls a certificate's faults.
_EXPIRED, _NOT_YET_VALID, _OTHER_NAMES = 10, 9, (62, 64)
# What it calls a server's word on ours, which comes with the first answer.
_UNWELCOME = ("UNKNOWN_CA", "CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN",
              "CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED", "DECRYPT_ERROR")  # fmt: skip
_OLDER_TLS = ("PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL")


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy, asked to CONNECT.

    authorization: Of its header, or nothing.
    """

    host: str
    port: int
    authorization: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def proxy_from(address: str) -> Proxy:
    """The proxy of an address http://[name:password@]host:port.

    Raises `ParameterError` if it is none.
    """
    try:
        url = urlsplit(address if "://" in address else f"http://{address}")
        host, port = url.hostname, url.port
    except ValueError:
        host, port = None, None
    if not host or not port or url.scheme != "http":
        # The address may hold a password.
        raise ParameterError("proxy", "http://host:port, or none", "another address")
    if url.username is None:
        return Proxy(host, port)
    pair = f"{unquote(url.username)}:{unquote(url.password or '')}".encode()
    return Proxy(host, port, f"Basic {base64.b64encode(pair).decode()}")


def proxy_for(host: str, given: str | None = None) -> Proxy | None:
    """The proxy on the way to a host: the given one, else the system's (HTTPS_PROXY, NO_PROXY).

    given: As for `proxy_from`, or "none".
    Raises `ParameterError` if it is none.
    """
    if given is not None:
        return None if given == NO_PROXY else proxy_from(given)
    found = getproxies()
    address = found.get("https") or found.get("all")
    if not address or is_loopback(host) or proxy_bypass(host):
        return None
    return proxy_from(address)


def is_loopback(host: str) -> bool:
    """Whether this name or address is of the machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Line(http.client.HTTPSConnection):
    """A connection that knows how far it has come."""

    is_reached = is_hub = False
    own_context: ssl.SSLContext
    name: str

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.is_reached = True
        self.sock = self.own_context.wrap_socket(self.sock, server_hostname=self.name)
        self.is_hub = True
        self.sock.settimeout(_SECONDS_TO_ANSWER)


class HubLine:
    """A site's way to its hub.

    join: The site's join file.
    proxy: As for `proxy_for`.
    Raises `ParameterError` if the hub's address or the proxy's is none.
    """

    def __init__(self, join: JoinFile, proxy: str | None = None) -> None:
        self.host, self.port = hub_address("hub", join.hub)
        self.proxy = proxy_for(self.host, proxy)
        self._join, self._context = join, join.context()
        self._last: _Line | None = None

    def connection(self) -> http.client.HTTPSConnection:
        """A connection that is open.

        Raises `OSError` or `http.client.HTTPException` if there is none: `why_not` says why.
        """
        self._last = line = self._line(self._context)
        try:
            line.connect()
        except BaseException:
            line.close()
            raise
        return line

    def _line(self, context: ssl.SSLContext) -> _Line:
        host, port = (
            (self.host, self.port) if self.proxy is None else (self.proxy.host, self.proxy.port)
        )
        line = _Line(host, port, timeout=SECONDS_TO_CONNECT, context=context)
        line.own_context, line.name = context, self.host
        if self.proxy is not None:
            said = self.proxy.authorization
            line.set_tunnel(self.host, self.port, {"Proxy-Authorization": said} if said else None)
        return line

    @property
    def _where(self) -> str:
        return f"{self.host}:{self.port}"

    def why_not(self, error: Exception) -> str:
        """What is wrong, and what to do, in a sentence without its end.

        error: What was raised by `connection`, or by a request on it.
        """
        line = self._last
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._wrong_certificate(error)
        if line is None or not line.is_reached:
            return self._no_way(error)
        if line.is_hub:
            return self._no_answer(error)
        if isinstance(error, ssl.SSLError):
            return self._no_tls(error)
        if isinstance(error, TimeoutError):
            return (
                f"{self._where} takes connections and says nothing: it is not the hub, or the hub "
                "is stuck; ask the coordinator"
            )
        return (
            f"{self._where} hangs up before it has said who it is: it is not the hub, or something "
            "on the way ends the connection; ask the coordinator"
        )

    def _no_answer(self, error: Exception) -> str:
        """Of the hub itself: a certificate that it does not accept it refuses only now."""
        own = x509.load_pem_x509_certificate(self._join.certificate.encode())
        if own.not_valid_after_utc < datetime.now(UTC):
            return (
                f"this join file's certificate has expired on {own.not_valid_after_utc:%Y-%m-%d}: "
                "the coordinator makes the study anew, with new join files"
            )
        if any(each in str(getattr(error, "reason", "")) for each in _UNWELCOME):
            return (
                f"the hub at {self._where} does not accept this join file's certificate: it is of "
                "another `study init`; ask the coordinator for the present one"
            )
        if isinstance(error, TimeoutError):
            return f"the hub at {self._where} does not answer: it is stuck; ask the coordinator"
        return (
            f"the hub at {self._where} hangs up without an answer: it is ending, or does not "
            "accept this join file's certificate; ask the coordinator"
        )

    def _no_way(self, error: Exception) -> str:
        at = self._where if self.proxy is None else f"the proxy {self.proxy}"
        if isinstance(error, socket.gaierror):
            host = self.host if self.proxy is None else self.proxy.host
            return (
                f"no machine called {host} is known here: ask the coordinator whether the name is "
                "right, and the network's people whether this machine may look it up"
            )
        if isinstance(error, ConnectionRefusedError):
            return f"nothing listens at {at}: {self._is_it_up}"
        if isinstance(error, TimeoutError):
            return (
                f"nothing comes back from {at}: the hub's machine is off, or a firewall swallows "
                f"what is sent; {self._is_it_up}"
            )
        if "Tunnel connection failed" in str(error):
            said = str(error).partition("failed: ")[2]
            need = (
                "give --proxy http://NAME:PASSWORD@host:port"
                if said.startswith("407")
                else (f"ask the network's people to let this machine CONNECT to {self._where}")
            )
            return f"the proxy {self.proxy} does not let through ({shortened(said)}): {need}"
        if self.proxy is not None:
            return f"the proxy {self.proxy} cannot be talked to ({shortened(str(error))})"
        return f"{at} cannot be reached ({shortened(str(error))}): {self._is_it_up}"

    @property
    def _is_it_up(self) -> str:
        if self.proxy is not None:
            return "ask the network's people for the proxy's address, or give --proxy"
        return "ask the coordinator whether the hub runs, and at this address"

    def _wrong_certificate(self, error: ssl.SSLCertVerificationError) -> str:
        shown = self._shown()
        if error.verify_code == _EXPIRED:
            when = "" if shown is None else f" on {shown.not_valid_after_utc:%Y-%m-%d}"
            return (
                f"the certificate of the hub at {self._where} has expired{when}, or this machine's "
                "clock is wrong: certificates hold a year, and the coordinator makes the study anew"
            )
        if error.verify_code == _NOT_YET_VALID:
            return (
                f"the certificate of the hub at {self._where} is of the future: set this "
                f"machine's clock, which says {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
            )
        if error.verify_code in _OTHER_NAMES:
            names = "another name" if shown is None else ", ".join(names_of(shown)) or "no name"
            return (
                f"the hub at {self._where} has a certificate for {names}: it has to be reached by "
                "the name that the study was made with; ask the coordinator for a new join file"
            )
        authority = x509.load_pem_x509_certificate(self._join.authority.encode())
        if shown is not None and _common(shown.issuer) == _common(authority.subject):
            return (
                f"the hub at {self._where} is of this study's name and of another `study init`: "
                "this join file is an old one; ask the coordinator for the present one"
            )
        by = "a stranger" if shown is None else f"“{shortened(_common(shown.issuer))}”"
        return (
            f"{self._where} shows a certificate signed by {by} and not by this study: another "
            "program answers there, or something on the way opens TLS, and has to let this "
            "connection through as it is"
        )

    def _no_tls(self, error: ssl.SSLError) -> str:
        if any(each in str(error.reason) for each in _OLDER_TLS):
            return f"{self._where} speaks no TLS 1.3: it is not the hub; ask the coordinator"
        return (
            f"{self._where} answers, and not in TLS: another program is there, or the hub's port "
            "is another; ask the coordinator"
        )

    def _shown(self) -> x509.Certificate | None:
        """The certificate that is shown there, whoever has signed it. Nothing is said to it."""
        anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        line: Any = self._line(anybody)
        try:
            line.connect()
            return x509.load_der_x509_certificate(line.sock.getpeercert(binary_form=True))
        except (OSError, ValueError, TypeError, http.client.HTTPException):
            return None
        finally:
            line.close()


def _common(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else "nobody"


# Carries requests to a guard and messages to a hub, connecting outwards only.

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
        except RequestRefused as refused:
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


# A guard behind a socket of its own machine, for couriers that other software brings along.

JOIN, ASK = b"J", b"A"
_SAID, _REFUSED = b"+", b"-"
_LENGTH = struct.Struct("<I")
_SECONDS_TO_SAY, _POLL, _LONGEST_GUARD_REPLY = 60, 0.05, 1 << 28


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
    from dpcore.federated.guard import RequestRefused
    from dpcore.federated.identity import proof_of
    from dpcore.federated.wire_messages import longest_request

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
        except RequestRefused as refused:
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
            return Heard(is_said, said.read(min(length, _LONGEST_GUARD_REPLY)))


# Between a hub and whatever other software carries its bytes to guards' doors.

# Whatever tells one of the software's ends at the sites from another.
Node = TypeVar("Node")
# As at a door: a kind and a body.
Told: TypeAlias = tuple[bytes, bytes]

# Flower begins a process at a site for every message, which takes a busy machine its time.
_LOOK, _TO_JOIN = 1.0, 60.0


def serve(
    hub: Hub,
    identity: HubIdentity,
    nodes: Callable[[], Iterable[Node]],
    exchange: Callable[[Mapping[Node, Told], float], Mapping[Node, Heard]],
) -> None:
    """Bring a hub's requests to nodes, and what these say back, until the study has ended.

    nodes: Who is there now.
    exchange: Brings each of these nodes what it is told, and what their guards say within so many
        seconds back.
    Raises `ParameterError` if another program is the hub of this folder.
    """
    from dpcore.federated.hub import only_hub

    with only_hub(hub.folder):
        _serve(hub, identity, nodes, exchange)


def _serve(
    hub: Hub,
    identity: HubIdentity,
    nodes: Callable[[], Iterable[Node]],
    exchange: Callable[[Mapping[Node, Told], float], Mapping[Node, Heard]],
) -> None:
    site_of: dict[Node, str] = {}
    while not hub.state.has_ended:
        new = [node for node in nodes() if node not in site_of]
        left = max(_LOOK, hub.state.deadline - time.time())
        if hub.state.phase == "joining" and new:
            joining = exchange(dict.fromkeys(new, (JOIN, b"")), min(left, _TO_JOIN))
            for node, heard in joining.items():
                if site := _joined(hub, identity, heard):
                    site_of[node] = site
        asked = {node: request for node, site in site_of.items() if (request := hub.asks(site))}
        told = {node: (ASK, request.json()) for node, request in asked.items()}
        if told:
            left = max(_LOOK, hub.state.deadline - time.time())
            for node, heard in exchange(told, left).items():
                _take(hub, site_of[node], asked[node].id, heard)
        else:
            time.sleep(_LOOK)
        hub.tick()


def heard_from(record: Mapping[str, Any]) -> Heard:
    """What a site's end has sent, whatever it is; of one that lies nothing is believed.

    record: With `said`, whether the guard has answered, and `body`.
    """
    body = record.get("body")
    if not isinstance(body, bytes):
        return Heard(False, b"no answer of a guard")
    return Heard(record.get("said") is True, body)


def _joined(hub: Hub, identity: HubIdentity, heard: Heard) -> str:
    """The site that has joined, if it is one."""
    from dpcore.federated.wire_messages import FrameError

    try:
        who = json.loads(heard.body)
        site, key, proof = (str(who[name]) for name in ("site", "key", "proof"))
        if heard.is_said and identity.is_proven(site, key, proof):
            hub.join(site, key)
            return site
    except (ValueError, KeyError, TypeError, RecursionError, FrameError):
        pass
    return ""


def _take(hub: Hub, site: str, request_id: str, heard: Heard) -> None:
    from dpcore.federated.wire_messages import FrameError

    if not heard.is_said:
        hub.refuse(site, request_id, heard.body[:300].decode(errors="replace"))
        return
    try:
        hub.receive(site, request_id, heard.body)
    except FrameError as error:
        hub.refuse(site, request_id, str(error))
