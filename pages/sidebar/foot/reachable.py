"""The address under which others reach this server. Nobody is asked for it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from streamlit import config, net_util

_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104  compared with, not bound to


def reachable(url: str) -> str:
    """A page's address as its visitor has it, or as others on the network would.

    Whoever sits at the server's own machine calls it localhost, which is another machine to
    everybody else; where the server listens to the network, its address there stands instead.
    """
    parts = urlsplit(url)
    parts = parts._replace(path=parts.path or "/")
    listens_at = config.get_option("server.address") or ""
    if not only_here(url) or (listens_at and _is_this_machine(listens_at)):
        return parts.geturl()
    host = net_util.get_internal_ip() if listens_at in _EVERYWHERE else listens_at
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{host}{port}").geturl()


def home(url: str) -> str:
    """Where the server itself is reached, of a page's address; pages' names follow it."""
    parts = urlsplit(reachable(url))
    path = parts.path.rstrip("/").rpartition("/")[0] if len(parts.path) > 1 else ""
    return parts._replace(path=f"{path}/", query="", fragment="").geturl()


def only_here(url: str) -> bool:
    """Whether an address means the machine that it is opened on."""
    return _is_this_machine(urlsplit(url).hostname or "")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
