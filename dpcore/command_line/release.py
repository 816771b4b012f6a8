"""`python -m dpcore release`, `verify` and `example`: a table of people's components, published."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tqdm import tqdm

from dpcore.command_line.options import Commands, add_table_options, path
from dpcore.command_line.output import ASIDE, print_json
from dpcore.data.held_tables import HeldTable
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from dpcore.releases import Reading

BROKEN = 1
_BAR = "{desc} {percentage:3.0f} %"


def add_release_commands(commands: Commands) -> None:
    """Hang the three commands on the parser."""
    _add_release(commands)
    verify = commands.add_parser("verify", help="check a release folder, offline")
    verify.add_argument("folder", type=path)
    verify.set_defaults(command=_verify)
    example = commands.add_parser("example", help="write a table with its dictionary, to try")
    example.add_argument("name", help="breast-cancer or class-survey")
    example.add_argument("folder", type=path, help="where table.csv and dictionary.toml go")
    example.set_defaults(command=_example)


def _add_release(commands: Commands) -> None:
    parser = commands.add_parser(
        "release",
        help="release the principal components of your own table",
        description="Release principal components of a table of people: noise on whole numbers, "
        "from the operating system's entropy, charged to the project's ledger before it is drawn.",
    )
    add = parser.add_argument
    add_table_options(parser, required=True)
    add("--epsilon", type=float, required=True)
    add("--delta", type=float, required=True)
    add("--components", type=int, required=True, help="K")
    add("--project", required=True, type=path, help="folder with the ledger and the releases")
    add("--name", required=True, help="of this release; new to the project")
    add(
        "--cap",
        type=float,
        nargs=2,
        metavar=("EPSILON", "DELTA"),
        help="for a new project: the most that all its releases may spend together, for good",
    )
    add("--preparation", default="sphere", help="sphere or bounded (default: %(default)s)")
    add(
        "--mean-share",
        type=float,
        default=0.1,
        help="part of the budget for the private centre (default: %(default)s)",
    )
    add("--json", action="store_true", help="print the certificate")
    parser.set_defaults(command=_release)


def held_table(arguments: argparse.Namespace) -> HeldTable | None:
    """A table of one's own in place of the data set, which it is for as long as it is held.

    Raises `ParameterError` if it does not fit its dictionary, or there is none.
    """
    given = getattr(arguments, "data", None), getattr(arguments, "dictionary", None)
    if not hasattr(arguments, "dataset") or given == (None, None):
        return None
    data, dictionary = given
    if data is None or dictionary is None:
        raise ParameterError("data", "given together with --dictionary", data and str(data))
    from dpcore.releases import Reading, read_dictionary
    from dpcore.releases.laboratory import laboratory_data

    reading = Reading()
    rows = laboratory_data(data, read_dictionary(dictionary), reading)
    table = HeldTable(rows, ending=data.stem)
    arguments.dataset = table.name
    print(f"dpcore: laboratory, for you alone and no release: {_said(reading)}", file=ASIDE)
    return table


def _release(arguments: argparse.Namespace) -> int:
    from dpcore.releases import Reading
    from dpcore.releases.folder import CERTIFICATE
    from dpcore.releases.releasing import Asked, write_release

    reading, bar = Reading(), tqdm(total=2, file=ASIDE, disable=None, leave=False, bar_format=_BAR)

    def watch(stage: str, share: float) -> None:
        bar.set_description_str(f"dpcore: rows for the {stage}", refresh=False)
        bar.update(share + (stage == "components") - bar.n)

    asked = Asked(
        arguments.epsilon, arguments.delta, arguments.components, arguments.preparation,
        arguments.mean_share,
    )  # fmt: skip
    folder = write_release(
        arguments.data,
        arguments.dictionary,
        asked,
        project=arguments.project,
        name=arguments.name,
        cap=None if arguments.cap is None else tuple(arguments.cap),
        reading=reading,
        watch=watch,
    )
    bar.close()
    certificate = json.loads((folder / CERTIFICATE).read_bytes())
    print(f"dpcore: for you alone: {_said(reading)}", file=ASIDE)
    if arguments.json:
        print_json(certificate)
    else:
        print(f"{folder}: {certificate['promise']}")
    return 0


def _said(reading: Reading) -> str:
    counts = (
        ("clipped to a limit", reading.clipped),
        ("missing, or no number or known level", reading.missing),
    )
    cells = [f"{name} {n}" for _, found in counts for name, n in found.items() if n]
    parts = [f"{reading.n_rows:,} rows read", f"{reading.n_left_out:,} left out"]
    parts += [f"{sum(found.values()):,} cells {what}" for what, found in counts]
    return ", ".join(parts) + (f" ({', '.join(cells[:8])})" if cells else "")


def _verify(arguments: argparse.Namespace) -> int:
    from dpcore.releases.folder import CERTIFICATE
    from dpcore.releases.verification import verify

    if not (arguments.folder / CERTIFICATE).is_file():
        # Not the status of a forgery.
        raise ParameterError("folder", f"a release, with its {CERTIFICATE}", str(arguments.folder))
    verdict = verify(arguments.folder)
    print(verdict.sentence)
    return 0 if verdict.holds else BROKEN


def _example(arguments: argparse.Namespace) -> int:
    from dpcore.releases.examples import write_example

    dictionary = write_example(arguments.name, arguments.folder)
    print(f"{arguments.folder}: {dictionary.title}, {len(dictionary.columns)} columns")
    return 0
