"""`dp-pca-lab`, which is `dpcore dashboard`: the app in a browser, from a wheel or from a clone.

Nothing else of the package is imported: the server that takes this process's place would wait.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from dpcore.errors import DataUnavailable

# The wheel has the dashboard's files in a folder of their own beside the package: `pages` and
# `assets` are no names to occupy among everybody's installed packages. In a clone they are the
# repository's own.
_FOLDERS = ("dp_pca_lab", "")
_NEEDED = ("streamlit", "plotly", "PIL", "nbformat", "segno", "pptx")


def main() -> int:
    """Entry point `dp-pca-lab`."""
    try:
        return open_dashboard(sys.argv[1:])
    except DataUnavailable as error:
        sys.stderr.write(f"dp-pca-lab: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


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
    beside = Path(__file__).resolve().parents[1]
    for folder in _FOLDERS:
        app = beside / folder / "app.py"
        if app.is_file() and (app.parent / "pages").is_dir():
            return app
    raise DataUnavailable(
        f"the dashboard's app.py is not beside dpcore in {beside}: "
        "install the wheel of dp-pca-lab or work in a clone"
    )
