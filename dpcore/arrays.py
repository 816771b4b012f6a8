"""Array types by what they hold; shapes stand in the docstrings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]
