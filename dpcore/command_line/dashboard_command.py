"""`dpcore dashboard` and `dpcore publish`: the explorer, served or as a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from tqdm import tqdm

from dpcore.command_line.options import ASIDE
from dpcore.dashboard import open_dashboard
from dpcore.data import list_datasets
from dpcore.experiments.published_folder import PYODIDE, PublishedGrid, publish


def add_dashboard_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `dashboard` to the commands."""
    parser = commands.add_parser(
        "dashboard",
        help="open the dashboard in a browser",
        description="Open the dashboard, on this machine alone unless --server.address says "
        "otherwise. What follows is Streamlit's (`streamlit run --help`): --server.port 8502, "
        "--server.headless true.",
        # Streamlit says what is wrong with its own flags.
        prefix_chars="\0",
        add_help=False,
    )
    parser.add_argument("flags", nargs=argparse.REMAINDER, metavar="FLAG")
    parser.set_defaults(command=lambda arguments: open_dashboard(arguments.flags))


# `dpcore publish`: a folder of the explorer that any web server, or a disk, can show.


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
        default=PublishedGrid.datasets,
        help=f"of {', '.join(status.name for status in list_datasets())} (default: "
        f"{','.join(PublishedGrid.datasets)})",
    )
    parser.add_argument(
        "--sites",
        type=lambda text: tuple(int(part) for part in text.split(",")),
        default=PublishedGrid.sites,
        help=f"(default: {','.join(map(str, PublishedGrid.sites))})",
    )
    parser.add_argument(
        "--components",
        type=lambda text: tuple(int(part) for part in text.split(",")),
        default=PublishedGrid.components,
        help=f"(default: {','.join(map(str, PublishedGrid.components))})",
    )
    parser.add_argument(
        "--live",
        metavar="PYODIDE",
        default="",
        help="write a second page that runs any setting, also on a visitor's own table, in the "
        f"visitor's tab: a folder with Pyodide {PYODIDE} and its packages, which is copied, or the "
        "https address of one",
    )
    parser.set_defaults(command=_publish)


def _publish(arguments: argparse.Namespace) -> int:
    grid = PublishedGrid(
        datasets=arguments.dataset, sites=arguments.sites, components=arguments.components
    )
    with tqdm(total=grid.n_cells, unit="setting", file=ASIDE, disable=None) as bar:
        page = publish(arguments.folder, grid, progress=bar.update, live=arguments.live)
    size = sum(file.stat().st_size for file in arguments.folder.rglob("*") if file.is_file())
    print(f"{page} ({size / 1e6:.1f} MB)")
    return 0
