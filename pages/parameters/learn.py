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
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text, of_page
from pages.parameters.words import ON_A_BUTTON, plain, thousands

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
        control="segmented_control",
        title="Noise calibrated by",
        help="Analytic is the least noise that keeps the promise. Classic is proven up to ε = 1. "
        "Published is the formula of the DPdisPCA paper.",
        default="analytic",
        options=("analytic", "classic", "published"),
    ),
    "promise_threshold": Number(
        control="slider",
        title="Threshold, in units of the noise",
        help="Above it the adversary says the data held your row.",
        low=-REACH,
        high=1000.0,
        step=0.1,
        whole=False,
        words="a number its slider reaches",
    ),
    "promise_prior": Number(
        control="slider",
        title="Belief before that it is you, in percent",
        low=1,
        high=99,
        default=10,
    ),
    "promise_angle": Number(
        control="slider",
        title="Where one person stands, in degrees",
        help="They started at 0°, at the right.",
        low=-90,
        high=90,
        default=70,
        step=5,
    ),
}
ALGORITHM = {
    "step": OneOf(
        control="segmented_control",
        title="Step",
        default=STEPS[0],
        options=STEPS,
        label=STEP_TITLES.__getitem__,
    ),
    "step_site": Number(
        control="number_input",
        title="Site in view",
        low=1,
        high=MOST_SITES,
        default=1,
        words="a whole number from 1 to the number of sites",
    ),
}
SAMPLER = {
    "sampler_sweeps": OneOf(
        control="select_slider",
        title="Sweeps",
        default=128,
        options=(8, 16, 32, 64, 128, 256, 512, 1024, 2048),
        label=thousands,
    ),
    "sampler_chains": OneOf(
        control="segmented_control", title="Chains", default=4, options=(4, 8, 16)
    ),
}
TUTORIAL = {
    "tutorial": OneOf(
        control="pills",
        title="Tutorial",
        default="mean",
        options=tuple(TUTORIALS),
        label=lambda name: TUTORIALS[name].title,
    ),
    "tutorial_epsilon": OneOf(
        control="select_slider",
        title="ε in the code",
        default=1.0,
        options=tuple(value for value in EPSILONS if 0.01 <= value <= 20),
        label=plain,
    ),
}
AUDIT = {
    "audit_confidence": OneOf(
        control="select_slider",
        title="Confidence",
        default=CONFIDENCE,
        options=(0.9, 0.95, 0.99, 0.999, 0.9999),
        label=lambda share: f"{100 * share:g} %",
    ),
    "audit_seed": Number(control="number_input", title="Seed", low=0, high=LARGEST_SEED, default=0),
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
            control="pills",
            title="Family",
            help="Flawed mechanisms were published or shipped, and are kept for teaching: nothing "
            "else in the lab can use them. Sound ones claim what they hold, and are attacked as "
            "they are released.",
            default=next(iter(families)),
            options=tuple(families),
        ),
        "audit_adversary": OneOf(
            control="pills",
            title="Adversary",
            help="Everybody here knows all rows but one. They differ in what else they see: an "
            "outsider has the result, an aggregator every message, a site that takes part its own "
            "noise besides.",
            options=tuple(map(str, ON_A_BUTTON)),
            label=ON_A_BUTTON.__getitem__,
            words="an adversary who attacks the mechanism",
        ),
    }
    for family, cases in families.items():
        found[f"audit_{key_of(family)}"] = OneOf(
            control="selectbox",
            title="Mechanism",
            default=next(iter(cases)),
            options=tuple(cases),
            label={key: case.name for key, case in cases.items()}.__getitem__,
            words="a mechanism of the list",
        )
        found[f"audit_trials_{key_of(family)}"] = OneOf(
            control="select_slider",
            title="Trials",
            options=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
            label=thousands,
        )
    return of_page("audit", found)


CLASSROOM: dict[str, Parameter] = of_page(
    "classroom",
    {
        "room": Text(
            control="text_input",
            title="Room code",
            help="Seven letters and digits, on the wall of the class.",
            default="",
            longest=16,
        ),
        "projector": Switch(title="Show the projector's view"),
    },
)
