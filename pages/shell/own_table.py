"""A visitor's own table: in the memory of this session, and nowhere else.

The session holds all there is of it. Whatever pages compute from it is kept with it
(`dpcore.data.dataset`), and goes when it is removed or the session ends.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.data import DatasetStatus, dataset_status
from dpcore.data.dataset import HeldTable, is_held
from dpcore.experiments.spec import GIVEN, SPLITS
from dpcore.params import USUAL_DELTA, largest_delta, usual_delta
from dpcore.release.dictionary import Dictionary
from dpcore.release.encoding import Reading
from dpcore.release.simulation import laboratory_data
from dpcore.release.uploads import UPLOADS, Upload
from pages.server.process import let_go
from pages.shell.fragments import in_browser
from pages.shell.streamlit_internals import is_in_session

# How addresses and the list of data sets call any visitor's own.
YOURS = "your-table"
# A folder whose tables every visitor may open, and where releases go: for a server that one runs
# for oneself. Nothing unless its owner says so.
FOLDER_VARIABLE = "DPCORE_OWN_DATA"
LABORATORY = ":orange-badge[simulation] For your eyes only: not a release."
_OWN = "_own_table"
_reconnected = in_browser("reconnected", Path(__file__).with_name("reconnected.js"))
# The controls that choose a data set.
CHOOSERS = ("dataset", "cca_data")


@dataclass(eq=False)
class OwnTable:
    """What a session has of its visitor's table.

    dictionary: That it is read by, once there is one.
    held: Its rows for the laboratory, by that dictionary.
    reading: What was met in them.
    limits, mounted: The table of limits as it was typed so far, and as its editor began.
    asked: What one row is, so far, as a dictionary's file has it, and the title.
    cells, marks: What a dictionary's file said of how cells are written: of all, and by column.
    version: Of the controls, which begin anew with another dictionary.
    """

    upload: Upload
    limits: Any = None
    mounted: Any = None
    asked: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 0
    dictionary: Dictionary | None = None
    held: HeldTable | None = None
    reading: Reading = field(default_factory=Reading)


def own_table() -> OwnTable | None:
    """This session's, if it has one."""
    if not is_in_session():
        return None
    found: OwnTable | None = st.session_state.get(_OWN)
    return found


def names() -> tuple[str, ...]:
    """What this session may choose beside the catalogue."""
    own = own_table()
    return () if own is None or own.held is None else (own.held.name,)


def splits() -> tuple[str, ...]:
    """How people may be shared out among sites: by a table's column if this session has one."""
    has_sites = any(status.site_sizes for status in statuses())
    return tuple(split for split in SPLITS if has_sites or split != GIVEN)


def statuses() -> tuple[DatasetStatus, ...]:
    """The same, as the list of data sets has them."""
    return tuple(map(dataset_status, names()))


def shown_name(name: str) -> str:
    """A data set as an address names it: of a table of one's own never the name that finds it."""
    return YOURS if is_held(name) else name


def put(upload: Upload) -> OwnTable:
    """Take a table that is in memory, in place of the one there was."""
    remove()
    own = st.session_state[_OWN] = OwnTable(upload)
    return own


def use(own: OwnTable, dictionary: Dictionary) -> None:
    """Hand its rows to the laboratory, as a dictionary reads them, and show them there.

    Raises `ParameterError` if they do not fit; what there was stays.
    """
    reading = Reading()
    data = laboratory_data(own.upload.columns, dictionary, reading)
    own.dictionary, own.held, own.reading = dictionary, HeldTable(data), reading
    # It is read: nobody needs the file itself any more.
    own.upload = replace(own.upload, file=replace(own.upload.file, content=None))
    let_go()
    k = data.default_components or 1
    st.session_state["limits"] = ""
    for name in CHOOSERS:
        st.session_state[name] = own.held.name
    st.session_state["components"] = k
    st.session_state["intermediate"] = min(2 * k, data.n_features)
    if data.sites is not None:
        st.session_state["split"] = GIVEN
    # A larger one would let a release give away a few of these people outright.
    st.session_state["delta"] = min(
        st.session_state.get("delta", USUAL_DELTA), largest_delta(data.n_samples)
    )


def remove() -> None:
    """Let go of the table and of all that came of it."""
    own = own_table()
    if own is None:
        return
    for name in CHOOSERS:
        if own.held is not None and st.session_state.get(name) == own.held.name:
            st.session_state[name] = "digits"
            if st.session_state.get("delta") == usual_delta(own.held.dataset.n_samples):
                st.session_state["delta"] = usual_delta(dataset_status("digits").n_samples)
    del st.session_state[_OWN]
    own.held = None
    let_go()


def say_if_lost() -> None:
    """On a page that shows the table: draw it again when the server is back, and say what is gone.

    The table is in the server's memory alone, which a server that was started anew has not got.
    """
    asked = _reconnected(key="reconnected", on_again_change=lambda: None)
    if asked.again and own_table() is None:
        st.warning("The server was started again and has nothing of this visit. Bring your table.")


def folder() -> Path | None:
    """Where this server's owner lets visitors open tables by name; None as a rule."""
    given = os.environ.get(FOLDER_VARIABLE)
    return Path(given) if given else None


def files_in(place: Path) -> list[str]:
    """Tables right in a folder."""
    return sorted(path.name for path in place.glob("*") if path.name.lower().endswith(UPLOADS))
