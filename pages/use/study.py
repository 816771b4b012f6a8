"""A study across real sites: a hub and guards as programs of their own, watched from here.

One study at a time on this server: a hub and its guards, which are processes of their own.

It belongs to nobody, for it takes as much of the machine as several sweeps: whoever opens the page
sees the same one, and another begins when it has ended.
"""

from __future__ import annotations

import io
import json
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from dpcore.arrays import AnyArray
from dpcore.data import dataset_status
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.problem import local_problem
from dpcore.experiments.summaries import bytes_in_words, counted, percent
from dpcore.federated.hub import (
    RESULT,
    HubState,
    count_in_words,
    of_attempts,
    study_certificate,
    study_label,
)
from dpcore.federated.plan import StudyPlan
from dpcore.federated.rehearsal import Demo, demo_study, digits_plan
from dpcore.privacy import Adversary
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label import label_page
from dpcore.spectra import captured_energy
from pages.shell.navigation import linked_page
from pages.shell.page import page
from pages.shell.parameters import ask
from pages.widgets.charts import component_rows
from pages.widgets.notices import big_number, not_private, said

# One study at a time on this server: a hub and its guards, which are processes of their own.

# A study that has not ended by then is ended.
_LONGEST_SECONDS, _LOOK = 180.0, 0.05


@dataclass(frozen=True, eq=False)
class Shown:
    """A study as it stands.

    silent: Name of a site that was switched off after it had joined, or nothing.
    state: None before the hub is there.
    result: Empty before the end.
    trouble: Why it ended before its time.
    """

    plan: StudyPlan
    silent: str
    state: HubState | None = None
    result: dict[str, AnyArray] | None = None
    trouble: str = ""

    @property
    def goes_on(self) -> bool:
        return self.result is None and not self.trouble


_BEGINS = threading.Lock()
_LAST: list[_Study] = []


def shown() -> Shown | None:
    """The study on this server, or the last one."""
    return _LAST[0].shown() if _LAST else None


def begin(plan: StudyPlan, silent: str = "") -> None:
    """Begin a study beside the pages.

    Raises `ParameterError` if one goes on.
    """
    with _BEGINS:
        last = shown()
        if last is not None and last.goes_on:
            raise ParameterError("study", "begun when no other goes on", last.plan.name)
        study = _Study(plan, silent)
        _LAST[:] = [study]
    threading.Thread(target=study.run, daemon=True).start()


class _Study:
    def __init__(self, plan: StudyPlan, silent: str) -> None:
        self._last = Shown(plan, silent)
        self._demo: Demo | None = None

    def shown(self) -> Shown:
        last, demo = self._last, self._demo
        if demo is None or not last.goes_on:
            return last
        return Shown(last.plan, last.silent, demo.hub.state)

    def run(self) -> None:
        plan, silent = self._last.plan, self._last.silent
        try:
            with (
                tempfile.TemporaryDirectory() as folder,
                demo_study(plan, Path(folder) / "study") as demo,
            ):
                self._demo = demo
                self._wait(demo)
                state = demo.hub.state
                path = demo.hub.folder / RESULT
                result = dict(np.load(path)) if path.exists() else {}
                why = "" if state.has_ended else f"{_LONGEST_SECONDS:.0f} s have passed"
                self._last = Shown(plan, silent, state, result, why)
        except (OSError, ParameterError) as error:
            self._last = Shown(plan, silent, trouble=str(error))

    def _wait(self, demo: Demo) -> None:
        until, silent = time.monotonic() + _LONGEST_SECONDS, self._last.silent
        while not demo.hub.state.has_ended and time.monotonic() < until:
            if silent in demo.hub.state.keys:
                demo.guards[silent].kill()
            time.sleep(_LOOK)


# A study as it goes: who has joined, what was asked and sent, what holds, what came of it.

POLL_SECONDS = 0.5
_SEEN = "_study_seen"
_ROUND_SECONDS, _JOIN_SECONDS = 15.0, 60.0
_WHO = {
    Adversary.AGGREGATOR: "the hub, with all sites not counted on",
    Adversary.SITE: "a site that takes part",
    Adversary.OUTSIDER: "a reader of the result",
}
_NEXT = {"joining": "Sites join", "sum": "Noisy sums arrive", "moment": "Noisy moments arrive"}


def choose_study() -> tuple[StudyPlan, str]:
    """The study that the controls ask for, and who is to fall silent."""
    first, second, third, fourth = st.columns([2, 2, 1, 2], vertical_alignment="bottom")
    protocol = ask("study_protocol", first)
    epsilon = ask("study_epsilon", second)
    n_sites = ask("study_sites", third)
    silent = ask("study_silent", fourth)
    plan = digits_plan(
        n_sites,
        protocol=protocol,
        epsilon=epsilon,
        round_seconds=_ROUND_SECONDS,
        join_seconds=_JOIN_SECONDS,
    )
    return plan, plan.sites[-1] if silent else ""


def begins(study: Shown | None) -> bool:
    """Whether somebody presses the button; there is none while a study goes on."""
    if study is not None and study.goes_on:
        return False
    label = "Start the study" if study is None else "Start it again, with these settings"
    return st.button(label, type="primary", key="study_start")


def nothing_yet(plan: StudyPlan) -> None:
    st.markdown(
        f"**{len(plan.sites)} hospitals, each a program of its own** beside its share of the "
        "digits, with its own ledger, and a hub that adds up what they send: over TLS, on this "
        "machine, started when you press the button."
    )
    _promise(plan)


def look() -> None:
    """The study as it stands; asked again while it goes on."""
    study = shown()
    if study is None or (study.state is None and not study.trouble):
        st.info("Guards are starting.")
        return
    if study.trouble:
        st.error(f"The study ended: {said(study.trouble)}")
    if study.result:
        _found(study)
    elif study.state is not None and study.state.why:
        st.error(f"The study failed: {said(study.state.why)}")
    _sites(study)
    _promise(study.plan, study.state.attempt if study.state else 0)
    if study.state is not None:
        _events(study)
    if not study.goes_on:
        _carry_off(study)
        # The page that polled stops, and has its button again.
        if st.session_state.get(_SEEN) is not study.result:
            st.session_state[_SEEN] = study.result
            st.rerun()


def _found(study: Shown) -> None:
    """What the components keep of the exact ones: only a laboratory can know."""
    result = study.result or {}
    problem = local_problem(RunSpec().problem_key())
    components = result["components"]
    exact = problem.exact_components[: len(components)]
    best = problem.optimum[len(components) - 1]
    energy = captured_energy(components, problem.reference) / best
    sites = result["sites"]
    counted_people = count_in_words(study.plan, float(result["n_rows"]), len(sites))
    big_number(
        percent(energy),
        f"of the pattern that exact PCA finds, from {counted(len(sites), 'hospital')}",
        f"Noisy count of people: {counted_people}. No row left its hospital, and nobody had to be "
        "trusted with any.",
    )
    rows = {"Exact, on all rows": exact, "The study's": components}
    component_rows(rows, exact, dataset_status("digits"), ())
    not_private("The share, and the exact row", "are measured on the rows; a real study has none.")


def _sites(study: Shown) -> None:
    state = study.state
    if state is None:
        return
    if not state.has_ended:
        st.markdown(f"## {_NEXT.get(state.phase, 'Adding up')}")
    lines = [
        {
            "site": site.replace("_", " "),
            "now": _now(study, site),
            "sent": bytes_in_words(state.sent_bytes.get(site, 0)),
        }
        for site in study.plan.sites
    ]
    st.dataframe(lines, hide_index=True, width="stretch")
    whole = study.plan.n_features * 8 * 1797 // len(study.plan.sites)
    st.caption(
        f"Attempt {max(state.attempt, 1)}. A hospital's raw rows would be {bytes_in_words(whole)}."
    )


def _now(study: Shown, site: str) -> str:
    state = study.state
    if state is None or site not in state.keys:
        return "has not joined"
    if site in state.refused:
        return f"refuses: {said(state.refused[site])}"
    if state.attempt and site not in state.roster:
        return "did not answer, and is left out"
    if site in state.answered:
        return "has answered"
    return "joined" if state.phase == "joining" else "is asked"


def _promise(plan: StudyPlan, n_attempts: int = 0) -> None:
    lines = ["| against | ε of an attempt | noises it cannot subtract |", "| --- | --- | --- |"]
    lines += [
        f"| {_WHO[who]} | {say_number(plan.epsilon_against(who))} | {plan.unknown(who)} |"
        for who in Adversary
    ]
    counted_on = (
        f", counting on {plan.honest} of {len(plan.sites)} hospitals, if {plan.fewest} answer"
    )
    st.markdown(
        f"## What holds at δ = {say_delta(plan.delta)}{counted_on if plan.is_masked else ''}",
        help="An attempt is charged to each hospital's ledger before its noise is drawn; a second "
        "attempt is drawn and charged anew.",
    )
    st.markdown("\n".join(lines))
    if n_attempts > 1:
        together = say_number(of_attempts(plan, n_attempts))
        st.markdown(
            f"**{n_attempts} attempts were drawn**: for people whose hospital answered them all, "
            f"ε = {together} in all against the strongest of these.",
            help="An odometer's number: it holds whenever attempts stop, for whatever was seen, "
            "and is larger than the ε of a plan. The cap of each hospital's ledger holds too.",
        )


def _events(study: Shown) -> None:
    events = study.state.events if study.state else ()
    with st.expander(f"What happened: {counted(len(events), 'step')}"):
        start = events[0][0] if events else 0.0
        st.markdown("\n".join(f"- {at - start:.1f} s: {said(what)}" for at, what in events))


def _carry_off(study: Shown) -> None:
    if study.state is None:
        return
    left, right, last = st.columns(3)
    record = {"plan": json.loads(study.plan.json()), "state": asdict(study.state)}
    left.download_button(
        "Plan and record (JSON)", json.dumps(record, indent=1), "study.json", width="stretch"
    )
    if study.result:
        right.download_button("Result (NPZ)", _npz(study.result), "result.npz", width="stretch")
        certificate = study_certificate(study.plan, study.state.attempt, study.result)
        last.download_button(
            "Certificate (JSON)", json.dumps(certificate, indent=1), "certificate.json",
            width="stretch",
        )  # fmt: skip
        # Its rows are the embedded digits.
        label = study_label(study.plan, certificate, is_simulation=True)
        with st.expander("Privacy label"):
            st.iframe(label_page(label), height=1000)  # st.html drops SVG
            st.download_button(
                "Label, one page to print (HTML)", label_page(label), "label.html", "text/html",
                on_click="ignore", key="save_study_label",
            )  # fmt: skip


def _npz(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def on_your_own_machines() -> None:
    with st.expander("On your own machines"):
        st.code(
            "dpcore study init heart --dictionary heart.toml --sites oslo,porto,graz \\\n  "
            "--address https://hub.example.org:8443\ndpcore study hub heart --host 0.0.0.0 --port "
            "8443\ndpcore study site oslo.join.json --data patients.parquet \\\n  --project oslo "
            "--cap 2 2e-6",
            language="bash",
        )
        st.markdown(
            "The first two lines are the coordinator's; each hospital runs the last one beside "
            "its rows, with the join file it was handed. The same protocols are simulated on Play."
        )
        st.page_link(linked_page("play"), label="Play")


@page(formulas="study")
def show_study() -> None:
    """A study across real sites."""
    asked = choose_study()
    study = shown()
    if begins(study):
        begin(*asked)
        st.rerun()  # without the button
    if study is None:
        nothing_yet(asked[0])
    else:
        st.fragment(look, run_every=POLL_SECONDS if study.goes_on else None)()
    on_your_own_machines()
