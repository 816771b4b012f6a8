"""What an address may say of a control: its kinds, how they are read, spelled and drawn."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

from dpcore.data.catalog import CATALOG
from dpcore.data.column_limits import read_limits
from dpcore.errors import ParameterError

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
