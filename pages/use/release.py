"""A release of the visitor's own table: planned, asked once, charged, certified.

What a release would promise and spend, asked once before it is drawn; and where it is kept.

On a server that somebody runs for themselves, in the folder they opened. Elsewhere in a temporary
folder of this session, which holds what was released and charged, never a row, and is deleted with
the session: that ledger forgets.
"""

from __future__ import annotations

import io
import shutil
import weakref
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.summaries import counted
from dpcore.figures.components import loading_bars, people_scatter, released_variances
from dpcore.privacy import composed_mu
from dpcore.privacy.accountant import spoken_down
from dpcore.privacy.guarantee_in_words import one_in, say_delta, say_number
from dpcore.release.certificate import promise, relation
from dpcore.release.certificate_label import share_in_words
from dpcore.release.dictionary import Dictionary
from dpcore.release.project import LEDGER, Project, folder_name
from dpcore.release.publication import release
from dpcore.release.released_pca import ReleasedPCA, load_release
from dpcore.release.scales import Scales, calibrated
from dpcore.release.settings import PublicationSettings
from dpcore.release.verification import verify
from pages.server import turns
from pages.shell import own_table
from pages.shell.navigation import linked_page
from pages.shell.own_table import OwnTable
from pages.shell.page import page
from pages.shell.parameters import plain
from pages.use.own_data import say_empty_columns
from pages.widgets import session_ledger
from pages.widgets.charts import chart, is_dark
from pages.widgets.notices import (
    big_number,
    errors_shown,
    not_private,
    plainly,
    said,
)

# What a release would promise and spend, asked once before it is drawn; and where it is kept.

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CAPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
_SEEN = {"sphere": "at one length (sphere)", "bounded": "as long as they are (bounded)"}
_PLACE = "_own_projects"


@dataclass(frozen=True)
class Wish:
    """A release that is wished for, in a project that is there or would begin with this cap."""

    name: str
    asked: PublicationSettings
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
    seen = st.segmented_control(
        "Rows are seen", list(_SEEN), default="sphere", format_func=_SEEN.__getitem__,
        required=True, key="release_preparation",
    )  # fmt: skip
    asked = PublicationSettings(epsilon, delta, n_components, seen)
    return Wish(name, asked, project, there, (cap, delta))


def is_asked(wish: Wish, dictionary: Dictionary) -> bool:
    """The promise in words, what it would spend, and the one question; whether it was answered.

    Raises `ParameterError` if it cannot be.
    """
    scales = calibrated(dictionary, epsilon=wish.asked.epsilon, delta=wish.asked.delta)
    exact = scales.epsilon(wish.asked.delta, wish.asked.epsilon)
    st.markdown(f"**{promise(exact, wish.asked.delta, scales.rows_per_person)}**")
    _spent(wish, scales)
    if beside := _others(wish.project):
        st.caption(
            f":orange-badge[counted apart] {counted(beside, 'other project')} here, each with a "
            "ledger of its own. A person in two has paid for both, which no ledger and no "
            "certificate adds up."
        )
    st.caption(
        f"{relation(scales.rows_per_person)} δ is {one_in(wish.asked.delta)}. Choose limits, "
        "ε, δ and K before looking at the data. If you tuned them on this table, the certificate "
        "does not apply."
    )
    with st.popover("Release …", key=f"ask_{wish.project}_{wish.name}"):
        st.markdown(
            f"**ε = {say_number(exact)}** at δ = {say_delta(wish.asked.delta)} is charged to the "
            f"project “{plainly(wish.project)}”, for good. Noise is drawn once: there is no undo."
        )
        pressed = st.button("Release now", type="primary", key="release_now")
    if not _is_lasting():
        st.caption(
            ":orange-badge[not saved] This ledger disappears with the tab. Take the release with "
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
        with st.spinner("Adding up whole numbers, drawing the noise …"), turns.others():
            release(
                own.upload.columns, dictionary, **vars(wish.asked), project=project,
                name=wish.name, cap=wish.cap,
            )  # fmt: skip
        session_ledger.remember_project(Project(_folder_of(wish.project)))
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


# A release as it is: its components, what verifies, what to take away, rows along it.

_MOST_PEOPLE = 2_000


def shown(project: Project | None, own: OwnTable) -> None:
    """One of the project's releases, the latest unless another is picked.

    Raises `ParameterError` if its folder is damaged.
    """
    names = [] if project is None else [e.name for e in project.releases() if e.is_finished]
    if project is None or not names:
        return
    name = names[-1]
    if len(names) > 1:
        name = st.segmented_control(
            "Release", names, default=name, required=True, key=f"released_{len(names)}"
        )
    released = load_release(project.path_of(name))
    _answer(released)
    _components(released)
    _take_it(released)
    _own_rows(released, own)
    st.markdown("## Another one")


def _answer(released: ReleasedPCA) -> None:
    """The promise, as the biggest thing, and whether it verifies."""
    certificate = released.certificate_
    verdict = verify(released.folder)
    words = big_number(
        f"ε = {say_number(certificate['epsilon'])}",
        f"holds for everybody in “{plainly(certificate['name'])}” at δ = "
        f"{say_delta(certificate['delta'])}, against every reader.",
    )
    badge = ":green-badge[verified]" if verdict.holds else ":red-badge[does not verify]"
    words.markdown(f"{badge} {said(verdict.sentence)}")


def _components(released: ReleasedPCA) -> None:
    """Loadings by name, and the share of each component."""
    left, right = st.columns([3, 2], gap="large")
    count = len(released.components_)
    with left:
        st.markdown("## What it is made of")
        number = 1
        if count > 1:
            number = st.segmented_control(
                "Component", range(1, count + 1), default=1, required=True,
                key=f"released_component_{count}",
            )  # fmt: skip
        loadings = released.components_[number - 1]
        sign = np.sign(loadings[np.argmax(np.abs(loadings))])
        chart(
            loading_bars(
                {f"Component {number}, released": sign * loadings}, released.features_,
                protocol="ag", dark=is_dark(),
            ),
            key="released_loadings",
            alt=f"Loadings of released component {number} by feature, the largest first.",
        )  # fmt: skip
    with right:
        st.markdown("## How much each explains")
        _variances(released)


def _variances(released: ReleasedPCA) -> None:
    result = released.certificate_["result"]
    if not result["trace"] > 0:
        st.markdown("The noise is larger than all of the rows' variation: nothing can be said.")
        return
    shares = released.explained_variance_ratio_
    hidden = int(np.isnan(shares).sum())
    if result["captured"]:
        value, low, high = result["captured"]
        st.markdown(
            f"Together about **{value:.0%}** of the rows' variation, {_between(low, high)}."
        )
    if hidden:
        st.markdown(f"**{hidden} of {len(shares)}** cannot be told from noise.")
    chart(
        released_variances(shares, released.explained_variance_ratio_interval_, dark=is_dark()),
        key="released_variances",
        alt=f"Share of the variation that each component explains; {hidden} are lost in noise.",
    )
    st.caption(
        "From the release itself, at no further cost, with intervals that hold in "
        f"{100 * result['interval_level']:.0f} of 100 releases. It also says that there are "
        f"{result['noisy_rows']:.0f} ± {result['noisy_rows_sigma']:.2g} rows."
    )


def _between(low: float, high: float) -> str:
    return f"between {low:.0%} and {min(high, 1):.0%}"


def _take_it(released: ReleasedPCA) -> None:
    """The folder, the certificate, and how anybody checks it."""
    st.markdown("## Download")
    place, folder = released.certificate_["name"], Path(released.folder)
    with st.container(horizontal=True):
        st.download_button(
            "Release (ZIP)", zipped(folder), f"{place}.zip",
            "application/zip", on_click="ignore", type="primary", key="released_zip",
        )  # fmt: skip
        for name in ("label.html", "certificate.html", "certificate.json", "components.csv"):
            if not (folder / name).is_file():  # a label, of a release by an earlier version
                continue
            content = (folder / name).read_bytes()
            st.download_button(
                name, content, f"{place}-{name}", on_click="ignore", key=f"save_{name}"
            )
    st.caption("Anyone can check it, offline and without the rows; and use it on new rows:")
    st.code(
        f'python -m dpcore verify {place}\npython -c "import dpcore; '
        f"print(dpcore.load_release('{place}').components_)\"",
        language=None,
        wrap_lines=True,
    )
    with st.expander("The certificate", on_change="rerun", key="certificate") as opened:
        if opened.open:
            st.iframe((folder / "certificate.html").read_text(encoding="utf-8"), height=900)


def zipped(release: Path) -> bytes:
    """A release folder as one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(release.iterdir()):
            archive.write(path, f"{release.name}/{path.name}")
    return file.getvalue()


def _own_rows(released: ReleasedPCA, own: OwnTable) -> None:
    """The visitor's own rows along the first two components: for their eyes alone."""
    with st.expander("Project your own rows", on_change="rerun", key="own_rows") as opened:
        if not opened.open:
            return
        not_private(
            "Projected rows",
            "only the components were released. Each point is a person, as private as the table.",
        )
        try:
            scores = released.transform(own.upload.columns)
        except ParameterError as error:
            st.markdown(f"Not of this table: {said(error)}.")
            return
        if scores.shape[1] < 2:
            st.markdown("There is one component; a plane takes two.")
            return
        shown = scores[:: max(1, len(scores) // _MOST_PEOPLE)]
        spread = shown.std(axis=0)
        x, y = ((shown - shown.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, :2].T
        chart(
            people_scatter(
                x, y, None, None, axis_titles=("component 1", "component 2"), dark=is_dark()
            ),
            key="released_people",
            alt="The visitor's own rows along the first two released components; not private.",
        )


@page(formulas="release")
def show_release() -> None:
    """A release of the visitor's own table: planned, asked once, charged, certified."""
    own = own_table.own_table()
    result = st.container()
    if own is None or own.dictionary is None:
        st.markdown(
            "**Nothing to release yet.** Bring a table and say what is public about it, or take "
            "one of the two examples; then come back."
        )
        st.page_link(linked_page("own_data"), label="Your own table")
    else:
        with errors_shown():
            promised = st.container(border=True)
            wish = wished(own.dictionary)
            with result, errors_shown():
                shown(wish.there, own)
            with promised:
                say_empty_columns(own.reading)
                if is_asked(wish, own.dictionary):
                    carry_out(wish, own, own.dictionary)
                    st.rerun()
