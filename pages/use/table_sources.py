"""Sources of a table: an upload, the folder of the server's owner, an example."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.release.examples import EXAMPLES
from dpcore.release.table_file import SEPARATORS, TEXT_ENDINGS, WORKBOOK
from dpcore.release.uploads import LARGEST_UPLOAD, UPLOADS, read_upload
from pages.components import notices
from pages.components.notices import escape_markdown
from pages.use.session_table import (
    EXAMPLE_TITLES,
    TROUBLE,
    OwnTable,
    folder,
    replace_table,
    take_example,
)

_AS_IN_FILE = "as the file says"
_ENCODINGS = (
    _AS_IN_FILE, "utf-8", "latin-1", "cp1252", "utf-16", "cp1251", "shift_jis", "gbk"
)  # fmt: skip
_LAYOUT = ("sheet", "separator", "text_encoding", "header_line", "footer_lines")
_PENDING = "_own_pending"


def draw_sources(table: OwnTable) -> None:
    """Draw the sources of a table, and the form of a refused file."""
    if trouble := st.session_state.pop(TROUBLE, None):
        st.error(escape_markdown(trouble, 1000), icon="⚠️")
    if notices.is_public_demo():
        st.caption("This is a public demo: it takes no tables.")
    else:
        key = table.key("file")
        st.file_uploader(
            "Your table (CSV, Excel)",
            key=key,
            max_upload_size=LARGEST_UPLOAD // 10**6,
            on_change=_receive,
            args=(key,),
        )
        if pending := st.session_state.get(_PENDING):
            draw_layout_form(table, *pending, place="pending")
        if (place := folder()) is not None:
            _draw_folder(place)
    key = table.key("example")
    st.selectbox(
        "Or an example",
        EXAMPLES,
        index=_index_of_example(table),
        format_func=EXAMPLE_TITLES.__getitem__,
        key=key,
        on_change=_choose_example,
        args=(key,),
    )


def _index_of_example(table: OwnTable) -> int | None:
    names = [f"{name}.csv" for name in EXAMPLES]
    return names.index(table.upload.name) if table.is_example else None


def _choose_example(key: str) -> None:
    name = st.session_state.get(key)
    if name is not None:
        st.session_state.pop(_PENDING, None)
        take_example(name)


def _receive(key: str) -> None:
    file = st.session_state.get(key)
    if file is not None:
        # The key changes with the table, so Streamlit discards its own copy of the file.
        _read(file.name, file.getvalue())


def _draw_folder(place: Path) -> None:
    names = sorted(path.name for path in place.glob("*") if path.name.lower().endswith(UPLOADS))
    if not names:
        st.caption("The folder that this server's owner opened has no tables.")
        return
    name = st.selectbox("Or a table in the folder of this server's owner", names)
    st.button("Open", on_click=_open, args=(place / name,))


def _open(path: Path) -> None:
    try:
        with path.open("rb") as file:
            # One byte more than the limit is enough to refuse a longer file.
            _read(path.name, file.read(LARGEST_UPLOAD + 1))
    except OSError as error:
        st.session_state[TROUBLE] = str(error)


def _read(name: str, content: bytes, **layout: Any) -> None:
    """Take a table; if its layout is not clear, keep the file and ask the holder."""
    st.session_state.pop(_PENDING, None)
    try:
        upload = read_upload(name, content, **layout)
    except (ParameterError, OSError) as error:
        st.session_state[TROUBLE] = str(error)
        may_have_another_layout = name.lower().endswith((*TEXT_ENDINGS, ".gz", WORKBOOK))
        if may_have_another_layout and len(content) <= LARGEST_UPLOAD:
            st.session_state[_PENDING] = name, content
    else:
        replace_table(OwnTable(upload, name))


def draw_layout_form(table: OwnTable, name: str, content: bytes, *, place: str) -> None:
    """Ask for the layout of a file whose header does not determine it.

    place: Distinguishes the form of a refused file from that of the table in use.
    """
    keys = {option: table.key("layout", place, option) for option in _LAYOUT}
    with st.form(table.key("layout", place), border=True):
        st.markdown(f"**How is {escape_markdown(name)} laid out?** It is never guessed from rows.")
        if name.lower().endswith(WORKBOOK):
            st.text_input("Sheet", key=keys["sheet"], placeholder=_AS_IN_FILE)
        else:
            st.selectbox(
                "Between cells",
                [_AS_IN_FILE, *SEPARATORS],
                key=keys["separator"],
                format_func=lambda name: SEPARATORS.get(name, name),
            )
            st.selectbox("Text encoding", _ENCODINGS, key=keys["text_encoding"])
        st.number_input("Line with the names of columns", 1, 10_000, 1, key=keys["header_line"])
        st.number_input("Lines at the end that are not rows", 0, 1000, 0, key=keys["footer_lines"])
        st.form_submit_button("Read", on_click=_read_again, args=(name, content, keys))


def _read_again(name: str, content: bytes, keys: Mapping[str, str]) -> None:
    values = {fact: st.session_state.get(key) for fact, key in keys.items()}
    layout = {fact: value for fact, value in values.items() if value not in (_AS_IN_FILE, "", None)}
    _read(name, content, **layout)
