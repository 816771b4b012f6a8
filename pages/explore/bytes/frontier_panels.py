"""Energy against bytes on a page: the finding, and the points as they arrive."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.data import DatasetStatus
from dpcore.experiments.analysis.byte_frontier import RatePoint, rate_points, rate_sweeps
from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.ledger.pca_charges import of_plan
from dpcore.experiments.pca.sentences import bytes_in_words, percent
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.tradeoffs.frontier import energy_frontier
from pages.server import visitors_jobs
from pages.server.background_jobs import Progress
from pages.sidebar.selection import n_components_of
from pages.widgets.charts import chart, is_dark
from pages.widgets.messages import big_number
from pages.widgets.watched_job import Request

_PARTS = ("whole", "proxies")
_ROUNDED = "step 1 σ"
_PRECISION = "float32"


def request_of(page: str, spec: RunSpec) -> Request:
    """Both families of messages as a job, the shorter sweep first.

    Every message is computed from the same noise, which is what is charged.
    """
    proxies, whole = sweeps = rate_sweeps(spec)
    part = visitors_jobs.sweep_part
    return Request(
        page,
        spec,
        lambda: {"whole": part(whole), "proxies": part(proxies)},
        visitors_jobs.cost_of(sweeps),
        lambda: of_plan(c.spec for sweep in sweeps for c in sweep.cells() if c.spec is not None),
    )


def count_of(progress: Progress) -> str:
    """How far a frontier is."""
    part = list(progress.arrived)[-1] if progress.arrived else _PARTS[0]
    words = {"whole": "Rounded matrices", "proxies": "Proxies"}[part]
    events = progress.arrived.get(part)
    count = f": {events[-1].done} of {events[-1].total} draws" if events else ""
    return f"{words}{count} …"


def rows_of(progress: Progress) -> list[Row]:
    """All rows that have arrived."""
    return [row for part in _PARTS for row in progress.rows(part)]


def finding(points: tuple[RatePoint, ...], spec: RunSpec, dataset: DatasetStatus) -> None:
    """The rounded matrix against the proxy as it is usually sent."""
    usual = min(2 * n_components_of(spec.components, dataset), dataset.n_features)
    proxies = {
        p.intermediate_dim: p
        for p in points
        if p.intermediate_dim is not None and p.encoding == _PRECISION
    }
    rounded = next((p for p in points if p.label == _ROUNDED), None)
    if rounded is None or not proxies:
        big_number(
            "… ×", "How many bytes does rounding save? Both kinds of messages are on the way."
        )
        return
    sent = min(proxies, key=lambda intermediate_dim: abs(intermediate_dim - usual))
    proxy = proxies[sent]
    ratio = proxy.bytes_per_site / rounded.bytes_per_site
    number, word = (ratio, "fewer") if ratio >= 1 else (1 / ratio, "more")
    big_number(
        f"{number:.2g} ×",
        f"{word} bytes: rounding the whole matrix at step 1σ keeps **{percent(rounded.energy)}** "
        f"with **{bytes_in_words(rounded.bytes_per_site)}** a site; sending "
        f"R\u00a0=\u00a0{sent} directions in {_PRECISION} keeps **{percent(proxy.energy)}** "
        f"with **{bytes_in_words(proxy.bytes_per_site)}**.",
    )


def frontier(
    progress: Progress, spec: RunSpec, dataset: DatasetStatus, precisions: Sequence[str]
) -> None:
    """The finding, and the figure of what has arrived, of proxies in some precisions."""
    rows = rows_of(progress)
    points = rate_points(rows)
    skipped = [row for part in _PARTS for row in progress.skipped(part)]
    if not points and skipped and not progress.goes_on:
        st.error(str(skipped[0]["skipped"]), icon="⚠️")
        return
    finding(points, spec, dataset)
    if not points:
        return
    shown = [row for row in rows if row["protocol"] == "full" or row["encoding"] in precisions]
    chart(
        energy_frontier(
            [point.as_row() for point in rate_points(shown)],
            byte_range=_byte_range(spec, dataset, points),
            floor=rows[0]["random_ratio"],
            dark=is_dark(),
        ),
        key="bytes_frontier",
        alt="Captured energy against bytes a site sends. Best for their bytes: "
        + "; ".join(f"{p.label}, {percent(p.energy)}" for p in points if p.is_best),
    )
    st.caption(
        f"Each point is the mean of {spec.repetitions} draws, its line their spread. The grey "
        "stairs join what nobody shown beats with as few bytes; labels at diamonds are the "
        "rounding step."
    )
    if skipped:
        with st.expander(f"{len(skipped)} settings skipped, and why"):
            st.dataframe(skipped, hide_index=True)


def best_for_their_bytes(rows: list[Row]) -> None:
    """Every way to send that no other beats with as few bytes, as a table."""
    best = [point for point in rate_points(rows) if point.is_best]
    if not best:
        return
    st.markdown("## The best for their bytes")
    st.dataframe(
        [
            {
                "message": f"{'proxy' if point.family == 'proxy' else 'matrix'}, "
                + point.label.replace("int8", "8 bits"),
                "bytes a site": point.bytes_per_site,
                "kept, %": 100 * point.energy,
                "draws, %": f"{100 * point.least:.0f} to {100 * point.greatest:.0f}",
            }
            for point in best
        ],
        # As wide as a phone.
        column_config={
            "message": st.column_config.TextColumn(width=135),
            "bytes a site": st.column_config.NumberColumn(format="%,.0f", width=80),
            "kept, %": st.column_config.NumberColumn(format="%.1f", width=60),
            "draws, %": st.column_config.TextColumn(width=75),
        },
        hide_index=True,
        height="content",  # all of it, for the last line was cut
    )


def _byte_range(
    spec: RunSpec, dataset: DatasetStatus, points: Sequence[RatePoint]
) -> tuple[float, float]:
    # From the smallest proxy to the largest, or to the whole matrix as it is. On the sphere a
    # private mean, where there is one, goes to the aggregator first and comes back.
    features, components = dataset.n_features, n_components_of(spec.components, dataset)
    for_the_mean = 16 * features if spec.preparation == "sphere" else 0
    smallest = features * max(1, components // 4) + for_the_mean
    largest = max(4 * features * (features + 1), 8 * features * 4 * components) + for_the_mean
    return 0.7 * min(smallest, *(p.bytes_per_site for p in points)), 1.5 * largest
