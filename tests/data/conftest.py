from __future__ import annotations

import gzip
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

_SHARED = Path(__file__).resolve().parents[3] / "shared" / "datasets"


@pytest.fixture
def shared_datasets() -> Path:
    if not _SHARED.is_dir():
        pytest.skip("../shared/datasets, the official files for tests, is not on this machine")
    return _SHARED


@pytest.fixture(autouse=True)
def no_data_home_of_this_machine(monkeypatch, tmp_path):
    for variable in ("DPCORE_DATA", "DPCORE_MIRROR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit-learn"))


class FileServer:
    """Web server on loopback whose files can be complete, short or absent."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.missing_bytes = 0
        self.announces = True
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                body = outer.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                if outer.announces:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):  # the client may have closed the connection
                    self.wfile.write(body[: len(body) - outer.missing_bytes])

            def log_message(self, *arguments) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server():
    running = FileServer()
    yield running
    running.stop()


@pytest.fixture
def write_idx():
    def write(path: Path, array: np.ndarray, *, packed: bool = True) -> bytes:
        header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
        content = header + array.astype(np.uint8).tobytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if packed else content)
        return content

    return write
