"""A guard and its courier under different users, as `docs/federated.md` recommends.

The users are numbers without accounts, so that the test changes nothing on the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dpcore.federated.masks import public_key_of
from dpcore.release.project import Project

GUARD, COURIER, STRANGER = 61_001, 61_002, 61_003
REPOSITORY = Path(__file__).resolve().parents[2]
# Interpreters that other users may be able to execute.
INTERPRETERS = (sys.executable, "/usr/bin/python3")
SECONDS_TO_START = 60.0
# Prints the statuses of the guard's replies, and the files of a folder that can be read.
COURIER_SCRIPT = """
import json, os, sys
from dpcore.federated.guard_socket import ASK, GREET, call_guard
from dpcore.federated.messages import SUM, Request, greeting_from
from dpcore.federated.plan import plan_from

folder, other_key = sys.argv[1:]
plan = plan_from(open(f"{folder}/plan.json", "rb").read())
path = f"{folder}/socket/one.sock"
greeting = call_guard(path, GREET, seconds=20.0)
statuses = [greeting.status]
if greeting.status == "answered":
    keys = {"one": greeting_from(greeting.body, plan).public_key, "two": other_key}
    request = Request(plan.digest, 1, SUM, ("one", "two"), keys)
    statuses.append(call_guard(path, ASK, request.json(), seconds=60.0).status)
entries = [os.path.join(top, each) for top, _, files in os.walk(folder) for each in files]
readable = sorted(os.path.relpath(each, folder) for each in entries if os.access(each, os.R_OK))
print(json.dumps({"statuses": statuses, "readable": readable}))
"""


def command_of_user(user: int, interpreter: str, *arguments: str) -> dict:
    """Return the arguments of `subprocess` for Python under another user."""
    packages = sysconfig.get_paths()["purelib"]
    environment = {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{packages}", "OPENBLAS_NUM_THREADS": "1"}
    return {
        "args": [interpreter, *arguments],
        "user": user,
        "group": user,
        "extra_groups": [],
        "cwd": "/",
        "env": environment,
    }


@pytest.fixture
def interpreter():
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can start processes of other users")
    for interpreter in INTERPRETERS:
        try:
            command = command_of_user(GUARD, interpreter, "-c", "import dpcore.federated.guard")
            if subprocess.run(**command, check=False, capture_output=True).returncode == 0:
                return interpreter
        except OSError:
            continue
    pytest.skip("other users cannot run Python with this package")


@pytest.fixture
def guard_folder(plan_with, interpreter):
    """Start a guard under its own user and return the folder of its files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "plan.json").write_text(plan_with(fewest=2).json(), encoding="utf-8")
        (folder / "plan.json").chmod(0o644)
        rng = np.random.default_rng(3)
        np.savez(folder / "rows.npz", **{column: rng.uniform(-1, 1, 50) for column in "wxyz"})
        (folder / "rows.npz").chmod(0o600)
        (folder / "socket").mkdir()
        # An earlier version has made the folder of this project.
        (folder / "project" / "releases").mkdir(parents=True)
        for place, group in (("rows.npz", GUARD), ("project", GUARD), ("socket", COURIER)):
            os.chown(folder / place, GUARD, group)
        os.chown(folder / "project" / "releases", GUARD, GUARD)
        # A socket in a folder with this bit belongs to the folder's group.
        (folder / "socket").chmod(0o2750)
        command = command_of_user(
            GUARD, interpreter, "-m", "dpcore", "federated", "guard", str(folder / "plan.json"),
            "--site", "one", "--data", str(folder / "rows.npz"),
            "--project", str(folder / "project"), "--cap", "3", "1e-5",
            "--socket", str(folder / "socket" / "one.sock"),
        )  # fmt: skip
        guard = subprocess.Popen(**command, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + SECONDS_TO_START
        try:
            while not (folder / "socket" / "one.sock").exists():
                assert guard.poll() is None and time.monotonic() < deadline, guard.stderr.read()
                time.sleep(0.1)
            yield folder
        finally:
            guard.terminate()
            guard.communicate(timeout=SECONDS_TO_START)


def report_of(user: int, interpreter: str, folder: Path) -> dict:
    other_key = public_key_of(X25519PrivateKey.generate())
    command = command_of_user(user, interpreter, "-c", COURIER_SCRIPT, str(folder), other_key)
    done = subprocess.run(**command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_courier_reaches_the_socket_and_no_file_of_the_guard(guard_folder, interpreter):
    stranger = report_of(STRANGER, interpreter, guard_folder)
    assert stranger == {"statuses": ["absent"], "readable": ["plan.json"]}
    courier = report_of(COURIER, interpreter, guard_folder)
    assert courier["statuses"] == ["answered", "answered"]
    assert courier["readable"] == ["plan.json", "socket/one.sock"]
    assert len(Project(guard_folder / "project").releases()) == 1
