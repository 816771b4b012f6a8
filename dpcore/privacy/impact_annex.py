"""Annex to a data-protection impact assessment, made from a privacy label.

The label is the page for readers of a release. The annex has the same facts under the headings that
a data-protection officer looks for, as HTML, which word processors open, and as plain text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpcore.privacy.guarantee_in_words import CARD_TYPE_ONE, say_delta, say_number
from dpcore.privacy.label import OUT_OF, SIMULATION, Label, delta_in_words
from dpcore.templates import render


@dataclass(frozen=True)
class Section:
    """One heading of the annex with its sentences."""

    heading: str
    sentences: tuple[str, ...]


def sections_of(label: Label, *, purpose: str, decided_by: str = "") -> tuple[Section, ...]:
    """Return the sections of the annex, from the purpose to the decision.

    label: Label of a release or of a plan.
    purpose: Purpose of the processing, as a sentence.
    decided_by: Person or board that decides; empty leaves a line to fill in.
    """
    simulated = (f"{SIMULATION}. The numbers are those of a release with the same settings.",)
    epsilon = "No finite ε holds."
    if label.epsilon is not None:
        epsilon = f"ε = {say_number(label.epsilon)} at δ = {say_delta(label.delta)}."
    return (
        Section("Purpose", (purpose, *(simulated if label.is_simulation else ()))),
        Section("Who is protected", (f"{label.who}.", label.neighbours)),
        Section(
            "What leaves the site",
            tuple(f"{sight.who}: sees {sight.sees}." for sight in label.sights),
        ),
        Section(
            "Against whom",
            tuple(
                f"{sight.who}: {_protection(sight.epsilon, is_trusted=sight.is_trusted)}"
                for sight in label.sights
            ),
        ),
        Section(
            "ε and its meaning in people",
            (
                epsilon,
                (
                    f"Even with this release, a guess about one person is right at most "
                    f"{label.right_with} of {OUT_OF} times; without it {label.right_without} times."
                ),
                (
                    f"An attacker who accuses {OUT_OF * CARD_TYPE_ONE:g} of {OUT_OF} innocent "
                    f"people finds at most {label.caught} of {OUT_OF} real ones."
                ),
                delta_in_words(label.delta),
            ),
        ),
        Section("Composition over the project", (label.total, *label.checked)),
        Section("What is not protected", label.not_protected),
        Section("Who is trusted, and what is assumed", _without_repetition(label)),
        Section(
            "Who decides",
            (decided_by or "Name, role, date and signature: ______________________________",),
        ),
    )


def annex_page(label: Label, *, purpose: str, decided_by: str = "") -> str:
    """Return the annex as an HTML document that prints on one page and loads nothing.

    label, purpose, decided_by: See `sections_of`.
    """
    return render(
        Path(__file__).with_suffix(".html"),
        title=_title(label),
        sections=sections_of(label, purpose=purpose, decided_by=decided_by),
        foot=_foot(label),
    )


def annex_text(label: Label, *, purpose: str, decided_by: str = "") -> str:
    """Return the annex as plain text, one sentence a line.

    label, purpose, decided_by: See `sections_of`.
    """
    lines = [_title(label)]
    sections = sections_of(label, purpose=purpose, decided_by=decided_by)
    for number, section in enumerate(sections, 1):
        lines += [
            "",
            f"{number}. {section.heading}",
            *(f"- {sentence}" for sentence in section.sentences),
        ]
    return "\n".join((*lines, "", _foot(label), ""))


def _title(label: Label) -> str:
    return f"Annex on differential privacy: {label.title}"


def _foot(label: Label) -> str:
    return f"{label.made[:10]}, dpcore {label.version}"


def _protection(epsilon: float | None, *, is_trusted: bool) -> str:
    if is_trusted:
        return "trusted with this; no guarantee holds against it."
    if epsilon is None:
        return "no guarantee holds."
    return f"ε = {say_number(epsilon)} holds, even if it knows all other rows."


def _without_repetition(label: Label) -> tuple[str, ...]:
    return (
        *label.trust,
        *(assumption for assumption in label.assumptions if assumption not in label.trust),
    )
