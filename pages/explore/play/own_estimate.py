"""How good is this release? What it says of itself, beside what only a laboratory knows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.experiments.pca.self_assessed import Assessed
from dpcore.experiments.pca.sentences import counted, percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.components.variances import variances_svg
from dpcore.figures.style import look_of
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.self_assessment import Estimate
from pages.parameters.table import ask
from pages.server import page_lock, result_cache
from pages.server.spare_time import compute_for
from pages.sidebar.parts import and_nothing_else, ask_again
from pages.widgets import live_figure
from pages.widgets.charts import is_dark
from pages.widgets.messages import not_private

# Of so many features it takes the sites seconds to answer, and they wait until they are asked; what
# others say takes half a second each, and the rest of the page does not wait for it.
_LONG_FROM_FEATURES = 256
# Leaves the browser time to draw the page before.
_TICK_SECONDS = 0.3
_NAME, _BEGUN = "own_estimate", "_own_estimate_begun"
_TOO_NOISY = "too noisy to tell"
_HERE = Path(__file__).parent
_chart = st.components.v2.component(
    "own_estimate",
    js="\n".join(
        (_HERE / name).read_text(encoding="utf-8")
        for name in ("../../widgets/figure_tools/picture.js", "own_estimate.js")
    ),
    isolate_styles=False,
)


def own_estimate(spec: RunSpec, n_features: int) -> None:
    """The panel, for the first draw of every protocol of the spec.

    Where it takes long, or others wait, the page stands first, with what the panel showed before
    set back.
    """
    st.markdown("## How good is it? (the release's own estimate)")
    asking = [key for key in spec.protocols if _asks_sites(key)]
    is_long = n_features >= _LONG_FROM_FEATURES
    told = spec.protocols
    if asking and is_long and not ask("ask_sites", on_change=st.rerun):
        told = tuple(key for key in told if key not in asking)
    asked = replace(spec, protocols=told, repetitions=1) if told else None
    may_wait = is_long or page_lock.is_wanted()
    if asked is not None and not may_wait:
        result_cache.self_assessed(asked)
    st.fragment(and_nothing_else()(_panel))(asked, may_wait)


def _panel(asked: RunSpec | None, may_wait: bool) -> None:
    begun = st.session_state.pop(_BEGUN, None)
    if asked is not None and may_wait and begun == asked:
        compute_for([asked], result_cache.self_assessed, _TICK_SECONDS)
    if asked is not None and may_wait and not result_cache.is_self_assessed(asked):
        st.session_state[_BEGUN] = asked
        st.caption("The release is being asked …")
        live_figure.stands(_NAME)
        ask_again(page_lock.unhurried(_TICK_SECONDS))
        return
    if begun is not None:
        ask_again(None)
    if asked is not None:
        live_figure.keep(_NAME, partial(_told, asked))
        _told(asked)


def _told(spec: RunSpec) -> None:
    """What the releases say, side by side."""
    found = result_cache.self_assessed(spec)
    can_tell = [key for key in spec.protocols if key in found and found[key].own is not None]
    if can_tell:
        _shown(spec, can_tell[0], {key: found[key] for key in can_tell})
    if any(_asks_sites(key) for key in can_tell):
        st.caption(
            "DPdisPCA's sites cut what they send. So they are asked once more: the average goes "
            "back to them, and each answers with a few numbers made of its own noisy matrix, "
            "private already. One more round, no budget."
        )
    problem = result_cache.problem(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    for key in spec.protocols:
        if key not in can_tell:
            why = PROTOCOLS[key].why_silent(settings)
            st.markdown(f"**{PROTOCOLS[key].title}** cannot tell how good it is: {why}.")


def _asks_sites(key: str) -> bool:
    """Whether what its sites cut away has to be asked for."""
    return PROTOCOLS[key].wants_proxies and PROTOCOLS[key].average is not None


def _shown(spec: RunSpec, key: str, found: dict[str, Assessed]) -> None:
    st.markdown(_sentence(spec, key, found[key]))
    table, figure = st.columns(2, gap="large")
    head = ("Protocol", "It says", "True", "Stand out")
    lines = [head, ("--",) * len(head), *(_line(*each) for each in found.items())]
    table.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
    table.caption(
        "Energy is the rows' variation, after their preparation, here as a share of all of it (for "
        "a site alone: of its own rows), in the first draw. Whoever gets a release cannot look at "
        "the rows. But the noise's law is public, and so is by how much it flatters the directions "
        "it chose: taking that off costs no budget. Over many draws 9 in 10 intervals hold the "
        "truth. The last column counts the components that noise alone would not have given."
    )
    with table:
        not_private("True shares", "only a laboratory has them, which holds the rows.")
    lead, title = found[key], PROTOCOLS[key].title
    if lead.own is not None and np.isfinite(lead.own.captured.value):
        of_each = lead.own.explained_variance
        alt = f"Energy of each component of {title}, estimated with intervals, and true."
        colour = look_of(key, dark=is_dark()).colour
        of_what = (of_each.value, of_each.interval, lead.variances)
        svg = variances_svg(*of_what, colour=colour, alt=alt)
        with figure:
            _chart(key="own_estimate", data=[{"svg": svg, "table": _table(alt, *of_what)}])


def _table(caption: str, estimated: FloatArray, intervals: FloatArray, true: FloatArray) -> str:
    head = ("component", "own estimate", "90 % interval", "true")
    lines = (
        (f"{rank}", f"{value:.4g}", f"{low:.4g} to {high:.4g}", f"{truth:.4g}")
        for rank, (value, low, high, truth) in enumerate(
            zip(estimated, *intervals, true, strict=True), start=1
        )
    )
    body = "".join(
        f'<tr><th scope="row">{rank}</th><td>{"</td><td>".join(cells)}</td></tr>'
        for rank, *cells in lines
    )
    named = "".join(f'<th scope="col">{name}</th>' for name in head)
    return f"<table><caption>{escape(caption)}</caption><tr>{named}</tr>{body}</table>"


def _sentence(spec: RunSpec, key: str, found: Assessed) -> str:
    own, title = found.own, PROTOCOLS[key].title
    if own is None:
        return ""
    true = percent(found.energy / found.total)
    rows = "the first site's rows" if PROTOCOLS[key].is_alone else "the rows"
    if spec.preparation == "sphere":
        rows += ", each brought to length 1 so that it counts by its direction alone"
    share = _with_interval(own.captured_share)
    said = f"**{title}** says of itself that "
    said += (
        f"its components are {share}; the truth is **{true}** of all energy in {rows}."
        if share == _TOO_NOISY
        else f"its {counted(len(found.variances), 'component')} hold **{share}** of all energy in "
        f"{rows}; the truth is **{true}**."
    )
    if own.n_above_noise == 0:
        return f"Nothing stands out of the noise. {said}"
    if own.energy_ratio is not None:
        said += (
            f" Of what the best directions hold it says **{_with_interval(own.energy_ratio)}**; "
            f"the truth is **{percent(found.energy_ratio)}**."
        )
    return said


def _line(key: str, found: Assessed) -> tuple[str, ...]:
    own, true = found.own, _unbroken(percent(found.energy / found.total))
    if own is None:
        return PROTOCOLS[key].title, "cannot tell", true, ""
    n_above = own.n_above_noise
    above = "–" if n_above is None else f"{n_above} of {len(found.variances)}"
    return PROTOCOLS[key].title, _with_interval(own.captured_share), true, above


def _with_interval(share: Estimate) -> str:
    """ "58 % (54 % to 62 %)", within what a share can be; words where nothing is known."""
    low, high = (float(end) for end in share.interval)
    if high - low > 0.9:  # also where the total itself is lost
        return _TOO_NOISY
    middle = min(max(float(share.value), low), high)
    return _unbroken(f"{percent(middle)} ({percent(low)} to {percent(high)})")


def _unbroken(text: str) -> str:
    return text.replace(" %", "\N{NO-BREAK SPACE}%")
