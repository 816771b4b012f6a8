"""The socket between a guard and its courier."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
import threading
import time
from pathlib import Path

import pytest

from dpcore.federated.guard_socket import (
    ABSENT,
    ANSWERED,
    ASK,
    CONFLICT,
    GREET,
    REFUSED,
    call_guard,
    serve_guard,
)
from dpcore.federated.messages import SUM, Request, greeting_from

SECONDS = 5.0


@pytest.fixture
def path():
    """Return a path that is short enough for a Unix socket."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "guard.sock"


@pytest.fixture
def served(plan_with, guard_of, path):
    plan = plan_with(fewest=2)
    guards = {site: guard_of(plan, site) for site in plan.sites}
    with serve_guard(guards["one"], path):
        yield plan, guards


def request(plan, guards, sites) -> bytes:
    keys = {site: guards[site].greeting.public_key for site in sites}
    return Request(plan.digest, 1, SUM, tuple(sites), keys).json()


def test_greetings_answers_refusals_and_conflicts_pass_the_socket(served, path):
    plan, guards = served
    greeting = call_guard(path, GREET, seconds=SECONDS)
    assert greeting_from(greeting.body, plan) == guards["one"].greeting
    raw = request(plan, guards, plan.sites)
    first = call_guard(path, ASK, raw, seconds=SECONDS)
    assert first.status == ANSWERED and call_guard(path, ASK, raw, seconds=SECONDS) == first
    fewer = call_guard(path, ASK, request(plan, guards, plan.sites[:3]), seconds=SECONDS)
    assert fewer.status == CONFLICT
    assert call_guard(path, ASK, b"{}", seconds=SECONDS).status == REFUSED
    assert call_guard(path, ASK, b"x" * 100_000, seconds=SECONDS).status in (REFUSED, ABSENT)
    assert len(guards["one"].project.releases()) == 1


def test_only_owner_and_group_may_connect(served, path):
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o660


def test_an_absent_guard_is_a_reply(path):
    reply = call_guard(path, GREET, seconds=SECONDS)
    assert reply.status == ABSENT and b"no guard answers at its socket" in reply.body


def test_a_guard_that_closes_or_waits_is_absent_in_time(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        started = time.monotonic()
        assert call_guard(path, GREET, seconds=0.3).status == ABSENT
        assert time.monotonic() - started < SECONDS
        threading.Thread(target=lambda: [server.accept()[0].close() for _ in "12"]).start()
        assert call_guard(path, GREET, seconds=SECONDS).status == ABSENT


def test_a_socket_left_by_a_killed_guard_is_replaced(plan_with, guard_of, path):
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    guard = guard_of(plan_with(), "one")
    with serve_guard(guard, path):
        assert call_guard(path, GREET, seconds=SECONDS).status == ANSWERED
        with pytest.raises(OSError, match="in use"), serve_guard(guard, path):
            pass
        assert call_guard(path, GREET, seconds=SECONDS).status == ANSWERED
    assert not path.exists()
