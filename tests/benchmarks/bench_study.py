"""A study of MNIST's size, of guards that are processes: how long, how large, and what kills do.

Run by hand:

    python tests/benchmarks/bench_study.py round      # ten guards at D = 784, one killed mid-round
    python tests/benchmarks/bench_study.py kills 100  # kill -9 of hub and guards at random moments
    python tests/benchmarks/bench_study.py strangers  # 500 bad requests, 1 GB, slow loris

Prints what it found, and ends with an error where something does not hold.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import numpy as np

from dpcore.federated.hub import Hub, centre_and_count, components
from dpcore.federated.hub_server import serving
from dpcore.federated.identity import hub_identity, init_study, read_join_file
from dpcore.federated.plan import StudyPlan, plan_from
from dpcore.federated.rehearsal import LOOPBACK, _free_port, start_guard
from dpcore.federated.wire_messages import MOMENT, SUM, Request, values_from
from dpcore.release.dictionary import Column, Dictionary
from dpcore.release.project import Project

ROUND_SECONDS = 60.0


def study(folder: Path, n_sites: int, side: int, n_rows: int, **settings):
    """Plan, port and join files of a study of made-up pictures."""
    columns = tuple(Column(f"pixel {number}", 0, 255) for number in range(side * side))
    sites = tuple(f"site_{number}" for number in range(n_sites))
    settings = {
        "n_components": 10,
        "fewest": n_sites - 1,
        "round_seconds": ROUND_SECONDS,
    } | settings
    plan = StudyPlan("bench", Dictionary(columns), sites, 1.0, 1e-5, **settings)
    port = _free_port()
    joins = init_study(plan, folder, f"https://{LOOPBACK}:{port}")
    rng = np.random.default_rng(0)
    for site in sites:
        rows = rng.integers(0, 256, (n_rows, side * side), dtype=np.uint8)
        np.savez(folder / "sites" / f"{site}.npz", X=rows)
    return plan, port, joins


def peak_megabytes(guard: subprocess.Popen) -> float:
    for line in Path(f"/proc/{guard.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def expected(hub: Hub) -> np.ndarray:
    """Components by the same code from the frames that the hub has kept."""
    plan, state = hub.plan, hub.state
    keys = {site: state.keys[site] for site in state.roster}
    asked = Request(plan.digest, state.attempt, SUM, state.roster, keys)

    def kept(round_: str):
        request = Request(plan.digest, asked.attempt, round_, asked.roster, keys)
        return {
            site: values_from(
                (hub.folder / request.id / f"{site}.bin").read_bytes(), plan, request, site
            )
            for site in asked.roster
        }

    centre, n_rows = centre_and_count(plan, kept(SUM))
    return components(plan, kept(MOMENT), centre, n_rows).components


def one_round() -> None:
    """Ten guards; one is killed when it is asked for its moment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "study"
        plan, port, joins = study(folder, 10, 28, 6000)
        hub = Hub(plan, folder / "hub")
        with serving(hub, hub_identity(folder), LOOPBACK, port):
            began = time.monotonic()
            guards = {s: start_guard(plan, s, j) for s, j in zip(plan.sites, joins, strict=True)}
            killed, peaks = plan.sites[-1], dict.fromkeys(plan.sites, 0.0)
            while not hub.state.has_ended:
                for site, guard in guards.items():
                    with suppress(OSError):
                        peaks[site] = max(peaks[site], peak_megabytes(guard))
                if hub.state.phase == MOMENT and guards[killed].poll() is None:
                    guards[killed].kill()
                time.sleep(0.05)
        ended = time.monotonic() - began
        events = [(at - hub.state.events[0][0], what) for at, what in hub.state.events]
        for at, what in events:
            print(f"{at:7.2f} s  {what}")
        for guard in guards.values():
            guard.kill()
            guard.wait()
        found = np.load(folder / "hub" / "result.npz")["components"]
        print(f"{hub.state.phase} after {ended:.1f} s; load {os.getloadavg()[0]:.1f}")
        print(f"largest peak of a guard: {max(peaks.values()):.0f} MB")
        assert hub.state.phase == "done" and len(hub.state.roster) == 9
        assert (found == expected(hub)).all(), "not bit for bit"
        print("equal bit for bit to the aggregate of the same messages")


def kills(times: int, seed: int = 0) -> None:
    """So many kill -9 of whichever program, over as many studies as it takes."""
    chance, done, studies = random.Random(seed), 0, 0
    while done < times:
        studies += 1
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "study"
            plan, port, joins = study(folder, 4, 8, 200, join_seconds=60.0, round_seconds=10.0)
            of = dict(zip(plan.sites, joins, strict=True))
            running = {site: start_guard(plan, site, join) for site, join in of.items()}
            running["hub"] = start_hub(folder, port)
            until = time.monotonic() + 60 + 99 * plan.round_seconds
            state = {"phase": "joining"}
            while state["phase"] not in ("done", "failed") and time.monotonic() < until:
                time.sleep(chance.expovariate(1 / 4.0))
                path = folder / "hub" / "hub.json"
                state = json.loads(path.read_bytes()) if path.exists() else state
                for who in [w for w, each in running.items() if each.poll() is not None]:
                    running[who] = again(who, plan, of, folder, port)
                if done < times:
                    victim = chance.choice([*running])
                    running[victim].send_signal(signal.SIGKILL)
                    running[victim].wait()
                    done += 1
                    running[victim] = again(victim, plan, of, folder, port)
            for each in running.values():
                each.kill()
                each.wait()
            check_ledgers(folder, plan)
            why = f" ({state['why']})" if state["why"] else ""
            print(
                f"study {studies}: {state['phase']}{why}, attempt {state['attempt']}, {done} kills"
            )
            assert state["phase"] in ("done", "failed"), "a study hangs"


def again(who: str, plan: StudyPlan, of: dict[str, Path], folder: Path, port: int):
    return start_hub(folder, port) if who == "hub" else start_guard(plan, who, of[who])


def start_hub(folder: Path, port: int) -> subprocess.Popen:
    command = [sys.executable, "-m", "dpcore", "study", "hub", str(folder), "--port", str(port)]
    with (folder / "hub.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def check_ledgers(folder: Path, plan: StudyPlan) -> None:
    """Every message that is kept, at a guard or the hub, has its attempt in the site's ledger, and
    every one at the hub is the one that was sealed there before it left."""
    for site in plan.sites:
        home = folder / "sites" / f"{site}-project"
        charged = {each.name for each in Project(home).releases()} if home.exists() else set()
        names = [path.name for path in (home / "releases").glob(f"{plan.name}-*-*")]
        sealed = Project(home).answers() if home.exists() else {}
        for path in folder.glob(f"hub/*/{site}.bin"):
            names.append(f"{plan.name}-{path.parent.name}")
            left = sha256(path.read_bytes()).hexdigest()
            assert sealed[names[-1]] == left, f"{site} sent {names[-1]} unsealed"
        for name in names:
            assert plan.charge(int(name.split("-")[1])) in charged, (
                f"{site} sent {name}, which it was not charged"
            )


def strangers() -> None:
    """500 malformed or forged requests, a body of 1 GB and 50 slow ones, against a hub."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "study"
        plan, port, joins = study(folder, 3, 28, 10)
        first = read_join_file(joins[0])
        hub = start_hub(folder, port)
        context = first.context()
        while True:
            with suppress(OSError):
                if ask(port, context, "GET", "/state", token=first.token)[0] == 200:
                    break
            time.sleep(0.2)
        before = (folder / "hub" / "hub.json").read_bytes()
        slow = [
            threading.Thread(target=loris, args=(port, context, first.token)) for _ in range(50)
        ]
        for thread in slow:
            thread.start()
        said = [forged(number, port, context, first.token) for number in range(500)]
        print(
            "500 requests:", {status: said.count(status) for status in sorted(set(said), key=str)}
        )
        print("1 GB:", huge(port, context, first.token))
        peak = peak_megabytes(hub)
        print(f"hub's peak {peak:.0f} MB; still answers:",
              ask(port, context, "GET", "/state", token=first.token)[0])  # fmt: skip
        assert (folder / "hub" / "hub.json").read_bytes() == before, "something was changed"
        hub.kill()
        hub.wait()
        assert plan_from(plan.json()) == plan and 200 not in said and 204 not in said


def forged(number: int, port: int, context: ssl.SSLContext, token: str) -> object:
    rng = random.Random(number)
    junk = rng.randbytes(rng.choice([0, 1, 50, 2000, 100_000]))
    method = rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH"])
    path = rng.choice(["/join", "/answer/1-sum", "/answer/..%2f..%2fetc", "/answer/" + "9" * 3000,
                       "/state", "/ask", "/refusal/1-moment", "/nothing", "/answer/"])  # fmt: skip
    known = rng.random() < 0.5
    if known and path in ("/state", "/ask") and method == "GET":
        known = False
    if known and path.startswith("/refusal") and method == "POST":
        known = False  # a refusal of what is not asked is heard and forgotten
    with suppress(OSError, http.client.HTTPException):
        return ask(port, context, method, path, junk, token if known else rng.randbytes(9).hex())[0]
    return "closed"


def ask(port, context, method, path, body=None, token=""):
    connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=10, context=context)
    with closing(connection):
        connection.request(method, path, body, {"authorization": f"Bearer {token}"})
        response = connection.getresponse()
        return response.status, response.read(1000)


def huge(port: int, context: ssl.SSLContext, token: str) -> str:
    """Sent until the hub hangs up, or all of it."""
    raw = socket.create_connection((LOOPBACK, port), timeout=10)
    with context.wrap_socket(raw, server_hostname=LOOPBACK) as line:
        head = f"POST /answer/1-sum HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
        line.sendall(f"{head}content-length: {1 << 30}\r\n\r\n".encode())
        sent, part = 0, bytes(1 << 20)
        with suppress(OSError):
            while sent < 1 << 30:
                line.sendall(part)
                sent += len(part)
        return f"the hub took {sent >> 20} MB of it"


def loris(port: int, context: ssl.SSLContext, token: str) -> None:
    """A header that never ends, a byte a second."""
    with suppress(OSError):
        raw = socket.create_connection((LOOPBACK, port), timeout=10)
        with context.wrap_socket(raw, server_hostname=LOOPBACK) as line:
            line.sendall(
                f"POST /answer/1-sum HTTP/1.1\r\nauthorization: Bearer {token}\r\n".encode()
            )
            for _ in range(30):
                line.sendall(b"x")
                time.sleep(1)


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["round"]
    {"round": one_round, "kills": lambda: kills(int(rest[0]) if rest else 100),
     "strangers": strangers}[what]()  # fmt: skip
