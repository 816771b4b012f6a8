"""Guides in docs/: their blocks, applied to a copy of the repository, pass the tests they name."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
GUIDES = sorted((REPOSITORY / "docs").glob("adding-a-*.md"))
# "Create `PATH`:" or "Add to `PATH` below the line `LINE`:", and the block that follows.
EDIT = re.compile(
    r"(?:Create|Add to) `(?P<path>[^`]+)`(?:\s+below\s+the\s+line\s+`(?P<line>[^`]+)`)?:\n\n"
    r"```\w+\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Files that Python compiled are copied; they are valid as long as the times of sources are kept.
NOT_COPIED = shutil.ignore_patterns(".git", ".*cache", ".venv*", ".hypothesis")


def follow(guide: str, copy: Path) -> None:
    """Apply the edits of a guide to a copy of the repository."""
    for edit in EDIT.finditer(guide):
        path = copy / edit["path"]
        if edit["line"] is None:
            assert not path.exists(), f"the guide creates {path}, which exists"
            path.write_text(edit["text"], encoding="utf-8")
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (number,) = [n for n, line in enumerate(lines, 1) if line.strip() == edit["line"]]
        lines.insert(number, edit["text"])
        path.write_text("".join(lines), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_a_guide_works_word_for_word(path, tmp_path):
    guide, copy = path.read_text(encoding="utf-8"), tmp_path / "copy"
    shutil.copytree(REPOSITORY, copy, ignore=NOT_COPIED)
    follow(guide, copy)
    commands = "".join(COMMANDS.findall(guide)).splitlines()
    assert commands
    environment = os.environ | {"PYTHONPATH": str(copy), "DPCORE_CACHE": str(tmp_path / "cache")}
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "python"
        done = subprocess.run(
            [sys.executable, *words[1:]],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
