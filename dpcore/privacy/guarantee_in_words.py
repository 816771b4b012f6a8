"""Texts of a guarantee: the guarantee card as plain data, and numbers in words.

Numbers that bound a risk are rounded up, so no sentence states a stronger guarantee than the one
that holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpcore.privacy.budget import STATED, Against, Assumption, Guarantee
from dpcore.privacy.interpretation import best_guess, guarantee_power, icon_counts, odds_factor

# Level of the test on the card: one false alarm in twenty.
CARD_TYPE_ONE = 0.05

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

EXPLANATIONS = {key: text.brief for key, text in STATED.items()}


@dataclass(frozen=True)
class CardRow:
    """Row of the card: a label and its value; `explanation` is a key of `EXPLANATIONS`."""

    label: str
    value: str
    explanation: str


@dataclass(frozen=True)
class Badge:
    """Short text of a badge, with its `tone`: "good", "bad" or "neutral"."""

    text: str
    tone: str


@dataclass(frozen=True)
class GuaranteeCard:
    """Texts of the card of one guarantee.

    Parameters
    ----------
    headline : str
    rows : tuple of CardRow
    assumptions : tuple of Assumption
        Conditions of the guarantee.
    badges : tuple of Badge
    sights : tuple of str
        One sentence per adversary: the data that it sees, and the guarantee that holds against it.
    """

    headline: str
    rows: tuple[CardRow, ...]
    assumptions: tuple[Assumption, ...]
    badges: tuple[Badge, ...]
    sights: tuple[str, ...] = ()


def describe(guarantee: Guarantee) -> GuaranteeCard:
    """Return the card of a guarantee, in sentences for readers who do not know epsilon."""
    return GuaranteeCard(
        headline=_headline(guarantee),
        rows=tuple(_rows(guarantee)),
        assumptions=guarantee.assumptions if guarantee.is_private else (),
        badges=tuple(_badges(guarantee)),
        sights=tuple(map(_sight_sentence, guarantee.against)) if guarantee.is_private else (),
    )


def _headline(guarantee: Guarantee) -> str:
    if guarantee.mechanism == "data-independent":
        return "This result does not depend on the data, so it says nothing about anyone."
    if guarantee.mechanism == "exponential" and not guarantee.is_private:
        return (
            "No guarantee yet: the chains have not converged. (Even this message depends on the "
            "data, so only the data holder may see it.)"
        )
    if not guarantee.is_private:
        return "No guarantee: no noise protects this result, and it may reveal any row."
    factor = say_factor(odds_factor(guarantee.epsilon))
    likelier = "likelier" if guarantee.epsilon == 0 else f"more than {factor} times as likely"
    points = say_delta(100 * guarantee.delta)
    plus = f" δ adds at most {points} percentage point{'s' * (points != '1')}."
    return (
        f"Nothing anyone could conclude about you becomes {likelier} because your record was used."
        f"{plus if guarantee.delta else ''}"
    )


def _rows(guarantee: Guarantee) -> Iterator[CardRow]:
    if (requested := guarantee.requested) is not None:
        text = f"ε = {say_number(requested.epsilon)}, δ = {say_delta(requested.delta)}"
        yield CardRow("Requested", text, "requested")
    yield CardRow("Delivered", _exact_guarantee(guarantee), "exact")
    if guarantee.mechanism == "data-independent" or not guarantee.is_private:
        return
    if guarantee.against:
        yield CardRow("Protects against", _adversary_names(guarantee.against), "against")
    yield CardRow("δ in words", one_in(guarantee.delta), "delta")
    yield CardRow("Neighbours", "one row replaced", "relation")
    power, level = _percent(float(guarantee_power(guarantee, CARD_TYPE_ONE))), 100 * CARD_TYPE_ONE
    text = f"catches at most {power} in 100 people, and wrongly accuses {level:g} in 100"
    yield CardRow("Strongest test", text, "power")
    right_with, right_without = icon_counts(guarantee)
    text = f"right at most {right_with} times in 100; a coin is right {right_without} times"
    yield CardRow("Best guess", text, "guess")
    yield CardRow("Noise", _noise_text(guarantee), "noise")


def _exact_guarantee(guarantee: Guarantee) -> str:
    text = f"ε = {say_number(guarantee.epsilon)} at δ = {say_delta(guarantee.delta)}"
    if guarantee.mechanism == "gaussian" and guarantee.is_private:
        return f"{text}; dropping directions afterwards reveals nothing more"
    return text


def _adversary_names(against: Sequence[Against]) -> str:
    """Return the names of the adversaries, with their epsilons if these differ."""
    others = [entry for entry in against if not entry.is_trusted]
    differ = len({say_number(entry.epsilon) for entry in others}) > 1
    names = [
        f"{_lower_name(entry)}, ε = {say_number(entry.epsilon)}" if differ else _lower_name(entry)
        for entry in sorted(others, key=lambda entry: -entry.epsilon)
    ]
    trusted = [f"{_lower_name(entry)} is trusted" for entry in against if entry.is_trusted]
    return "; ".join([*names, *trusted])


def _sight_sentence(adversary: Against) -> str:
    end = (
        "and is trusted"
        if adversary.is_trusted
        else f"and faces ε = {say_number(adversary.epsilon)}"
    )
    return f"{adversary.adversary.who} sees {adversary.sees}, {end}."


def _lower_name(adversary: Against) -> str:
    return adversary.adversary.who[0].lower() + adversary.adversary.who[1:]


def _noise_text(guarantee: Guarantee) -> str:
    scale = ""
    if guarantee.sigma is not None:
        scale = f"σ = {guarantee.sigma:.3g}, "
    if guarantee.l2_sensitivity is not None:
        scale += f"one row moves the result by up to {say_number(guarantee.l2_sensitivity)}, "
    return f"{scale}added by {guarantee.noise_added_by}"


def _badges(guarantee: Guarantee) -> Iterator[Badge]:
    if guarantee.mechanism == "data-independent":
        yield Badge("independent of the data", "neutral")
        return
    if not guarantee.is_private:
        yield Badge("not private", "bad")
    else:
        # Only one of the two badges is shown, because readers do not look further than a green
        # "private".
        is_weak = best_guess(guarantee) > 0.95
        yield Badge("weak guarantee", "bad") if is_weak else Badge("private", "good")
        if guarantee.delta == 0:
            yield Badge("pure: δ = 0", "neutral" if is_weak else "good")
    if guarantee.requested is not None:
        if not guarantee.keeps_requested:
            yield Badge("weaker than requested", "bad")
        elif guarantee.epsilon < 0.99 * guarantee.requested.epsilon:
            yield Badge("stronger than requested", "neutral")


def _percent(share: float) -> str:
    return f"{min(100.0, round_up(100 * share, 2)):g}"


def one_in(chance: float) -> str:
    """Format a probability as "1 in 100", rounded up; "never" for 0."""
    if chance <= 0:
        return "never"
    if chance > 0.5:
        return f"{round_up(100 * chance, 3):g} in 100"
    # Smaller probabilities are shown as 1e-15, a safe bound with a readable number of zeros.
    n = 1 / max(chance, 1e-15)
    # Two significant digits, rounded down; with the margin, 1 / 0.01 = 99.99… stays 100.
    unit = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return f"1 in {int(math.floor(n * (1 + 1e-9) / unit) * unit):,}"


def say_factor(factor: float) -> str:
    """Format a factor of at least 1 with two digits, rounded up; large factors in words."""
    if math.isinf(factor):
        return "any number"
    if factor < 2:
        excess = round_up(factor - 1, 2)
        return f"{1 + excess:.6g}"
    factor = round_up(factor, 2)
    if factor >= 1e15:
        return _in_powers(factor, 1)
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if factor >= size:
            return f"{factor / size:.3g} {word}"
    return f"{factor:,.10g}"


def say_number(value: float) -> str:
    """Format a number with three significant digits, rounded up; "∞" for infinity."""
    return "∞" if math.isinf(value) else say_delta(round_up(value, 3))


def say_delta(value: float) -> str:
    """Format a delta as 0.01, 10⁻⁵ or 2.5·10⁻⁶, with six significant digits, rounded up."""
    value = round_up(value, 6)
    return f"{value:.6g}" if value == 0 or value >= 1e-3 else _in_powers(value, 5)


def _in_powers(value: float, places: int) -> str:
    digits, power = f"{value:.{places}e}".split("e")
    factor = "" if float(digits) == 1 else f"{float(digits):g}·"
    return f"{factor}10{str(int(power)).translate(_SUPERSCRIPTS)}"


def round_up(value: float, digits: int) -> float:
    """Round a number up to significant digits, with a relative tolerance of 1e-9."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit * (1 - 1e-9)) * unit
