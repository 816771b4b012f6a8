"""The poster's three curves, filling in while one looks."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpcore.experiments.cca.sentences import TITLES, half_captured, half_in_words
from dpcore.experiments.cca.spec import CcaSpec
from dpcore.experiments.engine.control_ranges import DELTAS, EPSILONS
from dpcore.figures.families.cca import correlation_curves
from pages.explore.cca.controls import CcaChoice
from pages.server import cca_cache
from pages.server.result_cache import compute_for
from pages.widgets.charts import chart, is_dark

CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.01)
_DRAWS = 5
_FEWEST_PEOPLE = 50
# Long enough to get somewhere, short enough that a slider moved meanwhile answers at once.
_SLICE_SECONDS = 0.2
_TITLES = {
    "epsilon": ("Against ε", "← more private     asked ε     less private →"),
    "samples": ("Against the number of people", "people N"),
    "delta": ("Against δ", "← more private     δ     less private →"),
}


def three_curves(choice: CcaChoice, floor: float) -> None:
    """Total correlation captured against ε (at three numbers of people), N and δ."""
    spec = replace(choice.spec, repetitions=min(_DRAWS, choice.spec.repetitions))
    least = max(_FEWEST_PEOPLE, 2 * spec.sites)
    sizes = [n for n in (round(spec.samples / 2**half) for half in range(6)) if n >= least]
    panels = {
        "epsilon": [
            # The lead at fewer people too; the others would make a thicket of it.
            replace(
                spec,
                epsilon=epsilon,
                samples=n,
                protocols=spec.protocols if n == spec.samples else spec.protocols[:1],
            )
            for n in sizes[:6:2]
            for epsilon in CURVE_EPSILONS
            if spec.calibration != "classic" or epsilon <= 1
        ],
        "samples": [replace(spec, samples=n) for n in sizes],
        "delta": [replace(spec, delta=delta) for delta in DELTAS],
    }
    wanted = {
        field: cca_cache.cells(choice.source, specs) for field, specs in panels.items() if specs
    }
    key = (choice.source, spec)
    stopped = st.session_state.get("_cca_stopped") == key
    waiting = any(cca_cache.finished_rows(cells)[1] for cells in wanted.values())
    st.fragment(_draw, run_every=0.05 if waiting and not stopped else None)(
        key, spec, wanted, floor, waiting
    )


def _draw(
    key: object,
    spec: CcaSpec,
    wanted: dict[str, list[cca_cache.Cell]],
    floor: float,
    was_waiting: bool,
) -> None:
    started = st.session_state.get("_cca_started") == key
    st.session_state["_cca_started"] = key
    stopped = st.session_state.get("_cca_stopped") == key
    missing = [cell for cells in wanted.values() for cell in cca_cache.finished_rows(cells)[1]]
    if missing and started and not stopped:
        compute_for(missing, cca_cache.cell_rows, _SLICE_SECONDS)
    found = {field: cca_cache.finished_rows(cells) for field, cells in wanted.items()}
    rows = found["epsilon"][0] if "epsilon" in found else []
    if rows and not found["epsilon"][1]:
        reached = half_captured(rows, spec.protocols[0])
        st.markdown(half_in_words(reached, CURVE_EPSILONS[0], CURVE_EPSILONS[-1]))
    else:
        st.markdown("Half of the exact correlation is captured … (the first curve is filling in)")
    for column, (field, (rows, _)) in zip(st.columns(3), found.items(), strict=False):
        with column:
            _panel(field, rows, wanted[field], spec, floor)
    left = sum(len(missing) for _, missing in found.values())
    if left and not stopped:
        total = sum(len(cells) for cells in wanted.values())
        st.progress(1 - left / total, f"{left:,} of {total:,} draws to come")
        st.button("Stop", on_click=_stop, args=(key,), key="cca_stop")
    elif left:
        st.caption(f"Stopped with {left:,} draws to come; any control goes on.")
    elif was_waiting and started:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _panel(
    field: str, rows: list[dict], cells: list[cca_cache.Cell], spec: CcaSpec, floor: float
) -> None:
    title, axis_title = _TITLES[field]
    st.markdown(f"**{title}**")
    if not rows:
        st.caption("Waiting for its turn.")
        return
    values = [getattr(cell_spec, field) for _, cell_spec, _ in cells]
    chart(
        correlation_curves(
            rows,
            field,
            titles=TITLES,
            axis_title=axis_title,
            axis_range=(min(values), max(values)),
            floor=floor,
            marker=getattr(spec, field),
            dark=is_dark(),
        ),
        key=f"cca_curve_{field}",
        alt=f"Share of the exact total correlation captured, {title.lower()}.",
    )


def _stop(key: object) -> None:
    st.session_state["_cca_stopped"] = key
