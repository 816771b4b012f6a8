"""`python -m dpcore release`, `verify` and `example`: a table of people's components, published."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from dpcore.command_line.options import Commands
from dpcore.command_line.output import ASIDE, print_json

if TYPE_CHECKING:
    from dpcore.releases import Reading

BROKEN = 1
_BAR = "{desc} {percentage:3.0f} %"


def add_release_commands(commands: Commands) -> None:
    """Hang the three commands on the parser."""
    _add_release(commands)
    verify = commands.add_parser("verify", help="check a release folder, offline")
    verify.add_argument("folder", type=_path)
    verify.set_defaults(command=_verify)
    example = commands.add_parser("example", help="write a table with its dictionary, to try")
    example.add_argument("name", help="breast-cancer or class-survey")
    example.add_argument("folder", type=_path, help="where table.csv and dictionary.toml go")
    example.set_defaults(command=_example)


def _add_release(commands: Commands) -> None:
    parser = commands.add_parser(
        "release",
        help="release the principal components of your own table",
        description="Release principal components of a table of people: noise on whole numbers, "
        "from the operating system's entropy, charged to the project's ledger before it is drawn.",
    )
    add = parser.add_argument
    add("--data", required=True, type=_path, help="a .csv, .parquet, .npz or .npy file")
    add(
        "--dictionary",
        required=True,
        type=_path,
        help="a TOML file with the columns' public limits",
    )
    add("--epsilon", type=float, required=True)
    add("--delta", type=float, required=True)
    add("--components", type=int, required=True, help="K")
    add("--project", required=True, type=_path, help="folder with the ledger and the releases")
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


def _path(text: str) -> Path:
    if "\0" in text:
        raise argparse.ArgumentTypeError("a path has no null character")
    return Path(text)


def _release(arguments: argparse.Namespace) -> int:
    from dpcore.releases import Reading, release

    reading, bar = Reading(), tqdm(total=2, file=ASIDE, disable=None, leave=False, bar_format=_BAR)

    def watch(stage: str, share: float) -> None:
        bar.set_description_str(f"dpcore: rows for the {stage}", refresh=False)
        bar.update(share + (stage == "components") - bar.n)

    released = release(
        arguments.data,
        arguments.dictionary,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        n_components=arguments.components,
        project=arguments.project,
        name=arguments.name,
        preparation=arguments.preparation,
        mean_share=arguments.mean_share,
        cap=None if arguments.cap is None else tuple(arguments.cap),
        reading=reading,
        watch=watch,
    )
    bar.close()
    print(f"dpcore: for you alone: {_said(reading)}", file=ASIDE)
    if arguments.json:
        print_json(released.certificate_)
    else:
        print(f"{released.folder}: {released.certificate_['promise']}")
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
    from dpcore.releases.verification import verify

    verdict = verify(arguments.folder)
    print(verdict.sentence)
    return 0 if verdict.holds else BROKEN


def _example(arguments: argparse.Namespace) -> int:
    from dpcore.releases.examples import write_example

    dictionary = write_example(arguments.name, arguments.folder)
    print(f"{arguments.folder}: {dictionary.title}, {len(dictionary.columns)} columns")
    return 0
