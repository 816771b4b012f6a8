"""Audit: attack a mechanism, and see whether it keeps its promise."""

from __future__ import annotations

import time

import streamlit as st

from dpcore.audit_cases.attack import (
    CaseAttack,
    attackers,
    basis_of,
    claim_of,
    nominally,
    slug_of,
    verdict,
)
from dpcore.figures.privacy import (
    adversary_view_svg,
    adversary_view_words,
    bound_growth,
    gauge_svg,
    score_histogram,
    trade_off_plot,
)
from dpcore.privacy import Adversary
from dpcore.privacy.audit import AuditCase
from pages.shell.page import page
from pages.shell.parameters import ask, key_of
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets.charts import chart, is_dark

# The audit on a page: who attacks, what they see, and an attack that runs while one looks.

# A quick attack is slowed to about this many frames, or there would be nothing to watch.
_FRAMES = 12
_SLICE_SECONDS = 0.4
# Charts take a browser longer to draw than the server to send.
_SECONDS_A_FRAME = 0.5
_ATTACK, _STOPPED = "_attack", "_attack_stopped"
_ADVERSARY = "audit_adversary"


def attacker(mechanism: str) -> AuditCase:
    """The case of the adversary that is chosen among those who attack this mechanism.

    Whoever was chosen for another mechanism and does not attack this one gives way to the first.
    """
    cases = attackers(mechanism)
    names = [str(each) for each in cases]
    gives_way = st.session_state.get(_ADVERSARY, names[0]) not in names
    if gives_way:
        st.session_state[_ADVERSARY] = names[0]
    chosen = ask(_ADVERSARY, options=names, default=None if gives_way else names[0])
    return cases[Adversary(chosen)]


def live(case: AuditCase, n_trials: int, confidence: float, seed: int) -> None:
    """Attack a mechanism, or go on with the attack; stopped and resumed by a button."""
    settings = (case.name, case.adversary, n_trials, confidence, seed)
    kept = st.session_state.get(_ATTACK)
    if kept is None or kept[0] != settings:
        attack = CaseAttack(case, n_trials=n_trials, confidence=confidence, seed=seed)
        kept = st.session_state[_ATTACK] = (settings, attack)
        st.session_state[_STOPPED] = True  # until the visitor attacks
    attack = kept[1]
    running = not attack.finished and not st.session_state[_STOPPED]
    st.fragment(_frame, run_every=_SECONDS_A_FRAME if running else None)(attack, running)


def _frame(attack: CaseAttack, was_running: bool) -> None:
    if was_running and not st.session_state[_STOPPED]:
        _advance(attack)
    if not attack.n_done:
        _promise_shown(attack)
    else:
        _shown(attack)
    if attack.n_done and not attack.finished:
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.progress(
            attack.n_done / attack.n_trials, f"{attack.n_done:,} of {attack.n_trials:,} trials"
        )
        stopped = st.session_state[_STOPPED]
        if right.button("Go on" if stopped else "Stop", key="audit_stop", width="stretch"):
            st.session_state[_STOPPED] = not stopped
            st.rerun()
    elif was_running:
        # The whole page once more, so that the fragment stops asking to be run again.
        st.rerun()


def _promise_shown(attack: CaseAttack) -> None:
    """What is promised, the needle at rest, and the button that begins the attack."""
    case = attack.case
    _, words = _needle(0.0, case.epsilon)
    words.markdown(f"## “{case.name}” promises {claim_of(case)}. Is it true?")
    words.markdown(
        f"The attack runs {attack.n_trials:,} results with her record and as many without, and "
        "tries to tell them apart. What it proves moves the needle."
    )
    if words.button("Attack", type="primary", key="audit_attack"):
        st.session_state[_STOPPED] = False
        st.rerun()


def _needle(found: float, claim: float) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The needle, and the place of the words beside it."""
    picture, words = st.columns([2, 3], gap="large", vertical_alignment="center")
    picture.image(
        gauge_svg(found, claim, dark=is_dark()),
        width="stretch",
        alt=f"A needle: the attack proves ε ≥ {found:.3g} of a promised {claim:.3g}.",
    )
    return picture, words


def _holder(case: AuditCase) -> str:
    """Who holds the rows and is trusted with them; nobody where the aggregator is an adversary."""
    if Adversary.AGGREGATOR in attackers(slug_of(case.name)):
        return ""
    return "first site" if case.covers.endswith(".local") else "trusted holder"


def _advance(attack: CaseAttack) -> None:
    stop = time.monotonic() + _SLICE_SECONDS
    enough = attack.n_done + attack.n_trials / _FRAMES
    while not attack.finished:
        attack.advance()
        if attack.n_done >= enough or time.monotonic() > stop:
            return


def _shown(attack: CaseAttack) -> None:
    growth = attack.growth()
    if not growth:
        st.markdown("## Learning from the first half of the trials what to look at …")
        return
    last, case = growth[-1], attack.case
    found = f"{last.epsilon_exact:.3g}"
    if attack.finished:
        said = verdict(last)
    else:
        said = f"So far the attack proves ε ≥ {found} of a promised {case.epsilon:.3g}."
    kind = f"We can be {100 * attack.confidence:g} % sure that ε is above {found}."
    if last.is_nominal:
        kind += f" A looser estimate, the jackknife's, is {nominally(last)}."
    _, words = _needle(last.epsilon_exact, case.epsilon)
    words.markdown(f"## {said}")
    words.markdown(kind)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(f"## Seen: {case.sees}")
        view, holder = (str(case.adversary), case.sees), _holder(case)
        st.image(
            adversary_view_svg(*view, trusted_holder=holder, dark=is_dark()),
            width="stretch",
            alt=adversary_view_words(*view, trusted_holder=holder),
        )
    with right:
        chart(
            bound_growth(
                [
                    {"trials": r.n_trials, "epsilon_exact": r.epsilon_exact, "epsilon": r.epsilon}
                    for r in growth
                ],
                case.epsilon,
                attack.n_trials,
                dark=is_dark(),
            ),
            key="audit_growth",
            alt=said,
        )
    threshold = attack.threshold()
    type_one, type_two = attack.errors_at(threshold)
    left, right = st.columns(2, gap="large")
    with left:
        chart(
            score_histogram(attack.histogram(), threshold, dark=is_dark()),
            key="audit_scores",
            alt=f"Scores under both data sets; the best threshold has {type_one:.0%} false alarms "
            f"and misses {type_two:.0%}.",
        )
    with right:
        chart(
            trade_off_plot(
                attack.error_rates(),
                {
                    "blind": "blind guess",
                    "approximate": "least the claim allows",
                    "gaussian": "measured",
                },
                (type_one, type_two),
                dark=is_dark(),
            ),
            key="audit_errors",
            alt="Missed against false alarms as the threshold moves, and the least the claim "
            "allows.",
        )


@page(formulas="audit")
def show_audit() -> None:
    """Audit: attack a mechanism, and see whether it keeps its promise."""
    answer = st.container()
    family = ask("audit_family")
    left, right = st.columns(2, vertical_alignment="bottom")
    # Keys of the family's own, so that each remembers what was looked at.
    mechanism = ask(f"audit_{key_of(family)}", left)
    with right:
        case = attacker(mechanism)
    with st.expander("Trials, confidence and seed"):
        trials, confidence, seed = st.columns(3)
        n_trials = ask(f"audit_trials_{key_of(family)}", trials, value=case.n_trials)
        level = ask("audit_confidence", confidence)
        root = ask("audit_seed", seed)
        st.code(
            f"python -m dpcore audit --mechanism {mechanism} --adversary {case.adversary} "
            f"--trials {n_trials} --confidence {level:g} --seed {root}",
            language="bash",
            wrap_lines=True,
        )
    with answer:
        live(case, n_trials, level, root)
    with answer, st.container(border=True):
        tone = ":green-badge[sound]" if case.is_sound else ":red-badge[flawed, kept for teaching]"
        st.markdown(f"{tone} **{case.name}**")
        st.markdown(f"**The two data sets.** {case.neighbours}")
        if case.flaw:
            st.markdown(f"**The flaw.** {case.flaw}")
        st.markdown(f"**The claim.** {claim_of(case)}, {basis_of(case)}.")
