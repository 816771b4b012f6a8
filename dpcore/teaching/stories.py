"""Stories: a question about private PCA, a few answers, and the runs that decide between them.

No answer is stored. The true answer is the one whose range contains the number that is computed
from the rows of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev

from scipy.stats import t as student_t

from dpcore.experiments.engine.charge_keys import compute_charges
from dpcore.experiments.engine.spec import Row
from dpcore.experiments.engine.summaries import percent
from dpcore.experiments.pca import RunSpec
from dpcore.privacy import Accountant
from dpcore.privacy.guarantee_in_words import say_delta, say_number

RowsOf = Callable[[RunSpec], Sequence[Row]]
"""Returns the rows of a specification."""
RANDOM = "random"
"""Replaces a protocol in a `Scene`: random directions. Stories use no prior knowledge."""


@dataclass(frozen=True)
class Scene:
    """One setting of a story.

    label: Name of the setting in the figure.
    protocol: Key of the protocol, or `RANDOM`.
    changes: Fields of the story's specification that have other values here.
    """

    label: str
    protocol: str = "dpdis"
    changes: Mapping[str, object] = field(default_factory=dict)

    def spec(self, story: RunSpec) -> RunSpec:
        """Return the specification of the runs of this scene only."""
        protocols = ("dpdis",) if self.protocol == RANDOM else (self.protocol,)
        values: dict[str, object] = dict(self.changes) | {"protocols": protocols}
        return replace(story, **values)  # type: ignore[arg-type]

    def captured(self, rows: Sequence[Row]) -> tuple[float, ...]:
        """Return the captured energy of each run, or that of random directions."""
        name = "random_ratio" if self.protocol == RANDOM else "energy_ratio"
        return tuple(row[name] for row in rows)


@dataclass(frozen=True)
class Outcome:
    """One bar of a story's figure.

    label: Name of the setting.
    values: Captured energy of each run, or one ε; empty before the visitor's guess.
    protocol: Key of the protocol, `RANDOM`, or empty for an ε.
    spec: Specification of the runs; None for an ε.
    """

    label: str
    values: tuple[float, ...]
    protocol: str = ""
    spec: RunSpec | None = None

    @property
    def text(self) -> str:
        """The mean as text, rounded as in the sentences of the story."""
        mean = fmean(self.values)
        return say_number(mean) if self.spec is None else percent(mean)


@dataclass(frozen=True)
class Finding:
    """Result that decides a story.

    values: The deciding number of each run; one value if it is exact.
    number: The number as text.
    sentence: The finding in one sentence.
    outcomes: Bars of the figure.
    """

    values: tuple[float, ...]
    number: str
    sentence: str
    outcomes: tuple[Outcome, ...] = ()

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return fmean(self.values)

    @property
    def interval(self) -> tuple[float, float]:
        """Interval that contains the expectation in about 95 of 100 cases (Student's t)."""
        if len(self.values) == 1:
            return self.mean, self.mean
        n_runs = len(self.values)
        error = float(student_t.ppf(0.975, n_runs - 1)) * stdev(self.values) / math.sqrt(n_runs)
        return self.mean - error, self.mean + error


@dataclass(frozen=True)
class EnergyDifference:
    """Difference of captured energy between the second scene and the first, in percentage points.

    scenes: Two scenes that are compared, and others that the figure shows.
    template: Sentence with {0}, {1}, … for the captured energies of the scenes and {exact[0]}, …
        for their exact ε.
    """

    scenes: tuple[Scene, ...]
    template: str
    axis: str = "captured energy"

    def before(self, story: RunSpec, rows_of: RowsOf) -> tuple[Outcome, ...]:
        """Return the figure before the guess: the first scene is known, the others are not."""
        first, *others = self.scenes
        return (
            self._outcome(first, story, rows_of),
            *(Outcome(scene.label, ()) for scene in others),
        )

    def after(self, story: RunSpec, rows_of: RowsOf) -> Finding:
        """Return the finding."""
        outcomes = tuple(self._outcome(scene, story, rows_of) for scene in self.scenes)
        means = [fmean(outcome.values) for outcome in outcomes]
        pairs = zip(outcomes[0].values, outcomes[1].values, strict=True)
        # Rounded before the difference is taken, so that the printed shares differ by this number.
        points = round(100 * means[1]) - round(100 * means[0])
        exact = [
            say_number(
                0.0 if outcome.protocol == RANDOM else rows_of(outcome.spec)[0]["exact_epsilon"]
            )
            for outcome in outcomes
            if outcome.spec is not None
        ]
        sign = "" if not points else "+" if points > 0 else "−"
        unit = "point" if abs(points) == 1 else "points"
        return Finding(
            tuple(100 * (second - first) for first, second in pairs),
            f"{sign}{abs(points)} {unit}",
            self.template.format(*map(percent, means), exact=exact),
            outcomes,
        )

    @staticmethod
    def _outcome(scene: Scene, story: RunSpec, rows_of: RowsOf) -> Outcome:
        spec = scene.spec(story)
        return Outcome(scene.label, scene.captured(rows_of(spec)), scene.protocol, spec)


@dataclass(frozen=True)
class ExactEpsilon:
    """Exact ε of a published formula, compared with the requested ε.

    template: Sentence with {exact}, {requested_odds} and {odds}.
    """

    template: str
    axis: str = "ε"

    def before(self, story: RunSpec, rows_of: RowsOf) -> tuple[Outcome, ...]:  # noqa: ARG002
        """Return the figure before the guess: the requested ε is known."""
        return Outcome("requested", (story.epsilon,)), Outcome("exact", ())

    def after(self, story: RunSpec, rows_of: RowsOf) -> Finding:
        """Return the finding."""
        row = rows_of(replace(story, protocols=("dpdis",)))[0]
        exact = row["exact_epsilon"]
        requested, odds = (_two_digits(math.exp(epsilon)) for epsilon in (row["epsilon"], exact))
        return Finding(
            (exact,),
            f"ε = {say_number(exact)}",
            self.template.format(exact=say_number(exact), requested_odds=requested, odds=odds),
            (Outcome("requested", (story.epsilon,)), Outcome("exact", (exact,))),
        )


@dataclass(frozen=True)
class TotalEpsilon:
    """Total ε of all runs of a specification for one person.

    template: Sentence with {n}, {one}, {total}, {delta} and {adaptive}.
    """

    template: str
    axis: str = "ε"

    def before(self, story: RunSpec, rows_of: RowsOf) -> tuple[Outcome, ...]:  # noqa: ARG002
        """Return the figure before the guess: the cost of one run is known."""
        return Outcome("1 release", (story.epsilon,)), Outcome(f"{story.repetitions} releases", ())

    def after(self, story: RunSpec, rows_of: RowsOf) -> Finding:
        """Return the finding."""
        rows = rows_of(replace(story, protocols=("dpdis",)))
        accountant = Accountant(rows[0]["dataset"])
        accountant.charge(*compute_charges(rows))
        delta, epsilon_of_one = rows[0]["delta"], rows[0]["exact_epsilon"]
        total, adaptive = accountant.total(delta), accountant.total(delta, stopping=True)
        n_releases = accountant.n_releases
        sentence = self.template.format(
            n=n_releases, one=say_number(epsilon_of_one), total=say_number(total),
            delta=say_delta(delta), adaptive=say_number(adaptive),
        )  # fmt: skip
        outcomes = (
            Outcome("1 release", (epsilon_of_one,)),
            Outcome(f"{n_releases} releases", (total,)),
            Outcome("chosen adaptively", (adaptive,)),
        )
        return Finding((total,), f"ε = {say_number(total)}", sentence, outcomes)


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}"


@dataclass(frozen=True)
class Choice:
    """Answer that is true for numbers from the end of the previous choice up to `below`."""

    text: str
    below: float = math.inf


@dataclass(frozen=True)
class Story:
    """A question with its answers.

    settings: Fields of the specification that are not at their defaults.
    choices: Answers in ascending order of their ranges; the last range has no end.
    finding: Computes the number that decides.
    why: Explanation that does not depend on the number.
    experiment: Suggestion for the start page.
    next_page: Name of the page to visit next; empty for the next story.
    """

    title: str
    settings: Mapping[str, object]
    question: str
    choices: tuple[Choice, ...]
    finding: EnergyDifference | ExactEpsilon | TotalEpsilon
    why: str
    experiment: str
    next_page: str = ""

    def spec(self, seed: int = 0) -> RunSpec:
        """Return the specification at the story's settings."""
        values: dict[str, object] = dict(_SETTINGS) | dict(self.settings) | {"seed": seed}
        return RunSpec(**values)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Verdict:
    """Judgement of a finding.

    true: Number of the choice that contains the mean.
    possible: Numbers of the choices that the runs cannot rule out.
    n_agreeing: Number of runs whose own value is in the true choice.
    """

    finding: Finding
    true: int
    possible: tuple[int, ...]
    n_agreeing: int

    @property
    def is_close(self) -> bool:
        """True if the runs cannot rule out another choice."""
        return len(self.possible) > 1


def judge(story: Story, finding: Finding) -> Verdict:
    """Return the verdict that a finding gives."""
    true = _choice_of(story, finding.mean)
    first, last = (_choice_of(story, end) for end in finding.interval)
    agreeing = sum(_choice_of(story, value) == true for value in finding.values)
    return Verdict(finding, true, tuple(range(first, last + 1)), agreeing)


def _choice_of(story: Story, value: float) -> int:
    return next(number for number, choice in enumerate(story.choices) if value < choice.below)


# The ranges of the choices were chosen for these data, without denoising.
_SETTINGS: dict[str, object] = {
    "dataset": "mnist-small",
    "delta": 1e-2,
    "denoise": "none",
    "components": 10,
    "intermediate_dim": 20,
    "repetitions": 5,
}
STORIES: dict[str, Story] = {
    "people": Story(
        title="More people",
        settings={"samples": 1000, "protocols": ("dpdis", "pooled")},
        question="Five hospitals with 200 people each release at ε = 1. Then each has 800 people, "
        "at the same ε. How much more energy does DPdisPCA capture?",
        choices=(
            Choice("Less than 10 points more", 10),
            Choice("10 to 30 points more", 30),
            Choice("More than 30 points more"),
        ),
        finding=EnergyDifference(
            (Scene("200 people each"), Scene("800 people each", changes={"samples": 4000})),
            "With 200 people per hospital DPdisPCA captures {0}, with 800 it captures {1}.",
        ),
        why="The noise must hide one person. Among four times as many people, one person changes "
        "the result a fourth as much. A fourth of the noise is then enough.",
        experiment="Raise *Samples per site* to “all”. How few people are too few?",
    ),
    "one-against-twenty": Story(
        title="One hospital against twenty",
        settings={
            "sites": 20, "epsilon": 1.0, "protocols": ("dpdis", "local"),
        },
        question="One hospital uses only its own 500 people at ε = 1. Twenty such hospitals "
        "share private messages at the same ε. How much more do the twenty capture?",
        choices=(
            Choice("Less than 5 points more", 5),
            Choice("5 to 15 points more", 15),
            Choice("More than 15 points more"),
        ),
        finding=EnergyDifference(
            (
                Scene("one hospital", "local"),
                Scene("twenty hospitals"),
                Scene("random directions", RANDOM),
            ),
            "One hospital captures {0}, twenty together capture {1}, random directions {2}.",
        ),
        why="Each hospital adds its own noise. Twenty independent noises largely cancel in the "
        "sum. The common structure of the data does not cancel.",
        experiment="Give each hospital 50 people, then “all”. When does a single hospital "
        "exceed random directions?",
    ),
    "small-epsilon": Story(
        title="ε too small to see anything",
        settings={"epsilon": 0.005, "protocols": ("dpdis", "pooled", "local")},
        question="Five sites with 10,000 people in total use the strict guarantee ε = 0.005. How "
        "much more than random directions does DPdisPCA capture?",
        choices=(
            Choice("Less than 20 points more", 20),
            Choice("20 to 40 points more", 40),
            Choice("More than 40 points more"),
        ),
        finding=EnergyDifference(
            (
                Scene("random directions", RANDOM),
                Scene("five sites"),
                Scene("one trusted holder", "pooled"),
            ),
            "Random directions capture {0}, DPdisPCA {1}, one trusted holder of all rows {2}.",
        ),
        why="The noise is larger than the common structure of the pictures. The components are "
        "then mostly noise: their cosines with the exact ones are near 0.",
        experiment="Raise ε step by step. When does the first component become visible?",
    ),
    "delta": Story(
        title="The price of δ",
        settings={"delta": 1e-6, "protocols": ("dpdis", "full")},
        question="δ = 0.01 permits a failure of the guarantee once in a hundred. Request one in a "
        "million, at the same ε = 1. What happens to DPdisPCA?",
        choices=(
            Choice("It loses more than 15 points", -15),
            Choice("It loses 5 to 15 points", -5),
            Choice("It loses less than 5 points, or nothing"),
        ),
        finding=EnergyDifference(
            (
                Scene("δ = 0.01", changes={"delta": 1e-2}),
                Scene("δ = 0.000001", changes={"delta": 1e-6}),
            ),
            "At δ = 0.01 DPdisPCA captures {0}, at δ = 0.000001 it captures {1}.",
        ),
        why="The noise grows only with the logarithm of 1/δ. A δ ten thousand times smaller needs "
        "about twice the noise. Among few people even that costs energy.",
        experiment="Set δ to 0.001, for 10,000 people. Would you accept that?",
    ),
    "skewed-sites": Story(
        title="Hospitals with different patients",
        settings={"split": "dirichlet", "concentration": 0.05, "protocols": ("dpdis", "local")},
        question="Five hospitals used to see the same mix of digits. Now each sees only a few of "
        "the ten, at the same ε = 1. What happens to DPdisPCA?",
        choices=(
            Choice("It loses more than 5 points", -5),
            Choice("It stays within 5 points", 5),
            Choice("It gains more than 5 points"),
        ),
        finding=EnergyDifference(
            (
                Scene("same mix", changes={"split": "equal"}),
                Scene("different patients"),
                Scene("one hospital, same mix", "local", {"split": "equal"}),
                Scene("one hospital, few digits", "local"),
            ),
            "With the same mix DPdisPCA captures {0}, with different patients {1}. A single "
            "hospital changes from {2} to {3}.",
        ),
        why="All hospitals together still hold the same people, so their matrices have the same "
        "sum. A single hospital learns only from its own patients.",
        experiment="Lower R to 3. What if each hospital may send only a few directions?",
    ),
    "preparation": Story(
        title="The price of private preparation",
        settings={"preparation": "sphere", "protocols": ("dpdis", "full")},
        question="The published preparation reads all rows without noise. Pay for the centre out "
        "of ε = 1 instead, and scale each row to length 1. What happens to DPdisPCA?",
        choices=(
            Choice("It loses more than 5 points", -5),
            Choice("It stays within 5 points", 5),
            Choice("It gains more than 5 points"),
        ),
        finding=EnergyDifference(
            (
                Scene("published", changes={"preparation": "published"}),
                Scene("sphere", changes={"preparation": "sphere"}),
                Scene("bounded", changes={"preparation": "bounded"}),
            ),
            "The published preparation gives {0} and is not private. The sphere gives {1} and a "
            "public bound {2}; both are private.",
        ),
        why="The noise fits the longest row that is allowed. Published scaling and public bounds "
        "leave most rows shorter than that. On the sphere every row has the full length.",
        experiment="Under *Advanced* compare *bounded* with *published*. What does the guarantee "
        "say?",
    ),
    "r-too-small": Story(
        title="R too small",
        settings={"epsilon": 5.0, "intermediate_dim": 3, "protocols": ("dpdis", "full")},
        question="Ten components are wanted at ε = 5. Each of five sites sends only its three "
        "strongest directions instead of twenty. What happens to DPdisPCA?",
        choices=(
            Choice("It loses more than 25 points", -25),
            Choice("It loses 5 to 25 points", -5),
            Choice("It loses less than 5 points"),
        ),
        finding=EnergyDifference(
            (
                Scene("R = 20", changes={"intermediate_dim": 20}),
                Scene("R = 3", changes={"intermediate_dim": 3}),
            ),
            "With twenty directions per site DPdisPCA captures {0}, with three {1}.",
        ),
        why="Sites with similar data send the same three directions. No site sends the others.",
        experiment="Raise R to 10 and to 20. Then make the sites different, under *Advanced*.",
    ),
    "broken-promise": Story(
        title="A guarantee that does not hold",
        settings={
            "epsilon": 10.0, "calibration": "published", "noise": "triangle",
            "truncation": "svd", "protocols": ("dpdis", "full"),
        },
        question="A published formula for the noise is used with ε = 10. Which ε really holds?",
        choices=(
            Choice("10 or less", 10.001),
            Choice("Between 10 and 15", 15),
            Choice("More than 15"),
        ),
        finding=ExactEpsilon(
            "ε = {exact} holds. The odds about a person may change by a factor of {odds}; "
            "{requested_odds} was requested.",
        ),
        why="The formula uses the sensitivity 1/n, where √2/n is correct. Its bound was proven for "
        "ε up to 1 only. Above about ε = 2 the noise is too small.",
        experiment="Lower ε and compare requested with exact. Then choose the calibration "
        "*analytic*.",
    ),
    "free-energy": Story(
        title="More energy at no cost",
        settings={"epsilon": 0.2, "protocols": ("dpdis",)},
        question="The paper uses triangle noise and SVD truncation. Isometric noise and PSD "
        "truncation have exactly the same ε = 0.2. How much more do they capture?",
        choices=(
            Choice("Less than 2 points more", 2),
            Choice("2 to 8 points more", 8),
            Choice("More than 8 points more"),
        ),
        finding=EnergyDifference(
            (
                Scene("triangle, SVD", changes={"noise": "triangle", "truncation": "svd"}),
                Scene("isometric, PSD"),
            ),
            "Triangle and SVD capture {0} at an exact ε of {exact[0]}. Isometric and PSD capture "
            "{1} at an exact ε of {exact[1]}.",
        ),
        why="Isometric noise has half the variance off the diagonal, at the same ε. PSD truncation "
        "drops strongly negative noise that SVD mistakes for signal.",
        experiment="Change only one of the two under *Advanced*. Which one gains more?",
    ),
    "ten-looks": Story(
        title="Ten looks",
        settings={"protocols": ("dpdis",), "repetitions": 10},
        question="One release at ε = 1 is shown. Nine more follow, each with new noise. What do "
        "the ten cost each person?",
        choices=(
            Choice("ε below 1.5", 1.5),
            Choice("ε from 1.5 to 8", 8),
            Choice("ε above 8"),
        ),
        finding=TotalEpsilon(
            "{n} releases at ε = {one} cost ε = {total} at δ = {delta}. If you keep looking until "
            "you like the result, they cost {adaptive}.",
        ),
        why="The average of several results has less noise, so each result is charged. The squares "
        "of Gaussian budgets add: ten looks cost about three times the budget of one.",
        experiment="See what your visit would have cost.",
        next_page="ledger",
    ),
}  # fmt: skip
