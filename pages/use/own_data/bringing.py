"""Where a table comes from: a file of the visitor's, a folder of the server's owner, an example."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.errors import ParameterError
from dpcore.releases.examples import EXAMPLES, example
from dpcore.releases.laboratory import LARGEST_UPLOAD, Upload, read_upload
from pages.sidebar import own_table
from pages.use.own_data import limits
from pages.widgets.plain_text import said

_FILE, _TROUBLE = "own_file", "_own_trouble"
_ABOUT = {
    "breast-cancer": "Breast cancer: 569 tumours, 30 measures",
    "class-survey": "Class survey: 400 made-up pupils",
}


def choose_table() -> None:
    """Ways to a table, and what went wrong with the last."""
    if trouble := st.session_state.pop(_TROUBLE, None):
        st.error(said(trouble), icon="⚠️")
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.file_uploader(
            "A table with one row for each person, or several",
            type=["csv", "parquet", "npz"],
            key=_FILE,
            max_upload_size=LARGEST_UPLOAD // 10**6,
            on_change=_brought,
        )
        if place := own_table.folder():
            _from_folder(place)
    with right:
        st.markdown("**Or try it on an example**, which comes with its dictionary:")
        for name in EXAMPLES:
            st.button(_ABOUT[name], key=f"own_{name}", on_click=_take_example, args=(name,))


def _from_folder(place: Path) -> None:
    names = own_table.files_in(place)
    if not names:
        st.caption("The folder that this server's owner opened has no tables.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Or a table in the folder of this server's owner", names)
        st.button("Open it", on_click=_open, args=(place / name,))


def _brought() -> None:
    uploaded = st.session_state.get(_FILE)
    if uploaded is None:
        return
    try:
        _begin(read_upload(uploaded.name, uploaded.getvalue()))
    except ParameterError as error:
        st.session_state[_TROUBLE] = str(error)
    # The rows are here; Streamlit's own copy is not needed.
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, uploaded.file_id)


def _open(path: Path) -> None:
    try:
        # One byte more than is taken says that it is too long.
        with path.open("rb") as file:
            _begin(read_upload(path.name, file.read(LARGEST_UPLOAD + 1)))
    except (ParameterError, OSError) as error:
        st.session_state[_TROUBLE] = str(error)


def _take_example(name: str) -> None:
    columns, dictionary = example(name)
    own = own_table.put(Upload(f"{name}.csv", dict(columns)))
    limits.begin(own, dictionary)
    own_table.use(own, dictionary)


def _begin(upload: Upload) -> None:
    limits.begin(own_table.put(upload), None)
