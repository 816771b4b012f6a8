"""Carry out docs/hosting without a container engine: the image's instructions, compose's processes.

    python tests/benchmarks/check_hosting.py

As root on Linux with HAProxy, openssl and python3-venv installed; on loopback, in a minute or two.
The image's environment belongs to root and runs as another user, so that it can write to its volume
alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import ExitStack
from pathlib import Path

from servers import running_server
from visitors import visitor

REPOSITORY = Path(__file__).resolve().parents[2]
HOSTING = REPOSITORY / "docs" / "hosting"
USER = 10001
# Another user can run it, unlike one below root's home.
_PYTHON = "/usr/bin/python3"


def instructions(kind: str) -> list[str]:
    """Arguments of the Dockerfile's instructions of a kind, continued lines joined."""
    text = (HOSTING / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.split(None, 1)[1].strip() for line in text.splitlines() if line.startswith(kind)]


def unprivileged(command: list[str]) -> list[str]:
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]


def image(folder: Path) -> tuple[Path, dict[str, str]]:
    """Programs of the image's environment and its variables, with /data in the folder."""
    wheel_step, install_step = (run for run in instructions("RUN") if run.startswith("pip"))
    wheels = folder / "wheel"
    subprocess.run(
        [sys.executable, "-m", *shlex.split(wheel_step.replace("/wheel", str(wheels)))],
        cwd=REPOSITORY, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = wheels.glob("dp_pca_lab-*.whl")
    extras = re.search(r"\[[a-z,]+\]", install_step)[0]
    subprocess.run([_PYTHON, "-m", "venv", folder / "root"], check=True)
    programs = folder / "root" / "bin"
    install = [programs / "python", "-m", "pip", "install", "-q", f"{wheel}{extras}"]
    subprocess.run(install, check=True)
    data = folder / "data"
    data.mkdir()
    os.chown(data, USER, USER)
    pairs = dict(pair.split("=", 1) for pair in shlex.split(instructions("ENV")[0]))
    variables = {name: value.replace("/data", str(data)) for name, value in pairs.items()}
    return programs, variables | {"PATH": f"{programs}:{os.environ['PATH']}"}


async def first_page(address: str) -> bool:
    async with visitor(address) as tab:
        shown = await tab.run()
        return shown.is_whole and shown.is_answered


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def dashboard(stack: ExitStack, programs: Path, variables: dict[str, str], log: Path) -> str:
    """Address of the image's entry point, run as its user."""
    entry = json.loads(instructions("ENTRYPOINT")[0])
    command = unprivileged([str(programs / entry[0]), "--server.headless", "true"])
    output = stack.enter_context(log.open("wb"))
    address, _ = stack.enter_context(
        running_server(command, log=output, cwd=Path(variables["HOME"]), env=variables)
    )
    return address


def check_health(programs: Path, address: str) -> None:
    (line,) = instructions("HEALTHCHECK")
    command = json.loads(line[line.index("[") :])
    command = [part.replace("http://127.0.0.1:8501", address) for part in command]
    subprocess.run([programs / command[0], *command[1:]], check=True)


def proxy(stack: ExitStack, folder: Path, servers: list[str], password: str) -> str:
    """Address of HAProxy with the configuration of docs/hosting before these servers."""
    certificates = folder / "certificates"
    certificates.mkdir()
    key, certificate = certificates / "key", certificates / "certificate"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    subprocess.run(
        [*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    (certificates / "lab.pem").write_bytes(certificate.read_bytes() + key.read_bytes())
    secure, plain = free_port(), free_port()
    text = (HOSTING / "haproxy.cfg").read_text()
    for name, value in (
        ("/certificates", str(certificates)), (":8443", f"127.0.0.1:{secure}"),
        (":8080", f"127.0.0.1:{plain}"), ("one:8501", servers[0].removeprefix("http://")),
        ("two:8501", servers[1].removeprefix("http://")),
    ):  # fmt: skip
        text = text.replace(name, value)
    (folder / "haproxy.cfg").write_text(text)
    hashed = subprocess.run(
        ["openssl", "passwd", "-6", password], check=True, capture_output=True, text=True
    ).stdout.strip()
    process = subprocess.Popen(
        ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")],
        env=os.environ | {"LAB_PASSWORD_HASH": hashed},
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    time.sleep(3)
    return f"https://127.0.0.1:{secure}"


def answer(address: str, password: str = "") -> tuple[int, str]:
    """(status, cookie) of the first page behind the proxy."""
    request = urllib.request.Request(f"{address}/_stcore/health")
    if password:
        request.add_header(
            "Authorization", f"Basic {b64encode(f'class:{password}'.encode()).decode()}"
        )
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, timeout=10, context=trusting) as found:
            return found.status, " ".join(found.headers.get_all("Set-Cookie", []))
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code, ""


def main() -> None:
    if os.geteuid() != 0 or not shutil.which("haproxy"):
        raise SystemExit("run as root, with haproxy installed")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        programs, variables = image(folder)
        print("image: wheel built, installed with its extras")
        scheduler = f"tcp://127.0.0.1:{free_port()}"
        dask = [str(programs / "dask")]
        for command in (
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", scheduler.rpartition(":")[2],
             "--no-dashboard"],
            [*dask, "worker", scheduler, "--nthreads", "1", "--no-dashboard"],
        ):  # fmt: skip
            process = subprocess.Popen(
                unprivileged(command), env=variables, cwd=variables["HOME"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(process.terminate)
        with_cluster = variables | {"DPCORE_SCHEDULER": scheduler}
        servers = [
            dashboard(stack, programs, with_cluster, folder / f"{number}.log") for number in "12"
        ]
        for address in servers:
            check_health(programs, address)
            is_whole = asyncio.run(first_page(address))
            print(f"dashboard as user {USER}: healthy, first page whole: {is_whole}")
        written = {path.relative_to(folder).parts[0] for path in folder.rglob("*")
                   if path.is_file() and path.stat().st_uid == USER}  # fmt: skip
        print(f"written by it: only in {sorted(written) or 'nothing'}")
        address = proxy(stack, folder, servers, "secret")
        status, cookie = answer(address, "secret")
        print(f"proxy without password: {answer(address)[0]}; with it: {status}")
        print(f"the visitor is kept to one server by a cookie: {'LAB=' in cookie}")
        for log in folder.glob("*.log"):
            assert "Traceback" not in log.read_text()


if __name__ == "__main__":
    main()
