"""Deck: views that were pinned, in order, side by side, presented, and taken away."""

from __future__ import annotations

import json
import math
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import Any

import streamlit as st
from PIL import Image

from dpcore.data import dataset_status
from dpcore.data.dataset import is_held
from dpcore.errors import DataUnavailable, ParameterError
from dpcore.experiments.decision import NAMES, recommended
from dpcore.experiments.engine import Row, charges_of
from dpcore.experiments.export import recipe_of, recipe_of_sweeps
from dpcore.experiments.summaries import counted, in_plain_words, percent, spread_of
from dpcore.experiments.sweep import Sweep
from dpcore.experiments.targets import value_in_words
from dpcore.figures.privacy import icon_array_svg
from dpcore.figures.style import GREY, INK_LIGHT, look_of
from dpcore.figures.svg import energy_curves_svg, energy_thumbnail
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import PrivacyBudget, icon_counts
from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.teaching.adversary_test import promise
from pages.explore.tradeoffs import (
    TARGET,
    asked_sweeps,
    difference,
    finding,
    name_of,
    rows_by_dataset,
)
from pages.learn.promise.page import BEST_GUESS
from pages.server import background_jobs, caches, turns
from pages.server.background_jobs import Progress
from pages.server.caches import Frame
from pages.server.process import is_public_demo
from pages.shell import own_table
from pages.shell.address import address_of
from pages.shell.navigation import PAGES
from pages.shell.parameters import AXES, SETTINGS, ask, known, plain
from pages.shell.presenting import (
    EXPLORED,
    LONGEST_CAPTION,
    LOOKS,
    MOST_BYTES,
    RUN_BY_DECK,
    SCRIPTS,
    Pin,
    PinnedRun,
    Written,
    deck,
    from_file,
    markup,
    picture_of,
    played,
    present_from,
    read,
    reordered,
    run_of,
    selection_of,
    set_deck,
    side_by_side,
    to_file,
    views_of,
)
from pages.shell.share import home, only_here
from pages.use.decide import page as decide
from pages.use.own_data import take_example
from pages.use.plan.page import (
    TargetQuestion,
    count_of,
    found_so_far,
    how_sure,
    question_of,
    shown_by,
    trust_and_bytes,
)
from pages.widgets import session_ledger
from pages.widgets.charts import OPEN, headline, is_dark
from pages.widgets.job_progress import JobRequest, of_sweeps, too_much
from pages.widgets.notices import errors_shown, plainly, said

# What a pinned page asks beside its runs along ε: a sweep or a search, which it then finds.


@dataclass(frozen=True)
class PinnedSearch:
    """A pin's question as a job, as its page would begin it.

    name: Of the pin's page, under which its runs are entered in the books.
    said: How far it is, in words.
    """

    request: JobRequest
    name: str
    said: Callable[[Progress], str]

    @property
    def title(self) -> str:
        return PAGES[self.name].title

    @property
    def has_ended(self) -> bool:
        """Whether it was run to its end, in this session."""
        view = background_jobs.find(self.request.page, self.request.question)
        return view is not None and view.progress().state in ("finished", "failed")


def asked_by(pin: Pin) -> PinnedSearch | None:
    """The job behind a pin; None for a page without one.

    Raises `ParameterError or DataUnavailable` as `dpcore` says it of settings that cannot run, or
        data that are not there.
    """
    if pin.page == "plan":
        question = plan_of(pin)
        return PinnedSearch(
            JobRequest("plan", question, question.parts, question.cost()), "plan", count_of
        )
    if pin.page == decide.PAGE:
        asked = decision_of(pin)
        job = JobRequest(decide.PAGE, asked, asked.parts, asked.cost())
        return PinnedSearch(job, decide.PAGE, decide.count_of)
    if pin.page != "tradeoffs":
        return None
    sweeps = sweeps_of(pin)
    specs = [cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None]
    request = of_sweeps(background_jobs.SWEEPS, sweeps, lambda: charges_of(specs))

    def said(progress: Progress) -> str:
        done = sum(events[-1].done for events in progress.arrived.values() if events)
        return f"{done} of {counted(request.cost.draws, 'run')}"

    return PinnedSearch(request, "tradeoffs", said)


def decision_of(pin: Pin) -> decide.DecisionQuestion:
    """What a pin of *Three options* asks."""
    asked = pin.stands("decide_target"), pin.stands("decide_trust")
    return decide.question_of(selection_of(pin), *asked)


def plan_of(pin: Pin) -> TargetQuestion:
    """What a pin of *All ways to a target* asks."""
    target, field, over = (pin.stands(f"plan_{name}") for name in ("target", "find", "protocol"))
    return question_of(run_of(pin).spec, target / 100, field, over)


def sweeps_of(pin: Pin) -> tuple[Sweep, ...]:
    """What a pin of the Trade-offs compares."""
    field = pin.stands("tradeoffs_field")
    return asked_sweeps(
        selection_of(pin),
        field,
        pin.stands(f"tradeoffs_values_{field}") or AXES[field].values,
        pin.stands("tradeoffs_datasets"),
        {name: pin.stands(f"tradeoffs_{name}") for name in SETTINGS},
        published=pin.stands("tradeoffs_published"),
    )


# What the files of a deck say of each pin, all of it from the session's own runs.

_AXIS_OF_R = replace(AXES["components"], axis="directions that a site sends, R")


@dataclass(frozen=True)
class SlideCurves:
    """Runs along one field, for a chart of means.

    field, axis: What varies, and how its axis is called.
    target: A share that is to be reached.
    """

    rows: tuple[Row, ...]
    field: str
    axis: str
    logarithmic: bool = True
    title: str = ""
    target: float | None = None


@dataclass(frozen=True)
class Told:
    """A pin with what there is to say of it.

    number: The number that matters; empty where there is none, or two.
    views: With all their frames; none for a page without an ε of its own.
    said: What was found, in sentences; the first goes on from the number.
    settings, link, script: What made it, where it is made again, and by which program.
    curves: Charts of a page without views.
    guesses: (int, int) or None. Of a hundred guesses about somebody, how many are right with the
        release and without.
    message: What was found, as one sentence with its numbers.
    """

    caption: str
    views: tuple[PinnedRun, ...]
    said: tuple[str, ...]
    promises: tuple[str, ...] = ()
    settings: str = ""
    link: str = ""
    script: str = ""
    number: str = ""
    curves: tuple[SlideCurves, ...] = ()
    guesses: tuple[int, int] | None = None
    message: str = ""

    @property
    def title(self) -> str:
        """The caption, unless it asks, or is what the view was called when it was pinned: then the
        message is the title."""
        return self.message if self.message and _is_no_message(self.caption) else self.caption


def _is_no_message(caption: str) -> bool:
    pages = {place.title for place in PAGES.values()}
    return caption.rstrip().endswith("?") or caption.partition(",")[0] in pages


def told_of(pin: Pin) -> Told:
    """What the files say of a pin whose runs are all there."""
    of_page = {
        "promise": _promise,
        decide.PAGE: _decision,
        "plan": _plan,
        "tradeoffs": _tradeoffs,
    }.get(pin.page, _runs)
    told = of_page(pin)
    return replace(told, link=_link_of(pin), settings=f"{PAGES[pin.page].title}. {told.settings}")


def title_of(pin: Pin) -> str:
    """What a pin's slide is called; its caption where its runs are not there."""
    try:
        return told_of(pin).title if _has_run(pin) else pin.caption
    except (ParameterError, DataUnavailable):
        return pin.caption


def _has_run(pin: Pin) -> bool:
    """Whether each of a pin's views has been run at its own ε."""
    return all(
        any(frame.spec.epsilon == view.spec.epsilon for frame in view.frames()[0])
        for view in views_of(pin)
    )


def thumbnail(pin: Pin, *, dark: bool) -> str:
    """A pin's own figure, small, as HTML: from what was run, or as it was pinned.

    Empty where there is none: nothing is run for it, and nothing stands in for it.
    """
    try:
        told = told_of(pin) if _has_run(pin) else None
        drawn = [] if told is None else _small(pin, told, dark)
    except (ParameterError, DataUnavailable):
        return ""
    alt = pin.caption if told is None else told.message or told.title
    if not drawn and (pinned := picture_of(pin)) is not None:
        svg, alt = pinned
        drawn = [_data("svg+xml", svg.encode())]
    lines = (
        f'<img src="{data}" alt="{escape(alt) if number == 0 else ""}" style="display:block;'
        'width:100%;image-rendering:pixelated">'
        for number, data in enumerate(drawn)
    )
    return "".join(lines)


def _small(pin: Pin, told: Told, dark: bool) -> list[str]:
    if told.guesses is not None:
        return [_data("svg+xml", icon_array_svg(*told.guesses).encode())]
    if told.views:
        return [each for view in told.views for each in _small_view(pin, view, dark)]
    return [_data("svg+xml", _small_curves(curves, dark).encode()) for curves in told.curves[:1]]


def _small_view(pin: Pin, view: PinnedRun, dark: bool) -> list[str]:
    """Components, or people rebuilt from them; of a table the curve."""
    sprite = here(view).pictures.sprite
    if pin.page == "eigen_images" and sprite:
        return [f"data:image/png;base64,{sprite}"]
    rounds = caches.rounds((view.spec,))
    if view.dataset.image_shape is not None and rounds:
        rows = decide.strips(view.spec, view.dataset, rounds[0].run, dark=dark)
        return [_data("png", row) for row in rows]
    rows_there = tuple(row for frame in view.frames()[0] for row in frame.rows)
    curves = SlideCurves(rows_there, "epsilon", AXES["epsilon"].axis)
    return [_data("svg+xml", _small_curves(curves, dark).encode())]


def _small_curves(curves: SlideCurves, dark: bool) -> str:
    keys = dict.fromkeys(row["protocol"] for row in curves.rows)
    points = [(key, *point) for key in keys for point in _means(curves, key)]
    values = [value for _, value, _ in points]
    ends = min(values), max(values)
    return energy_thumbnail(points, ends=ends, logarithmic=curves.logarithmic, dark=dark)


def _data(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{b64encode(content).decode()}"


def _link_of(pin: Pin) -> str:
    """Where a view is opened again: an address, or without the server's name where that name means
    another machine to whoever is sent the file.
    """
    server, view = home(st.context.url or ""), address_of(pin.page, pin.written)
    if only_here(server):
        return f"This view in DP-PCA Lab, after the server's address: /{view}"
    return f"{server}{view}"


def _runs(pin: Pin) -> Told:
    views = views_of(pin)
    if not views:
        return _nothing(pin)
    said = tuple(f"{_lead(view)}: {_kept(view)} {_found(view)}" for view in views)
    number = message = ""
    if len(views) == 1:
        number, said = _kept(views[0]), (f"{_found(views[0])} {_lead(views[0])}.",)
        message = f"{_lead(views[0])} keeps {number} of the pattern"
    return Told(
        pin.caption,
        views,
        said,
        tuple(promise for view in views for promise in view.guarantees()),
        " ".join(f"{view.settings}." for view in views),
        script="\n\n".join(
            recipe_of(v.spec).script() for v in views if not is_held(v.dataset.name)
        ),
        number=number,
        message=message,
    )


def _nothing(pin: Pin) -> Told:
    asked = "; ".join(f"{name}: {', '.join(each)}" for name, each in sorted(pin.written.items()))
    away = f"This view lives on its page, {PAGES[pin.page].title}, and is not in this file."
    return Told(pin.caption, (), (away,), settings=asked)


def _promise(pin: Pin) -> Told:
    asked = PrivacyBudget(pin.stands("epsilon"), pin.stands("delta"))
    guarantee = promise(asked, pin.stands("promise_calibration"))
    right, blind = icon_counts(guarantee)
    terms = f"ε = {plain(asked.epsilon)}, δ = {say_delta(asked.delta)}"
    right_at = f"guesses about you can be right at {terms}; a coin is right {blind} times."
    return Told(
        pin.caption,
        (),
        (right_at, BEST_GUESS),
        (headline(guarantee),),
        f"{terms}.",
        number=f"{right} of 100",
        guesses=(right, blind),
        message=f"At {terms} at most {right} of 100 guesses about one person are right; a coin is "
        f"right {blind} times.",
    )


def _decision(pin: Pin) -> Told:
    question, view = decision_of(pin), run_of(pin)
    options = decide.found_options(question)
    if len(options) < len(NAMES):
        return _nothing(pin)
    best = recommended(options)
    spec = (best or max(options, key=lambda each: each.hits)).spec
    guarantee = spec.promise(spec.protocols[0], view.dataset)
    with_her, without = decide.accused_of(guarantee)
    caught = (
        f"{PROTOCOLS[spec.protocols[0]].title} at ε = {plain(spec.epsilon)}: of 100 attackers who "
        f"wrongly accuse {without} of 100 innocent people, at most {with_her} accuse one person "
        "whose record is in the data."
    )
    each = (f"{o.name.capitalize()}, ε = {plain(o.spec.epsilon)}: {percent(o.mean)} on average. "
            f"{decide.verdict(o)}" for o in options)  # fmt: skip
    return Told(
        pin.caption,
        (),
        (*each, " ".join(decide.trust_in_words(question, guarantee))),
        (
            caught,
            *_not_private(replace(view, spec=spec)),
        ),
        f"{decide.people_in_words(spec, view.dataset)}, δ = {say_delta(spec.delta)}. "
        f"{_settings_without(view, 'protocols', 'epsilon', 'delta')}",
        number="none" if best is None else f"ε = {plain(spec.epsilon)}",
        curves=(
            SlideCurves(
                tuple(row for option in options for row in option.rows),
                "epsilon", AXES["epsilon"].axis, target=question.target,
            ),
        ),
        message=decide.conclusion(options),
    )  # fmt: skip


def _settings_without(view: PinnedRun, *names: str) -> str:
    """A view's settings but those that its page chooses or varies itself."""
    left_out = tuple(f"{known(name).title}: " for name in names)
    return "; ".join(each for each in view.settings.split("; ") if not each.startswith(left_out))


def _not_private(view: PinnedRun) -> list[str]:
    """What of a view no promise covers."""
    said = view.guarantees()
    return said[said.index(OPEN) :]


def _plan(pin: Pin) -> Told:
    question, view = plan_of(pin), run_of(pin)
    answer, rows = found_so_far("plan", question)
    if answer is None:
        return _nothing(pin)
    found = [each for each in (answer.best, answer.runner_up, answer.untrusting) if each]
    best = found[0].ranked if found else answer.most.ranked[0]
    # One line a protocol: of two of its ways the one that is recommended first.
    ways = {way.protocol: way for way in [*(each.ranked.way for each in found[::-1]), best.way]}
    drawn = [
        row
        for way in ways.values()
        for row in rows
        if all(row[name] == value for name, value in vars(way).items())
    ]
    said = [answer.sentence]
    if answer.best is not None:
        said += [f"{best.way.label}. {trust_and_bytes(best)}", how_sure(answer)]
    axis = AXES.get(answer.field, _AXIS_OF_R)
    return Told(
        pin.caption,
        (),
        tuple(said),
        tuple(replace(view, spec=shown_by(answer)).guarantees()),
        view.settings,
        number=value_in_words(answer.field, found[0].value, answer.base.dataset)
        if found
        else percent(best.mean),
        message=answer.sentence,
        curves=(
            SlideCurves(
                tuple(drawn), answer.field, axis.axis, axis.logarithmic, target=answer.target
            ),
        ),
    )


def _tradeoffs(pin: Pin) -> Told:
    sweeps, view = sweeps_of(pin), run_of(pin)
    job = background_jobs.find_sweeps(sweeps)
    sides = {} if job is None else rows_by_dataset(job.progress())
    if not sides:
        return _nothing(pin)
    field = sweeps[0].vary[-1][0]
    axis, (ours, *theirs) = AXES[field], next(iter(sides.values()))
    number, sentence = finding(ours, field, PROTOCOLS[ours[0]["protocol"]].title)
    others = [name_of(sweep, sweeps[0]) for sweep in sweeps[1:]]
    more = difference(ours, dict(zip(others, theirs, strict=True)), field)
    named = {name: dataset_status(name).title if len(sides) > 1 else "" for name in sides}
    promises, settings = view.guarantees(), view.settings
    if field == "epsilon":
        # Each point has an ε of its own; the promise is said at the one that was pinned.
        open_at, settings = promises.index(OPEN), _settings_without(view, "epsilon")
        at = f"At ε = {plain(view.spec.epsilon)}"
        promises = [*(f"{at}, {said}" for said in promises[:open_at]), *promises[open_at:]]
    return Told(
        pin.caption,
        (),
        tuple(words.replace("**", "") for words in (sentence, more) if words),
        tuple(promises),
        settings,
        script="" if any(map(is_held, sides)) else recipe_of_sweeps(sweeps).script(),
        number=number,
        message=f"{number} {sentence}".replace("**", ""),
        curves=tuple(
            SlideCurves(tuple(rows), field, axis.axis, axis.logarithmic, named[name], TARGET)
            for name, (rows, *_) in sides.items()
        ),
    )


def here(view: PinnedRun) -> Frame:
    """The frame at the ε that was pinned."""
    return next(frame for frame in view.frames()[0] if frame.spec.epsilon == view.spec.epsilon)


def _kept(view: PinnedRun) -> str:
    return percent(spread_of(here(view).rows, view.spec.protocols[0]).mean)


def _lead(view: PinnedRun) -> str:
    return f"{PROTOCOLS[view.spec.protocols[0]].title} at ε = {plain(view.spec.epsilon)}"


def _found(view: PinnedRun) -> str:
    return in_plain_words(here(view).rows)


# A deck as PowerPoint slides: charts whose numbers can be edited, pictures, the promise, notes.

_WIDE, _HIGH, _EDGE = 13.333, 7.5, 0.5  # inches: 16:9
_TOP, _PROMISES = 2.05, 6.35
_EXACT, _CHANCE = "Exact PCA", "Random guess"
_LUCK, _RELEASE = "a coin", "a reader of the release"
_USUAL_AXIS = 12


@dataclass(frozen=True)
class Box:
    """A place on a slide, in inches."""

    left: float
    top: float
    wide: float
    high: float

    @property
    def placed(self) -> tuple[Any, ...]:
        return in_inches(self.left, self.top, self.wide, self.high)


def in_inches(*lengths: float) -> tuple[Any, ...]:
    """Lengths as PowerPoint's files have them."""
    from pptx.util import Inches

    return tuple(map(Inches, lengths))


def powerpoint(deck: Sequence[Told]) -> bytes:
    """The slides as a file, one for each pin."""
    from pptx import Presentation
    from pptx.util import Inches

    slides = Presentation()
    slides.slide_width, slides.slide_height = Inches(_WIDE), Inches(_HIGH)
    for told in deck:
        slide = slides.slides.add_slide(slides.slide_layouts[5])  # a title alone
        add_title(slide.shapes.title, told.title)
        _add_found(slide, told)
        add_text(slide, told.promises, Box(_EDGE, _PROMISES, _WIDE - 2 * _EDGE, 0.9), 11)
        slide.notes_slide.notes_text_frame.text = "\n\n".join(
            filter(None, (told.settings, *told.promises, told.link, told.script))
        )
    file = BytesIO()
    slides.save(file)
    return file.getvalue()


def add_title(title: Any, caption: str) -> None:
    title.left, title.top, title.width, title.height = Box(
        _EDGE, 0.2, _WIDE - 2 * _EDGE, 0.75
    ).placed
    title.text = caption
    paragraph = title.text_frame.paragraphs[0]
    size = next(
        size
        for most, size in ((50, 28), (90, 24), (130, 20), (math.inf, 16))
        if len(caption) <= most
    )
    paragraph.font.size, paragraph.alignment = _points(size), 1


def _add_found(slide: Any, told: Told) -> None:
    """The number with its sentence, and under it or beside it what was drawn."""
    whole = _WIDE - 2 * _EDGE
    if told.views:
        left = _EDGE
        if told.number:
            add_text(slide, [told.number], Box(_EDGE, 0.95, 2.2, 1), 48, bold=True)
            left += 2.3
        add_text(slide, told.said, Box(left, 1.1, _EDGE + whole - left, 0.9), 16)
        wide = whole / len(told.views)
        for number, view in enumerate(told.views):
            _add_view(slide, view, _EDGE + number * wide, wide - 0.1)
        return
    has_chart = bool(told.curves or told.guesses)
    words = 4.3 if has_chart else whole
    if told.number:
        add_text(slide, [told.number], Box(_EDGE, 1.15, words, 1), 48, bold=True)
    add_text(slide, told.said, Box(_EDGE, 2.2, words, 4), 15)
    place = Box(_EDGE + words + 0.3, 1.2, whole - words - 0.3, _PROMISES - 1.3)
    if told.guesses is not None:
        right, blind = told.guesses
        add_bars(slide, place, (_LUCK, _RELEASE),
                  {"guesses about one person that are right": (blind / 100, right / 100)},
                  ("#0072B2",), "0%")  # fmt: skip
    for number, curves in enumerate(told.curves):
        wide = place.wide / len(told.curves)
        _add_curves(slide, curves, Box(place.left + number * wide, place.top, wide, place.high))


def _add_view(slide: Any, view: PinnedRun, left: float, wide: float) -> None:
    frames, now = view.frames()[0], here(view)
    rows = tuple(row for frame in frames for row in frame.rows)
    curves = SlideCurves(rows, "epsilon", AXES["epsilon"].axis)
    lead = f"{PROTOCOLS[view.spec.protocols[0]].title}, ε = {plain(view.spec.epsilon)}"
    exact = caches.exact_pictures(view.spec, view.dataset)
    if now.pictures.sprite:
        _add_curves(slide, curves, Box(left, _TOP, wide, 2.5))
        for name, sprite, top in ((_EXACT, exact.sprite, 4.6), (lead, now.pictures.sprite, 5.45)):
            add_text(slide, [name], Box(left, top, 1.6, 0.4), 10)
            _add_strip(slide, sprite, left + 1.6, top, wide - 1.7, name)
        return
    _add_curves(slide, curves, Box(left, _TOP, 0.6 * wide, _PROMISES - _TOP - 0.1))
    (names, *_), (ours, *_), (theirs, *_) = (
        caches.features_of(view.spec), now.pictures.loadings, exact.loadings,
    )  # fmt: skip
    colours = (INK_LIGHT, look_of(view.spec.protocols[0]).colour)
    add_text(slide, ["The first component, by feature"],
              Box(left + 0.6 * wide, _TOP, 0.4 * wide, 0.3), 12)  # fmt: skip
    add_bars(slide, Box(left + 0.6 * wide, _TOP + 0.3, 0.4 * wide, _PROMISES - _TOP - 0.4),
              names, {_EXACT: theirs, lead: ours}, colours, "0.0")  # fmt: skip


def _add_curves(slide: Any, curves: SlideCurves, box: Box) -> None:
    """Means of the draws as a chart of PowerPoint's own."""
    from pptx.chart.data import XyChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.enum.dml import MSO_LINE

    data = XyChartData(number_format="0%")
    values = sorted({float(row[curves.field]) for row in curves.rows})
    ends = values[0], values[-1]
    keys = list(dict.fromkeys(row["protocol"] for row in curves.rows))
    levels = {
        _EXACT: (INK_LIGHT, MSO_LINE.DASH, (1.0, 1.0)),
        _CHANCE: (GREY, MSO_LINE.ROUND_DOT, _floor(curves.rows, curves.field, ends)),
    }
    if curves.target is not None:
        levels[f"Target, {curves.target:.0%}"] = (INK_LIGHT, MSO_LINE.SOLID, (curves.target,) * 2)
    lines = {look_of(key).label: _means(curves, key) for key in keys}
    lines |= {name: list(zip(ends, shares, strict=True)) for name, (*_, shares) in levels.items()}
    for name, points in lines.items():
        series = data.add_series(name)
        for value, share in points:
            series.add_data_point(value, share)
    kind = XL_CHART_TYPE.XY_SCATTER_LINES
    chart = slide.shapes.add_chart(kind, *box.placed, data).chart
    _legend(chart, below=box.wide < 6)
    chart.has_title = bool(curves.title)
    if curves.title:
        chart.chart_title.text_frame.text = curves.title
    _axes(chart, curves, ends)
    looks = [*((look_of(key).colour, None) for key in keys),
             *((colour, dash) for colour, dash, _ in levels.values())]  # fmt: skip
    for series, (colour, dash) in zip(chart.plots[0].series, looks, strict=True):
        _paint(series, colour, dash)


def _means(curves: SlideCurves, key: str) -> list[tuple[float, float]]:
    draws: dict[float, list[float]] = {}
    for row in curves.rows:
        if row["protocol"] == key:
            draws.setdefault(float(row[curves.field]), []).append(row["energy_ratio"])
    return [(value, fmean(draws[value])) for value in sorted(draws)]


def _floor(rows: Sequence[Row], field: str, ends: tuple[float, float]) -> tuple[float, ...]:
    return tuple(next(row["random_ratio"] for row in rows if row[field] == end) for end in ends)


def _axes(chart: Any, curves: SlideCurves, ends: tuple[float, float]) -> None:
    from pptx.oxml.xmlchemy import OxmlElement

    across, up = chart.category_axis, chart.value_axis
    if curves.logarithmic:
        scaling = across._element.find("{*}scaling")  # noqa: SLF001  it has no name for it
        logarithm = OxmlElement("c:logBase")
        logarithm.set("val", "10")
        scaling.insert(0, logarithm)
        # Ticks are at the axis' beginning and at ten times that.
        ends = 10 ** math.floor(math.log10(ends[0])), ends[1]
    across.minimum_scale, across.maximum_scale = ends
    across.has_major_gridlines = False
    across.has_title = up.has_title = True
    for axis, label in ((across, curves.axis), (up, "kept, of what exact PCA captures")):
        axis.axis_title.text_frame.text = label
        axis.axis_title.text_frame.paragraphs[0].font.size = _points(_USUAL_AXIS)
    across.tick_labels.number_format, across.tick_labels.number_format_is_linked = "General", False
    up.minimum_scale, up.maximum_scale = 0.0, 1.05
    up.major_unit = 0.25
    up.tick_labels.number_format, up.tick_labels.number_format_is_linked = "0%", False


def _legend(chart: Any, *, below: bool) -> None:
    from pptx.enum.chart import XL_LEGEND_POSITION as POSITION

    chart.font.size = _points(_USUAL_AXIS)
    chart.has_legend, chart.legend.include_in_layout = True, False
    chart.legend.position = POSITION.BOTTOM if below else POSITION.RIGHT


def _paint(series: Any, colour: str, dash: Any) -> None:
    from pptx.enum.chart import XL_MARKER_STYLE

    series.smooth = False
    series.format.line.color.rgb, series.format.line.width = _rgb(colour), _points(2.25)
    if dash is not None:
        series.format.line.dash_style = dash
        series.marker.style = XL_MARKER_STYLE.NONE
        return
    series.marker.size = 7
    series.marker.format.fill.solid()
    series.marker.format.fill.fore_color.rgb = _rgb(colour)


def add_bars(
    slide: Any,
    box: Box,
    names: Sequence[str],
    series: dict[str, Sequence[float]],
    colours: Sequence[str],
    number_format: str,
) -> None:
    """Bars under each other, the first on top, as a chart of PowerPoint's own."""
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE, XL_TICK_LABEL_POSITION

    data = CategoryChartData(number_format=number_format)
    data.categories = list(names)
    for name, values in series.items():
        data.add_series(name, values)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *box.placed, data).chart
    _legend(chart, below=True)
    chart.has_title = False
    chart.category_axis.reverse_order = True
    chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    chart.value_axis.has_major_gridlines = False
    chart.value_axis.tick_labels.number_format = number_format
    chart.value_axis.tick_labels.number_format_is_linked = False
    (plot,) = chart.plots
    plot.gap_width, plot.overlap = 60, 0
    most = math.ceil(10 * max(abs(value) for values in series.values() for value in values)) / 10
    chart.value_axis.minimum_scale, chart.value_axis.maximum_scale = -most, most
    if number_format.endswith("%"):
        chart.value_axis.minimum_scale, chart.value_axis.maximum_scale = 0, 1
        plot.has_data_labels = True
        plot.data_labels.number_format, plot.data_labels.number_format_is_linked = "0%", False
    for one, colour in zip(plot.series, colours, strict=True):
        one.format.fill.solid()
        one.format.fill.fore_color.rgb = _rgb(colour)
        one.invert_if_negative = False


def _add_strip(slide: Any, sprite: str, left: float, top: float, wide: float, told: str) -> None:
    from pptx.util import Inches

    picture = Image.open(BytesIO(b64decode(sprite)))
    # PowerPoint smooths what it enlarges.
    larger = max(1, 1_600 // picture.width)
    size = (larger * picture.width, larger * picture.height)
    file = BytesIO()
    picture.resize(size, Image.Resampling.NEAREST).save(file, "PNG")
    high = min(0.8, wide * picture.height / picture.width)
    shape = slide.shapes.add_picture(file, Inches(left), Inches(top), height=Inches(high))
    shape._element.nvPicPr.cNvPr.set("descr", f"{told}: the leading components as pictures.")  # noqa: SLF001


def add_text(
    slide: Any, lines: Sequence[str], box: Box, size: float, *, bold: bool = False
) -> None:
    frame = slide.shapes.add_textbox(*box.placed).text_frame
    frame.word_wrap = True
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.text = line
        paragraph.font.size, paragraph.font.bold = _points(size), bold
        paragraph.space_after = _points(size / 3)


def _rgb(colour: str) -> Any:
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(colour.lstrip("#").upper())


def _points(size: float) -> Any:
    from pptx.util import Pt

    return Pt(size)


# A deck as one HTML file that needs no server and no network: ε is still dragged in it.

MOST_FILE_BYTES = 3_000_000
_HERE = Path(__file__).parent
# The browser itself refuses whatever would ask anybody for anything.
_POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)
_DOTS = "Grey: right by luck alone. Orange: right because of the release. Hollow: wrong."
_NAV = """<nav aria-label="Slides"><p>← → move ε · Page Up, Page Down: slides</p>
<button type="button" class="previous">Previous</button><output></output>
<button type="button" class="next">Next</button></nav>"""


def one_file(deck: Sequence[Told]) -> str:
    """The whole file.

    Raises `ParameterError` if it would be larger than one sends by mail.
    """
    slides = "\n".join(_slide(number, told) for number, told in enumerate(deck))
    handed = [
        (played(told.views) if told.views else {"views": []})
        | {"settings": told.settings, "promises": [*told.promises, told.link]}
        for told in deck
    ]
    # Inside a script nothing but its own end ends it.
    data = json.dumps(handed, ensure_ascii=False).replace("<", "\\u003c")
    title = escape(deck[0].caption) if deck else "Deck"
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{title}</title><style>{read(*LOOKS, _HERE / "offline.css")}</style></head>
<body class="stApp"><main class="stMain">{slides}</main>{_NAV}
<script type="application/json" id="deck">{data}</script>
<script type="module">{read(*SCRIPTS, _HERE / "offline.js")}</script></body></html>
"""
    if len(page.encode()) > MOST_FILE_BYTES:
        size = f"{len(page.encode()) / 1e6:.1f} MB"
        raise ParameterError("the HTML file", "at most 3 MB: leave some views out", size)
    return page


def _slide(number: int, told: Told) -> str:
    body = markup(len(told.views), f"epsilon-{number}") if told.views else _words(told)
    small = " ".join((told.settings, *told.promises, told.link))
    return (
        f'<section class="slide"><h1>{escape(told.title)}</h1>{body}'
        f'<p class="small">{escape(small)}</p></section>'
    )


def _words(told: Told) -> str:
    """The number and what it means, beside what was drawn."""
    first, *more = told.said
    said = f'<p class="number">{escape(told.number)}</p><p class="kept">{escape(first)}</p>'
    said += "".join(f"<p>{escape(line)}</p>" for line in more)
    drawn = "".join(map(_curves, told.curves))
    if told.guesses is not None:
        drawn = f"{icon_array_svg(*told.guesses)}<p>{_DOTS}</p>"
    return f'<div class="found"><div>{said}</div><div class="drawn">{drawn}</div></div>'


def _curves(curves: SlideCurves) -> str:
    return energy_curves_svg(
        curves.rows,
        curves.field,
        title=curves.title,
        axis_title=curves.axis,
        logarithmic=curves.logarithmic,
        target=curves.target,
    )


# The pins of a deck in order, their captions, the file that keeps them; a story to begin with.

_FILE, _TROUBLE = "deck_file", "_deck_trouble"
_HOSPITALS: Written = {"dataset": [own_table.YOURS], "sites": ["12"]}
_K: Written = {"components": ["3"]}
# At most 1 / (10 n) of the 569 patients of the example, and of as many as 1,000.
_DELTA: Written = {"delta": ["0.0001"]}


def way_in() -> None:
    """A deck from a file; what was wrong with the last one."""
    if trouble := st.session_state.pop(_TROUBLE, None):
        st.error(said(trouble), icon="⚠️")
    if is_public_demo():
        return
    with st.expander("Open a deck that was kept as a file"):
        st.file_uploader(
            "A deck (.json)", type=["json"], key=_FILE, on_change=_opened,
            max_upload_size=max(1, MOST_BYTES // 10**6),
        )  # fmt: skip


def _opened() -> None:
    uploaded = st.session_state.get(_FILE)
    if uploaded is None:
        return
    try:
        set_deck(from_file(uploaded.getvalue()))
    except ParameterError as error:
        st.session_state[_TROUBLE] = f"{error}. The deck there was stays."


def listed(pins: Sequence[Pin]) -> None:
    """Each pin with its caption, where it leads, and what moves it."""
    for number, pin in enumerate(pins, start=1):
        key = f"deck_caption_{number}_{hash((pin.page, pin.caption, len(pins)))}"
        picture, words, up, down, away = st.columns([2, 10, 1, 1, 1], vertical_alignment="bottom")
        if drawn := thumbnail(pin, dark=is_dark()):
            picture.html(drawn)
        else:
            picture.caption("Not run yet" if pin.page in RUN_BY_DECK else "On its page")
        words.text_input(
            f"{number} · {PAGES[pin.page].title}",
            pin.caption,
            max_chars=LONGEST_CAPTION,
            key=key,
            on_change=_said,
            args=(number, key),
        )
        if (title := title_of(pin)) != pin.caption:
            words.caption(f"Its slide says: {plainly(title, longest=len(title))}")
        last = len(pins)
        up.button("↑", key=f"deck_up_{number}", help=f"View {number} comes earlier.",
                  disabled=number == 1, on_click=_swap, args=(number, number - 1))  # fmt: skip
        down.button("↓", key=f"deck_down_{number}", help=f"View {number} comes later.",
                    disabled=number == last, on_click=_swap, args=(number, number + 1))  # fmt: skip
        away.button("✕", key=f"deck_away_{number}", help=f"View {number} leaves the deck.",
                    on_click=_removed, args=(number,))  # fmt: skip
    links = (f"[{n}]({address_of(pin.page, pin.written)})" for n, pin in enumerate(pins, start=1))
    st.caption(f"Open as it was pinned: {' · '.join(links)}")
    # Made when it is pressed, outside of the session: of the list itself, which captions change.
    st.download_button(
        "Keep the deck as a file", partial(to_file, pins), "deck.json", "application/json",
        on_click="ignore", key="keep_deck",
    )  # fmt: skip


def _said(number: int, key: str) -> None:
    pins = deck()
    caption = "".join(filter(str.isprintable, st.session_state[key]))[:LONGEST_CAPTION]
    pins[number - 1] = replace(pins[number - 1], caption=caption)


def _swap(one: int, other: int) -> None:
    order = list(range(1, len(deck()) + 1))
    order[one - 1], order[other - 1] = other, one
    set_deck(reordered(deck(), order))


def _removed(number: int) -> None:
    set_deck(reordered(deck(), [n for n in range(1, len(deck()) + 1) if n != number]))


def _board() -> list[Pin]:
    """Questions; what they find is run where they are shown, and is each slide's title."""
    asked = _HOSPITALS | _K | {"decide_target": ["90"]}
    return [
        Pin(decide.PAGE, asked | {"decide_trust": ["Nobody"]},
            "Which ε keeps 90 % of what all patients share, if nobody is trusted?"),
        Pin("promise", _DELTA, "What does ε = 1 mean for one patient?"),
        Pin("tradeoffs", _HOSPITALS | _K | _DELTA, "What does more privacy cost?"),
        Pin(decide.PAGE, asked | {"decide_trust": ["The other sites, with their masks"]},
            "Would sums under masks get there sooner?"),
    ]  # fmt: skip


def offer_story() -> None:
    """A button that lays it out, with the visitor's own table if there is one."""
    mine = own_table.names()
    data = "your own table" if mine else "569 tumours, 30 measures with names"
    st.button(
        "A story for a board: twelve hospitals want 90 % of the pattern",
        help=f"Four views from the question to a recommendation, on {data}, in place of this deck.",
        key="board",
        on_click=_lay_out,
    )


def _lay_out() -> None:
    if not own_table.names():
        take_example("breast-cancer")
    set_deck(_board())


# A deck's views as they run: what is missing, two of them side by side, all of them as files.

_POLL_SECONDS = 0.2
POWERPOINT = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def run_what_is_missing(
    views: Sequence[PinnedRun], key: str, asked: Sequence[PinnedSearch] = ()
) -> bool:
    """Whether all that views and pages need is there, paid for; else a button that runs the rest.

    What has been run by the time somebody presses Stop is kept.
    """
    for view in views:
        view.charge()
    missing = [item for view in views for item in view.frames()[1]]
    jobs = [each for each in asked if not each.has_ended and _can_run(each)]
    if not missing and not jobs:
        return True
    place = st.empty()
    draws = [counted(len(missing), "draw")] * bool(missing)
    needed = ", ".join([*draws, *dict.fromkeys(job.title for job in jobs)])
    if not place.button(f"Run what is missing: {needed}", type="primary", key=key):
        return False
    steps = len(missing) + len(jobs)
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0)
        # Pressed, it has the page drawn anew, which ends this here.
        st.button("Stop", key=f"{key}_stop")
    for done, item in enumerate(missing, start=1):
        with turns.others():
            item()
        bar.progress(done / steps, f"{done} of {counted(len(missing), 'run')}")
    for done, job in enumerate(jobs, start=len(missing)):
        _run(job, lambda words, at=done: bar.progress(at / steps, words))  # type: ignore[misc]
    place.empty()
    return True


def _can_run(job: PinnedSearch) -> bool:
    """Whether a page may run it at all; says why not."""
    refused = too_much(job.request.cost)
    if refused:
        st.caption(f"{job.title}: {refused}")
    return not refused and session_ledger.has_room(job.request.charge)


def _run(job: PinnedSearch, say: Callable[[str], object]) -> None:
    asked = job.request
    view = background_jobs.start(asked.page, asked.question, asked.parts)
    try:
        session_ledger.charge_ahead(asked.charge)
        session_ledger.follow((job.name, asked.question), view.rows_so_far)
        while (progress := view.progress()).goes_on:
            say(f"{job.title}: {job.said(progress)}")
            with turns.others():
                time.sleep(_POLL_SECONDS)
    finally:
        view.cancel()  # which does nothing once it has ended


def compared(pins: Sequence[Pin]) -> None:
    """Two of the pins that have an ε, at one scale; chosen in the address."""
    there = [number for number, pin in enumerate(pins, start=1) if pin.page in EXPLORED]
    if len(there) < 2:
        return
    st.markdown("## Side by side")
    left, right = st.container(key="asked_of_deck_pair").columns(2)
    a = ask("deck_a", left, options=there)
    b = ask("deck_b", right, options=there, index=1)
    views = [view for number in (a, b) for view in views_of(pins[number - 1])]
    if run_what_is_missing(views, "deck_run_pair"):
        turns.breath()
        side_by_side(views)


def offered(pins: Sequence[Pin]) -> None:
    """The files, once all runs behind them are there."""
    st.markdown("## Export")
    views = [view for pin in pins for view in views_of(pin)]
    asked = [job for pin in pins if (job := asked_by(pin)) is not None]
    if not run_what_is_missing(views, "deck_run_all", asked):
        st.caption("The files hold what was run, at every ε; some of it is missing so far.")
        return
    told = [told_of(pin) for pin in pins]
    with st.container(horizontal=True):
        st.download_button(
            "PowerPoint, charts that can be edited",
            partial(powerpoint, told),
            "deck.pptx",
            POWERPOINT,
            on_click="ignore",
            key="save_deck_pptx",
        )
        with errors_shown():
            st.download_button(
                "One HTML file that works offline",
                one_file(told),
                "deck.html",
                "text/html",
                on_click="ignore",
                key="save_deck_html",
            )
    st.caption(
        "In both, each view says its settings, its seed and what it promises. In the HTML file ε "
        "is still dragged; ← → move it, Page Up and Page Down change the slide."
    )


def show_deck() -> None:
    """Deck: views that were pinned, in order, side by side, presented, and taken away."""
    pins = deck()
    with st.container(key="asked_of_deck"):
        if not pins:
            st.markdown(
                "Nothing is pinned yet. **Pin**, beside *Share this view* on every page, keeps a "
                "page as it stands; here the pins become a presentation."
            )
        way_in()
        offer_story()
        if pins:
            st.button("Present the deck", type="primary", on_click=present_from, args=(1,))
            listed(pins)
    with errors_shown():
        compared(pins)
    if pins:
        with st.container(key="asked_of_deck_files"), errors_shown():
            offered(pins)
