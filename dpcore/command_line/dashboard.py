"""`dpcore dashboard` and `dpcore publish`: the explorer, served or as a folder."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tqdm import tqdm

from dpcore.command_line.options import ASIDE
from dpcore.data import list_datasets
from dpcore.errors import DataUnavailable
from dpcore.experiments.published_folder import PYODIDE, Grid, publish

# `dp-pca-lab`, which is `dpcore dashboard`: the app in a browser, from a wheel or from a clone.

# The wheel has the dashboard's files in a folder of their own beside the package: `pages` and
# `assets` are no names to occupy among everybody's installed packages. In a clone they are the
# repository's own.
_FOLDERS = ("dp_pca_lab", "")
_NEEDED = ("streamlit", "plotly", "PIL", "nbformat", "segno", "pptx")


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


def main() -> int:
    """Entry point `dp-pca-lab`."""
    from dpcore.command_line import main as command_line

    return command_line(["dashboard", *sys.argv[1:]])


def open_dashboard(flags: Sequence[str]) -> int:
    """Run Streamlit on the app until it is stopped; returns its exit status.

    Raises `DataUnavailable` where the extra `dashboard` is not installed.
    """
    lacking = [name for name in _NEEDED if find_spec(name) is None]
    if lacking:
        raise DataUnavailable(
            f"the dashboard cannot open without {', '.join(lacking)}, "
            "which pip install 'dp-pca-lab[dashboard]' brings"
        )
    # Sessions share the processors; more threads than cores only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    command = [sys.executable, "-m", "streamlit", "run", str(app_file()), *flags]
    if os.name == "posix":
        # Signals of a terminal, a container or systemd then reach the server itself.
        os.execv(sys.executable, command)  # noqa: S606, likewise
    return subprocess.call(command)  # noqa: S603, this Python and a file of this package


def app_file() -> Path:
    """The script that Streamlit runs; its configuration lies beside it."""
    beside = Path(__file__).resolve().parents[2]
    for folder in _FOLDERS:
        app = beside / folder / "app.py"
        if app.is_file() and (app.parent / "pages").is_dir():
            return app
    raise DataUnavailable(
        f"the dashboard's app.py is not beside dpcore in {beside}: "
        "install the wheel of dp-pca-lab or work in a clone"
    )


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
    parser.add_argument(
        "--components",
        type=lambda text: tuple(int(part) for part in text.split(",")),
        default=Grid.components,
        help=f"(default: {','.join(map(str, Grid.components))})",
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
    grid = Grid(datasets=arguments.dataset, sites=arguments.sites, components=arguments.components)
    with tqdm(total=grid.n_cells, unit="setting", file=ASIDE, disable=None) as bar:
        page = publish(arguments.folder, grid, progress=bar.update, live=arguments.live)
    size = sum(file.stat().st_size for file in arguments.folder.rglob("*") if file.is_file())
    print(f"{page} ({size / 1e6:.1f} MB)")
    return 0
