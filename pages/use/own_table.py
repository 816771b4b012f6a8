"""Your table: a table from a file or an example, in the memory of this session only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus, dataset_status
from dpcore.data.dataset import HeldTable
from dpcore.errors import ParameterError
from dpcore.experiments.engine.fields import GIVEN, VERSIONS
from dpcore.experiments.engine.summaries import counted, percent
from dpcore.experiments.pca import RunSpec
from dpcore.figures.components import loading_bars
from dpcore.params import usual_delta
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.release.common_limits import find_common_limits
from dpcore.release.dictionary import (
    LARGEST_UPLOADED_DICTIONARY,
    MOST_ROWS_PER_PERSON,
    Dictionary,
    dictionary_from,
    parse_dictionary,
)
from dpcore.release.encoding import Reading
from dpcore.release.examples import EXAMPLES, example
from dpcore.release.inspection import inspect_table
from dpcore.release.simulation import simulation_data
from dpcore.release.table_file import SEPARATORS, TEXT_ENDINGS, WORKBOOK
from dpcore.release.uploads import LARGEST_UPLOAD, UPLOADS, Upload, make_upload, read_upload
from dpcore.spectra import align_signs
from pages import cached, sidebar
from pages.components import ledger, notices
from pages.components.charts import is_dark, show_figure
from pages.components.notices import escape_markdown
from pages.navigation import link_to_parts
from pages.sidebar import Selection

CONTROLS = ()
# Folder whose tables every visitor may open, and where releases are kept; set by the owner of a
# server that one person runs for themselves.
FOLDER_VARIABLE = "DPCORE_OWN_DATA"
_EXAMPLE_TITLES = {"breast-cancer": "Breast cancer", "class-survey": "Class survey"}
_PROTOCOL = "pooled"
_EPSILON = 1.0
_MOST_BARS = 6
_FIGURE_HEIGHT = 460
_MOST_COLUMNS = 30
_NONE = "–"
_DECIMALS = {"point": ".", "comma": ","}
_DATE_ORDERS = {
    "year-month-day": "ymd",
    "day-month-year": "dmy",
    "month-day-year": "mdy",
}
_AS_IN_FILE = "as the file says"
_ENCODINGS = (
    _AS_IN_FILE, "utf-8", "latin-1", "cp1252", "utf-16", "cp1251", "shift_jis", "gbk"
)  # fmt: skip
_LAYOUT = ("sheet", "separator", "text_encoding", "header_line", "footer_lines")
_EARLIEST, _LATEST = date(1850, 1, 1), date(2150, 12, 31)
_OWN, _TROUBLE, _PENDING, _NAMES = "_own_table", "_own_trouble", "_own_pending", "_own_names"


@dataclass(eq=False)
class OwnTable:
    """The table of a session and the public facts about it.

    title: Title of the table for the holder.
    content: Public facts so far, in the form of a dictionary file.
    is_example: Whether the table is one of the examples.
    version: Number in the keys of the widgets; new content gives new widgets.
    dictionary: Dictionary that the table is read by; None until it is complete.
    rows: Rows for simulations, by that dictionary.
    reading: Counts of missing and clipped cells, for the holder only.
    unreadable: Examples of cells that could not be read, by column, for the holder only.
    """

    upload: Upload
    title: str
    content: dict[str, Any] = field(default_factory=dict)
    is_example: bool = False
    version: int = 0
    dictionary: Dictionary | None = None
    rows: HeldTable | None = None
    reading: Reading = field(default_factory=Reading)
    unreadable: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def status(self) -> DatasetStatus | None:
        """Status of the rows as a data set, or None until they are read."""
        return None if self.rows is None else dataset_status(self.rows.name)

    def key(self, *parts: object) -> str:
        """Return the key of a widget."""
        return "_".join(map(str, ("own", self.version, *parts)))


def show(_: Selection) -> None:
    """Draw the table's first private component, the ways to bring a table, and its public facts."""
    own = current()
    if own.dictionary is None:
        st.title("Give the public limits of your columns", anchor=False)
        link_to_parts("own_table")
        st.markdown(_read_sentence(own))
        _draw_sources(own)
    else:
        with notices.errors_as_messages():
            _draw_result(own)
        _draw_unreadable(own)
    details = st.expander("Columns, limits and details", expanded=own.dictionary is None)
    facts, computation = details.tabs(["Columns and limits", "How this is computed"])
    with facts:
        _draw_facts(own)
        _draw_dictionary_file(own)
    with computation:
        notices.show_formulas("own_table")


def current() -> OwnTable:
    """Return the table of this session; the first example if the visitor has brought none."""
    found: OwnTable | None = st.session_state.get(_OWN)
    if found is None:
        found = take_example(EXAMPLES[0])
    st.session_state["_own_status"] = found.status
    return found


def take_example(name: str) -> OwnTable:
    """Use an example, with the dictionary that comes with it, as the table of this session."""
    columns, dictionary = example(name)
    own = OwnTable(make_upload(f"{name}.csv", columns), _EXAMPLE_TITLES[name], is_example=True)
    _replace_table(own)
    apply_dictionary(own, dictionary)
    return own


def apply_dictionary(own: OwnTable, dictionary: Dictionary) -> None:
    """Read the table by a dictionary.

    Raises `ParameterError` if the table does not fit; the former reading stays then.
    """
    reading = Reading()
    data = simulation_data(own.upload.columns, dictionary, reading)
    if own.is_example:
        data = replace(data, title=own.title)
    inspection = inspect_table(own.upload.columns, dictionary)
    former = own.rows
    own.dictionary, own.rows = dictionary, HeldTable(data)
    own.reading = reading
    own.unreadable = {
        name: tuple(counts.examples)
        for name, counts in inspection.columns.items()
        if counts.examples
    }
    own.content, own.version = dictionary.as_dict(), own.version + 1
    # The digest names the file; the charges of its people stay when it is read in another way.
    names: dict[str, str] = st.session_state.setdefault(_NAMES, {})
    before = names.get(own.upload.digest)
    names[own.upload.digest] = own.rows.name
    if before is not None:
        ledger.rename(before, own.rows.name)
    if former is not None and st.session_state.get("dataset") == former.name:
        st.session_state["dataset"] = own.rows.name
    st.session_state["_own_status"] = own.status


def folder() -> Path | None:
    """Return the folder that the owner of the server opened to visitors, if there is one."""
    path = os.environ.get(FOLDER_VARIABLE)
    return Path(path) if path else None


def _replace_table(own: OwnTable) -> None:
    former: OwnTable | None = st.session_state.get(_OWN)
    if former is not None:
        own.version = former.version + 1
    st.session_state[_OWN] = own
    st.session_state["_own_status"] = own.status


# ---- the result of one private run


def _draw_result(own: OwnTable) -> None:
    status = own.status
    if status is None:
        return
    spec = _spec(status)
    ledger.charge_run(spec)
    (row,) = cached.rows(spec)
    energy = f"{percent(row['energy_ratio'])} captured energy at ε = {spec.epsilon:g}"
    st.title(f"{escape_markdown(own.title)}: {energy}", anchor=False)
    link_to_parts("own_table")
    wide, narrow = st.columns([3, 2], gap="large")
    with wide:
        _draw_component(own, spec)
    with narrow:
        st.markdown(_read_sentence(own))
        _draw_sources(own)
        with st.container(horizontal=True):
            st.button("Use on all pages", type="primary", on_click=_use_everywhere, args=(status,))


def _spec(status: DatasetStatus) -> RunSpec:
    sizes = status.site_sizes
    return RunSpec(
        dataset=status.name,
        protocols=(_PROTOCOL,),
        sites=len(sizes) or 1,
        split=GIVEN if sizes else RunSpec.split,
        epsilon=_EPSILON,
        delta=usual_delta(status.n_samples),
        repetitions=1,
        **VERSIONS["improved"],
    )


def _draw_component(own: OwnTable, spec: RunSpec) -> None:
    exact = cached.problem_of(spec.problem_key()).exact_components[:1]
    released = cached.subspaces(spec)[_PROTOCOL].components[:1]
    strongest = np.argsort(-np.abs(exact[0]), kind="stable")[:_MOST_BARS]
    names, title = cached.feature_names(spec), PROTOCOLS[_PROTOCOL].title
    components = {"Exact (not private)": exact[0][strongest]}
    assessment = cached.self_assessed(spec)[_PROTOCOL].own
    if assessment is not None and assessment.n_above_noise == 0:
        st.markdown(f"{title}: the first component cannot be told from noise.")
    else:
        components[title] = align_signs(released, exact)[0][strongest]
    figure = loading_bars(
        components,
        tuple(names[index] for index in strongest),
        dark=is_dark(),
    )
    figure.update_layout(height=_FIGURE_HEIGHT)
    figure.update_xaxes(title="loading")
    show_figure(
        figure,
        key="own_component",
        alt=f"Strongest loadings of the first component of {own.title}, exact and private.",
    )


def _read_sentence(own: OwnTable) -> str:
    rows, columns = own.upload.n_rows, len(own.upload.columns)
    name = "" if own.dictionary is not None else f"**{escape_markdown(own.title)}**: "
    read = f"{name}{counted(rows, 'row')}, {counted(columns, 'column')}."
    return f"{read} Only you see this."


def _use_everywhere(status: DatasetStatus) -> None:
    usual = sidebar.defaults(status)
    values = {name: usual[name] for name in ("delta", "components", "intermediate")}
    if status.site_sizes:
        values |= {"split": GIVEN, "sites": len(status.site_sizes)}
    sidebar.set_controls(dataset=status.name, decide_data=status.name, **values)


def _draw_unreadable(own: OwnTable) -> None:
    """Warn the holder about cells that were not read, with their forms."""
    if not own.unreadable:
        return
    examples = "; ".join(
        f"{escape_markdown(name)}: " + ", ".join(f"“{escape_markdown(cell)}”" for cell in cells)
        for name, cells in list(own.unreadable.items())[:_MOST_BARS]
    )
    st.warning(
        f"Some cells cannot be read, for example {examples}. Choose below how cells are written. "
        "Only you see this.",
        icon="⚠️",
    )


def _draw_counts(own: OwnTable) -> None:
    reading = own.reading
    clipped, missing = sum(reading.clipped.values()), sum(reading.missing.values())
    st.caption(
        f"For you only: {counted(reading.n_rows, 'row')} read, {counted(clipped, 'cell')} moved to "
        f"a limit, {counted(missing, 'cell')} missing and set to the middle, "
        f"{counted(reading.n_empty_rows, 'row')} without any cell skipped, "
        f"{counted(reading.n_left_out, 'row')} not used, because each person has one row here."
    )


# ---- ways to bring a table


def _draw_sources(own: OwnTable) -> None:
    if trouble := st.session_state.pop(_TROUBLE, None):
        st.error(escape_markdown(trouble, 1000), icon="⚠️")
    if notices.is_public_demo():
        st.caption("This is a public demo: it takes no tables.")
    else:
        key = own.key("file")
        st.file_uploader(
            "Your table (CSV, Excel)",
            key=key,
            max_upload_size=LARGEST_UPLOAD // 10**6,
            on_change=_receive,
            args=(key,),
        )
        if pending := st.session_state.get(_PENDING):
            _draw_layout_form(own, *pending, place="pending")
        if (place := folder()) is not None:
            _draw_folder(place)
    key = own.key("example")
    st.selectbox(
        "Or an example",
        EXAMPLES,
        index=_index_of_example(own),
        format_func=_EXAMPLE_TITLES.__getitem__,
        key=key,
        on_change=_choose_example,
        args=(key,),
    )


def _index_of_example(own: OwnTable) -> int | None:
    names = [f"{name}.csv" for name in EXAMPLES]
    return names.index(own.upload.name) if own.is_example else None


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
        st.session_state[_TROUBLE] = str(error)


def _read(name: str, content: bytes, **layout: Any) -> None:
    """Take a table; if its layout is not clear, keep the file and ask the holder."""
    st.session_state.pop(_PENDING, None)
    try:
        upload = read_upload(name, content, **layout)
    except (ParameterError, OSError) as error:
        st.session_state[_TROUBLE] = str(error)
        may_have_another_layout = name.lower().endswith((*TEXT_ENDINGS, ".gz", WORKBOOK))
        if may_have_another_layout and len(content) <= LARGEST_UPLOAD:
            st.session_state[_PENDING] = name, content
    else:
        _replace_table(OwnTable(upload, name))


def _draw_layout_form(own: OwnTable, name: str, content: bytes, *, place: str) -> None:
    """Ask for the layout of a file whose header does not tell it.

    place: Distinguishes the form of a refused file from that of the table in use.
    """
    keys = {option: own.key("layout", place, option) for option in _LAYOUT}
    with st.form(own.key("layout", place), border=True):
        st.markdown(f"**How is {escape_markdown(name)} laid out?** It is never guessed from rows.")
        if name.lower().endswith(WORKBOOK):
            st.text_input("Sheet", key=keys["sheet"], placeholder=_AS_IN_FILE)
        else:
            st.selectbox(
                "Between cells",
                [_AS_IN_FILE, *SEPARATORS],
                key=keys["separator"],
                format_func=lambda each: SEPARATORS.get(each, each),
            )
            st.selectbox("Text encoding", _ENCODINGS, key=keys["text_encoding"])
        st.number_input("Line with the names of columns", 1, 10_000, 1, key=keys["header_line"])
        st.number_input("Lines at the end that are not rows", 0, 1000, 0, key=keys["footer_lines"])
        st.form_submit_button("Read", on_click=_read_again, args=(name, content, keys))


def _read_again(name: str, content: bytes, keys: Mapping[str, str]) -> None:
    values = {each: st.session_state.get(key) for each, key in keys.items()}
    layout = {each: value for each, value in values.items() if value not in (_AS_IN_FILE, "", None)}
    _read(name, content, **layout)


# ---- public facts: cells, limits, rows


def _draw_facts(own: OwnTable) -> None:
    st.markdown(
        "Take limits from the question, the unit or the device, never from the values. "
        "Known names, such as “age”, come with an offer."
    )
    if own.dictionary is not None:
        _draw_counts(own)
    _draw_layout(own)
    numbers, levels, dates = _draw_cells(own)
    with st.form(own.key("facts"), border=True):
        chosen = [*numbers, *levels, *dates]
        for name in chosen:
            _draw_column(own, name, is_levels=name in levels, is_date=name in dates)
        if not chosen:
            st.caption("No column is selected.")
        _draw_rows(own)
        st.form_submit_button(
            "Use these facts", type="primary", on_click=_submit, args=(own, numbers, levels, dates)
        )


def _draw_layout(own: OwnTable) -> None:
    header = own.upload.header
    if header is not None:
        st.caption(
            f"Names of columns in line {header.line}, a "
            f"{SEPARATORS.get(header.separator, header.separator or 'cell')} between cells, "
            f"{header.encoding.removesuffix('-sig')}."
        )
    if own.upload.left_out:
        reasons = list(own.upload.left_out.items())[:_MOST_BARS]
        texts = (f"“{escape_markdown(name)}”: {escape_markdown(why)}" for name, why in reasons)
        st.caption(f"Columns that are not used: {'; '.join(texts)}.")
    content = own.upload.file.content
    if content is not None and header is not None:
        with st.popover("Change the layout"):
            _draw_layout_form(own, own.upload.name, content, place="table")


def _draw_cells(own: OwnTable) -> tuple[list[str], list[str], list[str]]:
    """Draw the choices of how cells are written; return columns of numbers, levels and dates."""
    cells, columns = own.content.get("cells", {}), own.content.get("columns", {})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        decimal = st.segmented_control(
            "Decimal mark",
            list(_DECIMALS),
            key=own.key("decimal"),
            default=_name_of(_DECIMALS, cells.get("decimal") or own.upload.columns.decimal)
            or (None if own.upload.columns.is_decimal_open else "point"),
        )
        st.text_input(
            "Codes for missing values",
            ", ".join(cells.get("missing") or ()),
            key=own.key("missing"),
            placeholder="-999, NA",
        )
        st.selectbox(
            "Dates are written",
            list(_DATE_ORDERS),
            index=list(_DATE_ORDERS.values()).index(cells.get("date_order") or "ymd"),
            key=own.key("date_order"),
        )
    if decimal is not None:
        # Whether a column holds numbers depends on the mark.
        own.upload.columns.decimal = _DECIMALS[decimal]
    return _draw_kinds(own, columns, decimal or "")


def _draw_kinds(
    own: OwnTable, columns: Mapping[str, Any], decimal: str
) -> tuple[list[str], list[str], list[str]]:
    names = list(own.upload.columns)
    rows = own.content.get("rows", {})
    special = {rows.get(each) for each in ("person", "label", "site")}
    if columns:
        usual_dates = [name for name in columns if "days_since" in columns[name]]
        usual_levels = [name for name in columns if "levels" in columns[name]]
        usual_numbers = [name for name in columns if "lower" in columns[name]]
    else:
        kinds = {name: own.upload.kind_of(name) for name in names if name not in special}
        usual_dates = [name for name, kind in kinds.items() if kind == "dates"]
        usual_levels = []
        usual_numbers = [name for name, kind in kinds.items() if kind == "numbers"][:_MOST_COLUMNS]
    # Another decimal mark turns texts into numbers, so the choices start again with it.
    with st.container(key=own.key("kinds")):
        numbers = st.multiselect(
            "Columns of numbers", names, usual_numbers, key=own.key("numbers", decimal)
        )
        levels = st.multiselect(
            "Columns of levels, such as yes and no",
            [name for name in names if name not in numbers],
            [name for name in usual_levels if name not in numbers],
            key=own.key("levels", decimal),
        )
        dates = st.multiselect(
            "Columns of dates",
            [name for name in names if name not in (*numbers, *levels)],
            [name for name in usual_dates if name not in (*numbers, *levels)],
            key=own.key("dates", decimal),
        )
    return numbers, levels, dates


def _draw_column(own: OwnTable, name: str, *, is_levels: bool, is_date: bool) -> None:
    """Draw the fields of one column."""
    facts: Mapping[str, Any] = own.content.get("columns", {}).get(name, {})
    title, first, second = st.columns([2, 1, 1], vertical_alignment="bottom")
    offered = None
    if not facts and not is_levels and not is_date:
        offered = find_common_limits(name)
    note = "  \n:small[limits offered from the name]" if offered else ""
    title.markdown(f"{escape_markdown(name)}{note}")
    if is_levels:
        # A text area keeps levels that contain a comma apart.
        first.text_area(
            "Levels, one per line",
            "\n".join(facts.get("levels", ())),
            key=own.key("levels of", name),
        )
        return
    if is_date:
        earliest, latest = _dates_of(facts)
        limits: dict[str, Any] = {"min_value": _EARLIEST, "max_value": _LATEST}
        first.date_input("Earliest", earliest, key=own.key("lower", name), **limits)
        second.date_input("Latest", latest, key=own.key("upper", name), **limits)
        return
    lower, upper = offered or (facts.get("lower"), facts.get("upper"))
    for place, label, key, value in (
        (first, "Lowest", "lower", lower),
        (second, "Highest", "upper", upper),
    ):
        place.number_input(
            label,
            value=None if value is None else float(value),
            format="%.12g",
            step=None,
            key=own.key(key, name),
        )


def _dates_of(facts: Mapping[str, Any]) -> tuple[date | None, date | None]:
    if "days_since" not in facts:
        return None, None
    start = date.fromisoformat(facts["days_since"]).toordinal()
    lower, upper = (date.fromordinal(start + int(facts[key])) for key in ("lower", "upper"))
    return lower, upper


def _draw_rows(own: OwnTable) -> None:
    """Draw the fields that say which rows belong to one person."""
    rows, names = own.content.get("rows", {}), [_NONE, *own.upload.columns]

    def column(place: Any, label: str, key: str, explanation: str) -> None:
        index = names.index(rows[key]) if rows.get(key) in names else 0
        place.selectbox(label, names, index=index, key=own.key(key), help=explanation)

    person, at_most, label, site = st.columns(4, vertical_alignment="bottom")
    column(person, "Person", "person", "Column that names the person of each row.")
    at_most.number_input(
        "Rows per person, at most",
        1,
        MOST_ROWS_PER_PERSON,
        rows.get("at_most", 1),
        key=own.key("at_most"),
        help="The first rows of each person are used. Twice as many rows need twice the noise.",
    )
    column(label, "Label", "label", "Column of classes, for simulations only.")
    column(site, "Site", "site", "Column that names the site of each row, for simulations only.")


def _submit(own: OwnTable, numbers: list[str], levels: list[str], dates: list[str]) -> None:
    """Form callback: build a dictionary from the fields and read the table."""
    try:
        dictionary = dictionary_from(_facts(own, numbers, levels, dates))
        apply_dictionary(own, dictionary)
    except (ParameterError, _Incomplete) as error:
        st.session_state[_TROUBLE] = str(error)


class _Incomplete(ValueError):
    """A public fact that the visitor has not given yet."""


def _facts(
    own: OwnTable, numbers: Sequence[str], levels: Sequence[str], dates: Sequence[str]
) -> dict[str, Any]:
    """Return what the fields say, in the form of a dictionary file.

    Raises `_Incomplete` if a field is empty.
    """

    def value(*key: str) -> Any:
        return st.session_state.get(own.key(*key))

    rows: dict[str, Any] = {
        key: value(key) for key in ("person", "label", "site") if value(key) not in (None, _NONE)
    }
    special = set(rows.values())
    if "person" in rows:
        rows["at_most"] = value("at_most")
    used = [name for name in (*numbers, *levels, *dates) if name not in special]
    if not used:
        raise _Incomplete("Select at least one column.")
    decimal = value("decimal")
    if numbers and decimal is None:
        raise _Incomplete("Choose the decimal mark of this file: point or comma.")
    codes = [code.strip() for code in (value("missing") or "").split(",") if code.strip()]
    cells = {
        **({} if decimal is None else {"decimal": _DECIMALS[decimal]}),
        **({"missing": codes} if codes else {}),
        **({"date_order": _DATE_ORDERS[value("date_order")]} if dates else {}),
    }
    columns = {
        name: _marks_without_field(own, name)
        | (_levels_typed(own, name) if name in levels else _limits_typed(own, name, name in dates))
        for name in used
    }
    # The page has no field for the shape of pictures; a file's shape holds for these columns only.
    image = own.content.get("image")
    is_same = list(columns) == list(own.content.get("columns", {}))
    pictures = {"image": image} if image and is_same else {}
    return {"title": own.title, **pictures, "rows": rows, "cells": cells, "columns": columns}


def _marks_without_field(own: OwnTable, name: str) -> dict[str, Any]:
    """Return what a dictionary file said about a column and the page has no field for."""
    fields = ("lower", "upper", "middle", "levels", "days_since")
    former = own.content.get("columns", {}).get(name, {})
    return {key: mark for key, mark in former.items() if key not in fields}


def _levels_typed(own: OwnTable, name: str) -> dict[str, Any]:
    lines = st.session_state.get(own.key("levels of", name), "").splitlines()
    levels = [line.strip() for line in lines if line.strip()]
    if not levels:
        raise _Incomplete(f"Give the levels of “{name}”, one per line.")
    return {"levels": levels}


def _limits_typed(own: OwnTable, name: str, is_date: bool) -> dict[str, Any]:
    lower, upper = (st.session_state.get(own.key(key, name)) for key in ("lower", "upper"))
    if lower is None or upper is None:
        raise _Incomplete(f"Give both limits of “{name}”, or do not select it.")
    if is_date:
        return {"days_since": lower.isoformat(), "lower": 0, "upper": (upper - lower).days}
    middle = own.content.get("columns", {}).get(name, {}).get("middle")
    if middle is not None and lower <= middle <= upper:
        return {"lower": lower, "upper": upper, "middle": middle}
    return {"lower": lower, "upper": upper}


def _draw_dictionary_file(own: OwnTable) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = own.key("dictionary")
        if not notices.is_public_demo():
            st.file_uploader(
                "Or a dictionary file (TOML)", "toml", key=key, on_change=_fill, args=(own, key)
            )
        if own.dictionary is not None:
            st.download_button(
                "Save as a dictionary file",
                own.dictionary.toml(),
                "dictionary.toml",
                "application/toml",
                on_click="ignore",
            )


def _fill(own: OwnTable, key: str) -> None:
    file = st.session_state.get(key)
    if file is None:
        return
    try:
        content = file.getvalue()
        dictionary = parse_dictionary(content, file.name, LARGEST_UPLOADED_DICTIONARY)
        named = [*dictionary.keys, dictionary.label, dictionary.site]
        absent = [name for name in named if name is not None and name not in own.upload.columns]
        if absent:
            raise ParameterError("dictionary", "of columns that the table has", absent[0])
        apply_dictionary(own, dictionary)
    except ParameterError as error:
        st.session_state[_TROUBLE] = str(error)


def _name_of(options: Mapping[str, str], value: str | None) -> str | None:
    return next((name for name, each in options.items() if each == value), None)
