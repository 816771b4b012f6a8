"""The demo with real Flower processes, and the files of a coordinator."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from filelock import FileLock

from dpcore.command_line import main
from dpcore.errors import ParameterError
from dpcore.federated import deployment
from dpcore.federated.aggregator import LOCK, PLAN
from dpcore.federated.deployment import CERTIFICATE, KEY, make_folder, write_node_key
from dpcore.federated.plan import plan_from
from dpcore.release.project import Project

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def short_folder():
    """Return a folder whose path is short enough for Unix sockets."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "demo"


def test_the_demo_gives_components_from_three_charged_sites(short_folder):
    """Run a SuperLink with TLS, three registered SuperNodes and three guards."""
    pytest.importorskip("flwr", reason="the extra `federated` is not installed")
    command = [sys.executable, "-m", "dpcore", "federated", "demo", "--folder", str(short_folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    outcome = json.loads(done.stdout)
    assert outcome["attempts"] == 1 and len(outcome["sites"]) == 3
    result = np.load(outcome["result"])
    np.testing.assert_allclose(result["components"] @ result["components"].T, np.eye(10), atol=1e-9)
    for site in outcome["sites"]:
        assert len(Project(short_folder / f"{site}-project").releases()) == 1
    assert not list(short_folder.glob("*.sock"))


def test_the_plan_command_writes_the_coordinators_folder(tmp_path, capsys):
    (tmp_path / "limits.toml").write_text("[columns.age]\nlower = 0\nupper = 120\n")
    folder = tmp_path / "heart"
    command = ["federated", "plan", str(folder), "--dictionary", str(tmp_path / "limits.toml"),
               "--sites", "oslo,porto", "--components", "1", "--address", "hub.org:1"]  # fmt: skip
    assert main(command) == 0
    assert "ε = 1 against" in capsys.readouterr().err
    assert plan_from((folder / "plan.json").read_bytes()).name == "heart"
    certificate = x509.load_pem_x509_certificate((folder / CERTIFICATE).read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["hub.org", "localhost"]
    assert stat.S_IMODE(os.stat(folder / KEY).st_mode) == 0o600
    assert main(command) == 2
    assert "folder must be new or empty" in capsys.readouterr().err


def test_a_run_ends_soon_after_its_server_app_was_killed(plan_with, tmp_path, monkeypatch):
    """Flower's own command, replaced here by one that waits, is ended."""
    waiting = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(deployment, "_program", lambda command: waiting)
    lock = FileLock(tmp_path / LOCK, thread_local=False)
    lock.acquire()
    killed = threading.Timer(1.0, lock.release)
    started = time.monotonic()
    killed.start()
    (tmp_path / PLAN).write_text(plan_with().json())
    with pytest.raises(OSError, match="the ServerApp ended without an outcome"):
        deployment.run_app(tmp_path)
    assert 1.0 < time.monotonic() - started < 600.0


@pytest.mark.parametrize("address", ["hub.org", "hub.org:", ":1", "hub.org:0", "hub.org:70000"])
def test_an_address_without_host_or_port_is_refused(plan_with, tmp_path, address):
    with pytest.raises(ParameterError, match="address must be host:port"):
        make_folder(plan_with(), tmp_path / "folder", address)


def test_a_node_key_is_private_and_in_the_form_of_ssh_keygen(tmp_path):
    write_node_key(tmp_path / "oslo-node")
    assert stat.S_IMODE(os.stat(tmp_path / "oslo-node").st_mode) == 0o600
    public = (tmp_path / "oslo-node.pub").read_text()
    assert public.startswith("ecdsa-sha2-nistp384 ") and public.endswith("\n")


@pytest.mark.parametrize("command", ["run {}", "superlink {} --port 8443"])
def test_a_folder_without_a_plan_is_refused(command, tmp_path, capsys):
    """Flower described its own missing file."""
    assert main(["federated", *command.format(tmp_path).split()]) == 2
    assert "folder must be made by `federated plan`" in capsys.readouterr().err


def test_an_absent_node_key_is_named(plan_with, tmp_path, capsys):
    """The sentence ended with the frame that Flower draws around a message."""
    make_folder(plan_with(), tmp_path / "folder", "hub.org:1")
    key = str(tmp_path / "absent.pub")
    command = ["federated", "superlink", str(tmp_path / "folder"), "--port", "1"]
    assert main([*command, "--register", key]) == 1
    assert capsys.readouterr().err == f"dpcore: {key} does not exist\n"
