"""What a target costs, on a page: the question, its search while it goes on, its maps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.errors import ParameterError
from dpcore.experiments.analysis.noise_curve import NoiseCurve
from dpcore.experiments.analysis.target_search import Answer, Tried, iso_energy_sweep, search
from dpcore.experiments.engine.control_ranges import DELTAS, EPSILONS, PEOPLE_PER_SITE
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.engine.run_cost import RunCost, cost_of_spec
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.pca.sentences import counted, percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.tradeoffs.energy_map import energy_map
from dpcore.pca.protocols.register import PROTOCOLS
from pages.parameters.table import ask
from pages.parameters.use import WANTED
from pages.server import visitors_jobs
from pages.server.background_jobs import Parts, Progress, View
from pages.widgets import session_ledger
from pages.widgets.charts import chart
from pages.widgets.messages import big_number
from pages.widgets.plain_text import said
from pages.widgets.run_request import start, start_button, starts_by_itself

_COLUMNS = {"epsilon": "ε", "people_per_site": "people per site", "intermediate_dim": "R",
            "sites": "sites"}  # fmt: skip
MAP_EPSILONS = tuple(epsilon for epsilon in EPSILONS if 0.05 <= epsilon <= 20)
# A curve at the smallest δ that goes on to ε = 50 has the noise of every other (ε, δ) in it.
_CURVE_EPSILONS = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.05)
_MAP_PEOPLE = 7
# Values that a bisection over 120 tries, for the mean, the luckiest and the unluckiest draw.
_TRIED = 15
MAP_DRAWS = 3
# Numbers in a data set up to which an answer is there before one would press a button.
_AT_ONCE = 200_000
_POLL_SECONDS = 0.3


@dataclass(frozen=True)
class Question:
    """A target, what is to be found, and what is held."""

    spec: RunSpec
    field: str
    target: float
    protocol: str
    people: tuple[int, ...]

    @property
    def epsilons(self) -> tuple[float, ...]:
        return _covered(self.spec, MAP_EPSILONS)

    def parts(self) -> Parts:
        """The search; the map over (ε, people), coarser; and one curve through σ."""
        map_, curve = self._sweeps()
        options = visitors_jobs.run_options()
        return {
            "search": lambda stop: search(
                self.spec,
                self.field,
                self.target,
                protocol=self.protocol,
                should_stop=stop,
                **options,
            ),
            "map": visitors_jobs.sweep_part(map_),
            "curve": visitors_jobs.sweep_part(curve),
        }

    def cost(self) -> RunCost:
        """What all of them take."""
        return cost_of_spec(self.spec).times(_TRIED) + visitors_jobs.cost_of(self._sweeps())

    def _sweeps(self) -> tuple[Sweep, Sweep]:
        held = replace(self.spec, repetitions=min(self.spec.repetitions, MAP_DRAWS))
        curve = replace(held, delta=DELTAS[-1])
        return (
            iso_energy_sweep(held, self.epsilons, self.people),
            Sweep(curve, (("epsilon", _covered(curve, _CURVE_EPSILONS)),)),
        )


def choose_question(spec: RunSpec, dataset: DatasetStatus) -> Question:
    """Draw the page's controls.

    Raises
    ------
    ParameterError
        If the protocol has nothing of what is to be found.
    """
    left, middle, right = st.columns(3, gap="large")
    target = ask("plan_target", left) / 100
    field = ask("plan_find", middle)
    protocol = ask("plan_protocol", right)
    if field == "intermediate_dim" and not PROTOCOLS[protocol].wants_proxies:
        raise ParameterError("protocol", "DPdisPCA to find R, which no other sends", protocol)
    each = dataset.n_samples // spec.sites
    people = sorted({*(n for n in PEOPLE_PER_SITE if n < each), each})[-_MAP_PEOPLE:]
    return Question(replace(spec, protocols=(protocol,)), field, target, protocol, tuple(people))


def watch(
    page: str,
    question: Hashable,
    parts: Callable[[], Parts],
    cost: RunCost,
    dataset: DatasetStatus,
    draw: Callable[[Progress], None],
    count: Callable[[Progress], str],
    charge: session_ledger.Planned = None,
) -> None:
    """Draw a job again and again while it goes on; small data begin by themselves.

    `charge` gives what all of it is charged; without it nobody knows beforehand.
    """
    work = visitors_jobs.find(page, question)
    if work is None and not session_ledger.has_room(charge):
        return
    is_small = dataset.n_samples * dataset.n_features <= _AT_ONCE
    if work is None and is_small and starts_by_itself(cost):
        work = start(page, question, parts, charge)
    if work is not None:
        session_ledger.follow((page, question), work.rows_so_far)
    progress = None if work is None else work.progress()
    if progress is None or progress.state in ("cancelled", "unseen", "failed"):
        label = "Run" if progress is None else "Go on"
        caption = f"Real runs on {dataset.title}, which take a while; Stop keeps what arrived"
        start_button(page, question, parts, cost, charge, label=label, caption=caption)
    if work is None or progress is None:
        return
    every = _POLL_SECONDS if progress.goes_on else None
    st.fragment(_look, run_every=every)(page, work, draw, count, progress.goes_on)


def _look(
    page: str,
    work: View,
    draw: Callable[[Progress], None],
    count: Callable[[Progress], str],
    went_on: bool,
) -> None:
    progress = work.progress()
    if progress.state == "failed":
        st.error(said(progress.sentence), icon="⚠️")
    draw(progress)
    if progress.goes_on:
        words, button = st.columns([5, 1], vertical_alignment="center")
        is_waiting = progress.state == "waiting"
        words.caption("Waiting for other runs to end …" if is_waiting else count(progress))
        button.button("Stop", on_click=work.cancel, key=f"{page}_do_stop")
    elif went_on:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def count_of(question: Question, progress: Progress) -> str:
    """How far a plan is."""
    draws = question.spec.repetitions
    tried = _tried(progress)
    words = f"Searching: {counted(len(tried), 'value')} tried, {counted(draws, 'draw')} each"
    for part, name in (("map", "map over people"), ("curve", "curve through σ")):
        if events := progress.arrived.get(part):
            words = f"Filling in the {name}: {events[-1].done} of {events[-1].total} draws"
    return f"{words} …"


def answer_shown(question: Question, progress: Progress) -> None:
    """The answer as the biggest thing, and as a sentence for a slide."""
    answer, tried = answer_of(progress), _tried(progress)
    if answer is None:
        big_number(
            "…",
            f"Looking for {WANTED[question.field]} that keeps {percent(question.target)}: "
            f"{counted(len(tried), 'value')} tried so far.",
        )
        return
    if answer.value is None:
        best = max(tried, key=lambda one: fmean(one.energies))
        big_number(
            percent(fmean(best.energies)),
            f"is the most within reach, at {value_in_words(question.field, best.value)}; "
            f"the target is {percent(question.target)}.",
            "Lower the target, or hold something else: more people, fewer sites, a larger ε.",
        )
    else:
        (hit,) = (one for one in tried if one.value == answer.value)
        big_number(
            f"{answer.value:,.3g}" if question.field == "epsilon" else f"{answer.value:,}",
            f"is {WANTED[question.field]} that keeps {percent(question.target)} of what exact "
            f"PCA captures, with **{PROTOCOLS[question.protocol].title}**.",
            f"There it keeps {percent(fmean(hit.energies))} on average, "
            f"{percent(min(hit.energies))} to {percent(max(hit.energies))} over "
            f"{counted(len(hit.energies), 'draw')}.",
        )
    st.caption("For a slide (click to copy):")
    st.code(answer.sentence, language=None, wrap_lines=True)


def tried_table(question: Question, progress: Progress) -> None:
    """Every value that was run."""
    tried = _tried(progress)
    if not tried:
        return
    st.expander(f"Every value that was tried: {len(tried)}").dataframe(
        [
            {
                _COLUMNS[question.field]: one.value,
                "kept on average, %": 100 * fmean(one.energies),
                "least, %": 100 * min(one.energies),
                "most, %": 100 * max(one.energies),
                "reaches the target": fmean(one.energies) >= question.target,
            }
            for one in tried
        ],
        column_config={
            name: st.column_config.NumberColumn(format="%.1f")
            for name in ("kept on average, %", "least, %", "most, %")
        },
        hide_index=True,
    )


def people_map(question: Question, rows: tuple[Row, ...]) -> None:
    """Mean energy over (ε, people per site), as far as it has been run."""
    energies: dict[tuple[int, float], list[float]] = {}
    for row in rows:
        energies.setdefault((row["people_per_site"], row["epsilon"]), []).append(
            row["energy_ratio"]
        )
    grid = np.array(
        [
            [fmean(energies.get((people, epsilon), [np.nan])) for epsilon in question.epsilons]
            for people in question.people
        ]
    )
    spec = question.spec
    _map(question, grid, question.people, "people per site",
         here=(spec.epsilon, (spec.samples or question.people[-1] * spec.sites) // spec.sites),
         key="plan_people_map")  # fmt: skip


def budget_map(question: Question, rows: tuple[Row, ...]) -> None:
    """Mean energy over (ε, δ) from one curve."""
    complete = _complete(rows)
    if len({row["epsilon"] for row in complete}) < 2:
        return
    curve = NoiseCurve.from_rows(complete, question.protocol)
    deltas = DELTAS[::-1]
    grid = curve.map(question.epsilons, deltas, calibration=question.spec.calibration)
    _map(question, grid, deltas, "δ", here=(question.spec.epsilon, question.spec.delta),
         key="plan_budget_map")  # fmt: skip


def answer_of(progress: Progress) -> Answer | None:
    """The answer, once the search has ended."""
    steps = progress.arrived.get("search", ())
    return steps[-1] if steps and isinstance(steps[-1], Answer) else None


def rows_of(page: str, question: Question) -> list[Row]:
    """Rows of every run the search has made."""
    work = visitors_jobs.find(page, question)
    return [] if work is None else [r for t in _tried(work.progress()) for r in t.rows]


def value_in_words(field: str, value: float) -> str:
    """A value with its name."""
    return {
        "epsilon": f"ε = {value:.3g}",
        "people_per_site": f"{value:,.0f} people",
        "intermediate_dim": f"R = {value:.0f}",
        "sites": counted(int(value), "site"),
    }[field]


def _map(
    question: Question,
    grid: np.ndarray,
    ys: Sequence[float],
    y_title: str,
    *,
    here: tuple[float, float],
    key: str,
) -> None:
    reached = np.nan_to_num(grid) >= question.target
    chart(
        energy_map(
            question.epsilons, ys, grid, question.target,
            x_title="← more private     ε     less private →", y_title=y_title, here=here,
        ),
        key=key,
        alt=f"Captured energy over ε and {y_title}: {reached.sum()} of {reached.size} settings "
        f"reach {percent(question.target)}.",
    )  # fmt: skip


def _complete(rows: tuple[Row, ...]) -> list[Row]:
    """Rows of the settings whose draws have all arrived."""
    draws: dict[float, int] = {}
    for row in rows:
        draws[row["epsilon"]] = draws.get(row["epsilon"], 0) + 1
    return [row for row in rows if draws[row["epsilon"]] == max(draws.values())]


def _tried(progress: Progress) -> list[Tried]:
    steps = progress.arrived.get("search", ())
    return sorted((s for s in steps if isinstance(s, Tried)), key=lambda tried: tried.value)


def _covered(spec: RunSpec, epsilons: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(e for e in epsilons if spec.calibration != "classic" or e <= 1)
