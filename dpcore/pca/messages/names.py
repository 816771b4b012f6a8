"""Names of the ways to put a message into bytes."""

from __future__ import annotations

import math

from dpcore.errors import ParameterError

NATIVE = "native"
PRECISIONS = ("float64", "float32", "float16", "int8")
ROUNDED = "rounded:"


def rounding_step(encoding: str) -> float | None:
    """The k of "rounded:k", the step in units of sigma; None for the other encodings.

    Raises `ParameterError` if the encoding is unknown or the step not a positive number.
    """
    if encoding == NATIVE or encoding in PRECISIONS:
        return None
    try:
        step = float(encoding.removeprefix(ROUNDED)) if encoding.startswith(ROUNDED) else 0.0
    except ValueError:
        step = 0.0
    if not 0 < step < math.inf:
        raise ParameterError(
            "encoding",
            f"{NATIVE}, {', '.join(PRECISIONS)} or {ROUNDED}K with a positive step of K sigma",
            encoding,
        )
    return step


def check_encoding(encoding: str, *, whole: bool) -> None:
    """Refuse an encoding that is unknown or not for this kind of message.

    Raises `ParameterError`.
    """
    rounded = rounding_step(encoding) is not None
    if rounded and not whole:
        raise ParameterError(
            "encoding",
            f"{NATIVE} or one of {', '.join(PRECISIONS)} for a proxy (rounding is for whole "
            "matrices, whose noise is even)",
            encoding,
        )
    if encoding == "int8" and whole:
        raise ParameterError(
            "encoding", f"{ROUNDED}K for a whole matrix in few bits; int8 is for proxies", encoding
        )
