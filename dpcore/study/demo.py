"""A study on this machine: a hub and a guard a site, each a process of its own, on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.releases.dictionary import Column, Dictionary
from dpcore.study.aggregation import count_in_words
from dpcore.study.hub import DONE, FAILED, RESULT, Hub
from dpcore.study.hub_server import serving
from dpcore.study.identity import hub_identity, init_study
from dpcore.study.plan import StudyPlan

LOOPBACK = "127.0.0.1"
# A site's ledger admits two attempts of what the study promises, and no third.
_CAP_EPSILON, _CAP_DELTA = 1.6, 2.0


@dataclass(frozen=True)
class Demo:
    """A study that runs.

    folder: With `sites/<name>.npz`, a project and a log for each.
    """

    folder: Path
    hub: Hub
    guards: dict[str, subprocess.Popen[bytes]]


def digits_plan(n_sites: int, **settings: Any) -> StudyPlan:
    """A study of the embedded digits, whose public limits are those of a pixel."""
    columns = tuple(Column(f"pixel {number}", 0, 16) for number in range(64))
    sites = tuple(f"hospital_{number}" for number in range(1, n_sites + 1))
    values = {"epsilon": 1.0, "delta": 1e-5, "n_components": 10} | settings
    return StudyPlan("demo", Dictionary(columns, title="Digits"), sites, **values)


@contextmanager
def demo_study(plan: StudyPlan, folder: Path | str) -> Iterator[Demo]:
    """The study of `digits_plan`, its guards started; all ends with the context.

    folder: path. New or empty.
    Raises `ParameterError` if the folder is not empty.
    Raises `OSError` if it cannot be written, or no port is free.
    """
    folder, port = Path(folder), _free_port()
    joins = init_study(plan, folder, f"https://{LOOPBACK}:{port}")
    _deal(plan, folder)
    hub, guards = Hub(plan, folder / "hub"), dict[str, subprocess.Popen[bytes]]()
    try:
        with serving(hub, hub_identity(folder), LOOPBACK, port):
            for site, join in zip(plan.sites, joins, strict=True):
                guards[site] = start_guard(plan, site, join)
            yield Demo(folder, hub, guards)
    finally:
        for guard in guards.values():
            guard.kill()
            guard.wait()


def start_guard(plan: StudyPlan, site: str, join: Path) -> subprocess.Popen[bytes]:
    """A site's guard as a process of its own."""
    folder = join.parent
    log = (folder / f"{site}.log").open("ab")
    command = (
        *(sys.executable, "-m", "dpcore", "study", "site", str(join)),
        *("--data", str(folder / f"{site}.npz"), "--project", str(folder / f"{site}-project")),
        *("--cap", repr(_CAP_EPSILON * plan.epsilon), repr(_CAP_DELTA * plan.delta)),
    )
    with log:
        return subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603


def _deal(plan: StudyPlan, folder: Path) -> None:
    """Every row of the digits to one site."""
    rows = load_dataset("digits").X
    names = [column.name for column in plan.dictionary.columns]
    if rows.shape[1] != len(names):
        raise ParameterError("plan", "one of `digits_plan`", plan.name)
    shuffled = np.random.default_rng(0).permutation(len(rows))
    for site, part in zip(plan.sites, np.array_split(shuffled, len(plan.sites)), strict=True):
        columns: dict[str, Any] = dict(zip(names, rows[part].T, strict=True))
        np.savez(folder / "sites" / f"{site}.npz", **columns)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def summary(hub: Hub) -> str:
    """Where the study is, as JSON."""
    state = hub.state
    said: dict[str, Any] = {"phase": state.phase, "attempts": state.attempt}
    if state.phase == FAILED:
        said |= {"why": state.why, "refused": state.refused}
    else:
        counted = count_in_words(hub.plan, state.n_rows, len(state.answered))
        said |= {"sites": state.answered, "noisy rows": counted}
    said["bytes"] = state.sent_bytes
    if state.phase == DONE:
        said["result"] = str(hub.folder / RESULT)
    return json.dumps(said, indent=1, ensure_ascii=False)
