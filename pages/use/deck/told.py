"""What the files of a deck say of each pin, all of it from the session's own runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dpcore.data.held_tables import is_held
from dpcore.experiments.pca.export import script_of
from dpcore.experiments.pca.sentences import in_plain_words, percent, spread_of
from dpcore.pca.protocols.register import PROTOCOLS
from pages.presenting.pins import Pin
from pages.presenting.views import View, views_of
from pages.server.frames_cache import Frame
from pages.sidebar.address import address_of
from pages.sidebar.foot.reachable import home
from pages.sidebar.navigation import PAGES


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
        tuple(_found(view, here(view)) for view in views)
        or (f"On the page {PAGES[pin.page].title}.",),
        tuple(promise for view in views for promise in view.guarantees()),
        f"{PAGES[pin.page].title}. {settings}",
        link,
        "\n\n".join(script_of(v.spec) for v in views if not is_held(v.dataset.name)),
    )


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
