"""Release: plan, charge and publish private components of the visitor's table."""

from __future__ import annotations

import io
import json
import shutil
import weakref
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.experiments.engine.summaries import counted, percent
from dpcore.figures.components import loading_bars, people_scatter, released_variances
from dpcore.figures.energy import energy_curves
from dpcore.figures.images import component_strip
from dpcore.privacy import composed_mu
from dpcore.privacy.cap import say_rounded_down
from dpcore.privacy.guarantee_in_words import one_in, round_up, say_delta, say_number
from dpcore.release.certificate import CENTRE_WORDS
from dpcore.release.certificate_label import (
    label_of_certificate,
    label_of_plan,
    purpose_of,
    share_in_words,
)
from dpcore.release.dictionary import Dictionary
from dpcore.release.dictionary_file import dictionary_from
from dpcore.release.planning import Plan, plan
from dpcore.release.project import LEDGER, Project, folder_name
from dpcore.release.publication import release
from dpcore.release.release_files import CERTIFICATE
from dpcore.release.released_pca import ReleasedPCA, load_release
from dpcore.release.score_release import planned_costs
from dpcore.release.settings import PublicationSettings
from dpcore.release.verification import verify
from pages.cached import cached
from pages.components import ledger, notices
from pages.components.annex import offer_annex
from pages.components.charts import is_dark, show_figure
from pages.components.notices import escape_markdown
from pages.components.release_scores import draw_released_people
from pages.navigation import link_to_parts
from pages.number_format import plain
from pages.sidebar import Selection
from pages.use import session_table
from pages.use.session_table import OwnTable

CONTROLS = ()
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CAPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
DELTAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
_REFUSED = ":red-badge[beyond the cap] This release would be refused."
_PREPARATIONS = {"sphere": "to one length (sphere)", "bounded": "at their length (bounded)"}
_USUAL = (("epsilon", 1.0), ("delta", 1e-6))
_SCORES_SHARES = (0.0, 0.1, 0.2, 0.3, 0.5)
_FOLDER = "_own_projects"
_MOST_COMPONENTS, _MOST_POINTS = 20, 2_000
_PLAN_DRAWS, _MOST_ROWS = 2, 10_000_000
_FILES = ("label.html", "certificate.html", "certificate.json", "components.csv")


@dataclass(frozen=True)
class Request:
    """Release that the controls describe.

    project: Name of the project.
    existing: The project, if it has a ledger.
    cap: ε and δ of the cap of a new project.
    """

    name: str
    settings: PublicationSettings
    project: str
    existing: Project | None
    cap: tuple[float, float]


def show(_: Selection) -> None:
    """Draw the latest release, or the plan of the first, and the controls of the next one."""
    notices.stop_on_public_demo()
    table = session_table.current()
    dictionary = table.dictionary
    if dictionary is None:
        st.title("Give the public limits of your columns first", anchor=False)
        link_to_parts("release")
        return
    # Results are drawn before the controls that select them, so that no part of the page moves
    # when a later one is there. The values of the controls are in the session already.
    released = None
    with notices.errors_as_messages():
        released = _selected_release(table)
        _draw_answer(dictionary, released)
    link_to_parts("release")
    result_place, request_place = st.columns([3, 2], gap="large")
    with result_place, notices.errors_as_messages():
        if released is None:
            _draw_plan(dictionary)
        else:
            _draw_components(released)
            if (project := _project_of(table)) is not None:
                draw_released_people(released, table.upload.columns, project)
    with request_place, notices.errors_as_messages():
        request = _draw_request(table, dictionary)
        if released is not None:
            _draw_choice(request.existing)
            _draw_details(released, table)
    if released is None:
        with notices.errors_as_messages():
            _draw_plan_details(dictionary)


# ---- the request: settings, charge, question


def _draw_request(table: OwnTable, dictionary: Dictionary) -> Request:
    """Draw the settings of the next release and the button that charges and draws it.

    Raises `ParameterError` if a setting is out of range or the project's ledger cannot be read.
    """
    epsilon = st.select_slider(
        "ε (privacy budget)", EPSILONS, 1.0, format_func=plain, key="release_epsilon"
    )
    delta = st.select_slider(
        "δ (failure probability)", DELTAS, 1e-6, format_func=say_delta, key="release_delta"
    )
    usual_components = _usual_components(dictionary)
    most = min(dictionary.n_features, _MOST_COMPONENTS)
    n_components = 1
    if most > 1:
        n_components = st.slider(
            "Components K", 1, most, usual_components, key="release_components"
        )
    button_place = st.container()
    with st.expander("Project, cap and name"):
        request = _draw_project(table, epsilon, delta, n_components)
        costs = planned_costs(dictionary, request.settings)
        is_refused = _draw_charge(table, request, costs.mu)
    # The popover closes after a release, because the next one has another name.
    popover_key = f"release_popover_{request.name}"
    with button_place, st.popover("Release …", type="primary", key=popover_key):
        exact = costs.epsilon(delta, epsilon)
        question = (
            f"**ε = {say_number(exact)}** at δ = {say_delta(delta)} ({one_in(delta)}) is charged "
            f"to the project “{escape_markdown(request.project)}”. This cannot be undone. "
            f"It hides everything that one person contributed: "
            f"{counted(dictionary.at_most, 'row')} at most. Limits, ε, δ and K must be chosen "
            "without the data; otherwise the certificate does not apply."
        )
        st.markdown(_REFUSED if is_refused else question)
        if st.button("Release now", key="release_now"):
            _carry_out(request, table, dictionary)
            st.rerun()
    return request


def _usual_components(dictionary: Dictionary) -> int:
    return min(3, dictionary.n_features)


def _usual_project(table: OwnTable) -> str:
    return "example" if table.is_example else "people"


def _draw_project(table: OwnTable, epsilon: float, delta: float, n_components: int) -> Request:
    usual = _usual_project(table)
    project = st.text_input(
        "Project",
        usual,
        max_chars=64,
        key=f"release_project_{usual}",
        help="One ledger for everything that is released about the same people.",
    )
    existing = _find_project(table, project)
    if existing is not None:
        _show_in_ledger(_folder_of(table, project), table)
    number = 1 + (0 if existing is None else len(existing.releases()))
    name = st.text_input(
        "Name of the release", f"release-{number}", max_chars=64, key=f"release_name_{number}"
    )
    preparation = st.segmented_control(
        "Rows are scaled",
        list(_PREPARATIONS),
        default="sphere",
        format_func=_PREPARATIONS.__getitem__,
        required=True,
        key="release_preparation",
    )
    share = 0.0
    if n_components > 1:
        share = st.select_slider(
            "Share of the budget for a score plot",
            _SCORES_SHARES,
            0.0,
            format_func=percent,
            key="release_scores_share",
            help="People on the first two components, as noisy counts: a second query, charged "
            "together with the components.",
        )
    cap = epsilon
    if existing is None:
        caps = [cap for cap in CAPS if cap >= epsilon]
        # A cap of exactly this ε would admit this release and no other.
        above = next(larger for larger in caps if larger > epsilon)
        cap = st.select_slider(
            "Cap on ε of all releases together",
            caps,
            above,
            format_func=plain,
            key=f"release_cap_{epsilon}",
            help="Fixed with the first release of a project.",
        )
    settings = PublicationSettings(epsilon, delta, n_components, preparation, scores_share=share)
    return Request(name, settings, project, existing, (cap, delta))


def _draw_charge(table: OwnTable, request: Request, mu: float) -> bool:
    """Write the used part of the cap, and the part that remains after this release.

    mu: Cost of the release.
    Returns whether the cap refuses the release.
    """
    project, is_refused = request.existing, False
    if project is None:
        epsilon, delta = request.cap
        st.markdown(f"A new project with the cap ε = {plain(epsilon)} at δ = {say_delta(delta)}.")
    else:
        if project.origin:
            st.warning(f"{escape_markdown(project.origin.capitalize())}.", icon="⚠️")
        cap, total = project.cap, project.total()
        st.markdown(
            f"Used: **{share_in_words(total.share)}** of the cap ε = {say_number(cap.epsilon)} at "
            f"δ = {say_delta(cap.delta)}.",
            help=ledger.SHARES,
        )
        after = (composed_mu(total.mu, mu) / cap.mu) ** 2
        is_refused = after > 1 + 1e-9
        if is_refused:
            st.markdown(_REFUSED)
        else:
            remaining = max(0.0, cap.mu**2 - total.mu**2 - mu**2) ** 0.5
            st.markdown(
                f"With this release: **{share_in_words(after)}**. The next one could then have "
                f"ε = {say_rounded_down(cap.epsilon_of(remaining))} at most."
            )
    others = _count_others(table, request.project)
    if others:
        st.caption(
            f"{counted(others, 'other project')} here, each with its own ledger. The cost of a "
            "person in two projects is not added up."
        )
    st.caption(_lifetime(table))
    return is_refused


def _carry_out(request: Request, table: OwnTable, dictionary: Dictionary) -> None:
    """Charge the release, draw the noise and write its folder.

    Raises `ParameterError` or `BeyondCap` if that is not possible; nothing is charged then.
    """
    folder = _folder_of(table, request.project)
    try:
        with st.spinner("Drawing the noise"):
            release(
                table.upload.columns,
                dictionary,
                **vars(request.settings),
                project=request.existing or folder,
                name=request.name,
                cap=request.cap,
            )
    except OSError as error:
        raise ParameterError("project", "in a folder that can be written to", error) from error
    _show_in_ledger(folder, table)


def _show_in_ledger(folder: Path, table: OwnTable) -> None:
    ledger.add_project(str(folder), partial(_summarize, folder, _lifetime(table)))


def _summarize(folder: Path, lifetime: str) -> ledger.ProjectSummary:
    """Return the summary of a project for the page of the ledger."""
    project = Project(folder)
    return ledger.ProjectSummary(
        folder.name,
        share_in_words(project.total().share),
        project.cap,
        lifetime,
        tuple(
            {
                "Release": release.name,
                "ε": round_up(release.epsilon, 3),
                "δ": release.delta,
                "Time (UTC)": release.charged,
            }
            for release in project.releases()
        ),
    )


# ---- folders of projects


def _lifetime(table: OwnTable) -> str:
    """Return the time for which the ledger is kept, as a sentence for all pages."""
    if table.is_example or session_table.folder() is None:
        return (
            "The ledger and the releases are deleted when this visit ends. Save the release; "
            "`python -m dpcore release` keeps a ledger on disk."
        )
    return "The ledger and the releases are kept on the disk of this server."


def _find_project(table: OwnTable, name: str) -> Project | None:
    """Return the project of this name if it has a ledger.

    Raises `ParameterError` if the name cannot be a folder or the ledger is damaged.
    """
    folder = _folder_of(table, name)
    return Project(folder) if (folder / LEDGER).is_file() else None


def _folder_of(table: OwnTable, name: str) -> Path:
    return _projects_folder(table) / folder_name("project", name)


def _count_others(table: OwnTable, name: str) -> int:
    ledger_files = _projects_folder(table).glob(f"*/{LEDGER}")
    return sum(ledger_file.parent.name != name for ledger_file in ledger_files)


def _projects_folder(table: OwnTable) -> Path:
    """Return the folder of the projects: the owner's, or a temporary one of this session."""
    lasting = session_table.folder()
    if lasting is not None and not table.is_example:
        return lasting / "projects"
    folders: dict[str, _SessionFolder] = st.session_state.setdefault(_FOLDER, {})
    name = table.title if table.is_example else ""
    if name not in folders:
        folders[name] = _SessionFolder()
    return folders[name].path


class _SessionFolder:
    """Temporary folder that is deleted with the session that holds it."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="dp-pca-lab-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


# ---- before a release: a plan on made-up rows


def _draw_plan(dictionary: Dictionary) -> None:
    n_rows = st.number_input(
        "Rows",
        10,
        _MOST_ROWS,
        1_000,
        key="release_rows",
        help="As far as it is public, or an assumption. The rows of the plan are made up from the "
        "limits; nothing private is read.",
    )
    settings = _settings_in_session(dictionary)
    # The dictionary is public; its text is the key of the cache.
    tried = _plans(json.dumps(dictionary.as_dict()), n_rows, settings)
    st.markdown(plan_in_words(tried[settings.epsilon], settings.n_components))
    show_figure(
        energy_curves(
            _rows_of_plans(tried), "epsilon", axis_title="ε of one release", dark=is_dark()
        ),
        key="release_plan",
        alt="Captured energy of a release of made-up rows against ε.",
    )


def _draw_plan_details(dictionary: Dictionary) -> None:
    """Draw the annex of the plan and the formulas, closed, so that the first screen is short."""
    settings = _settings_in_session(dictionary)
    annex, computation = st.expander("Annex and computation").tabs(
        ["Annex", "How this is computed"]
    )
    with annex:
        offer_annex(
            partial(label_of_plan, dictionary, settings),
            purpose_of(dictionary.title or "the table", settings.n_components),
        )
    with computation:
        notices.show_formulas("release")


def _settings_in_session(dictionary: Dictionary) -> PublicationSettings:
    """Return the settings that the controls of the request have, drawn or not."""
    usual = {
        "components": _usual_components(dictionary),
        "preparation": "sphere",
        "scores_share": 0.0,
        **dict(_USUAL),
    }
    values = {name: st.session_state.get(f"release_{name}", usual[name]) for name in usual}
    n_components = values.pop("components")
    if n_components == 1:
        values["scores_share"] = 0.0
    return PublicationSettings(n_components=n_components, **values)


@cached(32, message="Planning with made-up rows")
def _plans(
    dictionary_in_json: str, n_rows: int, settings: PublicationSettings
) -> dict[float, Plan]:
    """Return the plan of a release of made-up rows at each ε."""
    dictionary = dictionary_from(json.loads(dictionary_in_json))
    return {
        epsilon: plan(
            dictionary, replace(settings, epsilon=epsilon), n_rows=n_rows, n_draws=_PLAN_DRAWS
        )
        for epsilon in EPSILONS
    }


def _rows_of_plans(tried: Mapping[float, Plan]) -> list[dict[str, Any]]:
    """Return the captured energy of each draw of the plans, as rows of a figure."""
    return [
        {
            "protocol": "ag",
            "epsilon": epsilon,
            "energy_ratio": float(captured / plan.best[-1]),
            "floor": len(plan.best) / plan.n_features / plan.best[-1],
        }
        for epsilon, plan in tried.items()
        for captured in plan.captured[:, -1]
    ]


def plan_in_words(planned: Plan, n_components: int) -> str:
    """Return the centre and the components above the noise that made-up rows give."""
    centres = " or ".join(CENTRE_WORDS[centre] for centre in dict.fromkeys(planned.centres))
    counts = [count for count in planned.n_above_noise if count is not None]
    n_above = min(counts) if len(counts) == len(planned.n_above_noise) else None
    sentence = components_above_noise(n_above, n_components)
    caution = " These are made-up rows; yours may differ." if sentence else ""
    return f"Centre: {centres}. {sentence}{caution}"


# ---- a release: answer, components, files


def _selected_release(table: OwnTable) -> ReleasedPCA | None:
    """Return the latest finished release of the selected project, or the one that is selected.

    Raises `ParameterError` if the project or the release cannot be read.
    """
    project = _project_of(table)
    names = _finished_names(project)
    if project is None or not names:
        return None
    name = st.session_state.get(f"release_choice_{len(names)}", names[-1])
    return load_release(project.path_of(name if name in names else names[-1]))


def _project_of(table: OwnTable) -> Project | None:
    """Return the project that is selected, if it has a ledger."""
    usual = _usual_project(table)
    return _find_project(table, st.session_state.get(f"release_project_{usual}", usual))


def _draw_choice(project: Project | None) -> None:
    """Draw the choice among several releases of a project."""
    names = _finished_names(project)
    if len(names) > 1:
        st.selectbox("Show", names, index=len(names) - 1, key=f"release_choice_{len(names)}")


def _finished_names(project: Project | None) -> list[str]:
    """Return the finished releases of components; other queries have no certificate."""
    finished = [] if project is None else [e.name for e in project.releases() if e.is_finished]
    return [
        name
        for name in finished
        if project is not None and (project.path_of(name) / CERTIFICATE).is_file()
    ]


def _draw_answer(dictionary: Dictionary, released: ReleasedPCA | None) -> None:
    if released is None:
        settings = _settings_in_session(dictionary)
        delta = settings.delta
        exact = planned_costs(dictionary, settings).epsilon(delta, settings.epsilon)
        st.title(f"A release would have ε = {say_number(exact)}", anchor=False)
        st.markdown(
            f"Nothing is released yet. Plan: made-up rows, one holder, against every reader. "
            f"δ = {say_delta(delta)}."
        )
        return
    certificate, verdict = released.certificate_, verify(released.folder)
    name = escape_markdown(certificate["name"])
    badge = ":green-badge[verified]" if verdict.holds else ":red-badge[does not verify]"
    captured = certificate["result"]["captured"]
    energy = "" if not captured else f"Explained variance {percent(captured[0])}, "
    st.title(f"“{name}” is released: ε = {say_number(certificate['epsilon'])}", anchor=False)
    st.markdown(
        f"{badge} {energy}δ = {say_delta(certificate['delta'])}, one holder, against every reader.",
        help="Explained variance is the share of all variance, estimated from the release. "
        "Captured energy, on other pages, is relative to exact PCA.",
    )
    if sentence := components_above_noise(
        certificate["result"].get("above_noise"), len(released.components_)
    ):
        st.markdown(sentence)


def components_above_noise(n_above: int | None, n_components: int) -> str:
    """Return which components are above the noise, as a sentence; "" if it is unknown."""
    if n_above is None:
        return ""
    if n_above == 0:
        return "No component can be told from noise. Release more people, or a larger ε."
    n_clear = min(n_above, n_components)
    which = "Component 1 is" if n_clear == 1 else f"Components 1 to {n_clear} are"
    others = "; the others cannot be told from it" if n_clear < n_components else ""
    return f"{which} above the noise{others}."


def _draw_components(released: ReleasedPCA) -> None:
    count, number = len(released.components_), 1
    if count > 1:
        number = st.selectbox("Component", range(1, count + 1), key=f"release_component_{count}")
    above = released.certificate_["result"]["above_noise"]
    if above is not None and number > above:
        st.markdown(f"Component {number} cannot be told from noise, so its columns are not shown.")
        return
    loadings = released.components_[number - 1]
    if released.dictionary_.image is not None:
        st.image(
            component_strip(loadings[None], released.dictionary_.image, dark=is_dark()),
            alt=f"Released component {number} as a picture.",
        )
        return
    upwards = loadings * np.sign(loadings[np.abs(loadings).argmax()])
    show_figure(
        loading_bars(
            {f"Released component {number}": upwards},
            released.features_,
            protocol="ag",
            dark=is_dark(),
        ),
        key="release_loadings",
        alt=f"Strongest loadings of released component {number}.",
    )


def _draw_details(released: ReleasedPCA, table: OwnTable) -> None:
    place, folder = released.certificate_["name"], Path(released.folder)
    st.download_button(
        "Save the release (ZIP)",
        partial(zip_folder, folder),
        f"{place}.zip",
        "application/zip",
        on_click="ignore",
        key="release_zip",
    )
    with st.expander("Certificate and details", on_change="rerun", key="release_details") as panel:
        if not panel.open:
            return
        titles = ("Certificate", "Variance", "Your rows", "How this is computed")
        certificate, variance, rows, computation = st.tabs(titles)
        with certificate:
            _draw_certificate(place, folder)
        with variance:
            _draw_variances(released)
        with rows:
            _draw_own_rows(released, table)
        with computation:
            notices.show_formulas("release")


def _draw_certificate(place: str, folder: Path) -> None:
    """Draw whether the release verifies, its files, and how others verify and use it."""
    st.markdown(escape_markdown(verify(folder).sentence, 1000))
    certificate = json.loads((folder / CERTIFICATE).read_bytes())
    label = label_of_certificate(certificate)
    purpose = purpose_of(label.title, certificate["result"]["components"])
    offer_annex(lambda: label, purpose)
    with st.container(horizontal=True):
        for name in _FILES:
            content = (folder / name).read_bytes()
            st.download_button(name, content, f"{place}-{name}", on_click="ignore")
    st.caption("Anyone can verify and use the release without the rows:")
    st.code(
        f'python -m dpcore verify {place}\npython -c "import dpcore; '
        f"print(dpcore.load_release('{place}').components_)\"",
        language=None,
        wrap_lines=True,
    )
    st.iframe((folder / "certificate.html").read_text(encoding="utf-8"), height=900)


def zip_folder(folder: Path) -> bytes:
    """Return a release folder as one ZIP file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{folder.name}/{path.name}")
    return file.getvalue()


def _draw_variances(released: ReleasedPCA) -> None:
    result = released.certificate_["result"]
    if not result["trace"] > 0:
        st.markdown("The noise is larger than the variance of the rows.")
        return
    shares = released.explained_variance_ratio_
    hidden = int(np.isnan(shares).sum())
    if result["captured"]:
        value, low, high = (percent(min(share, 1.0)) for share in result["captured"])
        st.markdown(f"All components: **{value}** of the variance, between {low} and {high}.")
    if hidden:
        st.markdown(f"**{hidden} of {len(shares)}** cannot be distinguished from noise.")
    intervals = released.explained_variance_ratio_interval_
    show_figure(
        released_variances(shares, intervals, dark=is_dark()),
        key="release_variances",
        alt=f"Share of the variance of each component; {hidden} are hidden by noise.",
    )
    st.caption(
        "Computed from the release at no further cost. The intervals hold in "
        f"{100 * result['interval_level']:.0f} of 100 releases. There are "
        f"{result['noisy_rows']:.0f} ± {result['noisy_rows_sigma']:.2g} rows."
    )


def _draw_own_rows(released: ReleasedPCA, table: OwnTable) -> None:
    """Draw the visitor's own rows along the first two components, for the visitor only."""
    notices.mark_not_private(
        "Projected rows", "are as private as the table: each point is a person."
    )
    try:
        scores = released.transform(table.upload.columns)
    except ParameterError as error:
        st.markdown(f"The release belongs to another table: {escape_markdown(error)}.")
        return
    if scores.shape[1] < 2:
        st.markdown("The figure needs two components.")
        return
    points = scores[:: max(1, len(scores) // _MOST_POINTS)]
    spread = points.std(axis=0)
    x, y = ((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, :2].T
    titles = ("component 1", "component 2")
    show_figure(
        people_scatter(x, y, None, None, axis_titles=titles, dark=is_dark()),
        key="release_people",
        alt="The visitor's rows along the first two released components; not private.",
    )
