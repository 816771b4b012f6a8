"""How a site reaches its hub, directly or by a proxy, and in words why it does not.

The hub is known by the study's own authority: a proxy that opens TLS on the way is a stranger.
"""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from cryptography import x509
from cryptography.x509.oid import NameOID

from dpcore.errors import ParameterError, shortened
from dpcore.study.identity import JoinFile, hub_address, names_of

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
                "this join file's certificate has expired on "
                f"{own.not_valid_after_utc:%Y-%m-%d}: the coordinator makes the study anew, "
                "with new join files"
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
