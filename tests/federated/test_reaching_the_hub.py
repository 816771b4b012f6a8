"""A guard that does not reach its hub says which of all that can be wrong, and goes on trying."""

from __future__ import annotations

import base64
import json
import re
import select
import socket
import ssl
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from parties import NAMES

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.federated import couriers, identity
from dpcore.federated.couriers import Courier, HubLine, Proxy, proxy_for
from dpcore.federated.hub import Hub
from dpcore.federated.hub_server import serving
from dpcore.federated.identity import hub_identity, init_study, read_join_file
from dpcore.federated.rehearsal import check_folder, check_site, waiting_for_checks
from dpcore.federated.wire_messages import FrameError

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
HERE = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        return probe.getsockname()[1]


@pytest.fixture
def study_at(plan_with, tmp_path):
    """Function: (folder's name, address) -> folder and join file of the first site."""

    def made(name="study", address=None, port=None):
        port = port or free_port()
        plan = plan_with(protocol="full")
        joins = init_study(plan, tmp_path / name, address or f"https://{HERE}:{port}")
        return tmp_path / name, read_join_file(joins[0]), port

    return made


@pytest.fixture
def said_by(guard_of, plan_with):
    """What a guard says until it has tried for a second time, or gives up."""

    def said(join, proxy=None):
        sentences, again = [], threading.Event()
        guard = guard_of(plan_with(protocol="full"), join.site)
        courier = Courier(guard, join, patience=1e9, say=sentences.append, proxy=proxy)
        once = courier._once
        tries = []

        def counted(*asked):
            tries.append(asked)
            if len(tries) > 2:
                again.set()
                raise Stopped
            return once(*asked)

        courier._once = counted
        with pytest.raises(Stopped):
            courier.run()
        assert again.is_set()
        return sentences

    return said


class Stopped(Exception):
    """The guard would go on trying."""


@contextmanager
def listener(answer):
    """A server on loopback that does this to every connection; its port."""
    with socket.create_server((HERE, 0)) as server:

        def run():
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answered, args=(line,), daemon=True).start()

        def answered(line):
            with line, suppress(OSError):
                answer(line)

        threading.Thread(target=run, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def once(sentences, pattern):
    """The same is not said again and again."""
    (sentence,) = sentences
    assert re.search(pattern, sentence), sentence
    assert sentence.endswith("; it is tried again")


def test_no_hub(study_at, said_by):
    _, join, port = study_at()
    once(said_by(join), f"^nothing listens at {HERE}:{port}: ask the coordinator whether the hub")


def test_a_name_that_nobody_knows(study_at, said_by, monkeypatch):
    _, join, _ = study_at(address="https://hub.example:8443")

    def nobody(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    once(said_by(join), "^no machine called hub.example is known here: ask the coordinator")


def test_nothing_comes_back(study_at, said_by, monkeypatch):
    _, join, _ = study_at()

    def swallowed(*_, **__):
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", swallowed)
    once(said_by(join), f"^nothing comes back from {HERE}:.*a firewall swallows")


def test_a_hub_under_another_name(study_at, said_by):
    folder, join, port = study_at(address="https://hub.example.org:8443")
    join = replace(join, hub=f"https://{HERE}:{port}")
    with serving(Hub(hub_identity(folder).plan, folder / "hub"), hub_identity(folder), HERE, port):
        once(said_by(join), f"^the hub at {HERE}:{port} has a certificate for hub.example.org: ")


def test_an_expired_hub(study_at, said_by, monkeypatch):
    monkeypatch.setattr(identity, "_YEAR", timedelta(minutes=-5))
    folder, join, port = study_at()
    with serving(Hub(hub_identity(folder).plan, folder / "hub"), hub_identity(folder), HERE, port):
        once(
            said_by(join), r"of the hub at .* has expired on 20\d\d-\d\d-\d\d.*makes the study anew"
        )
    with pytest.raises(ParameterError, match="of certificates for today"):
        hub_identity(folder).require_valid()


def signed_by_another(monkeypatch, join, year):
    """The join file with a certificate that its authority has not signed."""
    with monkeypatch.context() as then:
        then.setattr(identity, "_YEAR", year)
        pem, key = identity._Authority("trial").sign(join.site)
    return replace(join, certificate=pem, key=key)


@pytest.mark.parametrize(
    ("year", "said"),
    [
        (timedelta(minutes=-5), r"^this join file's certificate has expired on 20\d\d-\d\d-\d\d: "),
        # A hub may hang up before its word on the certificate is read.
        (timedelta(days=9), "^the hub at .* not accept this join file's certificate"),
    ],
)
def test_a_join_file_that_the_hub_does_not_accept(study_at, said_by, monkeypatch, year, said):
    folder, join, port = study_at()
    join = signed_by_another(monkeypatch, join, year)
    with serving(Hub(hub_identity(folder).plan, folder / "hub"), hub_identity(folder), HERE, port):
        assert all(re.search(said, each) for each in said_by(join))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_server_of_older_tls(study_at, said_by):
    folder, join, _ = study_at()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / "hub" / "certificate.pem", folder / "hub" / "key.pem")

    def answer(line):
        context.wrap_socket(line, server_side=True).close()

    with listener(answer) as port:
        said = said_by(replace(join, hub=f"https://{HERE}:{port}"))
    once(said, "speaks no TLS 1.3: it is not the hub")


def test_an_old_join_file(study_at, said_by):
    """Another `study init` of the same name, at the same address."""
    _, old, port = study_at("old")
    folder, _, _ = study_at("new", port=port)
    with serving(Hub(hub_identity(folder).plan, folder / "hub"), hub_identity(folder), HERE, port):
        once(said_by(old), "of another `study init`: this join file is an old one; ask the")


def test_the_certificate_of_a_stranger(study_at, said_by, tmp_path):
    _, join, _ = study_at()
    pem, key = identity._Authority("a box that opens TLS").sign("hub", HERE)
    (tmp_path / "chain.pem").write_text(pem + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "chain.pem")

    def answer(line):
        with context.wrap_socket(line, server_side=True) as tls:
            tls.recv(100)

    with listener(answer) as port:
        said = said_by(replace(join, hub=f"https://{HERE}:{port}"))
    once(said, "signed by “a box that opens TLS authority” and not by this study: another program")


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n", b""])
def test_no_tls(study_at, said_by, greeting):
    _, join, _ = study_at()

    def answer(line):
        line.sendall(greeting)
        line.recv(1000)

    with listener(answer) as port:
        said = said_by(replace(join, hub=f"https://{HERE}:{port}"))
    once(said, "answers, and not in TLS: another program is there|hangs up before it has said")


def test_one_that_says_nothing(study_at, said_by, monkeypatch):
    _, join, _ = study_at()
    monkeypatch.setattr(couriers, "SECONDS_TO_CONNECT", 0.2)
    done = threading.Event()
    with listener(lambda line: done.wait(60)) as port:
        once(
            said_by(replace(join, hub=f"https://{HERE}:{port}")),
            "takes connections and says nothing",
        )
        done.set()


def test_a_name_that_takes_long_to_be_looked_up_is_said_before_it_is_known(study_at, monkeypatch):
    """Nothing but a clock of its own says that within five seconds: lookups know no deadline."""
    assert couriers.SECONDS_TO_CONNECT < 4.5
    said = threading.Event()
    monkeypatch.setattr("dpcore.federated.couriers.SECONDS_TO_CONNECT", -0.5)
    courier = Courier.__new__(Courier)
    courier._line = HubLine(study_at()[1])
    courier._say = lambda sentence: "nothing has come back" in sentence and said.set()
    with courier._told_if_slow():
        assert said.wait(60)


def test_a_hub_that_comes_back_is_said_to_be_reached(study_at, guard_of, plan_with):
    folder, join, port = study_at()
    plan, sentences, heard = plan_with(protocol="full"), [], threading.Event()

    def say(sentence):
        sentences.append(sentence)
        heard.set()

    courier = Courier(guard_of(plan, "one"), join, say=say)
    threading.Thread(target=courier.run, daemon=True).start()
    assert heard.wait(60)
    hub = Hub(plan, folder / "hub")
    with serving(hub, hub_identity(folder), HERE, port):
        while "joined" not in sentences:
            heard.wait(0.01)
        assert sentences[0].startswith("nothing listens at")
        assert sentences[-2:] == ["the hub is reached", "joined"] and "one" in hub.state.keys
        hub._fail("the test is over")


def test_a_hub_with_another_plan_is_left(study_at, plan_with, guard_of):
    folder, join, port = study_at()
    other = hub_identity(folder)
    object.__setattr__(other, "plan", plan_with(protocol="full", epsilon=2.0))
    with (
        serving(Hub(other.plan, folder / "hub"), other, HERE, port),
        pytest.raises(FrameError, match="another plan than this join file"),
    ):
        Courier(guard_of(plan_with(protocol="full"), "one"), join).run()


def pumped(one, other):
    while True:
        for line in select.select([one, other], [], [], 60)[0]:
            part = line.recv(1 << 16)
            if not part:
                return
            (other if line is one else one).sendall(part)


@contextmanager
def proxy(authorization=None, status=None):
    """A small HTTP proxy; its port, and the lines and headers with which it was asked."""
    asked = []

    def answer(line):
        head = b""
        while b"\r\n\r\n" not in head:
            head += line.recv(1 << 16)
        asked.append(head.decode())
        first, *headers = head.decode().split("\r\n")
        named = dict(each.split(": ", 1) for each in headers if ": " in each)
        if status or named.get("Proxy-Authorization") != authorization:
            said = status or "407 Proxy Authentication Required"
            return line.sendall(f"HTTP/1.1 {said}\r\nContent-Length: 0\r\n\r\n".encode())
        host, _, port = first.split(" ")[1].rpartition(":")
        with closing(socket.create_connection((host, int(port)))) as hub:
            line.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return pumped(line, hub)

    with listener(answer) as port:
        yield port, asked


@pytest.mark.parametrize("by", ["option", "environment"])
def test_guards_go_by_a_proxy_where_there_is_one(study_at, guard_of, plan_with, monkeypatch, by):
    """All of a study through it: it sees where to, and TLS alone."""
    folder, _, port = study_at()
    plan, ended = plan_with(protocol="full"), {}
    guards = {site: guard_of(plan, site) for site in NAMES}
    basic = f"Basic {base64.b64encode(b'ward:s3 cret').decode()}"
    with proxy(basic) as (proxy_port, asked):
        address = f"http://ward:s3%20cret@{HERE}:{proxy_port}"
        if by == "environment":
            monkeypatch.setenv("HTTPS_PROXY", address)
            # The hub is on this machine, to which nobody goes by a proxy unless told to.
            monkeypatch.setattr(couriers, "is_loopback", lambda host: False)

        def run(site):
            join = read_join_file(folder / "sites" / f"{site}.join.json")
            given = address if by == "option" else None
            ended[site] = Courier(guards[site], join, patience=60, proxy=given).run()

        threads = [threading.Thread(target=run, args=(site,), daemon=True) for site in NAMES]
        with serving(Hub(plan, folder / "hub"), hub_identity(folder), HERE, port):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
    assert ended == dict.fromkeys(NAMES, "done")
    assert len(asked) >= 4 * len(NAMES)
    assert all(head.startswith(f"CONNECT {HERE}:{port} HTTP/1.") for head in asked)
    assert not any("Bearer" in head for head in asked)


def test_what_is_wrong_with_a_proxy(study_at, said_by):
    _, join, _ = study_at()
    with proxy("Basic x") as (port, _):
        said = said_by(join, f"http://{HERE}:{port}")
        assert said[0] == f"the hub is reached by the proxy {HERE}:{port}"
        once(said[1:], r"does not let through \(407 .*give --proxy http://NAME:PASSWORD@host:port")
    with proxy(status="403 Forbidden") as (port, _):
        once(said_by(join, f"http://{HERE}:{port}")[1:], r"\(403 .*ask the network's people to let")
    once(
        said_by(join, f"http://{HERE}:{free_port()}")[1:], "^nothing listens at the proxy .*--proxy"
    )


def test_which_proxy(monkeypatch):
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert proxy_for("hub.example.org") is None
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    assert proxy_for("hub.example.org") == Proxy("proxy.example", 3128)
    assert proxy_for("localhost") is None and proxy_for("127.0.0.1") is None
    assert proxy_for("hub.example.org", "none") is None
    assert proxy_for("localhost", "http://other:1") == Proxy("other", 1)
    monkeypatch.setenv("no_proxy", "example.org")
    assert proxy_for("hub.example.org") is None
    for wrong in ("socks5://a:1", "http://a", "http://a:99999", "http://:1", "https://a:1", ""):
        with pytest.raises(ParameterError, match="proxy must be http://host:port") as refused:
            proxy_for("hub.example.org", wrong)
        assert "secret" not in str(refused.value)
    with pytest.raises(ParameterError) as refused:
        proxy_for("hub.example.org", "ftp://ward:secret@a:1")
    assert "secret" not in str(refused.value)


def test_a_check_tries_the_site_s_file_its_table_its_ledger_and_its_hub(
    study_at, guard_of, plan_with, tmp_path
):
    folder, join, port = study_at()
    plan, known = plan_with(protocol="full"), hub_identity(folder)
    guard = guard_of(plan, "one")
    (tmp_path / "table.csv").write_text("w,x,y,z\n0,0,0,0\n")
    (tmp_path / "other.csv").write_text("w,x,y\n0,0,0\n")
    there = {"data": tmp_path / "table.csv", "project": guard.project.folder}
    findings = list(check_site(join, **there))
    assert [each.is_right for each in findings] == [True, True, True, False]
    assert "nothing listens at" in findings[-1].sentence
    came = []
    with waiting_for_checks(known, HERE, port, came.append) as sites:
        findings = list(check_site(join, **there))
        assert all(each.is_right for each in findings), findings
        assert "a check" in findings[-1].sentence and sites == {"one"}
        list(check_site(join))
        assert came == ["one"]
        other = replace(join, token="of nobody")
        *_, found = check_site(other, data=tmp_path / "other.csv", project=tmp_path / "none")
        assert not found.is_right and "the join file is of another `study init`" in found.sentence
    with serving(Hub(plan, folder / "hub"), known, HERE, port):
        *_, found = check_site(join)
        assert found.is_right and found.sentence.endswith("holds the same plan: joining")
    wrong = {
        each.sentence
        for each in check_site(join, data=tmp_path / "other.csv", project=tmp_path / "none")
        if not each.is_right
    }
    assert any("the table does not fit the study" in each for each in wrong)
    assert any("the project cannot be used" in each for each in wrong)


def test_a_guard_that_meets_a_check_waits_for_the_study(study_at, said_by):
    folder, join, port = study_at()
    with waiting_for_checks(hub_identity(folder), HERE, port, lambda _: None):
        once(said_by(join), "^the hub says 503: this is a check, and the study has not begun")


def test_a_check_of_the_hub_s_folder(study_at, plan_with, monkeypatch):
    folder, _, _ = study_at()
    known = hub_identity(folder)
    findings = list(check_folder(folder, known))
    assert all(each.is_right for each in findings) and len(findings) == 2 + len(NAMES)
    old, _, _ = study_at("old")
    mixed = folder / "sites" / "two.join.json"
    mixed.write_bytes((old / "sites" / "two.join.json").read_bytes())
    (folder / "sites" / "three.join.json").write_text("{")
    wrong = [each.sentence for each in check_folder(folder, known) if not each.is_right]
    assert len(wrong) == 2 and "a token that the hub has not given out" in wrong[1]
    nowhere, _, _ = study_at("nowhere", address="https://hub.invalid:8443")

    def nobody(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    wrong = [e.sentence for e in check_folder(nowhere, hub_identity(nowhere)) if not e.is_right]
    (sentence,) = wrong
    assert sentence.startswith(
        "no machine called hub.invalid is known here: sites need a name that"
    )


def test_a_check_at_the_command_line(study_at, capsys, tmp_path):
    folder, _, port = study_at()
    join = str(folder / "sites" / "one.join.json")
    assert main(["study", "check", str(folder)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 6 and all(line.startswith("ok  ") for line in said)
    assert main(["study", "check", join]) == 1
    assert "NO  nothing listens at" in capsys.readouterr().out
    listening = ["study", "check", str(folder), "--port", str(port), "--seconds", "0.01"]
    assert main(listening) == 1
    assert capsys.readouterr().out.count("has not found this hub") == 4
    assert main(["study", "check", str(tmp_path)]) == 2
    assert main(["study", "check", str(tmp_path / "nothing.json")]) == 1
    capsys.readouterr()


SITE = ["--data", "table.csv", "--cap", "3", "1e-5", "--project"]


def test_another_key_names_the_folder_that_has_the_right_one(
    study_at, plan_with, capsys, tmp_path, monkeypatch
):
    """A guard that was started with a new project, at the command line."""
    folder, _, port = study_at()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("w,x,y,z\n0,0,0,0\n")
    hub, join = Hub(plan_with(protocol="full"), folder / "hub"), folder / "sites" / "one.join.json"
    with serving(hub, hub_identity(folder), HERE, port):
        joining = threading.Thread(
            target=main, args=(["study", "site", str(join), *SITE, "first"],), daemon=True
        )
        joining.start()
        while "one" not in hub.state.keys:
            joining.join(0.01)
        assert main(["study", "site", str(join), *SITE, "second"]) == 2
        hub._fail("the test is over")
        joining.join(60)
    said = capsys.readouterr().err
    assert "one has joined with another public key" in said and "Traceback" not in said
    assert f"That is --project {tmp_path / 'first'}" in said


@pytest.mark.parametrize(
    "address",
    ["https://x:99999", "https://x:abc", "https://a b:1", "https://ünï:1", "https://x:1/path",
     "https://x", "http://x:1", "https://u@x:1", "https://[::1:1", "x:1", ""],
)  # fmt: skip
def test_an_address_that_is_none_is_one_sentence(address, tmp_path, capsys):
    (tmp_path / "limits.toml").write_text("[columns.age]\nlower = 0\nupper = 120\n")
    asked = ["study", "init", str(tmp_path / "heart"), "--components", "1",
             "--dictionary", str(tmp_path / "limits.toml"), "--sites"]  # fmt: skip
    assert main([*asked, "oslo,porto", "--address", address]) == 2
    said = capsys.readouterr().err
    assert "address must be https://host:port, with a port from 1 to 65535" in said
    assert said.count("\n") == 1
    for sites in ("oslo, porto", "new york,porto"):
        assert main([*asked, sites, "--address", "https://x:1"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "heart").exists()


def test_a_hub_that_cannot_listen_is_one_sentence(study_at, capsys):
    folder, _, port = study_at()
    asked = ["study", "hub", str(folder), "--port"]
    with socket.create_server((HERE, port)):
        assert main([*asked, str(port)]) == 2
    assert f"port must be free at {HERE}" in capsys.readouterr().err
    assert main([*asked, "0"]) == 2
    assert "port must be a whole number from 1 to 65535" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*asked, "99999"])
    assert "a port is from 0 to 65535, got 99999" in capsys.readouterr().err.splitlines()[-1]
    assert main([*asked, str(port), "--host", "203.0.113.9"]) == 2
    assert main([*asked, str(port), "--reopen"]) == 2
    with serving(Hub(hub_identity(folder).plan, folder / "hub"), hub_identity(folder), HERE, port):
        assert main([*asked, str(free_port())]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" must be ")[0] for line in said] == [
        "dpcore: host", "dpcore: folder", "dpcore: folder"
    ]  # fmt: skip


def test_a_page_port_in_use_is_one_sentence(study_at, capsys, tmp_path, guard_of, plan_with):
    folder, _, port = study_at()
    project = guard_of(plan_with(protocol="full"), "one").project.folder
    asked = ["study", "look", str(folder / "sites" / "one.join.json"), "--project", str(project)]
    with socket.create_server((HERE, port)):
        assert main([*asked, "--page-port", str(port)]) == 2
    assert capsys.readouterr().err.count("page_port must be free on this machine") == 1
    with pytest.raises(SystemExit, match="2"):
        main([*asked, "--page-port", "99999"])
    assert "a port is from 0 to 65535, got 99999" in capsys.readouterr().err


def test_the_state_says_which_plan(study_at):
    folder, join, port = study_at()
    line = HubLine(join)
    hub = Hub(hub_identity(folder).plan, folder / "hub")
    with serving(hub, hub_identity(folder), HERE, port), closing(line.connection()) as way:
        way.request("GET", "/state", headers={"authorization": f"Bearer {join.token}"})
        state = json.loads(way.getresponse().read())
    assert state["study"] == hub_identity(folder).plan.digest and state["phase"] == "joining"
