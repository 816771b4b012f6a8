"""Every text in the table of planted bugs occurs in its file."""

from __future__ import annotations

import pytest

from tests.benchmarks.planted_bugs import BUGS, REPOSITORY


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_can_still_be_planted(bug):
    text = (REPOSITORY / bug.path).read_text(encoding="utf-8")
    assert text.count(bug.sound) == 1
    assert bug.planted != bug.sound
    assert all((REPOSITORY / guard.split("::")[0]).exists() for guard in bug.guards)
