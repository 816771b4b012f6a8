"""Your table: a table from a file or an example, in the memory of this session only."""

from __future__ import annotations

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.fields import GIVEN, VERSIONS
from dpcore.experiments.engine.summaries import counted, percent
from dpcore.experiments.pca import RunSpec
from dpcore.figures.components import loading_bars
from dpcore.params import usual_delta
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.spectra import align_signs
from pages import cached, sidebar
from pages.components import ledger, notices
from pages.components.charts import is_dark, show_figure
from pages.components.notices import escape_markdown
from pages.navigation import link_to_parts
from pages.sidebar import Selection
from pages.use.session_table import OwnTable, current
from pages.use.table_facts import draw_dictionary_file, draw_facts
from pages.use.table_sources import draw_sources

CONTROLS = ()
_PROTOCOL = "pooled"
_EPSILON = 1.0
_MOST_NAMES = 6


def show(_: Selection) -> None:
    """Draw the table's first private component, the sources of a table, and its public facts."""
    table = current()
    if table.dictionary is None:
        st.title("How small and large can each column be?", anchor=False)
        link_to_parts("own_table")
        st.markdown(_read_sentence(table))
        draw_sources(table)
    else:
        with notices.errors_as_messages():
            _draw_result(table)
        _draw_unreadable(table)
    details = st.expander("Columns, limits and details", expanded=table.dictionary is None)
    facts, computation = details.tabs(["Columns and limits", "How this is computed"])
    with facts:
        draw_facts(table)
        draw_dictionary_file(table)
    with computation:
        notices.show_formulas("own_table")


def _draw_result(table: OwnTable) -> None:
    status = table.status
    if status is None:
        return
    spec = _spec(status)
    ledger.charge_run(spec)
    (row,) = cached.rows(spec)
    energy = f"{percent(row['energy_ratio'])} captured energy at ε = {spec.epsilon:g}"
    st.title(f"{escape_markdown(table.title)}: {energy}", anchor=False)
    link_to_parts("own_table")
    wide, narrow = st.columns([3, 2], gap="large")
    with wide:
        _draw_component(table, spec)
    with narrow:
        st.markdown(_read_sentence(table))
        draw_sources(table)
        with st.container(horizontal=True):
            st.button("Use on all pages", type="primary", on_click=_use_everywhere, args=(status,))
    notices.mark_not_private(
        "Captured energy",
        f"of one run, pooled at one holder, improved, δ = {say_delta(spec.delta)}, on raw rows. "
        "A simulation; a release protects against every reader.",
    )


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


def _draw_component(table: OwnTable, spec: RunSpec) -> None:
    exact = cached.problem_of(spec.problem_key()).exact_components[:1]
    released = cached.subspaces(spec)[_PROTOCOL].components[:1]
    names, title = cached.feature_names(spec), PROTOCOLS[_PROTOCOL].title
    components = {"Exact (not private)": exact[0]}
    assessment = cached.self_assessed(spec)[_PROTOCOL].assessment
    if assessment is not None and assessment.n_above_noise == 0:
        st.markdown(f"{title}: the first component cannot be told from noise.")
    else:
        components[title] = align_signs(released, exact)[0]
    show_figure(
        loading_bars(components, names, dark=is_dark()),
        key="own_component",
        alt=f"Strongest loadings of the first component of {table.title}, exact and private.",
    )


def _read_sentence(table: OwnTable) -> str:
    rows, columns = table.upload.n_rows, len(table.upload.columns)
    name = "" if table.dictionary is not None else f"**{escape_markdown(table.title)}**: "
    read = f"{name}{counted(rows, 'row')}, {counted(columns, 'column')}."
    return f"{read} Only you see this."


def _use_everywhere(status: DatasetStatus) -> None:
    usual = sidebar.defaults(status)
    values = {name: usual[name] for name in ("delta", "components", "intermediate")}
    if status.site_sizes:
        values |= {"split": GIVEN, "sites": len(status.site_sizes)}
    sidebar.set_controls(dataset=status.name, decide_data=status.name, **values)


def _draw_unreadable(table: OwnTable) -> None:
    """Warn the holder about cells that were not read, with their forms."""
    if not table.unreadable:
        return
    examples = "; ".join(
        f"{escape_markdown(name)}: " + ", ".join(f"“{escape_markdown(cell)}”" for cell in cells)
        for name, cells in list(table.unreadable.items())[:_MOST_NAMES]
    )
    st.warning(
        f"Some cells cannot be read, for example {examples}. Choose below how cells are written. "
        "Only you see this.",
        icon="⚠️",
    )
