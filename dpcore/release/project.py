"""Project folder: releases about the same people, and the ledger that limits them.

The ledger is an SQLite file with a write-ahead log. Its cap is fixed when the project is made, and
is a privacy filter (`dpcore.privacy.cap`): it holds for releases that are chosen after
seeing earlier ones. A release is charged before its noise is drawn, and the charge is never
removed. If the process is killed in between, the release is charged without a folder; its name
stays used, since its noise may have been seen.

Several processes may use one project: each checks and charges in one transaction.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from dpcore.errors import ParameterError
from dpcore.privacy import (
    Accountant,
    BeyondCap,
    BeyondReserve,
    Bound,
    Cap,
    Charge,
    PrivacyBudget,
    Release,
    gaussian_epsilon,
)
from dpcore.privacy.cap import say_rounded_down
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.release.scales import SAMPLER_SHARE, for_gaussian

LEDGER = "ledger.sqlite"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SECONDS_TO_WAIT = 60
_PRIVATE = 0o700
_SCHEMA = """
CREATE TABLE IF NOT EXISTS cap (
    only INTEGER PRIMARY KEY CHECK (only = 1), epsilon REAL NOT NULL, delta REAL NOT NULL,
    reserve REAL NOT NULL);
CREATE TABLE IF NOT EXISTS releases (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, charged TEXT NOT NULL,
    mu REAL NOT NULL, distance REAL NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE IF NOT EXISTS answers (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS place (
    only INTEGER PRIMARY KEY CHECK (only = 1), project TEXT NOT NULL, folder TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Charged:
    """Entry of the ledger.

    Parameters
    ----------
    name : str
    charged : str
        Time of the charge, in UTC.
    mu, distance : float
        mu of the ideal release, and the sampler's total variation from it.
    epsilon, delta : float
        Guarantee of this release without the others.
    is_finished : bool
        Whether its folder exists.
    """

    name: str
    charged: str
    mu: float
    distance: float
    epsilon: float
    delta: float
    is_finished: bool


@dataclass(frozen=True)
class Total:
    """Composition of several releases about the same people.

    The fields do not include an epsilon of the releases so far. It would hold for a plan fixed in
    advance; releases that are chosen after seeing others, and stopped adaptively, only keep the
    cap (`dpcore.privacy.cap`).

    Parameters
    ----------
    mu, distance : float
        Sums over all releases, as mu of the composition and total variation.
    share : float
        Used part of the cap, in mu squared, so that equal releases use equal parts.
    cap_epsilon, cap_delta : float
        Guarantee of all releases of the project, including later ones.
    cap_reserve : float
        Part of that delta that is reserved for the distance.
    """

    mu: float
    distance: float
    share: float
    cap_epsilon: float
    cap_delta: float
    cap_reserve: float


class Costs(Protocol):
    """Cost of a Gaussian mechanism: its mu, and the total variation of its sampler."""

    @property
    def mu(self) -> float: ...

    @property
    def distance(self) -> float: ...


class Project:
    """Folder of releases about the same people, with the ledger of these releases.

    Parameters
    ----------
    folder : path
        Created if it does not exist and a cap is given.
    cap : (epsilon, delta), optional
        Cap of a new project; must be equal to that of an existing one.

    Raises
    ------
    ParameterError
        If there is no project and no cap, the cap differs, or the ledger is damaged.
    OSError
        If the folder cannot be created.
    """

    def __init__(self, folder: Path | str, cap: tuple[float, float] | None = None) -> None:
        self.folder = Path(folder)
        require_ledger_of_releases(self.folder)
        if cap is not None:
            cap_of_project(*cap)
            # Only the owner can read the ledger and the stored answers.
            self.folder.mkdir(_PRIVATE, parents=True, exist_ok=True)
            (self.folder / "releases").mkdir(exist_ok=True)
        elif not (self.folder / LEDGER).is_file():
            raise ParameterError(
                "project", "a folder with a ledger, or given a cap to start one", str(folder)
            )
        with self._transaction() as ledger:
            if cap is not None:
                numbers = (*cap, cap_of_project(*cap).reserve)
                ledger.execute("INSERT OR IGNORE INTO cap VALUES (1, ?, ?, ?)", numbers)
                sync_folder(self.folder)
                sync_folder(self.folder.parent)
            stored = ledger.execute("SELECT epsilon, delta, reserve FROM cap").fetchone()
            identity = (secrets.token_hex(16), str(self.folder.resolve()))
            ledger.execute("INSERT OR IGNORE INTO place VALUES (1, ?, ?)", identity)
            self._begun = ledger.execute("SELECT project, folder FROM place").fetchone()
            self._require_all_releases(ledger, self._read(ledger))
        if stored is None:
            raise ParameterError("project", "a folder whose ledger has a cap", str(folder))
        self._require_numbers("the numbers of its cap", stored)
        if cap is not None and stored[:2] != tuple(map(float, cap)):
            raise ParameterError("cap", f"as it was set for this project, {stored[:2]}", cap)
        self.cap = Cap(*stored)

    @property
    def origin(self) -> str:
        """Warning if the project was started in another folder, else "".

        The project was moved or copied then. The original's ledger lacks the releases of a copy.
        """
        begun = Path(str(self._begun[1]))
        if begun == self.folder.resolve():
            return ""
        return (
            f"this project was begun in {begun}: if it is a copy and was not moved, what is "
            "released there is not counted here"
        )

    def _require_original(self) -> None:
        """Refuse a copy while the original exists."""
        if not self.origin:
            return
        original = Path(str(self._begun[1]))
        if _project_in(original / LEDGER) == self._begun[0]:
            constraint = (
                f"the original, started in {original}: this is a copy, and each would spend the "
                "cap separately"
            )
            raise ParameterError("project", constraint, str(self.folder))

    def _require_all_releases(self, ledger: sqlite3.Connection, charged: Sequence[Charged]) -> None:
        """Refuse a ledger that lacks a release of the folder: it was restored from a backup."""
        counted = {release.name.lower() for release in charged}
        answers = {str(name) for (name,) in ledger.execute("SELECT name FROM answers")}
        for folder in _folders_of(self.folder):
            is_release = (folder / "certificate.json").exists()
            is_counted = folder.name.lower() in counted or (
                not is_release and folder.name in answers
            )
            if not is_counted:
                raise ParameterError(
                    "project", "a folder whose ledger has all releases that lie in it",
                    f"{folder.name}, which is not in the ledger of {self.folder}",
                )  # fmt: skip

    def _require_numbers(self, names: str, values: Sequence[object]) -> None:
        """Refuse texts and other values that SQLite allows in columns of numbers."""
        for value in values:
            if not isinstance(value, float | int) or not 0 <= value < math.inf:
                raise ParameterError(
                    "project", f"a folder with a sound ledger, where {names} are numbers", value
                )

    def path_of(self, name: str) -> Path:
        """Return the folder of a release with this name.

        Raises
        ------
        ParameterError
            If the name is not valid for a folder.
        """
        return self.folder / "releases" / folder_name("name", name)

    def releases(self) -> tuple[Charged, ...]:
        """Return the charged releases, in order."""
        with self._transaction() as ledger:
            return self._read(ledger)

    def total(self) -> Total:
        """Return the composition of all releases."""
        return self._total(self.releases())

    def require_room(self, name: str, costs: Costs, delta: float | None = None) -> None:
        """Raise the exceptions that `charge` would raise, without charging.

        delta: Delta at which a refusal states the largest possible epsilon. Default: the cap's.
        """
        with self._transaction() as ledger:
            self._require_room(ledger, name, costs, delta)

    def charge(
        self, name: str, costs: Costs, epsilon: float, delta: float, *, answers: Sequence[str] = ()
    ) -> Total:
        """Charge a release permanently, and return the total of all releases.

        Parameters
        ----------
        name : str
        costs : Costs
        epsilon, delta : float
            Guarantee of this release without the others.
        answers : sequence of str
            Names of the messages that the charge pays for, if they are sent one by one.

        Raises
        ------
        ParameterError
            If the name is used.
        BeyondCap
            If the release exceeds the cap. Nothing is charged in this case.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as ledger:
            self._require_room(ledger, name, costs, delta)
            ledger.execute(
                "INSERT INTO releases (name, charged, mu, distance, epsilon, delta)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (name, now, costs.mu, costs.distance, epsilon, delta),
            )
            ledger.executemany(
                "INSERT OR IGNORE INTO answers VALUES (?, '')", [(answer,) for answer in answers]
            )
            return self._total(self._read(ledger))

    def answers(self) -> dict[str, str]:
        """Return the SHA-256 of each answer by name; "" if charged but not yet sent."""
        with self._transaction() as ledger:
            return dict(ledger.execute("SELECT name, sha256 FROM answers"))

    def seal(self, name: str, sha256: str) -> None:
        """Record an answer permanently, before it is sent.

        Raises
        ------
        ParameterError
            If another answer of this name was recorded.
        """
        with self._transaction() as ledger:
            ledger.execute(
                "INSERT INTO answers VALUES (?, ?) ON CONFLICT (name) DO UPDATE"
                " SET sha256 = excluded.sha256 WHERE sha256 = ''",
                (name, sha256),
            )
            (stored,) = ledger.execute(
                "SELECT sha256 FROM answers WHERE name = ?", (name,)
            ).fetchone()
        if stored != sha256:
            raise ParameterError("answer", "the one that was recorded under its name", name)

    def publish(self, name: str, files: Mapping[str, bytes]) -> Path:
        """Write all files of a charged release into its folder, or none.

        Raises
        ------
        OSError
            If the disk is full, for example. The release stays charged.
        """
        final = self.path_of(name)
        partial = final.with_name(f".{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for file_name, content in files.items():
            with open(partial / file_name, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        sync_folder(partial)
        partial.rename(final)
        sync_folder(final.parent)
        return final

    def _require_room(
        self, ledger: sqlite3.Connection, name: str, costs: Costs, delta: float | None
    ) -> None:
        self._require_original()
        before = self._read(ledger)
        self._require_all_releases(ledger, before)
        folder = self.path_of(name)
        used_names = {release.name.lower() for release in before}
        if name.lower() in used_names or folder.exists():
            end = "" if folder.exists() else " (it was charged and never finished)"
            raise ParameterError("name", f"new to this project{end}", name)
        _require_admitted(self.cap, before, name, costs, delta)

    def _total(self, charged: Sequence[Charged]) -> Total:
        cap, bound = self.cap, _accountant(self.cap, charged).bound_under_cap()
        share = cap.share(bound)
        return Total(bound.mu, bound.distance, share, cap.epsilon, cap.delta, cap.reserve)

    def _read(self, ledger: sqlite3.Connection) -> tuple[Charged, ...]:
        names = ", ".join(field.name for field in fields(Charged)[:-1])
        rows = ledger.execute(f"SELECT {names} FROM releases ORDER BY number")  # noqa: S608
        releases = []
        for name, charged, *numbers in rows:
            if not isinstance(name, str):
                raise ParameterError("project", "a ledger whose releases have names", name)
            self._require_numbers(f"mu, distance, epsilon and delta of {name!r}", numbers)
            mu, distance, epsilon, delta = numbers
            is_finished = self.path_of(name).is_dir()
            releases.append(Charged(name, str(charged), mu, distance, epsilon, delta, is_finished))
        return tuple(releases)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction, so that no other process writes between a check and a charge."""
        try:
            with closing(self._connect()) as ledger:
                ledger.execute("BEGIN IMMEDIATE")
                yield ledger
                ledger.execute("COMMIT")
        except sqlite3.Error as error:
            raise ParameterError(
                "project", f"a folder with a sound ledger that can be written to ({error})",
                str(self.folder),
            ) from error  # fmt: skip

    def _connect(self) -> sqlite3.Connection:
        ledger = sqlite3.connect(
            self.folder / LEDGER, timeout=_SECONDS_TO_WAIT, isolation_level=None
        )
        # The charge must be on disk before the noise is drawn.
        ledger.execute("PRAGMA journal_mode = WAL")
        ledger.execute("PRAGMA synchronous = FULL")
        ledger.executescript(_SCHEMA)
        return ledger


def _folders_of(project: Path) -> list[Path]:
    """Return the folders of releases and answers of a project, in its ledger or not."""
    return sorted(folder for folder in (project / "releases").glob("[!.]*") if folder.is_dir())


def require_ledger_of_releases(project: Path) -> None:
    """Raise `ParameterError` if a folder has releases, and its ledger is missing or empty."""
    ledger = project / LEDGER
    is_there = ledger.is_file() and ledger.stat().st_size > 0
    if not is_there and (folders := _folders_of(project)):
        raise ParameterError(
            "project", f"a folder with the ledger of what was released in it, {LEDGER}",
            f"{len(folders)} releases and no ledger in {project}",
        )  # fmt: skip


def _project_in(ledger: Path) -> str | None:
    """Return the identity of a ledger's project, None if it is not a ledger."""
    if not ledger.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True)) as other:
            place = other.execute("SELECT project FROM place").fetchone()
    except sqlite3.Error:
        return None
    return None if place is None else str(place[0])


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to disk, so that its files survive a power failure."""
    if os.name != "posix":  # other systems cannot open folders
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def folder_name(parameter: str, name: str) -> str:
    """Return the name, or raise `ParameterError` if it is not valid for a folder."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            parameter, "up to 64 letters, digits, _ and -, a letter or digit first", name
        )
    return name


def require_room_to_begin(
    cap: tuple[float, float], costs: Costs, delta: float | None = None
) -> None:
    """Refuse the first release of a new project if it exceeds the cap.

    delta: See `Project.require_room`.
    Raises `ParameterError` if the cap is invalid, `BeyondCap` if the release exceeds it.
    """
    _require_admitted(cap_of_project(*cap), (), "first", costs, delta)


def _accountant(cap: Cap, charged: Iterable[Charged]) -> Accountant:
    """Return the accountant of the charges in a ledger."""
    charges = {release.name: _charge(release.name, release) for release in charged}
    return Accountant(LEDGER, charges, cap=cap)


def _charge(name: str, costs: Costs) -> Charge:
    # The accountant composes mu. It does not use epsilon and delta of single releases.
    return Charge(
        Release(name, name, LEDGER, "gaussian", math.inf, 0.0, costs.mu, distance=costs.distance)
    )


def _require_admitted(
    cap: Cap, charged: Iterable[Charged], name: str, costs: Costs, delta: float | None
) -> None:
    accountant = _accountant(cap, charged)
    try:
        accountant.require(_charge(name, costs))
    except BeyondReserve:
        raise
    except BeyondCap as error:
        largest = _say_largest_epsilon(cap, accountant.bound_under_cap(), delta or cap.delta)
        raise BeyondCap(f"{error} {largest}") from error


def _say_largest_epsilon(cap: Cap, spent: Bound, delta: float) -> str:
    """State the largest epsilon that the cap allows at this delta."""
    remaining = math.sqrt(max(0.0, cap.mu**2 - spent.mu**2))
    largest = gaussian_epsilon(
        for_gaussian(PrivacyBudget(cap.epsilon, delta)).delta, 1.0, remaining
    )
    if remaining == 0 or largest == 0:
        return "No release passes any more."
    return f"At δ = {say_delta(delta)} the largest ε that passes is {say_rounded_down(largest)}."


def cap_of_project(epsilon: float, delta: float) -> Cap:
    """Return the cap of a new project, which reserves a part of delta for the sampler."""
    return Cap(epsilon, delta, reserve=SAMPLER_SHARE * delta)
