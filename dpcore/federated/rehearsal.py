"""Before the day: a study of made-up sites, and a check of addresses, names and certificates.

Before the day of a study: addresses, names and certificates, tried from both ends.

Nothing is joined, drawn or charged. A site tries its own file and the way to the hub; the hub
listens as it will, and says which sites have found it.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from dpcore.data import load_dataset
from dpcore.errors import ParameterError
from dpcore.federated.couriers import HubLine
from dpcore.federated.hub import DONE, FAILED, RESULT, Hub, count_in_words
from dpcore.federated.hub_server import check_serving, serving
from dpcore.federated.identity import (
    JOIN_ENDING,
    HubIdentity,
    JoinFile,
    hub_address,
    hub_identity,
    init_study,
    read_join_file,
)
from dpcore.federated.owner_page import attempts_left
from dpcore.federated.plan import StudyPlan, plan_from
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.project import Project
from dpcore.release.table_file import TableFile
from dpcore.release.tables import Table

# A study on this machine: a hub and a guard a site, each a process of its own, on loopback.

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
    hub, guards = (
        Hub(plan, folder / "hub", is_simulation=True),
        dict[str, subprocess.Popen[bytes]](),
    )
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


# Before the day of a study: addresses, names and certificates, tried from both ends.

_LONGEST_REPLY = 1 << 20


@dataclass(frozen=True)
class CheckResult:
    """One thing that was tried.

    is_right: Whether it will do on the day.
    sentence: What was found, and what to do where it will not.
    """

    is_right: bool
    sentence: str


def check_site(
    join: JoinFile,
    *,
    data: Path | str | TableFile | None = None,
    project: Path | str | None = None,
    proxy: str | None = None,
) -> Iterator[CheckResult]:
    """Try all that a guard will need: its file, its table's header, its ledger, its hub.

    data, project: As the guard will get them, if they are to be tried.
    proxy: As for `dpcore.federated.couriers.proxy_for`.
    Raises `ParameterError` if the join file is none.
    """
    plan = plan_from(join.plan)
    yield from _own_certificate(join)
    if data is not None:
        yield _table(plan, data)
    if project is not None:
        yield _ledger(plan, project)
    yield from _hub(plan, HubLine(join, proxy), join)


def _own_certificate(join: JoinFile) -> Iterator[CheckResult]:
    authority = x509.load_pem_x509_certificate(join.authority.encode())
    yield _signed(f"{join.site}'s certificate", join.certificate.encode(), authority)


def _signed(whose: str, pem: bytes, authority: x509.Certificate) -> CheckResult:
    own, now = x509.load_pem_x509_certificate(pem), datetime.now(UTC)
    try:
        own.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return CheckResult(False, f"{whose} is not signed by the study's own authority")
    if not own.not_valid_before_utc <= now <= own.not_valid_after_utc:
        return CheckResult(
            False, f"{whose} holds from {own.not_valid_before_utc:%Y-%m-%d} to "
            f"{own.not_valid_after_utc:%Y-%m-%d}, and today is {now:%Y-%m-%d}: the coordinator "
            "makes the study anew, or this machine's clock is wrong",
        )  # fmt: skip
    return CheckResult(True, f"{whose} holds until {own.not_valid_after_utc:%Y-%m-%d}")


def _table(plan: StudyPlan, data: Path | str | TableFile) -> CheckResult:
    try:
        Table(data, plan.dictionary.keys, plan.n_features)
    except (ParameterError, OSError) as error:
        return CheckResult(False, f"the table does not fit the study: {error}")
    return CheckResult(True, f"the table has the {len(plan.dictionary.keys)} columns that are read")


def _ledger(plan: StudyPlan, folder: Path | str) -> CheckResult:
    try:
        left = attempts_left(plan, Project(folder))
    except (ParameterError, OSError) as error:
        return CheckResult(False, f"the project cannot be used: {error}")
    if not left:
        return CheckResult(False, f"the cap of {folder} admits no attempt of this study any more")
    return CheckResult(True, f"the cap of {folder} admits {left} attempts of this study")


def _hub(plan: StudyPlan, line: HubLine, join: JoinFile) -> Iterator[CheckResult]:
    by = "" if line.proxy is None else f" by the proxy {line.proxy}"
    try:
        status, said = _state(line, join.token)
    except (OSError, http.client.HTTPException) as error:
        yield CheckResult(False, line.why_not(error))
        return
    yield CheckResult(
        True, f"the hub at {line.host}:{line.port} is reached{by}, and is this study's"
    )
    if status != http.client.OK:
        yield CheckResult(
            False, f"the hub refuses this site ({status}: {said[:200].decode(errors='replace')}): "
            "the join file is of another `study init`; ask the coordinator for the present one",
        )  # fmt: skip
        return
    try:
        state: dict[str, Any] = dict(json.loads(said))
    except (ValueError, TypeError, RecursionError):
        state = {}
    if state.get("study") != plan.digest:
        yield CheckResult(
            False, "the hub has another plan than this join file: ask the coordinator"
        )
        return
    yield CheckResult(
        True, f"the hub knows {join.site}, and holds the same plan: {state.get('phase')}"
    )


def _state(line: HubLine, token: str) -> tuple[int, bytes]:
    with closing(line.connection()) as connection:
        connection.request("GET", "/state", headers={"authorization": f"Bearer {token}"})
        response = connection.getresponse()
        return response.status, response.read(_LONGEST_REPLY)


def check_folder(folder: Path | str, identity: HubIdentity) -> Iterator[CheckResult]:
    """Try what a hub will need, but for its port: certificates, the name, the sites' files.

    folder: path. Made by `study init`.
    identity: Of it.
    """
    authority = x509.load_pem_x509_certificate(identity.authority.read_bytes())
    yield _signed("the hub's certificate", identity.certificate.read_bytes(), authority)
    for name in identity.names:
        yield _name(name)
    for path in sorted((Path(folder) / "sites").glob(f"*{JOIN_ENDING}")):
        yield _join_file(path, identity, authority)


def _name(name: str) -> CheckResult:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return CheckResult(
            False, f"no machine called {name} is known here: sites need a name that their networks "
            "know",
        )  # fmt: skip
    return CheckResult(
        True, f"sites reach it as {name}: {', '.join({str(each[4][0]) for each in found})}"
    )


def _join_file(path: Path, identity: HubIdentity, authority: x509.Certificate) -> CheckResult:
    try:
        join = read_join_file(path)
        host, _ = hub_address("hub", join.hub)
        if plan_from(join.plan).digest != identity.plan.digest:
            return CheckResult(False, f"{path} has another plan than the hub")
        if identity.site_of(join.token) != join.site:
            return CheckResult(False, f"{path} has a token that the hub has not given out")
        if host not in identity.names:
            return CheckResult(False, f"{path} calls the hub {host}, and its certificate does not")
    except (ParameterError, OSError) as error:
        return CheckResult(False, f"{path}: {error}")
    return _signed(f"{path.name}", join.certificate.encode(), authority)


@contextmanager
def waiting_for_checks(
    identity: HubIdentity, host: str, port: int, tell: Callable[[str], None]
) -> Iterator[set[str]]:
    """Listen as the hub will, and answer sites that check, until the context is left.

    tell: Told each site that has come, once.
    What the context has grows by the names of those.
    Raises `ParameterError` if the address cannot be listened at.
    """
    came: set[str] = set()

    def seen(site: str) -> None:
        if site not in came:
            came.add(site)
            tell(site)

    with check_serving(identity, host, port, seen):
        yield came
