"""A server for strangers: no table is taken, no study or room is opened, nothing is written.

`DPCORE_PUBLIC_DEMO=1` says so for the whole server.
"""

from __future__ import annotations

import os

import streamlit as st

from dpcore.experiments.store import SIZE_VARIABLE
from pages.shell import own_table
from pages.shell.streamlit_internals import set_server_option

VARIABLE = "DPCORE_PUBLIC_DEMO"
# Places that take people's data, open rooms on this server, or write releases.
REFUSED = frozenset({"own_data", "release", "study", "classroom"})


def is_public_demo() -> bool:
    """Whether this server is one."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def restrict_server() -> None:
    """As a server starts: nothing is kept on disk, and no upload is read."""
    if is_public_demo():
        os.environ[SIZE_VARIABLE] = "0"
        os.environ.pop(own_table.FOLDER_VARIABLE, None)
        set_server_option("server.maxUploadSize", 0)


def refuses(place: str) -> bool:
    """Whether a place is closed to the visitors of a public demo."""
    return is_public_demo() and place in REFUSED


def say_closed() -> None:
    """What stands in the place of a closed page."""
    st.info(
        "This is a public demo: it takes no tables, opens no rooms and writes nothing. On your own "
        "machine `pip install 'dp-pca-lab[dashboard,study]'` and `dp-pca-lab` open all of it.",
        icon="🔒",
    )
