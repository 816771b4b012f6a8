"""What the pages under Learn ask."""

from __future__ import annotations

from dpcore.experiments.audit.attack import CONFIDENCE
from dpcore.experiments.engine.control_ranges import EPSILONS, LARGEST_SEED, MOST_SITES
from dpcore.experiments.teaching.adversary_test import REACH
from dpcore.experiments.teaching.tutorials import TUTORIALS
from pages.parameters.kinds import Number, OneOf, Parameter
from pages.parameters.words import thousands
from pages.sidebar.selection import plain

LEARN: dict[str, Parameter] = {
    "promise_calibration": OneOf(
        page="promise",
        control="segmented_control",
        default="analytic",
        options=("analytic", "classic", "published"),
    ),
    "promise_threshold": Number(
        page="promise",
        control="slider",
        low=-REACH,
        high=1000.0,
        step=0.1,
        whole=False,
        offered="a number its slider reaches",
    ),
    "promise_prior": Number(page="promise", control="slider", low=1, high=99, default=10),
    "promise_angle": Number(page="promise", control="slider", low=-90, high=90, default=70, step=5),
    "step_site": Number(
        page="algorithm",
        control="number_input",
        low=1,
        high=MOST_SITES,
        default=1,
        offered="a whole number from 1 to the number of sites",
    ),
    "sampler_sweeps": OneOf(
        page="sampler",
        control="select_slider",
        default=128,
        options=(8, 16, 32, 64, 128, 256, 512, 1024, 2048),
        label=thousands,
    ),
    "sampler_chains": OneOf(
        page="sampler", control="segmented_control", default=4, options=(4, 8, 16)
    ),
    "tutorial": OneOf(
        page="tutorials",
        control="pills",
        default="mean",
        options=tuple(TUTORIALS),
        label=lambda name: TUTORIALS[name].title,
    ),
    "tutorial_epsilon": OneOf(
        page="tutorials",
        control="select_slider",
        default=1.0,
        options=tuple(value for value in EPSILONS if 0.01 <= value <= 20),
        label=plain,
    ),
    "audit_confidence": OneOf(
        page="audit",
        control="select_slider",
        default=CONFIDENCE,
        options=(0.9, 0.95, 0.99, 0.999, 0.9999),
        label=lambda share: f"{100 * share:g} %",
    ),
    "audit_seed": Number(page="audit", control="number_input", low=0, high=LARGEST_SEED, default=0),
}
