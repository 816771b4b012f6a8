"""A release as it is: its components, what verifies, what to take away, rows along it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import streamlit as st

from dpcore.errors import ParameterError
from dpcore.figures.components.charts import loading_bars, people_scatter
from dpcore.figures.components.variances import released_variances
from dpcore.privacy.card import say_delta, say_number
from dpcore.releases.project import Project
from dpcore.releases.released_pca import ReleasedPCA, load_release
from dpcore.releases.verification import verify
from pages.sidebar.own_table import OwnTable
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number, not_private
from pages.widgets.plain_text import plainly, said

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
        f"{say_delta(certificate['delta'])}, against whoever reads it.",
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
    st.markdown("## Take it away")
    place, folder = released.certificate_["name"], Path(released.folder)
    with st.container(horizontal=True):
        st.download_button(
            "Release (ZIP)", zipped(folder), f"{place}.zip",
            "application/zip", on_click="ignore", type="primary", key="released_zip",
        )  # fmt: skip
        for name in ("certificate.html", "certificate.json", "components.csv"):
            content = (folder / name).read_bytes()
            st.download_button(
                name, content, f"{place}-{name}", on_click="ignore", key=f"save_{name}"
            )
    st.caption("Anybody can check it, offline and without the rows; and use it on new rows:")
    st.code(
        f"python -m dpcore verify {place}\n"
        f"python -c \"import dpcore; print(dpcore.load_release('{place}').components_)\"",
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
            "only the components were released. Each point is somebody, as private as the table.",
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
