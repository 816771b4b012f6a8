"""`python -m dpcore federated`: distributed PCA across real sites, over Flower."""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.command_line.options import (
    STDERR,
    Commands,
    add_layout_options,
    add_param_options,
    port,
    table_file,
)
from dpcore.params import params
from dpcore.release.settings import PublicationSettings

if TYPE_CHECKING:
    from dpcore.federated.plan import FederatedPlan

_FAILED = 1


def add_federated_command(commands: Commands) -> None:
    """Add `federated` and its parts to the parser."""
    parser = commands.add_parser("federated", help="analyse real sites over Flower")
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    _add_demo(parts.add_parser("demo", help="run three sites on this machine"))
    _add_plan(parts.add_parser("plan", help="write the coordinator's folder"))
    _add_superlink(parts.add_parser("superlink", help="start Flower's SuperLink"))
    _add_guard(parts.add_parser("guard", help="guard a site's rows at a Unix socket"))
    _add_run(parts.add_parser("run", help="run the rounds at a SuperLink"))


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--epsilon", type=float, default=1.0)
    add("--delta", type=float, default=1e-6)
    add("--components", type=int, default=10, help="K")
    add("--protocol", default="securesum", help="securesum, full or dpdis (default: %(default)s)")
    add_param_options(parser, PublicationSettings)
    add("--fewest", type=int, help="sites that have to answer (default: all but one)")
    add("--round-seconds", type=float, default=60.0, help="longest wait for messages")
    add("--join-seconds", type=float, default=600.0, help="longest wait for sites to join")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    names = (
        "epsilon", "delta", "protocol", *params(PublicationSettings), "fewest", "round_seconds",
        "join_seconds",
    )  # fmt: skip
    values = {name: getattr(arguments, name) for name in names}
    return values | {"n_components": arguments.components}


def _add_plan(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, help="new or empty")
    add("--name", help="name in the sites' ledgers (default: the folder's)")
    add("--dictionary", type=Path, required=True, help="TOML: the columns' public limits")
    add("--sites", required=True, help="names, separated by commas")
    add("--address", required=True, help="SuperLink as the sites reach it, host:port")
    add("--first-view", type=int, metavar="N",
        help="canonical correlations of the first N features and the others")  # fmt: skip
    _add_settings(parser)
    parser.set_defaults(command=_plan)


def _plan(arguments: argparse.Namespace) -> int:
    from dpcore.federated.deployment import make_folder
    from dpcore.federated.plan import FederatedPlan
    from dpcore.release.dictionary_file import read_dictionary

    plan = FederatedPlan(
        arguments.name or arguments.folder.resolve().name,
        read_dictionary(arguments.dictionary),
        tuple(arguments.sites.split(",")),
        first_view=arguments.first_view,
        **_settings(arguments),
    )
    make_folder(plan, arguments.folder, arguments.address)
    print(f"dpcore: {_guarantee(plan)}", file=STDERR)
    print("dpcore: give each site plan.json and certificate.pem", file=STDERR)
    return 0


def _guarantee(plan: FederatedPlan) -> str:
    from dpcore.privacy import Adversary
    from dpcore.privacy.guarantee_in_words import say_delta, say_number

    against = ", ".join(
        f"ε = {say_number(plan.epsilon_against(who))} against {who.value}" for who in Adversary
    )
    masks = (
        f" If an aggregator replaces public keys: ε = {say_number(plan.epsilon_unmasked)}."
        if plan.is_masked
        else ""
    )
    return f"one attempt at δ = {say_delta(plan.delta)}: {against}.{masks}"


def _add_superlink(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, help="made by `federated plan`")
    add("--host", default="127.0.0.1", help="address to listen at (default: this machine only)")
    add("--port", type=port, required=True)
    add("--register", type=Path, nargs="*", default=[], metavar="FILE",
        help="instead of starting it: register the SuperNodes with these public keys")  # fmt: skip
    parser.set_defaults(command=_superlink)


def _superlink(arguments: argparse.Namespace) -> int:
    import subprocess

    from dpcore.federated.deployment import (
        flower_environment,
        plan_in,
        register_node,
        superlink_command,
    )

    plan_in(arguments.folder)
    if arguments.register:
        for key in arguments.register:
            print(key, register_node(arguments.folder, key))
        return 0
    command = superlink_command(arguments.folder, arguments.host, arguments.port)
    with suppress(KeyboardInterrupt):
        return subprocess.run(  # noqa: S603
            command, env=flower_environment(arguments.folder), check=False
        ).returncode
    return 0


def _add_guard(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("plan", type=Path, help="plan.json of the coordinator")
    add("--site", required=True, help="name of this site in the plan")
    add("--data", type=Path, required=True, help="a file as for release")
    add_layout_options(parser)
    add("--project", type=Path, required=True, help="folder with the site's ledger")
    add("--cap", type=float, nargs=2, metavar=("EPSILON", "DELTA"),
        help="for a new project: the most that all releases together may spend")  # fmt: skip
    add("--socket", type=Path, required=True, help="path of the Unix socket")
    add("--peers", type=Path, metavar="FILE",
        help="JSON of other sites' public keys, exchanged over another channel")  # fmt: skip
    parser.set_defaults(command=_guard)


def _guard(arguments: argparse.Namespace) -> int:
    from dpcore.federated.guard import Guard, peers_from
    from dpcore.federated.guard_socket import serve_guard
    from dpcore.federated.plan import plan_from
    from dpcore.release.project import Project

    # The folder of an earlier project may be readable for other users.
    os.umask(0o077)
    data = table_file(arguments)
    plan = plan_from(arguments.plan.read_bytes())
    cap = None if arguments.cap is None else tuple(arguments.cap)
    peers = None if arguments.peers is None else peers_from(arguments.peers, plan)
    guard = Guard(plan, arguments.site, data, Project(arguments.project, cap), peers=peers)
    with serve_guard(guard, arguments.socket), suppress(KeyboardInterrupt):
        print(f"dpcore: {_guarantee(plan)}", file=STDERR)
        key = guard.greeting.public_key
        print(f"dpcore: {guard.site} has the public key {key}", file=STDERR)
        print(f"dpcore: the guard answers at {arguments.socket} until Ctrl-C", file=STDERR,
              flush=True)  # fmt: skip
        # A service manager ends the guard by SIGTERM; the socket is removed as for Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        threading.Event().wait()
    return 0


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, help="made by `federated plan`")
    add("--nodes", default="", metavar="SITE=NUMBER,…",
        help="node identifiers that may answer for a site")  # fmt: skip
    parser.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from dpcore.federated.deployment import run_app

    return _print_outcome(run_app(arguments.folder, nodes=arguments.nodes))


def _print_outcome(outcome: dict[str, Any]) -> int:
    print(json.dumps(outcome, indent=1, ensure_ascii=False))
    return _FAILED if "error" in outcome else 0


def _add_demo(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--sites", type=int, default=3)
    add("--folder", type=Path, help="new or empty (default: a new temporary one)")
    _add_settings(parser)
    parser.set_defaults(command=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    from dpcore.federated.demo import demo_network, digits_plan
    from dpcore.federated.deployment import run_app

    plan = digits_plan(arguments.sites, **_settings(arguments))
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="dpcore-"))
    started = time.monotonic()
    print(f"dpcore: starting a SuperLink and {arguments.sites} sites in {folder}", file=STDERR)
    with demo_network(plan, folder) as network:
        outcome = run_app(folder, nodes=network.nodes, is_simulation=True)
    return _print_outcome(outcome | {"seconds": round(time.monotonic() - started, 1)})
