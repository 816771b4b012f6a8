"""A project folder: releases about the same people, and the ledger that limits them.

The ledger is one SQLite file with a write-ahead log. Its cap is set once, when the project is
made, and it is a filter (`dpcore.privacy.accountant`): whoever decides what to release next after
looking at earlier releases keeps the cap's epsilon and delta. A release is written down before its
noise is drawn, and never taken back. A process that is killed in between leaves a release that is
charged and has no folder; its name stays taken, for its noise may have been seen.

Several processes may use one project at once: each looks and charges within one transaction.
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
from dpcore.privacy.accountant import spoken_down
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.release.scales import SAMPLER_SHARE, for_gaussian

LEDGER = "ledger.sqlite"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SECONDS_TO_WAIT = 60
_SCHEMA = """
CREATE TABLE IF NOT EXISTS cap (
    only INTEGER PRIMARY KEY CHECK (only = 1), epsilon REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE IF NOT EXISTS releases (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, charged TEXT NOT NULL,
    mu REAL NOT NULL, distance REAL NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE IF NOT EXISTS answers (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS place (
    only INTEGER PRIMARY KEY CHECK (only = 1), project TEXT NOT NULL, folder TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reserve (only INTEGER PRIMARY KEY CHECK (only = 1), delta REAL NOT NULL);
"""
# Of the cap's delta, in ledgers that say nothing of a reserve: up to version 0.2.
EARLIER_SHARE = 0.01


@dataclass(frozen=True)
class Charged:
    """One line of the ledger.

    Parameters
    ----------
    name : str
    charged : str
        When, in UTC.
    mu, distance : float
        Of the ideal release, and the total variation of what is drawn from it.
    epsilon, delta : float
        What holds of this release alone.
    is_finished : bool
        Whether its folder is there.
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
    """Several releases about the same people, composed.

    There is no epsilon of those made so far among the fields. Of a plan fixed beforehand it would
    be that of mu; but each release is chosen, and the last one stopped at, after looking at the
    others, and then only the cap holds (`dpcore.privacy.accountant`).

    Parameters
    ----------
    mu, distance : float
        Of all of them together.
    share : float
        Part of the cap that is used, in mu squared: equal releases use equal parts.
    cap_epsilon, cap_delta : float
        What holds of everything that the project ever releases.
    cap_reserve : float
        The part of that delta which is kept for the distance.
    """

    mu: float
    distance: float
    share: float
    cap_epsilon: float
    cap_delta: float
    cap_reserve: float


class Costs(Protocol):
    """Of a Gaussian mechanism: its mu, and the total variation of what is drawn from it."""

    @property
    def mu(self) -> float: ...

    @property
    def distance(self) -> float: ...


class Project:
    """A project folder.

    Parameters
    ----------
    folder : path
        Made if it is not there, and a cap is given.
    cap : (epsilon, delta), optional
        For a new project. Given for one that is there, it has to be the same.

    Raises
    ------
    ParameterError
        If there is no project and no cap, or another cap, or the ledger is damaged.
    OSError
        If the folder cannot be made.
    """

    def __init__(self, folder: Path | str, cap: tuple[float, float] | None = None) -> None:
        self.folder = Path(folder)
        require_ledger_of_releases(self.folder)
        if cap is not None:
            cap_of_project(*cap)
            (self.folder / "releases").mkdir(parents=True, exist_ok=True)
        elif not (self.folder / LEDGER).is_file():
            raise ParameterError(
                "project", "a folder with a ledger, or given a cap to start one", str(folder)
            )
        with self._transaction() as ledger:
            if cap is not None:
                begun = ledger.execute("INSERT OR IGNORE INTO cap VALUES (1, ?, ?)", cap)
                if begun.rowcount:
                    of_cap = cap_of_project(*cap).reserve
                    ledger.execute("INSERT INTO reserve VALUES (1, ?)", (of_cap,))
                sync_folder(self.folder)
                sync_folder(self.folder.parent)
            kept = ledger.execute("SELECT epsilon, delta FROM cap").fetchone()
            reserve = ledger.execute("SELECT delta FROM reserve").fetchone()
            here = (secrets.token_hex(16), str(self.folder.resolve()))
            ledger.execute("INSERT OR IGNORE INTO place VALUES (1, ?, ?)", here)
            self._begun = ledger.execute("SELECT project, folder FROM place").fetchone()
            self._require_all_that_lies_here(ledger, self._read(ledger))
        if kept is None:
            raise ParameterError("project", "a folder whose ledger has a cap", str(folder))
        self._require_numbers("the numbers of its cap", [*kept, *(reserve or ())])
        if cap is not None and kept != tuple(map(float, cap)):
            raise ParameterError("cap", f"as it was set for this project, {kept}", cap)
        epsilon, delta = kept
        self.cap = Cap(epsilon, delta, reserve[0] if reserve else EARLIER_SHARE * delta)

    @property
    def origin(self) -> str:
        """A sentence where this is not the folder in which the project was begun, or nothing.

        It was moved, or it is a copy: then what either releases is not in the other's ledger.
        """
        begun = Path(str(self._begun[1]))
        if begun == self.folder.resolve():
            return ""
        return (
            f"this project was begun in {begun}: if it is a copy and was not moved, what is "
            "released there is not counted here"
        )

    def _require_original(self) -> None:
        """Refuse a copy for as long as what it was copied from is there."""
        if not self.origin:
            return
        original = Path(str(self._begun[1]))
        if _project_in(original / LEDGER) == self._begun[0]:
            wish = (
                f"the one that was begun in {original}: this is a copy of it, and each would spend "
                "the cap for itself"
            )
            raise ParameterError("project", wish, str(self.folder))

    def _require_all_that_lies_here(
        self, ledger: sqlite3.Connection, charged: Sequence[Charged]
    ) -> None:
        """Refuse a ledger that lacks a release whose folder lies beside it: it was set back."""
        counted = {each.name.lower() for each in charged}
        answers = {str(name) for (name,) in ledger.execute("SELECT name FROM answers")}
        for folder in _folders_of(self.folder):
            is_release = (folder / "certificate.json").exists()
            # Of answers in studies earlier versions kept no names.
            is_counted = folder.name.lower() in counted or (
                not is_release and (folder.name in answers or bool(charged))
            )
            if not is_counted:
                raise ParameterError(
                    "project", "a folder whose ledger has all releases that lie in it",
                    f"{folder.name}, which is not in the ledger of {self.folder}",
                )  # fmt: skip

    def _require_numbers(self, what: str, values: Sequence[object]) -> None:
        """Refuse what SQLite keeps in a column of numbers, and is none."""
        for value in values:
            if not isinstance(value, float | int) or not 0 <= value < math.inf:
                raise ParameterError(
                    "project", f"a folder with a sound ledger, where {what} are numbers", value
                )

    def path_of(self, name: str) -> Path:
        """Where a release of this name is, or will be.

        Raises
        ------
        ParameterError
            If it is no name for a folder.
        """
        return self.folder / "releases" / folder_name("name", name)

    def releases(self) -> tuple[Charged, ...]:
        """What was charged, in order."""
        with self._transaction() as ledger:
            return self._read(ledger)

    def total(self, up_to: str | None = None) -> Total:
        """All releases together, or those up to and with one."""
        charged = self.releases()
        names = [each.name for each in charged]
        return self._total(charged[: names.index(up_to) + 1 if up_to else len(charged)])

    def require_room(self, name: str, costs: Costs, delta: float | None = None) -> None:
        """Refuse what `charge` would refuse, and charge nothing.

        delta: At which a refusal says what would pass; the cap's if not given.
        """
        with self._transaction() as ledger:
            self._require_room(ledger, name, costs, delta)

    def charge(
        self, name: str, costs: Costs, epsilon: float, delta: float, *, answers: Sequence[str] = ()
    ) -> Total:
        """Write a release down, for good, and say what all of them cost with it.

        Parameters
        ----------
        name : str
        costs : Costs
        epsilon, delta : float
            What holds of this release alone.
        answers : sequence of str
            Names of what it pays for, where that leaves part by part: see `answers`.

        Raises
        ------
        ParameterError
            If the name is taken.
        BeyondCap
            If the cap does not admit it; nothing is charged then.
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
                "INSERT OR IGNORE INTO answers VALUES (?, '')", [(each,) for each in answers]
            )
            return self._total(self._read(ledger))

    def answers(self) -> dict[str, str]:
        """SHA-256 of every answer that may have left, by its name; empty of one that is paid for
        and has not left."""
        with self._transaction() as ledger:
            return dict(ledger.execute("SELECT name, sha256 FROM answers"))

    def seal(self, name: str, sha256: str) -> None:
        """Write down an answer before it leaves, for good.

        Raises
        ------
        ParameterError
            If another answer of this name has left.
        """
        with self._transaction() as ledger:
            ledger.execute(
                "INSERT INTO answers VALUES (?, ?) ON CONFLICT (name) DO UPDATE"
                " SET sha256 = excluded.sha256 WHERE sha256 = ''",
                (name, sha256),
            )
            (kept,) = ledger.execute(
                "SELECT sha256 FROM answers WHERE name = ?", (name,)
            ).fetchone()
        if kept != sha256:
            raise ParameterError("answer", "the one that has left under its name", name)

    def publish(self, name: str, files: Mapping[str, bytes]) -> Path:
        """Put all files of a release that was charged into its folder, or none.

        Raises
        ------
        OSError
            If there is no room on the disk, say. The release stays charged.
        """
        final = self.path_of(name)
        partial = final.with_name(f".{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for each, content in files.items():
            with open(partial / each, "xb") as file:
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
        self._require_all_that_lies_here(ledger, before)
        folder = self.path_of(name)
        taken = {each.name.lower() for each in before}
        if name.lower() in taken or folder.exists():
            end = "" if folder.exists() else " (it was charged and never finished)"
            raise ParameterError("name", f"new to this project{end}", name)
        _require_admitted(self.cap, before, name, costs, delta)

    def _total(self, charged: Sequence[Charged]) -> Total:
        cap, bound = self.cap, _accountant(self.cap, charged).bound_under_cap()
        share = cap.share(bound)
        return Total(bound.mu, bound.distance, share, cap.epsilon, cap.delta, cap.reserve)

    def _read(self, ledger: sqlite3.Connection) -> tuple[Charged, ...]:
        names = ", ".join(each.name for each in fields(Charged)[:-1])
        rows = ledger.execute(f"SELECT {names} FROM releases ORDER BY number")  # noqa: S608
        found = []
        for name, charged, *numbers in rows:
            if not isinstance(name, str):
                raise ParameterError("project", "a ledger whose releases have names", name)
            self._require_numbers(f"mu, distance, epsilon and delta of {name!r}", numbers)
            mu, distance, epsilon, delta = numbers
            is_finished = self.path_of(name).is_dir()
            found.append(Charged(name, str(charged), mu, distance, epsilon, delta, is_finished))
        return tuple(found)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A look and a charge in one: nobody else writes in between."""
        try:
            with closing(self._connected()) as ledger:
                ledger.execute("BEGIN IMMEDIATE")
                yield ledger
                ledger.execute("COMMIT")
        except sqlite3.Error as error:
            raise ParameterError(
                "project", f"a folder with a sound ledger that can be written to ({error})",
                str(self.folder),
            ) from error  # fmt: skip

    def _connected(self) -> sqlite3.Connection:
        ledger = sqlite3.connect(
            self.folder / LEDGER, timeout=_SECONDS_TO_WAIT, isolation_level=None
        )
        # A charge is on the disk before the noise is drawn.
        ledger.execute("PRAGMA journal_mode = WAL")
        ledger.execute("PRAGMA synchronous = FULL")
        ledger.executescript(_SCHEMA)
        return ledger


def _folders_of(project: Path) -> list[Path]:
    """Releases and answers that lie in a project, whatever its ledger says."""
    return sorted(each for each in (project / "releases").glob("[!.]*") if each.is_dir())


def require_ledger_of_releases(project: Path) -> None:
    """Refuse to begin a ledger where releases lie already: theirs is gone.

    Raises `ParameterError` if it is, or is empty.
    """
    ledger = project / LEDGER
    is_there = ledger.is_file() and ledger.stat().st_size > 0
    if not is_there and (lying := _folders_of(project)):
        raise ParameterError(
            "project", f"a folder with the ledger of what was released in it, {LEDGER}",
            f"{len(lying)} releases and no ledger in {project}",
        )  # fmt: skip


def _project_in(ledger: Path) -> str | None:
    """Whose ledger it is, if it is one."""
    if not ledger.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True)) as other:
            found = other.execute("SELECT project FROM place").fetchone()
    except sqlite3.Error:
        return None
    return None if found is None else str(found[0])


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder onto the disk: a power cut takes files whose names are not."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def folder_name(parameter: str, name: str) -> str:
    """The same name, if it is one for a folder.

    Raises `ParameterError` if it is not.
    """
    if not _NAME.fullmatch(name):
        raise ParameterError(
            parameter, "up to 64 letters, digits, _ and -, a letter or digit first", name
        )
    return name


def require_room_to_begin(
    cap: tuple[float, float], costs: Costs, delta: float | None = None
) -> None:
    """Refuse the first release of a new project that its own cap does not admit.

    delta: As in `Project.require_room`.
    Raises `ParameterError` if it is no cap, `BeyondCap` if it does not.
    """
    _require_admitted(cap_of_project(*cap), (), "first", costs, delta)


def _accountant(cap: Cap, charged: Iterable[Charged]) -> Accountant:
    """The accountant of what a ledger says was charged."""
    charges = {each.name: _charge(each.name, each) for each in charged}
    return Accountant(LEDGER, charges, cap=cap)


def _charge(name: str, costs: Costs) -> Charge:
    # The accountant composes by mu; epsilon and delta of a release alone are for who reads of it.
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
        passes = _what_passes(cap, accountant.bound_under_cap(), delta or cap.delta)
        raise BeyondCap(f"{error} {passes}") from error


def _what_passes(cap: Cap, spent: Bound, delta: float) -> str:
    """The largest epsilon that `calibrated` can be asked for at this delta."""
    left = math.sqrt(max(0.0, cap.mu**2 - spent.mu**2))
    largest = gaussian_epsilon(for_gaussian(PrivacyBudget(cap.epsilon, delta)).delta, 1.0, left)
    if left == 0 or largest == 0:
        return "No release passes any more."
    return f"At δ = {say_delta(delta)} the largest ε that passes is {spoken_down(largest)}."


def cap_of_project(epsilon: float, delta: float) -> Cap:
    """The filter that a new project with these has: a part of its delta is the samplers'."""
    return Cap(epsilon, delta, reserve=SAMPLER_SHARE * delta)
