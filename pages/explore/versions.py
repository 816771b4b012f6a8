"""Switch between the published and the improved version, and a table of their differences."""

from __future__ import annotations

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.fields import CUSTOM, VERSIONS
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.guarantee_in_words import say_number
from pages import cached, sidebar
from pages.explore.axes import in_version
from pages.number_format import plain
from pages.sidebar import Selection

TITLES = {"published": "As published", "improved": "Improved"}
_CHOICES = (
    ("Centring", "exact mean, longest row scaled to 1", "private mean, every row scaled to 1"),
    ("Calibration", "σ = √(2 ln(1.25/δ)) / (n ε)", "smallest σ that keeps ε and δ exactly"),
    ("Noise", "triangle, mirrored", "isometric: half the variance off the diagonal"),
    ("Cut to R", "by size, negative noise too", "positive eigenvalues only"),
    ("Denoising", "none", "noise removed where it shows"),
)


def draw_switch(selection: Selection) -> None:
    """Draw the switch; settings of neither version are named on its left."""
    is_custom = selection.version == CUSTOM
    st.session_state["explore_improved"] = selection.version == "improved"
    with st.container(horizontal=True, width="content", key="version_switch", gap="small"):
        title = TITLES["published"]
        st.markdown(":orange-badge[Custom]" if is_custom else title, width="content")
        st.toggle(TITLES["improved"], key="explore_improved", on_change=_switch)


def _switch() -> None:
    is_improved = st.session_state["explore_improved"]
    sidebar.set_version("improved" if is_improved else "published")


def draw_differences(selection: Selection) -> None:
    """Draw the differences between the versions, and the guarantee of each."""
    heads = [f"**{TITLES[version]}**" for version in VERSIONS]
    lines = [f"| | {' | '.join(heads)} |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in _CHOICES]
    specs = [in_version(selection.spec, version, selection) for version in VERSIONS]
    lines.append(f"| Guarantee | {' | '.join(map(_guarantee, specs))} |")
    st.markdown("\n".join(lines))


def _guarantee(spec: RunSpec) -> str:
    try:
        released = cached.guarantees(cached.single(spec))[spec.protocols[0]]
    except ParameterError as error:
        return f"none: {error}"
    requested, exact = plain(spec.epsilon), say_number(released.epsilon)
    if spec.reads_rows_first:
        badge = ":red-badge[not private]"
        before = "centring reads all rows. After it, "
    else:
        badge, before = ":green-badge[private]", "from the first row; "
    title = PROTOCOLS[spec.protocols[0]].title
    trusted = any(entry.is_trusted for entry in released.against)
    limit = "; not against the holder of all rows" if trusted else ""
    return (
        f"{badge} {title}: {before}requested ε = {requested} is exactly {exact}, "
        f"at δ = {plain(released.delta)}{limit}"
    )
