"""Couriers of other software: they carry bytes to a guard's door, and can do nothing else."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from parties import NAMES

from dpcore.federated.couriers import ASK, JOIN, Heard, door, heard_from, knock, serve
from dpcore.federated.hub import Hub
from dpcore.federated.identity import hub_identity, init_study, proof_of, read_join_file


@pytest.fixture
def study(plan_with, guard_of, tmp_path):
    """The study's folder, and a door a site."""
    plan = plan_with(protocol="full")
    joins = init_study(plan, tmp_path / "study", "https://127.0.0.1:1")
    with ExitStack() as doors:
        for site, path in zip(NAMES, joins, strict=True):
            token = read_join_file(path).token
            doors.enter_context(door(guard_of(plan, site), token, tmp_path / f"{site}.sock"))
        yield tmp_path


def test_a_study_goes_through_whatever_carries_it(study):
    """As Flower's apps do it, without Flower: nodes that know a door each, one of nobody."""
    identity = hub_identity(study / "study")
    hub, nodes = Hub(identity.plan, study / "study" / "hub"), dict(enumerate((*NAMES, "nobody")))

    def exchange(told, seconds):
        heard = {}
        # Flower begins a process at a site for it.
        assert seconds > 30 or (JOIN, b"") not in told.values()
        for node, (kind, body) in told.items():
            try:
                heard[node] = knock(study / f"{nodes[node]}.sock", kind, body, seconds=30)
            except OSError as error:
                heard[node] = Heard(False, str(error).encode())
        return heard

    serve(hub, identity, lambda: list(nodes), exchange)
    assert hub.state.phase == "done" and hub.state.answered == NAMES
    assert np.load(hub.folder / "result.npz")["components"].shape == (2, 4)


@pytest.mark.parametrize(
    "record", [{}, {"said": True}, {"said": True, "body": "{}"}, {"said": True, "body": 1 << 40}]
)
def test_of_an_end_that_lies_nothing_is_believed(record):
    assert heard_from(record) == (False, b"no answer of a guard")
    assert not heard_from({"said": 1, "body": b"{}"}).is_said
    assert heard_from({"said": True, "body": b"{}"}) == (True, b"{}")


NO_NETWORK = ("unshare", "--user", "--map-root-user", "--net", "sh", "-c")
WITH_LOOPBACK = "ip link set lo up && "


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run([*NO_NETWORK, f"{WITH_LOOPBACK}true"], capture_output=True).returncode != 0,
    reason="this machine gives nobody a network namespace of their own",
)
def test_a_guard_needs_no_network(plan_with, rows, tmp_path):
    """Programs in namespaces of their own, where there is nothing but their own loopback."""
    plan = replace(plan_with(protocol="full"), sites=NAMES[:2], fewest=2, honest=1)
    joins, guards = init_study(plan, tmp_path / "s", "https://127.0.0.1:1"), []
    for site, join in zip(plan.sites, joins, strict=True):
        np.savez(tmp_path / f"{site}.npz", **dict(zip("wxyz", rows[site].T, strict=True)))
        command = [sys.executable, "-m", "dpcore", "study", "site", join, "--cap", "2", "1e-5",
                   "--data", tmp_path / f"{site}.npz", "--project", tmp_path / site,
                   "--door", tmp_path / f"{site}.sock"]  # fmt: skip
        started = [*NO_NETWORK, f'{WITH_LOOPBACK}exec "$@"', "sh", *map(str, command)]
        guards.append(subprocess.Popen(started))
    try:
        until = time.monotonic() + 100
        while not all((tmp_path / f"{site}.sock").exists() for site in plan.sites):
            assert time.monotonic() < until and all(each.poll() is None for each in guards)
            time.sleep(0.05)
        identity = hub_identity(tmp_path / "s")
        hub = Hub(plan, tmp_path / "s" / "hub")
        doors = {number: tmp_path / f"{site}.sock" for number, site in enumerate(plan.sites)}
        serve(hub, identity, lambda: list(doors), lambda told, seconds: {
            node: knock(doors[node], kind, body, seconds=100)
            for node, (kind, body) in told.items()})  # fmt: skip
    finally:
        for guard in guards:
            guard.kill()
            guard.wait()
    assert hub.state.phase == "done"


def test_who_joins_proves_to_know_the_site_s_token(study):
    identity = hub_identity(study / "study")
    who = json.loads(knock(study / "one.sock", JOIN, seconds=30).body)
    assert identity.is_proven(who["site"], who["key"], who["proof"])
    assert not identity.is_proven("two", who["key"], who["proof"])
    assert not identity.is_proven("one", "ab" * 32, who["proof"])
    assert not identity.is_proven("five", who["key"], who["proof"])
    assert who["proof"] == proof_of(
        identity.plan,
        read_join_file(study / "study" / "sites" / "one.join.json").token,
        who["key"],
    )


def test_a_door_bears_whatever_comes(study):
    path = study / "one.sock"
    assert path.stat().st_mode & 0o777 == 0o660
    assert not knock(path, ASK, b"{", seconds=30).is_said
    assert not knock(path, b"X", seconds=30).is_said
    for junk in (b"", b"A", b"A\xff\xff\xff\xff", b"J\1\0\0\0"):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(path))
            line.sendall(junk)
            line.shutdown(socket.SHUT_WR)
            line.settimeout(30)
            assert line.recv(1) in (b"", b"-")
    assert knock(path, JOIN, seconds=30).is_said
    with pytest.raises(FileNotFoundError):
        knock(study / "nobody.sock", JOIN, seconds=1)


def test_a_door_is_not_opened_where_something_is(study, guard_of, plan_with):
    taken = study / "one.sock"
    guard = guard_of(plan_with(protocol="full"), "two")
    with pytest.raises(OSError, match="in use"), door(guard, "", taken):
        pass
    assert Path(taken).exists()
