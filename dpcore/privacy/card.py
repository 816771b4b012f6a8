"""The guarantee card as plain data: a headline, rows, badges and assumptions.

Numbers that bound a risk are rounded up, chances of the form "1 in n" likewise, so that no
sentence promises more than the guarantee does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpcore.privacy.budget import Against, Guarantee
from dpcore.privacy.explanations import STATED, Assumption
from dpcore.privacy.meaning import best_guess, guarantee_power, icon_counts, odds_factor

# Level of the test quoted on the card: one false alarm in twenty.
CARD_TYPE_ONE = 0.05

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

EXPLANATIONS = {key: each.brief for key, each in STATED.items()}


@dataclass(frozen=True)
class CardRow:
    """One line of the card, a label and its value; `explanation` is a key of `EXPLANATIONS`."""

    label: str
    value: str
    explanation: str


@dataclass(frozen=True)
class Badge:
    """A text of a word or two, and the tone a page colours it by: "good", "bad" or "neutral"."""

    text: str
    tone: str


@dataclass(frozen=True)
class GuaranteeCard:
    """What a page says about one guarantee, ready to be laid out.

    Parameters
    ----------
    headline : str
    rows : tuple of CardRow
    assumptions : tuple of Assumption
        What the guarantee rests on.
    badges : tuple of Badge
    sights : tuple of str
        A sentence each: what those it holds against, or trusts, see.
    """

    headline: str
    rows: tuple[CardRow, ...]
    assumptions: tuple[Assumption, ...]
    badges: tuple[Badge, ...]
    sights: tuple[str, ...] = ()


def describe(guarantee: Guarantee) -> GuaranteeCard:
    """The card of a guarantee, in sentences for somebody who has never met epsilon."""
    return GuaranteeCard(
        headline=_headline(guarantee),
        rows=tuple(_rows(guarantee)),
        assumptions=guarantee.assumptions if guarantee.is_private else (),
        badges=tuple(_badges(guarantee)),
        sights=tuple(map(_say_sight, guarantee.against)) if guarantee.is_private else (),
    )


def one_in(chance: float) -> str:
    """A chance as "1 in 100", never made smaller than it is; "never" for 0."""
    if chance <= 0:
        return "never"
    if chance > 0.5:
        return f"{round_up(100 * chance, 3):g} in 100"
    # Nobody reads more zeros than these, and a larger chance is the safe side.
    n = 1 / max(chance, 1e-15)
    # Two significant digits, down; the margin saves 1 / 0.01 = 99.99… from becoming 99.
    unit = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return f"1 in {int(math.floor(n * (1 + 1e-9) / unit) * unit):,}"


def say_factor(factor: float) -> str:
    """A factor of at least 1 in two digits, rounded up; large ones in words."""
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
    """Three significant digits, rounded up, small ones as on paper; "∞" when infinite."""
    return "∞" if math.isinf(value) else say_delta(round_up(value, 3))


def say_delta(value: float) -> str:
    """As on paper: 0.01, but 10⁻⁵ and 2.5·10⁻⁶ where a power of ten says it shorter.

    Six significant digits, rounded up.
    """
    value = round_up(value, 6)
    return f"{value:.6g}" if value == 0 or value >= 1e-3 else _in_powers(value, 5)


def _in_powers(value: float, places: int) -> str:
    digits, power = f"{value:.{places}e}".split("e")
    factor = "" if float(digits) == 1 else f"{float(digits):g}·"
    return f"{factor}10{str(int(power)).translate(_RAISED)}"


def _headline(guarantee: Guarantee) -> str:
    if guarantee.mechanism == "data-independent":
        return "This result does not depend on the data, so it says nothing about anybody."
    if guarantee.mechanism == "exponential" and not guarantee.is_private:
        return (
            "Nothing is promised: the Markov chains did not converge, and the proof is about an "
            "exact draw. That they did not depends on the rows, so even this sentence is for "
            "their holder alone."
        )
    if not guarantee.is_private:
        return "Nothing is promised: no noise protects this result, and it may give any row away."
    factor = say_factor(odds_factor(guarantee.epsilon))
    if guarantee.delta == 0:
        return (
            "Seeing this result can move somebody's odds about you "
            f"by at most a factor of {factor}."
        )
    slack = f"a chance of {one_in(guarantee.delta)}"
    likely = "no more likely" if guarantee.epsilon == 0 else f"at most {factor} times as likely"
    than = "than" if guarantee.epsilon == 0 else "as"
    return (
        f"Whatever somebody concludes about you from this result is {likely} with your row "
        f"{than} with any other in its place, give or take {slack}."
    )


def _rows(guarantee: Guarantee) -> Iterator[CardRow]:
    if (asked := guarantee.asked) is not None:
        said = f"ε = {say_number(asked.epsilon)}, δ = {say_delta(asked.delta)}"
        yield CardRow("Asked", said, "asked")
    yield CardRow("Holds", _say_what_holds(guarantee), "exact")
    if guarantee.mechanism == "data-independent" or not guarantee.is_private:
        return
    if guarantee.against:
        yield CardRow("Holds against", _say_against_whom(guarantee.against), "against")
    yield CardRow("δ in words", one_in(guarantee.delta), "delta")
    yield CardRow("Neighbours", "one row replaced", "relation")
    power, level = _percent(float(guarantee_power(guarantee, CARD_TYPE_ONE))), 100 * CARD_TYPE_ONE
    found = f"finds you at most {power} % of the time, with {level:g} % false alarms"
    yield CardRow("Strongest test", found, "power")
    right, blind = icon_counts(guarantee)
    said = f"right at most {right} times in 100; a coin is right {blind} times"
    yield CardRow("Best guess", said, "guess")
    yield CardRow("Noise", _say_noise(guarantee), "noise")


def _say_what_holds(guarantee: Guarantee) -> str:
    said = f"ε = {say_number(guarantee.epsilon)} at δ = {say_delta(guarantee.delta)}"
    if guarantee.mechanism == "gaussian" and guarantee.is_private:
        return f"{said}; what is cut from the noisy release gives away at most that"
    return said


def _say_against_whom(against: Sequence[Against]) -> str:
    """Names, with an epsilon each where they differ; whoever is trusted stands at the end."""
    others = [each for each in against if not each.is_trusted]
    differ = len({say_number(each.epsilon) for each in others}) > 1
    said = [
        f"{_named(each)}, ε = {say_number(each.epsilon)}" if differ else _named(each)
        for each in sorted(others, key=lambda each: -each.epsilon)
    ]
    trusted = [f"{_named(each)} is trusted" for each in against if each.is_trusted]
    return "; ".join([*said, *trusted])


def _say_sight(each: Against) -> str:
    holds = "and is trusted" if each.is_trusted else f"and faces ε = {say_number(each.epsilon)}"
    return f"{each.adversary.who} sees {each.sees}, {holds}."


def _named(each: Against) -> str:
    return each.adversary.who[0].lower() + each.adversary.who[1:]


def _say_noise(guarantee: Guarantee) -> str:
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
        # One verdict: nobody reads on after a green "private".
        is_weak = best_guess(guarantee) > 0.95
        yield Badge("weak promise", "bad") if is_weak else Badge("private", "good")
        if guarantee.delta == 0:
            yield Badge("pure: δ = 0", "neutral" if is_weak else "good")
    if guarantee.asked is not None:
        if not guarantee.keeps_asked:
            yield Badge("breaks what was asked", "bad")
        elif guarantee.epsilon < 0.99 * guarantee.asked.epsilon:
            yield Badge("stronger than asked", "neutral")


def _percent(share: float) -> str:
    return f"{min(100.0, round_up(100 * share, 2)):g}"


def round_up(value: float, digits: int) -> float:
    """Round up to significant digits; a relative 1e-9 above a round number is a rounding error."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.ceil(value / unit * (1 - 1e-9)) * unit
