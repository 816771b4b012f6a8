"""Script and notebook in a release folder that show how to use it."""

from __future__ import annotations

from html import escape
from typing import Any

from dpcore.notebooks import notebook

# These texts are part of every release folder, which `verify` compares byte by byte.
_SUMMARY = """\
print(released.certificate_["guarantee"])
for number, component in enumerate(released.components_, 1):
    share = released.explained_variance_ratio_[number - 1]
    low, high = released.explained_variance_ratio_interval_[:, number - 1]
    strongest = sorted(range(len(component)), key=lambda i: -abs(component[i]))[:3]
    loadings = ", ".join(f"{component[i]:+.2f} {released.features_[i]}" for i in strongest)
    explained = f"{share:.1%} of the variance ({low:.1%} to {high:.1%})"
    print(f"component {number}: {'lost in the noise' if share != share else explained}; {loadings}")
"""

SCRIPT = f'''\
"""What was released, and a table of yours along its components: python use.py [TABLE].

Needs the package that made it, dp-pca-lab. Projected rows are as private as the rows.
"""

import sys
from pathlib import Path

from dpcore import load_release

released = load_release(Path(__file__).parent)
{_SUMMARY}
if len(sys.argv) > 1:
    print(*released.get_feature_names_out(), sep=",")
    for row in released.transform(sys.argv[1]):
        print(*row, sep=",")
'''

_LOAD = f"""\
from dpcore import load_release

released = load_release(".")
{_SUMMARY}"""

_PROJECT = """\
from dpcore.release import look_alike

# Made up from the dictionary: put a data frame, a mapping of columns or a path of yours here.
table = look_alike(released.dictionary_, 5)
released.transform(table)"""


def usage_notebook(certificate: dict[str, Any]) -> str:
    """Return the content of `use.ipynb`, which is opened in the release folder."""
    title = escape(certificate["title"] or certificate["name"])
    return notebook(
        [
            ("markdown", f"# {title}\n\n{escape(certificate['guarantee'])}"),
            ("code", _LOAD),
            ("markdown", "Rows that are projected stay **as private as the rows**."),
            ("code", _PROJECT),
        ]
    )
