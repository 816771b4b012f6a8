"""Streamlit servers of this checkout, for benchmarks on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def running_app(
    script: Path, *, log: IO[bytes] | None = None, **environment: str
) -> Iterator[tuple[str, subprocess.Popen]]:
    """Yield (address, process) of a script of this checkout, run by Streamlit of this Python."""
    command = (sys.executable, "-m", "streamlit", "run", str(script))
    with running_server(
        (*command, "--server.headless", "true", "--browser.gatherUsageStats", "false"),
        log=log, cwd=script.parent, env=os.environ | environment,
    ) as running:  # fmt: skip
        yield running


@contextmanager
def running_server(
    command: Sequence[str | Path],
    *,
    log: IO[bytes] | None = None,
    cwd: Path,
    env: Mapping[str, str],
) -> Iterator[tuple[str, subprocess.Popen]]:
    """Yield (address, process) of a server that answers its health check; its output is logged."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*command, "--server.address", "127.0.0.1", "--server.port", str(port)],
        cwd=cwd,
        env=env,
        stdout=subprocess.DEVNULL if log is None else log,
        stderr=subprocess.DEVNULL if log is None else log,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                    break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError("the server stopped before it answered") from None
                time.sleep(0.02)
        yield address, process
    finally:
        process.terminate()
        process.wait(timeout=10)


def resident_mb(process: subprocess.Popen) -> float:
    """Return the resident memory of a process on Linux."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def processor_seconds(process: subprocess.Popen) -> float:
    """Return the processor time of a process on Linux, which other processes hardly affect."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
