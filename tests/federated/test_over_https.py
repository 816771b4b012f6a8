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

from dpcore.errors import ParameterError
from dpcore.federated.couriers import Courier
from dpcore.federated.hub import Hub
from dpcore.federated.hub_server import serving
from dpcore.federated.identity import hub_identity, init_study, read_join_file
from dpcore.federated.wire_messages import FrameError, frame

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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def study(plan_with, tmp_path):
    """The plan, the hub's folder, its port and each site's join file."""
    plan, port = plan_with(round_seconds=30.0), free_port()
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


def test_a_message_that_cannot_be_does_not_hold_the_others_up(plan_with, guard_of, tmp_path):
    """It is not waited for another one: the site would send the same again. The others go on."""
    plan, port = plan_with(protocol="dpdis", round_seconds=600.0), free_port()
    joins = init_study(plan, tmp_path / "study", f"https://127.0.0.1:{port}")
    hub = Hub(plan, tmp_path / "study" / "hub")
    guards = {site: guard_of(plan, site) for site in NAMES}
    with serving(hub, hub_identity(tmp_path / "study"), "127.0.0.1", port) as is_alive:
        for site in NAMES:
            hub.join(site, guards[site].public_key)
        for site in NAMES:
            hub.receive(site, "1-sum", guards[site].answer(hub.asks(site).json()))
        request, join = hub.request, read_join_file(joins[0])
        raw = frame(plan, request, "one", np.full((4, 4), 1e300))
        status, said = ask(port, join.context(), "POST", f"/answer/{request.id}", raw, join.token)
        assert status == 409 and "beyond what rows add up to" in said
        assert "beyond what rows add up to" in hub.state.refused["one"]
        for site in NAMES[1:]:
            hub.receive(site, request.id, guards[site].answer(request.json()))
        assert hub.state.phase == "done" and hub.state.answered == NAMES[1:] and is_alive()
    assert not is_alive()


def test_the_hub_s_clock_goes_on_whatever_is_met(study, monkeypatch):
    plan, folder, port, _ = study
    hub, met = Hub(plan, folder / "hub"), threading.Semaphore(0)

    def fails():
        met.release()
        raise ValueError("of a test")

    monkeypatch.setattr(hub, "tick", fails)
    with serving(hub, hub_identity(folder), "127.0.0.1", port):
        for _ in range(3):
            assert met.acquire(timeout=60)


def test_where_a_hub_cannot_listen_is_one_sentence(study, monkeypatch):
    plan, folder, port, _ = study
    hub, identity = Hub(plan, folder / "hub"), hub_identity(folder)
    for wrong, said in ((99_999, "a whole number from 1 to 65535"), (0, "a whole number")):
        with pytest.raises(ParameterError, match=said), serving(hub, identity, "127.0.0.1", wrong):
            pass
    for host in ("203.0.113.9", "no such host", "x" * 70):  # of nobody, for documentation alone
        with (
            pytest.raises(ParameterError, match="host must be an address of this machine"),
            serving(hub, identity, host, port),
        ):
            pass
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(ParameterError, match="port must be free at 127.0.0.1, where another"),
        serving(hub, identity, "127.0.0.1", port),
    ):
        pass
    with (
        serving(hub, identity, "127.0.0.1", port),
        pytest.raises(ParameterError, match="folder must be one whose hub is not running already"),
        serving(hub, identity, "127.0.0.1", free_port()),
    ):
        pass


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
