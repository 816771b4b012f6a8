"""A table from a file, a folder or an example: what was read of it, and where it can go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.pca.sentences import counted
from dpcore.releases.dictionary import Dictionary
from dpcore.releases.encoding import Reading
from dpcore.releases.examples import EXAMPLES, example
from dpcore.releases.laboratory import (
    LARGEST_UPLOAD,
    UPLOADS,
    Upload,
    read_upload,
    uploaded,
)
from dpcore.releases.tables import SEPARATORS, TEXTS, WORKBOOK
from pages.sidebar import own_table
from pages.sidebar.navigation import PAGES, page_path
from pages.sidebar.own_table import OwnTable
from pages.use.own_data import limits
from pages.widgets import session_ledger
from pages.widgets.plain_text import plainly, said

_FILE, _TROUBLE, _PENDING = "own_file", "_own_trouble", "_own_pending"
_LAYOUT = "own_layout_"
_TOLD = "as the file says"
_ENCODINGS = (_TOLD, "utf-8", "latin-1", "cp1252", "utf-16")
_DECIMALS = {"point": ".", "comma": ","}
_MARKS_OF = {mark: name for name, mark in _DECIMALS.items()}
_ABOUT = {
    "breast-cancer": "Breast cancer: 569 tumours, 30 measures",
    "class-survey": "Class survey: 400 made-up pupils",
}
_USE_TROUBLE = "_own_use_trouble"
# The last name under which the session's pages knew the rows of a file, by its digest.
_NAMES = "_own_names"
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
            type=sorted({ending.rpartition(".")[2] for ending in UPLOADS}),
            key=_FILE,
            max_upload_size=LARGEST_UPLOAD // 10**6,
            on_change=_brought,
        )
        if pending := st.session_state.get(_PENDING):
            _ask_layout(*pending)
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
    brought = st.session_state.get(_FILE)
    if brought is None:
        return
    _read(brought.name, brought.getvalue())
    # The rows are here; Streamlit's own copy is not needed.
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, brought.file_id)


def _open(path: Path) -> None:
    try:
        # One byte more than is taken says that it is too long.
        with path.open("rb") as file:
            _read(path.name, file.read(LARGEST_UPLOAD + 1))
    except OSError as error:
        st.session_state[_TROUBLE] = str(error)


def _read(name: str, content: bytes, **laid_out: Any) -> None:
    """Take a table, or keep the file for as long as its holder is asked how it is to be read."""
    st.session_state.pop(_PENDING, None)
    try:
        _begin(read_upload(name, content, **laid_out))
    except (ParameterError, OSError) as error:
        st.session_state[_TROUBLE] = str(error)
        is_open = name.lower().endswith((*TEXTS, ".gz", WORKBOOK))
        if is_open and len(content) <= LARGEST_UPLOAD:
            st.session_state[_PENDING] = name, content


def _ask_layout(name: str, content: bytes) -> None:
    """How a file is to be read, where its header does not tell: a choice, never a guess."""
    with st.form(f"{_LAYOUT}form", border=True):
        st.markdown(
            f"**How is {plainly(name)} to be read?** Nothing is found out from its rows: another "
            "person in them would then change how everybody is read."
        )
        if name.lower().endswith(WORKBOOK):
            st.text_input("Sheet", key=f"{_LAYOUT}sheet", placeholder=_TOLD)
        else:
            st.selectbox(
                "Between cells", [_TOLD, *SEPARATORS], key=f"{_LAYOUT}separator",
                format_func=lambda each: SEPARATORS.get(each, each),
            )  # fmt: skip
            st.selectbox("Text encoding", _ENCODINGS, key=f"{_LAYOUT}encoding")
        st.number_input("Line with the names of columns", 1, 10_000, 1, key=f"{_LAYOUT}line")
        st.number_input(
            "Lines at the end that are no rows", 0, 1_000, 0, key=f"{_LAYOUT}footer",
            help="Totals, notes, sources.",
        )  # fmt: skip
        st.form_submit_button("Read it so", on_click=_read_again, args=(name, content))


def _read_again(name: str, content: bytes) -> None:
    def said(key: str) -> Any:
        value = st.session_state.get(f"{_LAYOUT}{key}")
        return None if value in (_TOLD, "") else value

    _read(
        name, content, separator=said("separator"), text_encoding=said("encoding"),
        header_line=said("line"), footer_lines=said("footer") or 0, sheet=said("sheet"),
    )  # fmt: skip


def take_example(name: str) -> None:
    """Use an example as one's own, with the dictionary that it comes with."""
    columns, dictionary = example(name)
    own = own_table.put(uploaded(f"{name}.csv", columns))
    limits.begin(own, dictionary)
    own_table.use(own, dictionary)
    _keep_books(own)


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
    _how_it_was_read(own)


def _how_it_was_read(own: OwnTable) -> None:
    """What the header told, what it left out, and the question that it left open."""
    upload, header = own.upload, own.upload.header
    if header is not None:
        between = SEPARATORS.get(header.separator, header.separator)
        told = f", a {between} between cells, {header.encoding.removesuffix('-sig')}"
        st.caption(
            f"Names of columns in line {header.line}{told if between else ''}, as the file's first "
            "lines tell."
        )
    if upload.left_out:
        reasons = (f"“{plainly(name)}”: {why}" for name, why in list(upload.left_out.items())[:8])
        st.caption(f"Left out: {'; '.join(reasons)}.")
    if upload.columns.is_decimal_open:
        st.segmented_control(
            "Decimal mark in this file", list(_DECIMALS), key=f"own_decimal_{own.version}",
            default=_MARKS_OF.get(own.cells.get("decimal", "")),
            on_change=_say_decimal, args=(own, f"own_decimal_{own.version}"),
            help="It cannot be told without looking at everybody's numbers.",
        )  # fmt: skip
    if upload.file.content is not None and upload.header is not None:
        with st.popover("Read it in another way"):
            _ask_layout(upload.name, upload.file.content)


def _say_decimal(own: OwnTable, key: str) -> None:
    chosen = st.session_state.get(key)
    if chosen is None:
        own.cells.pop("decimal", None)
    else:
        own.cells["decimal"] = own.upload.columns.decimal = _DECIMALS[chosen]


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
    try:
        own_table.use(own, dictionary)
    except ParameterError as error:
        st.session_state[_USE_TROUBLE] = str(error)
        return
    _keep_books(own)


def _keep_books(own: OwnTable) -> None:
    """The people of a file have paid what this session showed of them, under whatever limits, and
    however often the file was removed and brought again."""
    if own.held is None:
        return
    names: dict[str, str] = st.session_state.setdefault(_NAMES, {})
    before = names.get(own.upload.digest)
    names[own.upload.digest] = own.held.name
    if before is not None and before != own.held.name:
        session_ledger.same_people(before, own.held.name)


def _in_use(own: OwnTable, dictionary: Dictionary) -> None:
    reading = own.reading
    say_empty_columns(reading)
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


def say_empty_columns(reading: Reading) -> None:
    """Columns of which nothing was read, before anything is charged: for the holder alone."""
    if empty := reading.empty_columns:
        names = ", ".join(f"“{plainly(name)}”" for name in empty[:8])
        st.warning(
            f"For you alone, and written nowhere: no row has a number, or a known level, in {names}"
            f"{', …' if len(empty) > 8 else ''}. Are they written in another way? A dictionary can "
            "say the decimal mark, a unit, dates, and what is missing. Nothing is charged yet.",
            icon="⚠️",
        )


def _at_sites(own: OwnTable) -> str:
    sizes = () if own.held is None else dataset_status(own.held.name).site_sizes
    if not sizes:
        return ""
    people = f"{min(sizes):,} to {max(sizes):,} people" if len(set(sizes)) > 1 else "as many each"
    return f" They are at {counted(len(sizes), 'site')}, {people}."
