"""Results of the start page: one at once, the others from a background job."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import streamlit as st

from dpcore.experiments.engine.summaries import bytes_in_words
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.register import PROTOCOLS
from pages import background, cached
from pages.cached import Measured
from pages.components import ledger
from pages.components.explorer.component import Frame, Line, View, deliver, name_of_setting
from pages.explore.axes import TITLES, Step, Steps
from pages.number_format import plain
from pages.sidebar import ALL_SAMPLES, Selection

# One protocol takes more than half a second a run from this size on.
_LARGE_FEATURES = 256
# Runs of which pictures are sent to the browser, and fewer for large pictures.
_PICTURED_RUNS, _PICTURED_LARGE_RUNS = 5, 3
# The curve is finished later if a visitor leaves and comes back.
_SECONDS_UNSEEN = 5.0
_JOB = "_explore_job"


@dataclass(frozen=True)
class Point:
    """One run of one line at one step."""

    line: Line
    at: int
    measured: Measured


def view_of(selection: Selection, steps: Steps) -> View:
    """Return the parts of the figure that do not depend on results."""
    spec = selection.spec
    lead = spec.protocols[0]
    lines = [Line(key, key, PROTOCOLS[key].title) for key in spec.protocols]
    if PROTOCOLS[lead].noise is not None:
        label = f"{PROTOCOLS[lead].title}, {steps.other_version}"
        lines.append(Line(f"{lead} {steps.other_version}", lead, label, is_thin=True))
    dataset = selection.dataset
    settings = spec.settings(dataset.n_features, dataset.default_components)
    has_prior = dataset.image_shape is not None and bool(settings.bases)
    return View(
        setting=name_of_setting(steps.axis, steps.other_version, *(s.spec for s in steps.steps)),
        symbol=steps.symbol,
        title=TITLES[steps.axis],
        steps=tuple((step.label, step.is_major) for step in steps.steps),
        present=steps.present,
        places=tuple(_place(steps, step) for step in steps.steps),
        lines=tuple(lines),
        other_version=steps.other_version,
        floor_label="without any data" if has_prior else "random directions",
        floor_sentence="Guessing smooth pictures gives {}."
        if has_prior
        else "Random directions: {}.",
        file=f"captured-energy-{selection.dataset.name}-{steps.axis}",
    )


def _place(steps: Steps, step: Step) -> str:
    setting = f"ε = {plain(step.spec.epsilon)}"
    if steps.axis == "epsilon":
        return setting
    if steps.axis == "bytes":
        return f"{{}} per site, {setting}"  # known after a run
    if steps.axis == "people":
        return f"{step.label} rows per site, {setting}"
    return f"{steps.symbol} = {step.label}, {setting}"


def compute(selection: Selection, steps: Steps, view: View) -> None:
    """Deliver the result of the present step, and the others from a background job."""
    spec = selection.spec
    cached.problem_of(spec.problem_key())
    cached.prepared(*spec.problem_key().data)
    lead, present = view.lines[0], steps.present
    first = [Point(lead, present, _measure(view, lead, steps.steps[present], 0))]
    is_curve = ledger.may_show_curves(selection.dataset.name)
    numbers = range(len(steps.steps)) if is_curve else (present,)
    lines = view.lines if is_curve else tuple(line for line in view.lines if not line.is_thin)
    key: tuple[Hashable, ...] = ("explore", view.setting, cached.owner(spec))
    if not is_curve:
        key = (*key, present)
    previous = st.session_state.get(_JOB)
    if previous is not None and previous != key:
        background.cancel(previous)
    st.session_state[_JOB] = key
    total = len(numbers) * spec.repetitions * len(lines)
    job = background.start(
        key,
        lambda: _points(view, lines, steps, numbers, spec.repetitions),
        total,
        seconds_unseen=_SECONDS_UNSEEN,
    )
    background.poll(job, lambda: _hand_over(selection, steps, view, job, first))


def _hand_over(
    selection: Selection, steps: Steps, view: View, job: background.Job, first: Sequence[Point]
) -> None:
    was_running = job.is_running
    job.touch()
    if job.error is not None:
        background.show_error(job.error)
    points: list[Point] = list(job.results)
    by_repetition: dict[int, dict[str, dict[int, Measured]]] = {}
    for point in (*first, *points):
        runs = by_repetition.setdefault(point.at, {}).setdefault(point.line.name, {})
        runs[point.measured.run] = point.measured
    lead, moves_floor = view.lines[0].name, steps.axis in ("components", "people")
    frames = [
        Frame(
            at,
            {name: tuple(runs[run] for run in sorted(runs)) for name, runs in results.items()},
            cached.floor(steps.steps[at if moves_floor else 0].spec),
            _bytes_label(steps, results[lead][0]),
        )
        for at, results in by_repetition.items()
        if lead in results and 0 in results[lead]
    ]
    count = f"{len(points)} of {job.total} runs" if was_running else ""
    exact = cached.exact_pictures(_widest(selection, steps))
    deliver(view, selection.dataset, frames, exact, count)


def _bytes_label(steps: Steps, measured: Measured) -> str:
    return bytes_in_words(measured.bytes_per_site) if steps.axis == "bytes" else ""


def _widest(selection: Selection, steps: Steps) -> RunSpec:
    """Return the specification whose exact pictures are shown at all steps."""
    if steps.axis == "components":
        return steps.steps[-1].spec
    if steps.axis == "people":
        return next(s.spec for s in steps.steps if dict(s.controls)["people"] == ALL_SAMPLES)
    return steps.steps[0].spec if steps.axis in ("epsilon", "delta") else selection.spec


def _points(
    view: View, lines: Sequence[Line], steps: Steps, numbers: Iterable[int], repetitions: int
) -> Iterator[Point]:
    """Run every line at every step.

    The first line comes first, with every other step before the steps between them. Other lines
    and further runs follow, first those of the headline.
    """
    present, lead = steps.present, lines[0]
    numbers = sorted(numbers, key=lambda at: ((at - present) % 2, abs(at - present)))
    headlines = [line for line in lines if line is lead or line.is_thin]
    ordered = [(line, at, 0) for line in lines for at in numbers]
    further = range(1, repetitions)
    ordered += [(line, present, run) for line in headlines for run in further]
    ordered += [(line, at, run) for run in further for at in numbers for line in lines]
    for line, at, run in dict.fromkeys(ordered):
        yield Point(line, at, _measure(view, line, steps.steps[at], run))


def _measure(view: View, line: Line, step: Step, run: int) -> Measured:
    spec = step.other if line.is_thin else step.spec
    n_features = cached.problems(spec.problem_key()).moments.n_features
    n_pictured = _PICTURED_LARGE_RUNS if n_features >= _LARGE_FEATURES else _PICTURED_RUNS
    is_pictured = line is view.lines[0] and run < n_pictured
    return cached.measure(spec, line.protocol, run, pictured=is_pictured)
