"""Errors and warnings of the package."""

from __future__ import annotations

from collections.abc import Callable, Collection

# Maximal number of characters of a value in an error message.
LONGEST_VALUE = 80


class ParameterError(ValueError):
    """Error: a parameter violates its constraint.

    The message is one sentence with the parameter, the constraint and the given value, truncated to
    `LONGEST_VALUE` characters. `parameter` is the name that the caller uses, so a page can show
    the message at the corresponding control.
    """

    def __init__(self, parameter: str, constraint: str, value: object) -> None:
        self.parameter = parameter
        super().__init__(f"{parameter} must be {constraint}, got {_format(value)}")

    def __reduce__(self) -> tuple[Callable[[str, str], ParameterError], tuple[str, str]]:
        return restore_parameter_error, (self.parameter, self.args[0])


def require_one_of(parameter: str, value: str, choices: Collection[str]) -> None:
    """Raise a ParameterError unless the value is one of the choices."""
    if value not in choices:
        raise ParameterError(parameter, f"one of {', '.join(choices)}", value)


def truncate_text(text: str, longest: int = LONGEST_VALUE) -> str:
    """Return the text, truncated to `longest` characters with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _format(value: object) -> str:
    # NumPy writes np.float64(nan) for its scalars.
    number = value.item() if getattr(value, "shape", None) == () else value  # type: ignore[attr-defined]
    try:
        return truncate_text(repr(number))
    except ValueError:
        # Python refuses to format integers with more than some thousand digits.
        return "a number of thousands of digits"


def restore_parameter_error(parameter: str, message: str) -> ParameterError:
    """Return the error of another process with this complete message."""
    # Unpickling an exception calls its class with `args`, which is here the complete message and
    # not the three arguments of __init__.
    error = ParameterError.__new__(ParameterError)
    ValueError.__init__(error, message)
    error.parameter = parameter
    return error


class DataUnavailable(OSError):
    """Error: the files of a data set are absent, damaged or unreachable.

    The message names the file and its folder.
    """


class PreparationWarning(UserWarning):
    """Warning: a preparation step read all rows before noise was added."""
