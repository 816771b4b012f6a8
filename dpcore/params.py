"""Parameters: declared once on a spec's field, and their limits.

`param` on a field of a spec is all that says of it what it is called, what it does and what it may
be. The spec's check, the options of the command line, the controls and the addresses of the pages,
the axes of sweeps and the table in the documentation read it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, get_type_hints

from dpcore.errors import ParameterError, require_one_of

EPSILONS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0,
)  # fmt: skip
# Of a data set with at most 10,000 rows (`usual_delta`).
USUAL_DELTA = 1e-5
DELTAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
PEOPLE_PER_SITE = (
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 6000, 10000, 20000, 30000, 60000,
)  # fmt: skip
MOST_REPETITIONS = 50
LARGEST_SEED = 2**31 - 1
# Of a public bound on a column, in the column's own units.
LARGEST_BOUND = 1e12
# Of people, sites, repetitions: more than there are data for, and exact as a float.
LARGEST_COUNT = 10**9
SMALLEST_CONCENTRATION, LARGEST_CONCENTRATION = 1e-3, 1e6
_KEY = "param"
_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def largest_delta(n_rows: int) -> float:
    """The largest power of ten that is at most 1 / (10 n).

    Raises `ParameterError` if the controls have none.
    """
    fitting = [delta for delta in DELTAS if delta <= 1 / (10 * n_rows)]
    if not fitting:
        raise ParameterError("people", f"at most {round(1 / (10 * min(DELTAS))):,}", n_rows)
    return max(fitting)


def usual_delta(n_rows: int) -> float:
    """A data set's delta until one is chosen: at most 1 / (10 n), and never above 1e-5.

    Beyond the steps of its control, the smallest of them.
    """
    most = min(USUAL_DELTA, 1 / (10 * n_rows))
    return next((delta for delta in DELTAS if delta <= most), DELTAS[-1])


@dataclass(frozen=True)
class Axis:
    """A parameter that a page may vary: how it is called, written and drawn; values to begin with.

    name: Of the field that a sweep varies, where that is not the parameter's own.
    """

    title: str
    axis: str
    at: str
    values: str
    name: str = ""
    whole: bool = False
    logarithmic: bool = True
    grows: bool = True
    least: float = math.ulp(0.0)

    def told(self, value: float) -> str:
        """A value with its name."""
        words = self.at.format(value)
        if value == 1:
            words = words.replace(" sites", " site").replace(" rows", " row")
        return words

    @property
    def kind(self) -> type:
        return int if self.whole else float


@dataclass(frozen=True, kw_only=True)
class Param:
    """What a field of a spec is, for everything that asks for it, checks it or explains it.

    title, help: In a page's words; `note` is what only the command line and the documentation add.
    low, high: Limits of a number; `constraint` words them where "from low to high" does not.
    choices: All values there are; `renamed` has what some were called before.
    place: Group of controls that it is drawn in; "" for what has none.
    address: Its name in an address, where that is not the field's.
    control: Streamlit's, where choices, steps or limits do not say.
    usual: What its control stands at first, where that is not the spec's default.
    steps, up_to, offered: Values that its control stops at; its largest; those of the choices, or
        examples, that it shows. `label` words them.
    words: What an address may ask for, where the control does not say.
    axis: Along which it varies.
    compared: What several of its choices are called where a page compares them; "" if none does.
    after_noise: It is what is done with the noise once that is drawn: in families that share draws,
        specs that differ in nothing else share one.
    """

    title: str
    help: str = ""
    note: str = ""
    low: float | None = None
    high: float | None = None
    constraint: str = ""
    choices: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    address: str = ""
    control: str = ""
    usual: Any = None
    steps: Sequence[float] = ()
    up_to: float | None = None
    offered: Sequence[str] = ()
    label: Callable[[Any], str] | None = None
    words: str = ""
    axis: Axis | None = None
    compared: str = ""
    after_noise: bool = False

    @property
    def explained(self) -> str:
        """All that is said of it, in one line."""
        return ". ".join(each.rstrip(".") for each in (self.title, self.help, self.note) if each)

    def present(self, choice: str) -> str:
        """A choice by its present name."""
        return self.renamed.get(choice, choice)

    def check(self, name: str, value: Any, kind: type) -> None:
        """Refuse a value that the parameter cannot have.

        Raises `ParameterError` naming it and what it may be.
        """
        if self.choices:
            require_one_of(name, value, self.choices)
        if self.low is None:
            return
        high = LARGEST_COUNT if self.high is None else self.high
        if kind is int:
            if not isinstance(value, Integral) or int(value) < self.low:
                raise ParameterError(name, f"a whole number of at least {self.low}", value)
            if int(value) > high:
                raise ParameterError(name, f"at most {high:,}", value)
        elif not isinstance(value, Real) or not self.low <= float(value) <= high:
            told = self.constraint or f"from {self.low:g} to {high:g}"
            raise ParameterError(name, told, value)


def param(default: Any, title: str, help: str = "", **more: Any) -> Any:
    """A field of a spec, declared with all that is said of it (`Param`)."""
    declared = Param(title=title, help=help, **more)
    return field(default=default, metadata={_KEY: declared})


def again(spec: type, name: str, default: Any = MISSING, **changes: Any) -> Any:
    """A field as another spec declares it, but for its default or some changes."""
    known = next(each for each in fields(spec) if each.name == name)
    declared = replace(known.metadata[_KEY], **changes)
    usual = known.default if default is MISSING else default
    return field(default=usual, metadata={_KEY: declared})


def params(spec: type) -> dict[str, Param]:
    """The declared fields of a spec's type, in the order of its fields."""
    return {each.name: each.metadata[_KEY] for each in fields(spec) if _KEY in each.metadata}


def kind_of(spec: type, name: str) -> type:
    """The type of a field; of "int | None" that is int."""
    hinted = _hints(spec)[name]
    if isinstance(hinted, UnionType):
        hinted = next(each for each in hinted.__args__ if each is not type(None))
    found: type = getattr(hinted, "__origin__", hinted)
    return found


def check_params(spec: Any) -> None:
    """Refuse a spec with a value that its field's declaration does not allow; None is allowed where
    it is the default. A choice under a former name gets its present one.

    Raises `ParameterError` naming the first of them.
    """
    kinds = type(spec)
    for each in fields(kinds):
        declared: Param | None = each.metadata.get(_KEY)
        if declared is None:
            continue
        value = getattr(spec, each.name)
        if declared.renamed:
            value = declared.present(value)
            object.__setattr__(spec, each.name, value)
        if value is not None or each.default is not None:
            declared.check(each.name, value, kind_of(kinds, each.name))


def after_noise(spec: type) -> tuple[str, ...]:
    """Fields of what is done with the noise once it is drawn."""
    return tuple(name for name, declared in params(spec).items() if declared.after_noise)


def axes(spec: type) -> dict[str, Axis]:
    """What a page may vary, by the name that a sweep has for it."""
    found = ((name, declared.axis) for name, declared in params(spec).items())
    return {axis.name or name: axis for name, axis in found if axis is not None}


def params_in_markdown(spec: type) -> str:
    """A table of a spec's parameters: name, default, what it may be, what it does."""
    lines = ["| parameter | default | may be | |", "| --- | --- | --- | --- |"]
    for each in fields(spec):
        declared: Param | None = each.metadata.get(_KEY)
        if declared is not None:
            cells = (f"`{each.name}`", f"`{each.default}`", _range(declared), declared.explained)
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def _range(declared: Param) -> str:
    if declared.choices:
        return ", ".join(f"`{choice}`" for choice in declared.choices)
    if declared.constraint or declared.low is None:
        return declared.constraint
    return f"from {declared.low:g}" + ("" if declared.high is None else f" to {declared.high:,g}")
