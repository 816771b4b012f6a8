"""The README's command on a machine without Streamlit settings: no question, no request."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
COMMAND = "streamlit run app.py"
# Every 127.x is this machine; a server that listens only on 127.0.0.1 does not answer here.
ANOTHER_ADDRESS = "127.0.0.2"


@pytest.fixture(scope="module")
def calls() -> Iterator[tuple[str, list[str]]]:
    """Yield a proxy that answers nothing and records requests."""
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        do_CONNECT = do_POST = do_GET

        def log_message(self, *arguments) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Started:
    port: int
    output: bytearray


@contextmanager
def _started(home: Path, proxy: str, *options: str, display: bool = True) -> Iterator[Started]:
    """Run the command at a terminal with an empty home."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    opener = home / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text("#!/bin/sh\n")
    opener.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | {
        "HOME": str(home),
        "PATH": f"{opener.parent}:{os.environ['PATH']}",
        "DPCORE_DATA": str(home / "data"),
        "DPCORE_CACHE": str(home / "cache"),
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), proxy),
        **({"DISPLAY": ":99"} if display else {}),
    }
    command = [sys.executable, "-m", *COMMAND.split(), "--server.port", str(port), *options]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    started = Started(port, bytearray())

    def listen() -> None:
        with suppress(OSError):  # the terminal is gone
            while text := os.read(ours, 4096):
                started.output.extend(text)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        deadline = time.monotonic() + 180
        while b"HTTP/1.1 200" not in _ask("127.0.0.1", port, "/_stcore/health"):
            assert time.monotonic() < deadline and process.poll() is None, bytes(started.output)
            time.sleep(0.1)
        yield started
    finally:
        process.terminate()
        process.wait(timeout=60)
        listener.join()
        os.close(ours)


def _ask(address: str, port: int, path: str, **headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {address}:{port}"]
    headers = headers or {"Connection": "close"}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    with suppress(OSError), socket.create_connection((address, port), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = connection.recv(1 << 16)
        while headers["Connection"] == "close" and (more := connection.recv(1 << 16)):
            answer += more
        return answer
    return b""


def _visit(address: str, port: int, origin: str) -> bytes:
    """Return the first line of the answer to a page from `origin` that opens a connection."""
    answer = _ask(
        address, port, "/_stcore/stream", Origin=origin, Connection="Upgrade", Upgrade="websocket",
        Sec_WebSocket_Version="13", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    return answer.partition(b"\r\n")[0]


def test_the_first_command_asks_nothing_calls_nobody_and_lets_nobody_in(tmp_path, calls):
    proxy, asked = calls
    assert COMMAND in (REPOSITORY / "README.md").read_text().split("```bash")[1].split("```")[0]
    with _started(tmp_path, proxy) as started:
        assert b"<title>" in _ask("127.0.0.1", started.port, "/")
        assert b" 101 " in _visit("127.0.0.1", started.port, f"http://localhost:{started.port}")
        assert b" 403 " in _visit("127.0.0.1", started.port, "http://somewhere.example")
        assert _ask(ANOTHER_ADDRESS, started.port, "/") == b""
        said = bytes(started.output).decode()
    assert "mail" not in said.lower()
    assert f"http://127.0.0.1:{started.port}" in said
    assert asked == []


def test_a_class_comes_in_at_the_address_that_was_named(tmp_path, calls):
    proxy, asked = calls
    guide = (REPOSITORY / "docs" / "classroom.md").read_text()
    assert "--server.address 0.0.0.0 --browser.serverAddress" in guide
    options = ("--server.address", "0.0.0.0", "--browser.serverAddress", "class.example")
    with _started(tmp_path, proxy, *options, display=False) as started:
        port = started.port
        assert b" 101 " in _visit(ANOTHER_ADDRESS, port, f"http://class.example:{port}")
        assert b" 403 " in _visit(ANOTHER_ADDRESS, port, f"http://somewhere.example:{port}")
    assert asked == []
