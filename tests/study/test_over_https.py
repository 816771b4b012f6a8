"""Guards, hub and strangers on loopback: certificates, tokens, sizes, and a hub that comes back."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from parties import NAMES

from dpcore.study.couriers.https import Courier
from dpcore.study.frames import FrameError
from dpcore.study.hub import Hub
from dpcore.study.hub_server import serving
from dpcore.study.identity import hub_identity, init_study, read_join_file

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def connections():
    """Where this process connects to, and whom it looks up, by Python's own audit of itself."""
    seen, is_on = [], [True]

    def note(event, arguments):
        if is_on[0] and event in ("socket.connect", "socket.getaddrinfo"):
            seen.append(arguments[1] if event == "socket.connect" else arguments[:2])

    sys.addaudithook(note)  # there is no way to take one off
    yield seen
    is_on[0] = False


@pytest.fixture
def study(plan_with, tmp_path):
    """The plan, the hub's folder, its port and each site's join file."""
    plan = plan_with(round_seconds=30.0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    joins = init_study(plan, tmp_path / "study", f"https://127.0.0.1:{port}")
    return plan, tmp_path / "study", port, {path.name.split(".")[0]: path for path in joins}


def ask(port, context, method, path, body=None, token=None):
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    with closing(connection):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        # Of what a refused body has left nothing is read.
        assert (response.headers["connection"] == "close") is (response.status >= 400)
        return response.status, response.read().decode()


def test_three_of_four_sites_make_a_result(study, guard_of, clock, connections):
    """The fourth joins and dies; the hub is killed in between and goes on. Nobody is connected to
    but the hub."""
    plan, folder, port, joins = study
    identity, ended = hub_identity(folder), {}
    guards = {site: guard_of(plan, site) for site in NAMES}

    def run(site):
        ended[site] = Courier(guards[site], read_join_file(joins[site]), patience=20).run()

    threads = [threading.Thread(target=run, args=(site,), daemon=True) for site in NAMES[:3]]
    with serving(Hub(plan, folder / "hub", now=clock), identity, "127.0.0.1", port):
        join = read_join_file(joins["four"])
        key = json.dumps({"key": guards["four"].public_key})
        assert ask(port, join.context(), "POST", "/join", key, join.token)[0] == 200
        for thread in threads:
            thread.start()
    hub = Hub(plan, folder / "hub", now=clock)
    with serving(hub, identity, "127.0.0.1", port):
        while len(hub.state.answered) < 3:
            time.sleep(0.01)
        clock.at += 31  # the fourth is not waited for any longer
        for thread in threads:
            thread.join(30)
    assert ended == dict.fromkeys(NAMES[:3], "done")
    assert np.load(folder / "hub" / "result.npz")["sites"].tolist() == list(NAMES[:3])
    assert set(connections) == {("127.0.0.1", port)}


def test_strangers_are_refused_and_bodies_bounded(study):
    plan, folder, port, joins = study
    hub, join = Hub(plan, folder / "hub"), read_join_file(joins["one"])
    context, token = join.context(), join.token
    with serving(hub, hub_identity(folder), "127.0.0.1", port):
        nobody = ssl.create_default_context(cadata=join.authority)
        with pytest.raises((ssl.SSLError, OSError)):
            ask(port, nobody, "GET", "/state", token=token)
        old = join.context()
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, OSError)):
            ask(port, old, "GET", "/state", token=token)
        assert ask(port, context, "GET", "/state", token="x" * 43)[0] == 401
        assert ask(port, context, "GET", "/state")[0] == 401
        assert ask(port, context, "POST", "/join", b"{", token)[0] == 400
        assert ask(port, context, "POST", "/join", b"[]", token)[0] == 409
        assert ask(port, context, "POST", "/answer/1-sum", b"x" * 20_000, token)[0] == 413
        status, said = ask(port, context, "POST", "/answer/1-sum", b"x", token)
        assert (status, said) == (409, "one sent '1-sum', which it is not asked for")
        assert ask(port, context, "GET", "/state", token=token)[0] == 200
        assert hub.state.phase == "joining" and not hub.state.keys


def test_a_site_that_is_refused_says_so(study, guard_of):
    plan, folder, port, joins = study
    join = replace(read_join_file(joins["one"]), token="of nobody")
    with (
        serving(Hub(plan, folder / "hub"), hub_identity(folder), "127.0.0.1", port),
        pytest.raises(FrameError, match="a token that this study has not given out"),
    ):
        Courier(guard_of(plan, "one"), join).run()


def test_a_hub_that_is_away_is_given_up_in_the_end(study, guard_of):
    plan, _, _, joins = study
    with pytest.raises(OSError, match="could not be reached"):
        Courier(guard_of(plan, "one"), read_join_file(joins["one"]), patience=0.1).run()


def test_secrets_are_their_owner_s_alone(study):
    _, folder, _, joins = study
    for path in (*joins.values(), *(folder / "hub").iterdir()):
        assert path.stat().st_mode & 0o077 == 0
    assert not any("PRIVATE" in path.read_text() for path in folder.glob("*.json"))
