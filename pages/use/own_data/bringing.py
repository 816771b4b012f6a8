"""A table from a file, a folder or an example: what was read of it, and where it can go."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.pca.sentences import counted
from dpcore.releases.dictionary import Dictionary
from dpcore.releases.examples import EXAMPLES, example
from dpcore.releases.laboratory import LARGEST_UPLOAD, Upload, read_upload
from pages.sidebar import own_table
from pages.sidebar.navigation import PAGES, page_path
from pages.sidebar.own_table import OwnTable
from pages.use.own_data import limits
from pages.widgets import session_ledger
from pages.widgets.plain_text import plainly, said

_FILE, _TROUBLE = "own_file", "_own_trouble"
_ABOUT = {
    "breast-cancer": "Breast cancer: 569 tumours, 30 measures",
    "class-survey": "Class survey: 400 made-up pupils",
}
_USE_TROUBLE = "_own_use_trouble"
_STEPS = ("File", "Limits", "One row", "Laboratory")
_THERE = ("play", "central", "eigen_images", "cca", "classification")


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
            st.button(_ABOUT[name], key=f"own_{name}", on_click=take_example, args=(name,))


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


def take_example(name: str) -> None:
    """Use an example as one's own, with the dictionary that it comes with."""
    columns, dictionary = example(name)
    own = own_table.put(Upload(f"{name}.csv", dict(columns)))
    limits.begin(own, dictionary)
    own_table.use(own, dictionary)


def _begin(upload: Upload) -> None:
    limits.begin(own_table.put(upload), None)


def where_one_is(own: OwnTable | None, dictionary: Dictionary | None) -> None:
    """The steps, those that are done in green."""
    is_used = own is not None and own.dictionary is not None and own.dictionary == dictionary
    done = (own is not None, dictionary is not None, dictionary is not None, is_used)
    shown = [
        f":{'green' if is_done else 'gray'}-badge[{'✓' if is_done else number} {step}]"
        for number, (step, is_done) in enumerate(zip(_STEPS, done, strict=True), 1)
    ]
    if own is None:
        st.markdown(
            "**Bring your own people.** Say what is public about them, look at them in the "
            "laboratory, and release private components once. The rows stay in the memory of "
            "this session: in no file, no shared cache, no log, no address."
        )
    st.markdown(" ".join(shown))


def what_was_read(own: OwnTable) -> None:
    """The file's name and size, what of it was looked at, and the way to be rid of it."""
    upload = own.upload
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(
        f"## 1 · {plainly(upload.name)}: {counted(upload.n_rows, 'row')}, "
        f"{counted(len(upload.columns), 'column')}"
    )
    right.button("Remove it", on_click=own_table.remove, width="stretch")
    st.caption(
        "Read, for you alone: every cell of the columns with limits, of labels and of sites. "
        "Not read: the other columns."
        if own.held is not None
        else "Read so far, for you alone: names of columns, the number of rows, and whether the "
        "first thousand cells of a column are numbers. Not read: how large any of them is."
    )


def hand_over(own: OwnTable, dictionary: Dictionary | None, trouble: str) -> None:
    """Use it on the other pages, say that they do, or what is missing."""
    if dictionary is not None and own.dictionary == dictionary:
        _in_use(own, dictionary)
        return
    # As high whatever it says: below it somebody is typing.
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Use it on every page", type="primary", disabled=dictionary is None, on_click=_use,
            args=(own, dictionary), width="content",
        )  # fmt: skip
        if dictionary is None:
            st.markdown(f"Not ready yet: {said(trouble)}.", width="stretch")
        else:
            _about(own, dictionary)
    if failed := st.session_state.pop(_USE_TROUBLE, ""):
        st.error(said(failed), icon="⚠️")


def _about(own: OwnTable, dictionary: Dictionary) -> None:
    m = dictionary.at_most
    earlier = " The other pages still use the limits from before." * (own.dictionary is not None)
    st.markdown(
        f"{counted(dictionary.n_features, 'feature')}, of people with "
        f"{'one row each' if m == 1 else f'at most {m} rows each'}.{earlier}",
        width="stretch",
    )


def _use(own: OwnTable, dictionary: Dictionary) -> None:
    # Before the run, as nothing can move a control that is drawn.
    before = own.held
    try:
        own_table.use(own, dictionary)
    except ParameterError as error:
        st.session_state[_USE_TROUBLE] = str(error)
    if before is not None and own.held is not None and own.held is not before:
        session_ledger.same_people(before.name, own.held.name)


def _in_use(own: OwnTable, dictionary: Dictionary) -> None:
    reading = own.reading
    st.markdown(
        f"Every page now has **{plainly(own_table.YOURS)}** among its data sets, in this session "
        f"alone: {counted(dictionary.n_features, 'feature')}, scaled so that your limits are −1 "
        "and 1 around the middle. It is the **laboratory**: exact lines, seeds and scores are for "
        "your eyes, and none of it is a release."
    )
    with st.container(horizontal=True):
        for name in _THERE:
            st.page_link(page_path(name), label=PAGES[name].title)
        st.page_link(page_path("release"), label="Release it")
    clipped, missing = sum(reading.clipped.values()), sum(reading.missing.values())
    st.caption(
        f"For you alone: {counted(reading.n_rows, 'row')} read; {counted(clipped, 'cell')} beyond "
        f"a limit and moved to it; {counted(missing, 'cell')} missing, put in the middle; "
        f"{counted(reading.n_left_out, 'row')} left out, since each person has one row in the "
        f"laboratory, the first.{_at_sites(own)}"
    )


def _at_sites(own: OwnTable) -> str:
    sizes = () if own.held is None else dataset_status(own.held.name).site_sizes
    if not sizes:
        return ""
    people = f"{min(sizes):,} to {max(sizes):,} people" if len(set(sizes)) > 1 else "as many each"
    return f" They are at {counted(len(sizes), 'site')}, {people}."
