"""`python -m dpcore study`: sites on their own machines, a hub nobody has to trust."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.command_line.options import (
    ASIDE,
    Commands,
    add_layout_options,
    add_param_options,
    port,
    table_file,
)
from dpcore.params import params
from dpcore.release.settings import PublicationSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcore.federated.hub import Hub
    from dpcore.federated.identity import HubIdentity
    from dpcore.federated.owner_page import Desk
    from dpcore.federated.plan import StudyPlan
    from dpcore.federated.rehearsal import CheckResult
    from dpcore.federated.wire_messages import Request

_BROKEN, _REFUSED, _LOOK = 1, 2, 0.1


def add_study_command(commands: Commands) -> None:
    """Hang `study` and its parts on the parser."""
    parser = commands.add_parser("study", help="run a study across real sites")
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    _add_init(parts.add_parser("init", help="make a study: a hub's folder, a join file a site"))
    _add_hub(parts.add_parser("hub", help="wait for the sites and add up what they send"))
    _add_site(parts.add_parser("site", help="guard a site's rows and answer the hub"))
    _add_check(parts.add_parser("check", help="before the day: try a join file, or a hub's folder"))
    _add_look(parts.add_parser("look", help="what a site was asked, sent and has left to spend"))
    _add_demo(parts.add_parser("demo", help="a hub and five guards on this machine"))


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--epsilon", type=float, default=1.0)
    add("--delta", type=float, default=1e-6)
    add("--components", type=int, default=10, help="K")
    add(
        "--protocol",
        default="securesum",
        help="see docs/study.md (default: %(default)s)",
    )
    add_param_options(parser, PublicationSettings)
    add("--first-view", type=int, metavar="N",
        help="canonical correlations of the first N columns' features and the others")  # fmt: skip
    add("--fewest", type=int, help="sites that have to answer (default: all but one)")
    add("--round-seconds", type=float, default=60.0, help="how long the hub waits for a message")
    add("--join-seconds", type=float, default=600.0, help="how long it waits for sites to join")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    names = (
        "epsilon", "delta", "protocol", *params(PublicationSettings), "fewest", "first_view",
        "round_seconds", "join_seconds",
    )  # fmt: skip
    values = {name: getattr(arguments, name) for name in names}
    return values | {"n_components": arguments.components}


def _add_init(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, help="new or empty")
    add("--name", help="what sites' ledgers call it (default: the folder's)")
    add("--dictionary", type=Path, required=True, help="TOML: the columns' public limits")
    add("--sites", required=True, help="names, separated by commas")
    add("--address", required=True, help="of the hub as sites reach it: https://host:port")
    _add_settings(parser)
    parser.set_defaults(command=_init)


def _init(arguments: argparse.Namespace) -> int:
    from dpcore.federated.identity import init_study
    from dpcore.federated.owner_page import promised
    from dpcore.federated.plan import StudyPlan
    from dpcore.release.dictionary import read_dictionary

    plan = StudyPlan(
        arguments.name or arguments.folder.resolve().name,
        read_dictionary(arguments.dictionary),
        tuple(arguments.sites.split(",")),
        **_settings(arguments),
    )
    for path in init_study(plan, arguments.folder, arguments.address):
        print(path)
    print(f"dpcore: {promised(plan)}", file=ASIDE)
    print("dpcore: give each site its file by a way that nobody else can read", file=ASIDE)
    return 0


def _add_hub(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, help="made by `study init`")
    add("--host", default="127.0.0.1", help="to listen at (default: this machine alone)")
    add("--port", type=port, required=True)
    add("--reopen", action="store_true",
        help="wait anew for the sites of a study that failed; their files stay")  # fmt: skip
    parser.set_defaults(command=_hub)


def _hub(arguments: argparse.Namespace) -> int:
    from dpcore.federated.hub import Hub
    from dpcore.federated.hub_server import serving
    from dpcore.federated.identity import hub_identity

    identity = hub_identity(arguments.folder)
    identity.require_valid()
    hub = Hub(identity.plan, arguments.folder / "hub")
    with serving(hub, identity, arguments.host, arguments.port) as is_alive:
        _say_where(identity, arguments.host)
        if arguments.reopen:
            hub.reopen()
        return _watched(hub, is_alive)


def _say_where(identity: HubIdentity, host: str) -> None:
    """A hub that listens on this machine alone, by mistake, is reached by nobody."""
    from dpcore.federated.couriers import is_loopback

    elsewhere = [name for name in identity.names if not is_loopback(name)]
    if is_loopback(host) and elsewhere:
        print(
            f"dpcore: listening on this machine alone; for sites that reach it as "
            f"{', '.join(elsewhere)} give --host 0.0.0.0, if nothing here passes them on",
            file=ASIDE, flush=True,
        )  # fmt: skip


def _watched(hub: Hub, is_alive: Callable[[], bool] = lambda: True) -> int:
    """Say what happens until the study has ended and every site has heard of it."""
    told: tuple[float, str] | None = None
    trouble = ""
    while True:
        events = hub.state.events
        # Of very many events the oldest are dropped.
        start = events.index(told) + 1 if told in events else 0
        for at, sentence in events[start:]:
            print(time.strftime("%H:%M:%S", time.localtime(at)), sentence, file=ASIDE, flush=True)
        told = events[-1] if events else None
        if hub.trouble != trouble and (trouble := hub.trouble):
            print(f"dpcore: {trouble}, and is tried again", file=ASIDE, flush=True)
        if hub.state.has_ended:
            break
        if not is_alive():
            raise OSError("the hub's server has stopped; start the hub again, it goes on")
        hub.tick()
        time.sleep(_LOOK)
    from dpcore.federated.rehearsal import summary

    # Sites ask once more and learn that it is over.
    time.sleep(1)
    print(summary(hub))
    if hub.state.phase == "failed":
        print("dpcore: --reopen waits anew for the sites, with the files they have", file=ASIDE)
    return 0 if hub.state.phase == "done" else _BROKEN


def _add_site(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("join", type=Path, help="the site's join file")
    add("--data", type=Path, required=True, help="a file as for release")
    add_layout_options(parser)
    add("--project", type=Path, required=True, help="folder with the site's ledger")
    add("--cap", type=float, nargs=2, metavar=("EPSILON", "DELTA"),
        help="for a new project: the most that everything ever released may spend")  # fmt: skip
    add("--ask", nargs="?", type=float, const=0.0, metavar="SECONDS",
        help="ask on the page and at the terminal before each answer; who says nothing for so "
        "long (default: 0.8 of what the hub waits) has refused")  # fmt: skip
    add("--door", type=Path, metavar="SOCKET",
        help="wait for another software's courier at this Unix socket, and go nowhere")  # fmt: skip
    add("--peers", type=Path, metavar="FILE",
        help="JSON of other sites' public keys, come by another way than the hub")  # fmt: skip
    _add_proxy(parser)
    _add_page_port(parser)
    parser.set_defaults(command=_site)


def _add_proxy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--proxy", metavar="URL",
        help="on the way to the hub: http://[name:password@]host:port, or none (default: "
        "HTTPS_PROXY of the environment, but for NO_PROXY and this machine)",
    )  # fmt: skip


def _add_page_port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--page-port", type=port, default=0, help="of the owner's page on this machine"
    )


def _add_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("path", type=Path, help="a site's join file, or a folder that `study init` made")
    add("--data", type=Path, help="at a site: the table, whose header is looked at")
    add_layout_options(parser)
    add("--project", type=Path, help="at a site: the folder with the ledger")
    _add_proxy(parser)
    add("--host", default="127.0.0.1", help="of a folder: to listen at, as the hub will")
    add("--port", type=int, help="of a folder: listen for sites that check")
    add("--seconds", type=float, default=600.0, help="how long (default: %(default)g)")
    parser.set_defaults(command=_check)


def _check(arguments: argparse.Namespace) -> int:
    """Nothing is joined, drawn or charged."""
    from dpcore.federated.identity import hub_identity, read_join_file
    from dpcore.federated.rehearsal import check_folder, check_site

    if arguments.path.is_dir():
        identity = hub_identity(arguments.path)
        is_right = _told(check_folder(arguments.path, identity))
        if arguments.port is not None:
            is_right &= _listened(arguments, identity)
    else:
        join = read_join_file(arguments.path)
        findings = check_site(
            join,
            data=arguments.data and table_file(arguments),
            project=arguments.project,
            proxy=arguments.proxy,
        )
        is_right = _told(findings)
    return 0 if is_right else _BROKEN


def _told(findings: Iterable[CheckResult]) -> bool:
    """Say what was found; whether all of it is right."""
    is_right = True
    for finding in findings:
        print(f"{'ok' if finding.is_right else 'NO'}  {finding.sentence}", flush=True)
        is_right &= finding.is_right
    return is_right


def _listened(arguments: argparse.Namespace, identity: HubIdentity) -> bool:
    """Wait for sites that check; whether all have come."""
    from dpcore.federated.rehearsal import CheckResult, waiting_for_checks

    def tell(site: str) -> None:
        _told([CheckResult(True, f"{site} has found this hub")])

    sites, until = identity.plan.sites, time.monotonic() + arguments.seconds
    with waiting_for_checks(identity, arguments.host, arguments.port, tell) as came:
        print(
            f"dpcore: waiting for {len(sites)} sites that run `study check`", file=ASIDE, flush=True
        )
        with suppress(KeyboardInterrupt):
            while len(came) < len(sites) and time.monotonic() < until:
                time.sleep(_LOOK)
    missing = [site for site in sites if site not in came]
    return _told(CheckResult(False, f"{site} has not found this hub") for site in missing)


def _add_look(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("join", type=Path, help="the site's join file")
    add("--project", type=Path, required=True, help="folder with the site's ledger")
    _add_page_port(parser)
    parser.set_defaults(command=_look)


def _look(arguments: argparse.Namespace) -> int:
    """The owner's page without a guard, until somebody ends it."""
    from dpcore.federated.identity import read_join_file
    from dpcore.federated.owner_page import Office, owner_page
    from dpcore.federated.plan import plan_from
    from dpcore.release.project import Project

    join = read_join_file(arguments.join)
    office = Office(plan_from(join.plan), join.site, Project(arguments.project))
    with owner_page(office, arguments.page_port) as address, suppress(KeyboardInterrupt):
        print(f"dpcore: the owner's page is at {address}, until Ctrl-C", file=ASIDE, flush=True)
        while True:
            time.sleep(3600)
    return 0


def _site(arguments: argparse.Namespace) -> int:
    from dpcore.federated.couriers import Courier
    from dpcore.federated.guard import Guard
    from dpcore.federated.identity import read_join_file, read_peers
    from dpcore.federated.owner_page import Office, desk_for, owner_page, promised
    from dpcore.federated.plan import plan_from
    from dpcore.federated.wire_messages import FrameError
    from dpcore.release.project import Project

    def say(sentence: str) -> None:
        print(f"dpcore: {sentence}", file=ASIDE, flush=True)

    data = table_file(arguments)
    join = read_join_file(arguments.join)
    cap = None if arguments.cap is None else tuple(arguments.cap)
    plan, project = plan_from(join.plan), Project(arguments.project, cap)
    if project.origin:
        say(project.origin)
    desk = None if arguments.ask is None else desk_for(plan, arguments.ask or None, _tell)
    approve = (lambda _: True) if desk is None else desk.approve
    peers = None if arguments.peers is None else read_peers(arguments.peers, plan)
    guard = Guard(plan, join.site, data, project, approve=approve, peers=peers)
    say(f"{join.site}: {promised(plan)} Public key {guard.public_key}")
    office = Office(plan, join.site, project, desk)
    with owner_page(office, arguments.page_port) as address:
        say(f"the owner's page, on this machine alone, is at {address}")
        if desk is not None:
            threading.Thread(target=_listen, args=(desk,), daemon=True).start()
        if arguments.door is not None:
            from dpcore.federated.couriers import door

            with door(guard, join.token, arguments.door), suppress(KeyboardInterrupt):
                say(f"the guard's door is {arguments.door}, until Ctrl-C")
                threading.Event().wait()
            return 0
        try:
            phase = Courier(guard, join, say=say, proxy=arguments.proxy).run()
        except FrameError as error:
            say(f"{error}{_where_the_key_is(str(error), plan, arguments.project)}")
            return _REFUSED
    print(f"the study is {phase}")
    return 0 if phase == "done" else _BROKEN


def _where_the_key_is(refusal: str, plan: StudyPlan, project: Path) -> str:
    """Where a guard came with a new project: the folder beside it that the site joined with."""
    from dpcore.federated.guard import project_of_key
    from dpcore.federated.hub import OTHER_KEY

    _, is_that, rest = refusal.partition(OTHER_KEY)
    found = project_of_key(plan, rest.partition(":")[0], project) if is_that else None
    return "" if found is None else f". That is --project {found}"


def _tell(request: Request) -> None:
    print(f"attempt {request.attempt}, {request.round}, among {', '.join(request.roster)}")
    print("answer? [y/N] ", end="", flush=True)


def _listen(desk: Desk) -> None:
    """Every line at the terminal is a word on what waits."""
    for line in sys.stdin:
        if (waiting := desk.waiting) is not None:
            desk.decide(waiting.request.id, line.strip().lower() in ("y", "yes"))


def _add_demo(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--sites", type=int, default=5)
    add("--folder", type=Path, help="new or empty (default: a new temporary one)")
    _add_settings(parser)
    parser.set_defaults(command=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    from dpcore.federated.rehearsal import demo_study, digits_plan

    plan = digits_plan(arguments.sites, **_settings(arguments))
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="dpcore-study-"))
    with demo_study(plan, folder) as demo:
        return _watched(demo.hub)
