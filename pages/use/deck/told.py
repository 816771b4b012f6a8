"""What the files of a deck say of each pin, all of it from the session's own runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpcore.data.held_tables import is_held
from dpcore.experiments.pca.export import script_of
from dpcore.experiments.pca.sentences import in_plain_words, percent, spread_of
from dpcore.experiments.teaching.adversary_test import promise
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import PrivacyBudget, icon_counts
from pages.parameters.table import known
from pages.parameters.words import plain
from pages.presenting.pins import Pin
from pages.presenting.views import View, run_of, views_of
from pages.server.frames_cache import Frame
from pages.sidebar.address import address_of
from pages.sidebar.foot.reachable import home
from pages.sidebar.navigation import PAGES
from pages.use.plan.panels import found_so_far, how_sure
from pages.use.plan.question import question_of
from pages.widgets.figure_tools.small_type import headline


@dataclass(frozen=True)
class Told:
    """A pin with what there is to say of it.

    Parameters
    ----------
    views : tuple of View
        With all their frames; none for a page without an ε of its own.
    said : tuple of str
        What was found, in sentences.
    promises : tuple of str
    settings, link, script : str
        What made it, where it is made again, and by which program.
    """

    caption: str
    views: tuple[View, ...]
    said: tuple[str, ...]
    promises: tuple[str, ...]
    settings: str
    link: str
    script: str


def told_of(pin: Pin) -> Told:
    """What the files say of a pin whose runs are all there."""
    views = views_of(pin)
    link = f"{home(st.context.url or '')}{address_of(pin.page, pin.written)}"
    asked = "; ".join(f"{name}: {', '.join(each)}" for name, each in sorted(pin.written.items()))
    settings = " ".join(f"{view.settings}." for view in views) or asked
    return Told(
        pin.caption,
        views,
        tuple(_found(view, here(view)) for view in views) or _elsewhere(pin),
        tuple(promise for view in views for promise in view.guarantees()),
        f"{PAGES[pin.page].title}. {settings}",
        link,
        "\n\n".join(script_of(v.spec) for v in views if not is_held(v.dataset.name)),
    )


def _elsewhere(pin: Pin) -> tuple[str, ...]:
    """What a page without an explorer comes to, where that is a sentence."""

    def stands(name: str) -> Any:
        return known(name).value(pin.written[name]) if name in pin.written else known(name).default

    if pin.page == "promise":
        asked = PrivacyBudget(stands("epsilon"), stands("delta"))
        promised = promise(asked, stands("promise_calibration"))
        right, blind = icon_counts(promised)
        guesses = (
            f"At ε = {plain(asked.epsilon)} and δ = {plain(asked.delta)}, {right} of 100 guesses "
            f"about you can be right; a coin is right {blind} times."
        )
        return guesses, headline(promised, "none")
    if pin.page == "plan":
        wanted = (stands("plan_target") / 100, stands("plan_find"), stands("plan_protocol"))
        answer = found_so_far("plan", question_of(run_of(pin).spec, *wanted))[0]
        if answer is not None:
            return answer.sentence, *([how_sure(answer)] if answer.best is not None else [])
    return (f"This view lives on its page, {PAGES[pin.page].title}, and is not in this file.",)


def here(view: View) -> Frame:
    """The frame at the ε that was pinned."""
    return next(frame for frame in view.frames()[0] if frame.spec.epsilon == view.spec.epsilon)


def _found(view: View, frame: Frame) -> str:
    lead = view.spec.protocols[0]
    kept = percent(spread_of(frame.rows, lead).mean)
    words = in_plain_words(frame.rows)
    return f"{PROTOCOLS[lead].title} at ε = {view.spec.epsilon:g}: {kept} {words}"


def all_told(pins: Sequence[Pin]) -> list[Told]:
    """The same of every pin."""
    return [told_of(pin) for pin in pins]
