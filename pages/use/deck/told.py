"""What the files of a deck say of each pin, all of it from the session's own runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from dpcore.data import dataset_status
from dpcore.data.held_tables import is_held
from dpcore.experiments.analysis.target_search import value_in_words
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.export import recipe_of, recipe_of_sweeps
from dpcore.experiments.pca.sentences import in_plain_words, percent, spread_of
from dpcore.experiments.teaching.adversary_test import promise
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import PrivacyBudget, icon_counts
from pages.explore.tradeoffs.axes import AXES
from pages.explore.tradeoffs.sweep_controls import (
    TARGET,
    difference,
    finding,
    name_of,
    rows_by_dataset,
)
from pages.learn.promise.adversary import BEST_GUESS
from pages.parameters.words import plain
from pages.presenting.pins import Pin
from pages.presenting.views import View, run_of, views_of
from pages.server import visitors_jobs
from pages.server.frames_cache import Frame
from pages.sidebar.address import address_of
from pages.sidebar.foot import home, only_here
from pages.sidebar.navigation import PAGES
from pages.use.deck.asked import plan_of, sweeps_of
from pages.use.plan.panels import found_so_far, how_sure, trust_and_bytes
from pages.use.plan.question import shown_by
from pages.widgets.figure_tools.small_type import headline

_AXIS_OF_R = replace(AXES["components"], axis="directions that a site sends, R")


@dataclass(frozen=True)
class Curves:
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
    """

    caption: str
    views: tuple[View, ...]
    said: tuple[str, ...]
    promises: tuple[str, ...] = ()
    settings: str = ""
    link: str = ""
    script: str = ""
    number: str = ""
    curves: tuple[Curves, ...] = ()
    guesses: tuple[int, int] | None = None


def told_of(pin: Pin) -> Told:
    """What the files say of a pin whose runs are all there."""
    of_page = {"promise": _promise, "plan": _plan, "tradeoffs": _tradeoffs}.get(pin.page, _runs)
    told = of_page(pin)
    return replace(told, link=_link_of(pin), settings=f"{PAGES[pin.page].title}. {told.settings}")


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
    number = ""
    if len(views) == 1:
        number, said = _kept(views[0]), (f"{_found(views[0])} {_lead(views[0])}.",)
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
    )


def _nothing(pin: Pin) -> Told:
    asked = "; ".join(f"{name}: {', '.join(each)}" for name, each in sorted(pin.written.items()))
    away = f"This view lives on its page, {PAGES[pin.page].title}, and is not in this file."
    return Told(pin.caption, (), (away,), settings=asked)


def _promise(pin: Pin) -> Told:
    asked = PrivacyBudget(pin.stands("epsilon"), pin.stands("delta"))
    promised = promise(asked, pin.stands("promise_calibration"))
    right, blind = icon_counts(promised)
    terms = f"ε = {plain(asked.epsilon)}, δ = {plain(asked.delta)}"
    right_at = f"guesses about you can be right at {terms}; a coin is right {blind} times."
    return Told(
        pin.caption,
        (),
        (right_at, BEST_GUESS),
        (headline(promised, "none"),),
        f"{terms}.",
        number=f"{right} of 100",
        guesses=(right, blind),
    )


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
        number=value_in_words(answer.field, found[0].value) if found else percent(best.mean),
        curves=(
            Curves(tuple(drawn), answer.field, axis.axis, axis.logarithmic, target=answer.target),
        ),
    )


def _tradeoffs(pin: Pin) -> Told:
    sweeps, view = sweeps_of(pin), run_of(pin)
    job = visitors_jobs.find_sweeps(sweeps)
    sides = {} if job is None else rows_by_dataset(job.progress())
    if not sides:
        return _nothing(pin)
    field = sweeps[0].vary[-1][0]
    axis, (ours, *theirs) = AXES[field], next(iter(sides.values()))
    number, sentence = finding(ours, field, PROTOCOLS[ours[0]["protocol"]].title)
    others = [name_of(sweep, sweeps[0]) for sweep in sweeps[1:]]
    more = difference(ours, dict(zip(others, theirs, strict=True)), field)
    named = {name: dataset_status(name).title if len(sides) > 1 else "" for name in sides}
    return Told(
        pin.caption,
        (),
        tuple(words.replace("**", "") for words in (sentence, more) if words),
        tuple(view.guarantees()),
        view.settings,
        script="" if any(map(is_held, sides)) else recipe_of_sweeps(sweeps).script(),
        number=number,
        curves=tuple(
            Curves(tuple(rows), field, axis.axis, axis.logarithmic, named[name], TARGET)
            for name, (rows, *_) in sides.items()
        ),
    )


def here(view: View) -> Frame:
    """The frame at the ε that was pinned."""
    return next(frame for frame in view.frames()[0] if frame.spec.epsilon == view.spec.epsilon)


def _kept(view: View) -> str:
    return percent(spread_of(here(view).rows, view.spec.protocols[0]).mean)


def _lead(view: View) -> str:
    return f"{PROTOCOLS[view.spec.protocols[0]].title} at ε = {plain(view.spec.epsilon)}"


def _found(view: View) -> str:
    return in_plain_words(here(view).rows)
