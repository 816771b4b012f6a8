"""Arrays by what they hold; their shapes stand in the docstrings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
"""Single or double precision."""

IntArray = NDArray[np.integer[Any]]
"""Whole numbers: labels, row numbers, counts."""

AnyArray = NDArray[Any]
"""Whatever the caller brings: class labels may be words."""

BoolArray = NDArray[np.bool_]
