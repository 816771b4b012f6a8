"""The list of files that the guarantee of a release relies on is complete."""

from __future__ import annotations

import sys

import numpy as np

from dpcore.command_line import main
from dpcore.release import Column, Dictionary, release
from dpcore.release.software import AFTER_THE_NOISE, guarantee_code, software

PEOPLE = Dictionary((Column("a", 0, 1), Column("b", 0, 1)))


def test_functions_that_a_release_calls_are_listed(tmp_path):
    """Profile a release: every function of this package that runs is in one of the lists."""
    called = set()

    def look(frame, event, _):
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if module.startswith("dpcore."):
                called.add(module)

    rows = np.random.default_rng(0).uniform(size=(60, 2))
    sys.setprofile(look)
    try:
        release(
            rows, dictionary=PEOPLE, epsilon=1.0, delta=1e-6, n_components=1,
            project=tmp_path / "project", name="first", cap=(2.0, 1e-5),
        )  # fmt: skip
    finally:
        sys.setprofile(None)
    listed = {name.removesuffix(".py").replace("/", ".") for name in guarantee_code()}
    after = {
        module
        for module in called
        if f"{module}.".startswith(tuple(f"{a}." for a in AFTER_THE_NOISE))
    }
    # Floating-point noise, which the assessment draws for its estimates.
    made_by_these = {"dpcore.mechanisms.noise", "dpcore.streams", "dpcore.pca.messages"}
    assert {"dpcore.release.normal_sampler", "dpcore.release.tables"} <= called & listed
    assert called - listed - after <= made_by_these


def test_the_list_of_files_is_printed(capsys):
    assert main(["verify", "--code"]) == 0
    output = capsys.readouterr().out
    files = guarantee_code()
    assert "dpcore/release/normal_sampler.py" in files and "dpcore/privacy/accountant.py" in files
    assert all(name in output for name in files)
    assert f"{sum(files.values()):,}  lines in {len(files)} files" in output
    assert software()["code"] in output
    assert main(["verify"]) == 2


def test_post_processing_has_no_sampler_and_no_ledger():
    for module in AFTER_THE_NOISE:
        assert not any(f"{name}.".startswith(f"{module}.") for name in (
            "dpcore.release.normal_sampler", "dpcore.release.measurement", "dpcore.release.project",
            "dpcore.privacy.accountant", "dpcore.privacy.gaussian"))  # fmt: skip
