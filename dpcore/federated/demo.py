"""Three sites on one machine: a SuperLink, and a guard and a SuperNode per site."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.data import load_dataset
from dpcore.federated.aggregator import PLAN
from dpcore.federated.deployment import (
    CERTIFICATE,
    flower_environment,
    make_folder,
    register_node,
    superlink_command,
    supernode_command,
    write_node_key,
)
from dpcore.federated.plan import FederatedPlan
from dpcore.picture_kinds import CENTRED
from dpcore.release.dictionary import Column, Dictionary

_LOOPBACK = "127.0.0.1"
_SECONDS_TO_START, _SECONDS_TO_STOP, _POLL = 60.0, 5.0, 0.1
# The cap of a site's ledger admits two attempts.
_CAP_EPSILON, _CAP_DELTA = 1.6, 2.0


def digits_plan(n_sites: int, **settings: Any) -> FederatedPlan:
    """Return a plan for the bundled digits, whose public limits are those of a pixel."""
    columns = tuple(Column(f"pixel {number}", 0, 16) for number in range(64))
    sites = tuple(f"hospital_{number}" for number in range(1, n_sites + 1))
    values = {"epsilon": 1.0, "delta": 1e-5, "n_components": 10} | settings
    return FederatedPlan(
        "demo", Dictionary(columns, title="Digits", image=(8, 8), picture=CENTRED), sites, **values
    )


class DemoNetwork:
    """Running processes of a demo.

    folder: Folder of the coordinator and, for each site, of its rows, project and logs.
    nodes: Node identifiers of the sites, in the form of the run setting `nodes`.
    processes: Processes by name: "superlink", "SITE-guard" and "SITE-node".
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = ""
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a process whose output goes to a log file."""
        environment = flower_environment(self.folder) | {
            # Flower looks for new tasks once a second by default.
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(  # noqa: S603
                command, stdout=log, stderr=log, env=environment
            )

    def stop(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def demo_network(plan: FederatedPlan, folder: Path | str) -> Iterator[DemoNetwork]:
    """Start a SuperLink, guards and SuperNodes; end them with the context.

    plan: Result of `digits_plan`.
    folder: New or empty folder. Its path has to be short enough for a Unix socket.

    Raises `OSError` if a process does not start.
    """
    folder = Path(folder).resolve()
    port, *node_ports = _free_ports(1 + len(plan.sites))
    address = f"{_LOOPBACK}:{port}"
    make_folder(plan, folder, address)
    _deal_rows(plan, folder)
    network = DemoNetwork(folder)
    try:
        network.start("superlink", superlink_command(folder, _LOOPBACK, port))
        for site in plan.sites:
            write_node_key(folder / f"{site}-key")
            network.start(f"{site}-guard", guard_command(plan, folder, site))
        _wait(lambda: _is_open(port), "the SuperLink", network.processes["superlink"])
        keys = [folder / f"{site}-key.pub" for site in plan.sites]
        with ThreadPoolExecutor(len(keys)) as pool:
            numbers = list(pool.map(lambda key: register_node(folder, key), keys))
        pairs = zip(plan.sites, numbers, strict=True)
        network.nodes = ",".join(f"{site}={number}" for site, number in pairs)
        for site, node_port in zip(plan.sites, node_ports, strict=True):
            key, guard = folder / f"{site}-key", folder / f"{site}.sock"
            command = supernode_command(address, folder / CERTIFICATE, key, guard, node_port)
            network.start(f"{site}-node", command)
        for site in plan.sites:
            process = network.processes[f"{site}-guard"]
            _wait((folder / f"{site}.sock").exists, f"the guard of {site}", process)
        yield network
    finally:
        network.stop()


def guard_command(plan: FederatedPlan, folder: Path, site: str) -> list[str]:
    """Return the command of a site's guard."""
    return [
        sys.executable, "-m", "dpcore", "federated", "guard", str(folder / PLAN), "--site", site,
        "--data", str(folder / f"{site}.npz"), "--project", str(folder / f"{site}-project"),
        "--cap", repr(_CAP_EPSILON * plan.epsilon), repr(_CAP_DELTA * plan.delta),
        "--socket", str(folder / f"{site}.sock"),
    ]  # fmt: skip


def _deal_rows(plan: FederatedPlan, folder: Path) -> None:
    """Write each row of the digits to the file of one site."""
    rows = load_dataset("digits").X
    names = [column.name for column in plan.dictionary.columns]
    shuffled = np.random.default_rng(0).permutation(len(rows))
    for site, part in zip(plan.sites, np.array_split(shuffled, len(plan.sites)), strict=True):
        columns: dict[str, Any] = dict(zip(names, rows[part].T, strict=True))
        np.savez(folder / f"{site}.npz", **columns)


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for listener in sockets:
            listener.bind((_LOOPBACK, 0))
        return [listener.getsockname()[1] for listener in sockets]
    finally:
        for listener in sockets:
            listener.close()


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(_POLL)
        return probe.connect_ex((_LOOPBACK, port)) == 0


def _wait(is_ready: Callable[[], bool], name: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError(f"{name} did not start; its log file says why")
        time.sleep(_POLL)
