"""What can go wrong before anything is computed, and what one should be warned of."""

from __future__ import annotations

from collections.abc import Callable, Collection

# Characters of a value that an error repeats.
LONGEST_VALUE = 80


class ParameterError(ValueError):
    """A parameter that breaks its constraint.

    The message is one sentence with the parameter, the constraint and the value given, cut to
    `LONGEST_VALUE` characters. `parameter` is the name as the caller spells it, so that a page
    can put the sentence beside the control it belongs to.
    """

    def __init__(self, parameter: str, constraint: str, value: object) -> None:
        self.parameter = parameter
        super().__init__(f"{parameter} must be {constraint}, got {_shown(value)}")

    def __reduce__(self) -> tuple[Callable[[str, str], ParameterError], tuple[str, str]]:
        return _restore_parameter_error, (self.parameter, self.args[0])


def require_one_of(parameter: str, value: str, choices: Collection[str]) -> None:
    """Refuse what is not among the choices."""
    if value not in choices:
        raise ParameterError(parameter, f"one of {', '.join(choices)}", value)


def shortened(text: str, longest: int = LONGEST_VALUE) -> str:
    """The text, or as much of its beginning as fits, with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _shown(value: object) -> str:
    try:
        return shortened(repr(value))
    except ValueError:
        # Python writes out no whole number of more than some thousand digits.
        return "a number of thousands of digits"


def _restore_parameter_error(parameter: str, message: str) -> ParameterError:
    # Workers pickle exceptions by calling the class on `args`, which here is the finished
    # sentence rather than the three parts it was made from.
    error = ParameterError.__new__(ParameterError)
    ValueError.__init__(error, message)
    error.parameter = parameter
    return error


class DataUnavailable(OSError):
    """A data set whose files are absent, damaged or out of reach.

    The message says which file is meant and where to put it.
    """


class PreparationWarning(UserWarning):
    """Rows were prepared by something that had read everybody's before any noise was added."""
