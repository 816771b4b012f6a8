"""What each activity looks like: on a phone, on the wall, and on the console."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pages.classroom.room import Activity, Room, Student
from pages.learn.classroom import attacking, guessing, hospitals, spending
from pages.learn.classroom.door import Here


@dataclass(frozen=True)
class View:
    """An activity as pages show it.

    asked: Draws its settings on the console; gives what makes a round of it.
    arrived: How far it is, for the console, in a sentence.
    """

    title: str
    about: str
    asked: Callable[[Room], Callable[[], Activity]]
    arrived: Callable[[Any], str]
    on_phone: Callable[[Here, Student, Any], None]
    on_wall: Callable[[Room, Any], None]
    on_console: Callable[[Here, Any], None]


def _view(title: str, about: str, module: Any) -> View:
    return View(
        title, about, module.asked, module.arrived, module.on_phone, module.on_wall,
        module.on_console,
    )  # fmt: skip


VIEWS = {
    "hospitals": _view(
        "We are the hospitals",
        "Every phone is a hospital with its own patients. Each chooses its ε, looks at its noisy "
        "components and sends; on the wall the components of all get sharper.",
        hospitals,
    ),
    "guess": _view(
        "Guess",
        "A question to everybody. Every answer is randomised before it enters the room, and the "
        "tally is still about right.",
        guessing,
    ),
    "attack": _view(
        "Attack",
        "Everybody plays the adversary: ten single releases, with her or without? The class's hit "
        "rate against the bound that no adversary beats.",
        attacking,
    ),
    "spend": _view(
        "Spend",
        "One budget for the whole class. Every question about the same people is charged, until "
        "one is refused.",
        spending,
    ),
}


def view_of(activity: Activity) -> View:
    """The view of what goes on."""
    return VIEWS[activity.name]
