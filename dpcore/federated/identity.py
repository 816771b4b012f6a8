"""Who may talk to a hub: certificates for both ends and a token a site, made once for a study.

The authority that signs is made for the study and forgotten at once, so nobody can sign more. A
site's join file holds all it needs to find the hub, to know it and to be known, and is its secret.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import ssl
import tempfile
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from dpcore.errors import ParameterError
from dpcore.federated.plan import StudyPlan, plan_from
from dpcore.federated.wire_messages import is_key

PLAN, TOKENS = "study.json", "tokens.json"
_AUTHORITY, _CERTIFICATE, _KEY = "authority.pem", "certificate.pem", "key.pem"
_YEAR = timedelta(days=366)
MOST_PORT, JOIN_ENDING = 65_535, ".join.json"
_HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_-]{1,63})*\.?")


@dataclass(frozen=True)
class JoinFile:
    """What a site needs to take part.

    hub: Its address, https://host:port.
    plan: The study's plan, as `StudyPlan.json` writes it.
    authority, certificate, key: In PEM: who signed the hub, and what the site shows it.
    """

    site: str
    hub: str
    plan: str
    token: str
    authority: str
    certificate: str
    key: str

    def context(self) -> ssl.SSLContext:
        """TLS 1.3 with this hub and no other, as this site."""
        context = ssl.create_default_context(cadata=self.authority)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        with tempfile.TemporaryDirectory() as folder:
            chain = Path(folder) / "chain.pem"
            _write_secret(chain, (self.certificate + self.key).encode())
            context.load_cert_chain(chain)
        return context


def read_join_file(path: Path | str) -> JoinFile:
    """A join file as `init_study` wrote it.

    Raises `ParameterError` if it is none.
    Raises `OSError` if it cannot be read.
    """
    try:
        join = JoinFile(**json.loads(Path(path).read_bytes()))
    except (ValueError, TypeError, RecursionError) as error:
        raise ParameterError("join", "a site's join file", str(path)) from error
    if not all(isinstance(getattr(join, each.name), str) for each in fields(join)):
        raise ParameterError("join", "a site's join file", str(path))
    hub_address("hub", join.hub)
    return join


def hub_address(parameter: str, address: str) -> tuple[str, int]:
    """Host and port of a hub's address.

    Raises `ParameterError` if it is not https://host:port.
    """
    try:
        url = urlsplit(address)
        host, port = url.hostname or "", url.port or 0
    except ValueError:  # a port beyond all, or half an IPv6 address
        host, port = "", 0
    is_plain = address.isascii() and address.lower().startswith("https://") and "@" not in address
    if not (
        is_plain
        and port
        and _is_host(host)
        and url.netloc == address[len("https://") :].rstrip("/")
    ):
        raise ParameterError(
            parameter, f"https://host:port, with a port from 1 to {MOST_PORT}", address
        )
    return host, port


def _is_host(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return _HOST.fullmatch(host) is not None
    return True


def read_peers(path: Path | str, plan: StudyPlan) -> dict[str, str]:
    """Public keys of other sites, from a JSON object of names and keys.

    Raises `ParameterError` if it is none, or names a site that is not of the study.
    Raises `OSError` if it cannot be read.
    """
    try:
        peers = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ParameterError("peers", "a JSON file of sites and keys", str(path)) from error
    if not isinstance(peers, dict) or not all(map(is_key, peers.values())):
        raise ParameterError("peers", "public keys of 64 hexadecimal digits", str(path))
    if unknown := sorted(peers.keys() - set(plan.sites)):
        raise ParameterError("peers", f"of {', '.join(plan.sites)}", unknown[0])
    return peers


def init_study(plan: StudyPlan, folder: Path | str, address: str) -> list[Path]:
    """Write the hub's folder and a join file for each site, whose paths are returned.

    folder: path. New or empty.
    address: Of the hub, as sites reach it: https://host:port.
    Raises `ParameterError` if the folder is not empty or the address not https.
    Raises `OSError` if it cannot be written.
    """
    (host, _), folder = hub_address("address", address), Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise ParameterError("folder", "new or empty", str(folder))
    hub = folder / "hub"
    hub.mkdir(parents=True)
    (folder / "sites").mkdir()
    authority = _Authority(plan.name)
    certificate, key = authority.sign("hub", host)
    (folder / PLAN).write_text(plan.json(), encoding="utf-8")
    tokens, paths = {}, []
    for site in plan.sites:
        token = secrets.token_urlsafe(32)
        tokens[sha256(token.encode()).hexdigest()] = site
        join = JoinFile(site, address, plan.json(), token, authority.pem, *authority.sign(site))
        paths.append(folder / "sites" / f"{site}{JOIN_ENDING}")
        _write_secret(paths[-1], json.dumps(asdict(join)).encode())
    for name, text in ((_AUTHORITY, authority.pem), (_CERTIFICATE, certificate), (_KEY, key)):
        _write_secret(hub / name, text.encode())
    _write_secret(hub / TOKENS, json.dumps(tokens).encode())
    return paths


@dataclass(frozen=True)
class HubIdentity:
    """What a hub knows of itself and its sites: the plan, hashes of their tokens, its files."""

    plan: StudyPlan
    tokens: dict[str, str]
    authority: Path
    certificate: Path
    key: Path

    def site_of(self, token: str) -> str | None:
        """Whose token that is. Only a hash is looked up, whose timing tells nothing of a token."""
        return self.tokens.get(sha256(token.encode()).hexdigest())

    @property
    def names(self) -> list[str]:
        """By which sites reach the hub."""
        return names_of(x509.load_pem_x509_certificate(self.certificate.read_bytes()))

    def require_valid(self, now: datetime | None = None) -> None:
        """Refuse to be a hub that no site would believe.

        Raises `ParameterError` if the certificate has expired, or is of the future.
        """
        own = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        _require_valid("folder", own, datetime.now(UTC) if now is None else now)

    def is_proven(self, site: str, key: str, proof: str) -> bool:
        """Whether whoever says that this is the site's public key knows the site's token."""
        for known, owner in self.tokens.items():
            if owner == site:
                return hmac.compare_digest(_proof(self.plan, bytes.fromhex(known), key), proof)
        return False


def hub_identity(folder: Path | str) -> HubIdentity:
    """From the folder that `init_study` made.

    Raises `ParameterError` if it is none.
    """
    folder = Path(folder)
    hub = folder / "hub"
    try:
        plan = plan_from((folder / PLAN).read_bytes())
        tokens = json.loads((hub / TOKENS).read_bytes())
    except (OSError, ValueError) as error:
        raise ParameterError("folder", "one that `study init` made", str(folder)) from error
    return HubIdentity(plan, tokens, hub / _AUTHORITY, hub / _CERTIFICATE, hub / _KEY)


def proof_of(plan: StudyPlan, token: str, key: str) -> str:
    """That a public key is of the site with this token, for couriers that see what they carry."""
    return _proof(plan, sha256(token.encode()).digest(), key)


def _proof(plan: StudyPlan, secret: bytes, key: str) -> str:
    return hmac.new(secret, f"{plan.digest} {key}".encode(), "sha256").hexdigest()


def names_of(certificate: x509.Certificate) -> list[str]:
    """By which a hub may be reached that shows this certificate."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in names]


def _require_valid(parameter: str, certificate: x509.Certificate, now: datetime) -> None:
    since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not since <= now <= until:
        raise ParameterError(
            parameter, f"of certificates for today, {now:%Y-%m-%d}: `study init` makes new ones",
            f"{since:%Y-%m-%d} to {until:%Y-%m-%d}",
        )  # fmt: skip


class _Authority:
    """Signs the certificates of one study, and is then forgotten."""

    def __init__(self, study: str) -> None:
        self._key, self._study = ec.generate_private_key(ec.SECP256R1()), study
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        self._certificate = self._signed("authority", self._key, constraints, None)
        self.pem = self._certificate.public_bytes(Encoding.PEM).decode()

    def sign(self, name: str, host: str | None = None) -> tuple[str, str]:
        """Certificate and key of a site, or of a hub at a host."""
        key = ec.generate_private_key(ec.SECP256R1())
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        certificate = self._signed(name, key, constraints, host)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return certificate.public_bytes(Encoding.PEM).decode(), secret.decode()

    def _signed(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        constraints: x509.BasicConstraints,
        host: str | None,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(_named(f"{self._study} {name}"))
            .issuer_name(_named(f"{self._study} authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + _YEAR)
            .add_extension(constraints, critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )
        if host is not None:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host)]), critical=False
            )
        return builder.sign(self._key, SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_secret(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
