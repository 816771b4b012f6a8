"""Commands with arbitrary values end with a documented status and one sentence."""

from __future__ import annotations

import argparse
import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import command_line

# Quick settings of every example, unless its own options change them.
SMALL = {
    "datasets": [],
    "run": ["--protocol", "pooled", "--repetitions", "1", "--samples", "40", "--sites", "2"],
    "sweep": ["--vary", "epsilon=1,2", "--protocol", "pooled", "--repetitions", "1",
              "--samples", "40", "--sites", "2", "--workers", "1"],
    "best": ["--protocol", "pooled", "--repetitions", "1", "--samples", "40", "--sites", "2",
             "--workers", "1"],
    "cache": [],
    "reproduce": ["fig1-l", "--repetitions", "1", "--workers", "1"],
    "audit": ["--mechanism", "mean-laplace-noise", "--trials", "200"],
    "cca": ["--protocol", "pooled", "--repetitions", "1", "--samples", "100"],
    # No cap: whatever the project is called, none is started.
    "release": ["--data", "table.csv", "--dictionary", "dictionary.toml", "--epsilon", "1",
                "--delta", "1e-6", "--components", "1", "--project", "project", "--name", "first"],
    "scores": ["--data", "table.csv", "--project", "project", "--release", "first", "--name",
               "people", "--epsilon", "1", "--delta", "1e-6"],
    "check": ["--data", "table.csv", "--dictionary", "dictionary.toml"],
    "verify": ["nowhere"],
    "quiz": ["table.csv"],
    "label": ["--dataset", "digits", "--protocol", "pooled"],
    "example": ["class-survey", "example"],
    "federated": ["guard", "nowhere", "--site", "one", "--data", "table.csv", "--project",
                  "project", "--socket", "guard.sock"],
}  # fmt: skip
HOSTILE = (
    "", " ", "0", "-1", "1", "2", "0.5", "nan", "inf", "-inf", "1e308", "1e-320", "1e400", "1e9",
    "9" * 400, "0x10", "٣", "1,2", ",", "=", "a=b", "epsilon=", "epsilon=nan,inf,1e308,-1",
    "intermediate_ratio=nan,inf,1e308,1e-320", "seed=1e3", "components=0,99", "sites=-1,0,2",
    "resample=maybe", "people_per_site=99999999999", "encoding=round0,roundnan,round1e308",
    "nope", "digits", "mfeat", "imagenet", "synthetic-views", "dpdis,nope", "rounded1e999",
    "0-999999999:5", "5-1:2", "0-3:1-2", ":", "0-3:4-6:7", "99999:1", "fou,kar", "tcp://nowhere",
    "inproc://x", "tcp://[::1]:1", "../x/y/z.csv", "/dev/full", "/", "x" * 300, "<b>ε</b>", "-",
    "--", "\x00", "\u202e", "true", "help",
)  # fmt: skip
# Options that say how much is done: larger values than these are no mistake, but take their time.
AMOUNTS = {
    "--repetitions", "--trials", "--people", "--columns", "--workers", "--values", "--shared",
    "--over", "--mechanism", "--audit",
}  # fmt: skip
SMALL_AMOUNTS = tuple(
    text for text in HOSTILE if text not in ("1e9", "9" * 400, "", "people_per_site=99999999999")
)


def _options() -> dict[str, tuple[tuple[str, bool], ...]]:
    """Return the options of each command, and whether they take a value."""
    (commands,) = (
        action
        for action in command_line._parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return {
        name: tuple(
            (action.option_strings[-1], action.nargs != 0)
            for action in parser._actions
            if action.option_strings and "--help" not in action.option_strings
        )
        for name, parser in commands.choices.items()
    }


OPTIONS = _options()


@st.composite
def argument_vectors(draw) -> list[str]:
    command = draw(st.sampled_from(sorted(SMALL)))
    arguments = [command, *SMALL[command]]
    options = OPTIONS[command]
    for option, takes_value in draw(
        st.lists(st.sampled_from(options), max_size=3, unique=True) if options else st.just([])
    ):
        words = SMALL_AMOUNTS if option in AMOUNTS else HOSTILE
        arguments += [option, draw(st.sampled_from(words))] if takes_value else [option]
    if draw(st.integers(0, 9)) == 0:
        arguments.insert(draw(st.integers(0, len(arguments))), draw(st.sampled_from(HOSTILE)))
    return arguments


def test_every_command_and_option_is_tried():
    # The dashboard takes this process's place; a published folder is a minute's work.
    assert set(OPTIONS) - {"dashboard", "publish"} == set(SMALL)


@settings(settings.get_profile("fuzz"))
@given(arguments=argument_vectors())
def test_every_command_ends_with_a_status_and_a_sentence(tmp_path_factory, arguments):
    folder: Path = tmp_path_factory.getbasetemp() / "fuzzed-commands"
    working_folder = folder / "working-folder"
    shutil.rmtree(working_folder, ignore_errors=True)
    working_folder.mkdir(parents=True)
    (working_folder / "table.csv").write_text("a\n1\n2\n")
    (working_folder / "dictionary.toml").write_text("[columns.a]\nlower = 0\nupper = 1\n")
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(working_folder)
        patch.setenv("DPCORE_DATA", str(folder / "data"))
        patch.setenv("DPCORE_CACHE", str(folder / "cache"))
        patch.setenv("DPCORE_MIRROR", "http://127.0.0.1:9")  # no process listens there
        try:
            status = command_line.main(arguments)
        except SystemExit as end:  # argparse has its own way out
            status = end.code
    said = err.getvalue()
    assert status in (0, 1, 2)
    assert "Traceback" not in said and "Warning" not in said
    if status == 2:
        (last,) = (line for line in said.splitlines()[-1:])
        assert last.startswith("dpcore: ") or ": error: " in last
    if status == 0 and "--json" in arguments and out.getvalue().startswith("{"):
        json.loads(out.getvalue(), parse_constant=_refuse)
    if status != 0:
        written = {path.name for path in working_folder.rglob("*") if path.is_file()}
        assert written <= {"table.csv", "dictionary.toml"}


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
