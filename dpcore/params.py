"""Declaration of the fields of specs, with their titles, texts, limits and controls.

A field of a spec is declared once, by `param`. The validation of specs, the options of the command
line, the controls and addresses of the pages, the axes of sweeps and the table in the documentation
read that declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, get_type_hints

from dpcore.errors import ParameterError, require_one_of

EPSILONS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0,
)  # fmt: skip
# Default for data sets with at most 10,000 rows (`usual_delta`).
USUAL_DELTA = 1e-5
DELTAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
PEOPLE_PER_SITE = (
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 6000, 10000, 20000, 30000, 60000,
)  # fmt: skip
MOST_REPETITIONS = 50
LARGEST_SEED = 2**31 - 1
# Largest public bound on a column, in the column's own units.
LARGEST_BOUND = 1e12
# Largest number of rows, sites or repetitions; exact as a float.
LARGEST_COUNT = 10**9
SMALLEST_CONCENTRATION, LARGEST_CONCENTRATION = 1e-3, 1e6
_KEY = "param"
_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def usual_delta(n_rows: int) -> float:
    """Return the default delta of a data set: at most 1 / (10 n) and at most 1e-5.

    Very large data sets get the smallest step of the control.
    """
    most = min(USUAL_DELTA, 1 / (10 * n_rows))
    return next((delta for delta in DELTAS if delta <= most), DELTAS[-1])


@dataclass(frozen=True)
class Axis:
    """Parameter that a page may vary: its names, the text of one value and the first values.

    name: Name of the varied field, if it differs from the parameter's own.
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

    def describe(self, value: float) -> str:
        """Return a value with its name, such as "4 sites"."""
        words = self.at.format(value)
        if value == 1:
            words = words.replace(" sites", " site").replace(" rows", " row")
        return words

    @property
    def kind(self) -> type:
        return int if self.whole else float


@dataclass(frozen=True, kw_only=True)
class Param:
    """Declaration of a spec's field: names, texts, limits, control and axis.

    title, help: Texts for pages. `note` is added on the command line and in the documentation.
    low, high: Limits of a number. `constraint` replaces the text "from low to high".
    choices: All allowed values.
    address: Name in an address, if it differs from the field's name.
    control: Streamlit control, if choices, steps and limits do not determine it.
    usual: Initial value of the control, if it differs from the spec's default.
    steps, up_to, offered: Values at which the control stops; its largest value; the choices or
        examples that it offers. `label` formats them.
    axis: Axis along which the parameter may be varied.
    after_noise: Whether the field only affects the processing of drawn noise. In families that
        share draws, specs that differ only in such fields share one draw.
    """

    title: str
    help: str = ""
    note: str = ""
    low: float | None = None
    high: float | None = None
    constraint: str = ""
    choices: Sequence[str] = ()
    address: str = ""
    control: str = ""
    usual: Any = None
    steps: Sequence[float] = ()
    up_to: float | None = None
    offered: Sequence[str] = ()
    label: Callable[[Any], str] | None = None
    axis: Axis | None = None
    after_noise: bool = False

    @property
    def full_help(self) -> str:
        """Return title, help and note in one line."""
        return ". ".join(part.rstrip(".") for part in (self.title, self.help, self.note) if part)

    def check(self, name: str, value: Any, kind: type) -> None:
        """Raise `ParameterError` if the parameter cannot have this value."""
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
            constraint = self.constraint or f"from {self.low:g} to {high:g}"
            raise ParameterError(name, constraint, value)


def param(default: Any, title: str, help: str = "", **more: Any) -> Any:
    """Declare a field of a spec (`Param`)."""
    declared = Param(title=title, help=help, **more)
    return field(default=default, metadata={_KEY: declared})


def redeclare(spec: type, name: str, default: Any = MISSING, **changes: Any) -> Any:
    """Return the declaration of another spec's field, with another default or other changes."""
    original = next(entry for entry in fields(spec) if entry.name == name)
    declared = replace(original.metadata[_KEY], **changes)
    usual = original.default if default is MISSING else default
    return field(default=usual, metadata={_KEY: declared})


def params(spec: type) -> dict[str, Param]:
    """Return the declared fields of a spec's type, in the order of its fields."""
    return {entry.name: entry.metadata[_KEY] for entry in fields(spec) if _KEY in entry.metadata}


def kind_of(spec: type, name: str) -> type:
    """Return the type of a field; int for "int | None"."""
    hinted = _hints(spec)[name]
    if isinstance(hinted, UnionType):
        hinted = next(option for option in hinted.__args__ if option is not type(None))
    origin: type = getattr(hinted, "__origin__", hinted)
    return origin


def check_params(spec: Any) -> None:
    """Validate every declared field of a spec.

    None is allowed where it is the default.

    Raises `ParameterError` for the first field with an invalid value.
    """
    # mypy does not accept a class as Hashable.
    for name, declared, kind, may_be_none in _checked_fields(type(spec)):  # type: ignore[arg-type]
        value = getattr(spec, name)
        if value is not None or not may_be_none:
            declared.check(name, value, kind)


@cache
def _checked_fields(spec: type) -> tuple[tuple[str, Param, type, bool], ...]:
    """Return name, declaration and type of each declared field, and whether it may be None."""
    return tuple(
        (entry.name, entry.metadata[_KEY], kind_of(spec, entry.name), entry.default is None)
        for entry in fields(spec)
        if _KEY in entry.metadata
    )


def after_noise(spec: type) -> tuple[str, ...]:
    """Return the fields that only affect the processing of drawn noise."""
    return tuple(name for name, declared in params(spec).items() if declared.after_noise)


def axes(spec: type) -> dict[str, Axis]:
    """Return the axes that a page may vary, by the field name that a sweep uses."""
    by_field = ((name, declared.axis) for name, declared in params(spec).items())
    return {axis.name or name: axis for name, axis in by_field if axis is not None}


def params_in_markdown(spec: type) -> str:
    """Return a Markdown table of a spec's parameters: name, default, allowed values, meaning."""
    lines = ["| parameter | default | may be | |", "| --- | --- | --- | --- |"]
    for entry in fields(spec):
        declared: Param | None = entry.metadata.get(_KEY)
        if declared is not None:
            cells = (f"`{entry.name}`", f"`{entry.default}`", _range(declared), declared.full_help)
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def _range(declared: Param) -> str:
    if declared.choices:
        return ", ".join(f"`{choice}`" for choice in declared.choices)
    if declared.constraint or declared.low is None:
        return declared.constraint
    return f"from {declared.low:g}" + ("" if declared.high is None else f" to {declared.high:,g}")
