"""Stories: a question, its answers, and the finding that decides between them.

The stories: a question, what it is asked at, the answers, and what decides between them.

Which answer is true stands nowhere: it is the one whose range has the number that is worked out
from the rows when somebody has guessed. What a teacher does with each is in docs/teaching.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev

from dpcore.experiments.charge_keys import compute_charges
from dpcore.experiments.engine import Row
from dpcore.experiments.summaries import percent
from dpcore.privacy import Accountant
from dpcore.privacy.guarantee_in_words import say_delta, say_number

# What decides a story: a number worked out from rows that were run for it, never written down.

# Gives the rows at a story's settings, with some of its controls standing elsewhere.
Look = Callable[[Mapping[str, object]], Sequence[Row]]
CHANCE = "chance"
# Of the mean of ten draws: about one mean in twenty lies further from what very many would give.
_STANDARD_ERRORS = 2.3


@dataclass(frozen=True)
class Finding:
    """The number that decides, of every draw that has one, as shown large and in a sentence."""

    values: tuple[float, ...]
    number: str
    sentence: str

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def reach(self) -> tuple[float, float]:
        """From where to where the mean of very many draws may be; one value is exact."""
        if len(self.values) == 1:
            return self.mean, self.mean
        error = _STANDARD_ERRORS * stdev(self.values) / math.sqrt(len(self.values))
        return self.mean - error, self.mean + error


@dataclass(frozen=True)
class Scene:
    """One protocol, or pure chance, at a story's settings with some controls moved."""

    protocol: str = "dpdis"
    moved: Mapping[str, object] = field(default_factory=dict)

    def kept(self, look: Look) -> list[float]:
        """The share that each draw keeps of what exact PCA captures."""
        rows = look(self.moved)
        if self.protocol == CHANCE:
            return [row["random_ratio"] for row in rows if row["protocol"] == rows[0]["protocol"]]
        return [row["energy_ratio"] for row in rows if row["protocol"] == self.protocol]

    def exact_epsilon(self, look: Look) -> str:
        """What holds of it; pure chance looks at nobody."""
        rows = look(self.moved)
        found = (row["exact_epsilon"] for row in rows if row["protocol"] == self.protocol)
        return say_number(next(found, 0.0))


@dataclass(frozen=True)
class SceneDifference:
    """How many points more the second scene keeps than the first; `said` has all their shares.

    In `said` {0} is the share of the first scene, and {holds[0]} the ε that holds of it.
    """

    scenes: tuple[Scene, ...]
    said: str

    def __call__(self, look: Look) -> Finding:
        kept = [scene.kept(look) for scene in self.scenes]
        values = tuple(100 * (b - a) for a, b in zip(kept[0], kept[1], strict=True))
        means = [fmean(shares) for shares in kept]
        # Between the shares as they are written, so that a reader who subtracts finds the same.
        points = round(100 * means[1]) - round(100 * means[0])
        holds = [scene.exact_epsilon(look) for scene in self.scenes]
        sign = "" if not points else "+" if points > 0 else "−"
        unit = "point" if abs(points) == 1 else "points"
        sentence = self.said.format(*map(percent, means), holds=holds)
        return Finding(values, f"{sign}{abs(points)} {unit}", sentence)


@dataclass(frozen=True)
class ExactEpsilon:
    """The ε that holds of the first protocol, and how far it can move somebody's odds."""

    said: str

    def __call__(self, look: Look) -> Finding:
        row = look({})[0]
        exact = row["exact_epsilon"]
        asked, odds = (_two_digits(math.exp(epsilon)) for epsilon in (row["epsilon"], exact))
        sentence = self.said.format(exact=say_number(exact), asked_odds=asked, odds=odds)
        return Finding((exact,), f"ε = {say_number(exact)}", sentence)


@dataclass(frozen=True)
class SpentOnAll:
    """What all draws of a run cost one person together."""

    said: str

    def __call__(self, look: Look) -> Finding:
        rows = look({})
        accountant = Accountant(rows[0]["dataset"])
        accountant.charge(*compute_charges(rows))
        delta = rows[0]["delta"]
        total, stopping = accountant.total(delta), accountant.total(delta, stopping=True)
        sentence = self.said.format(
            n=accountant.n_releases, one=say_number(rows[0]["exact_epsilon"]),
            total=say_number(total), delta=say_delta(delta), stopping=say_number(stopping),
        )  # fmt: skip
        return Finding((total,), f"ε = {say_number(total)}", sentence)


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}"


# The stories: a question, what it is asked at, the answers, and what decides between them.


@dataclass(frozen=True)
class Choice:
    """An answer, true of every number from where the one before it ends up to `below`."""

    text: str
    below: float = math.inf


@dataclass(frozen=True)
class Story:
    """One lesson.

    settings: Where controls stand that do not stand at their defaults.
    choices: In the order of their numbers; the last has no end, so that one of them is true.
    finding: Works out the number that decides.
    why, then: Why it is so, whatever the number; what to try next.
    ends_on: A page to go on to; empty for the next story.
    """

    title: str
    settings: Mapping[str, object]
    question: str
    choices: tuple[Choice, ...]
    finding: Callable[[Look], Finding]
    why: str
    then: str
    ends_on: str = ""


@dataclass(frozen=True)
class StoryVerdict:
    """Which choice the mean falls into, which others the draws cannot rule out, how many agree."""

    finding: Finding
    true: int
    admitted: tuple[int, ...]
    n_agreeing: int

    @property
    def is_close(self) -> bool:
        return len(self.admitted) > 1


def judged(story: Story, finding: Finding) -> StoryVerdict:
    """The verdict that a finding gives."""
    true = _choice_of(story, finding.mean)
    first, last = (_choice_of(story, end) for end in finding.reach)
    agreeing = sum(_choice_of(story, value) == true for value in finding.values)
    return StoryVerdict(finding, true, tuple(range(first, last + 1)), agreeing)


def _choice_of(story: Story, value: float) -> int:
    return next(number for number, choice in enumerate(story.choices) if value < choice.below)


NO_STORY = "none"
# What every story is told on: its question and the ends of its choices are about these people.
# Told of the algorithms as they are; what denoising adds is one of the controls.
_GROUND: dict[str, object] = {"dataset": "digits", "delta": 1e-2, "denoise": "none"}
_TOLD: dict[str, Story] = {
    "people": Story(
        title="More people",
        settings={"people": 50, "protocols": ["dpdis", "pooled"]},
        question="Five hospitals have 50 people each and release at ε = 1. Now each has 200, and ε "
        "stays the same. How much more of the pattern does DPdisPCA keep?",
        choices=(
            Choice("Less than 10 points more: ε is the same", 10),
            Choice("10 to 30 points more", 30),
            Choice("More than 30 points more"),
        ),
        finding=SceneDifference(
            (Scene(moved={"people": 50}), Scene(moved={"people": 200})),
            "With 50 people at each hospital DPdisPCA keeps {0}, with 200 it keeps {1}.",
        ),
        why="Noise has to hide one person. Among four times as many, one person counts a fourth, "
        "so a fourth of the noise hides them as well.",
        then="Move *Pictures at each site* on to “all”. How few people would be too few?",
    ),
    "one-against-fifty": Story(
        title="One hospital against fifty",
        settings={"sites": 50, "epsilon": 2.0, "people": 20, "protocols": ["dpdis", "local"]},
        question="Fifty hospitals with 20 people each send private proxies. One hospital works "
        "alone with its own 20, at the same ε = 2. How much more do the fifty keep together?",
        choices=(
            Choice("Less than 5 points more", 5),
            Choice("5 to 15 points more", 15),
            Choice("More than 15 points more"),
        ),
        finding=SceneDifference(
            (Scene("local"), Scene("dpdis"), Scene(CHANCE)),
            "With one hospital {0} survives, with fifty together {1}; a random guess gets {2}.",
        ),
        why="Every hospital adds its own noise. Fifty noises average out, and what the hospitals "
        "have in common does not.",
        then="Give each hospital 10 people, then “all”. When is one alone better than chance?",
    ),
    "small-epsilon": Story(
        title="ε too small to see anything",
        settings={"epsilon": 0.02, "protocols": ["dpdis", "pooled", "local"]},
        question="All 1,797 people, and the strong promise ε = 0.02. How far above a random guess "
        "do five sites with DPdisPCA get?",
        choices=(
            Choice("Less than 10 points above chance", 10),
            Choice("10 to 40 points above chance", 40),
            Choice("More than 40 points: close to exact PCA"),
        ),
        finding=SceneDifference(
            (Scene(CHANCE), Scene("dpdis"), Scene("pooled")),
            "A random guess gets {0}. With DPdisPCA {1} survives, with one trusted holder of all "
            "rows {2}.",
        ),
        why="The noise is larger than what the pictures have in common. Cosines near 0 under the "
        "components say that they are noise.",
        then="Move ε up step by step. Where does the first component come out of the noise?",
    ),
    "delta": Story(
        title="What δ costs",
        settings={"delta": 1e-6, "protocols": ["dpdis", "full"]},
        question="δ = 0.01 would even allow handing out everybody's row with a chance of one in a "
        "hundred each. Ask for δ = 0.000001 instead, one in a million, at the same ε = 1. What "
        "happens to what DPdisPCA keeps?",
        choices=(
            Choice("It falls by more than 15 points", -15),
            Choice("It falls by 5 to 15 points", -5),
            Choice("It falls by less than 5 points, or not at all"),
        ),
        finding=SceneDifference(
            (Scene(moved={"delta": 1e-2}), Scene(moved={"delta": 1e-6})),
            "At δ = 0.01 DPdisPCA keeps {0}, at δ = 0.000001 it keeps {1}.",
        ),
        why="δ enters through a logarithm: a chance ten thousand times smaller takes noise little "
        "more than twice as large. It should be far below one over the number of people, and among "
        "few people that costs.",
        then="Move δ to 0.001: 1,797 people, one in a thousand. Would you sign that?",
    ),
    "skewed-sites": Story(
        title="Hospitals that see different patients",
        settings={"split": "dirichlet", "concentration": 0.05, "protocols": ["dpdis", "local"]},
        question="Each of five hospitals used to see the same mix of digits. Now each sees hardly "
        "more than a few of the ten, at the same ε = 1. What happens to what DPdisPCA keeps?",
        choices=(
            Choice("It falls by more than 5 points", -5),
            Choice("It stays within 5 points", 5),
            Choice("It rises by more than 5 points"),
        ),
        finding=SceneDifference(
            (
                Scene(moved={"split": "equal"}),
                Scene(),
                Scene("local", {"split": "equal"}),
                Scene("local"),
            ),
            "With the same mix everywhere DPdisPCA keeps {0}, with skewed hospitals {1}. One "
            "hospital alone goes from {2} to {3}.",
        ),
        why="However people are dealt out, all hospitals together hold the same people, and their "
        "matrices add up to the same one. Who works alone learns from their own patients only.",
        then="Lower R to 3: what if each hospital may send only few directions?",
    ),
    "preparation": Story(
        title="What a private preparation costs",
        settings={"preparation": "sphere", "protocols": ["dpdis", "full"]},
        question="The published preparation centres and scales with everybody's rows, and no "
        "promise covers that. Pay for the centre out of the same ε = 1 and bring every row to "
        "length 1 instead (sphere). What happens to what DPdisPCA keeps?",
        choices=(
            Choice("It falls by more than 5 points: privacy costs", -5),
            Choice("It stays within 5 points", 5),
            Choice("It rises by more than 5 points"),
        ),
        finding=SceneDifference(
            (
                Scene(moved={"preparation": "published"}),
                Scene(moved={"preparation": "sphere"}),
                Scene(moved={"preparation": "bounded"}),
            ),
            "As published {0} is kept and the preparation is not private. On the sphere {1}, and "
            "by rows clipped to a public bound {2}, each with everything private.",
        ),
        why="Noise is made for the longest row there may be. Published scaling leaves most rows "
        "shorter than that and a public bound leaves them shorter still: their signal drowns in "
        "noise made for others. On the sphere all rows are as long as the noise expects.",
        then="Choose *bounded* under Advanced, then *published*: what does the card promise now?",
    ),
    "r-too-small": Story(
        title="R too small",
        settings={"epsilon": 5.0, "intermediate": 3, "protocols": ["dpdis", "full"]},
        question="Ten components are wanted, and ε = 5 is generous. Each of five sites sends only "
        "its three strongest directions instead of twenty. What does that do to DPdisPCA?",
        choices=(
            Choice("It loses more than 25 points", -25),
            Choice("It loses 5 to 25 points", -5),
            Choice("It loses less than 5 points: five times three is fifteen"),
        ),
        finding=SceneDifference(
            (Scene(moved={"intermediate": 20}), Scene(moved={"intermediate": 3})),
            "With twenty directions from each site {0} is kept, with three {1}.",
        ),
        why="Sites that see alike send the same three directions, and nobody sends the others.",
        then="Raise R to 10 and to 20. And once more with skewed sites, under Advanced?",
    ),
    "broken-promise": Story(
        title="The promise that breaks",
        settings={
            "epsilon": 10.0, "calibration": "published", "noise": "triangle",
            "truncation": "svd", "protocols": ["dpdis", "full"],
        },
        question="The published formula for the noise is asked for ε = 10. Which ε does the noise "
        "that it draws really keep?",
        choices=(
            Choice("10 or less: a formula in print keeps its word", 10.001),
            Choice("Between 10 and 15", 15),
            Choice("More than 15"),
        ),
        finding=ExactEpsilon(
            "What holds is ε = {exact}. Odds about a person may move by a factor of {odds}, where "
            "{asked_odds} was asked for.",
        ),
        why="It takes 1/n for what one person can move, where √2/n is right, and a bound that was "
        "proven up to ε = 1 alone. The two hide each other up to about ε = 2; above, the noise is "
        "too small.",
        then="Let ε fall and read *asked* and *exact*: where do they cross? Then take *analytic*.",
    ),
    "free-energy": Story(
        title="Free energy",
        settings={"epsilon": 1.0, "protocols": ["dpdis"]},
        question="Triangle noise and svd truncation are the published choices. Isometric noise and "
        "psd truncation keep exactly the same ε = 1. How much more do they let DPdisPCA keep?",
        choices=(
            Choice("Less than 2 points: the same promise costs the same", 2),
            Choice("2 to 8 points more", 8),
            Choice("More than 8 points more"),
        ),
        finding=SceneDifference(
            (Scene(moved={"noise": "triangle", "truncation": "svd"}), Scene()),
            "Triangle and svd keep {0} at an exact ε of {holds[0]}; isometric and psd keep {1} at "
            "an exact ε of {holds[1]}.",
        ),
        why="Isometric noise has half the variance off the diagonal, where every entry stands "
        "twice; psd cuts strongly negative noise that svd takes for signal. Both only work on what "
        "is private already, which costs nobody anything.",
        then="Under Advanced change one of the two alone: which of them gives more?",
    ),
    "ten-looks": Story(
        title="Ten looks",
        settings={"protocols": ["dpdis"], "repetitions": 10},
        question="One release at ε = 1 is shown. Nine more follow, each with fresh noise, so that "
        "one can see how much is luck. What have the ten cost each person?",
        choices=(
            Choice("ε below 1.5: the same people, the same question", 1.5),
            Choice("ε from 1.5 to 8", 8),
            Choice("ε above 8: ten times one"),
        ),
        finding=SpentOnAll(
            "{n} releases at ε = {one} cost ε = {total} at δ = {delta}, if there was a plan for "
            "exactly these. Who goes on looking until it suits pays ε = {stopping}.",
        ),
        why="Every look at fresh noise is paid for, because an average over looks has less noise. "
        "Gaussian budgets add like squares: ten looks cost a little more than three times the "
        "noise's budget μ, and what that means in ε is worked out exactly.",
        then="The books of this session are open, with all stories you have heard in them.",
        ends_on="ledger",
    ),
}  # fmt: skip
STORIES = {
    name: replace(story, settings=_GROUND | dict(story.settings)) for name, story in _TOLD.items()
}
