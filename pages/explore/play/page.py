"""Play: people rebuilt from private components under the curve that is the slider of epsilon."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
import streamlit as st

from dpcore.arrays import FloatArray
from dpcore.experiments.assessments import AssessedRelease
from dpcore.experiments.engine import Row
from dpcore.experiments.export import recipe_of
from dpcore.experiments.pca import RunSpec, reference_bytes
from dpcore.experiments.spec import as_published
from dpcore.experiments.summaries import bytes_in_words, counted, percent, spread_of
from dpcore.figures.components import variances_svg
from dpcore.figures.energy import protocol_dots
from dpcore.figures.style import look_of
from dpcore.figures.svg import network_svg
from dpcore.pca import Subspace
from dpcore.pca.assessment import Estimate
from dpcore.pca.protocols.register import PROTOCOLS
from pages.server import caches, turns
from pages.server.turns import compute_for
from pages.shell import address, story_card
from pages.shell.controls import Selection, current, link_parts, redraw_noise
from pages.shell.fragments import and_nothing_else, ask_again, is_alone, part
from pages.shell.navigation import DEFAULT_PAGE, PAGES
from pages.shell.page import page
from pages.shell.parameters import AXES, ask, of_matrices, plain
from pages.widgets import charts, job_progress, session_ledger
from pages.widgets.charts import forget_promises, is_dark, promise, take_away
from pages.widgets.energy_explorer.component import energy_explorer, fill
from pages.widgets.guarantee_card import guarantee_tabs
from pages.widgets.job_progress import make_the_rest
from pages.widgets.notices import errors_shown, how_computed, not_private

# What travelled between the sites and the aggregator.


def travelled(rows: Sequence[Row], whole: int, raw: int) -> None:
    """Bytes of each protocol shown, against sending whole matrices and raw rows.

    rows: One a protocol.
    whole, raw: Bytes of whole matrices and of raw rows under the same settings.
    """
    lead = rows[0]
    sent = bytes_in_words(lead["bytes_per_site"])
    picture, table = st.columns([2, 3], gap="large", vertical_alignment="center")
    chain = PROTOCOLS[lead["protocol"]].is_chain
    svg = network_svg(
        lead["sites"], sent, protocol=lead["protocol"], is_chain=chain, dark=is_dark()
    )
    how = "hand on {} from one to the next" if chain else "each send {} to one aggregator"
    picture.html(
        f'<img src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" '
        f'style="width:100%" alt="{lead["sites"]} sites {how.format(sent)}.">'
    )
    lines = (
        (
            PROTOCOLS[row["protocol"]].title,
            bytes_in_words(row["bytes_sent"]),
            str(row["n_rounds"]),
            f"{_share(row['bytes_sent'], whole)} / {_share(row['bytes_sent'], raw)}",
        )
        for row in rows
    )
    head = ("Protocol", "Sent", "Rounds", "Of matrices / rows")
    table.markdown(
        "\n".join(f"| {' | '.join(line)} |" for line in (head, ("--",) * len(head), *lines))
    )
    table.caption("The last column: the share of what whole matrices, and raw rows, would take.")


def _share(part: int, whole: int) -> str:
    ratio = part / whole
    return f"{ratio:.0%}" if ratio < 10 else f"{ratio:,.0f} ×"


# How good is this release? What it says of itself, beside what only a laboratory knows.

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
    asking = [key for key in spec.protocols if _asks_sites(key)]
    is_long = n_features >= _LONG_FROM_FEATURES
    told = spec.protocols
    if asking and is_long and not ask("ask_sites", on_change=st.rerun):
        told = tuple(key for key in told if key not in asking)
    asked = replace(spec, protocols=told, repetitions=1) if told else None
    may_wait = is_long or turns.is_wanted()
    if asked is not None and not may_wait:
        caches.self_assessed(asked)
    st.fragment(and_nothing_else()(_panel))(asked, may_wait)


def _panel(asked: RunSpec | None, may_wait: bool) -> None:
    begun = st.session_state.pop(_BEGUN, None)
    if asked is not None and may_wait and begun == asked:
        compute_for([asked], caches.self_assessed, _TICK_SECONDS)
    if asked is not None and may_wait and not caches.is_self_assessed(asked):
        st.session_state[_BEGUN] = asked
        st.caption("The release is being asked …")
        job_progress.stands(_NAME)
        ask_again(turns.unhurried(_TICK_SECONDS))
        return
    if begun is not None:
        ask_again(None)
    if asked is not None:
        job_progress.keep(_NAME, partial(_told, asked))
        _told(asked)


def _told(spec: RunSpec) -> None:
    """What the releases say, side by side."""
    found = caches.self_assessed(spec)
    can_tell = [key for key in spec.protocols if key in found and found[key].own is not None]
    if can_tell:
        _shown(can_tell[0], {key: found[key] for key in can_tell})
    if any(_asks_sites(key) for key in can_tell):
        st.caption(
            "DPdisPCA's sites cut what they send. So they are asked once more: the average goes "
            "back to them, and each answers with a few numbers made of its own noisy matrix, "
            "private already. One more round, no budget."
        )
    problem = caches.problem_of(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    for key in spec.protocols:
        if key not in can_tell:
            why = PROTOCOLS[key].why_silent(settings)
            st.markdown(f"**{PROTOCOLS[key].title}** cannot tell how good it is: {why}.")


def _asks_sites(key: str) -> bool:
    """Whether what its sites cut away has to be asked for."""
    return PROTOCOLS[key].wants_proxies and PROTOCOLS[key].average is not None


def _shown(key: str, found: dict[str, AssessedRelease]) -> None:
    st.markdown(_sentence(key, found[key]))
    table, figure = st.columns(2, gap="large")
    head = ("Protocol", "It says", "True", "Stand out")
    lines = [head, ("--",) * len(head), *(_line(*each) for each in found.items())]
    table.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
    table.caption(
        "Shares are of all variation in the prepared rows (for a site alone: of its own rows), in "
        "the first run. A recipient cannot look at the rows, but the noise's law is public: by how "
        "much it flatters the directions it chose can be taken off, at no cost. Over many runs 9 "
        "in 10 intervals contain the true share. The last column counts the components that noise "
        "alone would not have given."
    )
    with table:
        not_private(
            "True figures",
            "they are shown because this demo has the raw data; a recipient would not see them.",
        )
    lead, title = found[key], PROTOCOLS[key].title
    if lead.own is not None and np.isfinite(lead.own.captured.value):
        of_each = lead.own.explained_variance
        alt = f"Variation along each component of {title}, estimated with intervals, and true."
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


def _sentence(key: str, found: AssessedRelease) -> str:
    own, title = found.own, PROTOCOLS[key].title
    if own is None:
        return ""
    true = percent(found.energy / found.total)
    of_whom = " in the first site's rows" if PROTOCOLS[key].is_alone else ""
    share = _with_interval(own.captured_share)
    components = counted(len(found.variances), "component")
    said = (
        f"From the result of **{title}** alone one cannot tell how much of the variation{of_whom} "
        f"its {components} explain. The true figure is **{true}**."
        if share == _TOO_NOISY
        else f"From the result of **{title}** alone one would estimate that its {components} "
        f"explain **{share}** of the variation{of_whom}. The true figure is **{true}**."
    )
    if own.n_above_noise == 0:
        return f"Nothing stands out of the noise. {said}"
    if own.energy_ratio is not None:
        said += (
            f" Of what the best directions explain: **{_with_interval(own.energy_ratio)}**, "
            f"in truth **{percent(found.energy_ratio)}**."
        )
    return said


def _line(key: str, found: AssessedRelease) -> tuple[str, ...]:
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


# Components at several epsilon, their spectrum, and the curve along another axis: a tab each.

_ROWS_AT = (10.0, 2.0, 0.1)


def components_tab(selection: Selection, here: Mapping[str, Subspace]) -> None:
    """The leading components, exact and at several ε, a row each."""
    spec, dataset = selection.spec, selection.dataset
    lead, exact = spec.protocols[0], caches.problem_of(spec.problem_key()).exact_components
    found = {spec.epsilon: here[lead].components}
    # Under a cap nothing is released that nobody asked for.
    most = (
        0.0
        if session_ledger.cap() is not None
        else 1.0
        if spec.calibration == "classic"
        else math.inf
    )
    for epsilon in (each for each in _ROWS_AT if each <= most and each != spec.epsilon):
        one = replace(spec, protocols=(lead,), epsilon=epsilon)
        session_ledger.charge_run(one, 1)
        found[epsilon] = caches.subspaces(one)[lead].components
    found = dict(sorted(found.items(), reverse=True))
    names = {epsilon: f"ε = {plain(epsilon)}" for epsilon in found}
    st.markdown(charts.recognisable({names[each]: found[each] for each in found}, exact))
    rows = {"Exact PCA": exact[: len(here[lead].components)]}
    rows |= {
        f"{name}, where the slider stands" if epsilon == spec.epsilon else name: found[epsilon]
        for epsilon, name in names.items()
    }
    if "local" in spec.protocols[1:]:
        title = PROTOCOLS["local"].title
        rows[f"{title}, ε = {plain(spec.epsilon)}"] = here["local"].components
    names_of_columns = caches.feature_names(spec)
    charts.component_rows(rows, exact, dataset, names_of_columns, protocol=lead)
    st.caption(
        f"{PROTOCOLS[lead].title}, one run at each ε. Under each picture: its |cosine| to the "
        "exact component. Directions of nearly equal variance turn into each other; together they "
        "still span the same space, so the share that survives can be high where a cosine is low."
        if dataset.image_shape is not None
        else f"{PROTOCOLS[lead].title}, one run at each ε."
    )


def spectrum_tab(spec: RunSpec) -> None:
    """Exact and private eigenvalues against the edge of pure noise."""
    # With Plotly, which nothing on the first screen needs.
    from pages.explore.eigen_images.page import scree_of

    lead = spec.protocols[0]
    if lead not in of_matrices():
        able = ", ".join(PROTOCOLS[key].title for key in of_matrices())
        st.caption(f"The spectrum is drawn for the first protocol of the list. It can be: {able}.")
        return
    one = replace(spec, protocols=(lead,))
    session_ledger.charge_run(one, 1, what=("components", "eigenvalues"))
    scree_of({spec.epsilon: one}, lead, caches.problem_of(spec.problem_key()), plain)


def axis_tab(selection: Selection) -> None:
    """The curve along what the visitor picks; ε itself is the slider's line above."""
    # With Plotly, which nothing on the first screen needs.
    from pages.explore import tradeoffs

    field = ask("play_axis", label_visibility="collapsed")
    if field == "bytes":
        spec = replace(selection.spec, protocols=("dpdis",), intermediate_dim=None)
        job_progress.watch_request(
            tradeoffs.frontier_request("play_bytes", spec),
            selection.dataset,
            lambda progress: tradeoffs.frontier(
                progress, spec, selection.dataset, ("float32", "int8")
            ),
            tradeoffs.frontier_count,
        )
        return
    if field == "needed":
        tradeoffs.watch_needed(selection)
        return
    sweeps = tradeoffs.asked_sweeps(selection, field, AXES[field].values, (), {}, published=False)
    place = st.container()
    job = job_progress.started_job("play_axis", sweeps, by_itself=True)
    with place:
        if job is None:
            tradeoffs.nothing_yet(sweeps)
        else:
            job_progress.watch_sweeps("play_axis", job, partial(tradeoffs.draw_panels, sweeps))


def open_tab(selection: Selection, here: Mapping[str, Subspace]) -> None:
    """The tabs, and what stands in the one that is open: no other runs."""
    spec, problem = selection.spec, caches.problem_of(selection.spec.problem_key())
    opened = ask("play_tab", label_visibility="collapsed")
    if opened == "components":
        components_tab(selection, here)
    elif opened == "spectrum":
        spectrum_tab(spec)
    elif opened == "axis":
        axis_tab(selection)
    elif opened == "messages":
        one_draw = replace(spec, repetitions=1)
        travelled(caches.rows(one_draw), *reference_bytes(spec, problem))
    elif opened == "quality":
        own_estimate(spec, problem.n_features)
    else:
        guarantees = {PROTOCOLS[key].title: each.guarantee for key, each in here.items()}
        st.markdown("## What it promises")
        guarantee_tabs(guarantees, reads_rows_first=spec.reads_rows_first, key="play_promises")


# What Play says of its settings: drawn again by itself when epsilon is let go.


def answer() -> None:
    """Everything under the explorer, and what the explorer shows."""
    forget_promises()
    # There in every run, also in one that an error ends: its place at the side is kept.
    spent = st.sidebar.container()
    selection = current()
    with turns.taken(), errors_shown():
        spec, dataset = selection.spec, selection.dataset
        session_ledger.charge_run(spec, spec.repetitions)
        rows, to_come = caches.first_rows(spec)
        fill(spec, dataset, rows)
        make_the_rest(spec, to_come)
        if not is_alone():  # whoever let the slider go has seen the number
            turns.breath()
        everything = caches.subspaces(spec)
        if as_it_came := without_denoising(spec):
            session_ledger.charge_run(as_it_came, 1)
            st.caption(worth_of_denoising(spec, rows, caches.rows(as_it_came)))
        if selection.compare:
            lead = spread_of(rows, spec.protocols[0])
            st.markdown(against_published(spec, lead.mean))

        for key, subspace in everything.items():  # the pictures of every tab carry them
            promise(subspace.guarantee, spec.reads_rows_first, PROTOCOLS[key].title)
        open_tab(selection, everything)
        session_ledger.so_far(dataset.name, dataset.title, spec.delta, spent)
        not_private("Exact PCA, the 100 % line and the cosines", "are computed on raw data.")
        if spec.reads_rows_first:
            not_private("Published centring and scaling", caches.statement(spec))

        take_away(
            "play",
            rows,
            figures={"": lambda: protocol_dots(rows)},
            script=recipe_of(spec).script,
            notebook=recipe_of(spec).notebook,
        )
        how_computed("play", "pca")


def without_denoising(spec: RunSpec) -> RunSpec | None:
    """The first run of the first protocol, as the noise left it; nothing if it is not denoised."""
    problem, lead = caches.problem_of(spec.problem_key()), spec.protocols[0]
    if not spec.settings(problem.n_features, problem.default_components).bases:
        return None
    return replace(spec, protocols=(lead,), repetitions=1, denoise="none")


def worth_of_denoising(spec: RunSpec, rows: Sequence[Row], as_it_came: Sequence[Row]) -> str:
    """What the first protocol keeps in its first run, as the noise left it and denoised."""
    lead, before = spec.protocols[0], as_it_came[0]["energy_ratio"]
    after = next(
        row["energy_ratio"] for row in rows if (row["protocol"], row["repetition"]) == (lead, 0)
    )
    if before == after:
        return f"{PROTOCOLS[lead].title}, first run: {percent(after)}, denoised or not."
    return (
        f"{PROTOCOLS[lead].title}, first run: {percent(before)} as the noise left it → "
        f"**{percent(after)} denoised**. Same noise, same ε, same bytes."
    )


def against_published(spec: RunSpec, mean: float) -> str:
    """What the published choices keep, beside the first protocol's mean; paid for like the rest."""
    printed = replace(as_published(spec), protocols=spec.protocols[:1])
    session_ledger.charge_run(printed, spec.repetitions)
    before = spread_of(caches.rows(printed), spec.protocols[0])
    return (
        "The published choices (calibration, noise and cut as printed) keep "
        f"**{percent(before.mean)}**: a difference of **{100 * (mean - before.mean):+.0f} points** "
        "for a promise that is kept."
    )


# Play: ten people rebuilt from private components; drag ε and see what survives.


@page(reads=True)
def show_play(selection: Selection) -> None:
    """Play: ten people rebuilt from private components; drag ε and see what survives."""
    if not story_card.answered(selection):
        st.stop()

    part("slider", energy_explorer)()
    with st.container(horizontal=True, vertical_alignment="center", key="below_play"):
        link_parts(PAGES[DEFAULT_PAGE])
        st.button(
            "New noise",
            on_click=redraw_noise,
            help="The same settings once more: how much was luck?",
        )
        story_card.menu()
    # Above it a story, or a word about ε in the address, may have to say something else then.
    stands_alone = story_card.told() is None and not address.was_refused("epsilon")
    part("answer" if stands_alone else "answer_with_the_page", answer)()
