"""`dpcore publish`: a folder of the explorer that any web server, or a disk, can show."""

from __future__ import annotations

import argparse
from pathlib import Path

from tqdm import tqdm

from dpcore.command_line.output import ASIDE
from dpcore.data import list_datasets
from dpcore.experiments.analysis.published_folder import Grid, publish


def add_publish_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `publish` to the commands."""
    parser = commands.add_parser(
        "publish",
        help="write a folder of the explorer that anybody can host, without a server",
        description="Run a grid and write it as a page with a slider for ε, which opens from a "
        "disk or from any web server and asks nobody for anything.",
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--dataset",
        type=lambda text: tuple(text.split(",")),
        default=Grid.datasets,
        help=f"of {', '.join(status.name for status in list_datasets())} (default: "
        f"{','.join(Grid.datasets)})",
    )
    parser.add_argument(
        "--sites",
        type=lambda text: tuple(int(part) for part in text.split(",")),
        default=Grid.sites,
        help=f"(default: {','.join(map(str, Grid.sites))})",
    )
    parser.set_defaults(command=_publish)


def _publish(arguments: argparse.Namespace) -> int:
    grid = Grid(datasets=arguments.dataset, sites=arguments.sites)
    with tqdm(total=grid.n_cells, unit="setting", file=ASIDE, disable=None) as bar:
        page = publish(arguments.folder, grid, progress=bar.update)
    size = sum(file.stat().st_size for file in arguments.folder.iterdir() if file.is_file())
    print(f"{page} ({size / 1e6:.1f} MB)")
    return 0
