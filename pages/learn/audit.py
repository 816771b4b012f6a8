"""Break it: attack a mechanism and see whether its guarantee holds."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

import streamlit as st

from dpcore.audit_cases.attack import (
    CONFIDENCE,
    CaseAttack,
    attackers,
    basis_of,
    cases_by_family,
    claim_of,
    slug_of,
    verdict,
)
from dpcore.figures.audit import (
    adversary_view_svg,
    bound_growth,
    gauge_svg,
    score_histogram,
)
from dpcore.figures.privacy import trade_off_plot
from dpcore.privacy import Adversary
from dpcore.privacy.audit import AuditCase
from pages import navigation
from pages.components.browser_parts import draw_svg
from pages.components.charts import is_dark, show_figure
from pages.components.notices import reserve_container, show_formulas
from pages.sidebar import Selection

CONTROLS = ()
_ATTACK, _PAUSED = "_attack", "_attack_paused"
_ADVERSARY = "audit_adversary"
_ADVERSARIES = {
    str(Adversary.OUTSIDER): "Outsider",
    str(Adversary.AGGREGATOR): "Aggregator",
    str(Adversary.SITE): "Participating site",
}
# The name of this family would reveal the result before the attack.
_FLAWED, _FLAWED_LABEL = "Flawed", "Published or shipped"
_TRIALS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
_CONFIDENCES = (0.9, 0.95, 0.99, 0.999, 0.9999)
# An attack is drawn in about this many frames, so that a quick one can be watched.
_N_FRAMES = 12
_SLICE_SECONDS = 0.4
_FRAME_SECONDS = 0.5


def show(selection: Selection) -> None:  # noqa: ARG001
    """Draw the attack and the choice of the mechanism."""
    result = reserve_container("audit_place")
    case = _choose_case()
    n_trials, confidence, seed = _choose_attack(case)
    with result:
        attack = _find_attack(case, n_trials, confidence, seed)
        is_running = not attack.finished and not st.session_state[_PAUSED]
        frame = st.fragment(_draw_frame, run_every=_FRAME_SECONDS if is_running else None)
        frame(attack, is_running)
    if attack.finished:
        with st.container(border=True):
            badge = ":green-badge[sound]" if case.is_sound else ":red-badge[flawed, for teaching]"
            st.markdown(f"{badge} {case.flaw and f'**The flaw.** {case.flaw}'}")
    navigation.link_to_next("audit")


# ---- choice of the attack


def _choose_case() -> AuditCase:
    families = cases_by_family()
    by_family, by_mechanism, by_adversary = st.columns(3)
    family = by_family.selectbox(
        "Family",
        list(families),
        format_func=lambda name: _FLAWED_LABEL if name == _FLAWED else name,
        key="audit_family",
        bind="query-params",
    )
    cases = families[family]
    mechanism = by_mechanism.selectbox(
        "Mechanism",
        list(cases),
        format_func=lambda key: cases[key].name,
        key=f"audit_{_address_of(family)}",
        bind="query-params",
    )
    by_name = attackers(mechanism)
    names = [str(who) for who in by_name]
    if st.session_state.get(_ADVERSARY, names[0]) not in names:
        st.session_state[_ADVERSARY] = names[0]
    chosen = by_adversary.selectbox(
        "Adversary",
        names,
        format_func=_ADVERSARIES.__getitem__,
        key=_ADVERSARY,
        bind="query-params",
        help="All adversaries know all rows but one. An outsider also sees the result, an "
        "aggregator each message, a participating site its own noise.",
    )
    return by_name[Adversary(chosen)]


def _address_of(family: str) -> str:
    return slug_of(family).replace("-", "_")


def _choose_attack(case: AuditCase) -> tuple[int, float, int]:
    claim, computation = st.expander("Claim and details").tabs(
        ["Claim, data sets and trials", "How this is computed"]
    )
    with computation:
        show_formulas("audit")
    with claim:
        st.markdown(f"**{case.name}** claims {claim_of(case)}, {basis_of(case)}.")
        st.markdown(f"**The two data sets.** {case.neighbours}")
        of_trials, of_confidence, of_seed = st.columns(3)
        n_trials = of_trials.select_slider(
            "Trials",
            _TRIALS,
            case.n_trials,
            format_func="{:,}".format,
            key=f"audit_trials_{_address_of(case.family)}",
            bind="query-params",
        )
        confidence = of_confidence.select_slider(
            "Confidence",
            _CONFIDENCES,
            CONFIDENCE,
            format_func=lambda share: f"{100 * share:g} %",
            key="audit_confidence",
            bind="query-params",
        )
        seed = of_seed.number_input("Seed", 0, value=0, key="audit_seed", bind="query-params")
        st.code(
            f"python -m dpcore audit --mechanism {slug_of(case.name)} --adversary {case.adversary} "
            f"--trials {n_trials} --confidence {confidence:g} --seed {seed}",
            language="bash",
            wrap_lines=True,
        )
    return n_trials, confidence, seed


def _find_attack(case: AuditCase, n_trials: int, confidence: float, seed: int) -> CaseAttack:
    settings = (case.name, case.adversary, n_trials, confidence, seed)
    present: tuple[object, CaseAttack] | None = st.session_state.get(_ATTACK)
    if present is None or present[0] != settings:
        attack = CaseAttack(case, n_trials=n_trials, confidence=confidence, seed=seed)
        present = st.session_state[_ATTACK] = (settings, attack)
        st.session_state[_PAUSED] = True
    return present[1]


# ---- attack


def _draw_frame(attack: CaseAttack, was_running: bool) -> None:
    if was_running and not st.session_state[_PAUSED]:
        _advance(attack)
    if attack.n_done:
        _draw_result(attack)
    else:
        _draw_claim(attack)
    if attack.n_done and not attack.finished:
        progress, stop = st.columns([4, 1], vertical_alignment="center")
        progress.progress(
            attack.n_done / attack.n_trials, f"{attack.n_done:,} of {attack.n_trials:,} trials"
        )
        is_paused = st.session_state[_PAUSED]
        if stop.button("Continue" if is_paused else "Stop", key="audit_stop"):
            st.session_state[_PAUSED] = not is_paused
            st.rerun()
    elif was_running:
        # The page is drawn again, because a fragment keeps its interval.
        st.rerun()


def _advance(attack: CaseAttack) -> None:
    stop = time.monotonic() + _SLICE_SECONDS
    target = attack.n_done + attack.n_trials / _N_FRAMES
    while not attack.finished:
        attack.advance()
        if attack.n_done >= target or time.monotonic() > stop:
            return


def _draw_claim(attack: CaseAttack) -> None:
    case = attack.case
    subject = "A published formula" if case.family == _FLAWED else f"“{case.name}”"
    with _draw_needle(0.0, case.epsilon):
        st.title(f"{subject} claims {claim_of(case)}. Can you break it?")
        st.markdown(
            f"The attack draws {attack.n_trials:,} results with her record and "
            f"{attack.n_trials:,} without, and tries to tell them apart."
        )
        if st.button("Attack", type="primary", key="audit_attack"):
            st.session_state[_PAUSED] = False
            st.rerun()
    # Low enough that the choice of the mechanism is on the first screen.
    view, rows = st.columns([1, 2], gap="large")
    with view:
        _draw_view(case)
    rows.markdown(f"**The two data sets.** {case.neighbours}")


def _draw_needle(bound: float, claim: float) -> AbstractContextManager[object]:
    """Draw the needle and return the container of the words next to it."""
    picture, words = st.columns([2, 3], gap="large", vertical_alignment="center")
    with picture:
        draw_svg(gauge_svg(bound, claim, dark=is_dark()), key="audit_needle")
    return words


def _draw_result(attack: CaseAttack) -> None:
    growth = attack.growth()
    if not growth:
        with _draw_needle(0.0, attack.case.epsilon):
            st.title("Learning what to look at …")
        return
    last, case = growth[-1], attack.case
    sentence = _finding(attack)
    with _draw_needle(last.epsilon_exact, case.epsilon):
        st.title(sentence)
        st.markdown(f"We are {100 * attack.confidence:g}\u00a0% sure.")
    view, growing = st.columns([2, 3], gap="large")
    with view:
        _draw_view(case)
    with growing:
        rows = [
            {
                "trials": point.n_trials,
                "epsilon_exact": point.epsilon_exact,
                "epsilon": point.epsilon,
            }
            for point in growth
        ]
        show_figure(
            bound_growth(rows, case.epsilon, attack.n_trials, dark=is_dark()),
            key="audit_growth",
            alt=sentence,
        )
    if attack.finished:
        _draw_scores(attack)


def _draw_view(case: AuditCase) -> None:
    """Draw the view of the adversary."""
    st.markdown(f"**The attacker sees** {case.sees}")
    sight, holder = (str(case.adversary), case.sees), _trusted_holder(case)
    view_svg = adversary_view_svg(*sight, trusted_holder=holder, dark=is_dark())
    draw_svg(view_svg, key="audit_view")


def _draw_scores(attack: CaseAttack) -> None:
    threshold = attack.threshold()
    wrong, missed = attack.errors_at(threshold)
    scores, errors = st.columns(2, gap="large")
    with scores:
        show_figure(
            score_histogram(attack.histogram(), threshold, dark=is_dark()),
            key="audit_scores",
            alt="Scores for both data sets; the best threshold has "
            f"{100 * wrong:.0f}\u00a0% false alarms and misses {100 * missed:.0f}\u00a0%.",
        )
    with errors:
        labels = {
            "blind": "blind guess",
            "approximate": "least that the claim allows",
            "gaussian": "measured",
        }
        show_figure(
            trade_off_plot(attack.error_rates(), labels, (wrong, missed), dark=is_dark()),
            key="audit_errors",
            alt="Missed against false alarms for each threshold, and the least that the claim "
            "allows.",
        )


def _finding(attack: CaseAttack) -> str:
    last, case = attack.growth()[-1], attack.case
    bound = f"ε\u00a0≥\u00a0{last.epsilon_exact:.3g}"
    if not attack.finished:
        return f"So far the attack proves {bound} of the claimed {case.epsilon:.3g}"
    if last.proves_breach:
        return f"Broken: the attack proves {bound}, where {claim_of(case)} was claimed"
    if case.is_sound and not last.breaks_claim:
        return f"{attack.n_trials:,} attacks, and the guarantee held"
    return verdict(last)


def _trusted_holder(case: AuditCase) -> str:
    """Return the party that is trusted with the rows; empty if the aggregator is an adversary."""
    if Adversary.AGGREGATOR in attackers(slug_of(case.name)):
        return ""
    return "first site" if case.covers.endswith(".local") else "trusted holder"
