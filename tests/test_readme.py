"""Examples of the README run, and its statements hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_python_example_is_private_throughout(capsys):
    """Rows are scaled by a public bound, the noise is secret, and the guarantee holds."""
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    namespace: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), namespace)
    pca, X = namespace["pca"], namespace["X"]
    assert capsys.readouterr().out.startswith("(10, 64) ")
    assert pca.random_state is None
    assert pca.guarantee_.keeps_requested and pca.guarantee_.epsilon <= 1.0
    # The preparation of a row does not depend on other rows: pixels lie between 0 and 16, so a row
    # is at most 64 from the middle.
    expected = (namespace["load_dataset"]("digits").X - 8) / 64
    expected /= np.maximum(1, np.linalg.norm(expected, axis=1))[:, None]
    np.testing.assert_allclose(X, expected, atol=1e-6)
