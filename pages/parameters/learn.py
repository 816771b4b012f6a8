"""What the pages under Learn ask."""

from __future__ import annotations

from functools import cache

from dpcore.data.sites import MOST_SITES
from dpcore.experiments.audit.attack import CONFIDENCE, cases_by_family, slug_of
from dpcore.experiments.engine.control_ranges import EPSILONS, LARGEST_SEED
from dpcore.experiments.teaching.adversary_test import REACH
from dpcore.experiments.teaching.algorithm1_steps import STEPS
from dpcore.experiments.teaching.tutorials import TUTORIALS
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import Adversary
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text, of_page
from pages.parameters.words import plain, thousands

STEP_TITLES = {
    "moment": "Local moment",
    "noise": "Noise",
    "decomposition": "Decomposition",
    "truncation": "Truncation",
    "message": "Message",
    "average": "Average",
    "components": "Components",
}
PROMISE = {
    "promise_calibration": OneOf(
        "segmented_control",
        "Noise calibrated by",
        "analytic",
        ("analytic", "classic", "published"),
        help="Analytic is the least noise that keeps the promise. Classic is proven up to ε = 1. "
        "Published is the formula of the DPdisPCA paper.",
    ),
    "promise_threshold": Number(
        "slider",
        "Threshold, in units of the noise",
        help="Above it the adversary says the data held your row.",
        low=-REACH,
        high=1000.0,
        step=0.1,
        whole=False,
        words="a number its slider reaches",
    ),
    "promise_false_alarms": Number(
        "slider",
        "Of 100 people who are not in the data, the attacker wrongly accuses",
        5,
        low=1,
        high=50,
        help="An attacker who accuses more readily catches more people, and wrongs more.",
    ),
    "promise_prior": Number(
        "slider", "Belief before that it is you, in percent", 10, low=1, high=99
    ),
    "promise_angle": Number(
        "slider",
        "Where one person stands, in degrees",
        70,
        low=-90,
        high=90,
        step=2,
        help="She started at 0°, at the right.",
    ),
}
ALGORITHM = {
    "step": OneOf("segmented_control", "Step", STEPS[0], STEP_TITLES),
    "step_site": Number(
        "number_input",
        "Site in view",
        1,
        low=1,
        high=MOST_SITES,
        words="a whole number from 1 to the number of sites",
    ),
}
SAMPLER = {
    "sampler_sweeps": OneOf(
        "select_slider", "Sweeps", 128, (8, 16, 32, 64, 128, 256, 512, 1024, 2048), label=thousands
    ),
    "sampler_chains": OneOf("segmented_control", "Chains", 4, (4, 8, 16)),
}
TUTORIAL = {
    "tutorial": OneOf(
        "pills", "Tutorial", "mean", {name: each.title for name, each in TUTORIALS.items()}
    ),
    "tutorial_epsilon": OneOf(
        "select_slider",
        "ε in the code",
        1.0,
        tuple(value for value in EPSILONS if 0.01 <= value <= 20),
        label=plain,
    ),
}
AUDIT = {
    "audit_confidence": OneOf(
        "select_slider",
        "Confidence",
        CONFIDENCE,
        (0.9, 0.95, 0.99, 0.999, 0.9999),
        label=lambda share: f"{100 * share:g} %",
    ),
    "audit_seed": Number("number_input", "Seed", 0, low=0, high=LARGEST_SEED),
}
LEARN = (
    of_page("promise", PROMISE)
    | of_page("algorithm", ALGORITHM)
    | of_page("sampler", SAMPLER)
    | of_page("tutorials", TUTORIAL)
    | of_page("audit", AUDIT)
)


def key_of(family: str) -> str:
    """What the controls of a family of mechanisms are called after."""
    return slug_of(family).replace("-", "_")


def of_audit() -> dict[str, Parameter]:
    """What the audit asks of its mechanisms, which take a second to list."""
    return _of_attacked(tuple(PROTOCOLS))


@cache
def _of_attacked(_: tuple[str, ...]) -> dict[str, Parameter]:
    families = cases_by_family()
    found: dict[str, Parameter] = {
        "audit_family": OneOf(
            "pills",
            "Family",
            next(iter(families)),
            tuple(families),
            help="Flawed mechanisms were published or shipped, and are kept for teaching: nothing "
            "else in the lab can use them. Sound ones claim what they hold, and are attacked as "
            "they are released.",
        ),
        "audit_adversary": OneOf(
            "pills",
            "Adversary",
            # Short enough for three beside one another on a phone.
            options={
                str(Adversary.OUTSIDER): "Outsider",
                str(Adversary.AGGREGATOR): "Aggregator",
                str(Adversary.SITE): "Participating site",
            },
            help="Everybody here knows all rows but one. They differ in what else they see: an "
            "outsider has the result, an aggregator every message, a site that takes part its own "
            "noise besides.",
            words="an adversary who attacks the mechanism",
        ),
    }
    for family, cases in families.items():
        found[f"audit_{key_of(family)}"] = OneOf(
            "selectbox",
            "Mechanism",
            next(iter(cases)),
            {key: case.name for key, case in cases.items()},
            words="a mechanism of the list",
        )
        found[f"audit_trials_{key_of(family)}"] = OneOf(
            "select_slider",
            "Trials",
            options=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
            label=thousands,
        )
    return of_page("audit", found)


CLASSROOM: dict[str, Parameter] = of_page(
    "classroom",
    {
        "room": Text(
            "text_input",
            "Room code",
            "",
            help="Seven letters and digits, on the wall of the class.",
            longest=16,
        ),
        "projector": Switch("Show the projector's view"),
    },
)
