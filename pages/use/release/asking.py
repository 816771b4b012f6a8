"""What a release would promise and spend, asked once before it is drawn; and where it is kept.

On a server that somebody runs for themselves, in the folder they opened. Elsewhere in a temporary
folder of this session, which holds what was released and charged, never a row, and is deleted with
the session: that ledger forgets.
"""

from __future__ import annotations

import shutil
import weakref
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.pca.sentences import counted
from dpcore.privacy import composed_mu
from dpcore.privacy.card import one_in, say_delta, say_number
from dpcore.privacy.filter import spoken_down
from dpcore.releases.calibration import Scales, calibrated
from dpcore.releases.certificate import promise, relation, share_in_words
from dpcore.releases.dictionary import Dictionary
from dpcore.releases.project import LEDGER, Project, folder_name
from dpcore.releases.releasing import release
from pages.parameters.words import plain
from pages.server import page_lock
from pages.sidebar import own_table
from pages.sidebar.own_table import OwnTable
from pages.widgets.plain_text import plainly

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CAPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
PREPARATIONS = {"sphere": "at one length (sphere)", "bounded": "as long as they are (bounded)"}
_PLACE = "_own_projects"


@dataclass(frozen=True)
class Wish:
    """A release that is wished for, in a project that is there or would begin with this cap."""

    name: str
    epsilon: float
    delta: float
    n_components: int
    preparation: str
    project: str
    there: Project | None
    cap: tuple[float, float]


def wished(dictionary: Dictionary) -> Wish:
    """What the controls say.

    Raises `ParameterError` if the project's ledger cannot be read.
    """
    left, middle, right = st.columns(3, gap="large")
    epsilon = left.select_slider(
        "ε of this release", EPSILONS, 1.0, format_func=plain, key="release_epsilon"
    )
    delta = middle.select_slider(
        "δ, far below one over the people", DELTAS, 1e-6, format_func=say_delta, key="release_delta"
    )
    most = min(dictionary.n_features, 20)
    n_components = 1
    if most > 1:
        n_components = right.slider("Components K", 1, most, min(3, most), key="release_components")
    left, middle, right = st.columns(3, gap="large")
    project = left.text_input(
        "Project: everything about these people", "people", max_chars=64, key="release_project",
        help="One ledger for all that is ever released about the same people.",
    )  # fmt: skip
    there = _found(project)
    number = 1 + (0 if there is None else len(there.releases()))
    name = middle.text_input(
        "Name of the release", f"release-{number}", max_chars=64, key=f"release_name_{number}"
    )
    cap = 0.0 if there is None else there.cap.epsilon
    if there is None:
        # A cap of this ε admits this release and no other.
        caps = [each for each in CAPS if each >= epsilon]
        usual = next(each for each in caps if each > epsilon)
        cap = right.select_slider(
            "Cap on ε of all releases together", caps, usual, format_func=plain,
            key=f"release_cap_{epsilon}", help="Fixed with a project's first release, for good.",
        )  # fmt: skip
    preparation = st.segmented_control(
        "Rows are seen", list(PREPARATIONS), default="sphere", format_func=PREPARATIONS.__getitem__,
        required=True, key="release_preparation",
    )  # fmt: skip
    return Wish(name, epsilon, delta, n_components, preparation, project, there, (cap, delta))


def is_asked(wish: Wish, dictionary: Dictionary) -> bool:
    """The promise in words, what it would spend, and the one question; whether it was answered.

    Raises `ParameterError` if it cannot be.
    """
    scales = calibrated(dictionary, epsilon=wish.epsilon, delta=wish.delta)
    exact = scales.epsilon(wish.delta, wish.epsilon)
    st.markdown(f"**{promise(exact, wish.delta, scales.rows_per_person)}**")
    _spent(wish, scales)
    if beside := _others(wish.project):
        st.caption(
            f":orange-badge[counted apart] {counted(beside, 'other project')} here, each with a "
            "ledger of its own. Whoever is in two has paid for both, which no ledger and no "
            "certificate adds up."
        )
    st.caption(
        f"{relation(scales.rows_per_person)} δ is {one_in(wish.delta)}. Limits, ε, δ and K are "
        "taken to be chosen from what is public, by the plan say: if what the laboratory showed of "
        "these people decided them, the certificate's assumptions are not met."
    )
    with st.popover("Release …", key=f"ask_{wish.project}_{wish.name}"):
        st.markdown(
            f"**ε = {say_number(exact)}** at δ = {say_delta(wish.delta)} is charged to the project "
            f"“{plainly(wish.project)}”, for good. Noise is drawn once: there is no undo."
        )
        pressed = st.button("Release now", type="primary", key="release_now")
    if not _is_lasting():
        st.caption(
            ":orange-badge[this ledger forgets] It lives in this session. Take the release with "
            "you, and count what it cost before anything else about the same people is released. "
            "`python -m dpcore release` keeps a ledger on disk."
        )
    return pressed


def carry_out(wish: Wish, own: OwnTable, dictionary: Dictionary) -> None:
    """Charge the release and draw it.

    Raises `ParameterError, BeyondCap` if it cannot be; nothing is charged then.
    """
    try:
        project = wish.there or _folder_of(wish.project)
        with st.spinner("Adding up whole numbers, drawing the noise …"), page_lock.others():
            release(
                own.upload.columns, dictionary, epsilon=wish.epsilon, delta=wish.delta,
                n_components=wish.n_components, project=project, name=wish.name,
                preparation=wish.preparation, cap=wish.cap,
            )  # fmt: skip
    except OSError as error:
        raise ParameterError("project", "in a folder that can be written to", error) from error


def _spent(wish: Wish, scales: Scales) -> None:
    """What was spent before, and what would be left."""
    project = wish.there
    if project is None:
        st.markdown(
            "Nothing is spent yet in this project. Its cap would be "
            f"**ε = {say_delta(wish.cap[0])}** at δ = {say_delta(wish.cap[1])}, for good."
        )
        return
    if project.origin:
        st.warning(f"{plainly(project.origin[:1].upper() + project.origin[1:])}.", icon="⚠️")
    cap, total = project.cap, project.total()
    with_it = (composed_mu(total.mu, scales.mu) / cap.mu) ** 2
    st.markdown(
        f"Used so far: **{share_in_words(total.share)}** of the project's cap, "
        f"ε = {say_delta(cap.epsilon)} at δ = {say_delta(cap.delta)}. The cap holds for all its "
        "releases together, whatever you choose after seeing some of them.",
        help="Counted in μ²: two equal releases use twice as much of the cap as one.",
    )
    if with_it > 1 + 1e-9:
        st.markdown(":red-badge[beyond the cap] This release would be refused, and not charged.")
    else:
        left = max(0.0, cap.mu**2 - total.mu**2 - scales.mu**2) ** 0.5
        st.markdown(
            f"With it: **{share_in_words(with_it)}**. One more could then have "
            f"ε = {spoken_down(cap.epsilon_of(left))} at most."
        )


def _is_lasting() -> bool:
    """Whether what is charged is remembered when the session has ended."""
    return own_table.folder() is not None


def _found(name: str) -> Project | None:
    """The project of this name; None where there is none yet.

    Raises `ParameterError` if it is no name for a folder, or its ledger is damaged.
    """
    folder = _folder_of(name)
    return Project(folder) if (folder / LEDGER).is_file() else None


def _folder_of(name: str) -> Path:
    """Where a project of this name is, or would be.

    Raises `ParameterError` if it is no name for a folder.
    """
    return _place() / folder_name("project", name)


def _others(name: str) -> int:
    """How many projects there are beside the one of this name."""
    return sum(ledger.parent.name != name for ledger in _place().glob(f"*/{LEDGER}"))


def _place() -> Path:
    lasting = own_table.folder()
    if lasting is not None:
        return lasting / "projects"
    if _PLACE not in st.session_state:
        st.session_state[_PLACE] = _OfSession()
    session: _OfSession = st.session_state[_PLACE]
    return session.path


class _OfSession:
    """A temporary folder that goes with whoever holds this."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="dp-pca-lab-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
