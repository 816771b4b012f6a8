"""Every parameter an address may have: kinds, ranges, defaults, words."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar

import streamlit as st

from dpcore.audit_cases.attack import CONFIDENCE, cases_by_family, slug_of
from dpcore.data import dataset_status
from dpcore.data.dataset import read_limits
from dpcore.data.loading import CATALOG
from dpcore.data.pictures import VIEWS
from dpcore.data.splits import MOST_SITES
from dpcore.errors import ParameterError
from dpcore.experiments.cca_runs import SYNTHETIC, TITLES, CcaSpec
from dpcore.experiments.central_runs import ComplexitySpec
from dpcore.experiments.classification_runs import (
    SHARE_STEPS,
    ClassificationSpec,
)
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.statistic_runs import StatisticSpec, usual_bounds
from dpcore.papers.dpdispca import FIGURES
from dpcore.papers.nips2012 import FIGURES_2012
from dpcore.params import (
    EPSILONS,
    LARGEST_BOUND,
    LARGEST_SEED,
    PEOPLE_PER_SITE,
    axes,
    kind_of,
    params,
)
from dpcore.pca.protocols.protocol import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import PRECISIONS
from dpcore.privacy import Adversary
from dpcore.teaching.adversary_test import REACH
from dpcore.teaching.algorithm1 import FORMER_STEPS, STEP_TITLES
from dpcore.teaching.tutorials import TUTORIALS
from pages.shell import own_table
from pages.shell.lessons import NO_STORY, STORIES
from pages.shell.streamlit_internals import DeltaGenerator
from pages.widgets import glossary

# How the table of parameters words its options, and how far the data sets reach.

EVERYBODY = "all"
NUMERIC = tuple(entry for entry in CATALOG.values() if entry.default_components is not None)
MOST_FEATURES = max(entry.n_features for entry in CATALOG.values())
MOST_PEOPLE = max(entry.n_samples for entry in CATALOG.values())


def between_sites() -> tuple[str, ...]:
    """Protocols that start from rows at sites, as the register is now."""
    return tuple(key for key, entry in PROTOCOLS.items() if entry.has_sites)


def of_matrices() -> tuple[str, ...]:
    """Protocols that release eigenvalues too, by everybody's rows or by sites.

    "pooled" is Analyze Gauss by another name.
    """
    noisy = [k for k, each in PROTOCOLS.items() if each.has_sites and each.noise and k != "pooled"]
    return ("ag", *sorted(noisy, key=lambda key: PROTOCOLS[key].is_distributed))


def to_learn_with() -> tuple[str, ...]:
    """Protocols that find a subspace for a classifier.

    A site alone trains on nobody else, and "pooled" is Analyze Gauss by another name.
    """
    where = (Where.HOLDER, Where.EVERY_SITE)
    found = [k for k, entry in PROTOCOLS.items() if entry.noise and entry.where in where]
    return ("ag", *(key for key in found if key != "ag"))


def title_of(key: str) -> str:
    return PROTOCOLS[key].title


def plain(number: float) -> str:
    """A number as people write it: no exponent, no trailing zeros."""
    return f"{number:,.10f}".rstrip("0").rstrip(".")


def or_infinity(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else plain(epsilon)


def percent(share: float) -> str:
    return f"{share:.0%}"


def thousands(n: int) -> str:
    return f"{n:,}"


# What an address may say of a control: its kinds, how they are read, spelled and drawn.

# Words of more options than these would be longer than the page's own sentences.
_MOST_TOLD = 8
# Numbers or words, separated by commas.
_LIST = re.compile(r"(?:[^\W_]|[\s.,;+%/∞-])*")
# What is longer stays out of the address, in the session alone.
LONGEST_WRITTEN = 1_000


@dataclass(frozen=True)
class Parameter(ABC):
    """One parameter of the address: its control with its title and help, its default, its page.

    `page` is empty for the controls of the sidebar, which are drawn on every page. `words` says
    what the address may ask for; the kind words it where they are left out.
    """

    control: str
    title: str = ""
    default: Any = None
    _: KW_ONLY
    help: str | None = None
    page: str = ""
    words: str = ""

    @property
    def offered(self) -> str:
        """What the address may ask for, in words."""
        return self.words or self._in_words()

    @abstractmethod
    def _in_words(self) -> str: ...

    @abstractmethod
    def read(self, name: str, written: Sequence[str]) -> list[str]:
        """What the address says, as Streamlit's control spells it.

        Raises `ParameterError` naming the parameter and what it may be, if the control could not
            take it.
        """

    @abstractmethod
    def spelled(self, value: Any) -> list[str]:
        """A control's value as the address spells it."""

    @abstractmethod
    def value(self, spelled: Sequence[str]) -> Any:
        """What `spelled` has spelled."""

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What Streamlit's control is called with, besides its title and help."""

    def _refuse(self, name: str, written: Sequence[str]) -> ParameterError:
        return ParameterError(name, self.offered, ", ".join(written))


@dataclass(frozen=True)
class OneOf(Parameter):
    """One of some options, or with `several` any of them.

    An address may write an option as its label or as its value, in upper or lower case, and
    numbers in any way that means the same; `renamed` has what options were called before. Options
    that a function lists are listed whenever they are asked for; a mapping has their labels too.
    """

    options: Sequence[Any] | Mapping[Any, str] | Callable[[], Sequence[Any]] = ()
    _: KW_ONLY
    label: Callable[[Any], str] = str
    several: bool = False
    renamed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.options, Mapping):
            object.__setattr__(self, "label", self.options.__getitem__)

    @property
    def offers(self) -> Sequence[Any]:
        """The options there are now."""
        return self.options() if callable(self.options) else tuple(self.options)

    def _in_words(self) -> str:
        told = [str(option) for option in self.offers]
        if len(told) > _MOST_TOLD:
            ends = (self.label(self.offers[end]) for end in (0, -1))
            return f"{' to '.join(ends)}, as its control offers"
        return " or ".join(filter(None, (", ".join(told[:-1]), told[-1])))

    def read(self, name: str, written: Sequence[str]) -> list[str]:
        asked = [part for part in written if part] if self.several else written[-1:]
        found = [self._label_of(part.strip().casefold()) for part in asked]
        if None in found:
            raise self._refuse(name, written)
        return list(dict.fromkeys(filter(None, found))) or [""]

    def spelled(self, value: Any) -> list[str]:
        values = value if self.several else [value]
        return [self.label(one) for one in values] or [""]

    def value(self, spelled: Sequence[str]) -> Any:
        by_label = {self.label(option): option for option in self.offers}
        values = [by_label[one] for one in spelled if one in by_label]
        return values if self.several else values[0]

    def arguments(self) -> dict[str, Any]:
        given = {"options": self.offers, "format_func": self.label}
        if self.control == "selectbox":
            listed = list(self.offers)
            return given | {"index": listed.index(self.default) if self.default in listed else 0}
        if self.several:
            several = {"selection_mode": "multi"} if self.control == "pills" else {}
            return given | {"default": self.default} | several
        if self.control == "select_slider":
            return given | {"value": self.default}
        return given | {"default": self.default, "required": True}

    def _label_of(self, written: str) -> str | None:
        written = self.renamed.get(written, written)
        number = _number(written)
        for option in self.offers:
            label = self.label(option)
            if written in (label.casefold(), str(option).casefold()):
                return label
            if number is not None and isinstance(option, int | float) and option == number:
                return label
        return None


@dataclass(frozen=True)
class Number(Parameter):
    """A number from `low` to `high`, whole or not."""

    _: KW_ONLY
    low: float
    high: float
    whole: bool = True
    step: float | None = None

    def _in_words(self) -> str:
        return f"a {'whole number' if self.whole else 'number'} from {self.low:,} to {self.high:,}"

    def read(self, name: str, written: Sequence[str]) -> list[str]:
        number = _number(written[-1])
        if number is None or not self.low <= number <= self.high:
            raise self._refuse(name, written)
        if self.whole and number != int(number):
            raise self._refuse(name, written)
        return self.spelled(int(number) if self.whole else number)

    def spelled(self, value: Any) -> list[str]:
        return [str(int(value)) if value == int(value) else repr(float(value))]

    def value(self, spelled: Sequence[str]) -> float:
        return int(spelled[0]) if self.whole else float(spelled[0])

    def arguments(self) -> dict[str, Any]:
        given = {"min_value": self.low, "max_value": self.high, "value": self.default}
        return given if self.step is None else given | {"step": self.step}


@dataclass(frozen=True)
class Switch(Parameter):
    """On or off."""

    control: str = field(default="toggle", kw_only=True)
    default: Any = False
    _WRITTEN: ClassVar[dict[str, str]] = {
        "true": "true", "1": "true", "on": "true", "yes": "true",
        "false": "false", "0": "false", "off": "false", "no": "false",
    }  # fmt: skip

    def _in_words(self) -> str:
        return "true or false"

    def read(self, name: str, written: Sequence[str]) -> list[str]:
        value = self._WRITTEN.get(written[-1].strip().casefold())
        if value is None:
            raise self._refuse(name, written)
        return [value]

    def spelled(self, value: Any) -> list[str]:
        return [str(value).lower()]

    def value(self, spelled: Sequence[str]) -> bool:
        return spelled == ["true"]

    def arguments(self) -> dict[str, Any]:
        return {"value": self.default}


@dataclass(frozen=True)
class Text(Parameter):
    """Words that their page reads: a list of values, or a name that only the data know."""

    _: KW_ONLY
    longest: int = 500
    several: bool = False
    is_list: bool = False

    def _in_words(self) -> str:
        kind = "numbers or words, separated by commas, in " if self.is_list else ""
        return f"{kind}at most {self.longest} characters"

    def read(self, name: str, written: Sequence[str]) -> list[str]:
        asked = list(written) if self.several else list(written[-1:])
        if sum(map(len, asked)) > self.longest or any("\x00" in part for part in asked):
            raise self._refuse(name, written)
        if self.is_list and not all(map(_LIST.fullmatch, asked)):
            raise self._refuse(name, written)
        return asked

    def spelled(self, value: Any) -> list[str]:
        return [str(one) for one in value] or [""] if self.several else [str(value)]

    def value(self, spelled: Sequence[str]) -> Any:
        return list(spelled) if self.several else spelled[0]

    def arguments(self) -> dict[str, Any]:
        if not self.control.startswith("text_"):
            # Its options are the data's to give.
            return {}
        return {"value": self.default, "max_chars": self.longest}


@dataclass(frozen=True)
class Limits(Text):
    """Limits of columns that some data set has, as `read_limits` reads them."""

    def read(self, name: str, written: Sequence[str]) -> list[str]:
        asked = super().read(name, written)
        read_limits(asked[0], [each for entry in CATALOG.values() for each in entry.ranges])
        return asked


def of_page(page: str, declared: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters that belong to a page."""
    return {name: replace(parameter, page=page) for name, parameter in declared.items()}


def _number(written: str) -> float | None:
    try:
        number = float(written)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# Controls of parameters that a spec declares.


def control_of(
    spec: type, name: str, options: Callable[[], Sequence[Any]] | None = None
) -> Parameter:
    """The control of a parameter, as the field of a spec declares it.

    options: Lists what is offered, where that is another thing at another time.
    """
    declared, kind = params(spec)[name], kind_of(spec, name)
    usual = getattr(spec, name) if declared.usual is None else declared.usual
    said: dict[str, Any] = {"help": declared.help or None, "words": declared.words}
    if kind is bool:
        return Switch(title=declared.title, default=usual, **said)
    if declared.steps:
        first, last = declared.steps[0], declared.steps[-1]
        said["words"] = said["words"] or f"a step of its slider, {first:g} to {last:g}"
        label = declared.label or plain
        return OneOf("select_slider", declared.title, usual, declared.steps, label=label, **said)
    if offered := options or declared.offered or declared.choices:
        return OneOf(
            declared.control or "segmented_control",
            declared.title,
            usual,
            offered,
            label=declared.label or str,
            renamed=declared.renamed,
            **said,
        )
    high = declared.high if declared.up_to is None else declared.up_to
    if declared.low is None or high is None:
        return Text("text_input", declared.title, usual, **said)
    return Number(
        declared.control or "slider",
        declared.title,
        usual,
        low=declared.low,
        high=high,
        whole=kind is int,
        **said,
    )


def controls_of(spec: type, place: str) -> dict[str, Parameter]:
    """The controls of one group, by their names in an address."""
    return {
        declared.address or name: control_of(spec, name)
        for name, declared in params(spec).items()
        if declared.place == place
    }


# The controls every page's address may set, in the order in which the sidebar draws them.

FIRST: dict[str, Parameter] = {
    "dataset": OneOf(
        "selectbox",
        "Data set",
        "mnist-small",
        # Named as the address names them, so that ?dataset=mnist works on any machine.
        lambda: (*(entry.name for entry in NUMERIC), *own_table.names()),
        label=own_table.shown_name,
        words="a data set of the list",
    ),
    "protocols": OneOf(
        "pills",
        "Protocols",
        ["dpdis", "local", "pooled"],
        between_sites,
        label=title_of,
        several=True,
        words="protocols of the list",
    ),
    **controls_of(RunSpec, "first"),
    # A spec has how many there are in all.
    "people": OneOf(
        "select_slider",
        "Rows at each site",
        EVERYBODY,
        (*PEOPLE_PER_SITE, EVERYBODY),
        help="“all” shares everybody out among the sites.",
        words=f"{EVERYBODY} or a step of its slider that the data set has rows for",
    ),
}
ADVANCED = controls_of(RunSpec, "advanced") | controls_of(RunSpec, "last")
# Whether the table itself says who is where, is known when it is there.
ADVANCED["split"] = control_of(RunSpec, "split", own_table.splits)
DRAWS = controls_of(RunSpec, "runs") | {"compare": Switch("Compare with the published choices")}
# Other public limits than the catalogue's, from an address: never drawn where one can see it.
LIMITS: dict[str, Parameter] = {
    "limits": Limits(
        "text_input",
        "Limits of columns",
        "",
        longest=LONGEST_WRITTEN,
        words="of columns that there are, a lower limit before an upper, as in name=0:1",
    )
}
SIDEBAR = FIRST | ADVANCED | DRAWS | LIMITS
DEFAULTS = {
    name: parameter.default for name, parameter in SIDEBAR.items() if parameter.default is not None
}


# What the pages that learn from people ask: statistics of a column, and classification.

STATISTICS: dict[str, Parameter] = {
    "stat_source": OneOf(
        "segmented_control",
        "Numbers from",
        "column",
        {"column": "A column of the data set", "typed": "Typed numbers"},
    ),
    "stat_numbers": Text(
        "text_area",
        "One number a person",
        "23, 35, 41, 62, 58, 30, 71, 47, 19, 52, 38, 66, 44, 29, 55, 60, 33, 48, 26, 50",
        help="Up to a thousand characters stand in the address, like everything here: anyone "
        "who gets the link gets them.",
        longest=10_000,
        is_list=True,
    ),
    "stat_kind": control_of(StatisticSpec, "kind"),
    "stat_mechanism": control_of(StatisticSpec, "mechanism"),
    "stat_bins": control_of(StatisticSpec, "bins"),
    "stat_error": OneOf(
        "select_slider",
        "Error, as a share of the range",
        0.01,
        (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
        label=lambda value: f"{value:.2%}".replace("0%", "%").replace(".0%", "%"),
    ),
    "stat_mistake": Switch("Take the edges from the data instead"),
    **{
        f"stat_column_{entry.name}": Text("selectbox", "Column", words="a column of the data set")
        for entry in NUMERIC
    },
    **{
        f"stat_{end}_{source or 'typed'}": Number(
            "number_input",
            f"Public {side} bound",
            bound,
            low=-LARGEST_BOUND,
            high=LARGEST_BOUND,
            whole=False,
        )
        for source in (None, *(entry.name for entry in NUMERIC))
        for end, side, bound in zip(
            ("low", "high"), ("lower", "upper"), usual_bounds(source), strict=True
        )
    },
}
ERROR_VIEW, SPLIT_VIEW, INSIDE_VIEW = "error", "split", "inside"
TWO, REST, ALL = "two", "rest", "all"
# A rule that reads public numbers alone.
BY_RULE = "by rule"
CLASSIFICATION: dict[str, Parameter] = {
    "class_view": OneOf(
        "segmented_control",
        "View",
        ERROR_VIEW,
        {ERROR_VIEW: "Error against ε", SPLIT_VIEW: "Split the budget", INSIDE_VIEW: "Look inside"},
    ),
    "class_protocol": OneOf(
        "selectbox", "Private subspace by", "ag", to_learn_with, label=title_of
    ),
    "class_model": control_of(ClassificationSpec, "model"),
    "class_task": OneOf(
        "pills",
        "Tell apart",
        TWO,
        {TWO: "Two classes", REST: "One against the rest", ALL: "All classes"},
    ),
    **{
        key: Text("selectbox", title, words="a class of the data set")
        for key, title in (("class_one", "Class"), ("class_other", "From"))
    },
    "class_pca_share": control_of(ClassificationSpec, "pca_share"),
    "class_preparation": control_of(ClassificationSpec, "preparation"),
    "class_centring_share": OneOf(
        "select_slider",
        "Share of ε for the private mean",
        BY_RULE,
        (BY_RULE, *SHARE_STEPS),
        help=params(ClassificationSpec)["centring_share"].help,
        label=lambda share: share if share == BY_RULE else percent(share),
    ),
    "class_people": Text(
        "selectbox", "Rows to learn from", words="everybody or a number of rows of its list"
    ),
    "class_sites": control_of(ClassificationSpec, "sites"),
    "class_regularization": control_of(ClassificationSpec, "regularization"),
    "class_draws": control_of(ClassificationSpec, "repetitions"),
    "class_pipeline": control_of(ClassificationSpec, "pipeline"),
    "class_as_printed": Switch(
        "PCA noise as the poster prints it",
        help="σ = √(2 ln(1.25/δ)) / (n ε) on the upper triangle, components by magnitude. Its "
        "exact ε is another one; see what it promises.",
    ),
}


# What may vary on the Trade-offs page, and which settings may be compared.

SETTINGS = {
    name: (declared.compared, declared.choices)
    for name, declared in params(RunSpec).items()
    if declared.compared
}
AXES = axes(RunSpec)


# What the pages under Explore ask.

CUT_NAMES = ("top and bottom", "left and right", "halves of the columns", "chosen columns")
# Of directions, and of people: which pictures a tab shows.
SHOWN_OF_DIRECTIONS = ("what it responds to", "weights")
SHOWN_OF_PEOPLE = ("groups: pair 1 against pair 2", "correlation: one view against the other")
CCA_PEOPLE = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)

# The first is open: it costs no budget, as components at several ε do.
PLAY_TABS = {
    "guarantee": "Guarantee",
    "components": "Components",
    "spectrum": "Spectrum",
    "axis": "Other axes",
    "messages": "Messages",
    "quality": "How good is it?",
}
PLAY: dict[str, Parameter] = {
    "play_tab": OneOf("segmented_control", "More about this setting", "guarantee", PLAY_TABS),
    "play_axis": OneOf(
        "pills",
        "What varies",
        "people_per_site",
        {name: axis.title for name, axis in AXES.items() if name != "epsilon"}
        | {"bytes": "bytes a site sends", "needed": "rows needed"},
        renamed={"people per site": "people_per_site"},
    ),
    "ask_sites": Switch(
        "Ask the sites of DPdisPCA once more",
        help="Each decomposes the whole of its noisy matrix: some seconds in all.",
    ),
}
EIGEN_IMAGES: dict[str, Parameter] = {
    "method": OneOf("pills", "Found by", "ag", of_matrices, label=title_of),
    "epsilons": OneOf(
        "multiselect",
        "Asked ε, one row each",
        [10.0, 2.0, 0.1],
        (math.inf, *reversed(EPSILONS)),
        label=or_infinity,
        several=True,
        words="values of its list, ∞ to 0.001",
    ),
    "person": Number(
        "number_input",
        "Row",
        0,
        low=0,
        high=MOST_PEOPLE - 1,
        words="a whole number below the number of rows",
    ),
    "rebuilt_from": Number(
        "slider", "From the first k components", low=1, high=100, words="a whole number from 1 to K"
    ),
    "component_shown": OneOf("segmented_control", "Component", 1, range(1, 11)),
}
CENTRAL: dict[str, Parameter] = {
    "central_variants": Switch(
        "Every variant of Analyze Gauss",
        help="Three calibrations and two shapes of noise, beside the one that the settings name.",
    ),
}
SAMPLE_COMPLEXITY: dict[str, Parameter] = {
    "complexity_correlation": control_of(ComplexitySpec, "correlation"),
    "complexity_gap": control_of(ComplexitySpec, "gap"),
}
_VIEW_TITLES = {name: f"{name}: {view[0]} features" for name, view in VIEWS.items()}
CCA: dict[str, Parameter] = {
    "cca_data": OneOf(
        "selectbox",
        "Two views of",
        "digits",
        lambda: (*CATALOG, SYNTHETIC, *own_table.names()),
        label=own_table.shown_name,
        words="a data set of the list",
    ),
    **{
        key: OneOf("pills", "Cut into", options[0], options)
        for key, options in (("cca_cut", CUT_NAMES), ("cca_table", CUT_NAMES[2:]))
    },
    **{
        key: OneOf("selectbox", title, default, _VIEW_TITLES)
        for key, title, default in (("cca_x", "First view", "fou"), ("cca_y", "Second view", "kar"))
    },
    **{
        key: Text(
            "multiselect",
            title,
            [],
            help=told,
            longest=20_000,
            several=True,
            words="columns of the data set",
        )
        for key, title, told in (
            ("cca_x_columns", "Columns of the first view", None),
            ("cca_y_columns", "Columns of the second view", "All others where you choose none."),
        )
    },
    **{
        key: OneOf("select_slider", title, default, options, label=plain)
        for key, title, default, options in (
            ("cca_shared", "Shared dimension", 5, tuple(range(1, 11))),
            ("cca_view_noise", "Noise of a view", 0.5, tuple(k / 10 for k in range(21))),
            ("cca_columns", "Columns a view", 50, (10, 20, 50, 100)),
            ("cca_total", "People", 20_000, CCA_PEOPLE[3:]),
        )
    },
    "cca_pairs": control_of(CcaSpec, "components"),
    "cca_protocols": OneOf(
        "pills",
        "Released by (the first is shown in pictures)",
        [TITLES["pooled"]],
        tuple(TITLES.values()),
        help="Pooled is the poster's: one trusted holder adds noise once. In the others every "
        "site adds noise to its own joint moment before anything is sent.",
        several=True,
    ),
    "cca_people": OneOf(
        "select_slider",
        "Rows N",
        EVERYBODY,
        (*CCA_PEOPLE, EVERYBODY),
        words=f"{EVERYBODY} or a step of its slider that the data have rows for",
    ),
    "cca_directions": control_of(CcaSpec, "intermediate_dim"),
    "cca_floor": OneOf(
        "select_slider",
        "Eigenvalue floor of the noisy joint moment",
        "auto",
        ("auto", 0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
        help="“auto” ties it to the noise. Without a floor, noise is whitened into "
        "correlations near 1.",
        label=lambda floor: floor if floor == "auto" else f"{floor:g}",
    ),
    "cca_share": Number(
        "slider",
        "Part of a row's squared length given to the first view",
        0.5,
        low=0.1,
        high=0.9,
        step=0.1,
        whole=False,
    ),
    "cca_only": Switch(
        "Release only the directions",
        help="Nobody is projected and nobody clustered: what is left on the page about the "
        "private result is what the guarantee covers.",
    ),
    "cca_kind": OneOf(
        "segmented_control",
        "Show of each direction",
        SHOWN_OF_DIRECTIONS[0],
        SHOWN_OF_DIRECTIONS,
        help="Weights are what a row is multiplied with. What a direction responds to is the "
        "covariance of each column with its score, which is easier to read.",
    ),
    "cca_cloud": OneOf("segmented_control", "Show", SHOWN_OF_PEOPLE[0], SHOWN_OF_PEOPLE),
}
TRADEOFFS: dict[str, Parameter] = {
    "tradeoffs_field": OneOf(
        "selectbox",
        "What varies",
        "epsilon",
        {name: axis.title for name, axis in AXES.items()},
        renamed={"r / k": "intermediate_ratio", "people per site": "people_per_site"},
    ),
    **{
        f"tradeoffs_values_{name}": Text(
            "text_input", f"Values of {axis.title}, separated by commas", axis.values, is_list=True
        )
        for name, axis in AXES.items()
    },
    "tradeoffs_datasets": OneOf(
        "multiselect", "Also on", [], tuple(entry.name for entry in NUMERIC), several=True
    ),
    "tradeoffs_published": Switch(
        "Also with the published choices",
        help="Every choice of Algorithm 1 as printed, as dotted lines.",
    ),
    **{
        f"tradeoffs_{name}": OneOf(
            "pills",
            title,
            [],
            tuple(options),
            help="Every combination of what is picked, each with a dash of its own; none picked "
            "stands for the sidebar's.",
            several=True,
        )
        for name, (title, options) in SETTINGS.items()
    },
}
BYTES: dict[str, Parameter] = {
    "bytes_precisions": OneOf(
        "pills",
        "Proxies shown in",
        ["float32", "int8"],
        PRECISIONS,
        help="How many bits each number of a proxy is sent in. All are computed.",
        label=lambda name: "8 bits" if name == "int8" else name,
        several=True,
    )
}
# Followed on every page.
STORY: dict[str, Parameter] = {
    "story": OneOf(
        "selectbox",
        "Story",
        NO_STORY,
        (NO_STORY, *STORIES),
        words=f"{NO_STORY} or one of {', '.join(STORIES)}",
    )
}
EXPLORE = (
    STORY
    | of_page("play", PLAY)
    | of_page("eigen_images", EIGEN_IMAGES)
    | of_page("central", CENTRAL)
    | of_page("sample_complexity", SAMPLE_COMPLEXITY)
    | of_page("statistics", STATISTICS)
    | of_page("classification", CLASSIFICATION)
    | of_page("cca", CCA)
    | of_page("tradeoffs", TRADEOFFS)
    | of_page("bytes", BYTES)
)


# What the pages under Learn ask.

PROMISE = {
    "promise_calibration": OneOf(
        "segmented_control",
        "Noise calibrated by",
        "analytic",
        ("analytic", "classic", "published"),
        help="Analytic is the least noise that keeps the promise. Classic is proven up to ε = 1. "
        "Published is the formula of the DPdisPCA paper.",
    ),
    "promise_threshold": Number(
        "slider",
        "Threshold, in units of the noise",
        help="Above it the adversary says the data held your row.",
        low=-REACH,
        high=1000.0,
        step=0.1,
        whole=False,
        words="a number its slider reaches",
    ),
    "promise_false_alarms": Number(
        "slider",
        "Of 100 people who are not in the data, the attacker wrongly accuses",
        5,
        low=1,
        high=50,
        help="An attacker who accuses more readily catches more people, and wrongs more.",
    ),
    "promise_prior": Number(
        "slider", "Belief before that it is you, in percent", 10, low=1, high=99
    ),
    "promise_angle": Number(
        "slider",
        "Where one person stands, in degrees",
        70,
        low=-90,
        high=90,
        step=2,
        help="She started at 0°, at the right.",
    ),
}
ALGORITHM = {
    "step": OneOf(
        "segmented_control",
        "Go to",
        "rows",
        STEP_TITLES,
        renamed=FORMER_STEPS,
    ),
    "step_site": Number(
        "number_input",
        "Site in view",
        1,
        low=1,
        high=MOST_SITES,
        words="a whole number from 1 to the number of sites",
    ),
}
SAMPLER = {
    "sampler_sweeps": OneOf(
        "select_slider", "Sweeps", 128, (8, 16, 32, 64, 128, 256, 512, 1024, 2048), label=thousands
    ),
    "sampler_chains": OneOf("segmented_control", "Chains", 4, (4, 8, 16)),
}
TUTORIAL = {
    "tutorial": OneOf(
        "pills", "Tutorial", "mean", {name: each.title for name, each in TUTORIALS.items()}
    ),
    "tutorial_epsilon": OneOf(
        "select_slider",
        "ε in the code",
        1.0,
        tuple(value for value in EPSILONS if 0.01 <= value <= 20),
        label=plain,
    ),
}
AUDIT = {
    "audit_confidence": OneOf(
        "select_slider",
        "Confidence",
        CONFIDENCE,
        (0.9, 0.95, 0.99, 0.999, 0.9999),
        label=lambda share: f"{100 * share:g} %",
    ),
    "audit_seed": Number("number_input", "Seed", 0, low=0, high=LARGEST_SEED),
}
LEARN = (
    of_page("promise", PROMISE)
    | of_page("algorithm", ALGORITHM)
    | of_page("sampler", SAMPLER)
    | of_page("tutorials", TUTORIAL)
    | of_page("audit", AUDIT)
)


def key_of(family: str) -> str:
    """What the controls of a family of mechanisms are called after."""
    return slug_of(family).replace("-", "_")


def of_audit() -> dict[str, Parameter]:
    """What the audit asks of its mechanisms, which take a second to list."""
    return _of_attacked(tuple(PROTOCOLS))


@cache
def _of_attacked(_: tuple[str, ...]) -> dict[str, Parameter]:
    families = cases_by_family()
    found: dict[str, Parameter] = {
        "audit_family": OneOf(
            "pills",
            "Family",
            next(iter(families)),
            tuple(families),
            help="Flawed mechanisms were published or shipped, and are kept for teaching: nothing "
            "else in the lab can use them. Sound ones claim what they hold, and are attacked as "
            "they are released.",
        ),
        "audit_adversary": OneOf(
            "pills",
            "Adversary",
            # Short enough for three beside one another on a phone.
            options={
                str(Adversary.OUTSIDER): "Outsider",
                str(Adversary.AGGREGATOR): "Aggregator",
                str(Adversary.SITE): "Participating site",
            },
            help="Everybody here knows all rows but one. They differ in what else they see: an "
            "outsider has the result, an aggregator every message, a site that takes part its own "
            "noise besides.",
            words="an adversary who attacks the mechanism",
        ),
    }
    for family, cases in families.items():
        found[f"audit_{key_of(family)}"] = OneOf(
            "selectbox",
            "Mechanism",
            next(iter(cases)),
            {key: case.name for key, case in cases.items()},
            words="a mechanism of the list",
        )
        found[f"audit_trials_{key_of(family)}"] = OneOf(
            "select_slider",
            "Trials",
            options=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
            label=thousands,
        )
    return of_page("audit", found)


CLASSROOM: dict[str, Parameter] = of_page(
    "classroom",
    {
        "room": Text(
            "text_input",
            "Room code",
            "",
            help="Six digits, on the wall of the class.",
            longest=16,
        ),
        "projector": Switch("Show the projector's view"),
    },
)


# What the pages under Use ask, and what an address says of a presentation on every page.

WANTED = {
    "epsilon": "the smallest ε",
    "people_per_site": "the fewest rows per site",
    "intermediate_dim": "the smallest R",
    "sites": "the most sites",
}
EVERY_PROTOCOL = "every"
# Two draws could tell nothing from luck, whatever their difference.
PANEL_DRAWS = {"quick": 3, "as published": 10}
REPAIRED = "analytic, isometric, psd"


def panel_groups() -> dict[str, list[str]]:
    """Published panels by what they plot."""
    found: dict[str, list[str]] = {}
    for name, figure in FIGURES.items():
        found.setdefault(figure.title.partition(",")[0], []).append(name)
    return found


def panel_label(name: str) -> str:
    """A panel and its data set."""
    return f"{name}: {dataset_status(FIGURES[name].base.dataset).title}"


def _panels(number: int) -> list[str]:
    return list(panel_groups().values())[number]


DECIDE = {
    "decide_target": Number(
        "slider", "What must survive: share of the pattern, in %", 90, low=50, high=99
    ),
    "decide_trust": OneOf(
        "segmented_control",
        "Whom do we trust?",
        "nobody",
        {
            "nobody": "Nobody",
            "other_sites": "The other sites, with their masks",
            "holder": "One team, with every row",
        },
    ),
    "decide_report": OneOf(
        "segmented_control", "Ten example reports: step through them", 1, tuple(range(1, 11))
    ),
}
PLAN = {
    "plan_target": Number(
        "slider", "Target: how much of the pattern should survive, in %", 75, low=50, high=99
    ),
    "plan_find": OneOf(
        "selectbox",
        "Find",
        "epsilon",
        WANTED,
        renamed={"the fewest people per site": "people_per_site"},
    ),
    "plan_protocol": OneOf(
        "selectbox",
        "Over",
        EVERY_PROTOCOL,
        lambda: (EVERY_PROTOCOL, *between_sites()),
        help="Every protocol is tried on the sphere, bounded and not centred; pictures with and "
        "without their lowest frequencies.",
        label=lambda key: "every protocol" if key == EVERY_PROTOCOL else title_of(key),
    ),
}
REPRODUCE: dict[str, Parameter] = {
    "reproduce_group": OneOf(
        "selectbox", "What is plotted", next(iter(panel_groups())), lambda: tuple(panel_groups())
    ),
    **{
        f"reproduce_panel_{number}": OneOf(
            "selectbox", "Panel", names[0], partial(_panels, number), label=panel_label
        )
        for number, names in enumerate(panel_groups().values())
    },
    "reproduce_draws": OneOf(
        "segmented_control",
        "Runs",
        "quick",
        {key: f"{draws}, {key}" for key, draws in PANEL_DRAWS.items()},
    ),
    "reproduce_repaired": Switch(
        f"Also with {REPAIRED}",
        help="The calibration that is exact, the noise that is least, and strongly negative noise "
        "cut; drawn dotted.",
    ),
}
REPRODUCE_2012 = {
    "reproduce_2012_figure": OneOf(
        "selectbox",
        "Figure",
        "2012-fig2",
        {name: each.title.removeprefix("2012, ") for name, each in FIGURES_2012.items()},
    ),
    "reproduce_2012_draws": OneOf(
        "segmented_control", "How many times", "quick", ("quick", "as published")
    ),
}
# More than anybody sits through.
MOST_PINS = 60
PRESENTING: dict[str, Parameter] = {
    "present": Switch("Presenter mode"),
    "slide": Number("number_input", "Slide of the deck", 0, low=0, high=MOST_PINS),
}
# Numbers of pins, whichever there are.
_PIN = tuple(range(1, MOST_PINS + 1))
DECK: dict[str, Parameter] = {
    "deck_a": OneOf("selectbox", "A", 1, _PIN),
    "deck_b": OneOf("selectbox", "B", 2, _PIN),
}
USE = (
    PRESENTING
    | of_page("deck", DECK)
    | of_page("decide", DECIDE)
    | of_page("plan", PLAN)
    | of_page("reproduce", REPRODUCE)
    | of_page("reproduce_2012", REPRODUCE_2012)
)


# Every parameter an address may have: one table that controls, checks and tests read.

# Of the controls that this session has drawn, and of those that this run has.
_USUAL, _DRAWN = "_usual", "_drawn"
DECLARED = SIDEBAR | LEARN | CLASSROOM | EXPLORE | USE


def parameters() -> dict[str, Parameter]:
    """Every parameter by its name."""
    return DECLARED | of_audit()


def find(name: str) -> Parameter | None:
    """The parameter of this name; None where no page knows it.

    What the audit offers takes a second to list, and is listed where an address asks for it.
    """
    if name not in DECLARED and name.startswith("audit_"):
        return of_audit().get(name)
    return DECLARED.get(name)


def known(name: str) -> Parameter:
    """The parameter of this name, which some page has."""
    found = find(name)
    if found is None:
        raise KeyError(name)
    return found


def ask(name: str, place: DeltaGenerator | None = None, **differently: Any) -> Any:
    """Draw a parameter's control, bound to the address; what it says.

    `differently` overrides what is declared where the data or another control decide.
    """
    parameter = known(name)
    # What it does, and what the terms in its title mean.
    told = (parameter.help, glossary.told(parameter.title))
    declared = {"label": parameter.title, "help": "\n\n".join(filter(None, told)) or None}
    declared |= parameter.arguments()
    given = declared | {"key": name, "bind": "query-params"} | differently
    usual = given.get("default", given.get("value", parameter.default))
    if parameter.control == "selectbox":
        usual = given["options"][given.get("index", 0)]
    usual_values()[name] = usual
    drawn().add(name)
    return getattr(st if place is None else place, parameter.control)(**given)


def usual_values() -> dict[str, Any]:
    """What every control that this session has drawn stands at until somebody moves it."""
    values: dict[str, Any] = st.session_state.setdefault(_USUAL, {})
    return values


def drawn() -> set[str]:
    """The controls that this run has drawn so far."""
    names: set[str] = st.session_state.setdefault(_DRAWN, set())
    return names


def moved() -> dict[str, list[str]]:
    """Every control of this session that stands elsewhere than usual, as the address spells it."""
    # Each look into Streamlit's state costs as much as a dozen into a dictionary.
    stands = ((name, usual, st.session_state.get(name)) for name, usual in usual_values().items())
    return {
        name: spelled
        for name, usual, value in stands
        if value not in (usual, None)
        and sum(map(len, spelled := known(name).spelled(value))) <= LONGEST_WRITTEN
    }
