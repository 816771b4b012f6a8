"""What the CCA page asks."""

from __future__ import annotations

from dpcore.data.catalog import CATALOG
from dpcore.data.readers.mfeat import VIEWS
from dpcore.experiments.cca.sentences import TITLES
from dpcore.experiments.cca.views import SYNTHETIC
from pages.parameters.kinds import Number, OneOf, Parameter, Switch, Text
from pages.parameters.words import MOST_FEATURES
from pages.sidebar.selection import EVERYBODY, plain

CUT_NAMES = ("top and bottom", "left and right", "halves of the columns", "chosen columns")
PEOPLE = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
TWO_VIEWS: dict[str, Parameter] = {
    "cca_data": OneOf(
        page="cca", control="selectbox", default="digits", options=(*CATALOG, SYNTHETIC)
    ),
    "cca_cut": OneOf(
        page="cca",
        control="segmented_control",
        default="top and bottom",
        options=CUT_NAMES,
    ),
    "cca_table": OneOf(
        page="cca",
        control="segmented_control",
        default="halves of the columns",
        options=CUT_NAMES[2:],
    ),
    **{
        key: OneOf(
            page="cca",
            control="selectbox",
            default=default,
            options=tuple(VIEWS),
            label=lambda view: f"{view}: {VIEWS[view][0]} features",
        )
        for key, default in (("cca_x", "fou"), ("cca_y", "kar"))
    },
    **{
        key: Text(
            page="cca",
            control="multiselect",
            longest=20_000,
            several=True,
            offered="columns of the data set",
        )
        for key in ("cca_x_columns", "cca_y_columns")
    },
    **{
        key: OneOf(
            page="cca", control="select_slider", default=default, options=options, label=plain
        )
        for key, default, options in (
            ("cca_shared", 5, tuple(range(1, 11))),
            ("cca_view_noise", 0.5, tuple(k / 10 for k in range(21))),
            ("cca_columns", 50, (10, 20, 50, 100)),
            ("cca_total", 20_000, PEOPLE[3:]),
        )
    },
    "cca_pairs": Number(
        page="cca",
        control="slider",
        low=1,
        high=10,
        default=3,
        offered="a whole number from 1 to 10 or to the columns of the smaller view",
    ),
    "cca_protocols": OneOf(
        page="cca",
        control="pills",
        default=[TITLES["pooled"]],
        options=tuple(TITLES.values()),
        several=True,
    ),
    "cca_people": OneOf(
        page="cca",
        control="select_slider",
        default=EVERYBODY,
        options=(*PEOPLE, EVERYBODY),
        offered=f"{EVERYBODY} or a step of its slider that the data have people for",
    ),
    "cca_directions": Number(
        page="cca",
        control="slider",
        low=1,
        high=MOST_FEATURES,
        offered="a whole number from 1 to the columns of both views",
    ),
    "cca_floor": OneOf(
        page="cca",
        control="select_slider",
        default="auto",
        options=("auto", 0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
        label=lambda floor: floor if floor == "auto" else f"{floor:g}",
    ),
    "cca_share": Number(
        page="cca", control="slider", low=0.1, high=0.9, default=0.5, step=0.1, whole=False
    ),
    "cca_only": Switch(page="cca"),
}
