"""Outcomes of faults in a federated analysis of three sites, with real Flower processes.

    python -m tests.benchmarks.bench_federated [--trials 10] [--faults node server ...]

Each trial starts the network of `python -m dpcore federated demo` and runs it with one fault:

    none    No fault. Prints the peak number of processes and their memory.
    node    The SuperNode of one site is killed during the run.
    server  The ServerApp is killed during the run. The run is started again.
    tls     The SuperNode of one site has another TLS certificate than the SuperLink.
    lie     A site sends NaN, 1e300, a wrong shape, or an impossible sum under masks.
    silent  During the run, a guard stops, a guard ends, or a SuperNode ends.

Columns: sites in the result and attempts, or the error; seconds of the run; seconds from the fault
to the first sentence about it and to the end of the command; whether the ledgers are correct, that
is, whether each honest site is charged once for each attempt that it answered. Trials run one after
the other. Every process is ended; the script reports those that outlived their network. The logs of
the runs go to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import numpy as np

from dpcore.federated.aggregator import PLAN
from dpcore.federated.demo import DemoNetwork, demo_network, digits_plan
from dpcore.federated.deployment import CERTIFICATE, flower_environment, make_folder
from dpcore.federated.guard import Guard
from dpcore.federated.guard_socket import serve_guard
from dpcore.federated.messages import MOMENT, SUM, message_of, request_from, values_from
from dpcore.federated.plan import FederatedPlan, plan_from
from dpcore.release.project import Project

N_SITES, SITE = 3, "hospital_2"
# Faults that make the aggregator wait until its deadline. The deadline of other faults is late, so
# that a loaded machine does not change their outcome.
FAULTS_WITH_WAITING, SHORT_WAIT, LONG_WAIT = ("node", "silent"), 40.0, 120.0
JOIN_SECONDS = 30.0
SECONDS_OF_RUN, SECONDS_TO_END = 300.0, 20.0
# Processes of a trial inherit this variable, so those that outlive their network are found.
MARK = "DPCORE_TRIAL"
KILL, TERM, STOP = signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP


# A site that lies

Lie = Callable[[np.ndarray], np.ndarray]
LIES: dict[str, tuple[str, str, Lie]] = {
    "NaN": ("dpdis", MOMENT, lambda values: np.full_like(values, np.nan)),
    "1e300": ("dpdis", MOMENT, lambda values: np.full_like(values, 1e300)),
    "shape": ("dpdis", MOMENT, lambda values: values[:-1]),
    "masked sum": ("securesum", SUM, lambda values: values + (1 << 60)),
}


class LyingGuard(Guard):
    """Guard that changes its numbers after it has charged and stored the true message."""

    lie: str

    def answer(self, raw: bytes) -> bytes:
        request, message = request_from(raw, self.plan), super().answer(raw)
        _, round_, change = LIES[self.lie]
        if request.round != round_:
            return message
        values = values_from(message, self.plan, request, self.site)
        return message_of(self.plan, request, self.site, change(values.copy()))


def serve_lies(lie: str, folder: Path, site: str) -> None:
    """Serve a lying guard at the socket of a site until the process ends."""
    plan = plan_from((folder / PLAN).read_bytes())
    guard = LyingGuard(plan, site, folder / f"{site}.npz", Project(folder / f"{site}-project"))
    guard.lie = lie
    with serve_guard(guard, folder / f"{site}.sock"):
        Event().wait()


# Processes


def processes_of(trial: str) -> dict[int, str]:
    """Return the command lines of all processes with the mark of a trial, by number."""
    result, mark = {}, f"{MARK}={trial}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        number = int(folder.name)
        with suppress(OSError):
            if number != os.getpid() and mark in (folder / "environ").read_bytes().split(b"\0"):
                result[number] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return result


def megabytes(number: int) -> float:
    """Return the proportional set size of a process."""
    with suppress(OSError):
        for line in Path(f"/proc/{number}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


@contextmanager
def trial_network(plan: FederatedPlan) -> Iterator[tuple[DemoNetwork, list[str]]]:
    """Start the network of a demo; end every process of it with the context.

    The list has, after the context, the command lines of processes that outlived the network.
    """
    leftover: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dpcore-", ignore_cleanup_errors=True) as folder:
        os.environ[MARK] = folder
        try:
            with demo_network(plan, Path(folder) / "d") as network:
                yield network, leftover
        finally:
            deadline = time.monotonic() + SECONDS_TO_END
            while processes_of(folder) and time.monotonic() < deadline:
                time.sleep(0.2)
            for number, command in processes_of(folder).items():
                leftover.append(command)
                with suppress(ProcessLookupError):
                    os.kill(number, KILL)
            del os.environ[MARK]


class Run:
    """Running command `federated run`, with the time of each line of its log."""

    def __init__(self, network: DemoNetwork) -> None:
        command = [sys.executable, "-m", "dpcore", "federated", "run", str(network.folder),
                   "--nodes", network.nodes]  # fmt: skip
        self.lines: list[tuple[float, str]] = []
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=flower_environment(network.folder),
        )  # fmt: skip
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stderr or ():
            self.lines.append((time.monotonic(), line.strip()))
            print(f"{time.monotonic() - self.started:6.1f} {line}", end="", file=sys.stderr)

    def wait_for(self, text: str) -> None:
        """Wait until a line of the log contains a text or the command has ended."""
        while self._process.poll() is None and not any(text in line for _, line in self.lines):
            time.sleep(0.05)

    def outcome(self) -> dict[str, Any]:
        """Return the outcome after the command has ended."""
        try:
            self._process.wait(SECONDS_OF_RUN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return {"error": f"no end within {SECONDS_OF_RUN:.0f} s"}
        self._reader.join(5)
        text = self._process.stdout.read() if self._process.stdout else ""
        return json.loads(text) if text else {"error": self.lines[-1][1]}


# Trials


@dataclass
class Result:
    """Result of one trial.

    kind: Variant of the fault.
    outcome: Outcome of the last run.
    seconds: Seconds of the last run.
    first_sentence, end: Seconds from the fault to the first sentence about it and to the end of the
        command; None without a fault at a known time.
    note: Further measurements.
    """

    kind: str
    outcome: dict[str, Any]
    seconds: float
    first_sentence: float | None = None
    end: float | None = None
    note: str = ""


Trial = Callable[[DemoNetwork, int, random.Random], Result]


def finish(run: Run, kind: str, fault_at: float | None = None, about: str = SITE) -> Result:
    """Wait for a run and return its result.

    about: Text in a sentence about the fault.
    """
    outcome = run.outcome()
    ended = time.monotonic()
    result = Result(kind, outcome, ended - run.started)
    if fault_at is not None:
        times = [at for at, line in run.lines if at > fault_at and about in line]
        result.first_sentence = times[0] - fault_at if times else None
        result.end = ended - fault_at
    return result


def no_fault(network: DemoNetwork, number: int, rng: random.Random) -> Result:
    run, peak, has_ended = Run(network), [0, 0.0, 0.0], Event()
    site_parts = (f"{SITE}-node", f"{SITE}-guard")

    def sample() -> None:
        while not has_ended.wait(0.5):
            # The command of the benchmark itself is not a part of the network.
            all_of_it = processes_of(os.environ[MARK])
            of_site: set[int] = {network.processes[part].pid for part in site_parts}
            for key in sorted(all_of_it):
                with suppress(OSError, IndexError):
                    stat = Path(f"/proc/{key}/stat").read_text()
                    if int(stat.rpartition(")")[2].split()[1]) in of_site:
                        of_site.add(key)
            peak[0] = max(peak[0], len(all_of_it))
            peak[1] = max(peak[1], sum(map(megabytes, all_of_it)))
            peak[2] = max(peak[2], sum(map(megabytes, of_site)))

    sampler = Thread(target=sample)
    sampler.start()
    try:
        result = finish(run, "")
    finally:
        has_ended.set()
        sampler.join()
    result.note = f"{peak[0]} processes, {peak[1]:.0f} MB (PSS), {peak[2]:.0f} MB at a site"
    return result


def killed_node(network: DemoNetwork, number: int, rng: random.Random) -> Result:
    run, delay = Run(network), rng.uniform(0, 6)
    run.wait_for(f"{SITE} has joined")
    time.sleep(delay)
    network.processes[f"{SITE}-node"].kill()
    killed_at = time.monotonic()
    # A zombie would look alive to the programs that the SuperNode has started.
    network.processes[f"{SITE}-node"].wait()
    return finish(run, f"{delay:.1f} s after joining", killed_at)


def killed_server(network: DemoNetwork, number: int, rng: random.Random) -> Result:
    run, delay = Run(network), rng.uniform(0, 6)
    run.wait_for("has joined")
    time.sleep(delay)
    commands = processes_of(os.environ[MARK])
    victims = [line for line, command in commands.items() if "flwr-serverapp" in command]
    for victim in victims:
        os.kill(victim, KILL)
    first = finish(run, f"{delay:.1f} s after joining", time.monotonic(), "without an outcome")
    if "error" not in first.outcome:
        return first
    second = finish(Run(network), first.kind)
    second.first_sentence, second.end = first.first_sentence, first.end
    return second


def wrong_certificate(network: DemoNetwork, number: int, rng: random.Random) -> Result:
    name = f"{SITE}-node"
    process = network.processes[name]
    command = list(cast("list[str]", process.args))
    other = network.folder / "other"
    make_folder(plan_from((network.folder / PLAN).read_bytes()), other, "127.0.0.1:1")
    command[command.index(str(network.folder / CERTIFICATE))] = str(other / CERTIFICATE)
    process.terminate()
    process.wait()
    network.start(name, command)
    result = finish(Run(network), "")
    refused = "SSL/TLS handshake error" in (network.folder / f"{name}.log").read_text()
    result.note = "handshake refused" if refused else "no handshake error in its log"
    return result


def lying_site(network: DemoNetwork, number: int, rng: random.Random) -> Result:
    lie, name = list(LIES)[number % len(LIES)], f"{SITE}-guard"
    network.processes[name].terminate()
    network.processes[name].wait()
    here = "tests.benchmarks.bench_federated"
    network.start(name, [sys.executable, "-m", here, "--lie", lie, str(network.folder), SITE])
    run = Run(network)
    result = finish(run, lie)
    said = (line for _, line in run.lines if f"{SITE} sent" in line or "run failed" in line)
    result.note = next(said, "no sentence").partition(":")[2].strip()
    return result


def silent_site(network: DemoNetwork, number: int, rng: random.Random) -> Result:
    kinds = {"guard stops": ("guard", STOP), "guard ends": ("guard", KILL),
             "SuperNode ends": ("node", TERM)}  # fmt: skip
    kind = list(kinds)[number % len(kinds)]
    part, signal_ = kinds[kind]
    run = Run(network)
    run.wait_for(f"{SITE} has joined")
    network.processes[f"{SITE}-{part}"].send_signal(signal_)
    return finish(run, kind, time.monotonic())


FAULTS: dict[str, Trial] = {
    "none": no_fault,
    "node": killed_node,
    "server": killed_server,
    "tls": wrong_certificate,
    "lie": lying_site,
    "silent": silent_site,
}


def wrong_ledgers(network: DemoNetwork, plan: FederatedPlan, outcome: dict[str, Any]) -> list[str]:
    """Return a sentence for each wrong ledger.

    A sum that may have left has to be charged, and a site of the result has to be charged once for
    each attempt.
    """
    wrong = []
    for site in plan.sites:
        project = Project(network.folder / f"{site}-project")
        charges = {release.name for release in project.releases()}
        sums = [name for name, sealed in project.answers().items() if sealed and "-sum" in name]
        attempts = [int(name.removeprefix(f"{plan.name}-").split("-")[0]) for name in sums]
        if not charges >= {plan.charge_name(attempt) for attempt in attempts}:
            wrong.append(f"{site} answered without a charge")
        if site in outcome.get("sites", ()) and len(charges) != outcome["attempts"]:
            wrong.append(f"{site} has {len(charges)} charges in {outcome['attempts']} attempts")
    return wrong


def settings_of(fault: str, number: int) -> dict[str, Any]:
    """Return the plan's settings for a trial."""
    wait = SHORT_WAIT if fault in FAULTS_WITH_WAITING else LONG_WAIT
    settings: dict[str, Any] = {"fewest": 2, "round_seconds": wait, "join_seconds": JOIN_SECONDS}
    if fault == "lie":
        settings["protocol"] = list(LIES.values())[number % len(LIES)][0]
    return settings


def trial(fault: str, number: int) -> tuple[bool, str]:
    """Run one trial and return whether its ledgers are correct, and its row of the table."""
    plan = digits_plan(N_SITES, **settings_of(fault, number))
    with trial_network(plan) as (network, leftover):
        result = FAULTS[fault](network, number, random.Random(number))
        wrong = wrong_ledgers(network, plan, result.outcome)
    outcome = result.outcome
    said = outcome.get("error") or f"{len(outcome['sites'])} sites, attempt {outcome['attempts']}"
    times = (result.seconds, result.first_sentence, result.end)
    cells = [
        fault,
        str(number + 1),
        result.kind,
        said,
        *("" if seconds is None else f"{seconds:.1f}" for seconds in times),
        "; ".join(wrong) or "yes",
        result.note,
        f"left: {', '.join(leftover)}" if leftover else "",
    ]
    return not wrong and not leftover, " | ".join(cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial, from 0")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--lie", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.lie:
        lie, folder, site = arguments.lie
        serve_lies(lie, Path(folder), site)
    # SIGTERM ends the network too.
    signal.signal(TERM, signal.default_int_handler)
    print("fault | trial | kind | outcome | seconds | sentence | end | ledgers | note", flush=True)
    n_right = 0
    numbers = range(arguments.first, arguments.first + arguments.trials)
    for number in numbers:
        for fault in arguments.faults:
            is_right, row = trial(fault, number)
            n_right += is_right
            print(row, flush=True)
    n_trials = arguments.trials * len(arguments.faults)
    print(f"{n_right} of {n_trials} trials have correct ledgers and left no process")
    return 0 if n_right == n_trials else 1


if __name__ == "__main__":
    sys.exit(main())
