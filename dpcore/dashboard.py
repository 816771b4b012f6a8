"""Command `dp-pca-lab` (`dpcore dashboard`): open the app in a browser, from a wheel or a clone.

The module imports nothing else of the package, to start the server without delay.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from dpcore.errors import DataUnavailable

# The wheel has the dashboard's files in a separate folder next to the package, because `pages` and
# `assets` are too general as names of installed packages. A clone has them at its root.
_FOLDERS = ("dp_pca_lab", "")
_NEEDED = ("streamlit", "plotly", "PIL", "segno", "pptx")


def main() -> int:
    """Run the entry point `dp-pca-lab`."""
    try:
        return open_dashboard(sys.argv[1:])
    except DataUnavailable as error:
        sys.stderr.write(f"dp-pca-lab: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def open_dashboard(flags: Sequence[str]) -> int:
    """Run Streamlit on the app until it is stopped, and return its exit status.

    Raises `DataUnavailable` if the extra `dashboard` is not installed.
    """
    lacking = [name for name in _NEEDED if find_spec(name) is None]
    if lacking:
        raise DataUnavailable(
            f"the dashboard cannot open without {', '.join(lacking)}, "
            "which pip install 'dp-pca-lab[dashboard]' brings"
        )
    command = [sys.executable, "-m", "streamlit", "run", str(app_file()), *flags]
    if os.name == "posix":
        # Signals of a terminal, a container or systemd then reach the server.
        os.execv(sys.executable, command)  # noqa: S606, likewise
    return subprocess.call(command)  # noqa: S603, this Python and a file of this package


def app_file() -> Path:
    """Return the script that Streamlit runs; its configuration is in the same folder."""
    root = Path(__file__).resolve().parents[1]
    for folder in _FOLDERS:
        app = root / folder / "app.py"
        if app.is_file() and (app.parent / "pages").is_dir():
            return app
    raise DataUnavailable(
        f"the dashboard's app.py is not next to dpcore in {root}: "
        "install the wheel of dp-pca-lab or work in a clone"
    )
