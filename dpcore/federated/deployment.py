"""Files of the coordinator, and the Flower programs that use them.

A folder holds the plan, a self-signed TLS certificate of the SuperLink, Flower's configuration and
the Flower app. The app names two modules of the installed `dpcore`; it contains no other code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID
from filelock import FileLock, Timeout

from dpcore.errors import ParameterError
from dpcore.federated.aggregator import LOCK, OUTCOME, PLAN
from dpcore.federated.plan import FederatedPlan, nodes_from, plan_from

CERTIFICATE, KEY = "certificate.pem", "key.pem"
_HOME, _APP, _CONNECTION = "flower", "app", "federated"
_DAYS_VALID = 365
_POLL_SECONDS, _SECONDS_FOR_LAST_LINES = 0.2, 3.0
_APP_PROJECT = """\
[project]
name = "federated"
version = "1.0.0"
description = "Distributed PCA with differential privacy"
license = "MIT"
dependencies = []

[tool.flwr.app]
publisher = "dpcore"

[tool.flwr.app.components]
serverapp = "server:app"
clientapp = "client:app"

[tool.flwr.app.config]
folder = ""
nodes = ""
simulation = false
"""


def make_folder(plan: FederatedPlan, folder: Path | str, address: str) -> None:
    """Write the plan, the certificate, Flower's configuration and the Flower app.

    folder: New or empty folder.
    address: Host and port of the SuperLink, as the sites reach it.

    Raises `ParameterError` if the folder is not empty or the address has another form.
    """
    folder = Path(folder)
    host, port = _host_and_port(address)
    if folder.exists() and any(folder.iterdir()):
        raise ParameterError("folder", "new or empty", str(folder))
    for path in (folder, folder / _HOME, folder / _APP):
        path.mkdir(parents=True, exist_ok=True)
    (folder / PLAN).write_text(plan.json(), encoding="utf-8")
    _write_certificate(folder, host)
    app = folder / _APP
    (app / "pyproject.toml").write_text(_APP_PROJECT)
    for module in ("server", "client"):
        text = f'from dpcore.federated.{module}_app import app\n\n__all__ = ["app"]\n'
        (app / f"{module}.py").write_text(text)
    connection = (
        f'[superlink]\ndefault = "{_CONNECTION}"\n\n[superlink.{_CONNECTION}]\n'
        f'address = "127.0.0.1:{port}"\n'
        f"root-certificates = {json.dumps(str((folder / CERTIFICATE).resolve()))}\n"
    )
    (folder / _HOME / "config.toml").write_text(connection)


def write_node_key(path: Path) -> None:
    """Write the key pair of a SuperNode to `path` and `path`.pub, as `ssh-keygen` does."""
    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    write_private(path, private)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_name(f"{path.name}.pub").write_bytes(public + b"\n")


def plan_in(folder: Path) -> FederatedPlan:
    """Return the plan in a coordinator's folder.

    Raises `ParameterError` if `make_folder` did not make the folder.
    """
    if not (folder / PLAN).is_file():
        raise ParameterError("folder", "made by `federated plan`", str(folder))
    return plan_from((folder / PLAN).read_bytes())


def flower_environment(folder: Path) -> dict[str, str]:
    """Return the environment of Flower's programs: no telemetry, no update check.

    Flower starts further programs by name, so its own folder comes first in PATH. The programs
    import `dpcore`, which may run from a clone without an installation.
    """
    programs, package = str(Path(sys.executable).parent), str(Path(__file__).parents[2])
    return os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": f"{package}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "FLWR_HOME": str((folder / _HOME).resolve()),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "NO_COLOR": "1",
    }


def register_node(folder: Path, public_key: Path) -> int:
    """Register a SuperNode at the running SuperLink and return its node identifier.

    Raises `OSError` if the file is absent or the SuperLink refuses it.
    """
    public_key.read_bytes()
    command = ["flwr", "supernode", "register", str(public_key), _CONNECTION, "--format", "json"]
    done = _run_program(command, folder)
    try:
        return int(json.loads(done.stdout[done.stdout.index("{") :])["node-id"])
    except (ValueError, KeyError) as error:
        raise OSError(f"the SuperLink did not register {public_key}: {_message(done)}") from error


def run_app(folder: Path, *, nodes: str = "", is_simulation: bool = False) -> dict[str, Any]:
    """Run the app at the running SuperLink, print its log and return its outcome.

    nodes: Node identifiers of sites, see `dpcore.federated.server_app`.
    is_simulation: Whether the rows are public.

    Raises `ParameterError` if the folder or `nodes` has another form, `OSError` if Flower cannot
        run the app or the ServerApp ended without an outcome.
    """
    nodes_from(nodes, plan_in(folder).sites)
    outcome = folder / OUTCOME
    outcome.unlink(missing_ok=True)
    settings = {"folder": str(folder.resolve()), "nodes": nodes}
    config = " ".join(f"{name}={json.dumps(value)}" for name, value in settings.items())
    config += f" simulation={str(is_simulation).lower()}"
    command = ["flwr", "run", str(folder / _APP), _CONNECTION, "--run-config", config, "--stream"]
    process = subprocess.Popen(  # noqa: S603
        _program(command), env=flower_environment(folder), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    with process:
        Thread(target=_end_log, args=(process, folder), daemon=True).start()
        for line in process.stdout or ():
            sys.stderr.write(line)
            sys.stderr.flush()
    if not outcome.exists():
        raise OSError(
            "the ServerApp ended without an outcome: start the run again; the guards repeat their "
            "answers without a new charge"
        )
    return dict(json.loads(outcome.read_bytes()))


def _end_log(process: subprocess.Popen[str], folder: Path) -> None:
    """End Flower's log of a run soon after its ServerApp was killed.

    Flower itself waits for missing heartbeats, for up to 60 seconds.
    """
    lock = FileLock(folder / LOCK)
    had_started = False
    while process.poll() is None:
        try:
            with lock.acquire(blocking=False):
                is_running = False
        except Timeout:
            is_running = had_started = True
        if had_started and not is_running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_FOR_LAST_LINES)
            process.terminate()
            return
        time.sleep(_POLL_SECONDS)


def superlink_command(folder: Path, host: str, port: int) -> list[str]:
    """Return the command of the SuperLink: TLS, registered nodes only, no installation."""
    certificate = str(folder / CERTIFICATE)
    return _program([
        "flower-superlink", "--ssl-certfile", certificate, "--ssl-ca-certfile", certificate,
        "--ssl-keyfile", str(folder / KEY), "--enable-supernode-auth", "--host", host,
        "--port", str(port), "--disable-runtime-dependency-installation",
    ])  # fmt: skip


def supernode_command(
    address: str, certificate: Path, key: Path, guard: Path, port: int
) -> list[str]:
    """Return the command of a SuperNode.

    port: Free port on this machine, over which the SuperNode talks to its ClientApp.
    """
    return _program([
        "flower-supernode", "--superlink", address, "--root-certificates", str(certificate),
        "--auth-supernode-private-key", str(key), "--port", str(port),
        "--node-config", f'guard="{guard}"',
    ])  # fmt: skip


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _program(command: Sequence[str]) -> list[str]:
    return [str(Path(sys.executable).parent / command[0]), *command[1:]]


def _run_program(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        _program(command), env=flower_environment(folder), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def _message(done: subprocess.CompletedProcess[str]) -> str:
    output = (done.stdout + done.stderr).strip()
    # Flower draws a frame with a title around its messages.
    text = output.rpartition("╭")[2].partition("\n")[2] or output.rpartition("\n")[2]
    words = text.translate(dict.fromkeys(map(ord, "│╰╯─"), " ")).split()
    return " ".join(words) or f"exit status {done.returncode}"


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ParameterError("address", "host:port with a port from 1 to 65535", address)
    return host.strip("[]"), int(port)


def _write_certificate(folder: Path, host: str) -> None:
    """Write a self-signed certificate for a host and for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "SuperLink")])
    hosts = dict.fromkeys((host, "localhost", "127.0.0.1"))
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_DAYS_VALID))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), False)
        .sign(key, SHA256())
    )
    (folder / CERTIFICATE).write_bytes(certificate.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_private(folder / KEY, private)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
