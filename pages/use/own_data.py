"""Your own table: from a file to the laboratory, in this session alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.summaries import counted
from dpcore.figures.energy import energy_curves
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.release.dictionary import (
    MOST_ROWS_PER_PERSON,
    Dictionary,
    dictionary_from,
    parsed_dictionary,
)
from dpcore.release.encoding import Reading
from dpcore.release.examples import EXAMPLES, example
from dpcore.release.planning import plan
from dpcore.release.table_file import SEPARATORS, TEXTS, WORKBOOK
from dpcore.release.uploads import LARGEST_UPLOAD, UPLOADS, Upload, read_upload, uploaded
from pages.server import turns
from pages.server.caches import counted_out
from pages.shell import own_table
from pages.shell.navigation import PAGES, linked_page
from pages.shell.own_table import OwnTable
from pages.shell.page import page
from pages.shell.streamlit_internals import forget_upload
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.notices import big_number, errors_shown, plainly, said

# What is public about a table, typed by its holder or read from a file, never from the rows.

_TALLEST, _ROW = 320, 35
_NUMBERS = ("lower", "upper", "middle")
_NOBODY = "no column"
_ONE, _SEVERAL = "one row a person", "several rows a person"
_EDITOR: dict[str, Any] = {
    "column": st.column_config.TextColumn("Column", disabled=True, pinned=True),
    "read_as": st.column_config.TextColumn("Reads as", disabled=True, width=80),
    "lower": st.column_config.NumberColumn("Lowest", help="No value is below; one that is counts "
                                           "as this."),
    "upper": st.column_config.NumberColumn("Highest"),
    "middle": st.column_config.NumberColumn("Middle", help="What counts as zero and stands for "
                                            "what is missing; halfway if it is left out."),
    "levels": st.column_config.ListColumn("Or levels", help="The answers there are. Each becomes "
                                          "a feature."),
}  # fmt: skip


def begin(own: OwnTable, dictionary: Dictionary | None) -> None:
    """Start from a dictionary, or from nothing."""
    content = {} if dictionary is None else dictionary.as_dict()
    said_of: Mapping[str, Any] = content.get("columns", {})
    own.asked = {"title": content.get("title", "")} | content.get("rows", {})
    own.cells = dict(content.get("cells", {}))
    own.marks = {
        name: {key: value for key, value in column.items() if key not in (*_NUMBERS, "levels")}
        for name, column in said_of.items()
    }
    own.limits = pd.DataFrame(
        {
            "column": name,
            "read_as": own.upload.kind_of(name),
            **{key: said_of.get(name, {}).get(key) for key in _NUMBERS},
            "levels": said_of.get(name, {}).get("levels"),
        }
        for name in own.upload.columns
    ).astype(dict.fromkeys(_NUMBERS, float))
    own.version += 1


def limits_editor(own: OwnTable) -> None:
    """The table of limits, kept as it is typed."""
    key = f"own_limits_{own.version}"
    if key not in st.session_state or own.mounted is None:
        own.mounted = own.limits
    own.limits = st.data_editor(
        own.mounted,
        key=key,
        hide_index=True,
        column_config=_EDITOR,
        height=min(_TALLEST, _ROW * (len(own.limits) + 1) + 3),
    )


def dictionary_files(own: OwnTable, dictionary: Dictionary | None) -> None:
    """Take a dictionary from a file, or away as one."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("Fill in from a dictionary (TOML)"):
            key = f"own_dictionary_{own.version}"
            st.file_uploader("A data dictionary", "toml", key=key, on_change=_fill, args=(own, key))
        if dictionary is not None:
            st.download_button(
                "Save as a dictionary (TOML)", dictionary.toml(), "dictionary.toml",
                "application/toml", on_click="ignore",
            )  # fmt: skip
    if trouble := st.session_state.pop("_dictionary_trouble", None):
        st.error(said(trouble), icon="⚠️")


def what_a_row_is(own: OwnTable) -> None:
    """One row a person or several, and the columns that are no features."""
    names, asked = list(own.upload.columns), own.asked
    choices = [_ONE, _SEVERAL]
    several = st.radio(
        "In this table there is",
        choices,
        index=choices.index(_SEVERAL if asked.get("person") else _ONE),
        key=f"own_several_{own.version}",
        horizontal=True,
    )
    if several == _SEVERAL:
        left, right = st.columns([2, 1])
        with left:
            person = _column("Column that names the person", "person", names, own)
        asked["at_most"] = right.number_input(
            "Rows kept of one person, at most", 1, MOST_ROWS_PER_PERSON, asked.get("at_most", 1),
            key=f"own_at_most_{own.version}",
            help="The first ones in the table. It is in the sensitivity: twice as many rows a "
            "person need twice the noise.",
        )  # fmt: skip
        if person is None:
            raise ParameterError("person", "a column that names each row's person", "none")
    else:
        asked["person"], asked["at_most"] = None, 1
    left, right = st.columns(2)
    with left:
        _column("Labels, for exploring only", "label", names, own)
    with right:
        _column("Which site has which row, for exploring only", "site", names, own)


def dictionary_of(own: OwnTable) -> Dictionary:
    """What the controls say, as a dictionary.

    Raises `ParameterError` if something is missing or out of range.
    """
    taken = {own.asked.get(key) for key in ("person", "label", "site")} - {None}
    columns = {
        row["column"]: said_of | own.marks.get(row["column"], {})
        for row in own.limits.to_dict("records")
        if (said_of := _said_of(row)) and row["column"] not in taken
    }
    if not columns:
        raise ParameterError("limits", "given for one column at least", "none yet")
    rows = {key: value for key, value in own.asked.items() if key != "title" and value is not None}
    if own.upload.columns.is_decimal_open and not own.cells.get("decimal"):
        raise ParameterError("decimal", "a point or a comma, as this file has it", "no answer")
    said = {"title": own.asked["title"], "rows": rows, "cells": own.cells, "columns": columns}
    return dictionary_from(said)


def _said_of(row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: float(row[key]) for key in _NUMBERS if pd.notna(row[key])}
    levels = row["levels"]
    if isinstance(levels, list) and levels:
        return numbers | {"levels": [str(level) for level in levels]}
    return numbers


def _column(title: str, key: str, names: list[str], own: OwnTable) -> str | None:
    options = [_NOBODY, *names]
    current = own.asked.get(key)
    position = options.index(current) if current in names else 0
    chosen = st.selectbox(title, options, index=position, key=f"own_{key}_{own.version}")
    found = own.asked[key] = None if chosen == _NOBODY else str(chosen)
    return found


def _fill(own: OwnTable, key: str) -> None:
    uploaded = st.session_state.get(key)
    if uploaded is None:
        return
    try:
        dictionary = parsed_dictionary(uploaded.getvalue(), uploaded.name)
        names = [*dictionary.keys, dictionary.label, dictionary.site]
        absent = [name for name in names if name is not None and name not in own.upload.columns]
        if absent:
            raise ParameterError("dictionary", "of columns that the table has", absent[0])
    except ParameterError as error:
        st.session_state["_dictionary_trouble"] = str(error)
    else:
        begin(own, dictionary)


# A table from a file, a folder or an example: what was read of it, and where it can go.

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
_STEPS = ("File", "Limits", "One row", "Explore")
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
    forget_upload(brought.file_id)


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
    begin(own, dictionary)
    own_table.use(own, dictionary)
    _keep_books(own)


def _begin(upload: Upload) -> None:
    begin(own_table.put(upload), None)


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
            "**Bring your own data.** Say what is public about them, explore them, "
            "and release private components once. The rows stay in the memory of "
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
        "and 1 around the middle. It is a **simulation**: exact lines, seeds and scores are for "
        "your eyes, and none of it is a release."
    )
    with st.container(horizontal=True):
        for name in _THERE:
            st.page_link(linked_page(name), label=PAGES[name].title)
        st.page_link(linked_page("release"), label="Release it")
    clipped, missing = sum(reading.clipped.values()), sum(reading.missing.values())
    st.caption(
        f"For you alone: {counted(reading.n_rows, 'row')} read; {counted(clipped, 'cell')} beyond "
        f"a limit and moved to it; {counted(missing, 'cell')} missing, put in the middle; "
        f"{counted(reading.n_left_out, 'row')} left out, since each person has one row "
        f"here, the first.{_at_sites(own)}"
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


# What a release would be worth: tried on rows that a dictionary makes up, nothing private read.

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_DELTA, _DRAWS, _MOST_ROWS = 1e-6, 2, 10_000_000
_TRIED, _PLAN_FILE = "_plan_tried", "plan_dictionary"


@dataclass(frozen=True)
class _Asked:
    dictionary: str
    n_rows: int
    n_components: int


def dictionary_alone() -> None:
    """Plan without a table: from a dictionary's file, or an example's."""
    left, right = st.columns([3, 2], gap="large")
    uploaded = left.file_uploader("A data dictionary (TOML)", "toml", key=_PLAN_FILE)
    name = right.selectbox("Or that of an example", EXAMPLES, key="plan_example")
    try:
        dictionary = (
            example(name)[1]
            if uploaded is None
            else parsed_dictionary(uploaded.getvalue(), uploaded.name)
        )
    except ParameterError as error:
        st.error(said(error), icon="⚠️")
    else:
        plan_for(dictionary)


def plan_for(dictionary: Dictionary) -> None:
    """Ask for public numbers, try every ε, and say which is enough."""
    left, middle, right = st.columns(3, gap="large")
    n_rows = left.number_input(
        "Rows, as far as that is public", 10, _MOST_ROWS, 1_000, key="plan_rows",
        help="Nobody's table is counted for it: type what everybody knows, or what you hope for.",
    )  # fmt: skip
    most = min(dictionary.n_features, 20)
    n_components = 1
    if most > 1:
        n_components = middle.slider("Components K", 1, most, min(3, most), key="plan_components")
    target = right.slider(
        "Wanted: % of what the best K directions capture", 50, 99, 90, key="plan_wanted"
    )
    asked = _Asked(dictionary.toml(), n_rows, n_components)
    if st.button("Try it on made-up rows", key="plan_try"):
        with turns.others():
            st.session_state[_TRIED] = asked, _tried(dictionary, asked)
    before, rows = st.session_state.get(_TRIED, (None, []))
    if rows and before == asked:
        _answer(rows, asked, target / 100)
    else:
        st.caption(
            "Rows are made up from the limits and levels alone, three hidden traits behind them; "
            "the noise is a release's own. Whether your people look like that, only their release "
            "tells."
        )


def _tried(dictionary: Dictionary, asked: _Asked) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for epsilon in counted_out(EPSILONS, "steps of ε"):
        tried = plan(
            dictionary, n_rows=asked.n_rows, epsilon=epsilon, delta=_DELTA,
            n_components=asked.n_components, n_draws=_DRAWS,
            n_factors=min(3, dictionary.n_features),
        )  # fmt: skip
        best = tried.best[:, -1]
        rows += [
            {
                "protocol": "ag",
                "epsilon": epsilon,
                "energy_ratio": float(ratio),
                "best": float(best.mean()),
                "visible": tried.visible_share,
            }
            for ratio in tried.captured[:, -1] / best
        ]
    # One floor: around each noisy centre the best is a little another.
    around = fmean(float(row["best"]) for row in rows)
    floor = asked.n_components / dictionary.n_features / around
    return [row | {"random_ratio": floor} for row in rows]


def _answer(rows: list[dict[str, Any]], asked: _Asked, target: float) -> None:
    enough = [
        epsilon
        for epsilon in EPSILONS
        if min(row["energy_ratio"] for row in rows if row["epsilon"] == epsilon) >= target
    ]
    what = f"{target:.0%} of what the best {asked.n_components} would capture"
    size = f"with {asked.n_rows:,} rows like these, made up from the dictionary"
    if enough:
        visible = next(row["visible"] for row in rows if row["epsilon"] == enough[0])
        big_number(
            f"ε = {enough[0]:g}",
            f"is enough for {what}, {size}.",
            f"Nothing private was read. At this ε a direction is lost in the noise if it carries "
            f"less than **{visible:.1%}** of the variation: more components than there are such "
            "directions release noise. Twice the rows halve that.",
        )
    else:
        big_number("ε > 10", f"would be needed for {what}, {size}.", "Nothing private was read.")
    chart(
        energy_curves(
            rows, "epsilon", axis_title="ε of one release (left is more private)", dark=is_dark()
        ),
        key="plan_curve",
        alt="What survives on made-up rows, against ε.",
    )
    st.caption(f"At δ = {say_delta(_DELTA)}; two runs at each ε.")


@page(formulas="own_data")
def show_own_data() -> None:
    """Your own table: from a file to the laboratory, in this session alone."""
    own = own_table.own_table()
    own_table.say_if_lost()
    top = st.container()
    dictionary, trouble = None, ""
    if own is None:
        with st.container(border=True):
            st.markdown("## 1 · Bring a table")
            choose_table()
    else:
        with st.container(border=True):
            what_was_read(own)
        with st.container(border=True):
            st.markdown("## 2 · What is public about each column")
            st.markdown(
                "Between which limits does a value lie, **for anyone who could take part**? Take "
                "them from the question, the unit or the sensor. Nothing is suggested from the "
                "values: a limit read from them would reveal something about a person. Columns "
                "without limits are left out."
            )
            files = st.container()
            limits_editor(own)
        with st.container(border=True):
            st.markdown("## 3 · What is one row")
            with errors_shown():
                what_a_row_is(own)
        try:
            dictionary = dictionary_of(own)
        except ParameterError as error:
            trouble = str(error)
        with files:
            dictionary_files(own, dictionary)
    with top:
        where_one_is(own, dictionary)
        if own is not None:
            hand_over(own, dictionary, trouble)
    if own is None or dictionary is not None:
        with st.expander("Plan, before anything is read", on_change="rerun", key="plan") as opened:
            if opened.open:
                with errors_shown():
                    if dictionary is None:
                        dictionary_alone()
                    else:
                        plan_for(dictionary)
